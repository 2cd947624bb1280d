/** A session that another program has open: what is seen of it, what cannot be done with it, and how it is gone on with. */
import { gate } from "./support/model";
import { type Desk, expect, test } from "./support/page";
import type { Page } from "@playwright/test";

/** A terminal that has asked the model, which says the rest when it is let go; and the page that looks at its session. */
async function elsewhere(page: Page, desk: Desk): Promise<{ rest: ReturnType<typeof gate>; ended: Promise<number | null> }> {
  const rest = gate();
  desk.model.says({ text: ["Said in", " a terminal."], hold: rest.opened });
  const ended = desk.server.run(["-p", ...desk.model.words, "Asked in a terminal"]);
  await expect.poll(() => desk.model.asked.length).toBe(1);
  await desk.enter(page);
  await page.locator("[data-session]").filter({ hasText: "Asked in a terminal" }).getByRole("button").first().click();
  return { rest, ended };
}

test("what a terminal writes is seen as it is written, and can be gone on with when it has ended", async ({ page, desk }) => {
  const { rest, ended } = await elsewhere(page, desk);
  const held = page.getByRole("region", { name: "This session can only be looked at" });
  await expect(held).toContainText("Another program has this session open");
  await expect(held).toContainText(/process \d+/);
  await expect(page.locator("[data-role=user]")).toContainText("Asked in a terminal");
  await expect(page.getByText(/The model was asked .* ago; its answer is not in the file yet/)).toBeVisible();
  await expect(desk.editor(page)).toHaveCount(0);
  await expect(page.getByText("read only", { exact: true })).toBeVisible();
  // Whoever tries all the same is told so, and the terminal is not disturbed.
  await held.getByRole("button", { name: "Open it here" }).click();
  await expect(page.getByText("The other program still has it open.")).toBeVisible();

  rest.open();
  await expect(page.getByText("Said in a terminal.")).toBeVisible();
  expect(await ended).toBe(0);
  await expect(held).toContainText("has let this session go");
  await expect(page.getByText(/The model was asked/)).toHaveCount(0);
  const strip = page.getByRole("link", { name: /What the model saw: [\d,]+ tokens/ });
  await expect(strip).toHaveCount(1);

  await held.getByRole("button", { name: "Open it here" }).click();
  await expect(held).toHaveCount(0);
  await desk.say(page, "And now here");
  await desk.settled(page);
  await expect(page.locator("[data-role=user]")).toHaveText([/Asked in a terminal/, /And now here/]);
  await expect(strip).toHaveCount(2);
});

test("what the model saw, the tree and files are there, and nothing that would write", async ({ page, desk }) => {
  const { rest, ended } = await elsewhere(page, desk);
  await expect(page.locator("[data-held=held]")).toBeVisible();
  await page.getByRole("button", { name: "More about this session" }).click();
  await expect(page.getByRole("menuitem")).toHaveText([/Find words/, /Tree/, /What was changed/, /What the model saw/, /Download/]);
  await page.getByRole("menuitem", { name: /What the model saw/ }).click();
  await expect(page.locator('[data-kind="text"]').last()).toContainText("Asked in a terminal");
  await expect(page.getByText("Counted by the provider")).toHaveCount(0);
  await page.keyboard.press("t");
  await expect(page.locator(".treemap .item").first()).toBeVisible();
  await expect(page.getByText("Can be turned off")).toHaveCount(0);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+k");
  await page.keyboard.type("/name");
  await page.keyboard.press("Enter");
  await expect(page.getByText("can only be looked at here")).toBeVisible();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("/tree");
  await page.keyboard.press("Enter");
  await page.getByRole("treeitem").first().click();
  await expect(page.getByRole("dialog").getByText("can only be looked at here")).toBeVisible();
  await expect(page.getByRole("button", { name: "Go on from here" })).toHaveCount(0);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  const saved = page.waitForEvent("download");
  await page.getByRole("button", { name: "More about this session" }).click();
  await page.getByRole("menuitem", { name: /Download/ }).click();
  await page.getByRole("option", { name: /Markdown/ }).click();
  expect((await saved).suggestedFilename()).toMatch(/^pi-session-.*\.md$/);
  rest.open();
  expect(await ended).toBe(0);
});

test("whoever opens it opens it for all who look", async ({ page, desk, second }) => {
  const { rest, ended } = await elsewhere(page, desk);
  const other = await second();
  await other.goto(page.url());
  await expect(other.locator("[data-held=held]")).toBeVisible();
  rest.open();
  expect(await ended).toBe(0);
  await page.locator("[data-held=free]").getByRole("button", { name: "Open it here" }).click();
  await expect(desk.editor(page)).toBeVisible();
  await expect(desk.editor(other)).toBeVisible();
  await desk.say(other, "From the other browser");
  await expect(page.locator("[data-role=user]").last()).toContainText("From the other browser");
  await desk.settled(other);
});
