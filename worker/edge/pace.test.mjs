import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { Pace } from "./pace.mjs";

// world runs a pace on a clock that moves only in tick; grants answer its draws in order.
function world(...grants) {
  mock.timers.enable({ apis: ["Date", "setTimeout"], now: 1000 });
  globalThis.scheduler = { wait: (ms) => new Promise((done) => setTimeout(done, ms)) };
  const asked = [];
  const pace = new Pace(async (want) => {
    asked.push(want);
    return grants.shift() ?? null;
  });
  const sent = [];
  return {
    asked,
    sent,
    send: () => pace.permit().then((ok) => sent.push(ok ? Date.now() : "unsent")),
    async tick(ms) {
      for (let i = 0; i < ms; i++) {
        for (let j = 0; j < 10; j++) await null;
        mock.timers.tick(1);
      }
      for (let j = 0; j < 10; j++) await null;
    },
    end: () => mock.timers.reset(),
  };
}

test("what waits together is drawn for together, and goes at its instants", async () => {
  const w = world({ permits: 2, at: 1010, every: 29, until: 1068, late: 100 }, { permits: 1, at: 1200, every: 29, until: 1229, late: 100 });
  for (let i = 0; i < 3; i++) w.send();
  await w.tick(500);
  assert.deepEqual([w.asked, w.sent], [[3, 1], [1010, 1039, 1200]]);
  w.end();
});

test("a share is asked for once; a second request within its time is drawn for", async () => {
  const w = world({ permits: 3, at: 1000, every: 1000, until: 4000, late: 100 }, { permits: 1, at: 1500, every: 29, until: 1529, late: 100 });
  w.send();
  await w.tick(400);
  w.send();
  await w.tick(1000);
  w.send();
  await w.tick(1000);
  w.send();
  await w.tick(1000);
  assert.deepEqual([w.asked, w.sent], [[1, 1], [1000, 1500, 2400, 3400]]);
  w.send(); // no permit is left
  await w.tick(1);
  assert.deepEqual(w.asked, [1, 1, 1]);
  w.end();
});

test("a share ends with its time", async () => {
  const w = world({ permits: 3, at: 1000, every: 1000, until: 4000, late: 100 }, { permits: 1, at: 4600, every: 29, until: 4629, late: 100 });
  w.send();
  await w.tick(3500);
  w.send();
  await w.tick(200);
  assert.deepEqual([w.asked, w.sent], [[1, 1], [1000, 4600]]);
  w.end();
});

test("a permit that came too late is lost", async () => {
  const w = world({ permits: 1, at: 899, every: 29, until: 928, late: 100 }, { permits: 1, at: 1050, every: 29, until: 1079, late: 100 });
  w.send();
  await w.tick(200);
  assert.deepEqual([w.asked, w.sent], [[1, 1], [1050]]);
  w.end();
});

test("how long a draw took is told at the next one", async () => {
  mock.timers.enable({ apis: ["Date"], now: 1000 });
  const told = [];
  const pace = new Pace(async (want, took) => {
    told.push(took);
    mock.timers.tick(70);
    return { permits: 1, at: Date.now(), every: 29, until: Date.now() + 29, late: 100 };
  });
  assert.deepEqual([await pace.permit(), await pace.permit(), told], [true, true, [0, 70]]);
  mock.timers.reset();
});

test("without room it asks again, and gives up in time", async () => {
  const grants = [];
  for (let at = 2000; at < 12000; at += 1000) grants.push({ permits: 0, at });
  const w = world(...grants);
  w.send();
  await w.tick(12000);
  assert.deepEqual([w.asked.length, w.sent], [10, ["unsent"]]);
  w.end();
});

test("a directory that does not answer holds nobody up", async () => {
  const w = world(null, null);
  w.send();
  w.send();
  await w.tick(1);
  assert.deepEqual(w.sent, [1000, 1000]);
  w.end();
});

test("nor does one that never answers, whoever waits behind the first", async () => {
  mock.timers.enable({ apis: ["Date", "setTimeout"], now: 1000 });
  const pace = new Pace(() => new Promise(() => {}));
  const sent = [];
  const send = () => pace.permit().then((ok) => sent.push(ok && Date.now()));
  const settle = async () => {
    for (let i = 0; i < 20; i++) await null;
  };
  send();
  await settle();
  send();
  mock.timers.tick(3000);
  await settle();
  assert.deepEqual(sent, [4000, 4000]);
  mock.timers.reset();
});

test("nothing is sent after its patience, whatever permits it", async () => {
  const w = world({ permits: 0, at: 9900 }, { permits: 1, at: 11500, every: 29, until: 11529, late: 100 });
  w.send();
  await w.tick(11000);
  assert.deepEqual([w.asked, w.sent], [[1, 1], ["unsent"]]);
  w.end();
});
