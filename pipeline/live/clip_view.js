// The result: a player, over it where the chosen word looked, the sentences word by word, and what else was possible.
const { el, svg } = draw;
const PLAY = "Play the words", STOP = "Stop";
const STEP = 1100;  // milliseconds a word while the words are played

const nearest = (seconds, wanted) => seconds.reduce((best, each, place) => (Math.abs(each - wanted) < Math.abs(seconds[best] - wanted) ? place : best), 0);

// Where a word looked: the second to show, marks over the picture, and the same in words.
const lookOf = (detail, look, word) => {
  const film = detail.film, marks = [], told = [];
  let second = null, picture = film.strip[Math.floor(film.strip.length / 2)] || 0;
  if (look.time && look.time[word].some((weight) => weight > 0)) {
    const best = draw.strongest(look.time[word]);
    second = look.moments[best];
    picture = nearest(film.seconds, second);
    told.push(`strongest at ${draw.seconds(second)}, ${draw.percent(look.time[word][best])}`);
  }
  const cells = look.cells?.maps[word] ? [look.cells.maps[word], look.cells.part, look.cells.frames[word]]
    : look.shared?.maps[word] ? [look.shared.maps[word], look.shared.part, null] : null;
  if (cells && cells[0].flat().some((weight) => weight > 0)) {
    marks.push(...draw.cells(cells[0], cells[1]));
    if (cells[2] !== null) picture = cells[2], second = film.seconds[picture] ?? second;
    const columns = cells[0][0].length, best = draw.strongest(cells[0].flat());
    told.push(`row ${Math.floor(best / columns) + 1} of ${cells[0].length}, column ${(best % columns) + 1} of ${columns}`);
  }
  const chosen = (look.regions?.[word] || []).toSorted((a, b) => b.boxes[0][4] - a.boxes[0][4])[0];
  if (chosen) {
    marks.push(...draw.boxes(chosen.boxes));
    picture = chosen.frame, second = film.seconds[picture] ?? second;
    told.push(`${chosen.boxes.length} region${chosen.boxes.length === 1 ? "" : "s"}, the strongest ${draw.percent(chosen.boxes[0][4])}`);
  }
  if (second === null) second = film.seconds[picture] || 0;
  return { second, picture, marks, told: told.join("; ") || "no attention" };
};

// The player, or where the browser cannot play it the nearest picture of the film.
const makeScreen = (title, detail, address) => {
  const film = detail.film, [width, height] = film.size;
  const over = svg("svg", { class: "over", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" });
  const screen = el("div", { class: "screen", style: `aspect-ratio: ${width} / ${height}; --wide: ${width / height}` });
  const still = () => screen.replaceChildren(draw.frame(film, 0, title), over);
  const shown = address && el("video", { controls: "", tabindex: "0", playsinline: "", muted: "", preload: "auto", "aria-label": `Video ${title}`, src: address });
  if (shown) shown.addEventListener("error", still);
  if (shown) screen.append(shown, over); else still();
  const mark = ({ second, picture, marks }, word) => {
    over.replaceChildren(...marks.map((each) => each(width, height)));
    if (shown && shown.isConnected) { shown.pause(); shown.controls = false; shown.currentTime = second; }
    else screen.firstChild.replaceWith(draw.frame(film, picture, `${title}: ${word}`));
  };
  const clear = () => over.replaceChildren();
  // The controls would lie over what is marked: they come back with whoever wants them.
  const back = () => { if (shown) shown.controls = true; };
  for (const kind of ["pointermove", "pointerdown", "focusin"]) screen.addEventListener(kind, back);
  if (shown) shown.addEventListener("play", () => { clear(); back(); });
  return { screen, mark };
};

const timeOf = (detail, look, word, label) => {
  const peak = Math.max(...look.time.flat());
  return draw.timeline(look.time[word], look.edges, peak, label, [[draw.strongest(look.time[word]), "after"]]);
};

// A sentence whose words are buttons: arrows move along it, and each shows where it looked.
const sentence = (answer, run, choose) => {
  const buttons = answer.words.map((word, place) => el("button", { type: "button", class: "word", tabindex: place ? "-1" : "0", "aria-pressed": "false" }, word));
  const bar = el("div", { class: "words", role: "toolbar", "aria-label": `Words of ${run}` }, buttons);
  const go = (place, focused) => {
    const wanted = (place + buttons.length) % buttons.length;
    buttons.forEach((button, each) => { button.tabIndex = each === wanted ? 0 : -1; });
    if (focused) buttons[wanted].focus();
    choose(wanted, buttons[wanted]);
  };
  buttons.forEach((button, place) => button.addEventListener("click", () => go(place, true)));
  bar.addEventListener("keydown", (event) => {
    const now = buttons.indexOf(document.activeElement);
    const to = { ArrowRight: now + 1, ArrowLeft: now - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (now < 0 || to === undefined) return;
    event.preventDefault();
    go(to, true);
  });
  return { bar, go, count: buttons.length };
};

const table = (name, heads, rows) => el("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": name },
  el("table", { class: "others" }, el("caption", {}, name),
    el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))),
    el("tbody", {}, rows.map(([first, ...rest]) => el("tr", {}, el("th", { scope: "row" }, first || "nothing"), rest.map((cell) => el("td", {}, cell)))))));
const chance = (each) => Math.exp(each.log_prob).toPrecision(2);
const alternatives = (name, others) => el("details", { class: "looked" }, el("summary", {}, "Other sentences: ", name),
  table("Beams: the likeliest sentences", ["sentence", "p"], others.beams.map((each) => [each.caption, chance(each)])),
  table(`Consensus: sampled sentences by how far they agree with the others (${others.utility})`, ["sentence", "agreement", "drawn", "p"],
    others.consensus.slice(0, 10).map((each) => [each.caption, each.agreement.toFixed(3), `${each.times}×`, chance(each)])));

export const showResult = (place, content, { title, video }) => {
  const page = content.shown, entry = page.videos[0], detail = entry.detail;
  const { screen, mark } = makeScreen(title, detail, video);
  const strip = el("div", { class: "when" }), told = el("p", { class: "soft looking", role: "status" }, "Choose a word to see where it looked.");
  let pressed = null, playing = 0;
  const stop = () => { clearInterval(playing); playing = 0; for (const each of place.querySelectorAll(".play")) each.firstChild.data = PLAY; };

  const shownBy = (answer) => {
    const run = page.runs[answer.run], look = detail.looks.find((each) => each.run === answer.run);
    const choose = (word, button) => {
      pressed?.setAttribute("aria-pressed", "false");
      (pressed = button).setAttribute("aria-pressed", "true");
      if (!look) return void (told.textContent = `${run.name} keeps no attention.`);
      const found = lookOf(detail, look, word);
      told.textContent = `${answer.words[word]}: ${found.told}`;
      strip.replaceChildren(...(look.time ? [timeOf(detail, look, word, told.textContent)] : []));
      mark(found, answer.words[word]);
    };
    const words = sentence(answer, run.name, choose);
    const play = el("button", { type: "button", class: "play" }, PLAY, el("span", { class: "quiet" }, ` of ${run.name}`));
    play.addEventListener("click", () => {
      const was = play.firstChild.data;
      stop();
      if (was === STOP || !words.count) return;
      let word = 0;
      play.firstChild.data = STOP;
      words.go(0, false);
      playing = setInterval(() => { word += 1; if (word < words.count) words.go(word, false); else stop(); }, STEP);
    });
    const name = el("span", { class: `run c${answer.run % 8}` }, run.name);
    return [el("dt", {}, name, run.untrained ? el("span", { class: "badge warn", title: run.untrained }, "untrained features") : null),
      el("dd", {}, el("p", { class: "quiet sentence" }, answer.words.join(" ") || "nothing"), words.bar,
        el("p", { class: "soft" }, `p ${Math.exp(answer.log_prob).toPrecision(2)} `, words.count ? play : null),
        content.unlike[run.name] ? el("p", { class: "badge warn long" }, content.unlike[run.name]) : null,
        el("p", { class: "soft small" }, content.trained[run.name]),
        alternatives(name.cloneNode(true), content.others[run.name]))];
  };

  const panels = detail.looks.map((look) => {
    const name = page.runs[look.run].name;
    const panel = el("details", { class: "looked" }, el("summary", {}, "Attention per word: ", el("span", { class: `run c${look.run % 8}` }, name)));
    panel.addEventListener("toggle", () => {
      if (panel.open && panel.children.length === 1) panel.append(...draw.looked(title, detail, look, name).flat().filter(Boolean));
    });
    return panel;
  });
  const warned = content.warnings.length ? el("div", { class: "card warn warned" }, el("p", {}, el("strong", {}, "The file is not whole, or odd. "), "The sentence is of what could be read."),
    el("ul", {}, content.warnings.map((each) => el("li", {}, each)))) : "";
  place.replaceChildren(warned, el("div", { class: "card result" },
    el("div", { class: "watch" }, screen, strip, told),
    el("div", { class: "say" }, el("h2", {}, page.runs.length > 1 ? "The runs say" : "It says"), el("dl", { class: "answers" }, entry.said.map(shownBy))),
    el("div", { class: "whole" }, draw.strip(title, detail.film, false), panels)));
};
