// The list of messages: one element per message, replaced only when what it shows has changed.

import { api } from "./api.js";
import { avatar, fill, h, icon, toast } from "./dom.js";
import { inline, markdown } from "./markdown.js";
import { componentRows } from "./components.js";
import { channelById, me, now, on, openChannel, roleColor, store, userById } from "./store.js";
import { startCommand, startEdit, startReply } from "./composer.js";

const EPHEMERAL = 64, LOADING = 128, HAS_THREAD = 32;
const STARTER = 21, THREAD_CREATED = 18, REPLY = 19;
const log = document.getElementById("log");
const scroll = document.getElementById("scroll");
const shown = new Map(); // id → {sign, el}

let stuck = true; // to the bottom
scroll.addEventListener("scroll", () => {
  stuck = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 60;
});
new ResizeObserver(() => stuck && (scroll.scrollTop = scroll.scrollHeight)).observe(log);

on("messages", (how) => draw(how?.jump));
on("state", () => draw());

export function draw(jump) {
  if (!store.state) return;
  const list = [...store.messages.values()].sort((a, b) => (a.id.length - b.id.length) || (a.id < b.id ? -1 : 1));
  const els = [intro()];
  let before = null;
  const alive = new Set();
  for (const m of list) {
    const day = dayOf(m);
    if (!before || dayOf(before) !== day) els.push(h("li.day", h("span", day)));
    const first = !before || starts(m, before) || dayOf(before) !== day;
    const sign = JSON.stringify([m, first, store.user, m.thread ? channelById(m.id) : 0]);
    let kept = shown.get(m.id);
    if (kept?.sign !== sign) {
      kept = { sign, el: row(m, first) };
      shown.set(m.id, kept);
    }
    alive.add(m.id);
    els.push(kept.el);
    before = m;
  }
  for (const id of shown.keys()) if (!alive.has(id)) shown.delete(id);
  place(els);
  if (jump || stuck) {
    scroll.scrollTop = scroll.scrollHeight;
    stuck = true;
  }
}

// place makes the list show els, leaving alone what is in its place already.
function place(els) {
  els.forEach((el, i) => {
    if (log.children[i] !== el) log.insertBefore(el, log.children[i] ?? null);
  });
  while (log.children.length > els.length) log.lastChild.remove();
}

// starts says whether m begins a new block with avatar and name.
function starts(m, before) {
  return m.author.id !== before.author.id || m.type === REPLY || m.type === STARTER || m.interaction || before.type === THREAD_CREATED ||
    (m.flags ^ before.flags) & EPHEMERAL || new Date(m.timestamp) - new Date(before.timestamp) > 7 * 60_000;
}

function dayOf(m) {
  return new Intl.DateTimeFormat("en-GB", { dateStyle: "long" }).format(new Date(m.timestamp));
}

function clockTime(t) {
  return new Intl.DateTimeFormat("en-GB", { timeStyle: "short" }).format(new Date(t));
}

function when(t) {
  const days = Math.floor(now() / 86_400_000) - Math.floor(new Date(t) / 86_400_000);
  return (days === 0 ? "Today at " : days === 1 ? "Yesterday at " : new Intl.DateTimeFormat("en-GB").format(new Date(t)) + " ") + clockTime(t);
}

// intro stands above the first message.
function intro() {
  const c = channelById(store.channel);
  if (!c) return h("li");
  const isThread = c.type >= 10;
  const owner = isThread ? userById(c.owner_id) : null;
  return h("li.intro", h("span.intro-icon", icon(isThread ? "thread" : "hash", 34)),
    h("h1", isThread ? c.name : `Welcome to #${c.name}!`),
    h("p", isThread ? ["Started by ", h("strong", owner?.label ?? "someone")] : ["This is the start of the ", h("strong", "#" + c.name), " channel. ", c.topic ?? ""]),
    c.id === store.state.home && store.messages.size === 0 ? suggestions() : null);
}

// suggestions are things to ask, for whoever sees the page for the first time.
function suggestions() {
  const list = store.state.suggestions ?? [];
  return h("div.suggestions", list.map((text) => h("button.suggestion", { onclick: () => startCommand("ask", text) }, h("span.slash", "/ask"), text)));
}

// row is one message.
function row(m, first) {
  if (m.type === THREAD_CREATED) return system(m);
  if (m.type === STARTER) {
    if (!m.referenced_message) return h("li.system", "The message that opened this thread was deleted.");
    return h("li.msg.first.starter", block({ ...m.referenced_message, thread: null, flags: m.referenced_message.flags & ~HAS_THREAD }, true));
  }
  const mine = me();
  const pinged = m.mentions.some((u) => u.id === mine?.id) || m.mention_roles.some((r) => mine?.roles.includes(r)) || m.mention_everyone;
  const el = h("li.msg", { data: { id: m.id } }, block(m, first), m.failure || m.ephemeral_to ? null : tools(m));
  el.classList.toggle("first", Boolean(first));
  el.classList.toggle("pinged", pinged && m.author.id !== mine?.id);
  el.classList.toggle("ephemeral", Boolean(m.flags & EPHEMERAL));
  return el;
}

function system(m) {
  return h("li.system", icon("thread", 16), h("strong", userById(m.author.id)?.label ?? m.author.username), " started a thread: ",
    h("button.textual", { onclick: () => openChannel(m.message_reference.channel_id) }, m.content));
}

function block(m, first) {
  const author = userById(m.author.id) ?? m.author;
  const name = h("span.name", author.label ?? author.username);
  const color = roleColor(author);
  if (color) name.style.setProperty("color", color);
  return [
    first ? above(m) : null,
    first ? avatar(author) : h("time.mini", clockTime(m.timestamp)),
    h("div.body",
      first ? h("div.who", name, m.author.bot ? h("span.badge", icon("check", 11), "APP") : null, h("time.at", { title: m.timestamp }, when(m.timestamp))) : null,
      body(m)),
  ];
}

// above is the thin line that says what a message answers.
function above(m) {
  if (m.interaction) {
    const u = userById(m.interaction.user.id);
    return h("div.above", h("i.spine"), avatar(u, 16), h("strong", u?.label ?? m.interaction.user.username), " used ", h("span.slash", "/" + m.interaction.name));
  }
  if (m.type !== REPLY) return null;
  const r = m.referenced_message;
  if (!r) return h("div.above", h("i.spine"), h("em", "Original message was deleted"));
  const u = userById(r.author.id);
  return h("div.above", h("i.spine"), avatar(u, 16), h("strong", u?.label ?? r.author.username), " ",
    h("span.excerpt", inline((r.content || r.embeds[0]?.title || "Click to see the attachment").split("\n")[0].slice(0, 140))));
}

function body(m) {
  if (m.failure) return [h("div.failed", m.failure), onlyYou(m)];
  if (m.flags & LOADING) return [h("div.thinking", h("span.dots", h("i"), h("i"), h("i")), (userById(m.author.id)?.label ?? "App") + " is thinking…"), m.ephemeral_to ? onlyYou(m) : null];
  const text = markdown(m.content);
  if (m.edited_timestamp) {
    const mark = h("span.edited", { title: m.edited_timestamp }, "(edited)");
    const last = text.at(-1);
    if (last?.matches?.(".para, .small, .heading")) last.append(" ", mark);
    else text.push(mark);
  }
  return [
    h("div.content", text), m.embeds.map(embed), m.attachments.map(attachment), componentRows(m),
    m.thread ? threadBox(m) : null, m.ephemeral_to ? onlyYou(m) : null,
  ];
}

function onlyYou(m) {
  return h("div.only-you", icon("eye", 15), "Only you can see this", h("span.sep", "•"),
    h("button.textual", { onclick: () => act(() => api("DELETE", `/users/${store.user}/messages/${m.id}`)) }, "Dismiss message"));
}

function embed(e) {
  const el = h("div.embed",
    e.author?.name ? h("div.embed-author", e.author.name) : null,
    e.title ? h("div.embed-title", inline(e.title)) : null,
    e.description ? h("div.embed-text", markdown(e.description)) : null,
    e.fields?.length ? h("div.embed-fields", e.fields.map((f) => h("div.embed-field" + (f.inline ? ".inline" : ""), h("div.embed-name", inline(f.name)), h("div", markdown(f.value))))) : null,
    e.footer?.text ? h("div.embed-footer", e.footer.text) : null);
  if (e.color) el.style.setProperty("--c", "#" + e.color.toString(16).padStart(6, "0"));
  return el;
}

function attachment(a) {
  return h("a.attachment", { href: /^https?:/.test(a.url) ? a.url : "#", download: a.filename }, icon("file", 26),
    h("span", h("span.attachment-name", a.filename), h("span.attachment-size", a.size < 1024 ? a.size + " bytes" : (a.size / 1024).toFixed(1) + " KB")));
}

function threadBox(m) {
  const t = channelById(m.id) ?? m.thread;
  const n = t.message_count;
  return h("button.thread-box", { onclick: () => openChannel(t.id) },
    h("span.thread-name", icon("thread", 16), t.name), h("span.thread-count", (n === 0 ? "See Thread" : n === 1 ? "1 Message" : n + " Messages") + " ›"),
    t.thread_metadata.archived ? h("span.thread-note", "Archived") : null);
}

function tools(m) {
  const mine = m.author.id === me()?.id;
  const inChannel = channelById(m.channel_id)?.type === 0;
  return h("div.tools",
    tool("reply", "Reply", () => startReply(m)),
    inChannel && !m.thread ? tool("thread", "Create thread", () => openThread(m)) : null,
    mine ? tool("edit", "Edit", () => startEdit(m)) : null,
    tool("trash", "Delete", () => act(() => api("DELETE", `/users/${store.user}/messages/${m.id}`))));
}

const tool = (name, title, onclick) => h("button.tool", { title, "aria-label": title, onclick }, icon(name, 17));

function openThread(m) {
  act(async () => {
    const name = (m.content || "thread").replace(/<[^>]*>/g, "").trim().slice(0, 60) || "thread";
    const t = await api("POST", `/users/${store.user}/threads`, { channel: m.channel_id, message: m.id, name });
    await openChannel(t.id);
  });
}

// act runs something a person asked for and says why it failed.
export async function act(f) {
  try {
    return await f();
  } catch (err) {
    toast(err.message);
  }
}

export function clear() {
  shown.clear();
  fill(log);
}
