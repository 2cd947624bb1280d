/** A tab that nobody sees: browsers draw no frames for it, and what happens is taken up all the same. */
import type { Page } from "@playwright/test";
import { expect, test } from "./support/page";
import { storeLong } from "./support/long";
import { gate } from "./support/model";

/** Takes the page out of sight and back. No frame is drawn meanwhile, also none that was asked for before. */
async function turnable(page: Page): Promise<(visibility: "visible" | "hidden") => Promise<void>> {
  await page.addInitScript(() => {
    const [request, cancel] = [window.requestAnimationFrame.bind(window), window.cancelAnimationFrame.bind(window)];
    const waiting = new Map<number, FrameRequestCallback>();
    let last = 0;
    const draw = (id: number) =>
      request((time) => {
        const due = waiting.get(id);
        if (due !== undefined && document.visibilityState === "visible") {
          waiting.delete(id);
          due(time);
        }
      });
    window.requestAnimationFrame = (callback) => {
      last += 1;
      waiting.set(last, callback);
      draw(last);
      return last;
    };
    window.cancelAnimationFrame = (id) => {
      if (!waiting.delete(id)) {
        cancel(id);
      }
    };
    document.addEventListener("visibilitychange", () => [...waiting.keys()].forEach(draw));
  });
  return (visibility) =>
    page.evaluate((value) => {
      Object.defineProperty(document, "visibilityState", { value, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }, visibility);
}

test("a run that ends while the tab is hidden has ended in it, and is whole when the tab comes back", async ({ page, desk }) => {
  const rest = gate();
  desk.model.says({ text: ["The first half. ", "The second half."], hold: rest.opened });
  const turn = await turnable(page);
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Go");
  await expect(page.getByText("The first half.")).toBeVisible();
  await expect(page).toHaveTitle(/^● /);
  await turn("hidden");
  rest.open();
  // The title is all that one sees of a hidden tab.
  await expect(page).toHaveTitle(/^Go · pi$/);
  await expect(page.locator("[data-role=assistant] .prose")).toHaveText("The first half. The second half.");
  await turn("visible");
  await desk.settled(page);
  await expect(page.locator("[data-role=assistant]")).toHaveCount(1);
  await expect(page.locator("[data-role=assistant] .prose")).toHaveText("The first half. The second half.");
});

test.describe("a question", () => {
  test.use({ settings: { agent: { policy: { mode: "prompt", default_caps: ["read"] } } } });

  test("that comes while the tab is hidden shows in its title", async ({ page, desk }) => {
    const call = gate();
    desk.model.says({ text: ["I begin. ", "Now."], hold: call.opened, calls: [{ name: "bash", arguments: { command: "echo allowed" } }] });
    const turn = await turnable(page);
    await desk.enter(page);
    await desk.begin(page);
    await desk.say(page, "Go");
    await expect(page.getByText("I begin.")).toBeVisible();
    await turn("hidden");
    call.open();
    await expect(page).toHaveTitle(/^\(\?\) /);
    await turn("visible");
    await expect(page.getByRole("region", { name: "A question for you" })).toBeVisible();
  });
});

test("what other programs wrote meanwhile is listed when the tab comes back", async ({ page, desk }) => {
  const turn = await turnable(page);
  await desk.enter(page);
  await turn("hidden");
  await storeLong(desk.server, 2);
  await expect(page.locator("[data-state=stored]")).toHaveCount(0);
  await turn("visible");
  await expect(page.locator("[data-state=stored]")).toHaveCount(1);
});
