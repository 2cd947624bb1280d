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
  /** This machine and the port of `PI_SERVER_PORT`, or 3141, unless said otherwise. */
  url?: string;
  /** Read from the server's token file (see {@link readToken}) unless said otherwise. */
  token?: string;
}

/** Connects to a server over a WebSocket. Rejects if there is none, or if it does not let us in. */
export async function connect(options: NodeOptions = {}): Promise<PiClient> {
  const token = options.token ?? (await readToken());
  const url = options.url ?? `ws://127.0.0.1:${process.env.PI_SERVER_PORT || 3141}`;
  const socket = WebSocket as unknown as SocketConstructor;
  const client = new PiClient(
    (query) => webSocket(withQuery(url, query), token === undefined ? { socket } : { socket, token }),
    options,
  );
  await client.connect();
  return client;
}

/**
 * The token of the server of this user, if it has been started once: `server/token` in the agent folder, which is that of
 * `PI_CODING_AGENT_DIR` or `~/.pi/agent`.
 */
export async function readToken(file = join(agentFolder(), "server", "token")): Promise<string | undefined> {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") {
      return undefined; // A server may do without; if it does not, it says so.
    }
    throw error;
  }
}

function agentFolder(): string {
  return process.env.PI_CODING_AGENT_DIR || join(homedir(), ".pi", "agent");
}

/**
 * Starts a server of one's own and talks to it on its standard streams. It ends with the client. `clientId` and `lifecycle`
 * are told to it as `--client-id` and `--lifecycle`, unless the arguments have them already.
 */
export async function launch(
  command: string,
  argumentsOf: string[] = ["serve", "--stdio"],
  options: ClientOptions = {},
): Promise<PiClient> {
  const client = new PiClient((query) => stdio(command, [...argumentsOf, ...flags(query, argumentsOf)]), {
    reconnect: false,
    ...options,
  });
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

/** What a WebSocket has in its address, as arguments. */
function flags(query: URLSearchParams, given: string[]): string[] {
  const names = [["clientId", "--client-id"], ["lifecycle", "--lifecycle"]] as const;
  const isGiven = (flag: string) => given.some((word) => word === flag || word.startsWith(`${flag}=`));
  return names.flatMap(([name, flag]) => {
    const value = query.get(name);
    return value === null || isGiven(flag) ? [] : [flag, value];
  });
}

function withQuery(url: string, query: URLSearchParams): string {
  const full = new URL(url);
  query.forEach((value, name) => full.searchParams.set(name, value));
  return full.toString();
}
