/** Words that somebody types for what waits are not lost, whatever becomes of what they are for. */
import type { Page } from "@playwright/test";
import { gate } from "./support/model";
import { type Desk, expect, test } from "./support/page";

const queue = (page: Page) => page.getByRole("region", { name: "Waits to be said" });
const returned = (page: Page) => page.locator(".notice").filter({ hasText: "What you were changing waits no more" });

/** A run that goes on until it is let, and something that waits for its end. */
async function wait(page: Page, desk: Desk, ...waits: string[]): Promise<{ session: string; end: () => void }> {
  const rest = gate();
  desk.model.says({ text: ["Begun. ", "Ended."], hold: rest.opened });
  await desk.enter(page);
  const session = await desk.begin(page);
  await desk.say(page, "Begin");
  await expect(page.getByText("Begun.")).toBeVisible();
  for (const text of waits) {
    await desk.say(page, text, "Alt+Enter");
  }
  await expect(queue(page).getByRole("listitem")).toHaveCount(waits.length);
  return { session, end: rest.open };
}

async function reword(page: Page, at: number, words: string): Promise<void> {
  await queue(page).getByRole("button", { name: "Change the text" }).nth(at).click();
  await queue(page).getByRole("textbox").fill(words);
}

test("what was typed stands in the editor when what it was for was said", async ({ page, desk }) => {
  const { end } = await wait(page, desk, "the old words");
  await desk.editor(page).fill("A draft.");
  await reword(page, 0, "far better words");
  end();
  await expect(page.locator("[data-role=user]")).toHaveText([/Begin/, /the old words/]);
  await expect(desk.editor(page)).toHaveValue("A draft.\n\nfar better words");
  await expect(desk.editor(page)).toBeFocused();
  await expect(returned(page)).toContainText("The words that you typed stand in the editor.");
  await desk.settled(page);
  // What was told about these words is old when they are said.
  await desk.editor(page).press("Enter");
  await expect(page.getByText("far better words")).toBeVisible();
  await expect(returned(page)).toHaveCount(0);
});

test("the same when another browser takes it away, and nothing if nothing was changed", async ({ page, desk, second }) => {
  const { session, end } = await wait(page, desk, "first", "second");
  const other = await second();
  await other.goto(`${desk.server.origin}/#/s/${session}`);
  await expect(queue(other).getByRole("listitem")).toHaveCount(2);
  await queue(page).getByRole("button", { name: "Change the text" }).first().click();
  await queue(other).getByRole("button", { name: "Drop" }).first().click();
  await expect(queue(page).getByRole("listitem")).toHaveCount(1);
  await expect(queue(page).getByRole("textbox")).toHaveCount(0);
  await reword(page, 0, "second, in other words");
  await queue(other).getByRole("button", { name: "Drop" }).click();
  await expect(queue(page)).toHaveCount(0);
  await expect(desk.editor(page)).toHaveValue("second, in other words");
  await expect(returned(page)).toHaveCount(1);
  end();
  await desk.settled(page);
});

test("another view and a reload leave it as it was typed, and it is said so", async ({ page, desk }) => {
  const { session, end } = await wait(page, desk, "the old words");
  await reword(page, 0, "far better words");
  await page.goto(`${desk.server.origin}/#/s/${session}/tree`);
  await expect(page.getByRole("heading", { name: "Tree" })).toBeVisible();
  await page.goto(`${desk.server.origin}/#/s/${session}`);
  await expect(queue(page).getByRole("textbox")).toHaveValue("far better words");
  await page.reload();
  await expect(queue(page).getByRole("textbox")).toHaveValue("far better words");
  await queue(page).getByRole("button", { name: "Save" }).click();
  await expect(queue(page).locator(".text")).toHaveText("far better words");
  end();
  await expect(page.locator("[data-role=user]")).toHaveText([/Begin/, /far better words/]);
  await expect(returned(page)).toHaveCount(0);
});

test("whoever goes on to the next one has changed the first", async ({ page, desk }) => {
  const { end } = await wait(page, desk, "first", "second");
  await reword(page, 0, "first, in other words");
  await queue(page).getByRole("button", { name: "Change the text" }).click();
  await expect(queue(page).getByRole("textbox")).toHaveValue("second");
  await expect(queue(page).locator(".text")).toHaveText("first, in other words");
  await queue(page).getByRole("textbox").press("Escape");
  end();
  await desk.settled(page);
});
