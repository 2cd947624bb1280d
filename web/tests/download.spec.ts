/** A session as a file for whoever sits before the browser. */
import { readFile } from "node:fs/promises";
import type { Page } from "@playwright/test";
import { expect, test } from "./support/page";

async function save(page: Page, choice: string): Promise<{ name: string; text: string }> {
  await page.locator("header.bar").getByRole("button", { name: "More" }).click();
  await page.getByRole("menuitem", { name: /Download the session/ }).click();
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("option", { name: choice }).click()]);
  return { name: file.suggestedFilename(), text: await readFile(await file.path(), "utf8") };
}

test("a session is downloaded in every form", async ({ page, desk }) => {
  desk.model.says({ text: "Use **tabs** <script>alert(1)</script>." });
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Tabs or spaces?");
  await desk.settled(page);
  const html = await save(page, "Page (HTML)");
  expect(html.name).toMatch(/^pi-session-.*\.html$/);
  expect(html.text).toContain("Tabs or spaces?");
  expect(html.text).not.toContain("<script>alert");
  const markdown = await save(page, "Markdown");
  expect(markdown.name).toMatch(/\.md$/);
  expect(markdown.text).toContain("Use **tabs**");
  const envelope = await save(page, "Envelope (JSON)");
  expect(envelope.name).toMatch(/\.json$/);
  expect(JSON.parse(envelope.text)).toMatchObject({ version: "1.0" });
  const all = await save(page, "All envelopes (JSON)");
  expect(all.name).toMatch(/^pi-envelopes-.*\.json$/);
  expect(JSON.parse(all.text)).toEqual([JSON.parse(envelope.text)]);
  const viewer = await save(page, "Envelopes (HTML)");
  expect(viewer.text).toContain('"album":"1.0"');
  // By its name as well, and what nobody can have is told.
  const [file] = await Promise.all([page.waitForEvent("download"), desk.say(page, "/export markdown")]);
  expect(file.suggestedFilename()).toBe(markdown.name);
});

test("who is not let in gets no file, and why there is none is told", async ({ page, desk }) => {
  await desk.enter(page);
  const session = await desk.begin(page);
  const address = `${desk.server.origin}/export?session=${session}&form=html`;
  expect((await fetch(address)).status).toBe(401);
  desk.allow(/409/);
  await desk.say(page, "/export envelope");
  await expect(page.locator(".notice.error")).toBeVisible();
});
