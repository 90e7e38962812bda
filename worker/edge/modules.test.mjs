import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { envelope, outcome, parseResult } from "./event.mjs";
import { elements, members } from "./raw.mjs";
import { deployment, hex, unhex } from "./config.mjs";
import { stream } from "./random.mjs";

test("pieces of JSON are what was sent", () => {
  const text = ' { "a" : 1.0 ,"b":[ 1 , {"x":"]}\\"" } ],"c\\u0041":"\\u003c","d":null,"e":{} , "f":-1e5} ';
  assert.deepEqual(members(text), { a: "1.0", b: '[ 1 , {"x":"]}\\"" } ]', cA: '"\\u003c"', d: "null", e: "{}", f: "-1e5" });
  assert.deepEqual(elements(members(text).b), ["1", '{"x":"]}\\"" }']);
  assert.deepEqual([members("{}"), members(" { } "), elements("[]"), elements("[ ]"), elements('["\\\\",2]')], [{}, {}, [], [], ['"\\\\"', "2"]]);
  for (const wrong of ["7", '"{"', "null", ""]) {
    assert.throws(() => members(wrong), TypeError);
    assert.throws(() => elements(wrong), TypeError);
  }
});

// The law: whatever JSON.stringify writes, its pieces parse to the parts.
test("pieces parse to the parts of any value", () => {
  let seed = 7;
  const next = (n) => (seed = (seed * 48271) % 2147483647) % n;
  const value = (depth) => {
    switch (next(depth > 3 ? 4 : 6)) {
      case 0: return next(1000) / 7 - 50;
      case 1: return [true, false, null][next(3)];
      case 2: return "";
      case 3: return Array.from({ length: next(6) }, () => '"\\{}[],: \n\u0000üa'[next(13)]).join("");
      case 4: return Array.from({ length: next(4) }, () => value(depth + 1));
    }
    return Object.fromEntries(Array.from({ length: next(4) }, () => [String(value(9)), value(depth + 1)]));
  };
  for (let i = 0; i < 3000; i++) {
    const v = { a: value(0), b: value(0) };
    for (const text of [JSON.stringify(v), JSON.stringify(v, null, 2)]) {
      const pieces = members(text);
      assert.deepEqual(Object.fromEntries(Object.entries(pieces).map(([k, p]) => [k, JSON.parse(p)])), v);
    }
    const list = [v.a, v.b];
    assert.deepEqual(elements(JSON.stringify(list, null, 1)).map((p) => JSON.parse(p)), list);
  }
});

test("randomness is that of Go", () => {
  const { seed, bytes } = JSON.parse(readFileSync(new URL("./testdata/random.json", import.meta.url)));
  const got = new Uint8Array(bytes.length / 2);
  const fill = stream(unhex(seed));
  for (let at = 0, n = 1; at < got.length; at += n, n = (n * 5) % 101) fill(got.subarray(at, at + n)); // in pieces: it is a stream
  assert.equal(hex(got), bytes);
});

test("an envelope holds data and configuration as they are", () => {
  const event = { id: "1", type: "operator", attempt: 2, now: 5, entropy: "ab", owner: "o", sockets: [], deadline: undefined, actor: "application", data: '{"x":1.0}' };
  const config = { hash: "ff", json: '{"y":2.0}' };
  assert.equal(envelope(event, config, true),
    '{"v":1,"id":"1","type":"operator","attempt":2,"now":5,"entropy":"ab","owner":"o","sockets":[],"actor":"application","config":{"version":1,"hash":"ff","full":{"y":2.0}},"data":{"x":1.0}}');
  assert.equal(JSON.parse(envelope({ ...event, data: undefined }, config, false)).data, undefined);
});

test("what is no result is refused", () => {
  const parse = (text) => parseResult(new TextEncoder().encode(text));
  for (const wrong of ["", "{", "null", "[]", '{"effects":7}', '{"effects":{}}', '{"alarm":-1}', '{"alarm":1.5}', '{"alarm":"1"}', '{"reply":7}', '{"trace":3}', '{"effects":[1]}']) {
    assert.throws(() => parse(wrong), undefined, wrong);
  }
  assert.deepEqual(parse('{"reply":null,"effects":null,"trace":null}'), { reply: null, body: undefined, alarm: null, points: [], effects: [] });
  const { effects, body, points } = parse('{"reply":{"status":200,"body": {"a":1.0} },"trace":[{"name":"admit"}],"effects":[{"id":"d1","body":{"b":2.0}}]}');
  assert.deepEqual([effects[0].raw.body, body, points], ['{"b":2.0}', '{"a":1.0}', ["admit"]]);
});

test("an outcome without a body", () => {
  assert.deepEqual(outcome({ id: "t1" }, { kind: "timeout" }), [["effect", '{"id":"t1","epoch":0,"kind":"timeout"}']]);
});

test("hexadecimal", () => {
  assert.deepEqual(unhex("00ff10"), Uint8Array.of(0, 255, 16));
  assert.deepEqual([unhex("0"), unhex("zz"), unhex("FF")], [null, null, null]);
  assert.equal(hex(Uint8Array.of(0, 255, 16)), "00ff10");
});

const complete = {
  HOLDFAST_DISCORD_APPLICATION_ID: "1",
  HOLDFAST_DISCORD_PUBLIC_KEYS: `${"ab".repeat(32)}, ${"cd".repeat(32)}`,
  HOLDFAST_DISCORD_ALLOWED_GUILDS: "11,12",
  HOLDFAST_DISCORD_BOT_TOKEN: "t",
  HOLDFAST_SECRET: "s".repeat(32),
  HOLDFAST_MODELS: { big: { format: "openai", base_url: "http://127.0.0.1:1/v1/", model: "m", window: 10 } },
  HOLDFAST_MODEL_KEY_BIG: "k",
};

test("a complete configuration", async () => {
  const d = await deployment(complete);
  assert.deepEqual(d.problems, []);
  assert.deepEqual(d.config.models, { big: { format: "openai", model: "m", window: 10 } });
  assert.deepEqual([d.config.default_model, d.config.allowed_guilds], ["big", ["11", "12"]]);
  assert.deepEqual(d.targets, { discord: "https://discord.com/api/v10", "model:big": "http://127.0.0.1:1/v1" });
  assert.deepEqual(d.headers, { bot: { authorization: "Bot t" }, "model:big": { authorization: "Bearer k" } });
  const again = await deployment({ ...complete, HOLDFAST_MODELS: JSON.stringify(complete.HOLDFAST_MODELS) });
  assert.equal(again.hash, d.hash);
  const other = await deployment({ ...complete, HOLDFAST_DISCORD_ALLOWED_GUILDS: "" });
  assert.notEqual(other.hash, d.hash);
});

test("each mistake in the configuration is named", async () => {
  const mistakes = {
    HOLDFAST_DISCORD_APPLICATION_ID: "x",
    HOLDFAST_DISCORD_PUBLIC_KEYS: "zz",
    HOLDFAST_DISCORD_ALLOWED_GUILDS: "a",
    HOLDFAST_DISCORD_BOT_TOKEN: "",
    HOLDFAST_DISCORD_API: "file:///etc",
    HOLDFAST_SECRET: "short",
    HOLDFAST_MODELS: "[]",
    HOLDFAST_MODELS_DEFAULT: "none",
    HOLDFAST_TOKENS_LEAST: "{",
  };
  for (const [name, value] of Object.entries(mistakes)) {
    const { problems } = await deployment({ ...complete, [name]: value });
    assert.ok(problems.some((p) => p.startsWith(name)), `${name}: ${problems}`);
  }
  const models = [{ format: "x" }, { format: "openai", base_url: "", model: "m" }, { format: "openai", base_url: "http://h", model: "" }, { format: "openai", base_url: "http://h", model: "m", window: -1 }, null];
  for (const m of models) {
    const { problems } = await deployment({ ...complete, HOLDFAST_MODELS: { m } });
    assert.ok(problems.some((p) => p.startsWith('HOLDFAST_MODELS: "m"')), JSON.stringify(m));
  }
});
