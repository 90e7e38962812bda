// Buttons and selects below a message, and the forms they open.

import { api } from "./api.js";
import { h, icon, toast } from "./dom.js";
import { openModal } from "./modal.js";
import { store } from "./store.js";

const styles = { 1: "primary", 2: "secondary", 3: "success", 4: "danger", 5: "link" };

// componentRows renders the action rows of a message.
export function componentRows(m) {
  return (m.components ?? []).filter((c) => c.type === 1).map((row) => h("div.row", row.components.map((c) => part(m, c))));
}

function part(m, c) {
  if (c.type === 2) return button(m, c);
  if (c.type === 3) return select(m, c);
  return h("span.unsupported", "component type " + c.type);
}

function button(m, c) {
  const label = [c.emoji?.name ? h("span.emoji", c.emoji.name) : null, c.label ? h("span", c.label) : null];
  if (c.style === 5) {
    const safe = /^https?:\/\//.test(c.url ?? "");
    return h("a.btn.btn-link", { href: safe ? c.url : null, target: "_blank", rel: "noopener noreferrer" }, label, icon("right", 14));
  }
  const el = h("button.btn.btn-" + (styles[c.style] ?? "secondary"), { disabled: Boolean(c.disabled), data: { customId: c.custom_id ?? "" } },
    h("span.btn-label", label), h("span.dots", h("i"), h("i"), h("i")));
  el.addEventListener("click", () => press(el, m, c));
  return el;
}

function select(m, c) {
  const el = h("select.select", { disabled: Boolean(c.disabled), "aria-label": c.placeholder ?? "Choose" },
    h("option", { value: "", disabled: true, selected: true }, c.placeholder ?? "Make a selection"),
    (c.options ?? []).map((o) => h("option", { value: o.value, selected: Boolean(o.default) }, o.label)));
  el.addEventListener("change", () => press(el, m, c, [el.value]));
  return el;
}

// press sends a component's interaction; while it is pending the whole message's components wait.
async function press(el, m, c, values) {
  const all = [...(el.closest(".body") ?? document).querySelectorAll(".btn, .select")].filter((b) => !b.disabled);
  el.closest(".body")?.querySelector(".component-failed")?.remove();
  el.classList.add("pending");
  for (const b of all) b.disabled = true;
  try {
    const out = await api("POST", `/users/${store.user}/components`, { message: m.id, custom_id: c.custom_id, ...(values ? { values } : {}) });
    if (out.state === "failed") failed(el, out.error);
    if (out.modal) openModal(out.interaction, out.modal);
  } catch (err) {
    toast(err.message);
  } finally {
    el.classList.remove("pending");
    for (const b of all) b.disabled = false;
  }
}

function failed(el, text) {
  el.closest(".row")?.after(h("div.component-failed", text));
}
