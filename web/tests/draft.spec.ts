/** What is about to be said, and what was said and failed, keeps its pictures. */
import type { Page } from "@playwright/test";
import { type Desk, expect, test } from "./support/page";

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

async function attach(page: Page): Promise<void> {
  await page.locator("input[type=file]").setInputFiles({ name: "dot.png", mimeType: "image/png", buffer: Buffer.from(PNG, "base64") });
  await expect(attached(page)).toHaveCount(1);
}

function attached(page: Page) {
  return page.getByRole("list", { name: "Pictures to send" }).getByRole("img");
}

function lastAsked(desk: Desk): { role: string; content: unknown }[] {
  return (desk.model.asked.at(-1)?.messages ?? []).filter(({ role }) => role === "user");
}

test("another view and another session leave the pictures of a draft where they are", async ({ page, desk }) => {
  await desk.enter(page);
  const session = await desk.begin(page);
  await desk.editor(page).fill("Look at this");
  await attach(page);
  await page.goto(`${desk.server.origin}/#/s/${session}/tree`);
  await expect(page.getByRole("heading", { name: "Tree" })).toBeVisible();
  await page.goto(`${desk.server.origin}/#/s/${session}`);
  await expect(desk.editor(page)).toHaveValue("Look at this");
  await expect(attached(page)).toHaveCount(1);
  await page.goto(`${desk.server.origin}/#/`);
  await page.goto(`${desk.server.origin}/#/s/${session}`);
  await expect(attached(page)).toHaveCount(1);
  await page.reload();
  await expect(attached(page)).toHaveCount(1);
  await desk.editor(page).press("Enter");
  await desk.settled(page);
  expect(JSON.stringify(lastAsked(desk))).toContain(PNG);
  await expect(attached(page)).toHaveCount(0);
});

test("what failed is tried again in its place, with its pictures", async ({ page, desk }) => {
  desk.model.says({ fail: 400 }, { text: "A dot." });
  await desk.enter(page);
  await desk.begin(page);
  await attach(page);
  await desk.say(page, "What is it?");
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByText("A dot.")).toBeVisible();
  await desk.settled(page);
  await expect(page.locator("[data-role=user]")).toHaveCount(1);
  await expect(page.locator("[data-role=user] img")).toHaveCount(1);
  expect(lastAsked(desk)).toHaveLength(1);
  expect(JSON.stringify(lastAsked(desk))).toContain(PNG);
});

test("whoever goes back to a message or forks from it has its pictures", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  await attach(page);
  await desk.say(page, "First");
  await desk.settled(page);
  await page.locator("[data-role=user]").hover();
  await page.getByRole("button", { name: "Go back to this message and change it" }).click();
  await expect(desk.editor(page)).toHaveValue("First");
  await expect(attached(page)).toHaveCount(1);
  await desk.editor(page).press("Enter");
  await desk.settled(page);
  await page.locator("[data-role=user]").hover();
  await page.getByRole("button", { name: /^Fork/ }).click();
  await expect(desk.editor(page)).toHaveValue("First");
  await expect(attached(page)).toHaveCount(1);
});

test("what the server does not take stands in the editor again, with its pictures", async ({ page, desk, second }) => {
  await desk.enter(page);
  const session = await desk.begin(page);
  const other = await second();
  await other.locator(`[data-session="${session}"]`).hover();
  await other.getByRole("button", { name: /^Close/ }).first().click();
  await expect(page.getByRole("alert").first()).toBeVisible();
  await desk.editor(page).fill("For nobody");
  await attach(page);
  await desk.editor(page).press("Enter");
  await expect(page.getByRole("alert").filter({ hasText: /session/i }).last()).toBeVisible();
  await expect(desk.editor(page)).toHaveValue("For nobody");
  await expect(attached(page)).toHaveCount(1);
});
