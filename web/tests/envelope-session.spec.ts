/** What the model saw in a session of the real server: the strip above an answer, the view behind it, and switches that act. */
import { expect, test } from "./support/page";

test("a strip above the answer leads to what the model saw, and a tool that is turned off is gone from the next request", async ({ page, desk }) => {
  await desk.server.write("project/AGENTS.md", "Use tabs, and say so.\n");
  desk.model.says({ text: "First answer." }, { text: "Second answer." });
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Hello there");
  await desk.settled(page);
  const strip = page.getByRole("link", { name: /What the model saw: [\d,]+ tokens/ });
  await expect(strip).toHaveCount(1);
  await strip.click();
  await expect(page.locator('[data-kind="system_prompt"]').first()).toBeVisible();
  await expect(page.locator('[data-kind="tool_overview"]').first()).toContainText("bash");
  await expect(page.locator('[data-kind="text"]')).toContainText("Hello there");
  // The sum of what stands beside the segments is the total above them.
  const number = (text: string) => Number(text.replace(/[^\d]/g, ""));
  const counts = await page.locator("article.segment .margin .count a").allTextContents();
  const total = await page.locator("dl.facts dd strong").first().textContent();
  expect(counts.map(number).reduce((one, other) => one + other, 0)).toBe(number(total ?? ""));

  await page.keyboard.press("t");
  await expect(page).toHaveURL(/\/treemap/);
  const row = page.getByRole("listitem").filter({ has: page.getByText("bash", { exact: true }) });
  await row.getByRole("button", { name: /Turn off: saves [\d.]+k? tokens a turn/ }).click();
  await expect(page.getByText("From the next turn on")).toBeVisible();
  await expect(row.getByRole("button")).toHaveText("Turn on");

  await page.goBack();
  await page.goBack();
  await desk.say(page, "And now?");
  await desk.settled(page);
  await expect(strip).toHaveCount(2);
  await strip.last().click();
  await expect(page.locator(".scrubber .told")).toContainText("Request 2 of 2");
  await expect(page.locator(".broke")).toContainText("Tools changed (−bash)");
  await page.keyboard.press("d");
  await expect(page.locator(".rows .row.changed")).toContainText("−bash");
  await page.keyboard.press("s");
  await page.reload();
  await expect(page.locator(".scrubber .told")).toContainText("Request 2 of 2");
});
