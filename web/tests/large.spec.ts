import { expect, test } from "./support/page";

const COUNT = 10_000;

/** A session file as the server writes it, with many messages. */
function session(cwd: string): string {
  const id = "11111111-2222-7333-8444-555555555555";
  const start = Date.parse("2026-11-15T10:00:00.000Z");
  const at = (index: number) => new Date(start + index * 1000).toISOString();
  const lines: object[] = [{ type: "session", version: 3, id, timestamp: at(0), cwd }];
  let parentId: string | null = null;
  const entry = (index: number, message: object) => {
    const entryId = index.toString(16).padStart(8, "0");
    lines.push({ type: "message", id: entryId, parentId, timestamp: at(index), message });
    parentId = entryId;
  };
  const usage = { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, totalTokens: 15, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } };
  for (let index = 1; index <= COUNT; index += 1) {
    const timestamp = start + index * 1000;
    if (index % 2 === 1) {
      entry(index, { role: "user", content: `Question number ${index}`, timestamp });
    } else {
      const text = `Answer number ${index}\n\n${"Some words that fill a line. ".repeat(1 + (index % 9))}`;
      entry(index, { role: "assistant", content: [{ type: "text", text }], api: "openai-completions", provider: "local", model: "scripted", usage, stopReason: "stop", timestamp });
    }
  }
  return `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`;
}

test("a conversation of ten thousand messages opens, scrolls and is reached by a link", async ({ page, desk }) => {
  test.slow();
  const cwd = `${desk.server.folder}/project`;
  const folder = `--${cwd.replace(/^\//, "").replaceAll("/", "-")}--`;
  await desk.server.write(`agent/sessions/${folder}/2026-11-15T10-00-00-000Z_11111111-2222-7333-8444-555555555555.jsonl`, session(cwd));
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
  const wheel = async (times: number) => {
    for (let turn = 0; turn < times; turn += 1) {
      await page.mouse.wheel(0, -3000);
      await page.waitForTimeout(20);
    }
  };
  await scroller.hover();
  await wheel(60);
  const shown = await page.locator("[data-role=user]").first().textContent();
  const number = Number(/number (\d+)/.exec(shown ?? "")?.[1]);
  expect(number).toBeLessThan(COUNT - 300);
  expect(await page.locator("[data-row]").count()).toBeLessThan(60);
  // A place near the beginning, by its address.
  const session5 = /#\/s\/([^/]+)/.exec(page.url())?.[1] ?? "";
  await page.goto(`${desk.server.origin}/#/s/${session5}/m/00000005`);
  await expect(page.getByText("Question number 5", { exact: true })).toBeInViewport({ timeout: 60_000 });
  await page.keyboard.press("End");
  await expect(page.getByText(`Answer number ${COUNT}`)).toBeInViewport();
});
