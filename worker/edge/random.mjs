// A deterministic stream of random bytes from an event's entropy: ChaCha8Rand (https://c2sp.org/chacha8rand), which
// Go's math/rand/v2 has as ChaCha8, so that both hosts feed the core the same bytes.

const ROUNDS = 8;
const BLOCKS = 4; // made at a time, their words interlaced
const CHUNK = 64 * BLOCKS;
const CHUNKS = 4; // of one seed; the last 32 bytes of the last one are the next seed

// stream gives a function that fills a Uint8Array with the next bytes of the stream of a 32-byte seed.
export function stream(seed) {
  const key = new Uint32Array(8);
  const chunk = new Uint8Array(CHUNK);
  let [used, end, chunks] = [0, 0, CHUNKS];
  const reseed = (bytes) => {
    const view = new DataView(bytes.buffer, bytes.byteOffset, 32);
    for (let i = 0; i < 8; i++) key[i] = view.getUint32(4 * i, true);
    chunks = 0;
  };
  const refill = () => {
    if (chunks === CHUNKS) reseed(end === 0 ? seed : chunk.subarray(end));
    for (let i = 0; i < BLOCKS; i++) block(key, chunks * BLOCKS + i, chunk, i);
    chunks++;
    [used, end] = [0, chunks === CHUNKS ? CHUNK - 32 : CHUNK];
  };
  return (out) => {
    for (let i = 0; i < out.length; i++) {
      if (used === end) refill();
      out[i] = chunk[used++];
    }
  };
}

// block computes one ChaCha8 block and writes its words into chunk, as number at of the interlaced ones. Only the key is
// added to the result: constants and counter hold no entropy.
function block(key, counter, chunk, at) {
  const x = new Uint32Array(16);
  x.set([0x61707865, 0x3320646e, 0x79622d32, 0x6b206574]); // "expand 32-byte k"
  x.set(key, 4);
  x[12] = counter;
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
  const view = new DataView(chunk.buffer);
  for (let i = 0; i < 16; i++) {
    view.setUint32(4 * (i * BLOCKS + at), i >= 4 && i < 12 ? x[i] + key[i - 4] : x[i], true);
  }
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
