// The form that an application opens.

import { api } from "./api.js";
import { avatar, fill, h, icon } from "./dom.js";
import { store, userById } from "./store.js";

// openModal shows a form and submits it as the current user.
export function openModal(interaction, form) {
  const user = store.user;
  const problem = h("div.modal-problem", { role: "alert" });
  const send = h("button.btn.btn-primary", { type: "submit" }, h("span.btn-label", "Submit"), h("span.dots", h("i"), h("i"), h("i")));
  const fields = (form.components ?? []).map(field).filter(Boolean);
  const dialog = h("dialog.modal", { "aria-label": form.title });
  const close = () => dialog.close();
  const body = h("form.modal-form", {
    onsubmit: async (e) => {
      e.preventDefault();
      send.classList.add("pending");
      send.disabled = true;
      fill(problem);
      try {
        const values = Object.fromEntries(fields.map((f) => [f.id, f.input.value]));
        const out = await api("POST", `/users/${user}/modals`, { interaction, values });
        if (out.state !== "failed") return close();
        fill(problem, out.error);
      } catch (err) {
        fill(problem, err.message);
      } finally {
        send.classList.remove("pending");
        send.disabled = false;
      }
    },
  },
    h("header.modal-head", avatar(userById(store.state.application.id), 28), h("h2", form.title),
      h("button.tool", { type: "button", "aria-label": "Close", onclick: close }, icon("close", 20))),
    h("div.modal-fields", fields.map((f) => f.el), problem),
    h("p.modal-warning", "This form will be submitted to ", h("strong", store.state.application.name), ". Do not share passwords or other sensitive information."),
    h("footer.modal-foot", h("button.btn.btn-quiet", { type: "button", onclick: close }, "Cancel"), send));
  dialog.append(body);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  fields[0]?.input.focus();
}

// field is one part: a label with an input, or an old action row with one.
function field(part) {
  const inner = part.type === 18 ? part.component : part.components?.[0];
  if (!inner?.custom_id) return null;
  const required = inner.required !== false;
  const common = { required, placeholder: inner.placeholder ?? "", "aria-label": part.label ?? inner.label ?? inner.custom_id };
  let input;
  if (inner.type === 4) {
    input = inner.style === 2 ? h("textarea.field", { ...common, rows: "4" }) : h("input.field", { ...common, type: "text" });
    if (inner.max_length) input.maxLength = inner.max_length;
    if (inner.min_length) input.minLength = inner.min_length;
    input.value = inner.value ?? "";
  } else if (inner.type === 3) {
    input = h("select.field", common, (inner.options ?? []).map((o) => h("option", { value: o.value }, o.label)));
  } else {
    return null;
  }
  input.addEventListener("keydown", (e) => {
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) input.form.requestSubmit();
  });
  const label = part.label ?? inner.label ?? "";
  return {
    id: inner.custom_id, input,
    el: h("label.modal-field", h("span.modal-label", label, required ? h("b.star", "*") : null),
      part.description ? h("span.modal-hint", part.description) : null, input),
  };
}
