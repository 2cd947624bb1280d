/** Whose text `ask` brings, and what becomes of a run that nobody reads any more. */

import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { connect } from "pi-client/node";
import { SlowModel } from "./model.mjs";
import { Server, until } from "./server.mjs";

/** @type {SlowModel} */
let model;
/** @type {Server} */
let server;
/** @type {import("pi-client").PiClient[]} */
const clients = [];
before(async () => {
  model = await SlowModel.start();
  server = await Server.start(model.words);
});
afterEach(() => clients.splice(0).forEach((pi) => pi.close()));
after(async () => {
  await server.stop();
  model.stop();
});

const client = async () => {
  const pi = await connect({ url: server.url, token: await server.token(), firstWaitMs: 20, longestWaitMs: 200 });
  clients.push(pi);
  return pi;
};

/** All that an `ask` brings. @param {AsyncIterable<string>} asked */
const whole = async (asked) => {
  let text = "";
  for await (const piece of asked) {
    text += piece;
  }
  return text;
};

/** What the model said, answer by answer. */
const answers = async (session) => {
  const said = (await session.messages()).filter((message) => message.role === "assistant");
  return said.map(({ content }) => content.map((block) => (block.type === "text" ? block.text : "")).join(""));
};

test("two questions at once get each their own answer", async () => {
  const pi = await client();
  const session = await pi.createSession();
  const asked = await Promise.all([whole(session.ask("What is pi?")), whole(session.ask("hello"))]);
  assert.deepEqual(asked, await answers(session));
  assert.notEqual(asked[0], asked[1]);
});

test("the same question twice gets each its own answer", async () => {
  const pi = await client();
  const session = await pi.createSession();
  const asked = await Promise.all([whole(session.ask("What is pi?")), whole(session.ask("What is pi?"))]);
  assert.deepEqual(asked, await answers(session));
});

for (const theirs of ["hello", "What is pi?"]) {
  test(`the run of another client that said "${theirs}" is left out`, async () => {
    const [pi, other] = [await client(), await client()];
    const session = await pi.createSession();
    const before = other.session(session.id).prompt(theirs);
    await until(async () => (await session.state()).isStreaming);
    const mine = whole(session.ask("What is pi?"));
    await until(() => [...pi["pending"].values()].some(({ frame }) => frame.includes('"prompt"')));
    await session.state(); // The server has read what was sent before it.
    const behind = other.session(session.id).prompt(theirs);
    const asked = await mine;
    await Promise.all([before, behind]);
    const said = await answers(session);
    assert.equal(said.length, 3);
    assert.equal(asked, said[1]);
    });
}

test("a template is asked as well, though what it says is not what was typed", async () => {
  const pi = await client();
  await mkdir(join(server.folder, "agent", "prompts"), { recursive: true });
  await writeFile(join(server.folder, "agent", "prompts", "greet.md"), "Greet everybody in this folder");
  const session = await pi.createSession();
  const asked = await whole(session.ask("/greet"));
  assert.equal((await session.messages())[0].content[0].text, "Greet everybody in this folder");
  assert.deepEqual([asked], await answers(session));
});

test("lifecycle events that nobody asked for are not told", async () => {
  const pi = await client();
  const session = await pi.createSession();
  const told = [];
  pi.onEvent((event) => told.push(event.type));
  await whole(session.ask("hello"));
  assert.deepEqual(told, []);
});

test("an early break aborts the run", async () => {
  const pi = await client();
  const session = await pi.createSession();
  const settled = [];
  await session.subscribe({ event: (event) => event.type === "agent_settled" && settled.push(event.aborted) });
  for await (const _ of session.ask("What is pi?")) {
    break;
  }
  assert.equal((await session.state()).isStreaming, false);
  await until(() => settled.length > 0);
  assert.deepEqual(settled, [true]);
});

test("a signal aborts the run and throws its reason", async () => {
  const pi = await client();
  const session = await pi.createSession();
  const stop = new AbortController();
  const asking = (async () => {
    for await (const _ of session.ask("What is pi?", { signal: stop.signal })) {
      stop.abort(new Error("enough"));
    }
  })();
  await assert.rejects(asking, { message: "enough" });
  const last = (await session.messages()).at(-1);
  assert.equal(last.stopReason, "aborted");
});

test("a run that is left with goOn goes on", async () => {
  const pi = await client();
  const session = await pi.createSession();
  for await (const _ of session.ask("What is pi?", { whenLeft: "goOn" })) {
    break;
  }
  await until(async () => !(await session.state()).isStreaming);
  assert.equal((await session.messages()).at(-1).stopReason, "stop");
});

test("a question that is given up while it waits spares the run before it", async () => {
  const [pi, other] = [await client(), await client()];
  const session = await pi.createSession();
  const theirs = other.session(session.id).prompt("What is pi?");
  await until(async () => (await session.state()).isStreaming);
  const asked = whole(session.ask("hello", { signal: AbortSignal.timeout(1) }));
  await assert.rejects(asked, { name: "TimeoutError" });
  await theirs;
  const stops = async () =>
    (await session.messages()).filter(({ role }) => role === "assistant").map(({ stopReason }) => stopReason);
  await until(async () => (await stops()).length === 2 && !(await session.state()).isStreaming);
  assert.deepEqual(await stops(), ["stop", "aborted"]);
});

test("an answer is whole when the connection breaks in the middle of it", async () => {
  const pi = await client();
  const session = await pi.createSession();
  let text = "";
  let hasBroken = false;
  for await (const piece of session.ask("What is pi?")) {
    text += piece;
    if (!hasBroken) {
      hasBroken = true;
      pi["transport"].close();
    }
  }
  assert.deepEqual([text], await answers(session));
});
