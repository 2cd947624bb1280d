/** What goes wrong is said where the person is. */
import { readFileSync } from "node:fs";
import { appendFile, mkdir, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Page } from "@playwright/test";
import { violations } from "./support/axe";
import { expect, test } from "./support/page";
import { sessionFile, storeLong } from "./support/long";

test("a session that cannot be made says why, also in a session", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  const folder = join(desk.server.folder, "project");
  await rm(folder, { recursive: true });
  await page.keyboard.press("Alt+n");
  const notice = page.locator("main .notice.error");
  await expect(notice).toBeVisible();
  await expect(notice).toContainText("No such file or directory");
  await notice.getByRole("button", { name: "Dismiss" }).click();
  await expect(notice).toHaveCount(0);
  await mkdir(folder);
});

test("a stored session that cannot be opened from the palette says why", async ({ page, desk }) => {
  await storeLong(desk.server, 2);
  await desk.enter(page);
  await expect(page.locator("[data-state=stored]")).toBeVisible();
  await rm(join(desk.server.folder, sessionFile(desk.server, "2026-11-15T10-00-00-000Z_11111111-2222-7333-8444-555555555555")));
  await page.keyboard.press("Control+k");
  await page.keyboard.type("Question number 1");
  await page.keyboard.press("Enter");
  await expect(page.locator("main .notice.error")).toBeVisible();
});

test("while a session is made, the button says so and makes no second one", async ({ page, desk }) => {
  let isHeld = false;
  await page.routeWebSocket(/\/ws/, (client) => {
    const server = client.connectToServer();
    server.onMessage((message) => {
      if (!isHeld || !String(message).includes('"create_session"')) {
        client.send(message);
      }
    });
  });
  await desk.enter(page);
  isHeld = true;
  const button = page.getByRole("main").getByRole("button", { name: "New session" });
  await button.click();
  await expect(button).toBeDisabled();
  await expect(button.locator(".spin")).toBeVisible();
});

test("news fade, what went wrong stays until it is dismissed or another view is opened", async ({ page, desk }) => {
  await page.clock.install();
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "hello");
  await desk.settled(page);
  await desk.say(page, "/usage");
  await desk.turn(page, "/zzz");
  await expect(page.locator(".notice")).toHaveCount(2);
  await page.clock.fastForward(15_000);
  await expect(page.locator(".notice.info")).toHaveCount(0);
  await expect(page.locator(".notice.warning")).toHaveCount(1);
});

test.describe("what an extension says", () => {
  test.use({ files: { "agent/extensions/crier.ts": readFileSync(new URL("extensions/crier.ts", import.meta.url), "utf8") } });

  const LONG_MS = 120_000;
  const notices = (page: Page) => page.locator(".notice");

  /** Whether the page is in sight, as browsers tell of a tab. */
  async function turn(page: Page, visibility: "visible" | "hidden"): Promise<void> {
    await page.evaluate((value) => {
      Object.defineProperty(document, "visibilityState", { value, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }, visibility);
  }

  test("the same once more is counted, and what warns stays until it is dismissed", async ({ page, desk }) => {
    await page.clock.install();
    await desk.enter(page);
    await desk.begin(page);
    for (const words of ["/warning Careful", "/warning Mind the gap", "/warning Careful", "/warning Careful"]) {
      await desk.say(page, words);
      await desk.settled(page);
    }
    await expect(notices(page).filter({ hasText: "Careful" })).toContainText("×3");
    await expect(notices(page)).toHaveCount(2);
    await page.clock.fastForward(LONG_MS);
    await expect(notices(page)).toHaveCount(2);
    await notices(page).filter({ hasText: "Careful" }).getByRole("button", { name: "Dismiss" }).click();
    await expect(notices(page)).toHaveText([/Mind the gap/]);
  });

  test("news go by themselves, and not while somebody is at them or nobody sees them", async ({ page, desk }) => {
    await page.clock.install();
    await desk.enter(page);
    await desk.begin(page);
    await desk.say(page, "/info It is done");
    await expect(notices(page)).toHaveCount(1);
    await notices(page).hover();
    await page.clock.fastForward(LONG_MS);
    await expect(notices(page)).toHaveCount(1);
    await notices(page).getByRole("button", { name: "Dismiss" }).focus();
    await page.mouse.move(0, 0);
    await page.clock.fastForward(LONG_MS);
    await expect(notices(page)).toHaveCount(1);
    await turn(page, "hidden");
    await desk.editor(page).focus();
    await page.clock.fastForward(LONG_MS);
    await expect(notices(page)).toHaveCount(1);
    await turn(page, "visible");
    await page.clock.fastForward(LONG_MS);
    await expect(notices(page)).toHaveCount(0);
  });

  test("more than a few are folded, and never what went wrong for the sake of news", async ({ page, desk }) => {
    await page.clock.install();
    await desk.enter(page);
    await desk.begin(page);
    for (const words of ["/error Broken", "/warning First", "/info One", "/info Two", "/warning Second"]) {
      await desk.say(page, words);
      await desk.settled(page);
    }
    await expect(notices(page)).toHaveText([/Broken/, /First/, /Second/]);
    await desk.say(page, "/info Three");
    await expect(notices(page)).toHaveText([/Broken/, /Second/, /Three/]);
    const more = page.getByRole("button", { name: "3 more" });
    await more.click();
    await expect(notices(page)).toHaveText([/Broken/, /First/, /One/, /Two/, /Second/, /Three/]);
    expect(await violations(page)).toEqual([]);
    await page.getByRole("button", { name: "Show fewer" }).click();
    await expect(more).toBeVisible();
    await page.mouse.move(0, 0);
    await desk.editor(page).focus();
    // News go, and what is left is few.
    await page.clock.fastForward(LONG_MS);
    await expect(notices(page)).toHaveText([/Broken/, /First/, /Second/]);
    await expect(more).toHaveCount(0);
    await desk.say(page, "/error Broken too");
    await page.getByRole("button", { name: "Dismiss all" }).click();
    await expect(notices(page)).toHaveCount(0);
  });
});

test("a conversation that is not written any more says so", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "hello");
  await desk.settled(page);
  const folder = join(desk.server.folder, dirname(sessionFile(desk.server, "any")));
  const [file] = (await readdir(folder)).filter((name) => name.endsWith(".jsonl"));
  // Another program writes into it: nothing is added to what we do not know.
  await appendFile(join(folder, file ?? ""), '{"type":"custom","customType":"x","id":"deadbeef","parentId":null,"timestamp":"2026-11-15T10:00:00.000Z"}\n');
  await desk.say(page, "and again");
  await expect(page.locator("main .notice.error").filter({ hasText: "not written to its file any more" })).toBeVisible();
});

test("a browser that is not let in is not told to be offline", async ({ page, desk }) => {
  desk.allow(/401|WebSocket/);
  await desk.look(page);
  await page.goto(desk.server.origin);
  await expect(page.getByText("This browser is not let in yet")).toBeVisible();
  await expect(page.locator("[data-link]:visible")).toHaveCount(0);
});
