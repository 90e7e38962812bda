import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { perform } from "./effects.mjs";
import { fault, reply, unavailable } from "./answer.mjs";

const DONE = reply({ status: 200 }, "{}");

// world performs effects of an actor on a clock that moves only in pass; run answers its events, deliver those of the
// application directory.
function world({ run = () => DONE, deliver } = {}) {
  mock.timers.enable({ apis: ["Date", "setTimeout"], now: 0 });
  mock.method(console, "error", () => {});
  globalThis.scheduler = { wait: (ms) => new Promise((done) => setTimeout(done, ms)) };
  const w = {
    handed: [], // {at, type, data, id} of each attempt, at in seconds
    told: [],
    landed: 0,
    perform: (effect) => perform(actor, effect, undefined, () => w.landed++),
    async pass(seconds) {
      await settled();
      for (let i = 0; i < seconds; i++) {
        mock.timers.tick(1000);
        await settled();
      }
    },
    end() {
      mock.timers.reset();
      mock.restoreAll();
    },
  };
  const actor = {
    name: "workspace:1/a",
    deploy: { targets: {}, headers: {} },
    env: { APPLICATION: { getByName: () => ({ deliver: async (type, data) => deliver(w.told.push({ at: Date.now() / 1000, type, data: JSON.parse(data) })) }) } },
    run(type, data, { id }) {
      return run(w.handed.push({ at: Date.now() / 1000, type, data: JSON.parse(data), id }));
    },
  };
  return w;
}

async function settled() {
  for (let i = 0; i < 30; i++) await null;
}

const request = { type: "http", id: "t1", epoch: 3, target: "none", path: "/", raw: { body: "null" } };
const message = { type: "actor", id: "m1", actor: "application", raw: { data: '{"report":"why"}' } };

test("an outcome is handed over until the object can be written again", async () => {
  const w = world({ run: (n) => (n > 10 ? DONE : unavailable("The database is full; nothing was recorded.")) });
  w.perform(request);
  await w.pass(1000);
  assert.deepEqual(w.handed.map((h) => h.at), [0, 1, 3, 7, 15, 31, 61, 91, 121, 151, 181]);
  assert.deepEqual([new Set(w.handed.map((h) => h.id)).size, w.landed], [1, 1]);
  assert.deepEqual([w.handed[10].type, w.handed[10].data.id, w.handed[10].data.kind], ["effect", "t1", "refused"]);
  w.end();
});

test("an outcome with a reason against it that does not pass is not repeated", async () => {
  for (const answer of [fault(), { committed: false, status: 409 }]) {
    const w = world({ run: () => answer });
    w.perform(request);
    await w.pass(100);
    assert.equal(w.handed.length, 1);
    w.end();
  }
});

test("a message is told until the other actor has committed it", async () => {
  const w = world({
    deliver: (n) => {
      if (n % 2 === 0) throw new Error("the object was reset");
      return n > 12 ? DONE : unavailable();
    },
  });
  w.perform(message);
  await w.pass(1000);
  assert.deepEqual(w.told.map((t) => t.at), [0, 1, 3, 7, 15, 31, 61, 91, 121, 151, 181, 211, 241]);
  assert.deepEqual(w.told[12].data, { id: "workspace:1/a#m1", from: "workspace:1/a", data: { report: "why" } });
  assert.deepEqual(w.handed.map((h) => [h.data.id, h.data.kind, h.data.status]), [["m1", "response", 200]]);
  w.end();
});

test("who cannot exist is told nothing", async () => {
  const w = world();
  w.perform({ ...message, actor: "../x" });
  await w.pass(1);
  assert.deepEqual([w.told, w.handed.map((h) => h.data.kind)], [[], ["refused"]]);
  w.end();
});
