/** What every test of the page has: a server of its own with a scripted model, and a browser that is let in and watched. */
import { type BrowserContext, expect, type Page, test as base } from "@playwright/test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ScriptedModel } from "./model";
import { PiServer } from "./server";

export { expect } from "@playwright/test";

const TYPES: Record<string, string> = { html: "text/html; charset=utf-8", js: "text/javascript", css: "text/css", svg: "image/svg+xml" };

export class Desk {
  private readonly faults: string[] = [];
  /** Faults that the test brings about itself, such as a connection that it cuts. */
  private readonly allowed: RegExp[] = [];

  constructor(
    readonly server: PiServer,
    readonly model: ScriptedModel,
  ) {}

  /** Logs a page in and waits until it is live. */
  async enter(page: Page): Promise<void> {
    await this.look(page);
    await page.goto(await this.server.address());
    await expect(page.locator("[data-link=live]:visible").first()).toBeVisible();
  }

  /** A conversation in a new session. */
  async begin(page: Page): Promise<string> {
    await page.getByRole("main").getByRole("button", { name: /New session|新会话/ }).click();
    await expect(this.editor(page)).toBeVisible();
    await expect(page).toHaveURL(/#\/s\//);
    await expect(page.locator("[data-loaded=true]")).toBeVisible();
    return decodeURIComponent(/#\/s\/([^/]+)/.exec(page.url())?.[1] ?? "");
  }

  editor(page: Page) {
    return page.getByRole("textbox", { name: /^(Message|消息)$/ });
  }

  async say(page: Page, text: string, key = "Enter"): Promise<void> {
    await this.editor(page).fill(text);
    await this.editor(page).press(key);
    await expect(this.editor(page)).toHaveValue("");
  }

  /** Says a command that leads to another view, where there may be no editor. */
  async turn(page: Page, command: string): Promise<void> {
    await this.editor(page).fill(command);
    await this.editor(page).press("Enter");
  }

  /** The run has come to its end. */
  async settled(page: Page): Promise<void> {
    await expect(page.locator("[data-busy=false]")).toBeVisible({ timeout: 60_000 });
    await expect(page.getByRole("button", { name: /^(Send|发送)$/ })).toBeVisible();
  }

  /**
   * Shows the page of a folder in the place of the one in the binary, with the headers of the server: whoever works on the page sees
   * a change without a new binary (`npx vite build && PAGE_DIST=dist npm test`).
   */
  private async replace(page: Page): Promise<void> {
    const folder = process.env["PAGE_DIST"];
    if (folder === undefined) {
      return;
    }
    const front = await fetch(`${this.server.origin}/`);
    const policy = process.env["PAGE_CSP"] ?? front.headers.get("content-security-policy") ?? "";
    await page.route(`${this.server.origin}/**`, async (route) => {
      const { pathname } = new URL(route.request().url());
      const file = join(folder, pathname === "/" ? "index.html" : pathname);
      if (route.request().method() === "GET" && existsSync(file) && !["/ws", "/readyz", "/healthz"].includes(pathname)) {
        await route.fulfill({ path: file, headers: { "content-security-policy": policy, "content-type": TYPES[file.split(".").at(-1) ?? ""] ?? "" } });
      } else {
        await route.continue();
      }
    });
  }

  /** Watches a page that is let in later. */
  async look(page: Page): Promise<void> {
    this.watch(page);
    await this.replace(page);
  }

  allow(fault: RegExp): void {
    this.allowed.push(fault);
  }

  private watch(page: Page): void {
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") {
        this.faults.push(`console: ${message.text()}`);
      }
    });
    page.on("pageerror", (error) => this.faults.push(`error: ${error.message}`));
    page.on("request", (request) => {
      const url = new URL(request.url());
      if (!["data:", "blob:"].includes(url.protocol) && url.host !== new URL(this.server.origin).host) {
        this.faults.push(`request off the origin: ${request.url()}`);
      }
    });
  }

  check(): void {
    expect(this.faults.filter((fault) => !this.allowed.some((allowed) => allowed.test(fault)))).toEqual([]);
  }
}

interface Options {
  /** Which model answers: ours, or the one that a person gets who has no key. */
  model: "scripted" | "demo";
  /** `agent/settings.json`. */
  settings: object | undefined;
  files: Record<string, string>;
}

/**
 * Makes faults of timing likely: `PAGE_LATE=300` lets every frame of the server come up to so many milliseconds late, `PAGE_SLOW=6` makes
 * the browser so many times slower.
 */
async function hinder(page: Page): Promise<void> {
  const late = Number(process.env["PAGE_LATE"] ?? 0);
  if (late > 0) {
    await page.routeWebSocket(/\/ws/, (client) => {
      const server = client.connectToServer();
      let last = Promise.resolve();
      server.onMessage((message) => {
        const due = new Promise((resolve) => setTimeout(resolve, Math.random() * late));
        last = last.then(() => due).then(() => client.send(message));
      });
    });
  }
  const slow = Number(process.env["PAGE_SLOW"] ?? 1);
  if (slow > 1) {
    const protocol = await page.context().newCDPSession(page);
    await protocol.send("Emulation.setCPUThrottlingRate", { rate: slow });
  }
}

export const test = base.extend<{ desk: Desk; second: () => Promise<Page> } & Options>({
  model: ["scripted", { option: true }],
  settings: [undefined, { option: true }],
  files: [{}, { option: true }],
  page: async ({ page }, use) => {
    await hinder(page);
    await use(page);
  },
  desk: async ({ model: which, settings, files }, use) => {
    const model = await ScriptedModel.start();
    const all = settings === undefined ? files : { ...files, "agent/settings.json": JSON.stringify(settings) };
    const server = await PiServer.start(which === "scripted" ? model.words : [], all);
    const desk = new Desk(server, model);
    try {
      await use(desk);
      desk.check();
    } finally {
      model.stop();
      await server.stop();
    }
  },
  /** Another browser on the same server. */
  second: async ({ browser, desk }, use) => {
    const contexts: BrowserContext[] = [];
    await use(async () => {
      const context = await browser.newContext();
      contexts.push(context);
      const page = await context.newPage();
      await desk.enter(page);
      return page;
    });
    for (const context of contexts) {
      await context.close();
    }
  },
});
