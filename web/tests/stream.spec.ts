import type { Page } from "@playwright/test";
import { expect, test } from "./support/page";
import { gate } from "./support/model";
import { burst, SHAPES } from "./support/shapes";

test("a connection that breaks in the middle of a stream loses nothing", async ({ page, desk }) => {
  const half = gate();
  const words = Array.from({ length: 200 }, (_, index) => `word${index} `);
  desk.model.says({ text: ["Start. ", ...words], hold: half.opened });
  desk.allow(/WebSocket|ERR_|readyz/);
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Stream");
  await expect(page.getByText("Start.")).toBeVisible();
  await page.context().setOffline(true);
  await expect(page.locator("[data-link=offline]:visible, [data-link=connecting]:visible").first()).toBeVisible();
  half.open();
  // It ends while nobody listens.
  await expect.poll(() => desk.model.said).toBe(1);
  await page.context().setOffline(false);
  await expect(page.locator("[data-link=live]:visible").first()).toBeVisible({ timeout: 30_000 });
  await desk.settled(page);
  await expect(page.locator("[data-role=assistant]")).toHaveCount(1);
  await expect(page.locator("[data-role=assistant] .prose")).toHaveText(`Start. ${words.join("").trim()}`);
});

test("a server that is killed comes back, and the page with it, by itself", async ({ page, desk }) => {
  desk.allow(/WebSocket|ERR_|readyz/);
  desk.model.says({ text: "Here." }, { text: "Here again." });
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Hello");
  await desk.settled(page);
  const place = page.url();
  await desk.server.kill();
  await expect(page.locator("[data-link=offline]:visible, [data-link=connecting]:visible").first()).toBeVisible();
  await expect(page.locator("[data-role=user]")).toContainText("Hello");
  await desk.server.launch();
  // The cookie is as good as before: nobody fetches a ticket.
  await expect(page.locator("[data-link=live]:visible").first()).toBeVisible({ timeout: 30_000 });
  await expect(page).toHaveURL(place);
  await expect(page.locator("[data-role=user]")).toContainText("Hello");
  await desk.say(page, "And now?");
  await expect(page.getByText("Here again.")).toBeVisible();
});

test("a server that stands still is told soon to whoever waits for it, and gets what was said when it goes on", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Before");
  await desk.settled(page);
  desk.allow(/WebSocket|ERR_|net::/);
  desk.server.freeze();
  try {
    await desk.say(page, "Meanwhile");
    await expect(page.locator("[data-link=live]")).toHaveCount(0, { timeout: 18_000 });
  } finally {
    desk.server.thaw();
  }
  await expect(page.locator("[data-link=live]:visible").first()).toBeVisible();
  await desk.settled(page);
  await expect(page.locator("[data-role=user]")).toHaveCount(2);
  expect(desk.model.asked).toHaveLength(2);
});

test("whoever takes the token away shuts browsers out, until they bring a ticket", async ({ page, desk }) => {
  desk.allow(/WebSocket|ERR_|readyz|401/);
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Hello");
  await desk.settled(page);
  const place = page.url();
  await desk.server.kill();
  await desk.server.remove("agent/server/token");
  await desk.server.launch();
  await expect(page.getByText("This browser is not let in yet")).toBeVisible({ timeout: 30_000 });
  await page.goto(await desk.server.address());
  await expect(page).toHaveURL(place);
  await expect(page.locator("[data-role=user]")).toContainText("Hello");
});

test("two browsers on one session see the same, also one that comes in the middle", async ({ page, desk, second }) => {
  const rest = gate();
  desk.model.says({ text: ["The first half. ", "The second half."], hold: rest.opened });
  await desk.enter(page);
  const session = await desk.begin(page);
  await desk.say(page, "Go");
  await expect(page.getByText("The first half.")).toBeVisible();
  const other = await second();
  await other.goto(`${desk.server.origin}/#/s/${session}`);
  await expect(other.getByText("The first half.")).toBeVisible();
  await expect(other.getByRole("button", { name: "Steer now" })).toBeVisible();
  rest.open();
  for (const one of [page, other]) {
    await desk.settled(one);
    await expect(one.locator("[data-role=assistant] .prose")).toHaveText("The first half. The second half.");
  }
  desk.model.says({ text: "To both." });
  await desk.say(other, "And you");
  await expect(page.getByText("To both.")).toBeVisible();
  await expect(page.locator("[data-role=user]")).toHaveCount(2);
});

test("typing stays usable in a burst of five thousand deltas", async ({ page, desk }) => {
  const pieces = Array.from({ length: 5000 }, (_, index) => (index % 40 === 39 ? "word.\n\n" : "word "));
  desk.model.says({ text: ["Begin. ", ...pieces] });
  await desk.enter(page);
  await desk.begin(page);
  const typed = await watchTyping(page);
  await desk.say(page, "Burst");
  await expect(page.getByText("Begin.")).toBeVisible();
  await desk.editor(page).pressSequentially("typing while it streams", { delay: 15 });
  await expect(desk.editor(page)).toHaveValue("typing while it streams");
  await desk.editor(page).fill("");
  await desk.settled(page);
  await expect(page.locator("[data-role=assistant] p").last()).toHaveText(/word\.$/);
  // What is measured is measured by the bench; here ten times as much would be a fault.
  expect(await typed()).toBeLessThan(500);
});

for (const [name, text] of Object.entries(SHAPES)) {
  test(`typing stays usable while one block grows: ${name}`, async ({ page, desk }) => {
    desk.model.says({ text: burst(text, 2000), pauseMs: 1 });
    await desk.enter(page);
    await desk.begin(page);
    const typed = await watchTyping(page);
    await desk.say(page, "Grow");
    const answer = page.locator("[data-role=assistant] .prose");
    await expect.poll(() => answer.evaluate((node) => node.textContent?.length ?? 0).catch(() => 0)).toBeGreaterThan(text.length / 3);
    // No role is looked for meanwhile: in so large a page that alone would be felt.
    await page.keyboard.type("typing while it grows", { delay: 15 });
    await expect(page.locator("textarea")).toHaveValue("typing while it grows");
    expect(await typed()).toBeLessThan(500);
    await expect(page.locator("[data-busy=false]")).toBeAttached();
  });
}

const GROWING = [
  ...Array.from({ length: 150 }, (_, index) => `- item ${index} of *many*\n`),
  "  - within\n  - it\n\n- [x] loose at last\n\n",
  "| a | b |\n|---|--:|\n",
  ...Array.from({ length: 100 }, (_, index) => `| **${index}** | row |\n`),
  "\n```rust\n/*\n",
  ...Array.from({ length: 150 }, (_, index) => `line ${index}\n`),
  "*/\nfn main() {}\n```\n\n> quoted\n> - item\n\nThe **end** of a `text`",
  ".",
];

test("what grew looks as what is read as a whole, and nothing of it was drawn twice", async ({ page, desk }) => {
  const half = gate();
  const begun = GROWING.slice(0, 150).join("");
  desk.model.says({ text: [begun, ...GROWING.slice(150).join("").match(/[\s\S]{1,7}/g) ?? []], hold: half.opened });
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Grow");
  const answer = page.locator("[data-role=assistant] .prose");
  await expect(answer.locator("li")).toHaveCount(150);
  const kept = await answer.evaluateHandle((node) => [...node.querySelectorAll("li")].slice(0, 100));
  expect(await answer.locator("ul").first().evaluate((node) => node.classList.contains("tight"))).toBe(true);
  half.open();
  await desk.settled(page);
  expect(await answer.locator("ul").first().evaluate((node) => node.classList.contains("tight"))).toBe(false);
  expect(await answer.evaluate((node, before) => before.every((item, index) => item === node.querySelectorAll("li")[index]), kept)).toBe(true);
  await expect(answer.locator("code .keyword")).toHaveText("fn");
  const grown = await drawn(page);
  await page.reload();
  await expect(answer.locator("code .keyword")).toHaveText("fn");
  expect(await drawn(page)).toBe(grown);
  expect(await answer.locator("pre code").evaluate((node) => node.textContent)).toBe(/```rust\n([\s\S]*?)\n```/.exec(GROWING.join(""))?.[1]);
});

/** What stands in the answer, without the notes of whoever draws. */
function drawn(page: Page): Promise<string> {
  return page.locator("[data-role=assistant] .prose").evaluate((node) => node.innerHTML.replace(/<!--.*?-->/g, ""));
}

/** Notes how long each key takes from now on; the answer is the slowest, in milliseconds. */
async function watchTyping(page: Page): Promise<() => Promise<number>> {
  await page.evaluate(() => {
    const typed: number[] = [];
    Object.assign(window, { typed });
    document.querySelector("textarea")?.addEventListener("input", (event) => typed.push(performance.now() - event.timeStamp));
  });
  return () => page.evaluate(() => Math.max(...(window as unknown as { typed: number[] }).typed));
}

test("the reader is not moved while the answer grows", async ({ page, desk }) => {
  const rest = gate();
  const long = Array.from({ length: 80 }, (_, index) => `Line ${index} of a long answer.\n\n`);
  desk.model.says({ text: long }, { text: ["More. ", ...long], hold: rest.opened });
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Long");
  await desk.settled(page);
  await desk.say(page, "Longer");
  await expect(page.getByText("More.")).toBeVisible();
  const scroller = page.locator(".scroller");
  await scroller.evaluate((node) => {
    node.scrollTop = 300;
  });
  await expect(page.getByRole("button", { name: "New below" })).toBeVisible();
  const before = await page.getByText("Line 12 of a long answer.").first().boundingBox();
  rest.open();
  await desk.settled(page);
  const after = await page.getByText("Line 12 of a long answer.").first().boundingBox();
  expect(Math.abs((after?.y ?? 0) - (before?.y ?? 1e6))).toBeLessThan(2);
  await page.getByRole("button", { name: "To the end" }).click();
  await expect(page.getByText("Line 79 of a long answer.").last()).toBeInViewport();
});
