import { expect, test } from "./support/page";
import { gate } from "./support/model";

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
  await page.evaluate(() => {
    const seen = { longest: 0, typed: [] as number[] };
    Object.assign(window, { seen });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        seen.longest = Math.max(seen.longest, entry.duration);
      }
    }).observe({ type: "longtask" });
    document.querySelector("textarea")?.addEventListener("input", (event) => seen.typed.push(performance.now() - event.timeStamp));
  });
  await desk.say(page, "Burst");
  await expect(page.getByText("Begin.")).toBeVisible();
  await desk.editor(page).pressSequentially("typing while it streams", { delay: 15 });
  await expect(desk.editor(page)).toHaveValue("typing while it streams");
  await desk.editor(page).fill("");
  await desk.settled(page);
  await expect(page.locator("[data-role=assistant] p").last()).toHaveText(/word\.$/);
  const seen = await page.evaluate(() => (window as unknown as { seen: { longest: number; typed: number[] } }).seen);
  test.info().annotations.push({ type: "figures", description: `longest task ${seen.longest} ms, slowest key ${Math.max(...seen.typed)} ms` });
  // What is measured is measured by the bench; here ten times as much would be a fault.
  expect(Math.max(...seen.typed)).toBeLessThan(500);
});

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
