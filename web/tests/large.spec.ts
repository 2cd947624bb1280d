import { storeLong } from "./support/long";
import { expect, test } from "./support/page";

const COUNT = 10_000;

test("a long conversation is opened at its end, and nothing of its beginning is drawn", async ({ page, desk }) => {
  await storeLong(desk.server, 1000);
  await page.addInitScript(() => {
    const drawn = new Set<number>();
    Object.assign(window, { drawn });
    new MutationObserver((changes) => {
      for (const node of changes.flatMap((change) => [...change.addedNodes])) {
        for (const found of node.textContent?.matchAll(/(?:Question|Answer) number (\d+)/g) ?? []) {
          if (node.parentElement?.closest("[role=feed]") !== null) {
            drawn.add(Number(found[1]));
          }
        }
      }
    }).observe(document, { childList: true, subtree: true });
  });
  await desk.enter(page);
  await page.locator("[data-session]").filter({ hasText: "Question number 1" }).locator(".open").click();
  await expect(page.getByText("Answer number 1000")).toBeInViewport();
  // Until the rows above what can be seen are there as well.
  await expect.poll(() => page.locator("[data-row]").count()).toBeGreaterThan(8);
  const drawn = await page.evaluate(() => [...(window as unknown as { drawn: Set<number> }).drawn]);
  expect(Math.max(...drawn)).toBe(1000);
  // Of the 120 messages that were read.
  expect(Math.min(...drawn)).toBeGreaterThan(940);
});

test("a conversation of ten thousand messages opens, scrolls and is reached by a link", async ({ page, desk }) => {
  test.slow();
  await storeLong(desk.server, COUNT);
  await desk.enter(page);
  const line = page.locator("[data-session]").filter({ hasText: "Question number 1" });
  await expect(line).toContainText(`${COUNT} messages`);
  const started = Date.now();
  await line.locator(".open").click();
  // How long it takes is the bench's business; a busy machine is no fault of the page.
  await expect(page.getByText(`Answer number ${COUNT}`)).toBeInViewport({ timeout: 60_000 });
  test.info().annotations.push({ type: "figures", description: `opened in ${Date.now() - started} ms` });
  // Only what can be seen is on the page.
  expect(await page.locator("[data-row]").count()).toBeLessThan(60);
  const scroller = page.locator(".scroller");
  await scroller.hover();
  await expect(async () => {
    await page.mouse.wheel(0, -6000);
    const shown = await page.locator("[data-role=user]").first().textContent({ timeout: 1000 });
    expect(Number(/number (\d+)/.exec(shown ?? "")?.[1])).toBeLessThan(COUNT - 300);
  }).toPass({ intervals: [30], timeout: 60_000 });
  expect(await page.locator("[data-row]").count()).toBeLessThan(60);
  // A place near the beginning, by its address.
  const session5 = /#\/s\/([^/]+)/.exec(page.url())?.[1] ?? "";
  await page.goto(`${desk.server.origin}/#/s/${session5}/m/00000005`);
  await expect(page.getByText("Question number 5", { exact: true })).toBeInViewport({ timeout: 60_000 });
  // The place gets the focus when it has come to rest; until then the key is the editor's.
  await expect(async () => {
    await page.keyboard.press("End");
    await expect(page.getByText(`Answer number ${COUNT}`)).toBeInViewport({ timeout: 2_000 });
  }).toPass({ timeout: 60_000 });
  // The tree stands where the conversation does, and its beginning is one key away.
  await page.goto(`${desk.server.origin}/#/s/${session5}/tree`);
  const here = page.getByRole("treeitem", { selected: true });
  await expect(here).toContainText(`Answer number ${COUNT}`, { timeout: 60_000 });
  await expect(here).toBeInViewport();
  expect(await page.getByRole("treeitem").count()).toBeLessThan(150);
  await here.focus();
  await page.keyboard.press("Home");
  await expect(page.locator("[role=treeitem][aria-posinset='1']")).toBeFocused();
});
