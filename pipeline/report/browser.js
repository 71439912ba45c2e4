"use strict";
// Which videos are shown: filter, order, page by page, and keys. Details of a video are read when it is shown.
const framescribe = (() => {
  const SHOWN = 10;
  const find = (id) => document.getElementById(id);
  const list = find("clips");
  const waiting = new Map();
  let page = { runs: [], metrics: [], videos: [] };
  let chosen = [];
  let first = 0;

  const fetchData = (name, done) => {
    waiting.set(name, done);
    const script = draw.el("script", { src: `${list.dataset.folder}/${name}.js` });
    script.addEventListener("error", () => { waiting.delete(name); missing(name); });
    script.addEventListener("load", () => script.remove());
    document.body.append(script);
  };
  const missing = (name) => {
    if (name === "list") list.replaceChildren(draw.el("p", { class: "card" }, `The videos are in the folder ${decodeURIComponent(list.dataset.folder)} beside this page, and it is not here.`));
  };
  // The data files call this with their name and content.
  const receive = (name, content) => { const done = waiting.get(name); waiting.delete(name); if (done) done(content); };
  const load = (entry) => (done) => (entry.detail ? done(entry.detail) : fetchData(entry.data, done));

  const value = (id) => (find(id) ? find(id).value : "");
  const scores = (entry) => entry.said.filter((answer) => answer.score !== null && (value("run") === "" || answer.run === Number(value("run")))).map((answer) => answer.score);
  const mean = (entry) => { const all = scores(entry); return all.length ? all.reduce((sum, one) => sum + one, 0) / all.length : null; };
  const spread = (entry) => { const all = entry.said.map((answer) => answer.score).filter((one) => one !== null); return all.length > 1 ? Math.max(...all) - Math.min(...all) : 0; };
  const by = (key, sign) => (entries) => {
    const rated = entries.map((entry) => [key(entry), entry]);
    const told = rated.filter(([rate]) => rate !== null).sort((a, b) => sign * (a[0] - b[0]));
    return [...told, ...rated.filter(([rate]) => rate === null)].map(([, entry]) => entry);
  };
  const orders = {
    "": (entries) => entries,
    worst: by(mean, 1),
    best: by(mean, -1),
    spread: by(spread, -1),
    id: (entries) => [...entries].sort((a, b) => a.id.localeCompare(b.id, "en", { numeric: true })),
  };
  const text = (entry) => entry.text ??= [entry.id, ...entry.references, ...entry.said.map((answer) => answer.words.join(" "))].join("\n").toLowerCase();

  const update = () => {
    const words = value("words").trim().toLowerCase();
    const fits = (entry) => (!value("slice") || entry.slice === value("slice")) && text(entry).includes(words);
    chosen = orders[value("order")](page.videos.filter(fits));
    turn(0);
  };
  const turn = (to) => {
    first = Math.max(0, Math.min(to, Math.floor(Math.max(0, chosen.length - 1) / SHOWN) * SHOWN));
    const shown = chosen.slice(first, first + SHOWN);
    list.replaceChildren(...shown.map((entry, place) => draw.card(entry, first + place + 1, page, load(entry))));
    say(shown.length);
  };
  const say = (count) => {
    if (!find("shown")) return;
    const all = page.videos.length;
    find("shown").textContent = (chosen.length === all ? `${all} videos` : `${chosen.length} of ${all} videos`) + (chosen.length > SHOWN ? `, ${first + 1}–${first + count} shown` : "");
    find("pages").hidden = chosen.length <= SHOWN;
    find("page").textContent = `page ${first / SHOWN + 1} of ${Math.ceil(chosen.length / SHOWN)}`;
    find("previous").disabled = first === 0;
    find("next").disabled = first + SHOWN >= chosen.length;
  };

  const step = (by) => {
    const clips = [...list.children];
    const current = clips.findIndex((clip) => clip.contains(document.activeElement));
    const wanted = current < 0 ? (by > 0 ? 0 : clips.length - 1) : current + by;
    if (wanted >= 0 && wanted < clips.length) return show(clips[wanted]);
    if (wanted < 0 && first > 0) { turn(first - SHOWN); return show(list.lastChild); }
    if (wanted >= clips.length && first + SHOWN < chosen.length) { turn(first + SHOWN); return show(list.firstChild); }
  };
  const show = (clip) => { clip.focus({ preventScroll: true }); clip.scrollIntoView({ block: "start" }); };
  const keys = {
    j: () => step(1), k: () => step(-1),
    "/": () => find("words").focus(),
    o: () => { const panel = document.activeElement.closest?.(".clip")?.querySelector("details.looked"); if (panel) panel.open = !panel.open; },
  };
  const typed = (event) => {
    if (event.key === "Escape" && event.target === find("words")) { find("words").value = ""; update(); return find("words").blur(); }
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea")) return;
    if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
  };

  const begin = (content) => {
    page = content;
    const controls = find("controls");
    if (controls) {
      let pause;
      controls.addEventListener("input", (event) => {
        clearTimeout(pause);
        if (event.target.id === "words") pause = setTimeout(update, 120); else update();
      });
      controls.addEventListener("submit", (event) => event.preventDefault());
      find("previous").addEventListener("click", () => { turn(first - SHOWN); show(list.firstChild); });
      find("next").addEventListener("click", () => { turn(first + SHOWN); show(list.firstChild); });
      document.addEventListener("keydown", typed);
      controls.hidden = false;
    }
    update();
    document.documentElement.dataset.ready = "yes";
  };
  const start = () => {
    const inside = find("inside");
    if (inside) begin(JSON.parse(inside.textContent));
    else if (list) fetchData("list", begin);
  };
  return { receive, start };
})();
framescribe.start();
