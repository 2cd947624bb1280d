/** Prompts of many thousand parts: what is drawn of them can be looked at, and nothing of them is lost. */
import { expect, type Locator, type Page, test } from "@playwright/test";
import { neighbour, tiles } from "../src/envelope/model/areas";
import type { Envelope, Segment } from "../src/envelope/model/format";
import { tree } from "../src/envelope/model/treemap";
import { everyKind } from "./envelope/sample";
import { prompt, said } from "./envelope/small";
import { files, page as made } from "./envelope/viewer";

const session = prompt(Array.from({ length: 10_000 }, (_, index): Segment => (index % 2 === 0 ? said(`what is asked ${index} ${"word ".repeat(index % 31)}`) : { kind: "tool_call_result", toolName: "bash", result: "x".repeat((index % 97) * 10), success: true, collapsed: true })));
const skills: Segment = { kind: "skills", collapsed: true, items: Array.from({ length: 100_000 }, (_, index) => ({ name: `s${index}`, description: "d".repeat(20) })) };
const uneven = prompt([said("w ".repeat(400_000)), said("x"), { kind: "static_var", name: "day", value: "Friday" }]);

function drawn(envelope: Envelope) {
  const branches = tree(envelope);
  const items = tiles(branches, 900, 460).filter((tile) => tile.level === "item");
  return { all: branches.reduce((sum, branch) => sum + branch.tokens, 0), items };
}

for (const [name, envelope, least] of [["ten thousand messages", session, 250], ["a hundred thousand skills", prompt([skills]), 1], ["one that is all of it", uneven, 3], ["every kind", everyKind(), 20]] as const) {
  test(`areas of ${name} are few and sum up`, () => {
    const { all, items } = drawn(envelope);
    expect(items.length).toBeGreaterThanOrEqual(least);
    expect(items.length).toBeLessThan(500);
    expect(items.reduce((sum, item) => sum + item.tokens, 0)).toBe(all);
    expect(Math.min(...items.flatMap(({ area }) => [area.width, area.height]))).toBeGreaterThanOrEqual(4);
  });
}

test("the area on a side is the nearest there", () => {
  const at = (x: number, y: number, width = 10, height = 10) => ({ area: { x, y, width, height }, at: `${x} ${y}` });
  const all = [at(10, 0), at(30, 0), at(10, 20), at(0, 10, 10, 30)];
  const from = { x: 10, y: 10, width: 10, height: 10 };
  const found = (["left", "right", "up", "down"] as const).map((step) => neighbour(all, from, step)?.at);
  expect(found).toEqual(["0 10", "30 0", "10 0", "10 20"]);
  expect(neighbour([], from, "up")).toBeUndefined();
});

async function open(page: Page, envelope: Envelope): Promise<Locator> {
  await page.goto(made(files(envelope)));
  await expect(page.locator("article.segment").first()).toBeVisible();
  await page.keyboard.press("t");
  const map = page.locator(".treemap .map");
  await expect(map.locator(".item").first()).toBeVisible();
  return map;
}

test("a large treemap is one stop of the keyboard, and arrows go from area to area", async ({ page }) => {
  const map = await open(page, session);
  await expect(map.locator('[tabindex="0"]')).toHaveCount(1);
  expect(await map.locator(".item").count()).toBeLessThan(500);
  await map.locator('[tabindex="0"]').focus();
  const place = () => page.evaluate(() => [...document.querySelectorAll(".treemap .item")].indexOf(document.activeElement as Element));
  const first = await place();
  await page.keyboard.press("ArrowRight");
  const second = await place();
  await page.keyboard.press("ArrowDown");
  expect(new Set([first, second, await place()]).size).toBe(3);
  await expect(map.locator('[tabindex="0"]')).toBeFocused();
  await page.keyboard.press("Home");
  expect(await place()).toBe(first);
  await page.keyboard.press("Enter");
  await expect(map.locator(".item.chosen")).toHaveCount(1);
  // What is too small stands together, with a name, and says what it is.
  const rest = map.getByRole("button", { name: /^Tool result: [\d,]+ more, [\d,]+ tokens$/ });
  await expect(map.locator(".name").filter({ hasText: /^([\d,]+ more|5,000 parts)\s*[\d.]+k$/ })).toHaveCount(2);
  await rest.click();
  await expect(page.locator(".treemap .told")).toContainText(/[\d,]+ more/);
  await page.locator(".treemap .told li button").first().click();
  await expect(page.locator("article.segment.selected .output")).toBeVisible();
});

test("a prompt of a hundred thousand skills has a map", async ({ page }) => {
  const map = await open(page, prompt([skills]));
  await expect(map.getByRole("button", { name: /^Skills: 100,000 parts, [\d,]+ tokens$/ })).toBeVisible();
  await expect(map.locator('[tabindex="0"]')).toHaveCount(1);
});
