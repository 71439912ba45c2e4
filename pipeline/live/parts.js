// Fills the places that a page leaves open: each is fetched once, or again and again while somebody looks.
const places = [...document.querySelectorAll("[data-part]")];

const parsed = (text) => new DOMParser().parseFromString(text, "text/html").body;

const fill = async (place) => {
  let found, good = false;
  try {
    const answer = await fetch(place.dataset.part, { headers: { accept: "application/json" } });
    const text = await answer.text();
    good = answer.ok;
    found = good ? text : JSON.parse(text).error;
  } catch {
    found = "The server does not answer: was it stopped?";
  }
  if (place.dataset.shown === found) return;
  place.dataset.shown = found;
  const below = isAtEnd(place);
  if (good) renewChildren(place, parsed(found));
  else place.replaceChildren(Object.assign(document.createElement("p"), { textContent: found }));
  place.removeAttribute("aria-busy");
  if (below) showEnd(place);
};

// The end of a log is what is new: it stays in sight until somebody scrolls up.
const isAtEnd = (place) => "tail" in place.dataset && place.scrollTop + place.clientHeight >= place.scrollHeight - 4;
const showEnd = (place) => { place.scrollTop = place.scrollHeight; };

// What is the same stays, down to the words: what has the focus or is scrolled keeps it.
const renew = (old, now) => {
  if (old.isEqualNode(now)) return;
  if (old.nodeName !== now.nodeName || !(old instanceof Element)) { old.replaceWith(now); return; }
  for (const name of old.getAttributeNames()) if (!now.hasAttribute(name)) old.removeAttribute(name);
  for (const name of now.getAttributeNames()) old.setAttribute(name, now.getAttribute(name));
  renewChildren(old, now);
};

const renewChildren = (place, fresh) => {
  const [old, now] = [[...place.childNodes], [...fresh.childNodes]];
  now.forEach((node, number) => (number < old.length ? renew(old[number], node) : place.append(node)));
  old.slice(now.length).forEach((node) => node.remove());
};

for (const place of places) {
  if ("tail" in place.dataset) showEnd(place);
  const seconds = Number(place.dataset.every);
  if (!seconds) { fill(place); continue; }
  const again = async () => {
    if (!document.hidden) await fill(place);
    setTimeout(again, 1000 * seconds);
  };
  setTimeout(again, 1000 * seconds);
}
