// The http effect: one request, its answer read to the end. No retry and no decision is made here.

// Longest answer that is handed over (actor.MaxBody).
const MAX_BODY = 8 << 20;

// Time for an effect that names none, and between two signs of life, in ms.
const TIMEOUT = 30_000;
const PROGRESS = 5_000;

// Discord's CDN turns away requests without such a name (Discord, "User Agent").
const USER_AGENT = "DiscordBot (https://holdfast.invalid, 1)";

class TooLong extends Error {}

// No failure is called unsent: fetch says "Network connection lost." of a connection that was never made as of one that
// broke after the request had been read, and what may have been acted upon is not repeated.

// perform does an effect and gives its outcome: {kind, status, headers, bytes, detail}; bytes is a Uint8Array. body is
// the raw JSON to send, or undefined. progress(n) is told the bytes received so far, every 5 s.
export async function perform(effect, body, deploy, progress) {
  const { request, refused } = build(effect, body, deploy);
  if (refused) return { kind: "refused", detail: refused };
  const stop = new AbortController();
  const got = { bytes: 0 };
  const alive = setInterval(() => progress(got.bytes), PROGRESS);
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    stop.abort();
  }, effect.timeout_ms || TIMEOUT);
  try {
    const response = await fetch(request, { signal: stop.signal, redirect: "manual" });
    const bytes = await read(response, got);
    return { kind: "response", status: response.status, headers: Object.fromEntries(response.headers), bytes };
  } catch (error) {
    if (late) return { kind: "timeout" };
    stop.abort(); // of an answer that was too long, the rest
    if (error instanceof TooLong) return { kind: "refused", detail: error.message };
    return { kind: "network", detail: clean(error) };
  } finally {
    clearTimeout(timer);
    clearInterval(alive);
  }
}

// build makes the request, or says why this host would not.
function build(effect, body, deploy) {
  const { target, credential = "" } = effect;
  const base = Object.hasOwn(deploy.targets, target) ? deploy.targets[target] : "";
  if (base === "") return { refused: "unknown target" };
  if (credential !== "" && credential !== (target === "discord" ? "bot" : target)) return { refused: "that credential is not for that target" };
  const url = `${base}${effect.path}`;
  if (!inside(base, url, effect.path)) return { refused: "the path leaves the target" };
  try {
    const headers = new Headers(effect.headers ?? {});
    if (body !== undefined) headers.set("content-type", "application/json");
    if (target === "discord") headers.set("user-agent", USER_AGENT);
    for (const [name, value] of Object.entries(deploy.headers[credential] ?? {})) headers.set(name, value);
    return { request: new Request(url, { method: effect.method, headers, body }) };
  } catch (error) {
    return { refused: clean(error) };
  }
}

// inside says whether url, once its dots are resolved, still begins with base.
function inside(base, url, path) {
  return typeof path === "string" && path.startsWith("/") && URL.canParse(url) && new URL(url).href.startsWith(`${base}/`);
}

// read takes an answer to its end, counting in got.
async function read(response, got) {
  const chunks = [];
  for await (const chunk of response.body ?? []) {
    got.bytes += chunk.length;
    if (got.bytes > MAX_BODY) throw new TooLong("answer over 8 MiB");
    chunks.push(chunk);
  }
  const all = new Uint8Array(got.bytes);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}

// clean takes addresses out of an error: a path may hold an interaction's token.
function clean(error) {
  return String(error?.message ?? error).replace(/\S*:\/\/\S*/g, "(address)").slice(0, 200);
}
