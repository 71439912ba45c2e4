// One clip: how far it is, stage by stage; then what the runs say of it, or why they cannot.
import { ask, send } from "./asking.js";
import { showResult } from "./clip_view.js";

const find = (id) => document.getElementById(id);
const result = find("result"), base = `/caption/jobs/${result.dataset.job}`;
const STATES = { running: "Working on it", done: "Done", failed: "There is no sentence of this clip", cancelled: "Cancelled: nothing of it is kept" };
const MARKS = { waiting: "·", running: "…", done: "✓", kept: "✓" };

const waits = (ahead) => `Waiting: ${ahead} clip${ahead === 1 ? " is" : "s are"} computed before`;
const stateOf = (job) => (job.state === "waiting" ? waits(job.ahead) : STATES[job.state]);
const rowsOf = (stage) => (stage.of && stage.total ? ` ${stage.done} of ${stage.total} rows` : "");
const timeOf = (stage) => (stage.state === "kept" ? "cached" : stage.seconds === null ? "" : draw.seconds(stage.seconds));
const WORDS = { start: "load the libraries", pictures: "draw the pictures" };
const nameOf = (stage, several) => [several && stage.run, WORDS[stage.name] || stage.name, stage.of].filter(Boolean).join(" ");

const row = (stage, several) => draw.el("li", { class: stage.state, "aria-current": stage.state === "running" ? "step" : null },
  draw.el("span", { class: "mark", "aria-hidden": "true" }, MARKS[stage.state]),
  draw.el("span", {}, nameOf(stage, several), draw.el("span", { class: "quiet" }, `: ${stage.state}`), draw.el("span", { class: "soft" }, rowsOf(stage))),
  draw.el("span", { class: "soft" }, timeOf(stage)));

const showProblem = (problem) => {
  const lines = [["p", problem.message || "It failed."], ["p", problem.meaning], ["p", problem.advice || problem.hint]];
  const [what, why, next] = lines.map(([tag, text]) => (text ? draw.el(tag, {}, text) : null));
  if (next) next.prepend(draw.el("strong", {}, "What to do: "));
  find("problem").replaceChildren(...[draw.el("h2", {}, problem.reason || "It failed"), what, why, next].filter(Boolean));
  find("problem").hidden = false;
};

let said = "", went = null;
const show = (job) => {
  const state = stateOf(job), going = ["waiting", "running"].includes(job.state);
  if (going !== went) find("progress").open = went = going;  // when all is over, the result is what people want
  find("took").textContent = `(${draw.seconds(job.stages.reduce((sum, stage) => sum + (stage.seconds || 0), 0))})`;
  if (state !== said) find("state").textContent = said = state;  // a screen reader reads every change
  find("stages").replaceChildren(...job.stages.map((stage) => row(stage, job.runs.length > 1)));
  if (!going && document.activeElement === find("cancel")) find("state").focus();  // it goes, whoever sees the end first
  find("cancel").hidden = !going;
  return going;
};

const look = async () => {
  const job = await ask(`${base}/state`);
  if (show(job)) return setTimeout(() => look().catch(lost), 400);
  if (job.state === "failed") showProblem(job.problem);
  if (job.state === "done") {
    const [content, { kind }] = await Promise.all([ask(`${base}/result`), ask(`${base}/kind`)]);
    find("people").hidden = !find("people").childElementCount;
    showResult(result, content, { title: result.dataset.title, video: kind.startsWith("video/") ? `${base}/video` : "" });
  }
  document.documentElement.dataset.ready = job.state;
};
// A busy machine answers late; a server that has stopped may be started again, and then says that it knows no such clip.
const lost = (error) => {
  find("state").textContent = said = `The server does not answer: ${error.message}`;
  setTimeout(() => look().catch(lost), 2000);
};

find("cancel").addEventListener("click", async () => { show(await send(`${base}/cancel`, {})); find("state").focus(); });
look().catch(lost);
