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

test("a search of the tree that finds nothing is typed on, and what is found then is there", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "First thing");
  await desk.settled(page);
  await desk.turn(page, "/tree");
  await expect(page.getByRole("treeitem").last()).toBeFocused();
  const search = page.getByRole("searchbox", { name: "Search the tree" });
  await search.pressSequentially("zzq");
  await expect(page.getByRole("treeitem")).toHaveCount(0);
  await search.pressSequentially(" more");
  await search.press("ArrowDown");
  await search.fill("first");
  await expect(page.getByRole("treeitem")).toHaveCount(1);
  // Faults of the page fail the test.
});

test("what is chosen among offers is in sight, and none of them is lost to a slow press", async ({ page, desk }) => {
  for (let file = 0; file < 20; file += 1) {
    await desk.server.write(`project/needle-${file}.txt`, "");
  }
  await desk.enter(page);
  await desk.begin(page);
  for (const [typed, steps] of [["/", 14], ["@needle", 11]] as const) {
    await desk.editor(page).fill("");
    await desk.editor(page).pressSequentially(typed);
    await expect(page.getByRole("option").nth(steps)).toBeAttached();
    for (let step = 0; step < steps; step += 1) {
      await page.keyboard.press("ArrowDown");
    }
    await expect(page.getByRole("option", { selected: true })).toBeInViewport({ ratio: 0.9 });
    await expect(page.getByRole("option").first()).not.toBeInViewport();
  }
  await page.keyboard.press("Shift+Tab");
  await expect(page.getByRole("listbox")).toBeFocused();
  await page.keyboard.press("ArrowUp");
  await expect(desk.editor(page)).toBeFocused();
  await page.getByRole("option", { selected: true }).click({ delay: 400 });
  await expect(desk.editor(page)).toHaveValue(/^@needle-\d+\.txt $/);
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

test("Alt and a letter do the same on a Mac, which writes something else with them, and beside what the model saw", async ({ page, desk }) => {
  await page.setViewportSize({ width: 2000, height: 900 });
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Hello");
  await desk.settled(page);
  const press = (key: string, code: string) =>
    page.evaluate((what) => void document.activeElement?.dispatchEvent(new KeyboardEvent("keydown", { ...what, altKey: true, bubbles: true, cancelable: true })), { key, code });
  for (const view of ["", "/envelope"]) {
    await page.goto(`${page.url().replace(/\/envelope.*$/, "")}${view}`);
    await expect(desk.editor(page)).toBeVisible();
    await desk.editor(page).focus();
    await press("µ", "KeyM");
    await expect(page.getByRole("option").first()).toBeVisible();
    await page.keyboard.press("Escape");
    await press("®", "KeyR");
    await expect(page.getByRole("textbox", { name: /^Name (this|the) session/ })).toBeFocused();
    await page.keyboard.press("Escape");
  }
  const before = page.url();
  await desk.editor(page).focus();
  await press("Dead", "KeyN");
  await expect(page).not.toHaveURL(before);
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
