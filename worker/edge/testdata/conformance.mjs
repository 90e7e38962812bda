// In the place of front.mjs this runs the engine's conformance suite: each request is one call of the core, in one
// transaction of one object.

import { DurableObject } from "cloudflare:workers";
import { COMMIT, OutOfFuel } from "./core.mjs";
import { core } from "./instance.mjs";
import { execute } from "./sql.mjs";
import { unhex } from "./config.mjs";

export class Workspace extends DurableObject {
  async fetch(request) {
    const { searchParams: q } = new URL(request.url);
    const input = new Uint8Array(await request.arrayBuffer());
    const { storage } = this.ctx;
    const sql = (statement) => execute(storage.sql, statement, () => {}, () => {});
    let call;
    try {
      storage.transactionSync(() => {
        call = core.call(q.get("call"), input, { now: Number(q.get("now")), entropy: unhex(q.get("entropy")), sql });
        if (call.rc !== COMMIT) throw new Error("roll back");
      });
    } catch (error) {
      if (call === undefined) throw error;
    }
    const { rc, output, error } = call;
    return Response.json({ rc, output: output && new TextDecoder().decode(output), crash: error && (error instanceof OutOfFuel ? "fuel" : "any") });
  }
}

export class Directory extends DurableObject {}

export class Application extends DurableObject {}

export default {
  fetch: (request, env) => env.WORKSPACE.getByName("conformance").fetch(request),
};
