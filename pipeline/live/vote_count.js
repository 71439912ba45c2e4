// Sends the texts of the chosen files to be counted, and shows the count.
const form = document.getElementById("count");
const place = document.getElementById("counted");

const tell = (text) => place.replaceChildren(Object.assign(document.createElement("p"), { textContent: text }));

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  tell("Counting …");
  const texts = await Promise.all([...form.querySelector("input").files].map((file) => file.text()));
  try {
    const answer = await fetch(form.dataset.count, { method: "POST", body: JSON.stringify(texts), headers: { "content-type": "application/json" } });
    if (answer.ok) place.replaceChildren(...new DOMParser().parseFromString(await answer.text(), "text/html").body.children);
    else tell((await answer.json()).error);
  } catch {
    tell("The server does not answer: was it stopped?");
  }
});
