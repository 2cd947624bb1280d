/** What somebody is told who does not get in, and what a client does about a connection that comes back. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { promisify } from "node:util";
import { ConnectionLost, PiClient, PiError, Refused, webSocket } from "pi-client";
import { connect, launch } from "pi-client/node";
import { WebSocket } from "ws";
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

/** @param {Promise<unknown>} connecting @param {{status: number, reason: RegExp, hint: RegExp}} wanted */
const refused = (connecting, { status, reason, hint }) =>
  assert.rejects(connecting, (error) => {
    assert.ok(error instanceof Refused, String(error));
    assert.equal(error.status, status);
    assert.match(error.reason, reason);
    assert.match(error.hint, hint);
    assert.ok(error.message.includes(error.reason) && error.message.includes(error.hint));
    return true;
  });

test("without a server, connecting ends after a few attempts and says what to do", async () => {
  const begun = Date.now();
  await assert.rejects(connect({ url: "ws://127.0.0.1:9", token: "x" }), (error) => {
    assert.ok(error instanceof ConnectionLost);
    assert.match(error.message, /ECONNREFUSED.*pi serve/);
    return true;
  });
  assert.ok(Date.now() - begun < 5000);
});

test("a wrong token is refused at once, in the server's words", async () => {
  await refused(client({ token: "wrong" }), { status: 401, reason: /is not good/, hint: /token/ });
});

test("a host that the server does not know is refused at once", async () => {
  const token = await server.token();
  class Elsewhere extends WebSocket {
    constructor(url, protocols, { headers }) {
      super(url, protocols, { headers: { ...headers, host: "elsewhere.example" } });
    }
  }
  const pi = new PiClient((query) => webSocket(`${server.url}?${query}`, { socket: Elsewhere, token }));
  await refused(pi.connect(), { status: 403, reason: /not known by that host name/, hint: /--host/ });
});

test("a path that the server does not have is refused at once", async () => {
  const url = `ws://127.0.0.1:${server.port}/nothing`;
  await refused(client({ url }), { status: 404, reason: /^there is nothing at this path$/, hint: /\/ws/ });
});

test("a server that never says hello is given up", async () => {
  const silent = createServer().on("upgrade", () => undefined);
  await new Promise((resolve) => silent.listen(0, "127.0.0.1", () => resolve(undefined)));
  const { port } = /** @type {import("node:net").AddressInfo} */ (silent.address());
  const connecting = connect({ url: `ws://127.0.0.1:${port}`, token: "x", helloMs: 50, connectAttempts: 2, ...quick });
  await assert.rejects(connecting, { name: "ConnectionLost", message: /said nothing for 50 ms/ });
  silent.closeAllConnections();
  silent.close();
});

test("a connection that was there once is tried for longer than the first", async () => {
  const pi = await client({ connectAttempts: 1 });
  const offline = [];
  pi.onState((state) => state.state === "offline" && offline.push(state.reason));
  await server.kill();
  await until(() => offline.length > 4);
  await server.launch();
  await until(() => pi.state.state === "live");
});

/** Runs a program with the package, in an environment of its own. @param {Record<string, string>} env */
const run = async (source, env) => {
  const words = ["--input-type=module", "-e", source];
  return (await promisify(execFile)(process.execPath, words, { env: { PATH: process.env.PATH, ...env } })).stdout;
};
const hello = `
  import { connect } from "pi-client/node";
  const pi = await connect().catch((error) => error);
  console.log(pi.ready?.protocolVersion ?? [pi.name, pi.status, pi.reason].join());
  pi.close?.();`;

test("another machine is sent no token that was not meant for it, and none that can be read on the way", async (t) => {
  await assert.rejects(connect({ url: "ws://192.0.2.1:1", token: "x" }), { name: "UnsafeToken", host: "192.0.2.1:1" });
  const own = Object.values(networkInterfaces()).flat().find((one) => one && !one.internal && one.family === "IPv4");
  if (own === undefined) {
    return t.skip("this machine has no address but its own loopback");
  }
  const heard = [];
  const other = createServer().on("upgrade", (request, socket) => {
    heard.push(request.headers.authorization);
    socket.end("HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n");
  });
  await new Promise((resolve) => other.listen(0, "0.0.0.0", () => resolve(undefined)));
  const { port } = /** @type {import("node:net").AddressInfo} */ (other.address());
  const ask = (address, options) => run(`
    import { connect } from "pi-client/node";
    console.log((await connect({ url: "ws://${address}:${port}", ...${JSON.stringify(options)} }).catch((error) => error)).name);`, server.environment);
  assert.equal(await ask(own.address, {}), "Refused\n");
  assert.equal(await ask(own.address, { token: "mine", isTokenSentInTheClear: true }), "Refused\n");
  assert.equal(await ask("127.0.0.1", {}), "Refused\n");
  assert.deepEqual(heard, [undefined, "Bearer mine", `Bearer ${await server.token()}`]);
  other.close();
});

test("port and token are those of the environment", async () => {
  const said = await run(hello, { ...server.environment, PI_SERVER_PORT: String(server.port) });
  assert.equal(said, "1.0.0\n");
});

test("without a token file the server says that a credential is needed", async () => {
  const empty = await mkdtemp(join(tmpdir(), "pi-empty-"));
  const said = await run(hello, { HOME: empty, PI_SERVER_PORT: String(server.port) });
  assert.match(said, /^Refused,401,a (token|credential) is needed/);
  await rm(empty, { recursive: true });
});

test("a server of one's own is told who the client is and what it wants to hear", async () => {
  const started = [];
  const [agent, ended] = [join(server.folder, "own"), join(server.folder, "ended")];
  const script = `PI_CODING_AGENT_DIR=${agent} "$0" "$@"; touch ${ended}`;
  const begin = async () => {
    const words = ["-c", script, process.env.PI_TEST_BINARY, "serve", "--stdio", "--model", "demo", "--log", "warn"];
    const pi = await launch("sh", words, { clientId: "me", lifecycle: "own" });
    pi.onEvent((event) => event.type === "command_started" && started.push(event.data.commandId));
    return pi;
  };
  const first = await begin();
  const session = await first.createSession({ sessionId: "mine" });
  await session.request({ type: "set_session_name", name: "kept" }, { id: "naming" });
  assert.ok(started.includes("naming"));
  first.close();
  await until(() => existsSync(ended));
  await rm(ended);
  const second = await begin();
  // Only the client whose id it was gets the answer that the command had.
  const again = await second.session("mine").request({ type: "set_session_name", name: "kept" }, { id: "naming" });
  assert.equal(again.replayed, true);
  second.close();
  await until(() => existsSync(ended));
});

test("what is no command gets the server's answer", async () => {
  const pi = await client();
  await assert.rejects(pi.request({ type: "nope" }), (error) => {
    assert.ok(error instanceof PiError);
    assert.equal(error.code, "unknown_command");
    assert.match(error.message, /Unknown command type 'nope'/);
    return true;
  });
});

test("a session that was deleted while the client was away is gone for its listeners", async () => {
  const [pi, other] = [await client(), await client()];
  const session = await pi.createSession({ sessionId: "deleted" });
  const gone = [];
  await session.subscribe({ gone: (reason) => gone.push(reason?.code) });
  await away(pi, () => other.request({ type: "delete_session", sessionId: "deleted" }));
  await until(() => gone.length > 0);
  assert.deepEqual(gone, ["session_not_found"]);
  await assert.rejects(session.subscribe({}), { name: "PiError", code: "session_not_found" });
});

test("after a restart of the server there is one subscription and one snapshot", async () => {
  const pi = await client();
  const session = await pi.createSession({ sessionId: "restarted" });
  const snapshots = [];
  await session.subscribe({ snapshot: (snapshot) => snapshots.push(snapshot.reason) });
  await session.prompt("hello");
  const answers = [];
  await server.kill();
  await until(() => pi.state.state === "offline");
  const answer = pi["answer"].bind(pi);
  pi["answer"] = (response) => (answers.push(response.command), answer(response));
  const naming = session.request({ type: "set_session_name", name: "later" });
  await server.launch();
  await naming;
  await until(() => snapshots.length > 0);
  await session.state(); // Whatever was sent twice has been answered twice by now.
  assert.deepEqual(snapshots, ["epoch_changed"]);
  assert.deepEqual(answers, ["subscribe", "set_session_name", "get_state"]);
});

/** Does something while the client has no connection. */
async function away(pi, work) {
  const dial = pi["dial"].bind(pi);
  let isAllowed = false;
  let isAsked = false;
  pi["dial"] = () => {
    isAsked = true;
    if (isAllowed) {
      dial();
    }
  };
  pi["transport"].close();
  await until(() => isAsked);
  await work();
  isAllowed = true;
  pi["dial"]();
}
