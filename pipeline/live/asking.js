// Asking the server, and saying what it answered when that is no.
export const problemOf = (told) => [told.error, told.hint && `What to do: ${told.hint}`].filter(Boolean).join("\n");

export const ask = async (address, options = {}) => {
  const answer = await fetch(address, { headers: { Accept: "application/json" }, ...options });
  const told = await answer.json().catch(() => ({ error: `the server answered ${answer.status}` }));
  if (!answer.ok) throw new Error(problemOf(told));
  return told;
};

export const send = (address, value) => ask(address, { method: "POST", body: JSON.stringify(value) });
