/** A shell command of one's own is stopped as everything else is. */
import { expect, test } from "./support/page";

for (const [how, stop] of [
  ["Escape", "key"],
  ["the button", "button"],
  ["/stop", "command"],
] as const) {
  test(`a shell command is stopped by ${how}`, async ({ page, desk }) => {
    await desk.enter(page);
    await desk.begin(page);
    await desk.say(page, "!echo begun; sleep 300");
    await expect(page.locator("pre.shell")).toContainText("begun");
    if (stop === "key") {
      await page.keyboard.press("Escape");
    } else if (stop === "button") {
      await page.getByRole("button", { name: "Stop", exact: true }).click();
    } else {
      await desk.say(page, "/stop");
    }
    await expect(page.locator("[data-role=bashExecution]")).toContainText("echo begun; sleep 300");
    await expect(page.locator("[data-role=bashExecution]")).toContainText("cancelled");
    await expect(page.locator("pre.shell")).toHaveCount(0);
    await desk.settled(page);
  });
}

test("a shell command that works is there after a reload, and runs once", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "!echo once >> count.txt; until [ -e go ]; do sleep 0.1; done; cat count.txt");
  const shell = page.locator("pre.shell");
  await expect(shell).toContainText("count.txt");
  await page.reload();
  await expect(shell).toContainText("$ echo once >> count.txt");
  await expect(page.getByRole("button", { name: "Stop", exact: true })).toBeVisible();
  await desk.server.write("project/go", "");
  const done = page.locator("[data-role=bashExecution]");
  await expect(done).toHaveCount(1);
  await expect(done).toContainText("once");
  await expect(done).not.toContainText("once\nonce");
  await expect(shell).toHaveCount(0);
});

test("the tree says of a shell command what it is", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "!echo hello");
  await expect(page.locator("[data-role=bashExecution]")).toContainText("hello");
  await desk.turn(page, "/tree");
  await expect(page.getByRole("treeitem").filter({ hasText: "echo hello" })).toContainText("shell");
});
