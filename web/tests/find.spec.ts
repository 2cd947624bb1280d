/** Words of a conversation are found wherever they stand: far above, at the end of a long message, and where it is folded. */
import type { Page } from "@playwright/test";
import { violations } from "./support/axe";
import { storeLong } from "./support/long";
import { expect, test } from "./support/page";

const field = (page: Page) => page.getByRole("searchbox", { name: "Find in the conversation" });
const told = (page: Page) => page.getByRole("search").getByRole("status");

/** What is marked as the hit that one is at, as far as it can be seen. */
function marked(page: Page): Promise<string> {
  return page.evaluate(() => {
    const [range] = CSS.highlights.get("found-here") ?? [];
    const box = range instanceof Range ? range.getBoundingClientRect() : undefined;
    const list = document.querySelector(".scroller")?.getBoundingClientRect();
    const isInSight = box !== undefined && list !== undefined && box.height > 0 && box.top >= list.top && box.bottom <= list.bottom;
    return isInSight && range instanceof Range ? range.toString() : "";
  });
}

test("a word at the end of a long answer, in thinking and in what a tool wrote is found and in sight", async ({ page, desk }) => {
  await desk.server.write("project/long.txt", `${"A line of a file.\n".repeat(80)}needle in a file\n`);
  desk.model.says(
    { thinking: "A needle in a thought.", text: "I look.", calls: [{ name: "read", arguments: { path: "long.txt" } }] },
    { text: `${"Some words that fill lines. ".repeat(400)}The **nee**dle at the end.` },
  );
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Where is the needle?");
  await desk.settled(page);
  await expect(page.getByText("A needle in a thought.")).toHaveCount(0);
  await desk.turn(page, "/find NEEDLE");
  await expect(field(page)).toBeFocused();
  expect(await violations(page)).toEqual([]);
  for (const [place, around] of [
    [4, page.getByText(/at the end\.$/)],
    [3, page.getByText("needle in a file")],
    [2, page.getByText("A needle in a thought.")],
    [1, page.getByText("Where is the needle?").last()],
    [4, page.getByText(/at the end\.$/)],
  ] as const) {
    await expect(told(page)).toHaveText(`${place} of 4`);
    await expect.poll(() => marked(page), `place ${place}`).toBe("needle");
    await expect(around).toBeVisible();
    await field(page).press("Enter");
  }
  await field(page).press("Shift+Enter");
  await expect(told(page)).toHaveText("4 of 4");
  await field(page).fill("no such words");
  await expect(told(page)).toHaveText("Not found");
  await field(page).press("Escape");
  await expect(desk.editor(page)).toBeFocused();
  await expect(page.getByRole("search").filter({ has: field(page) })).toHaveCount(0);
  // What was opened for a hit is as it was.
  await expect(page.getByText("A needle in a thought.")).toHaveCount(0);
});

test("Ctrl+F finds what was not read yet, and says how far it is; what the browser finds itself is left to it", async ({ page, desk }) => {
  await storeLong(desk.server, 3000);
  await desk.enter(page);
  await page.locator("[data-session]").filter({ hasText: "Question number 1" }).locator(".open").click();
  await expect(page.getByText("Answer number 3000")).toBeInViewport();
  await page.keyboard.press("Control+f");
  await expect(field(page)).toBeFocused();
  await page.keyboard.type("question number 7");
  await expect(told(page)).toContainText(/of 3000 messages read/);
  // 7, 71, 73 … 79, 701 … 799; of the thousands none.
  await expect(told(page)).toHaveText("56 of 56", { timeout: 30_000 });
  await page.keyboard.press("ArrowDown");
  await expect(told(page)).toHaveText("1 of 56");
  await expect.poll(() => marked(page)).toBe("Question number 7");
  await expect(page.getByText("Question number 7", { exact: true })).toBeInViewport();
  await expect(field(page)).toBeFocused();
  await field(page).press("Escape");
  await page.goto(`${desk.server.origin}/#/`);
  await desk.begin(page);
  await desk.say(page, "Hello");
  await desk.settled(page);
  await page.keyboard.press("Control+f");
  await expect(field(page)).toHaveCount(0);
});
