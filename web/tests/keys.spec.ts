/** Whoever has no mouse gets there and back. Nothing here sets the focus: keys are pressed where the page has left it. */
import { expect, test } from "./support/page";

test("the tree is gone through, labelled and left by keys", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "First thing");
  await desk.settled(page);
  await desk.turn(page, "/tree");
  const lines = page.getByRole("treeitem");
  await expect(lines.last()).toBeFocused();
  await page.keyboard.press("ArrowUp");
  await expect(page.getByRole("treeitem").filter({ hasText: "First thing" })).toBeFocused();
  await page.keyboard.press("l");
  await page.keyboard.type("start");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("treeitem").filter({ hasText: "First thing" })).toContainText("start");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await expect(page.getByRole("heading", { name: "Tree" })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(desk.editor(page)).toBeFocused();
});

test("the view of envelopes is searched from hit to hit, and left by a key or a link", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  for (const words of ["needle one", "hay", "needle two"]) {
    await desk.say(page, words);
    await desk.settled(page);
  }
  await desk.turn(page, "/envelope");
  const selected = page.locator("article.selected");
  await expect(page.locator("article.segment").first()).toBeVisible();
  await page.keyboard.press("/");
  await page.keyboard.type("needle");
  await page.keyboard.press("Enter");
  await expect(selected).toContainText("needle one");
  await page.keyboard.press("Enter");
  await expect(selected).toContainText("needle two");
  await page.keyboard.press("Enter");
  await expect(selected).toContainText("needle one");
  await page.keyboard.press("Shift+Enter");
  await expect(selected).toContainText("needle two");
  await page.keyboard.press("Escape");
  await expect(page.locator(".hits")).toHaveCount(0);
  await page.keyboard.press("Escape");
  await expect(desk.editor(page)).toBeFocused();
  await desk.turn(page, "/envelope");
  await page.getByRole("link", { name: "Back to the conversation" }).click();
  await expect(desk.editor(page)).toBeFocused();
});

test("Escape closes what stands over the view of envelopes, and not the view", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Hello");
  await desk.settled(page);
  await desk.turn(page, "/envelope");
  await expect(page.locator("article.segment").first()).toBeVisible();
  for (const name of ["Settings", "Extensions"]) {
    await page.getByRole("button", { name }).click();
    await expect(page.getByRole("dialog")).toBeVisible();
    await page.keyboard.press("Escape");
    await expect(page.getByRole("dialog")).toHaveCount(0);
    await expect(page).toHaveURL(/\/envelope/);
  }
});
