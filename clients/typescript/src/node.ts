/** Ways to a server that only Node has: a WebSocket with a token, and a server of one's own on stdio. */

import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { WebSocket } from "ws";
import { PiClient, type ClientOptions } from "./client.js";
import { type SocketConstructor, type TransportFactory, webSocket } from "./transport.js";

export * from "./index.js";

export interface NodeOptions extends ClientOptions {
  /** `ws://127.0.0.1:3141` unless said otherwise. */
  url?: string;
  /** Read from the server's token file unless said otherwise. */
  token?: string;
}

/** Connects to a server over a WebSocket. */
export async function connect(options: NodeOptions = {}): Promise<PiClient> {
  const token = options.token ?? (await readToken());
  const url = options.url ?? "ws://127.0.0.1:3141";
  const socket = WebSocket as unknown as SocketConstructor;
  const client = new PiClient(
    (query) => webSocket(withQuery(url, query), token === undefined ? { socket } : { socket, token }),
    options,
  );
  await client.connect();
  return client;
}

/** The token of the server of this user, if it has been started once. */
export async function readToken(file = join(homedir(), ".pi", "agent", "server", "token")): Promise<string | undefined> {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch {
    return undefined;
  }
}

/** Starts a server of one's own and talks to it on its standard streams. It ends with the client. */
export async function launch(
  command: string,
  argumentsOf: string[] = ["serve", "--stdio"],
  options: ClientOptions = {},
): Promise<PiClient> {
  const client = new PiClient(() => stdio(command, argumentsOf), { reconnect: false, ...options });
  await client.connect();
  return client;
}

function stdio(command: string, argumentsOf: string[]): TransportFactory {
  return (listener) => {
    const child = spawn(command, argumentsOf, { stdio: ["pipe", "pipe", "inherit"] });
    createInterface({ input: child.stdout }).on("line", (line) => listener.frame(line));
    let failure: string | undefined;
    child.on("error", (error) => {
      failure = error.message;
    });
    child.on("close", (code, signal) => listener.closed(failure ?? `the server ended with ${signal ?? code}`));
    child.stdin.on("error", () => undefined); // The end of the process says it better.
    return {
      send: (frame) => child.stdin.write(`${frame}\n`),
      close: () => child.stdin.end(),
    };
  };
}

function withQuery(url: string, query: URLSearchParams): string {
  const full = new URL(url);
  query.forEach((value, name) => full.searchParams.set(name, value));
  return full.toString();
}
