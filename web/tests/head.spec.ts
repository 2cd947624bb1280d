/** The head of a session: what it says is true from the first moment on, and it fits. */
import { gate } from "./support/model";
import { expect, test } from "./support/page";

test("how full the window is, and that nobody knows the price, is told while the first answer is written", async ({ page, desk }) => {
  const { open, opened } = gate();
  desk.model.says({ text: "Wait.", hold: opened });
  await desk.enter(page);
  await desk.begin(page);
  await expect(page.locator("header .cost")).toHaveText("cost not known");
  await desk.say(page, "What is this?");
  await expect(page.getByText("Wait.")).toBeVisible();
  await expect(page.getByRole("meter")).toHaveAttribute("aria-valuetext", /^≈ [1-9]/);
  await expect(page.locator("header .cost")).toHaveText("cost not known");
  open();
  await desk.settled(page);
  await expect(page.getByRole("meter")).toHaveAttribute("aria-valuetext", /^1\.2k/);
  await expect(page.locator("header .cost")).toHaveText("cost not known");
});

for (const [width, view] of [
  [1024, "envelope"],
  [1024, "changes"],
  [1180, "envelope"],
  [700, "envelope"],
  [390, "chat"],
  [390, "envelope"],
] as const) {
  test(`nothing in it lies over anything, or is cut: ${view} at ${width} px`, async ({ page, desk }) => {
    desk.model.says({ calls: [{ name: "write", arguments: { path: "a.txt", content: "one\ntwo\n" } }] }, { text: "Done." });
    await page.setViewportSize({ width: 1280, height: 800 });
    await desk.enter(page);
    const session = await desk.begin(page);
    await desk.say(page, "Write a file whose name is a single letter, and tell me when that is done");
    await desk.settled(page);
    await page.setViewportSize({ width, height: 800 });
    await page.goto(`${desk.server.origin}/#/s/${session}${view === "chat" ? "" : `/${view}`}`);
    const head = page.locator("header.bar");
    await expect(head.locator(".cost")).toBeVisible();
    if (view !== "chat") {
      await expect(head.locator(".back")).toBeVisible();
    }
    const faults = await head.evaluate((bar) => {
      const shown = [...bar.querySelectorAll(":scope > *, .facts > *")].filter((node) => !node.matches(".facts") && node.getBoundingClientRect().width > 0);
      const boxes = shown.map((node) => ({ name: node.className || node.tagName, ...node.getBoundingClientRect().toJSON() }) as DOMRect & { name: string });
      const edge = bar.getBoundingClientRect().right + 1;
      const lying = boxes.flatMap((one, index) =>
        boxes.slice(index + 1).flatMap((other) => {
          const isOver = Math.min(one.right, other.right) - Math.max(one.left, other.left) > 1 && Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > 1;
          return isOver ? [`${one.name} and ${other.name}`] : [];
        }),
      );
      return [...lying, ...boxes.filter((box) => box.right > edge).map((box) => `${box.name} is cut`)];
    });
    expect(faults).toEqual([]);
    if (view === "chat") {
      // A phone has no room for a third row.
      expect((await head.locator(".facts").boundingBox())?.height).toBeLessThan(40);
    }
    expect((await head.locator("h1").boundingBox())?.width).toBeGreaterThan(60);
  });
}
