// discord.js as a client of the local Discord: its REST calls, its handling of trouble, and its answers to
// interactions that arrive over HTTP. HOLDFAST names the binary. There is no login: the Gateway is no part of it.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createPublicKey, verify } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, test } from "node:test";
import {
  ActionRowBuilder, AttachmentBuilder, ButtonBuilder, ButtonStyle, Client, ClientUser, DiscordAPIError, EmbedBuilder, MessageFlags,
  ModalBuilder, Routes, SlashCommandBuilder, TextInputBuilder, TextInputStyle,
} from "discord.js";

const dir = mkdtempSync(join(tmpdir(), "holdfast-discordjs-"));
let info, client, playground, endpoint, channel;
const limited = []; // what discord.js said about rate limits

before(async () => {
  writeFileSync(join(dir, "secret"), "0".repeat(64), { mode: 0o600 });
  endpoint = createServer(application).listen(0, "127.0.0.1");
  await once(endpoint, "listening");
  playground = spawn(process.env.HOLDFAST, ["playground", "--json", "--secret-file", join(dir, "secret"),
    "--edge", `http://127.0.0.1:${endpoint.address().port}`], { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = await once(createInterface(playground.stdout), "line");
  info = JSON.parse(line);
  client = new Client({ intents: [], rest: { api: info.api.replace(/\/v10$/, ""), version: "10" } });
  client.token = info.token;
  client.rest.setToken(info.token);
  client.rest.on("rateLimited", (data) => limited.push(data));
  client.user = new ClientUser(client, await client.rest.get(Routes.user())); // which a login would have brought
  await client.guilds.fetch(info.guild_id);
  channel = await client.channels.fetch(info.channel_id);
});

after(async () => {
  await client?.destroy();
  endpoint?.closeAllConnections();
  endpoint?.close();
  if (playground?.kill("SIGTERM")) await once(playground, "exit");
  rmSync(dir, { recursive: true });
});

// application is the endpoint that the playground posts to: interactions, and events as a relay would send them.
async function application(req, res) {
  const chunks = [];
  for await (const c of req) chunks.push(c);
  const body = Buffer.concat(chunks);
  if (req.url !== "/interactions") {
    const results = JSON.parse(body).events.map((e) => ({ id: e.id, status: "committed" }));
    return res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ results, gaps: [] }));
  }
  const key = createPublicKey({ format: "jwk", key: { kty: "OKP", crv: "Ed25519", x: Buffer.from(info.public_key, "hex").toString("base64url") } });
  const signed = Buffer.concat([Buffer.from(req.headers["x-signature-timestamp"]), body]);
  if (!verify(null, signed, key, Buffer.from(req.headers["x-signature-ed25519"], "hex"))) return res.writeHead(401).end();
  res.writeHead(202).end(); // the answer follows by the callback endpoint, as discord.js gives it
  client.actions.InteractionCreate.handle(JSON.parse(body)); // what its WebSocket would do
}

// surplus are fields that discord.js sends where Discord's description has none, and Discord ignores them: the
// playground, too, and notes them in its log.
const surplus = /^body\/(data\/)?(enforce_nonce|tts|type): unknown field$/;

// control does something as a person, or to the playground.
async function control(method, path, body) {
  const res = await fetch(info.control + path, {
    method, headers: { authorization: "Bearer " + info.control_token, "content-type": "application/json" }, body: body && JSON.stringify(body),
  });
  const answer = await res.json();
  assert.ok(res.ok, `${method} ${path}: ${JSON.stringify(answer)}`);
  return answer;
}

const shown = async (id = info.channel_id) => (await control("GET", "/channels/" + id)).messages;
const ask = (name, options) => control("POST", "/users/maya/commands", { channel: info.channel_id, name, options });
const next = async () => (await once(client, "interactionCreate"))[0];

test("messages are created, read, edited and deleted", async () => {
  const sent = await channel.send({
    content: "from discord.js", allowedMentions: { parse: [] },
    embeds: [new EmbedBuilder().setTitle("Card").setDescription("text").setColor(0x2f9e62).addFields({ name: "n", value: "v", inline: true })],
    components: [new ActionRowBuilder().addComponents(new ButtonBuilder().setCustomId("b").setLabel("Press").setStyle(ButtonStyle.Primary))],
    files: [new AttachmentBuilder(Buffer.from("some text"), { name: "a.txt" })],
  });
  assert.equal(sent.author.id, info.application_id);
  assert.equal(await (await fetch(sent.attachments.first().url)).text(), "some text");
  const edited = await sent.edit({ content: "edited", components: [] });
  assert.ok(edited.editedTimestamp);
  const list = await channel.messages.fetch({ limit: 10 });
  assert.equal(list.get(sent.id).content, "edited");
  assert.equal((await channel.messages.fetch({ message: sent.id, force: true })).embeds[0].fields[0].value, "v");
  await channel.sendTyping();
  await sent.delete();
  await assert.rejects(channel.messages.fetch({ message: sent.id, force: true }), (e) => e instanceof DiscordAPIError && e.code === 10008);
});

test("a thread is opened from a message, written to, archived and deleted", async () => {
  const opener = await channel.send("opener");
  const thread = await opener.startThread({ name: "topic", autoArchiveDuration: 1440 });
  assert.equal(thread.id, opener.id);
  await thread.send("inside");
  const active = await channel.threads.fetchActive();
  assert.ok(active.threads.has(thread.id));
  await thread.setName("renamed");
  await thread.setArchived(true);
  await assert.rejects(thread.setName("while archived"), (e) => e.code === 50083);
  await thread.setArchived(false);
  await assert.rejects(thread.setLocked(true), (e) => e.code === 50013, "the bot may not manage threads");
  await control("DELETE", "/users/maya/threads/" + thread.id);
  await assert.rejects(client.channels.fetch(thread.id, { force: true }), (e) => e.code === 10003);
});

test("commands are replaced as a whole", async () => {
  const ask = new SlashCommandBuilder().setName("greet").setDescription("Greets")
    .addStringOption((o) => o.setName("whom").setDescription("Who is greeted").setRequired(true).setMaxLength(100))
    .addStringOption((o) => o.setName("like").setDescription("How").setAutocomplete(true));
  const route = Routes.applicationCommands(info.application_id);
  const put = await client.rest.put(route, { body: [ask.toJSON()] });
  const again = await client.rest.put(route, { body: [ask.toJSON()] });
  assert.equal(again[0].id, put[0].id, "a command that stays keeps its id");
  const got = await client.rest.get(route);
  assert.deepEqual(got.map((c) => [c.name, c.options.length]), [["greet", 2]]);
});

test("rate limits and lost answers are survived, and nothing is said twice", async () => {
  for (const fault of [{}, { global: true }, { bare: true }]) {
    await control("POST", "/faults", { kind: "status", status: 429, retry_after: 0.05, count: 2, ...fault });
    const content = "despite " + JSON.stringify(fault);
    await channel.send(content);
    assert.equal((await shown()).filter((m) => m.content === content).length, 1, content);
  }
  assert.equal((await control("GET", "/log?after=0")).entries.filter((e) => e.status === 429).length, 6);
  assert.ok(limited.some((l) => l.global) && limited.some((l) => !l.global));
  await control("POST", "/faults", { kind: "status", status: 500, when: "after", count: 1 });
  await channel.send({ content: "with a nonce", nonce: "0123456789", enforceNonce: true });
  assert.equal((await shown()).filter((m) => m.content === "with a nonce").length, 1);
  assert.deepEqual((await control("GET", "/faults")).faults, []);
});

test("a refused request is told as Discord tells it", async () => {
  await assert.rejects(channel.send("x".repeat(2001)), (e) => {
    assert.deepEqual(e.rawError.errors, { content: { _errors: [{ code: "BASE_TYPE_MAX_LENGTH", message: "Must be 2000 or fewer in length." }] } });
    return e.code === 50035 && e.message.includes("content[BASE_TYPE_MAX_LENGTH]");
  });
  await assert.rejects(channel.send(""), (e) => e.code === 50006);
});

test("a command is deferred, answered, followed up; its button changes the message", async () => {
  const arrived = next();
  const asked = ask("greet", { whom: "Sam" });
  const command = await arrived;
  assert.equal(command.options.getString("whom"), "Sam");
  assert.ok(command.inCachedGuild() && command.member.id === info.users.maya);
  await command.deferReply();
  assert.deepEqual([(await asked).state, (await asked).answer], ["acked", 5]);
  const reply = await command.editReply({
    content: "Hello, Sam", components: [new ActionRowBuilder().addComponents(new ButtonBuilder().setCustomId("again").setLabel("Again").setStyle(ButtonStyle.Secondary))],
  });
  await command.followUp({ content: "for one", flags: MessageFlags.Ephemeral });
  const messages = await shown();
  assert.equal(messages.find((m) => m.id === reply.id).content, "Hello, Sam");
  assert.equal(messages.find((m) => m.content === "for one").ephemeral_to, info.users.maya);

  const click = next();
  const pressed = control("POST", "/users/maya/components", { message: reply.id, custom_id: "again" });
  await (await click).update({ content: "Hello again, Sam", components: [] });
  assert.equal((await pressed).state, "acked");
  assert.equal((await shown()).find((m) => m.id === reply.id).content, "Hello again, Sam");
  await command.deleteReply();
  assert.ok(!(await shown()).some((m) => m.id === reply.id));
});

test("choices are offered, and a form is opened and taken", async () => {
  let arrived = next();
  const typed = control("POST", "/users/maya/autocomplete", { channel: info.channel_id, name: "greet", options: { like: "wa" }, focused: "like" });
  const typing = await arrived;
  assert.equal(typing.options.getFocused(), "wa");
  await typing.respond([{ name: "warmly", value: "w" }]);
  assert.deepEqual((await typed).choices, [{ name: "warmly", value: "w" }]);

  arrived = next();
  const asked = ask("greet", { whom: "Kim" });
  await (await arrived).showModal(new ModalBuilder().setCustomId("form").setTitle("Say how").addComponents(
    new ActionRowBuilder().addComponents(new TextInputBuilder().setCustomId("how").setLabel("How").setStyle(TextInputStyle.Short))));
  const { modal, interaction } = await asked;
  assert.equal(modal.title, "Say how");
  arrived = next();
  const submitted = control("POST", "/users/maya/modals", { interaction, values: { how: "kindly" } });
  const form = await arrived;
  assert.equal(form.fields.getTextInputValue("how"), "kindly");
  await form.reply({ content: "kindly, then", flags: MessageFlags.Ephemeral });
  assert.equal((await submitted).state, "acked");
});

test("every request fitted Discord's description, and so did every answer", async () => {
  const { entries } = await control("GET", "/log?after=0");
  assert.ok(entries.length > 40);
  const refused = /"content":"x{2000}|"content":""/; // what was refused on purpose
  for (const e of entries) {
    if (refused.test(e.request ?? "")) continue;
    assert.deepEqual([e.violations.filter((v) => !surplus.test(v)), e.our_violations ?? []], [[], []], `${e.method} ${e.path}`);
    assert.ok(e.kind !== "rest" || !e.note, `${e.method} ${e.path}: ${e.note}`);
  }
});
