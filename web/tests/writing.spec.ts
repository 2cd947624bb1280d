/** What an extension writes into the editor, just before somebody presses Enter. */
import { existsSync, readFileSync } from "node:fs";
import type { Page } from "@playwright/test";
import { expect, test } from "./support/page";

const SCRIBE = readFileSync(new URL("extensions/scribe.ts", import.meta.url), "utf8");

test.use({ files: { "agent/extensions/scribe.ts": SCRIBE } });

const authors = (page: Page) => page.locator("[data-authors]");
const held = (page: Page) => page.locator(".held");
/** As long as somebody reads. */
const read = (page: Page) => page.waitForTimeout(800);

/** Presses Enter as soon as the editor says this, before anybody can have read it: in the page, where nothing is slow. */
function pressAtOnce(page: Page, text: string): Promise<void> {
  return page.evaluate(
    (wanted) =>
      new Promise<void>((resolve) => {
        const look = () => {
          const area = document.querySelector<HTMLTextAreaElement>("form.composer textarea");
          if (area?.value !== wanted) {
            requestAnimationFrame(look);
            return;
          }
          area.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
          resolve();
        };
        look();
      }),
    text,
  );
}

test("a command of the shell that an extension wrote is read before it is sent, and is the extension's own", async ({ page, desk }) => {
  const isMade = () => existsSync(`${desk.server.folder}/project/owned`);
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "/write !touch owned");
  await desk.editor(page).fill("explain this project please");
  await pressAtOnce(page, "!touch owned");
  await expect(held(page)).toHaveText("This has just changed. Send again when you have read it.");
  await expect(authors(page)).toHaveText("Not written by you alone: Extension scribe");
  await read(page);
  await desk.editor(page).press("Enter");
  await expect(held(page)).toContainText("Send again to run it");
  await desk.editor(page).press("Enter");
  await expect(desk.editor(page)).toHaveValue("!touch owned");
  // Neither does a reload make it the person's.
  await page.reload();
  await expect(authors(page)).toBeVisible();
  await desk.editor(page).press("Enter");
  await read(page);
  await desk.editor(page).press("Enter");
  await expect(page.getByText("Refused: the extension scribe wrote it: Extension scribe wanted exec: touch owned")).toBeVisible();
  await expect(desk.editor(page)).toHaveValue("");
  expect(isMade()).toBe(false);
  // What somebody writes alone is theirs.
  await desk.say(page, "!touch owned");
  await expect.poll(isMade).toBe(true);
});

test("a command of the page that an extension wrote takes another Enter, and a prompt none", async ({ page, desk }) => {
  desk.model.says({ text: "Hello." });
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "/write /close");
  await pressAtOnce(page, "/close");
  await read(page);
  await desk.editor(page).press("Enter");
  await expect(held(page)).toContainText("Send again to run it");
  await expect(desk.editor(page)).toHaveValue("/close");
  await desk.editor(page).fill("");
  await expect(authors(page)).toHaveCount(0);
  await desk.say(page, "/write Say hello");
  await expect(desk.editor(page)).toHaveValue("Say hello");
  await expect(authors(page)).toHaveCount(0);
  await read(page);
  await desk.editor(page).press("Enter");
  await expect(page.getByText("Hello.")).toBeVisible();
});
