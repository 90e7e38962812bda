// The deployment's configuration, from the Worker's variables and secrets (wrangler.toml lists them). Nothing secret is
// in what the core sees.

const DISCORD = "https://discord.com/api/v10";

const NAME = /^[a-z0-9][a-z0-9-]{0,31}$/;
const SNOWFLAKE = /^[0-9]{1,20}$/;

// deployment reads env and gives
//   config    actor.Config, as an object
//   json, hash   its JSON, and the hex SHA-256 of that
//   targets   base URLs of the effects' targets, by name ("discord", "model:<name>")
//   headers   headers that carry a credential, by its name ("bot", "model:<name>")
//   secrets   the deployment secrets that are valid now, at least one
//   least     the least valid key number, by "<kind>.<subject>"
//   problems  what is wrong or missing, one sentence each, with no value in it; the edge is not ready while there is one
// The result of one env is kept: it never changes within an isolate.
export function deployment(env) {
  let known = deployments.get(env);
  if (known === undefined) {
    known = read(env);
    deployments.set(env, known);
  }
  return known;
}

const deployments = new WeakMap();

async function read(env) {
  const problems = [];
  const models = readModels(env, problems);
  const config = {
    application_id: must(env, "HOLDFAST_DISCORD_APPLICATION_ID", SNOWFLAKE, problems),
    public_keys: list(env, "HOLDFAST_DISCORD_PUBLIC_KEYS", /^[0-9a-f]{64}$/i, problems),
    allowed_guilds: list(env, "HOLDFAST_DISCORD_ALLOWED_GUILDS", SNOWFLAKE, problems),
    models: models.open,
    default_model: env.HOLDFAST_MODELS_DEFAULT ?? Object.keys(models.open)[0] ?? "",
  };
  if (config.public_keys.length < 1 || config.public_keys.length > 2) problems.push("HOLDFAST_DISCORD_PUBLIC_KEYS: one key or two");
  if (!(config.default_model in models.open)) problems.push("HOLDFAST_MODELS_DEFAULT: no such model in HOLDFAST_MODELS");
  const token = must(env, "HOLDFAST_DISCORD_BOT_TOKEN", /^\S+$/, problems);
  const discord = baseURL(env.HOLDFAST_DISCORD_API ?? DISCORD, "HOLDFAST_DISCORD_API", problems);
  const secrets = [must(env, "HOLDFAST_SECRET", /^\S{32,}$/, problems), env.HOLDFAST_SECRET_OLD].filter(Boolean);
  const json = JSON.stringify(config);
  return {
    config,
    json,
    hash: await sha256(json),
    targets: { ...models.targets, discord },
    headers: { ...models.headers, bot: { authorization: `Bot ${token}` } },
    secrets,
    least: readLeast(env, problems),
    problems,
  };
}

// readModels takes HOLDFAST_MODELS apart: {"<name>":{"format","base_url","model","window","max_output","price_in",
// "price_out","notice"}}. The key of a model is the secret HOLDFAST_MODEL_KEY_<NAME>; a model may have none.
function readModels(env, problems) {
  const out = { open: {}, targets: {}, headers: {} };
  for (const [name, m] of Object.entries(object(env, "HOLDFAST_MODELS", problems))) {
    const where = `HOLDFAST_MODELS: ${JSON.stringify(name).slice(0, 40)}`;
    if (!NAME.test(name)) problems.push(`${where}: a name is small letters, digits and "-"`);
    if (m?.format !== "anthropic" && m?.format !== "openai") {
      problems.push(`${where}: format is "anthropic" or "openai"`);
      continue;
    }
    if (typeof m.model !== "string" || m.model === "") problems.push(`${where}: model, the provider's name for it, is missing`);
    for (const n of ["window", "max_output", "price_in", "price_out"]) {
      if (!Number.isSafeInteger(m[n] ?? 0) || (m[n] ?? 0) < 0) problems.push(`${where}: ${n} is a whole number`);
    }
    const { base_url, ...open } = m;
    out.open[name] = open;
    out.targets[`model:${name}`] = baseURL(base_url, where, problems);
    const key = env[`HOLDFAST_MODEL_KEY_${name.toUpperCase().replaceAll("-", "_")}`];
    out.headers[`model:${name}`] = key === undefined ? {} : m.format === "anthropic" ? { "x-api-key": key } : { authorization: `Bearer ${key}` };
  }
  return out;
}

function readLeast(env, problems) {
  const least = object(env, "HOLDFAST_TOKENS_LEAST", problems);
  for (const [subject, n] of Object.entries(least)) {
    if (!Number.isSafeInteger(n)) problems.push(`HOLDFAST_TOKENS_LEAST: ${subject.slice(0, 80)}: a whole number`);
  }
  return least;
}

function must(env, name, form, problems) {
  const value = env[name] ?? "";
  if (!form.test(value)) problems.push(value === "" ? `${name} is not set` : `${name} does not look right`);
  return value;
}

function list(env, name, form, problems) {
  const all = (env[name] ?? "").split(",").map((s) => s.trim()).filter((s) => s !== "");
  if (!all.every((s) => form.test(s))) problems.push(`${name} does not look right`);
  return all;
}

function object(env, name, problems) {
  try {
    const value = typeof env[name] === "object" ? env[name] : JSON.parse(env[name] || "{}"); // a TOML table comes as an object
    if (value !== null && typeof value === "object" && !Array.isArray(value)) return value;
  } catch {
    // said below
  }
  problems.push(`${name} is no JSON object`);
  return {};
}

// baseURL gives a URL without a slash at its end, to which a path is appended.
function baseURL(text, where, problems) {
  try {
    const url = new URL(text);
    if ((url.protocol === "https:" || url.protocol === "http:") && url.search === "" && url.hash === "") return url.href.replace(/\/+$/, "");
  } catch {
    // said below
  }
  problems.push(`${where}: base URL is missing or wrong`);
  return "";
}

async function sha256(text) {
  return hex(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))));
}

const HEX = Array.from({ length: 256 }, (_, b) => b.toString(16).padStart(2, "0"));

// hex writes bytes in hexadecimal.
export function hex(bytes) {
  let text = "";
  for (const b of bytes) text += HEX[b];
  return text;
}

// unhex reads what hex wrote, or gives null.
export function unhex(text) {
  if (!/^([0-9a-f]{2})*$/.test(text)) return null;
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

// randomHex gives n random bytes in hexadecimal.
export function randomHex(n) {
  return hex(crypto.getRandomValues(new Uint8Array(n)));
}
