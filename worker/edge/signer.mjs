// Which of the application's keys signed an interaction. WebCrypto does the arithmetic in a tenth of the time that the
// core takes in WebAssembly; whether that key and that time stamp count stays the core's decision (interactions.Signer).

import { unhex } from "./config.mjs";

// Keys that count (interactions.MaxKeys).
const MAX_KEYS = 2;

const STAMP = /^[0-9]{1,12}$/;
const SIGNATURE = /^[0-9a-f]{128}$/i;

const imported = new Map(); // key in hex → promise of a CryptoKey, null where it is none
const encoder = new TextEncoder();

// signer gives the key, as it is written in keys, under which body is signed, or "": then the core looks for itself, so
// that WebCrypto may be stricter than Go but never gets the last word about a refusal.
export async function signer(keys, headers, body) {
  const stamp = headers.get("x-signature-timestamp") ?? "";
  const text = headers.get("x-signature-ed25519") ?? "";
  if (!STAMP.test(stamp) || !SIGNATURE.test(text)) return "";
  const message = new Uint8Array(stamp.length + body.length);
  encoder.encodeInto(stamp, message);
  message.set(body, stamp.length);
  const signature = unhex(text.toLowerCase());
  for (const key of keys.slice(0, MAX_KEYS)) {
    if (await verify(key, signature, message)) return key;
  }
  return "";
}

// verify says whether signature (64 bytes) is message's under key (hex). It may refuse what Go accepts, never the reverse.
export async function verify(key, signature, message) {
  if (!imported.has(key)) imported.set(key, load(key));
  const public_ = await imported.get(key);
  return public_ !== null && crypto.subtle.verify("Ed25519", public_, signature, message);
}

async function load(key) {
  try {
    return await crypto.subtle.importKey("raw", unhex(key.toLowerCase()), "Ed25519", false, ["verify"]);
  } catch {
    return null; // the core says what is wrong with it
  }
}
