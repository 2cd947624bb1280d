/** Ways to a server that only Node has: a WebSocket with a token, and a server of one's own on stdio. */

import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import type { Socket } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { WebSocket } from "ws";
import { PiClient, type ClientOptions } from "./client.js";
import { UnsafeToken } from "./errors.js";
import { type SocketConstructor, type TransportFactory, webSocket } from "./transport.js";

export * from "./index.js";

export interface NodeOptions extends ClientOptions {
  /** This machine and the port of `PI_SERVER_PORT`, or 3141, unless said otherwise. */
  url?: string;
  /** For this machine read from the server's token file (see {@link readToken}) unless said otherwise; another one is never sent that. */
  token?: string;
  /** Send the token to another machine where everybody on the way can read it. */
  isTokenSentInTheClear?: boolean;
}

/**
 * Connects to a server over a WebSocket. Rejects if there is none, if it does not let us in, or, with {@link UnsafeToken}, if the token
 * would go over the network unsealed.
 */
export async function connect(options: NodeOptions = {}): Promise<PiClient> {
  const url = options.url ?? `ws://127.0.0.1:${process.env.PI_SERVER_PORT || 3141}`;
  const isHere = isThisMachine(new URL(url));
  // Whoever has the token runs commands here: no other machine gets it by itself.
  const token = options.token ?? (isHere ? await readToken() : undefined);
  if (token !== undefined && !isHere && new URL(url).protocol === "ws:" && options.isTokenSentInTheClear !== true) {
    throw new UnsafeToken(new URL(url).host);
  }
  const socket = WebSocket as unknown as SocketConstructor;
  const client = new PiClient(
    (query) => webSocket(withQuery(url, query), token === undefined ? { socket } : { socket, token }),
    options,
  );
  await client.connect();
  return client;
}

function isThisMachine({ hostname }: URL): boolean {
  return hostname === "localhost" || hostname.endsWith(".localhost") || hostname === "[::1]" || /^127(\.\d+){3}$/.test(hostname);
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

export interface LaunchOptions extends ClientOptions {
  /** The folder in which the server is started, and in which agents work unless a session says otherwise. */
  cwd?: string;
  /** Its environment, instead of that of this process. */
  env?: NodeJS.ProcessEnv;
}

/**
 * Starts a server of one's own and talks to it on its standard streams. It ends with the client. A `clientId` that was chosen
 * and `lifecycle` are told to it as `--client-id` and `--lifecycle`, unless the arguments have them already. What it writes to its standard
 * error is passed on, and its last lines are in the error if it ends.
 */
export async function launch(
  command: string,
  argumentsOf: string[] = ["serve", "--stdio"],
  options: LaunchOptions = {},
): Promise<PiClient> {
  const { cwd, env, ...rest } = options;
  const full = { reconnect: false, ...rest };
  const client = new PiClient((query) => {
    if (options.clientId === undefined && !full.reconnect) {
      query.delete("clientId"); // What only one process knows needs no folder that stays.
    }
    return stdio(command, [...argumentsOf, ...flags(query, argumentsOf)], { cwd, env });
  }, full);
  await client.connect();
  return client;
}

/** How much of what a server wrote before it ended is told. */
const LAST_LINES = 10;

function stdio(command: string, argumentsOf: string[], where: { cwd: string | undefined; env: NodeJS.ProcessEnv | undefined }): TransportFactory {
  return (listener) => {
    const child = spawn(command, argumentsOf, { ...where, stdio: ["pipe", "pipe", "pipe"] });
    createInterface({ input: child.stdout }).on("line", (line) => listener.frame(line));
    const last: string[] = [];
    child.stderr.pipe(process.stderr, { end: false });
    createInterface({ input: child.stderr }).on("line", (line) => last.push(line) > LAST_LINES && last.shift());
    let failure: string | undefined;
    child.on("error", (error: NodeJS.ErrnoException) => {
      const advice = error.code === "ENOENT" ? "; is it installed, and is its folder in PATH?" : "";
      failure = `${command} cannot be started: ${error.message}${advice}`;
    });
    child.on("close", (code, signal) => {
      const words = [`the server ended with ${signal ?? code}`, ...last];
      listener.closed(failure ?? words.join("\n"));
    });
    child.stdin.on("error", () => undefined); // The end of the process says it better.
    return {
      send: (frame) => child.stdin.write(`${frame}\n`),
      close: () => child.stdin.end(),
      received: () => (child.stdout as Socket).bytesRead,
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
