/** What extensions ask, draw and announce: a real one, in the folder of the agent, that the real server runs. */
import { readFileSync } from "node:fs";
import type { Page } from "@playwright/test";
import { expect, test } from "./support/page";

const SURVEY = readFileSync(new URL("extensions/survey.ts", import.meta.url), "utf8");

test.use({ files: { "agent/extensions/survey.ts": SURVEY } });

const question = (page: Page, text: string) => page.getByRole("region", { name: "A question for you" }).filter({ hasText: text });

test("every kind of question is asked inline, and the extension gets the answers", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "/survey");

  await expect(question(page, "Which?").getByRole("button", { name: "left" })).toBeFocused();
  await page.keyboard.press("2");
  await expect(question(page, "It costs.").getByRole("button").first()).toBeFocused();
  await page.keyboard.press("y");
  await question(page, "Name?").getByPlaceholder("a name").fill("Ann");
  await page.keyboard.press("Enter");
  const editor = question(page, "Text").getByRole("textbox");
  await expect(editor).toHaveValue("before");
  await editor.fill("after");
  await question(page, "Text").getByRole("button", { name: "Answer" }).click();
  const form = question(page, "About you");
  await form.getByLabel("Your name").fill("Bo");
  await form.getByLabel("blue").check();
  await form.getByLabel("saw").check();
  await form.getByLabel("axe").check();
  await form.getByLabel("Agreed").check();
  await form.getByRole("button", { name: "Answer" }).click();

  const told = { side: "right", isSure: true, name: "Ann", text: "after", form: { name: "Bo", colour: "blue", tools: ["saw", "axe"], agreed: true } };
  await expect(page.getByText('{"side"')).toBeVisible();
  expect(JSON.parse((await page.getByText('{"side"').textContent()) ?? "")).toEqual(told);
  await expect(question(page, "")).toHaveCount(0);
});

test("a question is asked of every browser, also one that comes later, and whoever answers first decides", async ({ page, desk, second }) => {
  await desk.enter(page);
  const session = await desk.begin(page);
  await desk.say(page, "/survey");
  await expect(question(page, "Which?")).toBeVisible();
  const other = await second();
  await other.goto(`${desk.server.origin}/#/s/${session}`);
  await question(other, "Which?").getByRole("button", { name: "left" }).click();
  await expect(question(page, "Which?")).toHaveCount(0);
  await question(page, "It costs.").getByRole("button", { name: "No" }).click();
  await expect(question(other, "It costs.")).toHaveCount(0);
  await expect(question(other, "Name?")).toBeVisible();
});

test("a component is drawn with its styles and gets keys in their order", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "/keys");
  const box = page.locator("[data-component]");
  await expect(box).toContainText("Keys:");
  await expect(box.locator(".bold")).toHaveText("Keys:");
  await expect(box).toBeFocused();
  for (const key of ["a", "ArrowDown", "Control+c"]) {
    await page.keyboard.press(key);
  }
  await expect(box).toContainText("a down ctrl+c");
  await page.keyboard.press("Enter");
  await expect(box).toHaveCount(0);
  await expect(page.getByText("heard a down ctrl+c enter")).toBeVisible();
  await expect(desk.editor(page)).toBeFocused();
});

test("announcements of extensions are shown", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  // The editor is not empty for long: the extension writes into it.
  await desk.editor(page).fill("/announce");
  await desk.editor(page).press("Enter");
  await expect(page.getByText("Careful now")).toBeVisible();
  await expect(page.getByText("main +2")).toBeVisible();
  await expect(page.getByText("a widget")).toBeVisible();
  await expect(desk.editor(page)).toHaveValue("from an extension");
});
