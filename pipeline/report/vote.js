"use strict";
// One pair after the other: a film, two sentences, a choice. Votes stay in this browser until they are saved as a file.
const vote = (() => {
  const find = (id) => document.getElementById(id);
  const { ballot, pairs } = JSON.parse(find("inside").textContent);
  const KEYS = { ArrowLeft: "left", 1: "left", ArrowRight: "right", 2: "right", ArrowDown: "tie", 0: "tie" };
  const store = `framescribe votes ${ballot}`;
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  let votes = {}, voter = "", place = 0, saved = 0, timer = 0;

  // In this browser, and in this tab's history: a browser may forbid storage to pages from disk, and a reload keeps the tab's.
  const stored = () => { try { return JSON.parse(localStorage.getItem(store)); } catch { return null; } };
  const size = (kept) => Object.keys(kept?.votes || {}).length;
  const recall = () => [history.state, stored()].sort((a, b) => size(b) - size(a))[0] || {};
  const remember = () => {
    const kept = { votes, voter, saved };
    history.replaceState(kept, "");
    try { localStorage.setItem(store, JSON.stringify(kept)); } catch { /* told on leaving */ }
  };
  const someone = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  const count = () => Object.keys(votes).length;

  const play = (film, image) => {
    const wait = Math.max(60, (1000 * film.duration) / film.seconds.length);
    let number = film.strip[0];
    const step = () => { number = (number + 1) % film.seconds.length; image.setAttribute("x", -number * film.tile[0]); };
    timer = setInterval(step, wait);
    find("play").textContent = "Pause";
  };
  const pause = () => { clearInterval(timer); timer = 0; find("play").textContent = "Play"; };
  const toggle = () => (timer ? pause() : play(pairs[place].film, find("screen").querySelector("image")));

  const show = (to) => {
    pause();
    place = Math.max(0, Math.min(to, pairs.length - 1));
    const { film, left, right, token } = pairs[place];
    const name = `clip ${place + 1}`;
    find("screen").replaceChildren(draw.frame(film, film.strip[0], name));
    find("strip").replaceChildren(draw.strip(name, film, false));
    find("left").textContent = left;
    find("right").textContent = right;
    for (const side of ["left", "right", "tie"]) find(`choose-${side}`).setAttribute("aria-pressed", String(votes[token] === side));
    find("back").disabled = place === 0;
    find("next").disabled = place === pairs.length - 1;
    progress();
    if (!calm) toggle();
  };
  const progress = () => {
    find("place").textContent = `Clip ${place + 1} of ${pairs.length}`;
    find("done").textContent = `${count()} of ${pairs.length} voted`;
    find("bar").value = count();
    find("save").disabled = count() === 0;
    find("end").hidden = count() < pairs.length;
    find("kept").textContent = count() && saved === count() ? "saved" : "";
  };
  const choose = (side) => {
    votes[pairs[place].token] = side;
    saved = 0;
    remember();
    const open = pairs.findIndex((pair, number) => number > place && !(pair.token in votes));
    show(open < 0 ? place : open);
    if (count() === pairs.length) find("save").focus();
  };

  // The bytes of a file that framescribe itself would write: its checksum first, keys sorted.
  const bytes = () => {
    const sorted = Object.fromEntries(Object.entries(votes).sort(([a], [b]) => (a < b ? -1 : 1)));
    const body = JSON.stringify({ ballot, voter, votes: sorted }, null, 1).slice(2);
    const text = (seal) => new TextEncoder().encode(`{\n "checksum": ["${seal}"],\n${body}\n`);
    return text(sha256(text("0".repeat(64))));
  };
  const save = () => {
    const link = draw.el("a", { href: URL.createObjectURL(new Blob([bytes()], { type: "application/json" })), download: `framescribe-votes-${ballot.slice(0, 6)}-${voter.slice(0, 8)}.json` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    saved = count();
    remember();
    progress();
  };

  const press = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in KEYS) { event.preventDefault(); choose(KEYS[event.key]); }
    else if (event.key === "p") toggle();
    else if (event.key === "Backspace") show(place - 1);
    else if (event.key === "s" && count()) save();
  };
  const begin = () => {
    const before = recall();
    votes = Object.fromEntries(Object.entries(before.votes || {}).filter(([token]) => pairs.some((pair) => pair.token === token)));
    voter = before.voter || someone();
    saved = before.saved || 0;
    for (const side of ["left", "right", "tie"]) find(`choose-${side}`).addEventListener("click", () => choose(side));
    find("back").addEventListener("click", () => show(place - 1));
    find("next").addEventListener("click", () => show(place + 1));
    find("play").addEventListener("click", toggle);
    find("save").addEventListener("click", save);
    document.addEventListener("keydown", press);
    addEventListener("beforeunload", (event) => { if (count() && saved !== count()) event.preventDefault(); });
    const open = pairs.findIndex((pair) => !(pair.token in votes));
    show(open < 0 ? pairs.length - 1 : open);
    document.documentElement.dataset.ready = "yes";
  };
  return { begin };
})();
vote.begin();
