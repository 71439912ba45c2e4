// The form: a file dropped or chosen goes up at once; a video of the project by its id.
import { ask, problemOf, send } from "./asking.js";

const find = (id) => document.getElementById(id);
const form = find("ask"), told = find("told"), bar = find("sent"), drop = find("drop");
const runs = () => [...form.elements].filter((each) => each.name === "run" && each.checked).map((each) => each.value);
const say = (text) => { told.textContent = text; };

const checked = (file) => {
  if (!runs().length) return "Choose a run first.";
  if (file && file.size > Number(form.dataset.most)) return `The file has ${Math.round(file.size / 1e6)} MB; ${Math.round(form.dataset.most / 1e6)} MB are the most. Cut it, or make it smaller.`;
  return "";
};

const upload = (file) => {
  const problem = checked(file);
  if (problem) return say(problem);
  const query = new URLSearchParams([["name", file.name], ...runs().map((run) => ["run", run])]);
  const request = new XMLHttpRequest();  // fetch does not tell how much has been sent
  request.open("PUT", `/caption/uploads?${query}`);
  request.responseType = "json";
  request.upload.addEventListener("progress", (event) => { bar.value = event.lengthComputable ? event.loaded / event.total : 0; });
  request.addEventListener("load", () => {
    if (request.status === 201) return location.assign(request.response.address);
    bar.hidden = true;
    say(problemOf(request.response || { error: `the server answered ${request.status}` }));
  });
  request.addEventListener("error", () => { bar.hidden = true; say("The upload broke off. Is the server still running?"); });
  bar.value = 0;
  bar.hidden = false;
  say(`Sending ${file.name} …`);
  request.send(file);
};

find("file").addEventListener("change", (event) => { if (event.target.files.length) upload(event.target.files[0]); });
for (const kind of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(kind, (event) => {
    event.preventDefault();
    drop.classList.toggle("over", kind === "dragover");
    const files = kind === "drop" ? event.dataTransfer.files : [];
    if (files.length > 1) say("One clip at a time: drop one file.");
    else if (files.length) upload(files[0]);
  });
}

let pause;
find("video").addEventListener("input", (event) => {
  clearTimeout(pause);
  pause = setTimeout(async () => {
    const found = await ask(`/caption/videos?${new URLSearchParams({ words: event.target.value })}`).catch(() => ({ videos: [] }));
    find("videos").replaceChildren(...found.videos.map((value) => draw.el("option", { value })));
  }, 120);
});
find("video").dispatchEvent(new Event("input"));

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const problem = checked() || (find("video").value ? "" : "Choose a file, or type the id of a video.");
  if (problem) return say(problem);
  try {
    location.assign((await send("/caption/jobs", { video: find("video").value, runs: runs() })).address);
  } catch (error) {
    say(error.message);
  }
});
