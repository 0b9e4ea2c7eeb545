// Questions to the server. A newer question of the same kind ends an older one.

const running = new Map();

/** The URL of a question: fields that are lists are given several times. */
export function url(path, fields = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    if (value === null || value === undefined || value === "") continue;
    for (const one of Array.isArray(value) ? value : [value]) query.append(name, String(one));
  }
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

/** The answer to a question. */
export async function ask(path, fields, kind = path) {
  running.get(kind)?.abort();
  const control = new AbortController();
  running.set(kind, control);
  try {
    const response = await fetch(url(path, fields), { signal: control.signal, headers: { accept: "application/json" } });
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.hint ? `${answer.error}. ${answer.hint}` : answer.error);
    return answer;
  } finally {
    if (running.get(kind) === control) running.delete(kind);
  }
}

/** Whether a question was ended by a newer one. */
export const is_ended = error => error.name === "AbortError";
