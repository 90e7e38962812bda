// The envelope of an event and the reading of its result (actor/envelope.go).

import * as raw from "./raw.mjs";

// Longest event, in bytes (actor.MaxEvent).
export const MAX_EVENT = 1 << 20;

// envelope writes an actor.Event. peek is why nothing can be committed, or undefined. data and config.json are JSON already, and go in as they are.
export function envelope({ id, type, attempt, now, entropy, owner, sockets, deadline, actor, peek, data }, { hash, json }, full) {
  const head = { v: 1, id, type, attempt, now, entropy, owner, sockets, deadline, actor, peek };
  const config = `{"version":1,"hash":${JSON.stringify(hash)}${full ? `,"full":${json}` : ""}}`;
  const tail = data === undefined ? "" : `,"data":${data}`;
  return `${JSON.stringify(head).slice(0, -1)},"config":${config}${tail}}`;
}

const strict = new TextDecoder("utf-8", { fatal: true });

// parseResult reads an actor.Result: {reply, body, alarm, points, effects}. body is the raw text of the reply's body;
// each effect has beside its fields raw, the raw text of its members. It throws when it is none.
export function parseResult(bytes) {
  const text = strict.decode(bytes);
  const result = JSON.parse(text);
  const { reply, alarm = null, effects, trace } = result;
  if (alarm !== null && !(Number.isSafeInteger(alarm) && alarm > 0)) throw new Error("an alarm that is no time");
  const pieces = raw.members(text);
  const texts = effects ? raw.elements(pieces.effects) : [];
  return {
    reply,
    body: reply ? raw.members(pieces.reply).body : undefined,
    alarm,
    points: (trace ?? []).map((t) => t.name),
    effects: (effects ?? []).map((e, i) => ({ ...e, raw: raw.members(texts[i]) })),
  };
}

// Longest answer that travels inside its outcome, and size of a part (actor.MaxInlineBody).
const MAX_INLINE = 512 << 10;

// Text whose escapes would make an event too long travels as base64 all the same.
const MAX_ESCAPED = 800 << 10;

// outcome writes what became of an effect as the events to hand over, in order: [type, data] pairs.
export function outcome({ id, epoch = 0 }, { kind, status, headers, bytes, detail }) {
  const head = { id, epoch, kind, status, headers, detail };
  if (bytes === undefined || bytes.length === 0) return [["effect", JSON.stringify(head)]];
  if (bytes.length > MAX_INLINE) {
    const parts = [];
    for (let at = 0; at < bytes.length; at += MAX_INLINE) {
      const body_b64 = bytes.subarray(at, at + MAX_INLINE).toBase64();
      parts.push(["effect.part", JSON.stringify({ id, epoch, seq: parts.length, body_b64 })]);
    }
    return [...parts, ["effect", JSON.stringify({ ...head, parts: parts.length })]];
  }
  const body = utf8(bytes);
  const text = body === null ? "" : JSON.stringify({ ...head, body });
  const fits = body !== null && text.length < MAX_ESCAPED;
  return [["effect", fits ? text : JSON.stringify({ ...head, body_b64: bytes.toBase64() })]];
}

function utf8(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
