/** A question that waits is seen wherever somebody stands. */
import { existsSync } from "node:fs";
import type { Page } from "@playwright/test";
import { expect, test } from "./support/page";

test.use({ settings: { agent: { policy: { mode: "prompt", default_caps: ["read"] } } } });

test("a question of another session is told everywhere, and leads to it", async ({ page, desk }) => {
  desk.model.says({ calls: [{ name: "bash", arguments: { command: "echo allowed" } }] }, { text: "It is done." });
  await desk.enter(page);
  const session = await desk.begin(page);
  await desk.say(page, "Write it");
  const question = page.getByRole("region", { name: "A question for you" });
  await expect(question).toBeVisible();
  const bar = page.getByRole("status", { name: "Sessions that ask you" });
  // Here it is seen, and the list and the head say it too.
  await expect(bar).toHaveCount(0);
  await expect(page.locator(`[data-session="${session}"]`)).toHaveAttribute("data-state", "asks");
  await expect(page.locator("header.bar").getByRole("link", { name: "asks you" })).toBeVisible();
  await expect(page).toHaveTitle(/^\(\?\)/);
  for (const view of ["tree", "envelope"]) {
    await page.goto(`${desk.server.origin}/#/s/${session}/${view}`);
    await expect(bar).toContainText("Write it");
  }
  await page.goto(`${desk.server.origin}/#/`);
  await expect(bar).toContainText("Write it");
  await expect(page).toHaveTitle(/^\(\?\)/);
  await desk.begin(page);
  await expect(bar).toContainText("Write it");
  await expect(page.locator(`[data-session="${session}"]`)).toContainText("asks you");
  await bar.getByRole("link").click();
  await expect(question).toBeVisible();
  await page.getByRole("button", { name: /this once/ }).click();
  await desk.settled(page);
  await expect(page).toHaveTitle(/^Write it/);
  await expect(page.locator(`[data-session="${session}"]`)).toHaveAttribute("data-state", "open");
});

test("who never was in the session is told too, and that it is over", async ({ page, desk, second }) => {
  desk.model.says({ calls: [{ name: "bash", arguments: { command: "echo allowed" } }] }, { text: "It is done." });
  await desk.enter(page);
  const other = await second();
  await desk.begin(page);
  await desk.say(page, "Write it");
  const bar = other.getByRole("status", { name: "Sessions that ask you" });
  await expect(bar).toContainText("Write it");
  await page.getByRole("button", { name: /this once/ }).click();
  await desk.settled(page);
  await expect(bar).toHaveCount(0);
});

test("keys of somebody who writes decide nothing, and a key leads to the question", async ({ page, desk }) => {
  desk.model.says({ calls: [{ name: "bash", arguments: { command: "echo allowed" } }] }, { text: "I may not." }, { calls: [{ name: "bash", arguments: { command: "echo again" } }] }, { text: "I may." });
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Write it");
  const question = page.getByRole("region", { name: "A question for you" });
  await expect(question).toBeVisible();
  // The editor was empty, and has the focus still.
  await expect(desk.editor(page)).toBeFocused();
  await page.keyboard.type("2 more things");
  await expect(desk.editor(page)).toHaveValue("2 more things");
  await expect(question).toBeVisible();
  await expect(page.locator("[aria-live=assertive]").filter({ hasText: "Alt+A" })).toHaveCount(1);
  await page.keyboard.press("Alt+a");
  await expect(question).toBeFocused();
  // Nothing is chosen by who only goes on.
  await page.keyboard.press("Enter");
  await expect(question).toBeVisible();
  await page.keyboard.press("1");
  await desk.settled(page);
  await expect(page.locator("[data-tool=bash]")).toHaveAttribute("data-status", "denied");
  await expect(desk.editor(page)).toHaveValue("2 more things");
});

test.describe("Escape allows nothing", () => {
  const isMade = (folder: string) => existsSync(`${folder}/project/made.txt`);

  for (const [where, go] of [
    ["on the question", (page: Page) => page.keyboard.press("Alt+a")],
    ["on a button that says yes", (page: Page) => page.getByRole("button", { name: /this once/ }).focus()],
  ] as const) {
    test(`${where} it says no, and the run goes on`, async ({ page, desk }) => {
      desk.model.says({ calls: [{ name: "bash", arguments: { command: "touch made.txt" } }] }, { text: "I may not." });
      await desk.enter(page);
      await desk.begin(page);
      await desk.say(page, "Make it");
      const question = page.getByRole("region", { name: "A question for you" });
      await expect(question).toBeVisible();
      await go(page);
      await page.keyboard.press("Escape");
      await expect(question).toHaveCount(0);
      await desk.settled(page);
      await expect(page.getByText("I may not.")).toBeVisible();
      await expect(page.locator("[data-tool=bash]")).toHaveAttribute("data-status", "denied");
      expect(isMade(desk.server.folder)).toBe(false);
    });
  }

  test("in the editor it stops the run, and takes the question away", async ({ page, desk }) => {
    desk.model.says({ calls: [{ name: "bash", arguments: { command: "touch made.txt" } }] }, { text: "Never said." });
    await desk.enter(page);
    await desk.begin(page);
    await desk.say(page, "Make it");
    const question = page.getByRole("region", { name: "A question for you" });
    await expect(question).toBeVisible();
    await expect(desk.editor(page)).toBeFocused();
    await page.keyboard.press("Escape");
    await expect(question).toHaveCount(0);
    await desk.settled(page);
    await expect(page.locator("[data-tool=bash]")).not.toHaveAttribute("data-status", "done");
    expect(isMade(desk.server.folder)).toBe(false);
    expect(desk.model.asked.length).toBe(1);
  });
});

test("a question that takes a focus which nobody had waits until the keys are quiet", async ({ page, desk }) => {
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  desk.model.says({ text: "Wait.", hold: held, calls: [{ name: "bash", arguments: { command: "echo allowed" } }] }, { text: "It is done." });
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Write it");
  await expect(page.getByText("Wait.")).toBeVisible();
  await desk.editor(page).evaluate((node) => (node as HTMLElement).blur());
  // Keys that come at once with the card, whenever that is.
  await page.evaluate(() => {
    new MutationObserver((_, observer) => {
      const card = document.querySelector("[data-question]");
      if (card !== null && document.activeElement === card) {
        observer.disconnect();
        card.dispatchEvent(new KeyboardEvent("keydown", { key: "2", bubbles: true, cancelable: true }));
        document.body.dataset["pressed"] = "yes";
      }
    }).observe(document.body, { childList: true, subtree: true, attributes: true });
  });
  release();
  const question = page.getByRole("region", { name: "A question for you" });
  await expect(question).toBeFocused();
  await expect(page.locator("body[data-pressed=yes]")).toHaveCount(1);
  await expect(question).toBeVisible();
  await expect(async () => {
    await page.keyboard.press("2");
    await expect(question).toHaveCount(0, { timeout: 1500 });
  }).toPass();
  await desk.settled(page);
  await expect(page.locator("[data-tool=bash]")).toHaveAttribute("data-status", "done");
});

test("the whole command is seen before it is decided about, line by line", async ({ page, desk }) => {
  const command = `set -e\necho building ${"the project ".repeat(30)}\n# all is well\necho REALLY > owned.txt`;
  desk.model.says({ calls: [{ name: "bash", arguments: { command } }] }, { text: "I may not." });
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Build it");
  const question = page.getByRole("region", { name: "A question for you" });
  const target = question.getByRole("group", { name: "What would be done" });
  await expect(target).toBeVisible();
  expect(await target.innerText()).toBe(command);
  await expect(question).toContainText("4 lines");
  // The call that waits stands open too.
  await expect(page.locator("[data-tool=bash]").getByRole("button").first()).toHaveAttribute("aria-expanded", "true");
  await expect(page.locator("[data-tool=bash]")).toContainText("echo REALLY > owned.txt");
  // However much there is to read, the way to stop stays in sight.
  await expect(page.getByRole("button", { name: "Stop", exact: true })).toBeInViewport();
  await page.setViewportSize({ width: 390, height: 640 });
  await expect(page.getByRole("button", { name: "Stop", exact: true })).toBeInViewport();
  await expect(desk.editor(page)).toBeInViewport();
  await question.getByRole("button", { name: /^No/ }).click();
  await desk.settled(page);
});

test("the answers to a long command are in sight on a phone, also above its keyboard", async ({ page, desk }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  desk.model.says({ calls: [{ name: "bash", arguments: { command: Array.from({ length: 60 }, (_, line) => `echo line number ${line} of a long script that goes on`).join("\n") } }] });
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "run");
  const card = page.locator(".question");
  await expect(card).toBeVisible();
  for (const height of [844, 460]) {
    await page.setViewportSize({ width: 390, height });
    for (const button of await card.getByRole("button").all()) {
      await expect(button).toBeInViewport({ ratio: 0.99 });
    }
    // Something of the command too, and the way to stop.
    expect(await inSight(page, ".question .target")).toBeGreaterThan(40);
    await expect(page.getByRole("button", { name: "Stop", exact: true })).toBeInViewport({ ratio: 1 });
  }
});

/** Pixels of the height of an element that nothing cuts off or covers. */
function inSight(page: Page, place: string): Promise<number> {
  return page.locator(place).evaluate((node) => {
    const { left, top, width, height } = node.getBoundingClientRect();
    return Array.from({ length: Math.floor(height) }, (_, line) => document.elementFromPoint(left + width / 2, top + line)).filter((found) => found !== null && node.contains(found)).length;
  });
}

test.describe("nobody but the person who reads decides when it is too late", () => {
  test.use({ settings: { questionTimeoutMs: 1, agent: { policy: { mode: "prompt", default_caps: ["read"] } } } });

  test("a question that is looked at does not lapse", async ({ page, desk, second }) => {
    desk.model.says({ calls: [{ name: "bash", arguments: { command: "echo allowed" } }] }, { text: "It is done." });
    await desk.enter(page);
    const session = await desk.begin(page);
    await desk.say(page, "Write it");
    const question = page.getByRole("region", { name: "A question for you" });
    await expect(question).toBeVisible();
    // Long after the time that holds without anybody: another browser was opened and has read the session.
    const other = await second();
    await other.goto(`${desk.server.origin}/#/s/${session}`);
    await expect(other.getByRole("region", { name: "A question for you" })).toBeVisible();
    await expect(question).toBeVisible();
    await question.getByRole("button", { name: /this once/ }).click();
    await desk.settled(page);
    await expect(page.locator("[data-tool=bash]")).toHaveAttribute("data-status", "done");
  });
});
