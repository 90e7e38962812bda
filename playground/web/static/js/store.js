// What the page knows: the state of the guild as the current user sees it, and the messages of the open channel.

import { api, listen } from "./api.js";

export const store = {
  state: null, // GET /state
  user: sessionStorage.getItem("user") ?? "",
  channel: "",
  messages: new Map(), // id → message, of the open channel
  unread: new Set(),
  typing: new Map(), // user → until (ms, this machine's clock)
  skew: 0, // playground's time minus this machine's
  online: false,
};

const watchers = new Map();

// on calls f when something named happened: state, messages, typing, wire, online, channel, clock.
export function on(name, f) {
  for (const n of name.split(" ")) watchers.set(n, [...(watchers.get(n) ?? []), f]);
}

function tell(name, detail) {
  for (const f of watchers.get(name) ?? []) f(detail);
}

export const now = () => Date.now() + store.skew;
export const userById = (id) => store.state.users.find((u) => u.id === id);
export const me = () => store.state.users.find((u) => u.username === store.user);
export const channelById = (id) => [...store.state.channels, ...store.state.threads].find((c) => c.id === id);
export const roleById = (id) => store.state.roles.find((r) => r.id === id);

// roleColor is the colour of a user's highest role that has one.
export function roleColor(user) {
  const role = store.state.roles.find((r) => r.color && user?.roles?.includes(r.id));
  return role ? "#" + role.color.toString(16).padStart(6, "0") : null;
}

export async function refresh() {
  const asked = store.user;
  const state = await api("GET", "/state?user=" + encodeURIComponent(asked));
  if (asked !== store.user) return;
  store.state = state;
  store.skew = state.now - Date.now();
  if (!channelById(store.channel)) await openChannel(state.home);
  tell("state");
}

let view = ""; // whose view of which channel the messages are
let touched = new Set(); // messages that events changed since the channel was asked for: newer than the answer

// openChannel reads a channel. When it was open already, after a lost connection, what is being written stays.
export async function openChannel(id) {
  const moved = view !== store.user + " " + id;
  view = store.user + " " + id;
  store.channel = id;
  store.unread.delete(id);
  if (moved) {
    store.typing.clear();
    store.messages = new Map();
    tell("channel");
  }
  const since = (touched = new Set());
  const got = await api("GET", `/channels/${id}?user=${encodeURIComponent(store.user)}`);
  if (touched !== since) return; // asked again meanwhile
  const messages = new Map(got.messages.map((m) => [m.id, m]));
  for (const m of since) store.messages.has(m) ? messages.set(m, store.messages.get(m)) : messages.delete(m);
  store.messages = messages;
  tell("messages", { jump: moved });
}

let stream = null;

// become switches to another user and connects its stream.
export async function become(name) {
  stream?.abort();
  stream = new AbortController();
  store.user = name;
  sessionStorage.setItem("user", name);
  const mine = stream;
  listen(name, mine.signal, {
    open: async () => {
      const before = store.channel;
      await refresh();
      if (store.channel === before) await openChannel(before); // what happened while nobody listened
      store.online = true;
      tell("online");
    },
    event: (e) => apply(e),
    lost: () => {
      if (!store.online || mine.signal.aborted) return;
      store.online = false;
      tell("online");
    },
  });
}

let stale = 0;

function later() {
  clearTimeout(stale);
  stale = setTimeout(() => refresh().catch((err) => console.debug("refresh", err)), 60);
}

function apply(e) {
  const here = e.channel === store.channel;
  if (here && e.data?.id) touched.add(e.data.id);
  switch (e.type) {
    case "message":
      if (here) {
        store.messages.set(e.data.id, e.data);
        store.typing.delete(e.data.author.id);
        tell("messages");
        tell("typing");
      } else if (!store.unread.has(e.channel) && !e.data.edited_timestamp) {
        store.unread.add(e.channel);
        tell("state");
      }
      break;
    case "message_delete":
      if (here && store.messages.delete(e.data.id)) tell("messages");
      break;
    case "channel":
      place(e.data);
      tell("state");
      break;
    case "channel_delete":
      store.state.threads = store.state.threads.filter((c) => c.id !== e.channel);
      if (here) openChannel(store.state.home);
      tell("state");
      break;
    case "typing":
      if (here) {
        store.typing.set(e.data.user, Date.now() + 10_000);
        tell("typing");
      }
      break;
    case "clock":
      store.skew = e.data.now - Date.now();
      tell("clock");
      break;
    case "wire":
      tell("wire", e.data);
      break;
    case "commands":
      later();
  }
}

function place(channel) {
  const list = channel.type >= 10 && channel.type <= 12 ? store.state.threads : store.state.channels;
  const at = list.findIndex((c) => c.id === channel.id);
  if (at >= 0) list[at] = channel;
  else list.push(channel);
}
