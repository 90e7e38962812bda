// The part of WASI preview 1 that Go's runtime asks for, fed from the event alone: a clock that stands still,
// randomness that can be repeated, no files, no arguments, no environment (docs/protocol.md, "The WASM boundary").

const OK = 0;
const BADF = 8; // no such descriptor
const NOSYS = 52; // no such call

// Longest output of the guest that one write puts into the operator's log, in characters.
const MAX_LINE = 2000;

// Exit is thrown through the guest when it ends its process.
export class Exit extends Error {}

// imports gives the WASI functions for a module. world has memory() → WebAssembly.Memory, now() → unix ms, and
// random(bytes), which fills them.
export function imports(module, world) {
  const view = () => new DataView(world.memory().buffer);
  const bytes = (ptr, n) => new Uint8Array(world.memory().buffer, ptr >>> 0, n >>> 0);
  const empty = (count, size) => {
    view().setUint32(count >>> 0, 0, true);
    view().setUint32(size >>> 0, 0, true);
    return OK;
  };
  const calls = {
    args_get: () => OK,
    args_sizes_get: empty,
    environ_get: () => OK,
    environ_sizes_get: empty,
    sched_yield: () => OK,
    clock_time_get(_id, _precision, out) {
      view().setBigUint64(out >>> 0, BigInt(world.now()) * 1000000n, true);
      return OK;
    },
    random_get(ptr, n) {
      world.random(bytes(ptr, n));
      return OK;
    },
    poll_oneoff(_in, out, _n, ready) { // Go sleeps with it; time stands still, so the sleep is over
      bytes(out, 32).fill(0);
      view().setUint32(ready >>> 0, 1, true);
      return OK;
    },
    fd_write(fd, list, n, written) {
      if (fd !== 1 && fd !== 2) return BADF;
      const parts = [];
      let total = 0;
      for (let i = 0; i < n; i++) {
        const at = (list >>> 0) + 8 * i;
        const size = view().getUint32(at + 4, true);
        parts.push(new TextDecoder().decode(bytes(view().getUint32(at, true), size)));
        total += size;
      }
      const text = parts.join("").slice(0, MAX_LINE).trimEnd();
      if (text !== "") console.error(text);
      view().setUint32(written >>> 0, total, true);
      return OK;
    },
    proc_exit(code) {
      throw new Exit(`exit ${code}`);
    },
  };
  const wanted = WebAssembly.Module.imports(module).filter((i) => i.module === "wasi_snapshot_preview1");
  return Object.fromEntries(wanted.map(({ name }) => [name, calls[name] ?? (() => (name.startsWith("fd_") ? BADF : NOSYS))]));
}
