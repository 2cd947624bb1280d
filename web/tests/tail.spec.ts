/** The newest output of a tool at work is in sight. */
import type { Page } from "@playwright/test";
import { expect, test } from "./support/page";

/** Whether the last letter that was written can be seen. */
async function sees(page: Page, last: string): Promise<boolean> {
  return page.locator(".tail pre").evaluate((pre, last) => {
    const text = pre.querySelector("span")?.firstChild;
    const at = text?.textContent?.lastIndexOf(last) ?? -1;
    if (!(text instanceof Text) || at < 0) {
      return false;
    }
    const range = document.createRange();
    range.setStart(text, at);
    range.setEnd(text, at + last.length);
    const [words, room] = [range.getBoundingClientRect(), pre.getBoundingClientRect()];
    return words.height > 0 && words.top >= room.top - 1 && words.bottom <= room.bottom + 1;
  }, last);
}

for (const [what, line] of [
  ["short lines", "row $i"],
  ["lines of several rows", "row $i $(printf 'word %.0s' $(seq 60)) end $i"],
] as const) {
  test(`of ${what}`, async ({ page, desk }) => {
    desk.model.says({ calls: [{ name: "bash", arguments: { command: `for i in $(seq 30); do echo "${line}"; done; while [ ! -e go ]; do sleep 0.05; done` } }] });
    await desk.enter(page);
    await desk.begin(page);
    await desk.say(page, "Count");
    await expect(page.locator(".tail")).toContainText("row 30");
    await expect(page.locator(".tail .hidden")).toHaveText("… 24 lines before");
    expect(await sees(page, "30")).toBe(true);
    const rows = await page.locator(".tail pre").evaluate((pre) => pre.clientHeight / Number.parseFloat(getComputedStyle(pre).lineHeight));
    expect(Math.round(rows)).toBe(6);
    expect(await sees(page, "row 25")).toBe(what === "short lines");
    await desk.server.write("project/go", "");
    await desk.settled(page);
  });
}
