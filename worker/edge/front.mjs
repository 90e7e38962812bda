// The Worker's entry: it reads a request, finds out who calls, lets the core say what it is, and brings it to the actors
// (docs/protocol.md, "What a host does").

import { bearer, relay } from "./keys.mjs";
import { stub } from "./actors.mjs";
import { deployment } from "./config.mjs";
import { failure, fault, respond, unavailable } from "./answer.mjs";
import { route } from "./route.mjs";
import { signer } from "./signer.mjs";
import { deliver } from "./deliver.mjs";
import { workspaces } from "./resolve.mjs";
import * as operator from "./operator.mjs";
import * as rig from "./rig.mjs";

export { Application, Directory, Workspace } from "./actor.mjs";

// Longest body of a request, in bytes.
const MAX_BODY = 1 << 20;

const RUNNER = /^\/v1\/workspaces\/([0-9]{1,20}\/[a-z0-9][a-z0-9-]{0,31})\/runner$/;

export default {
  async fetch(request, env, ctx) {
    try {
      return await serve(request, env, ctx);
    } catch (error) {
      console.error("front.request.failed", String(error));
      return respond(fault());
    }
  },
};

async function serve(request, env, ctx) {
  const url = new URL(request.url);
  const deploy = await deployment(env);
  if (url.pathname === "/healthz") return Response.json({ ok: true });
  if (url.pathname === "/readyz") return Response.json({ ready: deploy.problems.length === 0, problems: deploy.problems }, { status: deploy.problems.length === 0 ? 200 : 503 });
  if (url.pathname === "/metrics") return respond(failure("not_found", "No metrics here.", "Cloudflare keeps them."));
  const answer = await rig.handle(url, env);
  if (answer !== undefined) return answer;
  if (deploy.problems.length > 0) return respond(unavailable("The deployment's configuration is not complete: see /readyz."));
  const runner = RUNNER.exec(url.pathname);
  if (runner !== null) return connect(request, env, deploy, runner[1]);
  const body = await read(request);
  if (body === null) return respond(failure("invalid", `A body has at most ${MAX_BODY} bytes.`, "", 413));
  const caller = await identify(request, body, deploy);
  if (caller !== null && operator.takes(request, url)) return operate(request, caller, env, ctx, deploy);
  const signed = url.pathname === "/interactions" ? await signer(deploy.config.public_keys, request.headers, body) : "";
  const verdict = route(request, url, body, caller, signed, deploy);
  return respond(verdict.answer ?? (await deliver(verdict, env, ctx)));
}

async function identify(request, body, deploy) {
  if (request.headers.has("x-holdfast-key")) return relay(request.headers, body, Date.now(), deploy);
  return bearer(request.headers.get("authorization"), deploy);
}

// operate answers an operator's call by the program beside the core, which asks this front again.
function operate(request, caller, env, ctx, deploy) {
  return operator.serve(request, caller, {
    FRONT: { fetch: (inner) => serve(inner, env, ctx) },
    DIRECTORIES: { fetch: async () => respond(await workspaces(env, deploy.config.allowed_guilds)) },
  });
}

// connect hands a runner's WebSocket to its workspace, once its key is known to be that workspace's.
async function connect(request, env, deploy, workspace) {
  const caller = await bearer(request.headers.get("authorization"), deploy);
  if (caller === null) return respond(failure("unauthorized", "A runner's key is needed.", "holdfast token runner makes one.", 401));
  if (caller.kind !== "runner" || caller.subject !== workspace) return respond(failure("unauthorized", "That key is not for this workspace."));
  if (request.method !== "GET" || request.headers.get("upgrade")?.toLowerCase() !== "websocket") {
    return respond(failure("invalid", "This is a WebSocket.", "Connect a runner to it.", 426));
  }
  const headers = new Headers(request.headers);
  headers.delete("authorization");
  headers.set("x-holdfast-caller", JSON.stringify(caller));
  try {
    return await stub(env, `workspace:${workspace}`).fetch(new Request(request.url, { headers }));
  } catch (error) {
    console.error("front.runner.failed", String(error));
    return respond(unavailable());
  }
}

// read takes a request's body, or gives null when it is too long.
async function read(request) {
  const length = request.headers.get("content-length");
  if (Number(length ?? 0) > MAX_BODY) return null;
  if (length !== null) return request.bytes(); // which HTTP holds it to
  const body = new Uint8Array(MAX_BODY);
  let n = 0;
  for await (const chunk of request.body ?? []) {
    if (n + chunk.length > MAX_BODY) return null;
    body.set(chunk, n);
    n += chunk.length;
  }
  return body.slice(0, n);
}
