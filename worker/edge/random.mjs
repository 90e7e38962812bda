// A deterministic stream of random bytes: ChaCha8 keyed by an event's entropy. The core must see the same randomness
// whenever the same event is run again, so nothing else may feed it.

const ROUNDS = 8;

// stream gives a function that fills a Uint8Array with the next bytes of the stream of a 32-byte key.
export function stream(key) {
  const view = new DataView(key.buffer, key.byteOffset, 32);
  const state = new Uint32Array(16);
  state.set([0x61707865, 0x3320646e, 0x79622d32, 0x6b206574]); // "expand 32-byte k"
  for (let i = 0; i < 8; i++) state[4 + i] = view.getUint32(4 * i, true);
  const block = new Uint8Array(64);
  let used = 64;
  return (out) => {
    for (let i = 0; i < out.length; i++) {
      if (used === 64) {
        next(state, block);
        used = 0;
      }
      out[i] = block[used++];
    }
  };
}

// next writes one block and counts it (RFC 8439, section 2.3, with 8 rounds and a counter of 64 bits).
function next(state, block) {
  const x = state.slice();
  for (let i = 0; i < ROUNDS; i += 2) {
    quarter(x, 0, 4, 8, 12);
    quarter(x, 1, 5, 9, 13);
    quarter(x, 2, 6, 10, 14);
    quarter(x, 3, 7, 11, 15);
    quarter(x, 0, 5, 10, 15);
    quarter(x, 1, 6, 11, 12);
    quarter(x, 2, 7, 8, 13);
    quarter(x, 3, 4, 9, 14);
  }
  const view = new DataView(block.buffer);
  for (let i = 0; i < 16; i++) view.setUint32(4 * i, x[i] + state[i], true);
  if (++state[12] === 0) ++state[13];
}

function quarter(x, a, b, c, d) {
  x[a] += x[b];
  x[d] = turn(x[d] ^ x[a], 16);
  x[c] += x[d];
  x[b] = turn(x[b] ^ x[c], 12);
  x[a] += x[b];
  x[d] = turn(x[d] ^ x[a], 8);
  x[c] += x[d];
  x[b] = turn(x[b] ^ x[c], 7);
}

const turn = (v, n) => (v << n) | (v >>> (32 - n));
