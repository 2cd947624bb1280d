import assert from "node:assert/strict";
import { realpath } from "node:fs/promises";
import { after, before, test } from "node:test";
import { newId, PiClient, PiError, IncompatibleServer, PROTOCOL_VERSION } from "pi-client";
import { connect, launch } from "pi-client/node";
import { Server, until } from "./server.mjs";

/** @type {Server} */
let server;
before(async () => {
  server = await Server.start();
});
after(() => server.stop());

/** @param {import("pi-client").ClientOptions} options */
const client = async (options = {}) =>
  connect({ url: server.url, token: await server.token(), firstWaitMs: 20, longestWaitMs: 200, ...options });

test("a session is made, asked and read", async () => {
  const pi = await client();
  const session = await pi.createSession({ sessionId: "talk" });
  assert.equal(session.version, 0);
  let text = "";
  for await (const piece of session.ask("What is pi?")) {
    text += piece;
  }
  assert.ok(text.length > 20, text);
  assert.equal(session.version, 1);
  const messages = await session.messages();
  assert.deepEqual(messages.map((message) => message.role), ["user", "assistant"]);
  pi.close();
});

test("events come once and in order, over a break of the connection", async () => {
  const pi = await client({ clientId: "breaks" });
  const other = await client();
  const session = await pi.createSession({ sessionId: "broken" });
  /** @type {number[]} */
  const numbers = [];
  let text = "";
  const leave = await session.subscribe({
    event(event, seq) {
      numbers.push(seq);
      if (event.type === "message_update" && event.assistantMessageEvent.type === "text_delta") {
        text += event.assistantMessageEvent.delta;
      }
    },
  });
  const states = [];
  pi.onState((state) => states.push(state.state));
  // As if the network had gone: the socket is torn down under the client.
  pi["transport"].close();
  await until(() => states.includes("offline"));
  await other.session("broken").prompt("What is pi?");
  await until(() => states.includes("live") || states.includes("replaying"));
  const said = (await other.session("broken").request({ type: "get_last_assistant_text" })).data.text;
  await until(() => text === said);
  assert.deepEqual(numbers, [...new Set(numbers)].sort((a, b) => a - b));
  await leave();
  pi.close();
  other.close();
});

test("a command that has no answer is sent again and runs once", async () => {
  const pi = await client({ clientId: "again" });
  const session = await pi.createSession({ sessionId: "again" });
  const naming = session.request({ type: "set_session_name", name: "once" });
  pi["transport"].close();
  const response = await naming;
  assert.equal(response.success, true);
  assert.equal(response.sessionVersion, 1);
  pi.close();
});

test("what was answered before a crash is known after it", async () => {
  const pi = await client({ clientId: "crash" });
  const session = await pi.createSession({ sessionId: "crash" });
  await session.request({ type: "set_session_name", name: "kept" }, { id: "naming" });
  await server.kill();
  await until(() => pi.state.state === "offline");
  await server.launch();
  const again = await session.request({ type: "set_session_name", name: "kept" }, { id: "naming" });
  assert.equal(again.replayed, true);
  assert.equal((await session.state()).sessionName, "kept");
  pi.close();
});

test("a change that somebody else made in between is not overwritten", async () => {
  const [one, two] = [await client(), await client()];
  const mine = await one.createSession({ sessionId: "shared" });
  const theirs = two.session("shared");
  await theirs.request({ type: "set_session_name", name: "theirs" });
  await assert.rejects(mine.request({ type: "set_session_name", name: "mine" }, { guard: true }), (error) => {
    assert.ok(error instanceof PiError);
    assert.equal(error.code, "version_mismatch");
    return true;
  });
  assert.equal((await mine.state()).sessionName, "theirs");
  assert.equal(mine.version, 1);
  // Whoever has seen no version yet asks for it first.
  const three = await client();
  const send = three.request.bind(three);
  /** @type {unknown[]} */
  const sent = [];
  three.request = (command, options) => {
    sent.push([command.type, options?.ifSessionVersion]);
    return send(command, options);
  };
  await three.session("shared").request({ type: "set_session_name", name: "seen" }, { guard: true });
  assert.deepEqual(sent, [["get_state", undefined], ["set_session_name", 1]]);
  for (const each of [one, two, three]) {
    each.close();
  }
});

test("the same id for something else is a conflict", async () => {
  const pi = await client({ clientId: "conflict" });
  const session = await pi.createSession({ sessionId: "conflict" });
  await session.request({ type: "set_session_name", name: "first" }, { id: "same" });
  await assert.rejects(
    session.request({ type: "set_session_name", name: "second" }, { id: "same" }),
    (error) => error instanceof PiError && error.code === "conflict",
  );
  pi.close();
});

test("a server of another major version is refused", async () => {
  const older = new PiClient(() => (listener) => {
    queueMicrotask(() =>
      listener.frame(
        JSON.stringify({
          type: "server_ready",
          data: { serverVersion: "9.0.0", protocolVersion: "9.0.0", transports: ["websocket"] },
        }),
      ),
    );
    return { send() {}, close() {} };
  });
  await assert.rejects(older.connect(), (error) => error instanceof IncompatibleServer && error.ours === PROTOCOL_VERSION);
});

test("a server that is not there is given up after so many attempts", async () => {
  const attempts = connect({ url: "ws://127.0.0.1:9/ws", token: "x", attempts: 2, firstWaitMs: 5 });
  await assert.rejects(attempts, { name: "ConnectionLost" });
});

test("a server of one's own is talked to on its standard streams", async () => {
  process.env.PI_CODING_AGENT_DIR = server.environment.PI_CODING_AGENT_DIR;
  const pi = await launch(process.env.PI_TEST_BINARY, ["serve", "--stdio", "--model", "demo", "--log", "warn"]);
  const session = await pi.createSession();
  await session.prompt("What is pi?");
  assert.equal((await session.messages()).length, 2);
  pi.close();
});

test("a server of one's own works where it is told to", async () => {
  const words = ["serve", "--stdio", "--model", "demo", "--log", "warn"];
  const pi = await launch(process.env.PI_TEST_BINARY, words, { cwd: server.folder, env: server.environment });
  await pi.createSession({ sessionId: "placed" });
  const { sessions } = (await pi.request({ type: "list_sessions" })).data;
  assert.equal(sessions[0]?.cwd, await realpath(server.folder));
  pi.close();
});

test("a session that is deleted is forgotten, and heard again when it is made again", async () => {
  const pi = await client();
  const session = await pi.createSession({ sessionId: "made-twice" });
  await pi.request({ type: "delete_session", sessionId: "made-twice" });
  await until(() => !pi["sessions"].has("made-twice"));
  await pi.request({ type: "create_session", sessionId: "made-twice" });
  const heard = [];
  await session.subscribe({ event: (event) => heard.push(event.type) });
  await session.prompt("What is pi?");
  assert.ok(heard.includes("agent_end"), String(heard));
  pi.close();
});

test("an answer that is told again does not set the version back", async () => {
  const pi = await client();
  const session = await pi.createSession({ sessionId: "told-again" });
  const rename = (/** @type {string} */ name, /** @type {string} */ id) =>
    session.request({ type: "set_session_name", name }, { id });
  await rename("one", "first");
  await rename("two", "second");
  assert.equal((await rename("one", "first")).replayed, true);
  assert.equal(session.version, 2);
  pi.close();
});

test("an answer that is told again after a break brings the version that it made", async () => {
  const pi = await client();
  const session = await pi.createSession({ sessionId: "told-late" });
  const { transport } = /** @type {any} */ (pi);
  // The answer is lost with the connection.
  const hear = pi["hear"].bind(pi);
  pi["hear"] = () => {
    pi["hear"] = hear;
    transport.close();
  };
  const first = await session.request({ type: "set_session_name", name: "one" }, { guard: true });
  assert.deepEqual([first.replayed, session.version], [true, 1]);
  await session.request({ type: "set_session_name", name: "two" }, { guard: true });
  assert.equal(session.version, 2);
  pi.close();
});

test("one command that is sent twice under one id is one, and another is a conflict", async () => {
  const pi = await client();
  const ask = (/** @type {AbortSignal | undefined} */ signal) =>
    pi.request({ type: "health_check" }, signal === undefined ? { id: "twice" } : { id: "twice", signal });
  const leaving = new AbortController();
  const left = ask(leaving.signal).then(() => "answered", () => "left");
  leaving.abort();
  const both = [ask(undefined), ask(undefined)];
  await assert.rejects(pi.request({ type: "list_sessions" }, { id: "twice" }), (error) => {
    return error instanceof PiError && error.code === "conflict";
  });
  assert.deepEqual((await Promise.all(both)).map(({ success }) => success), [true, true]);
  assert.equal(await left, "left");
  pi.close();
});

test("what a listener throws ends neither the connection nor what others hear", async () => {
  const pi = await client();
  const session = await pi.createSession({ sessionId: "thrown" });
  /** @type {unknown[]} */
  const uncaught = [];
  const note = (/** @type {unknown} */ error) => uncaught.push(error);
  // The runner of the tests would take them for its own.
  const others = process.listeners("uncaughtException");
  process.removeAllListeners("uncaughtException");
  process.on("uncaughtException", note);
  let heard = 0;
  const boom = new Error("boom");
  await session.subscribe({
    event() {
      throw boom;
    },
  });
  await session.subscribe({ event: () => (heard += 1) });
  await session.prompt("What is pi?");
  await until(() => heard > 2 && uncaught.length >= heard);
  process.off("uncaughtException", note);
  others.forEach((listener) => process.on("uncaughtException", listener));
  assert.ok(uncaught.every((error) => error === boom));
  assert.equal(pi.state.state, "live");
  pi.close();
});

test("an open question is told once, over breaks of the connection", async () => {
  const pi = await client();
  const session = await pi.createSession({ sessionId: "asked" });
  /** @type {string[]} */
  const heard = [];
  await session.subscribe({ event: (event) => heard.push(event.type) });
  const tell = (/** @type {object} */ event, /** @type {object} */ numbers = {}) =>
    pi["hear"](JSON.stringify({ type: "event", sessionId: "asked", event, ...numbers }));
  const question = { type: "extension_ui_request", requestId: "q", method: "confirm", title: "T", message: "M" };
  tell(question, { seq: 100, epoch: session.position?.epoch });
  tell(question);
  assert.deepEqual(heard, ["extension_ui_request"]);
  tell({ type: "extension_ui_resolved", requestId: "q", outcome: "answered" });
  tell(question);
  assert.deepEqual(heard, ["extension_ui_request", "extension_ui_resolved", "extension_ui_request"]);
  pi.close();
});

test("ids are made where there is no secure context", async () => {
  const { randomUUID } = crypto;
  Object.defineProperty(crypto, "randomUUID", { value: undefined, configurable: true });
  try {
    const pi = await client();
    const session = await pi.createSession();
    assert.match(newId(), /^[0-9a-f]{32}$/);
    await session.request({ type: "set_session_name", name: "plain" });
    pi.close();
  } finally {
    Object.defineProperty(crypto, "randomUUID", { value: randomUUID, configurable: true });
  }
});

test("waits grow while the server refuses", async () => {
  const pi = await client({ firstWaitMs: 100, longestWaitMs: 10_000 });
  const refusal = { type: "response", command: "health_check", success: false, error: "busy", code: "busy" };
  /** @type {number[]} */
  const sent = [];
  pi["transport"] = {
    send(/** @type {string} */ frame) {
      sent.push(performance.now());
      const id = JSON.parse(frame).id;
      queueMicrotask(() => pi["answer"]({ ...refusal, id }));
    },
    close() {},
  };
  await assert.rejects(pi.request({ type: "health_check" }, { retries: 3 }), PiError);
  const [first, second, third] = sent.slice(1).map((at, index) => at - sent[index]);
  assert.equal(sent.length, 4);
  assert.ok(first >= 45 && second >= 95 && third >= 195, `${first} ${second} ${third}`);
  pi.close();
});
