// Left: the guild, its channels and threads, and who one is.

import { avatar, fill, h, icon } from "./dom.js";
import { become, channelById, me, on, openChannel, roleColor, store, userById } from "./store.js";

const app = document.getElementById("app");

on("state channel", draw);
on("online", banner);

function draw() {
  if (!store.state) return;
  rail();
  fill(document.getElementById("guild"), h("span", store.state.guild.name), icon("down", 18));
  channels();
  foot();
  head();
}

function rail() {
  const initials = store.state.guild.name.split(/\s+/).map((w) => w[0]).join("").slice(0, 3);
  fill(document.getElementById("rail"),
    h("span.rail-home", { title: "Holdfast playground" }, icon("anchor", 26)), h("i.rail-line"),
    h("span.rail-guild.active", { title: store.state.guild.name }, initials));
}

function channels() {
  const { channels, threads } = store.state;
  const here = channelById(store.channel);
  const out = [];
  const of = (parent) => channels.filter((c) => c.type !== 4 && (c.parent_id ?? "") === parent);
  const put = (c) => {
    out.push(entry(c, "hash"));
    const below = threads.filter((t) => t.parent_id === c.id && (!t.thread_metadata.archived || t.id === here?.id));
    if (below.length) out.push(h("div.threads", below.map((t) => entry(t, "thread"))));
  };
  of("").forEach(put);
  for (const cat of channels.filter((c) => c.type === 4)) {
    out.push(h("div.category", icon("down", 12), cat.name));
    of(cat.id).forEach(put);
  }
  fill(document.getElementById("channels"), out);
}

function entry(c, kind) {
  const el = h("button.channel.channel-" + kind, {
    title: c.name, "aria-current": c.id === store.channel ? "page" : null,
    onclick: () => {
      openChannel(c.id);
      app.dataset.view = "chat";
    },
  }, kind === "hash" ? icon("hash", 19) : null, h("span.channel-name", c.name), c.thread_metadata?.locked ? icon("lock", 13) : null);
  el.classList.toggle("unread", store.unread.has(c.id));
  return el;
}

// foot shows who one is; a click offers the others.
function foot() {
  const self = me();
  if (!self) return;
  const menu = h("div.switch", { hidden: true, role: "menu" }, h("div.switch-title", "Act as"),
    store.state.users.filter((u) => !u.bot).map((u) => h("button.switch-user", {
      role: "menuitem", "aria-current": u.username === store.user ? "true" : null, data: { user: u.username },
      onclick: () => {
        menu.hidden = true;
        become(u.username);
      },
    }, avatar(u, 32), h("span", person(u), h("span.switch-note", u.note)), u.username === store.user ? icon("check", 18) : null)));
  fill(document.getElementById("me"), menu,
    h("button.self", { "aria-haspopup": "menu", title: "Act as somebody else", onclick: () => (menu.hidden = !menu.hidden) },
      avatar(self, 32), h("span.self-text", h("span.self-name", self.label), h("span.self-note", self.note || "@" + self.username)), h("span.self-switch", "Switch", icon("down", 14))));
}

function person(u) {
  const el = h("span.switch-name", u.label);
  const color = roleColor(u);
  if (color) el.style.setProperty("color", color);
  return el;
}

document.addEventListener("click", (e) => {
  if (!e.target.closest("#me")) document.querySelector(".switch")?.setAttribute("hidden", "");
});

function head() {
  const c = channelById(store.channel);
  if (!c) return;
  const isThread = c.type >= 10;
  const parent = isThread ? channelById(c.parent_id) : null;
  fill(document.getElementById("head"),
    h("button.tool.only-narrow", { "aria-label": "Channels", onclick: () => (app.dataset.view = app.dataset.view === "side" ? "chat" : "side") }, icon("menu", 22)),
    parent ? [h("button.crumb", { onclick: () => openChannel(parent.id) }, icon("hash", 20), parent.name), icon("right", 16)] : null,
    h("span.head-name", icon(isThread ? "thread" : "hash", 21), h("span", c.name)),
    c.topic ? h("span.head-topic", c.topic) : null,
    isThread && c.thread_metadata.locked ? h("span.chip", "Locked") : null,
    isThread && c.thread_metadata.archived ? h("span.chip", "Archived") : null,
    h("span.head-gap"),
    h("button.tool", { title: "Behind the scenes", "aria-label": "Behind the scenes", onclick: () => togglePanel() }, icon("panel", 21)));
}

function togglePanel() {
  if (matchMedia("(max-width: 1080px)").matches) app.dataset.view = app.dataset.view === "panel" ? "chat" : "panel";
  else app.classList.toggle("no-panel");
}

function banner() {
  const el = document.getElementById("banner");
  el.hidden = store.online;
  fill(el, h("span.dots", h("i"), h("i"), h("i")), "Connection lost. The playground may be restarting; this page comes back by itself.");
}

// typing names those who type, for the line under the composer.
export function typingLine() {
  const names = [...store.typing].filter(([, until]) => until > Date.now()).map(([id]) => userById(id)?.label ?? "Someone");
  if (!names.length) return [];
  return [h("span.dots", h("i"), h("i"), h("i")), h("strong", names.join(", ")), names.length > 1 ? " are typing…" : " is typing…"];
}
