// Who calls: the bearer keys and the relay's signature, both recomputed from the deployment secrets (docs/protocol.md,
// "Callers"). Comparisons are crypto.subtle.verify, which takes the same time for every wrong key.

import { hex, unhex } from "./config.mjs";

// Greatest difference in ms between a relay's clock and ours.
const SKEW = 5 * 60 * 1000;

const N = /^(0|[1-9][0-9]{0,8})$/;
const NAME = "[a-z0-9-]{1,32}";
const SUBJECTS = {
  runner: /^[0-9]{1,20}\/[a-z0-9][a-z0-9-]{0,31}$/,
  operator: new RegExp(`^${NAME}(\\+(read|reply|approve|admin))*$`),
};

// bearer gives the caller of an Authorization header, as {kind, subject, roles, n}, or null.
export async function bearer(header, deploy) {
  const parts = /^Bearer hf1\.([a-z]+)\.([^.]+)\.([0-9]+)\.([0-9a-f]{64})$/.exec(header ?? "");
  if (parts === null) return null;
  const [, kind, subject, n, key] = parts;
  if (!Object.hasOwn(SUBJECTS, kind) || !SUBJECTS[kind].test(subject) || !N.test(n)) return null;
  const [name, ...roles] = kind === "operator" ? subject.split("+") : [subject];
  const caller = { kind, subject: name, roles, n: Number(n) };
  if (revoked(caller, deploy)) return null;
  const message = kind === "operator" ? `v1|operator|${name}|${roles.join(",")}|${n}` : `v1|runner|${subject}|${n}`;
  for (const secret of deploy.secrets) {
    if (await verify(secret, key, encode(message))) return caller;
  }
  return null;
}

// relay gives the caller of a signed request, or null. headers is a Headers, body a Uint8Array, now in unix ms.
export async function relay(headers, body, now, deploy) {
  const id = /^relay\.relay\.([0-9]+)$/.exec(headers.get("x-holdfast-key") ?? "");
  const at = headers.get("x-holdfast-timestamp") ?? "";
  const signature = /^v1=([0-9a-f]{64})$/.exec(headers.get("x-holdfast-signature") ?? "");
  if (id === null || signature === null || !N.test(id[1]) || !/^[0-9]{1,15}$/.test(at)) return null;
  if (Math.abs(now - Number(at)) > SKEW) return null;
  const caller = { kind: "relay", subject: "relay", roles: [], n: Number(id[1]) };
  if (revoked(caller, deploy)) return null;
  const message = join(encode(`${at}.`), body);
  for (const secret of deploy.secrets) {
    const key = hex(await sign(secret, encode(`v1|relay|${id[1]}`)));
    if (await verify(key, signature[1], message)) return caller;
  }
  return null;
}

// revoked says whether a key's number is below the least that is valid.
export function revoked({ kind, subject, n }, deploy) {
  return n < (deploy.least[`${kind}.${subject}`] ?? 0);
}

async function verify(key, signature, message) {
  return crypto.subtle.verify("HMAC", await hmac(key, "verify"), unhex(signature), message);
}

async function sign(key, message) {
  return new Uint8Array(await crypto.subtle.sign("HMAC", await hmac(key, "sign"), message));
}

function hmac(key, use) {
  return crypto.subtle.importKey("raw", encode(key), { name: "HMAC", hash: "SHA-256" }, false, [use]);
}

const encode = (text) => new TextEncoder().encode(text);

function join(a, b) {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}
