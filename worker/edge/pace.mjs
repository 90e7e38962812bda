// The pace of requests with the bot's token, which all objects of a deployment share: an object draws permits from the
// application directory, which decides how many there are and when they may be used (actor.PaceGrant).

import { send } from "./actors.mjs";
import { randomHex } from "./config.mjs";

// How long a request waits for its permit, in ms. It is then given up unsent, and its row due again; with its time-out
// it must be over before the claim's lease is (actor, deliverLease).
const PATIENCE = 10_000;

// How long a draw may take, in ms.
const ANSWER = 3_000;

// Between two draws of a request that got none, in ms, also where two machines' clocks differ.
const LEAST = 100;

// FREE is the permit of an application directory that does not answer: it holds nobody up.
const FREE = { at: 0, late: Infinity };

// Pace gives permits to one object.
export class Pace {
  #ask;
  #waiting = []; // functions that take a permit: {at, late}
  #took = 0;
  #kept = { left: 0, next: 0, every: 0, until: 0 }; // of the last grant

  // ask(want, took) gives a grant, or null when there is no answer; took is how many ms the last one took.
  constructor(ask) {
    this.#ask = ask;
  }

  // permit returns true as soon as a request may be sent, at once; false when none may for too long.
  async permit() {
    const end = Date.now() + PATIENCE;
    while (Date.now() < end) {
      if (this.#take()) return true;
      const { at, late } = await this.#drawn();
      if (Math.max(at, Date.now()) >= end) return false;
      if (at > Date.now()) await scheduler.wait(at - Date.now());
      if (Date.now() <= at + late) return true;
    }
    return false;
  }

  // #take uses a kept permit whose time has come.
  #take() {
    const now = Date.now();
    const { left, next, every, until } = this.#kept;
    if (left === 0 || now < next || now >= until) return false;
    this.#kept = { left: left - 1, next: now + every, every, until };
    return true;
  }

  #drawn() {
    return new Promise((permit) => {
      if (this.#waiting.push(permit) === 1) this.#draw();
    });
  }

  // #draw asks until nobody waits: at first for all that one commit sends.
  async #draw() {
    await null;
    while (this.#waiting.length > 0) {
      const want = this.#waiting.length;
      const begun = Date.now();
      const grant = await answered(this.#ask(want, this.#took));
      this.#took = Date.now() - begun;
      if (grant === null || grant.permits === 0) {
        const permit = grant === null ? FREE : { at: Math.max(grant.at, Date.now() + LEAST), late: -1 };
        for (const waiting of this.#waiting.splice(0)) waiting(permit);
        return;
      }
      const { permits, at, every, until, late } = grant;
      const served = this.#waiting.splice(0, Math.min(want, permits)); // who came meanwhile is drawn for
      served.forEach((waiting, i) => waiting({ at: at + i * every, late }));
      const next = Math.max(at + served.length * every, Date.now() + every);
      if (permits > served.length) this.#kept = { left: permits - served.length, next, every, until };
    }
  }
}

// answered gives what a draw came to, null when that takes too long.
function answered(grant) {
  let timer;
  const late = new Promise((done) => (timer = setTimeout(done, ANSWER, null)));
  return Promise.race([grant.catch(() => null), late]).finally(() => clearTimeout(timer));
}

// draw asks the application directory for an object's permits.
export async function draw(actor, want, took) {
  const data = JSON.stringify({ id: `${actor.name}#p${randomHex(8)}`, from: actor.name, data: { draw: want, took } });
  const { committed, status, body } = await send(actor.env, "application", "actor", data);
  if (!committed || status !== 200) return null;
  const grant = JSON.parse(body);
  return ["permits", "at"].every((name) => Number.isSafeInteger(grant[name])) ? grant : null;
}
