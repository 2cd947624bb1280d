/** Firefox, as far as a look needs it, over its own protocol: Playwright speaks to a Firefox that it brings along, and nothing is downloaded here. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The system's, if there is one. */
export const FIREFOX = process.env["FIREFOX"] ?? ["/usr/bin/firefox-esr", "/usr/bin/firefox"].find(existsSync);

/** Nothing is asked of other machines, and scripts that fail are told on standard output. */
const SETTINGS = [
  'user_pref("marionette.port", 0);',
  'user_pref("browser.dom.window.dump.enabled", true);',
  'user_pref("browser.shell.checkDefaultBrowser", false);',
  'user_pref("datareporting.policy.dataSubmissionEnabled", false);',
  'user_pref("intl.accept_languages", "en-US");',
].join("\n");

/** How long it may take to start, on a machine that is busy. */
const PATIENCE_MS = 60_000;

type Answer = [number, number, { message?: string } | null, { value?: unknown } | null];

export class Firefox {
  private asked = 0;
  private buffer = Buffer.alloc(0);
  private readonly waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>();
  /** What went wrong in scripts of pages; its own say it as well, and have other addresses. */
  readonly faults: string[] = [];

  private constructor(
    private readonly child: ChildProcess,
    private readonly folder: string,
    private readonly socket: Socket,
  ) {
    socket.on("data", (data: Buffer) => this.hear(data));
    child.stdout?.on("data", (data: Buffer) => {
      this.faults.push(...String(data).split("\n").filter((line) => line.startsWith("JavaScript error: http")));
    });
  }

  static async start(): Promise<Firefox> {
    const folder = await mkdtemp(join(tmpdir(), "pi-firefox-"));
    await writeFile(join(folder, "user.js"), SETTINGS);
    const child = spawn(FIREFOX ?? "firefox", ["--headless", "--no-remote", "--marionette", "--profile", folder, "--width", "1280", "--height", "800", "about:blank"], {
      env: { ...process.env, HOME: folder, MOZ_HEADLESS: "1" },
      stdio: ["ignore", "pipe", "ignore"],
    });
    const port = await portOf(folder);
    const socket = connect(port, "127.0.0.1");
    await new Promise((resolve, reject) => socket.once("connect", resolve).once("error", reject));
    const firefox = new Firefox(child, folder, socket);
    await firefox.ask("WebDriver:NewSession", { capabilities: { alwaysMatch: {} } });
    return firefox;
  }

  open(url: string): Promise<unknown> {
    return this.ask("WebDriver:Navigate", { url });
  }

  /** What an expression is on the page. */
  async look<T>(expression: string): Promise<T> {
    return (await this.ask("WebDriver:ExecuteScript", { script: `return (${expression})`, args: [], newSandbox: false })) as T;
  }

  /** Types into whatever has the focus. Special keys are letters of WebDriver: `\uE007` is Enter. */
  async type(keys: string): Promise<void> {
    const actions = [...keys].flatMap((value) => [{ type: "keyDown", value }, { type: "keyUp", value }]);
    await this.ask("WebDriver:PerformActions", { actions: [{ type: "key", id: "keys", actions }] });
  }

  async click(selector: string): Promise<void> {
    const { x, y } = await this.look<{ x: number; y: number }>(`(({ x, y, width, height }) => ({ x: x + width / 2, y: y + height / 2 }))(document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect())`);
    const actions = [{ type: "pointerMove", x: Math.round(x), y: Math.round(y) }, { type: "pointerDown", button: 0 }, { type: "pointerUp", button: 0 }];
    await this.ask("WebDriver:PerformActions", { actions: [{ type: "pointer", id: "mouse", parameters: { pointerType: "mouse" }, actions }] });
  }

  async picture(): Promise<Buffer> {
    return Buffer.from((await this.ask("WebDriver:TakeScreenshot", { full: false })) as string, "base64");
  }

  async stop(): Promise<void> {
    this.socket.destroy();
    const ended = new Promise((resolve) => this.child.once("close", resolve));
    this.child.kill("SIGKILL");
    await ended;
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  private ask(command: string, parameters: object): Promise<unknown> {
    this.asked += 1;
    const text = JSON.stringify([0, this.asked, command, parameters]);
    const answered = new Promise((resolve, reject) => this.waiting.set(this.asked, { resolve, reject }));
    this.socket.write(`${Buffer.byteLength(text)}:${text}`);
    return answered;
  }

  /** Each message is its length, a colon, and JSON; the first one is a greeting. */
  private hear(data: Buffer): void {
    this.buffer = Buffer.concat([this.buffer, data]);
    for (;;) {
      const colon = this.buffer.indexOf(":");
      const length = Number(this.buffer.subarray(0, Math.max(0, colon)).toString());
      if (colon === -1 || this.buffer.length < colon + 1 + length) {
        return;
      }
      const message: unknown = JSON.parse(this.buffer.subarray(colon + 1, colon + 1 + length).toString());
      this.buffer = this.buffer.subarray(colon + 1 + length);
      if (Array.isArray(message)) {
        const [, id, error, result] = message as Answer;
        const waiting = this.waiting.get(id);
        this.waiting.delete(id);
        if (error === null) {
          waiting?.resolve(result?.value);
        } else {
          waiting?.reject(new Error(error.message));
        }
      }
    }
  }
}

/** It writes down which port it listens to. */
async function portOf(folder: string): Promise<number> {
  const until = Date.now() + PATIENCE_MS;
  for (;;) {
    const port = Number(await readFile(join(folder, "MarionetteActivePort"), "utf8").catch(() => ""));
    if (port > 0) {
      return port;
    }
    if (Date.now() > until) {
      throw new Error("Firefox does not say where it listens");
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
