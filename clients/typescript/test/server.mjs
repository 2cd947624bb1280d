/** A real server for the tests. */

import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const binary = process.env.PI_TEST_BINARY;
if (binary === undefined) {
  throw new Error("PI_TEST_BINARY names no pi; `cargo xtask test` sets it");
}

/** Waits until something is so. @param {() => boolean | Promise<boolean>} holds */
export const until = async (holds) => {
  for (let left = 500; !(await holds()); left -= 1) {
    if (left === 0) {
      throw new Error("it never came to be");
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
};

/** A server in a folder of its own. */
export class Server {
  /** @param {string} folder @param {string[]} model */
  constructor(folder, model) {
    this.folder = folder;
    this.model = model;
    this.port = 0;
  }

  /** With the built-in demo model, unless the words name another. */
  static async start(model = ["--model", "demo"]) {
    const server = new Server(await mkdtemp(join(tmpdir(), "pi-client-")), model);
    await server.launch();
    return server;
  }

  /** Starts it, on the same port if it had one. */
  async launch() {
    const words = ["serve", "--listen", `127.0.0.1:${this.port}`, ...this.model, "--log", "warn"];
    this.child = spawn(binary, words, { cwd: this.folder, env: this.environment, stdio: ["ignore", "pipe", "inherit"] });
    this.ended = new Promise((resolve) => this.child.on("close", resolve));
    const lines = createInterface({ input: this.child.stdout });
    const first = await new Promise((resolve, reject) => {
      lines.once("line", resolve);
      this.child.once("close", (code) => reject(new Error(`the server ended with ${code}`)));
    });
    this.port = Number(/:(\d+)$/.exec(first)?.[1]);
  }

  get environment() {
    return { PATH: process.env.PATH, HOME: this.folder, PI_CODING_AGENT_DIR: join(this.folder, "agent") };
  }

  get url() {
    return `ws://127.0.0.1:${this.port}/ws`;
  }

  async token() {
    return (await readFile(join(this.folder, "agent", "server", "token"), "utf8")).trim();
  }

  /** Ends it as the kernel would when memory is short. */
  async kill() {
    this.child.kill("SIGKILL");
    await this.ended;
  }

  async stop() {
    await this.kill();
    await rm(this.folder, { recursive: true, force: true });
  }
}
