// What a caller is answered: {committed, status, headers, body}, body a string. It crosses from an actor to the front.

// HTTP statuses of actor/errs.
const STATUS = { invalid: 400, unauthorized: 403, not_found: 404, conflict: 409, stale: 409, unavailable: 503 };

// Statuses that must not have a body, by which a Response would throw.
const EMPTY = new Set([204, 205, 304]);

// failure is the answer of an error with a code of actor/errs; nothing was committed.
export function failure(code, message, hint = "", status = STATUS[code] ?? 500) {
  const error = hint === "" ? { code, message } : { code, message, hint };
  return { committed: false, status, headers: {}, body: JSON.stringify({ error }) };
}

// unavailable is the answer when the fault is ours and passes.
export function unavailable(message = "Not available at the moment.") {
  return failure("unavailable", message, "Try again; nothing was lost.");
}

// absent is the answer for a workspace that nobody made.
export function absent() {
  return failure("not_found", "There is no such workspace.", "An admin makes one with PUT …/config.");
}

// fault is the answer to a defect of ours, which is nobody else's business.
export function fault() {
  return failure("internal", "Internal error.", "The operator's log has the details.");
}

// refusal is the answer to the output of a call that rolled back: {"code","message","hint"}.
export function refusal(output) {
  try {
    const { code, message, hint } = JSON.parse(output);
    if (code in STATUS || code === "need_config") return failure(code, String(message), hint);
    console.error("core.call.failed", String(code), String(message));
  } catch {
    console.error("core.call.failed", "an error that is no JSON");
  }
  return fault();
}

// reply is the answer of an actor.Reply, parsed, with the raw text of its body.
export function reply(r, body) {
  if (r === null || r === undefined) return { committed: true, status: 204, headers: {}, body: "" };
  return { committed: true, status: r.status, headers: r.headers ?? {}, body: body ?? "" };
}

// ok says whether an answer is a success.
export const ok = (answer) => answer.status >= 200 && answer.status < 300;

const JSON_ONLY = { "content-type": "application/json" };

// respond makes the HTTP response of an answer.
export function respond({ status, headers, body }) {
  const valid = Number.isInteger(status) && status >= 200 && status <= 599;
  return new Response(EMPTY.has(status) ? null : body, { status: valid ? status : 500, headers: typed(headers) });
}

// typed gives headers with a content type.
function typed(headers) {
  if (Object.keys(headers).length === 0) return JSON_ONLY;
  const all = new Headers(headers);
  if (!all.has("content-type")) all.set("content-type", "application/json");
  return all;
}
