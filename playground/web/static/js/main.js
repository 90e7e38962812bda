// The page's start: a token, a user, and then everything follows the stream of events.

import { api, authorized } from "./api.js";
import { fill, h } from "./dom.js";
import "./sidebar.js";
import "./messages.js";
import "./composer.js";
import "./panel.js";
import { become, store } from "./store.js";

async function start() {
  if (!authorized) throw new Error("Open this page with the address that was printed at the start: it carries the token.");
  const state = await api("GET", "/state");
  const people = state.users.filter((u) => !u.bot);
  const known = people.find((u) => u.username === store.user);
  await become((known ?? people[0]).username);
}

start().catch((err) => fill(document.body, h("div.stop", h("h1", "Holdfast playground"), h("p", err.message))));
