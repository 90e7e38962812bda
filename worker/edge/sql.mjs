// The SQL seam's host side: the binary codec of actor/store/codec.go, the limits of actor/store, and one
// classification of what SQLite says, so that both hosts answer alike (docs/protocol.md, "SQL seam").

// Limits of one statement: actor/store, MaxParams and its neighbours.
const MAX_PARAMS = 100;
const MAX_SQL = 100 << 10;
const MAX_VALUE = 2 << 20;
const MAX_INT = 2 ** 53;

const NULL = 0;
const INT = 1;
const REAL = 2;
const TEXT = 3;
const BLOB = 4;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

// Refused is a statement that the host would not run.
export class Refused extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

// execute runs the statement in request, a Uint8Array, on storage (a SqlStorage) and gives the reply's bytes.
// count(cursor) is told about each cursor once it is read; failed(code) about each failure.
export function execute(storage, request, count, failed) {
  try {
    const { sql, args, integers } = parseRequest(request);
    const cursor = storage.exec(bindIntegers(sql, integers), ...args);
    const rows = [...cursor.raw()];
    count(cursor);
    return rowsReply(rows);
  } catch (error) {
    const code = classify(error);
    failed(code);
    return errorReply(code, String(error?.message ?? error));
  }
}

// parseRequest reads a statement and refuses one that is over a limit. integers says which arguments are integers: a
// JavaScript number does not.
export function parseRequest(bytes) {
  const r = new Reader(bytes);
  const length = r.u32();
  if (length > MAX_SQL) throw new Refused("toobig", `statement over ${MAX_SQL} bytes`);
  const sql = r.text(length);
  const n = r.u32();
  if (n > MAX_PARAMS) throw new Refused("toobig", `${n} parameters, at most ${MAX_PARAMS}`);
  const args = [];
  const integers = [];
  for (let i = 0; i < n; i++) {
    const kind = r.u8();
    args.push(argument(r, kind, i + 1));
    integers.push(kind === INT);
  }
  return { sql, args, integers };
}

function argument(r, kind, position) {
  switch (kind) {
    case NULL:
      return null;
    case INT: {
      const v = r.i64();
      if (v > MAX_INT || v < -MAX_INT) throw new Refused("misuse", `parameter ${position}: an integer beyond 2^53; store ids as text`);
      return Number(v);
    }
    case REAL:
      return r.f64();
    case TEXT:
      return r.text(sized(r.u32(), position));
    case BLOB:
      return r.take(sized(r.u32(), position)).slice();
  }
  throw new Refused("misuse", `parameter ${position}: kind ${kind}`);
}

function sized(n, position) {
  if (n > MAX_VALUE) throw new Refused("toobig", `parameter ${position}: ${n} bytes, at most ${MAX_VALUE}`);
  return n;
}

// bindIntegers makes integer parameters integers. workerd binds every number as a double, so that ? / 2 would be no
// whole number and ? in a column without affinity no integer. The unary plus takes away the affinity that CAST brings.
export function bindIntegers(sql, integers) {
  if (!integers.includes(true)) return sql;
  const key = integers.map(Number).join("") + sql;
  let bound = rewritten.get(key);
  if (bound === undefined) {
    if (rewritten.size >= MAX_REWRITTEN) rewritten.clear();
    bound = rewrite(sql, integers);
    rewritten.set(key, bound);
  }
  return bound;
}

// The core's statements are a few hundred literals, so each is rewritten once.
const rewritten = new Map();
const MAX_REWRITTEN = 2000;

// What a question mark may not be looked for in: strings, quoted names, comments.
const TOKEN = /'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|\?(\d*)/g;

function rewrite(sql, integers) {
  let last = 0; // "?" is one more than the greatest number so far
  return sql.replace(TOKEN, (token, digits) => {
    if (digits === undefined) return token;
    const position = digits === "" ? last + 1 : Number(digits);
    last = Math.max(last, position);
    return integers[position - 1] ? `+CAST(?${position} AS INTEGER)` : `?${position}`;
  });
}

// classify gives the store.Code of what SQLite or workerd threw.
export function classify(error) {
  if (error instanceof Refused) return error.code;
  const message = String(error?.message ?? error);
  if (/too many SQL variables/.test(message)) return "toobig";
  const name = /SQLITE_([A-Z]+)/.exec(message)?.[1];
  switch (name) {
    case "FULL":
      return "full";
    case "CORRUPT":
    case "NOTADB":
      return "corrupt";
    case "CONSTRAINT":
      return "constraint";
    case "BUSY":
    case "LOCKED":
      return "busy";
    case "TOOBIG":
      return "toobig";
    case "ERROR":
    case "MISUSE":
    case "RANGE":
    case "AUTH":
    case "MISMATCH":
      return "misuse";
  }
  const ours = error instanceof TypeError || /Wrong number of parameter|To execute a transaction/.test(message);
  return name === undefined && ours ? "misuse" : "io";
}

// rowsReply is the reply of a statement that went well. rows are arrays of null, number, string and ArrayBuffer.
export function rowsReply(rows) {
  const w = new Writer();
  w.u8(0);
  w.u32(rows.length === 0 ? 0 : rows[0].length);
  w.u32(rows.length);
  for (const row of rows) for (const value of row) writeValue(w, value);
  return w.done();
}

function writeValue(w, value) {
  if (value === null) return w.u8(NULL);
  if (typeof value === "string") {
    w.u8(TEXT);
    return w.sized(encoder.encode(value));
  }
  if (typeof value !== "number") {
    w.u8(BLOB);
    return w.sized(new Uint8Array(value));
  }
  if (Number.isInteger(value) && Math.abs(value) <= MAX_INT) {
    w.u8(INT);
    return w.i64(BigInt(value));
  }
  w.u8(REAL);
  return w.f64(value);
}

// errorReply is the reply of a statement that failed.
export function errorReply(code, message) {
  const w = new Writer();
  w.u8(1);
  w.sized(encoder.encode(code));
  w.sized(encoder.encode(message));
  return w.done();
}

class Reader {
  #bytes;
  #view;
  #at = 0;

  constructor(bytes) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  #step(n) {
    const at = this.#at;
    if (at + n > this.#bytes.length) throw new Refused("misuse", "the SQL message ends too early");
    this.#at += n;
    return at;
  }

  u8() { return this.#view.getUint8(this.#step(1)); }
  u32() { return this.#view.getUint32(this.#step(4), true); }
  i64() { return this.#view.getBigInt64(this.#step(8), true); }
  f64() { return this.#view.getFloat64(this.#step(8), true); }
  text(n) { return decoder.decode(this.take(n)); }
  take(n) {
    const at = this.#step(n);
    return this.#bytes.subarray(at, at + n);
  }
}

class Writer {
  #bytes = new Uint8Array(1024);
  #view = new DataView(this.#bytes.buffer);
  #n = 0;

  #grow(n) {
    const at = this.#n;
    this.#n += n;
    if (this.#n > this.#bytes.length) {
      const more = new Uint8Array(Math.max(this.#n, 2 * this.#bytes.length));
      more.set(this.#bytes);
      this.#bytes = more;
      this.#view = new DataView(more.buffer);
    }
    return at;
  }

  u8(v) { const at = this.#grow(1); this.#view.setUint8(at, v); }
  u32(v) { const at = this.#grow(4); this.#view.setUint32(at, v, true); }
  i64(v) { const at = this.#grow(8); this.#view.setBigInt64(at, v, true); }
  f64(v) { const at = this.#grow(8); this.#view.setFloat64(at, v, true); }
  sized(b) {
    this.u32(b.length);
    const at = this.#grow(b.length);
    this.#bytes.set(b, at);
  }
  done() { return this.#bytes.subarray(0, this.#n); }
}
