// Discord's markdown as DOM nodes. Whatever is not recognised stays text; links are only http and https.

import { h } from "./dom.js";
import { channelById, now, roleById, store, userById } from "./store.js";
import { highlight } from "./highlight.js";

// markdown renders a message's content.
export function markdown(text) {
  const out = [];
  const fence = /```(?:([\w+#.-]{1,24})\n)?([\s\S]*?)```/g;
  let last = 0;
  for (let m; (m = fence.exec(text)); last = fence.lastIndex) {
    out.push(...blocks(text.slice(last, m.index).replace(/\n$/, "")));
    out.push(h("pre.code", { data: { lang: m[1] ?? "" } }, h("code", highlight(m[2].replace(/^\n|\n$/g, ""), m[1] ?? ""))));
    if (text[fence.lastIndex] === "\n") fence.lastIndex++;
  }
  out.push(...blocks(text.slice(last)));
  return out;
}

// blocks renders lines: headings, small print, quotes, lists, and paragraphs.
function blocks(text) {
  if (text === "") return [];
  const out = [];
  let para = [];
  const flush = () => {
    if (para.length) out.push(h("div.para", inline(para.join("\n"))));
    para = [];
  };
  const lines = text.split("\n");
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i];
    let m;
    if ((m = /^(#{1,3}) (.+)/.exec(line))) {
      flush();
      out.push(h("div.heading.heading-" + m[1].length, inline(m[2])));
    } else if ((m = /^-# (.+)/.exec(line))) {
      flush();
      out.push(h("div.small", inline(m[1])));
    } else if (/^> /.test(line)) {
      flush();
      const quoted = [];
      for (; i < lines.length && /^> ?/.test(lines[i]); i++) quoted.push(lines[i].replace(/^> ?/, ""));
      i--;
      out.push(h("blockquote", blocks(quoted.join("\n"))));
    } else if ((m = /^( *)(?:[-*]|(\d+)\.) (.+)/.exec(line))) {
      flush();
      out.push(h("div.item", { data: { depth: Math.min(2, m[1].length >> 1), mark: m[2] ? m[2] + "." : "•" } }, h("span", inline(m[3]))));
    } else {
      para.push(line);
    }
  }
  flush();
  return out;
}

const styles = [
  [/^\*\*([\s\S]+?)\*\*(?!\*)/, "strong"],
  [/^__([\s\S]+?)__(?!_)/, "u"],
  [/^~~([\s\S]+?)~~/, "s"],
  [/^\*(?!\s)([\s\S]+?)(?<!\s)\*(?!\*)/, "em"],
  [/^_(?!\s)([\s\S]+?)(?<!\s)_(?![\w_])/, "em"],
];

// inline renders what happens inside a line.
export function inline(text) {
  const out = [];
  let plain = "";
  const flush = () => {
    if (plain) out.push(document.createTextNode(plain));
    plain = "";
  };
  for (let i = 0; i < text.length;) {
    const rest = text.slice(i);
    const hit = special(rest, i > 0 ? text[i - 1] : "");
    if (!hit) {
      plain += text[i++];
      continue;
    }
    flush();
    out.push(hit.node);
    i += hit.length;
  }
  flush();
  return out;
}

// special recognises one construct at the start of the text.
function special(text, before) {
  let m;
  switch (text[0]) {
    case "\\":
      if ((m = /^\\([\\*_~`|<>#-])/.exec(text))) return { node: document.createTextNode(m[1]), length: 2 };
      return null;
    case "`":
      if ((m = /^``(.+?)``(?!`)/.exec(text) ?? /^`([^`\n]+?)`/.exec(text))) return { node: h("code.tick", m[1].trim() || m[1]), length: m[0].length };
      return null;
    case "<":
      return angle(text);
    case "@":
      if ((m = /^@(everyone|here)\b/.exec(text))) return { node: h("span.mention", m[0]), length: m[0].length };
      return null;
    case "[":
      if ((m = /^\[([^\]\n]+)\]\(<?(https?:\/\/[^\s)>]+)>?\)/.exec(text))) return { node: link(m[2], m[1]), length: m[0].length };
      return null;
    case "h":
      if (!/\w/.test(before) && (m = /^https?:\/\/[^\s<>"]*[^\s<>".,:;!?)\]'*_~]/.exec(text))) return { node: link(m[0], m[0]), length: m[0].length };
      return null;
    case "|":
      if ((m = /^\|\|([\s\S]+?)\|\|/.exec(text))) return { node: spoiler(m[1]), length: m[0].length };
      return null;
    case "*":
    case "_":
    case "~":
      if (text[0] === "_" && /\w/.test(before)) return null;
      for (const [pattern, tag] of styles) {
        if ((m = pattern.exec(text))) return { node: h(tag, inline(m[1])), length: m[0].length };
      }
  }
  return null;
}

function angle(text) {
  let m;
  if ((m = /^<@!?(\d+)>/.exec(text))) {
    const u = userById(m[1]);
    return { node: h("span.mention", "@" + (u?.label ?? "unknown-user")), length: m[0].length };
  }
  if ((m = /^<@&(\d+)>/.exec(text))) {
    const r = roleById(m[1]);
    const el = h("span.mention.mention-role", "@" + (r?.name ?? "unknown-role"));
    if (r?.color) el.style.setProperty("--c", "#" + r.color.toString(16).padStart(6, "0"));
    return { node: el, length: m[0].length };
  }
  if ((m = /^<#(\d+)>/.exec(text))) return { node: h("span.mention", "#" + (channelById(m[1])?.name ?? "unknown")), length: m[0].length };
  if ((m = /^<t:(-?\d{1,13})(?::([tTdDfFR]))?>/.exec(text))) return { node: timestamp(Number(m[1]), m[2] ?? "f"), length: m[0].length };
  if ((m = /^<(https?:\/\/[^\s>]+)>/.exec(text))) return { node: link(m[1], m[1]), length: m[0].length };
  return null;
}

function link(url, text) {
  return h("a.link", { href: url, target: "_blank", rel: "noopener noreferrer" }, text);
}

function spoiler(text) {
  const el = h("span.spoiler", { tabindex: "0", role: "button", "aria-label": "Spoiler", onclick: () => el.classList.add("seen") }, inline(text));
  return el;
}

const formats = {
  t: { timeStyle: "short" }, T: { timeStyle: "medium" }, d: { dateStyle: "short" }, D: { dateStyle: "long" },
  f: { dateStyle: "long", timeStyle: "short" }, F: { dateStyle: "full", timeStyle: "short" },
};

function timestamp(seconds, style) {
  const at = new Date(seconds * 1000);
  if (Number.isNaN(at.getTime())) return document.createTextNode("<t:" + seconds + ">");
  const full = new Intl.DateTimeFormat("en-GB", formats.F).format(at);
  if (style !== "R") return h("time.stamp", { title: full }, new Intl.DateTimeFormat("en-GB", formats[style]).format(at));
  const el = h("time.stamp", { title: full, data: { at: String(seconds) } });
  el.textContent = relative(seconds);
  return el;
}

// relative says how long ago or ahead, as Discord does.
export function relative(seconds) {
  const d = seconds - now() / 1000;
  const units = [[60, 1, "second"], [3600, 60, "minute"], [86400, 3600, "hour"], [2592000, 86400, "day"], [31536000, 2592000, "month"], [Infinity, 31536000, "year"]];
  const [, size, name] = units.find(([limit]) => Math.abs(d) < limit - 0.5);
  const n = Math.round(Math.abs(d) / size);
  if (n === 0) return "now";
  const text = (n === 1 ? (name === "hour" ? "an " : "a ") : n + " ") + name + (n === 1 ? "" : "s");
  return d > 0 ? "in " + text : text + " ago";
}

// Relative timestamps run by themselves.
setInterval(() => {
  if (!store.state) return;
  for (const el of document.querySelectorAll("time[data-at]")) {
    const text = relative(Number(el.dataset.at));
    if (el.textContent !== text) el.textContent = text;
  }
}, 500);
