// The Durable Objects. One object is one actor: it runs the core on each event inside one transaction, answers, and
// then performs the effects, whose outcomes are events again (docs/protocol.md, "What a host does").
//
// Handling an event awaits nothing, so events of one object come one after another and the mailbox is the platform's.

import { DurableObject } from "cloudflare:workers";
import { COMMIT } from "./core.mjs";
import { core } from "./instance.mjs";
import { deployment, hex, randomHex } from "./config.mjs";
import { execute } from "./sql.mjs";
import { absent, failure, fault, refusal, reply, unavailable } from "./answer.mjs";
import { MAX_EVENT, envelope, parseResult } from "./event.mjs";
import { perform } from "./effects.mjs";
import { Pace, draw } from "./pace.mjs";
import * as sockets from "./sockets.mjs";
import * as rig from "./rig.mjs";

// Attempts at an event that makes the core crash; the fourth is for the core to give up (spec 3.1).
const ATTEMPTS = 4;

// When a wake failed altogether, the next one comes so many ms later.
const WAKE_AGAIN = 30_000;

// What an operator is told whose call could not be committed, by the failed statement's code (actor/store).
const UNWRITABLE = {
  full: "The database is full; nothing was recorded.",
  corrupt: "The database is damaged; it was left untouched.",
  io: "The database could not be written; nothing was recorded.",
};

// ROLLED_BACK leaves a transaction that must not be committed.
const ROLLED_BACK = Symbol("rolled back");

// The operator's ops that an actor begins with. A question makes none: who may read could otherwise store names without end.
const makes = (data) => ["config", "bind"].includes(JSON.parse(data).op);

const encoder = new TextEncoder();
const decoder = new TextDecoder();

class Actor extends DurableObject {
  #owner = randomHex(16);
  #started = false; // the core committed this owner's start
  #alarm; // as it was last committed; undefined when that is not known
  #flying = 0; // effects in flight
  #unwritable; // why the last event could not be committed, when its statements were not at fault
  #held; // in a test build, what has to happen before anything follows from a commit
  #name;
  deploy;
  pace = new Pace((want, took) => draw(this, want, took));
  tally = { events: {}, rows_read: 0, rows_written: 0, alarms: 0, crashes: 0, sockets: 0 };

  constructor(ctx, env) {
    super(ctx, env);
    ctx.blockConcurrencyWhile(async () => {
      this.deploy = await deployment(env);
    });
  }

  // deliver handles an event for the front or another actor and gives its answer. data is JSON or undefined.
  async deliver(type, data, deadline) {
    const answer = this.run(type, data, { deadline });
    await this.#held;
    return answer;
  }

  // reset ends this object as a deploy does, in a test build.
  reset() {
    rig.reset(this.ctx);
  }

  // counters tells what this object did since it was made, for tests.
  counters() {
    return this.tally;
  }

  // alarm returns at once, whatever the wake comes to: a handler that is still running would hold back the next alarm,
  // and one that throws is repeated by the platform only a few times.
  alarm(info) {
    this.#alarm = null;
    let committed = false;
    try {
      const attempt = Math.min(1 + (info?.retryCount ?? 0), ATTEMPTS);
      committed = this.run("wake", undefined, { attempt }).committed;
    } catch (error) {
      console.error("actor.wake.failed", String(error));
    }
    if (!committed) this.#setAlarm(Date.now() + WAKE_AGAIN);
  }

  // fetch accepts a runner's WebSocket; the front has checked its key.
  fetch(request) {
    return sockets.accept(this, request);
  }

  webSocketMessage(socket, message) {
    sockets.message(this, socket, message);
  }

  webSocketClose(socket, code, reason) {
    sockets.closed(this, socket, code, reason);
  }

  webSocketError(socket) {
    sockets.closed(this, socket, 1006, "");
  }

  // name is the actor's. The platform does not tell it to every kind of event, so it is kept.
  get name() {
    this.#name ??= this.ctx.id.name ?? this.ctx.storage.kv.get("name");
    return this.#name;
  }

  // run handles an event, a start before the first one, and gives its answer. It awaits nothing. An operator who asks to
  // read is answered also when nothing can be committed.
  run(type, data, options = {}) {
    const answer = this.#run(type, data, options);
    const why = this.#unwritable;
    return why !== undefined && type === "operator" ? (this.#peek(data, why) ?? answer) : answer;
  }

  #run(type, data, options) {
    if (!this.#started) {
      const { kv } = this.ctx.storage;
      if (kv.get("name") === undefined) {
        if (type === "operator" && !makes(data)) return absent();
        kv.put("name", this.name);
      }
      const start = this.#event("start", undefined, { full: true });
      if (!start.committed) return start;
      this.#started = true;
    }
    return this.#event(type, data, options);
  }

  // #event makes attempts until one does not crash.
  #event(type, data, { id = randomHex(8), deadline, attempt = 1, full = false }) {
    for (; attempt <= ATTEMPTS; attempt++) {
      const event = { id, type, attempt, owner: this.#owner, sockets: sockets.open(this), deadline, actor: this.name, data };
      let call = this.#transact(event, full);
      if (call.code === "need_config") call = this.#transact(event, true);
      if (call.answer) return call.answer;
      this.tally.crashes++;
      console.error("actor.event.crashed", this.name, type, id, attempt, String(call.error));
    }
    return fault();
  }

  // #transact runs the core once. It gives {answer}, with code when that is a refusal of the core, or {error} for a crash.
  #transact(event, full) {
    this.#unwritable = undefined;
    const now = Date.now();
    const entropy = crypto.getRandomValues(new Uint8Array(32));
    const input = encoder.encode(envelope({ ...event, now, entropy: hex(entropy) }, this.deploy, full));
    if (input.length > MAX_EVENT) return { answer: failure("invalid", "That is too long.") };
    this.tally.events[event.type] = (this.tally.events[event.type] ?? 0) + 1;
    const call = this.#commit(input, { now, entropy });
    if (call.sql) {
      console.error("actor.sql.failed", this.name, event.type, event.id, call.sql);
      this.#unwritable = UNWRITABLE[call.sql];
      return { answer: unavailable(this.#unwritable ?? "The database does not answer.") };
    }
    if (call.error) return { error: call.error };
    if (call.result === undefined) {
      const answer = refusal(call.output);
      const { code } = JSON.parse(answer.body).error;
      return code === "internal" ? { error: call.output } : { answer, code }; // a defect comes again: it must be counted
    }
    this.#alarm = call.alarm;
    this.#follow(call.result);
    return { answer: reply(call.result.reply, call.result.body) };
  }

  // #peek answers an operator's call from what is committed, or gives undefined.
  #peek(data, peek) {
    const now = Date.now();
    const entropy = crypto.getRandomValues(new Uint8Array(32));
    const event = { id: randomHex(8), type: "operator", attempt: 1, owner: this.#owner, sockets: sockets.open(this), actor: this.name, peek, data };
    const input = encoder.encode(envelope({ ...event, now, entropy: hex(entropy) }, this.deploy, true));
    const { sql, error, result, output } = this.#commit(input, { now, entropy }, false);
    if (sql || error) return undefined;
    return result === undefined ? refusal(output) : { ...reply(result.reply, result.body), committed: false };
  }

  // #commit opens the transaction and ends it as the core says, unless it is not to keep anything. It gives {result} when
  // it was committed, or would have been; else sql says which statement's failure, error which crash, and output what
  // reason of the core's it was rolled back for.
  #commit(input, { now, entropy }, keep = true) {
    const { storage } = this.ctx;
    const call = {};
    const count = (cursor) => {
      this.tally.rows_read += cursor.rowsRead;
      this.tally.rows_written += cursor.rowsWritten;
    };
    const sql = (statement) => execute(storage.sql, statement, count, (code) => (call.sql = code));
    try {
      storage.transactionSync(() => {
        const { rc, output, error } = core.call("handle", input, { now, entropy, sql });
        call.error = error;
        if (rc !== COMMIT || call.sql) {
          call.output = output && decoder.decode(output);
          throw ROLLED_BACK;
        }
        const result = this.#parse(call, output);
        if (!keep) {
          call.result = result;
          throw ROLLED_BACK;
        }
        call.alarm = this.#setAlarm(result.alarm);
        rig.committing(this.env, result.points);
        call.result = result;
      });
    } catch (error) {
      if (error !== ROLLED_BACK) this.#lost(error);
    }
    return call;
  }

  #parse(call, output) {
    try {
      return parseResult(output);
    } catch (error) {
      call.error = error;
      throw ROLLED_BACK;
    }
  }

  // #setAlarm is part of the transaction it is called in, and therefore never awaited. It gives the alarm as it then is.
  //
  // An alarm that would not change is left alone: it costs a row. While effects are in flight it is not put off either:
  // the platform evicts an object that had no event for 70 to 140 s, whatever it is waiting for, and each sign of life of a
  // long call would put off the alarm that keeps it (F31). The core then wakes too early, which is harmless.
  #setAlarm(at) {
    const kept = this.#flying > 0 && this.#alarm > Date.now() && at > this.#alarm;
    if (kept || at === this.#alarm) return this.#alarm;
    const { storage } = this.ctx;
    (at === null ? storage.deleteAlarm() : storage.setAlarm(at)).catch(() => {});
    this.tally.alarms++;
    return at;
  }

  // #lost drops this object: nobody knows whether the transaction was committed, so nothing may go on from memory.
  #lost(error) {
    console.error("actor.commit.lost", this.name, String(error));
    this.ctx.abort("the outcome of a commit is not known");
    throw error;
  }

  // #follow does what a committed result asks for. The caller's answer does not wait for it.
  #follow(result) {
    this.#held = rig.committed(this.env, this.ctx, result.points);
    for (const effect of result.effects) {
      this.#flying++;
      this.ctx.waitUntil(perform(this, effect, this.#held, () => this.#flying--));
    }
  }
}

// Workspace is one project's conversations: "workspace:<guild>/<workspace>".
export class Workspace extends Actor {}

// Directory says which workspace a channel belongs to: "directory:<guild>".
export class Directory extends Actor {}

// Application is what all guilds of a deployment share: "application".
export class Application extends Actor {}
