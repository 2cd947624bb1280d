/** A real server, in a folder of its own. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";

function binary(): string {
  const path = process.env["PI_TEST_BINARY"];
  if (path === undefined) {
    throw new Error("PI_TEST_BINARY names no pi; `cargo xtask test` sets it");
  }
  return path;
}

export class PiServer {
  port = 0;
  private child: ChildProcess | undefined;
  private ended: Promise<unknown> = Promise.resolve();

  private constructor(
    readonly folder: string,
    private readonly words: string[],
  ) {}

  static async start(words: string[], files: Record<string, string> = {}): Promise<PiServer> {
    const server = new PiServer(await mkdtemp(join(tmpdir(), "pi-page-")), words);
    for (const [name, text] of Object.entries({ "project/README.md": "# A project\n", ...files })) {
      await server.write(name, text);
    }
    await server.launch();
    return server;
  }

  /** Starts it, on the same port if it had one. */
  async launch(): Promise<void> {
    const words = ["serve", "--listen", `127.0.0.1:${this.port}`, ...this.words, "--log", "error"];
    const child = spawn(binary(), words, { cwd: join(this.folder, "project"), env: this.environment, stdio: ["ignore", "pipe", "inherit"] });
    this.child = child;
    this.ended = new Promise((resolve) => child.on("close", resolve));
    const lines = createInterface({ input: child.stdout });
    const first = await new Promise<string>((resolve, reject) => {
      lines.once("line", resolve);
      child.once("close", (code) => reject(new Error(`the server ended with ${String(code)}`)));
    });
    this.port = Number(/:(\d+)$/.exec(first)?.[1]);
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async write(name: string, text: string): Promise<void> {
    const path = join(this.folder, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }

  async remove(name: string): Promise<void> {
    await rm(join(this.folder, name));
  }

  async token(): Promise<string> {
    return (await readFile(join(this.folder, "agent", "server", "token"), "utf8")).trim();
  }

  /** An address that lets a browser in once. */
  async address(): Promise<string> {
    const answer = await fetch(`${this.origin}/ticket`, { method: "POST", headers: { authorization: `Bearer ${await this.token()}` } });
    const { ticket } = (await answer.json()) as { ticket: string };
    return `${this.origin}/#ticket=${ticket}`;
  }

  /** Runs pi as somebody at a terminal would, beside the server. Resolves to what it ends with. */
  run(words: string[]): Promise<number | null> {
    const child = spawn(binary(), words, { cwd: join(this.folder, "project"), env: this.environment, stdio: ["ignore", "ignore", "inherit"] });
    return new Promise((resolve) => child.on("close", resolve));
  }

  private get environment(): NodeJS.ProcessEnv {
    return { PATH: process.env["PATH"], HOME: this.folder, PI_CODING_AGENT_DIR: join(this.folder, "agent") };
  }

  /** Ends it as the kernel would when memory is short. */
  async kill(): Promise<void> {
    this.child?.kill("SIGKILL");
    await this.ended;
  }

  /** Holds it as a machine would that has gone to sleep: its connections stay, and nobody answers. */
  freeze(): void {
    this.child?.kill("SIGSTOP");
  }

  thaw(): void {
    this.child?.kill("SIGCONT");
  }

  async stop(): Promise<void> {
    await this.kill();
    await rm(this.folder, { recursive: true, force: true });
  }
}
