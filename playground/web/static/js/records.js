// The workspace's committed records as small live tables. What changed since the last look lights up.

import { api } from "./api.js";
import { fill, h } from "./dom.js";
import { on, store } from "./store.js";

const ROWS = 12; // shown per table, the newest
const closed = new Set();

// drawRecords keeps el up to date, once a second while it is looked at.
export function drawRecords(el, visible) {
  const seen = new Map(); // table → key → row as JSON cells
  let last = "";
  const look = async () => {
    if (!store.state || !visible() || document.hidden) return;
    try {
      const got = await api("GET", "/records");
      const text = JSON.stringify(got);
      if (text === last) return;
      last = text;
      show(el, Array.isArray(got.tables) ? got.tables : [], seen);
    } catch (err) {
      if (!store.online) return; // said above the messages; what was committed stays so
      last = "";
      fill(el, h("div.nothing", h("strong", "No records"), h("span", err.message)));
    }
  };
  on("online", look);
  setInterval(look, 1000);
}

function show(el, tables, seen) {
  if (!tables.length) return fill(el, h("div.nothing", h("strong", "Nothing committed yet"), h("span", "Ask for something, and watch the rows come.")));
  const scrolled = el.scrollTop;
  fill(el, tables.map((t) => table(t, seen)));
  el.scrollTop = scrolled;
}

function table(t, seen) {
  const first = !seen.has(t.name);
  const before = seen.get(t.name) ?? new Map();
  const after = new Map();
  const rows = (t.rows ?? []).map((cells) => {
    const key = String(cells[0]);
    const now = cells.map((c) => JSON.stringify(c));
    after.set(key, now);
    const old = before.get(key);
    const fresh = !old && !first;
    const el = h("tr" + (fresh ? ".fresh" : ""), cells.map((c, i) => cell(c, t.columns[i], Boolean(old && old[i] !== now[i]))));
    return el;
  });
  seen.set(t.name, after);
  const body = h("div.table-wrap", h("table", h("thead", h("tr", (t.columns ?? []).map((c) => h("th", c)))), h("tbody", rows.slice(-ROWS).reverse())));
  const el = h("details.table", { open: !closed.has(t.name), ontoggle: () => (el.open ? closed.delete(t.name) : closed.add(t.name)) },
    h("summary", h("span.table-name", t.name), h("span.table-count", String(rows.length))),
    rows.length ? body : h("div.table-empty", "no rows"));
  return el;
}

const good = new Set(["done", "ok", "committed", "confirmed", "delivered", "approved", "idle"]);
const busy = new Set(["running", "claimed", "generating", "sending", "open", "pending", "waiting", "ready", "queued", "placed", "parked"]);
const bad = new Set(["error", "failed", "denied", "expired", "unanswered", "interrupted", "unknown", "aborted", "cancelled", "withdrawn"]);

function cell(v, column, changed) {
  const text = v === null || v === undefined ? "" : typeof v === "object" ? JSON.stringify(v) : String(v);
  const kind = good.has(text) ? "good" : busy.has(text) ? "busy" : bad.has(text) ? "bad" : "";
  const el = h("td", { title: text.length > 24 ? text : null }, kind ? h("span.state.state-" + kind, text) : typeof v === "number" ? h("span.num", text) : text.slice(0, 200));
  el.classList.toggle("changed", changed);
  return el;
}
