// The list that opens above the composer. The keyboard stays in the input: arrows move, Enter and Tab pick.

import { fill, h } from "./dom.js";

export class Menu {
  constructor() {
    this.el = h("div.menu", { hidden: true, role: "listbox" });
    this.items = [];
    this.at = 0;
  }

  get isOpen() {
    return !this.el.hidden;
  }

  // open shows items {icon?, title, note?, side?, pick}. An empty list closes, unless there is a note to show.
  open(title, items, { note } = {}) {
    if (!items.length && !note) return this.close();
    this.items = items;
    this.at = 0;
    this.el.hidden = false;
    fill(this.el, h("div.menu-title", title), note ? h("div.menu-empty", note) : null, items.map((item, i) =>
      h("button.menu-item", { role: "option", tabindex: "-1", onmousedown: (e) => e.preventDefault(), onclick: () => this.pick(i), onmousemove: () => this.move(i) },
        item.icon, h("span.menu-text", h("span.menu-name", item.title), item.note ? h("span.menu-note", item.note) : null), item.side ? h("span.menu-side", item.side) : null)));
    this.mark();
  }

  close() {
    this.el.hidden = true;
    this.items = [];
  }

  move(i) {
    if (i === this.at || !this.items.length) return;
    this.at = (i + this.items.length) % this.items.length;
    this.mark();
  }

  mark() {
    this.el.querySelectorAll(".menu-item").forEach((el, i) => {
      el.setAttribute("aria-selected", String(i === this.at));
      if (i === this.at) el.scrollIntoView({ block: "nearest" });
    });
  }

  pick(i) {
    const item = this.items[i];
    this.close();
    item?.pick();
  }

  // key handles a keydown and says whether it was meant for the list.
  key(e) {
    if (!this.isOpen || !this.items.length) return false;
    const to = { ArrowDown: this.at + 1, ArrowUp: this.at - 1 }[e.key];
    if (to !== undefined) this.move(to);
    else if (e.key === "Enter" || e.key === "Tab") this.pick(this.at);
    else if (e.key === "Escape") this.close();
    else return false;
    e.preventDefault();
    e.stopPropagation();
    return true;
  }
}
