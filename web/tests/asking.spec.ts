/** A question that waits is seen wherever somebody stands. */
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
