// A slash command being filled in: a pill with its name and one small field per option.

import { api } from "./api.js";
import { h, toast } from "./dom.js";
import { encodeFile } from "./composer.js";
import { store } from "./store.js";
import { openModal } from "./modal.js";

const STRING = 3, INTEGER = 4, BOOLEAN = 5, USER = 6, CHANNEL = 7, ROLE = 8, NUMBER = 10, ATTACHMENT = 11;

export class CommandLine {
  constructor(definition, menu, done) {
    this.definition = definition;
    this.menu = menu;
    this.done = done;
    this.fields = [];
    this.more = h("button.more", { type: "button" });
    this.hint = h("div.hint");
    this.pills = h("div.pills", h("span.pill", "/" + definition.name));
    this.el = h("div.command", this.hint, this.pills);
    for (const o of definition.options) if (o.required) this.add(o);
    this.optional = definition.options.filter((o) => !o.required);
    this.pills.append(this.more);
    this.more.addEventListener("click", () => this.offer());
    this.more.addEventListener("keydown", (e) => this.key(e));
    this.refreshMore();
  }

  focus() {
    (this.fields.find((f) => !f.value()) ?? this.fields[0])?.input.focus();
    if (!this.fields.length) this.more.focus();
    if (!this.fields.length && !this.optional.length) this.submit.focus();
  }

  // type fills in the first field.
  type(text) {
    const f = this.fields[0];
    if (!f) return;
    f.input.value = text;
    fit(f.input);
    f.input.focus();
  }

  refreshMore() {
    const left = this.optional.filter((o) => !this.fields.some((f) => f.option === o)).length;
    this.submit ??= h("button.send", { type: "button", onclick: () => this.send(), title: "Send (Enter)" }, "Send");
    this.submit.addEventListener("keydown", (e) => e.key === "Escape" && this.done());
    this.more.hidden = left === 0;
    this.more.textContent = `+${left} optional`;
    this.pills.append(this.more, this.submit);
  }

  // offer lists the options that are not there yet.
  offer() {
    const left = this.optional.filter((o) => !this.fields.some((f) => f.option === o));
    this.menu.open("Options", left.map((o) => ({
      title: o.name, note: o.description,
      pick: () => {
        const f = this.add(o);
        this.refreshMore();
        f.input.focus();
      },
    })));
  }

  add(option) {
    const f = makeField(option);
    f.el = h("label.option", h("span.option-name", option.name), f.input);
    f.input.addEventListener("focus", () => this.enter(f));
    f.input.addEventListener("input", () => {
      f.picked = null;
      fit(f.input);
      f.el.classList.remove("missing");
      this.suggest(f);
    });
    f.input.addEventListener("keydown", (e) => this.key(e, f));
    f.input.addEventListener("blur", () => setTimeout(() => this.el.contains(document.activeElement) || this.menu.close(), 150));
    this.fields.push(f);
    this.pills.insertBefore(f.el, this.more.parentNode ? this.more : null);
    fit(f.input);
    return f;
  }

  enter(f) {
    this.hint.replaceChildren(h("strong", f.option.name), " ", f.option.description);
    this.suggest(f);
  }

  // suggest shows choices: fixed ones, or what the application answers.
  suggest(f) {
    const o = f.option;
    const offer = (list) => this.menu.open(o.name, list.map((c) => ({ title: c.name, pick: () => this.choose(f, c) })), list.length ? {} : { note: o.autocomplete ? "No options match your search" : "" });
    const typed = f.input.value?.toLowerCase() ?? "";
    if (o.type === BOOLEAN) return offer([{ name: "True", value: true }, { name: "False", value: false }]);
    if (o.type === USER) return offer(store.state.users.map((u) => ({ name: u.label, value: u.id })));
    if (o.type === CHANNEL) return offer(store.state.channels.map((c) => ({ name: "#" + c.name, value: c.id })));
    if (o.type === ROLE) return offer(store.state.roles.map((r) => ({ name: r.name, value: r.id })));
    if (o.choices?.length) return offer(o.choices.filter((c) => c.name.toLowerCase().includes(typed)));
    if (!o.autocomplete) return this.menu.close();
    clearTimeout(this.timer);
    const asked = (this.asked = Symbol("query"));
    this.timer = setTimeout(async () => {
      try {
        const options = Object.fromEntries(this.fields.filter((x) => x.value() !== "" && x.option.type !== ATTACHMENT).map((x) => [x.option.name, x.value()]));
        const out = await api("POST", `/users/${store.user}/autocomplete`, { channel: store.channel, name: this.definition.name, focused: o.name, options });
        if (this.asked !== asked || document.activeElement !== f.input) return;
        if (out.state === "failed") this.menu.open(o.name, [], { note: out.error });
        else offer(out.choices ?? []);
      } catch (err) {
        this.menu.open(o.name, [], { note: err.message });
      }
    }, 120);
  }

  choose(f, choice) {
    f.picked = { text: choice.name, value: choice.value };
    f.input.value = choice.name;
    fit(f.input);
    const next = this.fields[this.fields.indexOf(f) + 1];
    (next?.input ?? f.input).focus();
    if (!next) this.menu.close();
  }

  key(e, f) {
    if (this.menu.key(e)) return;
    if (e.key === "Escape") return this.done();
    if (e.key === "Enter" && !e.shiftKey && f) {
      e.preventDefault();
      return this.send();
    }
    if (e.key === "Backspace" && f && f.input.value === "") {
      e.preventDefault();
      const i = this.fields.indexOf(f);
      if (f.option.required || this.fields.length === 1) return i === 0 ? this.done() : this.fields[i - 1].input.focus();
      this.fields.splice(i, 1);
      f.el.remove();
      this.refreshMore();
      this.fields[Math.max(0, i - 1)].input.focus();
    }
  }

  async send() {
    const missing = this.fields.filter((f) => f.option.required && f.value() === "");
    missing.forEach((f) => f.el.classList.add("missing"));
    if (missing.length) return missing[0].input.focus();
    const channel = store.channel, user = store.user;
    try {
      const options = {};
      for (const f of this.fields) if (f.value() !== "") options[f.option.name] = await f.encode();
      this.done();
      const out = await api("POST", `/users/${user}/commands`, { channel, name: this.definition.name, options });
      if (out.modal) openModal(out.interaction, out.modal);
    } catch (err) {
      toast(err.message);
    }
  }
}

// fit makes a field as wide as its text.
function fit(input) {
  if (input.tagName === "TEXTAREA") {
    input.style.height = "auto";
    input.style.height = Math.min(input.scrollHeight, 200) + "px";
  } else {
    input.size = Math.max(6, Math.min(40, input.value.length + 1));
  }
}

function makeField(option) {
  const f = { option, picked: null };
  if (option.type === ATTACHMENT) {
    f.input = h("input.option-file", { type: "file" });
    f.value = () => f.input.files[0] ?? "";
    f.encode = () => encodeFile(f.input.files[0]);
    return f;
  }
  const long = option.type === STRING && !option.autocomplete && !option.choices?.length;
  f.input = long ? h("textarea.option-input.option-long", { rows: "1" }) : h("input.option-input", { type: "text" });
  if (option.max_length) f.input.maxLength = option.max_length;
  f.value = () => {
    if (f.picked) return f.picked.value;
    const text = f.input.value.trim();
    if (text === "") return "";
    if (option.type === INTEGER || option.type === NUMBER) return Number.isFinite(Number(text)) ? Number(text) : text;
    return text;
  };
  f.encode = async () => f.value();
  return f;
}

