
// In the place of sql.mjs, with that renamed to storage.mjs: storage that takes no more writes once a statement was told so.

import { errorReply, execute as perform, parseRequest } from "./storage.mjs";
export * from "./storage.mjs";

let full = false;

export function execute(storage, request, count, failed) {
  const { sql, args } = parseRequest(request);
  full ||= args.some((arg) => typeof arg === "string" && arg.includes("the disk is full now"));
  if (!full || /^\s*SELECT/.test(sql)) return perform(storage, request, count, failed);
  failed("full");
  return errorReply("full", "database or disk is full: SQLITE_FULL");
}
