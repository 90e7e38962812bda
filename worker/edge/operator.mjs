// The operator's calls that are about the whole deployment, or that wait: a Go program (worker/edge/operator, with the
// handler of worker/api that both hosts serve) answers them, in an instance of its own for each call. Making one takes
// milliseconds and megabytes, so nothing else goes this way.

import program from "../../build/api.wasm";
import "../../build/wasm_exec.js"; // Go's own, as a global class Go
import { respond, unavailable } from "./answer.mjs";

// Calls that are answered at once in one isolate. An instance takes about 6 MB, and the core up to half of an isolate's 128.
const MAX_CALLS = 6;

// After so many ms a call does not count any more: when its caller goes away the platform drops it without a word. The
// longest wait is 30 s (api.MaxWait).
const LONGEST = 45_000;

const calls = new Set();

const DEPLOYMENT = /^\/v1\/(status|workspaces)$/;
const EVENTS = /^\/v1\/workspaces\/[^/]+\/[^/]+\/(jobs\/[^/]+\/)?events$/;

// takes says whether a request is one for the program.
export function takes(request, url) {
  if (request.method !== "GET") return false;
  return DEPLOYMENT.test(url.pathname) || (EVENTS.test(url.pathname) && url.searchParams.has("wait"));
}

// serve answers a request whose caller is known. services are what the program may ask, by name, each {fetch}.
export async function serve(request, caller, services) {
  const call = { begun: Date.now() };
  for (const other of calls) if (other.begun < call.begun - LONGEST) calls.delete(other);
  if (calls.size >= MAX_CALLS) return respond(unavailable("Too many operators are asking at once."));
  calls.add(call);
  try {
    return await answer(request, { ...services, CALLER: JSON.stringify(caller) });
  } finally {
    calls.delete(call);
  }
}

// answer reads the program's response to the end, so that an instance that crashes over it still becomes an error.
async function answer(request, env) {
  const instance = start(env);
  const response = await instance.unlessCrashed(instance.handle(request));
  const body = await instance.unlessCrashed(response.arrayBuffer());
  return new Response(body, response);
}

// start makes an instance. It runs until it has its handler, and then only while it answers.
function start(env) {
  const go = new Go();
  const crash = Promise.withResolvers();
  crash.promise.catch(() => {}); // whoever races it hears of it
  go.exit = (code) => {
    for (const timer of go._scheduledTimeouts.values()) clearTimeout(timer); // none may find the program gone
    if (code !== 0) crash.reject(new Error(`the program exited with ${code}`));
  };
  const binding = {};
  const imports = { ...go.importObject, workers: { ready() {} } };
  run(go, new WebAssembly.Instance(program, imports), { binding, env });
  return { handle: binding.handleRequest, unlessCrashed: (promise) => Promise.race([promise, crash.promise]) };
}

// run starts a program. The library behind it looks for its context among the globals, once and before it first waits;
// run returns when it does, so calls that are made at the same time do not see each other's.
function run(go, instance, context) {
  globalThis.context = context;
  try {
    go.run(instance).catch((error) => console.error("operator.program.failed", String(error)));
  } finally {
    delete globalThis.context;
  }
}
