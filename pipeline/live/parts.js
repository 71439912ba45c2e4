// Fills the places that a page leaves open: each is fetched once, or again and again while somebody looks.
const places = [...document.querySelectorAll("[data-part]")];

const parsed = (text) => new DOMParser().parseFromString(text, "text/html").body;

const fill = async (place) => {
  let found, good = false;
  try {
    const answer = await fetch(place.dataset.part, { headers: { accept: "application/json, text/html;q=0.5" } });
    const text = await answer.text();
    good = answer.ok;
    found = good ? text : JSON.parse(text).error;
  } catch {
    found = "The server does not answer: was it stopped?";
  }
  if (place.dataset.shown === found) return;
  place.dataset.shown = found;
  if (good) renew(place, parsed(found));
  else if (!place.dataset.every) place.replaceChildren(Object.assign(document.createElement("p"), { textContent: found }));
  else place.dataset.problem = found;
  place.removeAttribute("aria-busy");
};

// Nodes that are the same stay: what has the focus or is scrolled keeps it.
const renew = (place, fresh) => {
  delete place.dataset.problem;
  const [old, now] = [[...place.children], [...fresh.children]];
  now.forEach((node, number) => {
    if (number >= old.length) place.append(node);
    else if (!old[number].isEqualNode(node)) old[number].replaceWith(node);
  });
  old.slice(now.length).forEach((node) => node.remove());
};

for (const place of places) {
  const seconds = Number(place.dataset.every);
  if (!seconds) { fill(place); continue; }
  const again = async () => {
    if (!document.hidden) await fill(place);
    setTimeout(again, 1000 * seconds);
  };
  setTimeout(again, 1000 * seconds);
}
