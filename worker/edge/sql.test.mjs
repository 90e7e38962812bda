import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Refused, bindIntegers, classify, errorReply, execute, parseRequest, rowsReply } from "./sql.mjs";
import { hex, unhex } from "./config.mjs";

const cases = JSON.parse(readFileSync(new URL("./testdata/codec.json", import.meta.url)));

for (const { name, request, reply, failed } of cases) {
  test(`codec: ${name}`, () => {
    const { args } = parseRequest(unhex(request));
    const row = args.map((v) => (v instanceof Uint8Array ? v.buffer.slice(v.byteOffset, v.byteOffset + v.length) : v));
    const got = failed ? errorReply("constraint", "ünique") : rowsReply(args.length === 0 ? [] : [row]);
    assert.equal(hex(got), reply);
  });
}

test("a request that ends early is refused at every length", () => {
  const whole = unhex(cases.at(-2).request);
  for (let n = 0; n < whole.length; n++) assert.throws(() => parseRequest(whole.slice(0, n)), Refused, `${n} bytes`);
});

test("random bytes are refused or read, and nothing else", () => {
  let seed = 1;
  const next = () => (seed = (seed * 48271) % 2147483647);
  for (let i = 0; i < 20000; i++) {
    const b = Uint8Array.from({ length: next() % 40 }, () => (next() % 3 === 0 ? next() : 0));
    try {
      parseRequest(b);
    } catch (error) {
      assert.ok(error instanceof Refused, String(error));
    }
  }
});

test("integer parameters are bound as integers", () => {
  const tests = [
    ["SELECT ?", [true], "SELECT +CAST(?1 AS INTEGER)"],
    ["SELECT ?", [false], "SELECT ?"],
    ["SELECT ?, ?, ?", [false, true, false], "SELECT ?1, +CAST(?2 AS INTEGER), ?3"],
    ["SELECT ?2, ?, ?1", [true, false, false], "SELECT ?2, ?3, +CAST(?1 AS INTEGER)"],
    ["SELECT '?', '''?', \"?\", `?`, [?], ? -- ?\n, ? /* ? */, ?", [true, true, true],
      "SELECT '?', '''?', \"?\", `?`, [?], +CAST(?1 AS INTEGER) -- ?\n, +CAST(?2 AS INTEGER) /* ? */, +CAST(?3 AS INTEGER)"],
  ];
  for (const [sql, integers, want] of tests) {
    assert.equal(bindIntegers(sql, integers), want);
    assert.equal(bindIntegers(sql, integers), want, "the second time");
  }
});

test("errors have the codes of actor/store", () => {
  const tests = [
    [new Error("database or disk is full: SQLITE_FULL"), "full"],
    [new Error("database disk image is malformed: SQLITE_CORRUPT"), "corrupt"],
    [new Error("file is not a database: SQLITE_NOTADB"), "corrupt"],
    [new Error("UNIQUE constraint failed: u.x: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_PRIMARYKEY)"), "constraint"],
    [new Error("entries never change: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_TRIGGER)"), "constraint"],
    [new Error("database is locked: SQLITE_BUSY"), "busy"],
    [new Error("string or blob too big: SQLITE_TOOBIG"), "toobig"],
    [new Error("too many SQL variables at offset 207: SQLITE_ERROR"), "toobig"],
    [new Error("no such table: nope: SQLITE_ERROR"), "misuse"],
    [new Error("not authorized: SQLITE_AUTH"), "misuse"],
    [new Error("Wrong number of parameter bindings for SQL query."), "misuse"],
    [new TypeError("Cannot convert"), "misuse"],
    [new Error("disk I/O error: SQLITE_IOERR"), "io"],
    [new Error("internal error"), "io"],
    [undefined, "io"],
  ];
  for (const [error, want] of tests) assert.equal(classify(error), want, String(error));
});

test("execute answers with rows, and with the code of a failure", () => {
  const codes = [];
  const storage = { exec: (sql, ...args) => {
    if (sql === "fail") throw new Error("x: SQLITE_FULL");
    return { raw: () => [[sql, ...args]] };
  } };
  const request = (sql) => Uint8Array.of(sql.length, 0, 0, 0, ...new TextEncoder().encode(sql), 0, 0, 0, 0);
  let cursors = 0;
  assert.deepEqual(execute(storage, request("x"), () => cursors++, (c) => codes.push(c)), rowsReply([["x"]]));
  assert.deepEqual(execute(storage, request("fail"), () => cursors++, (c) => codes.push(c)), errorReply("full", "x: SQLITE_FULL"));
  assert.deepEqual([cursors, codes], [1, ["full"]]);
});

test("limits", () => {
  const head = (sqlLength, params, ...rest) => {
    const b = new Uint8Array(8 + sqlLength + rest.length);
    new DataView(b.buffer).setUint32(0, sqlLength, true);
    new DataView(b.buffer).setUint32(4 + sqlLength, params, true);
    b.set(rest, 8 + sqlLength);
    return b;
  };
  const code = (b) => {
    try {
      parseRequest(b);
      return "";
    } catch (error) {
      return error.code;
    }
  };
  assert.equal(code(head(102400, 0)), "");
  assert.equal(code(head(102401, 0)), "toobig");
  assert.equal(code(head(0, 100, ...new Array(100).fill(0))), "");
  assert.equal(code(head(0, 101, ...new Array(101).fill(0))), "toobig");
  assert.equal(code(head(0, 1, 3, 1, 0, 32, 0)), "toobig", "a text of 2 MiB and one byte");
  assert.equal(code(head(0, 1, 1, 0, 0, 0, 0, 0, 0, 32, 0)), "", "2^53");
  assert.equal(code(head(0, 1, 1, 1, 0, 0, 0, 0, 0, 32, 0)), "misuse", "2^53 + 1");
  assert.equal(code(head(0, 1, 9)), "misuse", "an unknown kind");
});
