// The wire: every exchange between the playground and the deployment, newest first.

import { api } from "./api.js";
import { fill, h } from "./dom.js";
import { on, store } from "./store.js";

const KEPT = 150;
const arrows = { rest: "←", interaction: "→", events: "→" };

// drawWire fills el with the log and adds to it as exchanges happen.
export function drawWire(el) {
  const list = h("ol.wire");
  const empty = h("div.nothing", h("strong", "Quiet"), h("span", "Requests, interactions and events appear here, checked against Discord's own API description."));
  fill(el, empty, list);
  let newest = 0;
  const put = (e) => {
    if (e.n <= newest) return;
    newest = e.n;
    empty.hidden = true;
    list.prepend(entry(e));
    while (list.children.length > KEPT) list.lastChild.remove();
  };
  on("wire", put);
  on("online", async () => {
    if (!store.online) return;
    const got = await api("GET", "/log?after=0").catch(() => null);
    if (!got) return;
    newest = 0;
    fill(list);
    got.entries.slice(-KEPT).forEach(put);
  });
}

function entry(e) {
  const wrong = e.violations?.length || e.our_violations?.length;
  const kind = e.status >= 500 || wrong || e.status === 0 ? "bad" : e.status >= 400 ? "warn" : "good";
  const detail = h("div.wire-detail", { hidden: true });
  const el = h("li.wire-entry", { data: { kind: e.kind } },
    h("button.wire-line", { onclick: () => toggle(e, detail) },
      h("span.wire-arrow", arrows[e.kind] ?? "·"), h("span.wire-method.m-" + e.method.toLowerCase(), e.method), h("span.wire-path", short(e)),
      h("span.wire-status.s-" + kind, e.status ? String(e.status) : "cut")),
    e.fault ? h("div.wire-note.wire-fault", "fault: " + e.fault) : null,
    e.note ? h("div.wire-note", e.note) : null,
    [...(e.violations ?? []), ...(e.our_violations ?? [])].slice(0, 3).map((v) => h("div.wire-note.wire-bad", v)), detail);
  return el;
}

// short leaves out what is long and says nothing: hosts, tokens, the middle of ids.
function short(e) {
  if (e.kind === "interaction") return "interaction";
  if (e.kind === "events") return "gateway events";
  return e.path.split("?")[0].split("/").map((s) => (/^\d{16,}$/.test(s) ? "…" + s.slice(-4) : s.length > 40 ? "token" : s)).join("/");
}

async function toggle(e, detail) {
  detail.hidden = !detail.hidden;
  if (detail.hidden || detail.childElementCount) return;
  const got = await api("GET", "/log?after=" + (e.n - 1)).catch(() => null);
  const full = got?.entries.find((x) => x.n === e.n);
  if (!full) return;
  const took = full.micros >= 1000 ? (full.micros / 1000).toFixed(1) + " ms" : full.micros + " µs";
  fill(detail, h("div.wire-meta", took, " · ", full.path),
    full.request ? [h("div.wire-label", "request"), h("pre", pretty(full.request))] : null,
    full.response ? [h("div.wire-label", "response"), h("pre", pretty(full.response))] : null);
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2).slice(0, 12_000);
  } catch {
    return text.slice(0, 12_000);
  }
}
