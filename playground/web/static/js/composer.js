// The line at the bottom: ordinary messages, mentions, replies, edits, and the way into slash commands.

import { api } from "./api.js";
import { avatar, fill, h, icon, toast } from "./dom.js";
import { CommandLine } from "./command.js";
import { Menu } from "./menu.js";
import { channelById, me, on, store, userById } from "./store.js";
import { typingLine } from "./sidebar.js";

const dock = document.getElementById("dock");
const menu = new Menu();
const input = h("textarea.input", { rows: "1", "aria-label": "Message", spellcheck: "true" });
const context = h("div.context", { hidden: true });
const files = h("div.files", { hidden: true });
const picker = h("input", { type: "file", multiple: true, hidden: true });
const attach = h("button.attach", { title: "Attach a file", "aria-label": "Attach a file", onclick: () => picker.click() }, icon("plus", 18));
const line = h("div.line", attach, input, picker);
const typing = h("div.typing");
const names = new Map(); // what "@Name" stands for in the text being written

let replyTo = null;
let editing = null;
let chosen = []; // files
let command = null;

fill(dock, menu.el, h("div.box", context, files, line), typing);

input.disabled = true; // until there is somebody to write as, and somewhere to
on("channel state", () => {
  input.disabled = !store.state;
  const c = channelById(store.channel);
  input.placeholder = c ? `Message ${c.type >= 10 ? "“" + c.name + "”" : "#" + c.name}` : "";
});
on("channel", () => {
  setContext(null);
  leaveCommand();
});
on("typing", () => fill(typing, typingLine()));
setInterval(() => store.typing.size && fill(typing, typingLine()), 1000);

input.addEventListener("input", () => {
  grow();
  if (!typedCommand()) suggest();
});
input.addEventListener("keydown", (e) => {
  if (menu.key(e)) return;
  if (e.key === "Escape") return setContext(null);
  if (e.key === "Enter" && !e.shiftKey && !e.isComposing) {
    e.preventDefault();
    send();
  }
  if (e.key === "ArrowUp" && input.value === "") {
    const own = [...store.messages.values()].filter((m) => m.author.id === me()?.id && !m.ephemeral_to).at(-1);
    if (own) startEdit(own);
  }
});
input.addEventListener("blur", () => setTimeout(() => dock.contains(document.activeElement) || menu.close(), 150));
picker.addEventListener("change", () => {
  chosen = [...chosen, ...picker.files].slice(0, 10);
  picker.value = "";
  showFiles();
});
document.addEventListener("keydown", (e) => {
  const typingElsewhere = e.target.closest?.("input, textarea, select, dialog, button, a");
  if (!typingElsewhere && e.key.length === 1 && !e.ctrlKey && !e.metaKey && !e.altKey) (command ?? input).focus();
});

function grow() {
  input.style.height = "auto";
  input.style.height = Math.min(input.scrollHeight, 280) + "px";
}

// typedCommand enters the command that is written out, as soon as a blank follows its name; what is there already, as
// after a paste, becomes its first option.
function typedCommand() {
  if (editing) return false;
  const named = commandItems().filter((c) => input.value.startsWith(`/${c.name} `)).sort((a, b) => b.name.length - a.name.length)[0];
  if (named) startCommand(named.name, input.value.slice(named.name.length + 2));
  return Boolean(named);
}

// suggest opens the list of commands after "/", or of people and roles after "@".
function suggest() {
  const text = input.value;
  const slash = /^\/([\w-]*)(?: ([\w-]*))?$/.exec(text);
  if (slash && !editing) {
    const items = commandItems().filter((c) => c.name.startsWith([slash[1], slash[2]].filter(Boolean).join(" ")));
    return menu.open("Commands", items.map((c) => ({
      icon: avatar(userById(store.state.application.id), 28), title: "/" + c.name, note: c.description, side: store.state.application.name, pick: () => enterCommand(c),
    })), { cancel: () => {} });
  }
  const at = /(?:^|\s)@([\w]*)$/.exec(text.slice(0, input.selectionStart));
  if (!at) return menu.close();
  const part = at[1].toLowerCase();
  const people = store.state.users.filter((u) => u.label.toLowerCase().startsWith(part) || u.username.toLowerCase().startsWith(part));
  const roles = store.state.roles.filter((r) => r.name[0] !== "@" && r.name.toLowerCase().startsWith(part));
  menu.open("Members and roles", [
    ...people.map((u) => ({ icon: avatar(u, 24), title: u.label, side: u.username, pick: () => mention(at[1], u.label, `<@${u.id}>`) })),
    ...roles.map((r) => ({ icon: h("span.role-dot", { color: "#" + r.color.toString(16).padStart(6, "0") }), title: "@" + r.name, side: "role", pick: () => mention(at[1], r.name, `<@&${r.id}>`) })),
  ]);
}

function mention(typed, label, code) {
  names.set("@" + label, code);
  const start = input.selectionStart - typed.length - 1;
  input.setRangeText("@" + label + " ", start, input.selectionStart, "end");
  input.focus();
}

// commandItems are the commands, with one line for each subcommand.
function commandItems() {
  const out = [];
  const walk = (c, path) => {
    const subs = (c.options ?? []).filter((o) => o.type <= 2);
    if (!subs.length) out.push({ name: path, description: c.description, options: c.options ?? [] });
    for (const s of subs) walk(s, path + " " + s.name);
  };
  for (const c of store.state.commands) walk(c, c.name);
  return out;
}

function enterCommand(definition) {
  menu.close();
  input.value = "";
  command = new CommandLine(definition, menu, leaveCommand);
  line.replaceChildren(command.el);
  command.focus();
}

// startCommand opens a command with its first option filled in.
export function startCommand(name, text) {
  const definition = commandItems().find((c) => c.name === name);
  if (!definition) return toast("/" + name + " is not registered yet");
  enterCommand(definition);
  command.type(text);
}

function leaveCommand() {
  if (!command) return;
  command = null;
  menu.close();
  line.replaceChildren(attach, input, picker);
  input.focus();
}

async function send() {
  const text = input.value.trim();
  if (text === "" && !chosen.length) return;
  if (typedCommand()) return;
  const content = encode(text);
  const body = { channel: store.channel, content };
  try {
    if (editing) await api("PATCH", `/users/${store.user}/messages/${editing.id}`, { content });
    else {
      if (replyTo) body.reply_to = replyTo.id;
      if (chosen.length) body.files = await Promise.all(chosen.map(encodeFile));
      await api("POST", `/users/${store.user}/messages`, body);
    }
    input.value = "";
    chosen = [];
    showFiles();
    setContext(null);
    grow();
  } catch (err) {
    toast(err.message);
  }
}

// encode turns the names that were picked, or that are simply known, into Discord's mention codes.
function encode(text) {
  for (const u of store.state.users) if (!names.has("@" + u.label)) names.set("@" + u.label, `<@${u.id}>`);
  for (const [name, code] of [...names].sort((a, b) => b[0].length - a[0].length)) text = text.split(name).join(code);
  return text;
}

function decode(text) {
  return text.replace(/<@!?(\d+)>/g, (all, id) => (userById(id) ? "@" + userById(id).label : all));
}

// encodeFile reads a file as the control API takes it.
export async function encodeFile(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  let binary = "";
  for (let i = 0; i < bytes.length; i += 0x8000) binary += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return { name: file.name, type: file.type, data: btoa(binary) };
}

function showFiles() {
  files.hidden = !chosen.length;
  fill(files, chosen.map((f, i) => h("span.file", icon("file", 16), f.name,
    h("button.tool", { "aria-label": "Remove", onclick: () => { chosen.splice(i, 1); showFiles(); } }, icon("close", 14)))));
}

function setContext(text) {
  if (text === null) {
    if (editing) input.value = "";
    replyTo = editing = null;
  }
  context.hidden = text === null;
  fill(context, text, h("button.tool", { "aria-label": "Cancel", onclick: () => setContext(null) }, icon("close", 16)));
}

export function startReply(m) {
  leaveCommand();
  editing = null;
  replyTo = m;
  setContext(h("span", "Replying to ", h("strong", userById(m.author.id)?.label ?? m.author.username)));
  input.focus();
}

export function startEdit(m) {
  leaveCommand();
  replyTo = null;
  editing = m;
  setContext(h("span", "Editing your message"));
  input.value = decode(m.content);
  grow();
  input.focus();
}

