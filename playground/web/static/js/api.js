// The control API. The token comes in the address's fragment, which no server and no referrer sees; it is kept for
// this tab and taken out of the address at once.

const hash = new URLSearchParams(location.hash.slice(1));
if (hash.get("token")) {
  sessionStorage.setItem("token", hash.get("token"));
  hash.delete("token");
  history.replaceState(null, "", location.pathname + location.search + (hash.size ? "#" + hash : ""));
}
const token = sessionStorage.getItem("token") ?? "";

export const authorized = token !== "";

// api sends a control request and returns its answer, or throws an Error with the server's words.
export async function api(method, path, body) {
  const res = await fetch("/control/v1" + path, {
    method,
    headers: { authorization: "Bearer " + token, ...(body ? { "content-type": "application/json" } : {}) },
    body: body ? JSON.stringify(body) : undefined,
  });
  const answer = await res.json();
  if (!res.ok) throw new Error(answer?.error?.message ?? "HTTP " + res.status);
  return answer;
}

// listen reads the stream of events for a user until the signal ends it, and connects again when it breaks.
export async function listen(user, signal, { open, event, lost }) {
  for (let pause = 300; !signal.aborted; pause = Math.min(pause * 1.6, 3000)) {
    try {
      const res = await fetch("/control/v1/events?user=" + encodeURIComponent(user), { headers: { authorization: "Bearer " + token }, signal });
      if (!res.ok) throw new Error("HTTP " + res.status);
      pause = 300;
      await open();
      const reader = res.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let rest = ""; ;) {
        const { value, done } = await reader.read();
        if (done) break;
        const lines = (rest + value).split("\n");
        rest = lines.pop();
        for (const line of lines) if (line.startsWith("data: ")) event(JSON.parse(line.slice(6)));
      }
    } catch (err) {
      if (signal.aborted) return;
      console.debug("stream", err);
    }
    lost();
    await new Promise((done) => setTimeout(done, pause));
  }
}
