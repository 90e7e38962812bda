// In the place of front.mjs this says of each {key, signature, message} in the body, all in hex, whether WebCrypto verifies it.

import { DurableObject } from "cloudflare:workers";
import { unhex } from "./config.mjs";
import { verify } from "./signer.mjs";

export class Workspace extends DurableObject {}
export class Directory extends DurableObject {}
export class Application extends DurableObject {}

export default {
  async fetch(request) {
    const verdicts = [];
    for (const { key, signature, message } of await request.json()) verdicts.push(await verify(key, unhex(signature), unhex(message)));
    return Response.json(verdicts);
  },
};
