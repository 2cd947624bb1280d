/** What cannot be sent, what cannot be read, and what cannot be started: each is told to whoever asked, and nothing hangs. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { existsSync } from "node:fs";
import { createConnection, createServer } from "node:net";
import { after, afterEach, before, test } from "node:test";
import { AlreadyListening, ConnectionLost, PiClient, PiError, webSocket } from "pi-client";
import { connect, launch } from "pi-client/node";
import { WebSocket, WebSocketServer } from "ws";
import { Server, until } from "./server.mjs";

/** @type {Server} */
let server;
before(async () => {
  server = await Server.start();
});
after(() => server.stop());

/** @type {import("pi-client").PiClient[]} */
const clients = [];
afterEach(() => clients.splice(0).forEach((pi) => pi.close()));

const quick = { firstWaitMs: 10, longestWaitMs: 100 };
const client = async (options = {}) => {
  const pi = await connect({ url: server.url, token: await server.token(), ...quick, ...options });
  clients.push(pi);
  return pi;
};

/** Counts what a client sends on the connection that it has. */
const counted = (pi) => {
  const { transport } = pi;
  const sent = [];
  pi["transport"].send = ((send) => (frame) => (sent.push(frame.length), send(frame)))(transport.send);
  return sent;
};

/** A server of which every frame is decided here; what comes is handed over with the number of its connection. */
const pretended = async (t, hear) => {
  const listening = new WebSocketServer({ host: "127.0.0.1", port: 0 });
  t.after(() => listening.close());
  t.after(() => listening.clients.forEach((socket) => socket.terminate()));
  await new Promise((resolve) => listening.on("listening", () => resolve(undefined)));
  let connections = 0;
  listening.on("connection", (socket) => {
    const number = (connections += 1);
    const say = (what) => socket.send(JSON.stringify(what));
    say({ type: "server_ready", data: { serverVersion: "9", protocolVersion: "1.0.0", transports: ["websocket"] } });
    socket.on("message", (text) => hear(JSON.parse(String(text)), say, number));
  });
  const { port } = /** @type {import("node:net").AddressInfo} */ (listening.address());
  return { listening, url: `ws://127.0.0.1:${port}/` };
};

const answer = (frame, more) => ({ id: frame.id, type: "response", command: frame.type, ...more });

test("a command that found a circuit open waits as long as it is told and is sent as a new one", async (t) => {
  for (const [code, command] of [
    ["circuit_open", { type: "prompt", sessionId: "s", message: "Hi" }],
    ["bash_circuit_open", { type: "bash", sessionId: "s", command: "true" }],
  ]) {
    /** @type {{frame: any, at: number}[]} */
    const heard = [];
    const { url } = await pretended(t, (frame, say) => {
      heard.push({ frame, at: performance.now() });
      const refused = { success: false, error: "Circuit breaker open", code, retryAfterMs: 300 };
      say(answer(frame, heard.length === 1 ? refused : { success: true }));
    });
    const pi = await client({ url, token: "x" });
    await pi.request(/** @type {any} */ (command), { waitForCircuit: true });
    const [one, other] = heard;
    assert.equal(heard.length, 2);
    // Timers count in whole milliseconds.
    assert.ok(other.at - one.at >= 299, `${other.at - one.at}`);
    assert.notEqual(other.frame.id, one.frame.id);
    assert.notEqual(other.frame.idempotencyKey, one.frame.idempotencyKey);
    // Nobody is surprised by what was said half a minute ago.
    heard.length = 0;
    await assert.rejects(pi.request(/** @type {any} */ (command)), { code });
    assert.equal(heard.length, 1);
  }
});

test("what failed in another way is not said twice", async (t) => {
  const heard = [];
  const { url } = await pretended(t, (frame, say) => {
    heard.push(frame);
    say(answer(frame, { success: false, error: "no luck", code: "provider_failed", retryAfterMs: 1 }));
  });
  const pi = await client({ url, token: "x" });
  await assert.rejects(pi.request({ type: "prompt", sessionId: "s", message: "Hi" }), { code: "provider_failed" });
  assert.equal(heard.length, 1);
});

test("a connection that is dead is noticed, left and made anew, and what waits gets its answer", async (t) => {
  const asked = [];
  const { url } = await pretended(t, (frame, say, number) => {
    asked.push([number, frame.type]);
    if (number > 1) {
      say(answer(frame, { success: true, data: { sessions: [] } }));
    }
  });
  const pi = await client({ url, token: "x", silenceMs: 50, helloMs: 300 });
  const states = [];
  pi.onState(({ state, reason }) => states.push([state, reason ?? ""]));
  await pi.request({ type: "list_sessions" });
  const offline = states.find(([state]) => state === "offline");
  assert.match(offline?.[1] ?? "", /no sign of life/);
  assert.deepEqual(asked.slice(0, 2), [[1, "list_sessions"], [1, "health_check"]]);
  assert.ok(asked.some(([number, type]) => number > 1 && type === "list_sessions"));
});

test("a server that pings or answers is not left, however little it says", async (t) => {
  const probes = [];
  const { url, listening } = await pretended(t, (frame, say) => {
    probes.push(frame.type);
    say(answer(frame, { success: true }));
  });
  const answered = await client({ url, token: "x", silenceMs: 20, helloMs: 5_000 });
  const states = [];
  answered.onState(({ state }) => states.push(state));
  await until(() => probes.length >= 2);
  assert.deepEqual(states, []);
  answered.close();
  const pinged = await client({ url, token: "x" });
  const before = pinged["heardAt"];
  listening.clients.forEach((socket) => socket.ping());
  await until(() => pinged["heardAt"] > before);
});

/** A way to a port on which so many bytes come every 40 milliseconds, and not more. */
const slowLink = async (t, port, bytes) => {
  const proxy = createServer((near) => {
    const far = createConnection(port, "127.0.0.1");
    let held = Buffer.alloc(0);
    const dribble = setInterval(() => {
      near.write(held.subarray(0, bytes));
      held = held.subarray(bytes);
    }, 40);
    far.on("data", (more) => (held = Buffer.concat([held, more])));
    near.pipe(far);
    const end = () => {
      clearInterval(dribble);
      near.destroy();
      far.destroy();
    };
    [near, far].forEach((side) => side.on("close", end).on("error", end));
  });
  t.after(() => proxy.close());
  await new Promise((resolve) => proxy.listen(0, "127.0.0.1", () => resolve(undefined)));
  return /** @type {import("node:net").AddressInfo} */ (proxy.address()).port;
};

for (const last of ["prompt", "unsubscribe"]) {
  test(`an answer ends although the server goes away for good after ${last}`, { timeout: 10_000 }, async (t) => {
    const heard = [];
    const { listening, url } = await pretended(t, (frame, say) => {
      heard.push(frame.type);
      if (frame.type === "subscribe") {
        say(answer(frame, { success: true, data: { sessionInfo: {}, epoch: "e", seq: 0, resume: "live" } }));
      } else if (frame.type === "prompt") {
        const event = (seq, event) => say({ type: "event", sessionId: "s", epoch: "e", seq, event });
        event(1, { type: "agent_start" });
        event(2, { type: "message_start", message: { role: "user", content: "Hi", timestamp: 0 } });
        event(3, { type: "message_update", assistantMessageEvent: { type: "text_delta", delta: "Hello." } });
        event(4, { type: "agent_settled" });
        say(answer(frame, { success: true }));
      }
      if (frame.type === last) {
        listening.close();
        // What was said before is read first.
        listening.clients.forEach((socket) => socket.close());
      }
    });
    const pi = await client({ url, token: "x" });
    let text = "";
    for await (const piece of pi.session("s").ask("Hi")) {
      text += piece;
      if (last === "prompt") {
        await until(() => pi.state.state !== "live");
      }
    }
    assert.equal(text, "Hello.");
    assert.deepEqual(heard, ["subscribe", "prompt", ...(last === "prompt" ? [] : ["unsubscribe"])]);
    assert.equal(pi["pending"].size, 0);
  });
}

test("a large answer on a slow link is waited for as long as it comes", async (t) => {
  const asked = [];
  const { listening, url } = await pretended(t, (frame, say) => {
    asked.push(frame.type);
    say(answer(frame, { success: true, data: { sessions: [], more: "x".repeat(400_000) } }));
  });
  const port = await slowLink(t, listening.address().port, 4_000);
  const there = new URL(url);
  there.port = String(port);
  const pi = await client({ url: there.href, token: "x", silenceMs: 500, helloMs: 1_000, reconnect: false });
  const states = [];
  pi.onState(({ state }) => states.push(state));
  await pi.request({ type: "list_sessions" });
  assert.deepEqual(states, []);
  assert.equal(asked[0], "list_sessions");
});

test("where bytes cannot be seen a server has longer to answer, and not for ever", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const sent = [];
  const ready = { serverVersion: "9", protocolVersion: "1.0.0", transports: ["websocket"] };
  let isClosed = false;
  const pi = new PiClient(
    () => (listener) => {
      queueMicrotask(() => listener.frame(JSON.stringify({ type: "server_ready", data: ready })));
      return { send: (frame) => sent.push(JSON.parse(frame).type), close: () => (isClosed = true) };
    },
    { silenceMs: 1, reconnect: false },
  );
  await pi.connect();
  const since = performance.now();
  while (performance.now() - since < 2);
  t.mock.timers.tick(1);
  assert.deepEqual(sent, ["health_check"]);
  t.mock.timers.tick(60_000);
  assert.deepEqual([pi.state.state, isClosed], ["live", false]);
  t.mock.timers.tick(60_000);
  assert.deepEqual([pi.state.state, isClosed], ["closed", true]);
});

const nested = (levels) => JSON.parse("[".repeat(levels) + "]".repeat(levels));

test("a command that is too deep, or has too many values, is refused in the server's words and sent once", async () => {
  const pi = await client();
  const sent = counted(pi);
  for (const [more, code] of [[nested(100), "too_deep"], [Array(70_000).fill(0), "too_many_values"]]) {
    await assert.rejects(pi.request({ type: "health_check", more }), { name: "PiError", code });
  }
  assert.equal(sent.length, 2);
});

test("what is larger than the server reads is not sent", async () => {
  const pi = await client();
  const sent = counted(pi);
  assert.equal(pi.ready.maxMessageBytes, 10 * 1024 * 1024);
  // Two bytes each: the limit is one of bytes.
  await assert.rejects(pi.request({ type: "health_check", more: "é".repeat(6 << 20) }), (error) => {
    assert.ok(error instanceof PiError);
    assert.equal(error.code, "message_too_large");
    assert.match(error.message, /^Message size \d+ exceeds limit 10485760$/);
    return true;
  });
  assert.deepEqual(sent, []);
  await pi.request({ type: "health_check", more: "x".repeat(9 << 20) });
});

test("a server that does not tell its limit refuses by id", async () => {
  const pi = await client();
  delete pi.ready.maxMessageBytes;
  const sent = counted(pi);
  const refused = pi.request({ type: "health_check", more: "x".repeat(11 << 20) });
  await Promise.all([assert.rejects(refused, { code: "message_too_large" }), pi.request({ type: "health_check" })]);
  assert.equal(sent.length, 2);
});

test("a command for which the connection is closed is refused, and the others get their answers", async () => {
  const pi = await client();
  const states = [];
  pi.onState(({ state, reason }) => states.push(`${state} ${reason ?? ""}`.trim()));
  delete pi.ready.maxMessageBytes;
  const refused = pi.request({ type: "health_check", more: "x".repeat(25 << 20) });
  const other = pi.request({ type: "list_sessions" });
  await assert.rejects(refused, { name: "PiError", code: "message_too_large" });
  assert.equal((await other).success, true);
  assert.deepEqual(states.filter((state) => state.startsWith("offline")), ["offline the frame is too large"]);
});

/** A server that says these frames to everybody. */
const strange = async (frames) => {
  const sockets = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  sockets.on("connection", (socket) => frames.forEach((frame) => socket.send(frame)));
  await new Promise((resolve) => sockets.once("listening", () => resolve(undefined)));
  const { port } = /** @type {import("node:net").AddressInfo} */ (sockets.address());
  return { url: `ws://127.0.0.1:${port}`, stop: () => sockets.close() };
};
const hello = JSON.stringify({ type: "server_ready", data: { serverVersion: "1", protocolVersion: "1.0.0", transports: [] } });

test("a server that says what is no message is left, with the reason", async () => {
  for (const frame of ["SSH-2.0 banner", "null", "[]", "{}", '{"type":"server_ready"}', '{"type":"event"}']) {
    const other = await strange([frame]);
    await assert.rejects(connect({ url: other.url, token: "x", ...quick }), (error) => {
      assert.ok(error instanceof ConnectionLost);
      assert.ok(error.message.startsWith(`the server sent what is no message: ${frame}`), error.message);
      return true;
    });
    other.stop();
  }
});

test("what is no message after hello is told as the reason of being offline", async () => {
  const other = await strange([hello, "<html>"]);
  const reasons = [];
  const pi = await connect({ url: other.url, token: "x", ...quick });
  pi.onState((state) => state.state === "offline" && reasons.push(state.reason));
  await until(() => reasons.length > 1);
  assert.equal(reasons[0], "the server sent what is no message: <html>");
  pi.close();
  other.stop();
});

test("messages of a later server are passed on", async () => {
  const other = await strange([hello, '{"type":"weather","sky":"clear"}']);
  const heard = [];
  const pi = new PiClient(() => webSocket(other.url, { socket: WebSocket }));
  pi.onEvent((event) => heard.push(event.type));
  await pi.connect();
  await until(() => heard.includes("weather"));
  assert.equal(pi.state.state, "live");
  pi.close();
  other.stop();
});

test("a timeout ends a command for good: it is told as a failure and not sent again", async () => {
  const asked = [];
  const sockets = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  sockets.on("connection", (socket) => {
    socket.send(hello);
    socket.on("message", (data) => {
      const { id, type } = JSON.parse(String(data));
      asked.push(id);
      const answer = { type: "response", id, command: type, success: false, error: "Timed out", code: "timeout", timedOut: true };
      socket.send(JSON.stringify(answer));
    });
  });
  await new Promise((resolve) => sockets.once("listening", () => resolve(undefined)));
  const { port } = /** @type {import("node:net").AddressInfo} */ (sockets.address());
  const pi = new PiClient(() => webSocket(`ws://127.0.0.1:${port}`, { socket: WebSocket }), quick);
  await pi.connect();
  const change = { type: "set_session_name", sessionId: "s", name: "other" };
  await assert.rejects(pi.request(change), { name: "PiError", code: "timeout", timedOut: true });
  // Longer than the client waits before it tries anything again.
  await new Promise((resolve) => setTimeout(resolve, 4 * quick.longestWaitMs));
  assert.equal(asked.length, 1);
  // What only looks is asked for again, each time as another command.
  await assert.rejects(pi.request({ type: "health_check" }), { timedOut: true });
  assert.equal(new Set(asked).size, asked.length);
  pi.close();
  sockets.close();
});

test("a subscription that is asked for as a command brings its events", async () => {
  const pi = await client();
  const session = await pi.createSession({ sessionId: "plain" });
  const heard = [];
  pi.onEvent((message) => message.type === "event" && heard.push([message.sessionId, message.event.type]));
  await pi.request({ type: "subscribe", sessionId: "plain" });
  await session.prompt("hello");
  await until(() => heard.some(([, type]) => type === "agent_settled"));
  assert.ok(heard.every(([id]) => id === "plain"));
  assert.equal(session.position, undefined);
});

test("a listener begins after the event that was seen last on another day", async () => {
  const [first, second] = [await client(), await client()];
  const session = await first.createSession({ sessionId: "later" });
  const leave = await session.subscribe({});
  await session.prompt("one");
  await until(() => session.position?.seq > 3);
  const { epoch, seq } = session.position;
  await session.prompt("two");
  const end = (await session.request({ type: "get_last_assistant_text" })).data.text;
  await leave();
  assert.equal(session.position, undefined);

  const texts = [];
  let text = "";
  const again = second.session("later");
  await again.subscribe(
    {
      event(event, number) {
        texts.push(number);
        if (event.type === "message_update" && event.assistantMessageEvent.type === "text_delta") {
          text += event.assistantMessageEvent.delta;
        }
      },
    },
    { afterSeq: seq, epoch },
  );
  await until(() => text.endsWith(end));
  assert.ok(texts.every((number) => number > seq));
  await assert.rejects(again.subscribe({}, { afterSeq: 0, epoch }), (error) => error instanceof AlreadyListening);
});

test("a program that is not there is named, with what to do", async () => {
  await assert.rejects(launch("no-such-program-of-pi"), {
    name: "ConnectionLost",
    message: /no-such-program-of-pi cannot be started.*ENOENT; is it installed, and is its folder in PATH\?/,
  });
});

test("a server that ends at its start is quoted", async () => {
  await assert.rejects(launch(process.env.PI_TEST_BINARY, ["serve", "--stdio", "--no-such-flag"]), {
    name: "ConnectionLost",
    message: /^the server ended with 2\n[^]*--no-such-flag/,
  });
  await assert.rejects(launch("sh", ["-c", "for n in 1 2 3 4 5 6 7 8 9 10 11 12; do echo line $n >&2; done; exit 3"]), {
    message: ["the server ended with 3", ...Array.from({ length: 10 }, (_, n) => `line ${n + 3}`)].join("\n"),
  });
});

test("every link of the packed pages leads somewhere", async () => {
  for (const name of ["README.md", "commands.md"]) {
    const page = new URL(`../${name}`, import.meta.resolve("pi-client"));
    const links = [...(await readFile(page, "utf8")).matchAll(/\]\(([^)#]+)/g)].map(([, link]) => link);
    const missing = links.filter((link) => !/^https?:/.test(link) && !existsSync(new URL(link, page)));
    assert.deepEqual(missing, [], name);
  }
});

test("whoever wants to stop something does not wait until there is room for everything", async (t) => {
  let tried = 0;
  const hear = ({ id, type }, say) => {
    tried += 1;
    const busy = { success: false, error: "Server busy", code: "busy", retryAfterMs: 600_000 };
    say({ id, type: "response", command: type, ...(tried === 1 ? busy : { success: true }) });
  };
  const { url } = await pretended(t, hear);
  const pi = await client({ url, token: "x" });
  await pi.session("s").abort();
  assert.equal(tried, 2);
});
