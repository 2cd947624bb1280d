/** The first minute: what is to be seen before anything was said, and what the page explains. */
import { expect, test } from "./support/page";

test("the window is as full as the last request, also if nobody answered it", async ({ page, desk }) => {
  desk.model.says({ fail: 400 });
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Hello");
  await desk.settled(page);
  await expect(page.locator(".failure")).toBeVisible();
  const meter = page.getByRole("meter");
  await expect(meter).toHaveAttribute("aria-valuetext", /^≈ \d{3} \//);
  await desk.say(page, "Hello again");
  await desk.settled(page);
  await expect(meter).toHaveAttribute("aria-valuetext", /^1\.2k \//);
});

test("the window is told while the first calls are at work", async ({ page, desk }) => {
  desk.model.says({ calls: [{ name: "bash", arguments: { command: "while [ ! -e go ]; do sleep 0.05; done" } }] });
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Wait");
  await expect(page.locator("[data-tool=bash]")).toHaveAttribute("data-status", "running");
  await expect(page.getByRole("meter")).toHaveAttribute("aria-valuetext", /^1\.2k \//);
  await desk.server.write("project/go", "");
  await desk.settled(page);
});
