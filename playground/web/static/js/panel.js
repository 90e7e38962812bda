// Right: what is behind the conversation. The workspace's committed records, faults to inject, and the wire.

import { api } from "./api.js";
import { fill, h, icon, toast } from "./dom.js";
import { drawRecords } from "./records.js";
import { drawWire } from "./wire.js";
import { now, on, refresh, store } from "./store.js";

const panel = document.getElementById("panel");
const app = document.getElementById("app");
const tabs = { records: ["Records", "rows"], wire: ["Wire", "wire"], faults: ["Faults", "bolt"] };
const pages = Object.fromEntries(Object.keys(tabs).map((k) => [k, h("section.page.page-" + k, { hidden: true })]));
const bar = h("div.tabs", { role: "tablist" });
const time = h("span.panel-clock");
let open = sessionStorage.getItem("tab") ?? "records";

fill(panel, h("header.panel-head", bar, time, h("button.tool.only-narrow", { "aria-label": "Close", onclick: () => (app.dataset.view = "chat") }, icon("close", 18))), Object.values(pages));
select(open);
on("state", drawFaults);
on("clock", drawFaults);
on("state clock", tick);
setInterval(tick, 500);

function tick() {
  if (store.state) time.textContent = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" }).format(new Date(now()));
}

function select(name) {
  open = name in tabs ? name : "records";
  sessionStorage.setItem("tab", open);
  fill(bar, Object.entries(tabs).map(([k, [label, glyph]]) =>
    h("button.tab", { role: "tab", "aria-selected": String(k === open), data: { tab: k }, onclick: () => select(k) }, icon(glyph, 16), label)));
  for (const [k, el] of Object.entries(pages)) el.hidden = k !== open;
}

drawRecords(pages.records, () => open === "records");
drawWire(pages.wire);

const POST = { method: "POST", path: "/channels/*/messages" };
const ORIGINAL = { path: "/webhooks/*/*/messages/@original" };
const groups = [
  ["Discord answers", [
    ["429, three times", "rate limited for a second, with headers", { kind: "status", status: 429, count: 3 }],
    ["429, bare and global", "no bucket header, as the docs have it", { kind: "status", status: 429, global: true, bare: true }],
    ["500 before", "the next message is not created", { kind: "status", status: 500, when: "before", ...POST }],
    ["500 after commit", "it is created, and the answer is lost", { kind: "status", status: 500, when: "after", ...POST }],
    ["503, twice", "overloaded", { kind: "status", status: 503, count: 2 }],
    ["404 for @original", "the deferred answer cannot be filled in", { kind: "status", status: 404, ...ORIGINAL }],
    ["Cut the connection", "after it happened", { kind: "cut", when: "after" }],
    ["Two seconds late", "the next answer", { kind: "delay", ms: 2000 }],
  ]],
  ["Gateway events", [
    ["Drop the next", "a message that the bot never hears of", { kind: "drop_event" }],
    ["Deliver the next twice", "same id, both times", { kind: "duplicate_event" }],
  ]],
];

function drawFaults() {
  if (!store.state) return;
  const { faults = [], clock_movable, actions = [] } = store.state;
  fill(pages.faults,
    actions.length ? group("The deployment", actions.map((a) => fault(a.label, a.note, () => api("POST", "/actions/" + encodeURIComponent(a.name)), a.label + ": done", "danger"))) : null,
    groups.map(([title, list]) => group(title, list.map(([label, note, f]) => fault(label, note, () => api("POST", "/faults", f))))),
    clock_movable ? group("Time", ["1m", "16m", "1h", "25h"].map((d) => fault("Skip " + d, "every clock here moves", () => api("POST", "/clock", { advance: d }), "It is " + d + " later"))) : null,
    // Last, so that no button moves away from under the mouse that has just pressed it.
    faults.length ? h("div.pending-faults", h("div.group-title", "Waiting to happen"),
      faults.map((f) => h("div.pending-fault", icon("bolt", 15), h("span", describe(f)))),
      h("button.textual", { onclick: () => run(() => api("DELETE", "/faults")) }, "Clear all")) : null);
}

const group = (title, list) => h("div.group", h("div.group-title", title), h("div.group-list", list));

function fault(label, note, f, said = label + ": armed", kind = "") {
  return h("button.fault", { data: { kind }, onclick: () => run(f, said) }, h("span.fault-label", label), h("span.fault-note", note));
}

async function run(f, said) {
  try {
    await f();
    if (said) toast(said, "ok");
  } catch (err) {
    toast(err.message);
  }
  refresh().catch((err) => console.debug("refresh", err));
}

function describe(f) {
  const what = f.kind === "status" ? f.status + (f.when === "after" ? " after commit" : "") : f.kind;
  return `${what} × ${f.count}` + (f.path ? " on " + f.path : "");
}

let soon = 0;
on("wire", (e) => {
  if (!e.fault) return;
  clearTimeout(soon);
  soon = setTimeout(() => refresh().catch((err) => console.debug("refresh", err)), 200);
});
