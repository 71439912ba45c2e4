// Makes a vote page, which takes as long as decoding its clips; and sends the texts of saved votes to be counted.
const place = document.getElementById("counted");

const tell = (text) => place.replaceChildren(Object.assign(document.createElement("p"), { textContent: text }));

// By fetch: a form of a page without a referrer does not say which page it is from, and is refused.
const post = async (address, body, then) => {
  try {
    const answer = await fetch(address, { method: "POST", body, headers: { accept: "application/json" } });
    if (answer.ok) await then(answer);
    else tell((await answer.json()).error);
  } catch {
    tell("The server does not answer: was it stopped?");
  }
};

const make = (form) => {
  tell("Reading the clips …");
  return post(form.dataset.make, "", (answer) => location.assign(answer.url));
};

const count = async (form) => {
  tell("Counting …");
  const texts = await Promise.all([...form.querySelector("input").files].map((file) => file.text()));
  const show = async (answer) => place.replaceChildren(...new DOMParser().parseFromString(await answer.text(), "text/html").body.children);
  return post(form.dataset.count, JSON.stringify(texts), show);
};

for (const form of document.querySelectorAll("[data-make], [data-count]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = form.querySelector("button");
    button.disabled = true;
    await (form.dataset.make ? make : count)(form);
    button.disabled = false;
  });
}
