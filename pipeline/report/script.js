"use strict";
// Filter and sort the examples. Without this script the page is complete, in its own order.
(() => {
  const controls = document.getElementById("controls");
  if (!controls) return;
  const [slice, order, words, shown] = ["slice", "order", "words", "shown"].map((id) => document.getElementById(id));
  const list = document.getElementById("clips");
  const clips = [...list.children];
  const texts = new Map(clips.map((clip) => [clip, clip.textContent.toLowerCase()]));
  const number = (clip, key, absent) => (key in clip.dataset ? Number(clip.dataset[key]) : absent);
  const orders = {
    "": (a, b) => clips.indexOf(a) - clips.indexOf(b),
    worst: (a, b) => number(a, "mean", Infinity) - number(b, "mean", Infinity),
    best: (a, b) => number(b, "mean", -Infinity) - number(a, "mean", -Infinity),
    spread: (a, b) => number(b, "spread", 0) - number(a, "spread", 0),
  };
  const wanted = (clip) =>
    (!slice.value || clip.dataset.slice === slice.value) && texts.get(clip).includes(words.value.trim().toLowerCase());
  const update = () => {
    for (const clip of clips) clip.hidden = !wanted(clip);
    list.append(...[...clips].sort(orders[order.value]));
    const count = clips.filter((clip) => !clip.hidden).length;
    shown.textContent = count === clips.length ? `${count} clips` : `${count} of ${clips.length} clips`;
  };
  controls.addEventListener("input", update);
  controls.addEventListener("submit", (event) => event.preventDefault());
  controls.hidden = false;
  update();
})();
