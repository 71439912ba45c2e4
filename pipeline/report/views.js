"use strict";
// Draws a video: film, captions, and attention per word. All text becomes text nodes, never markup.
const draw = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const fill = (node, attributes, children) => {
    // A style goes in as a property: as an attribute a strict content policy would drop it.
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name === "style") node.style.cssText = value; else if (value !== null) node.setAttribute(name, value);
    }
    node.append(...children.flat(Infinity).filter((child) => child !== null));
    return node;
  };
  const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
  const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
  const percent = (thousandths) => `${Math.round(thousandths / 10)} %`;
  const seconds = (value) => `${value.toFixed(1)} s`;
  const strongest = (weights) => weights.indexOf(Math.max(...weights));

  // One picture of the film, with marks on it; coordinates are those of the picture.
  const frame = (film, number, label, marks = []) => {
    const [width, height] = film.picture ? film.tile : [176, Math.round((176 * film.size[1]) / film.size[0]) || 132];
    const sheet = { href: film.picture, x: -number * width, y: 0, width: width * film.seconds.length, height };
    const ground = film.picture ? svg("image", sheet) : svg("rect", { class: "blank", width, height });
    return svg("svg", { class: "frame", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
      ground, marks.map((mark) => mark(width, height)));
  };

  // Cells are coloured by what they have beyond an even share; twice that share, or the strongest, is full colour.
  const cells = (map, part) => map.flatMap((line, row) => line.map((weight, column) => (width, height) => {
    const [left, top, right, bottom] = part;
    const [wide, high] = [((right - left) * width) / line.length, ((bottom - top) * height) / map.length];
    const flat = map.flat(), even = flat.reduce((sum, one) => sum + one, 0) / flat.length;
    const beyond = Math.max(0, weight - even) / Math.max(1, even, Math.max(...flat) - even);
    return svg("rect", { class: "cell", x: left * width + column * wide, y: top * height + row * high, width: wide,
      height: high, "fill-opacity": (0.75 * beyond).toFixed(3), "data-weight": weight });
  })).concat((width, height) => svg("rect", { class: "seen", x: part[0] * width, y: part[1] * height,
    width: (part[2] - part[0]) * width, height: (part[3] - part[1]) * height }));

  const boxes = (found) => [...found].reverse().map(([left, top, right, bottom, weight]) => (width, height) =>
    svg("rect", { class: "box", x: left * width, y: top * height, width: (right - left) * width,
      height: (bottom - top) * height, "stroke-opacity": (0.25 + 0.75 * weight / Math.max(1, found[0][4])).toFixed(3),
      "data-weight": weight }, svg("title", {}, percent(weight))));

  const strip = (video, film, hidden) => film.picture
    ? el("ol", { class: "film", style: `--frames:${film.strip.length}`, "aria-hidden": hidden ? "true" : null,
        "aria-label": hidden ? null : `Frames of ${video}` },
      film.strip.map((number) => el("li", {}, frame(film, number, `${video} at ${film.seconds[number].toFixed(1)} seconds`),
        el("small", { "aria-hidden": "true" }, seconds(film.seconds[number])))))
    : null;

  // The video itself, read only when it is asked for; its place has the right shape before anything of it is there.
  const player = (video, { film, played }) => {
    if (!played) return null;
    const place = el("details", { class: "player" }, el("summary", {}, "Play ", el("span", { class: "quiet" }, video)));
    const shape = `aspect-ratio: ${film.size[0]} / ${film.size[1]}`;
    place.addEventListener("toggle", () => {
      if (!place.open) { const shown = place.querySelector("video"); if (shown) shown.pause(); return; }
      if (place.children.length > 1) return;
      const shown = el("video", { controls: "", playsinline: "", preload: "metadata", style: shape, "aria-label": `Video ${video}`, src: played });
      shown.addEventListener("error", () => shown.replaceWith(el("p", { class: "soft" }, "The video is not where it was when this page was made, or this browser cannot play it.")));
      place.append(shown);
    });
    return place;
  };

  // Weights over time as bars of one line, on the clock of the film above it.
  const timeline = (weights, edges, peak, label, marks = []) => {
    const end = edges[edges.length - 1] || 1;
    const bar = (row, attributes) => svg("rect", { x: edges[row], y: 0, width: Math.max(0, edges[row + 1] - edges[row]), height: 1, ...attributes });
    return svg("svg", { class: "time", viewBox: `0 0 ${end} 1`, preserveAspectRatio: "none", role: "img", "aria-label": label },
      weights.map((weight, row) => bar(row, { "data-weight": weight, "fill-opacity": (weight / Math.max(1, peak)).toFixed(3) })),
      marks.map(([row, kind]) => bar(row, { class: kind })));
  };

  const when = (look, row) => seconds(look.moments[row]);

  const weightCells = (table, word) => table.names.map((name, place) => {
    const weight = table.weights[word][place];
    return el("td", { class: "share", style: `--share:${weight / 1000}` }, percent(weight));
  });

  // The table: one row per word; its time, its choice of views, layers or slots.
  const wordTable = (video, film, look, name) => {
    const tables = [look.view, look.layer, look.slot].filter(Boolean);
    if (!look.time && !tables.length) return null;
    const peak = look.time ? Math.max(...look.time.flat()) : 0;
    const ends = el("span", { class: "ends", "aria-hidden": "true" }, el("span", {}, "0 s"), el("span", {}, seconds(film.duration)));
    const head = el("tr", {}, el("th", { scope: "col" }, "word"),
      look.time ? el("th", { scope: "col", class: "wide" }, el("span", { class: "quiet" }, "time"), strip(video, film, true), ends) : null,
      look.time ? el("th", { scope: "col" }, "strongest") : null,
      tables.map((table) => table.names.map((column) => el("th", { scope: "col", class: "share" }, column))));
    const rows = look.words.map((word, place) => {
      const weights = look.time?.[place] || [];
      const best = strongest(weights);
      const looked = weights.some((weight) => weight > 0);
      const label = looked ? `${word}: strongest ${when(look, best)}, ${percent(weights[best])}` : `${word}: no attention`;
      return el("tr", {}, el("th", { scope: "row" }, word),
        look.time ? el("td", { class: "wide" }, timeline(weights, look.edges, peak, label)) : null,
        look.time ? el("td", {}, looked ? [when(look, best), " ", el("span", { class: "soft" }, percent(weights[best]))] : "–") : null,
        tables.map((table) => weightCells(table, place)));
    });
    return el("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": `Words of ${name} by time` },
      el("table", { class: "looks" }, el("caption", { class: "quiet" }, `Attention of ${name} over the time of ${video}`),
        el("thead", {}, head), el("tbody", {}, rows)));
  };

  const figures = (title, note, items) => items.length
    ? el("section", { class: "wordframes", "aria-label": title }, el("h5", {}, title), el("p", { class: "soft" }, note),
      el("ol", {}, items.map(([word, pictures]) => el("li", {}, el("figure", {}, pictures, el("figcaption", {}, word))))))
    : null;

  const onFrames = (film, look) => {
    const placed = (look.cells?.maps || []).map((map, place) => [look.words[place],
      [frame(film, look.cells.frames[place], `${look.words[place]}, ${describeCells(map, film, look.cells.frames[place])}`,
        cells(map, look.cells.part))], map.flat().some((weight) => weight > 0)]).filter((item) => item[2]);
    const shared = (look.shared?.maps || []).map((map, place) => [look.words[place],
      [frame(film, middle(film), `${look.words[place]}, the same places in all frames`, cells(map, look.shared.part))]]);
    const chosen = (look.regions || []).map((frames, place) => [look.words[place], frames.map((each) =>
      frame(film, each.frame, `${look.words[place]}, ${describeBoxes(each, film)}`, boxes(each.boxes)))]).filter((item) => item[1].length);
    return [
      figures("Places", look.time ? "The frame with most attention of each word, and the attention map on it; the outline is what the network saw."
        : "The attention map of each word, the same in all frames; the outline is what the network saw.", placed),
      figures("The same places in all frames", "Attention of the spatio-temporal view.", shared),
      figures("Regions", "The frames chosen for each word and their strongest regions.", chosen),
    ];
  };
  const middle = (film) => film.strip[Math.floor(film.strip.length / 2)] || 0;
  const at = (film, number) => (film.seconds.length ? `at ${film.seconds[number].toFixed(1)} seconds` : "");
  const describeCells = (map, film, number) => {
    const flat = map.flat(), best = strongest(flat);
    return `${at(film, number)}, strongest in row ${Math.floor(best / map[0].length) + 1} of ${map.length}, column ${(best % map[0].length) + 1} of ${map[0].length}`;
  };
  const describeBoxes = (each, film) => `${at(film, each.frame)}, ${each.boxes.length} regions, strongest ${percent(each.boxes[0][4])}`;

  const refocus = (film, look) => {
    if (!look.refocus) return null;
    const { weights, rows, seconds: moments, frames } = look.refocus;
    const label = `Second look: from ${seconds(moments[0])} to ${seconds(moments[1])}, ${percent(weights[rows[1]])}`;
    return el("section", { class: "wordframes refocus", "aria-label": "Key frame" }, el("h5", {}, "Key frame"),
      el("p", { class: "soft" }, "The first reading begins in the middle of the video, the second where the first points at."),
      el("div", { class: "scale" }, timeline(weights, look.edges, Math.max(...weights), label, [[rows[0], "before"], [rows[1], "after"]])),
      el("ol", {}, ["before", "after"].map((name, place) => el("li", {}, el("figure", { class: name },
        frame(film, frames[place], `Key frame ${name}, ${seconds(moments[place])}`),
        el("figcaption", {}, `${name}: ${seconds(moments[place])}`))))));
  };

  const looked = (video, detail, look, name) => [refocus(detail.film, look), wordTable(video, detail.film, look, name), onFrames(detail.film, look)];

  const marked = ({ words, odd }) => words.length
    ? words.flatMap((word, place) => [odd.includes(place) ? el("span", { class: "odd", title: "in no reference" }, word) : word, " "])
    : el("i", {}, "nothing");

  const said = (answer, runs, metrics, headline) => {
    const run = runs[answer.run];
    const scores = metrics.map((metric, place) => (answer.scores[place] === null ? null : [metric, answer.scores[place].toFixed(3)])).filter(Boolean);
    return [
      el("dt", {}, el("span", { class: `run c${answer.run % 8}` }, run.name),
        run.untrained ? el("span", { class: "badge warn", title: run.untrained }, "untrained features") : null),
      el("dd", {}, el("p", { class: "said" }, marked(answer)),
        answer.first ? el("p", { class: "soft first" }, "after the first reading: ", marked(answer.first)) : null,
        el("p", { class: "soft" }, scores.map(([metric, value]) => [el("span", { class: metric === headline ? "mainscore" : "" }, `${metric} `, el("b", {}, value)), " · "]),
          answer.log_prob === null ? "" : `p ${Math.exp(answer.log_prob).toPrecision(2)}`)),
    ];
  };

  const references = (texts) => {
    const list = (some) => el("ul", { class: "people" }, some.map((text) => el("li", {}, text)));
    const more = texts.slice(4);
    return texts.length ? el("div", {}, el("h4", {}, "References"), list(texts.slice(0, 4)),
      more.length ? el("details", {}, el("summary", {}, `${more.length} more`), list(more)) : null) : null;
  };

  // The whole card; the film and the attention maps come when `load` has them.
  const card = (entry, number, page, load) => {
    const title = `clip-${number}-title`;
    const film = el("div", { class: "filmplace" });
    const panels = el("div", { class: "panels" });
    const clip = el("article", { class: "card clip", id: `clip-${number}`, tabindex: "-1", "aria-labelledby": title },
      el("header", {}, el("h3", { id: title }, entry.id), entry.slice ? el("span", { class: "badge" }, entry.slice) : null),
      film,
      el("div", { class: "sides" },
        el("div", {}, el("h4", {}, page.runs.length > 1 ? "The runs say" : "It says"),
          el("dl", { class: "answers" }, entry.said.map((answer) => said(answer, page.runs, page.metrics, page.headline)))),
        references(entry.references)),
      panels);
    load((detail) => {
      const shown = strip(entry.id, detail.film, false);
      film.replaceChildren(...[shown || el("p", { class: "soft" }, detail.film.problem), player(entry.id, detail)].filter(Boolean));
      if (detail.film.duration) clip.firstChild.append(el("span", { class: "soft" }, seconds(detail.film.duration)));
      panels.replaceChildren(...detail.looks.map((look) => {
        const name = page.runs[look.run].name;
        const panel = el("details", { class: "looked" }, el("summary", {}, "Attention per word: ", el("span", { class: `run c${look.run % 8}` }, name)));
        panel.addEventListener("toggle", () => {
          if (panel.open && panel.children.length === 1) panel.append(...looked(entry.id, detail, look, name).flat().filter(Boolean));
        });
        return panel;
      }));
      clip.dataset.ready = "yes";
    });
    return clip;
  };
  return { card, el, svg, frame, strip, cells, boxes, timeline, looked, said, seconds, percent, strongest };
})();
