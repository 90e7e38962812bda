// Building blocks for the page. Text only ever becomes a text node: nothing here parses HTML.

// h makes an element: h("a.link.big", {href}, "text", child, [more]). Properties that start with "on" are listeners,
// "data" is a dataset, null and false children are left out.
export function h(spec, props, ...children) {
  const [tag, ...classes] = spec.split(".");
  const el = document.createElement(tag || "div");
  if (classes.length) el.className = classes.join(" ");
  if (props && (typeof props !== "object" || props instanceof Node || Array.isArray(props))) {
    children.unshift(props);
    props = null;
  }
  for (const [k, v] of Object.entries(props ?? {})) {
    if (v === null || v === undefined || v === false) continue;
    if (k.startsWith("on")) el.addEventListener(k.slice(2), v);
    else if (k === "data") Object.assign(el.dataset, v);
    else if (k === "color") el.style.setProperty("--c", v);
    else if (k in el && typeof v !== "string") el[k] = v;
    else el.setAttribute(k, v === true ? "" : v);
  }
  el.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  return el;
}

// fill replaces an element's children.
export function fill(el, ...children) {
  el.replaceChildren(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  return el;
}

const paths = {
  hash: "M9 4 7 20M17 4l-2 16M4 9h17M3 15h17",
  thread: "M5 4h14a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2h-6l-5 4v-4H5a2 2 0 0 1-2-2V6a2 2 0 0 1 2-2ZM7.5 8.5h9M7.5 12h5",
  panel: "M4 5h16v14H4zM14 5v14",
  menu: "M4 7h16M4 12h16M4 17h16",
  down: "m6 9 6 6 6-6",
  right: "m9 6 6 6-6 6",
  eye: "M2.5 12s3.5-6.5 9.5-6.5 9.5 6.5 9.5 6.5-3.5 6.5-9.5 6.5S2.5 12 2.5 12ZM12 9.3a2.7 2.7 0 1 1 0 5.4 2.7 2.7 0 0 1 0-5.4Z",
  reply: "M10 6 4 12l6 6M4 12h10a6 6 0 0 1 6 6v1",
  edit: "m4 20 1-5L16 4l4 4L9 19z",
  trash: "M4 7h16M9 7V4h6v3M6.5 7l1 13h9l1-13",
  clock: "M12 7v5l3.5 2M12 3a9 9 0 1 1 0 18 9 9 0 0 1 0-18Z",
  bolt: "M13 3 5 14h6l-1 7 8-11h-6z",
  rows: "M4 5h16v14H4zM4 10h16M10 10v9",
  wire: "M3 12h4l2-6 4 12 3-9 2 3h3",
  plus: "M12 5v14M5 12h14",
  close: "M6 6l12 12M18 6 6 18",
  file: "M6 3h8l4 4v14H6zM14 3v4h4",
  check: "m5 12 5 5 9-10",
  lock: "M7 11V8a5 5 0 0 1 10 0v3M5 11h14v9H5z",
  anchor: "M12 8v12m0 0c-4 0-7-2.5-7.5-6M12 20c4 0 7-2.5 7.5-6M8 11h8M12 3.5a2.2 2.2 0 1 1 0 4.4 2.2 2.2 0 0 1 0-4.4Z",
};

// icon is a stroked 24×24 drawing.
export function icon(name, size = 20) {
  const ns = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(ns, "svg");
  for (const [k, v] of Object.entries({ viewBox: "0 0 24 24", width: size, height: size, class: "icon", "aria-hidden": "true" })) svg.setAttribute(k, v);
  const p = document.createElementNS(ns, "path");
  p.setAttribute("d", paths[name]);
  svg.append(p);
  return svg;
}

// avatar is a round badge with the initials.
export function avatar(user, size = 40) {
  const label = user?.label ?? user?.username ?? "?";
  const el = h("span.avatar", { color: /^#[0-9a-f]{6}$/i.test(user?.color ?? "") ? user.color : "#6d6f78", "aria-hidden": "true" },
    user?.bot ? icon("anchor", Math.round(size * 0.58)) : label.slice(0, 1).toUpperCase());
  el.style.setProperty("--s", size + "px");
  if (user?.bot) el.classList.add("avatar-bot");
  return el;
}

// toast says something for a few seconds.
export function toast(text, kind = "error") {
  const el = h("div.toast.toast-" + kind, text);
  document.getElementById("toasts").append(el);
  setTimeout(() => el.remove(), kind === "error" ? 6000 : 2500);
}
