// One instance of core.wasm per isolate, shared by all its objects. Every call runs from beginning to end without an
// await: an instance that waited could be entered by another request, whose writes would then be in the wrong transaction.

import * as wasi from "./wasi.mjs";
import { stream } from "./random.mjs";

// Steps of one call: 128 million, and 64 for each byte of input (worker/fuel says why).
const FUEL = 128_000_000n;
const FUEL_PER_BYTE = 64n;

// Longest output of a call, in bytes (actor.MaxResult).
const MAX_OUTPUT = 4 << 20;

// An instance that grew past this is replaced: 128 MB is all that an isolate has.
const MAX_MEMORY = 64 << 20;

// What a call came to. Anything else is a crash.
export const COMMIT = 0;
export const ROLL_BACK = 1;

// OutOfFuel is the crash of a call that took more steps than it was given.
export class OutOfFuel extends Error {}

// Core runs the calls of a module. It keeps an instance between calls and replaces one that crashed or grew.
export class Core {
  #module;
  #instance = null;
  boots = 0;

  constructor(module) {
    this.#module = module;
  }

  // call runs an export ("route" or "handle") on input, a Uint8Array, and gives {rc, output, error}. world has now
  // (unix ms), entropy (32 bytes) and sql (statement → reply, both Uint8Array). rc is COMMIT or ROLL_BACK with output
  // the bytes that the core pushed; or it is undefined, and error says how the core crashed.
  call(name, input, world) {
    try {
      this.#instance ??= this.#boot(world);
      const { rc, output } = this.#instance.run(name, input, world);
      if (rc !== COMMIT && rc !== ROLL_BACK) throw new wasi.Exit(`rc ${rc}`);
      if (output.length > MAX_OUTPUT) throw new wasi.Exit(`an output of ${output.length} bytes`);
      if (this.memory > MAX_MEMORY) this.#instance = null;
      return { rc, output };
    } catch (error) {
      this.#instance = null;
      return { error };
    }
  }

  // memory is the size of the instance in bytes, 0 when there is none.
  get memory() {
    return this.#instance === null ? 0 : this.#instance.memory();
  }

  #boot(world) {
    this.boots++;
    return boot(this.#module, world);
  }
}

function boot(module, first) {
  let exports = null;
  let world = first;
  let random = stream(first.entropy);
  let pending = new Uint8Array(0);
  let output = new Uint8Array(0);
  const bytes = (ptr, n) => new Uint8Array(exports.memory.buffer, ptr >>> 0, n >>> 0);
  const system = {
    memory: () => exports.memory,
    now: () => world.now,
    random: (b) => random(b),
  };
  const holdfast = {
    pull: (ptr) => bytes(ptr, pending.length).set(pending),
    push: (ptr, n) => {
      output = bytes(ptr, n).slice();
    },
    sql: (ptr, n) => {
      pending = world.sql(bytes(ptr, n).slice());
      return pending.length;
    },
    log: (ptr, n) => console.log(new TextDecoder().decode(bytes(ptr, n))),
  };
  ({ exports } = new WebAssembly.Instance(module, { holdfast, wasi_snapshot_preview1: wasi.imports(module, system) }));
  if (exports.__fuel === undefined) throw new Error("core.wasm was built without fuel");
  exports._initialize();
  return {
    memory: () => exports.memory.buffer.byteLength,
    run(name, input, next) {
      world = next;
      random = stream(next.entropy);
      pending = input;
      output = new Uint8Array(0);
      exports.__fuel.value = FUEL + FUEL_PER_BYTE * BigInt(input.length);
      try {
        return { rc: exports[name](input.length), output };
      } catch (error) {
        throw exports.__fuel.value < 0n ? new OutOfFuel("out of fuel") : error;
      }
    },
  };
}
