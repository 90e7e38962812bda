// The runners' WebSockets. They hibernate: an object without work is evicted and its sockets stay open, so all that is
// known of one is in its attachment: {socket, caller}.

import { randomHex } from "./config.mjs";
import { respond, unavailable } from "./answer.mjs";
import { revoked } from "./keys.mjs";

// Longest frame of a runner, in bytes (frame.MaxFrame).
const MAX_FRAME = 512 << 10;

// Sockets of one workspace: one runner's, one that is refused, and those whose end nobody heard of.
const MAX_SOCKETS = 16;

// Close codes: actor/frame, and RFC 6455.
const PROTOCOL = 4400;
const REVOKED = 4401;
const NORMAL = 1000;
const TRY_AGAIN = 1013;

const OPEN = 1;

// accept takes a WebSocket for an actor. The front says in x-holdfast-caller whose it is.
export function accept(actor, request) {
  if (open(actor).length >= MAX_SOCKETS) return respond(unavailable("Too many runners are connected."));
  const { 0: theirs, 1: ours } = new WebSocketPair();
  const socket = `s${randomHex(8)}`;
  actor.ctx.acceptWebSocket(ours, [socket]);
  ours.serializeAttachment({ socket, caller: JSON.parse(request.headers.get("x-holdfast-caller")) });
  hand(actor, ours, "runner.open", JSON.stringify({ socket }));
  return new Response(null, { status: 101, webSocket: theirs });
}

// message hands a text frame over, unless it breaks the protocol or its sender's key was revoked.
export function message(actor, ours, text) {
  if (ours.readyState !== OPEN) return;
  actor.tally.sockets++;
  const { socket, caller } = ours.deserializeAttachment();
  if (revoked(caller, actor.deploy)) return ours.close(REVOKED, "this key was revoked");
  if (typeof text !== "string") return ours.close(PROTOCOL, "frames are text");
  if (new TextEncoder().encode(text).length > MAX_FRAME) return ours.close(PROTOCOL, `a frame has at most ${MAX_FRAME} bytes`);
  hand(actor, ours, "runner.message", `{"socket":${JSON.stringify(socket)},"frame":${frame(text)}}`);
}

// closed says that a socket is gone. The core sees it in the list of sockets anyway, should this be lost.
export function closed(actor, ours, code, reason) {
  const { socket } = ours.deserializeAttachment();
  try {
    ours.close();
  } catch {
    // closed on both sides already
  }
  actor.run("runner.close", JSON.stringify({ socket, code, reason }));
}

// hand runs an event of a socket. One that was not committed ends the socket: the runner connects again and both sides
// compare what they know.
function hand(actor, ours, type, data) {
  const { committed } = actor.run(type, data);
  if (!committed) ours.close(TRY_AGAIN, "try again");
}

// open lists the ids of the sockets that are open.
export function open(actor) {
  return actor.ctx.getWebSockets().filter((s) => s.readyState === OPEN).map((s) => s.deserializeAttachment()?.socket).filter(Boolean);
}

// send writes the effect runner.send. A socket that is gone is nobody's fault.
export function send(actor, socket, text) {
  for (const ours of actor.ctx.getWebSockets(socket)) {
    try {
      ours.send(text);
    } catch {
      // it closed meanwhile
    }
  }
}

// close performs the effect runner.close.
export function close(actor, socket, code, reason = "") {
  for (const ours of actor.ctx.getWebSockets(socket)) {
    try {
      ours.close(code >= 1000 && code <= 4999 ? code : NORMAL, short(reason));
    } catch (error) {
      console.error("runner.close.failed", String(error));
    }
  }
}

// short cuts a close reason to what a control frame holds, 123 bytes.
function short(reason) {
  let text = reason;
  while (new TextEncoder().encode(text).length > 123) text = text.slice(0, -1);
  return text.isWellFormed() ? text : text.slice(0, -1);
}

// frame gives a runner's frame as JSON: as it came when it is JSON, else as a string.
function frame(text) {
  try {
    JSON.parse(text);
    return text;
  } catch {
    return JSON.stringify(text);
  }
}
