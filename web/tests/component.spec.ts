/** Ways into what an extension draws, and out of it: with keys, with a mouse, and with a finger. */
import { readFileSync } from "node:fs";
import type { Page } from "@playwright/test";
import { violations } from "./support/axe";
import { expect, test } from "./support/page";

const text = (file: string) => readFileSync(new URL(`extensions/${file}`, import.meta.url), "utf8");
test.use({ files: { "agent/extensions/chooser.ts": text("chooser.ts"), "agent/extensions/survey.ts": text("survey.ts") } });

const box = (page: Page) => page.locator("[data-component]");
const frame = (page: Page) => page.locator(".frame", { has: box(page) }).last();

test("Alt+A leads to it and back to the editor, and it says so", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "/choose");
  await expect(box(page)).toContainText("> red");
  await expect(frame(page)).toContainText("your keys go here");
  await page.keyboard.press("Alt+a");
  await expect(box(page)).toBeFocused();
  await expect(frame(page)).toContainText("back to the editor; every other key goes here");
  await expect(box(page)).toHaveAccessibleDescription(/Alt A back to the editor/);
  for (const key of ["ArrowDown", "Tab", "x"]) {
    await page.keyboard.press(key);
  }
  await expect(box(page)).toContainText(/> green.*typed: {2,}x/s);
  await page.keyboard.press("Alt+a");
  await expect(desk.editor(page)).toBeFocused();
  await page.keyboard.type("meanwhile");
  await expect(desk.editor(page)).toHaveValue("meanwhile");
  await page.keyboard.press("Alt+a");
  await page.keyboard.press("Enter");
  await expect(page.getByText(/chosen: green/)).toBeVisible();
  await expect(desk.editor(page)).toBeFocused();
  await page.getByRole("button", { name: "Keys", exact: true }).click();
  await expect(page.getByRole("dialog").getByText(/from a component back to the editor/)).toBeVisible();
});

test("a button dismisses it as Escape does", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "/choose");
  await expect(box(page)).toContainText("> red");
  expect(await violations(page)).toEqual([]);
  await frame(page).getByRole("button", { name: "Dismiss" }).click();
  await expect(page.getByText("chosen: nothing")).toBeVisible();
  await expect(box(page)).toHaveCount(0);
});

test("none is left over when the server was started again, and nothing that was announced", async ({ page, desk }) => {
  desk.allow(/WebSocket|ERR_|net::/);
  await desk.server.write("agent/extensions/flags.ts", `export default (pi) => pi.registerCommand("flags", { description: "Announces", handler: async (_, { ui }) => { ui.setStatus("a", "status of mine"); ui.setWidget("w", ["widget line"]); } });`);
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Hello");
  await desk.settled(page);
  await desk.say(page, "/flags");
  await expect(page.getByText("status of mine")).toBeVisible();
  await desk.say(page, "/choose");
  await expect(box(page)).toContainText("> red");
  await desk.server.kill();
  await expect(page.locator("[data-link=live]")).toHaveCount(0);
  await desk.server.launch();
  await expect(page.locator("[data-link=live]:visible").first()).toBeVisible();
  await expect(box(page)).toHaveCount(0);
  await expect(page.getByText("status of mine")).toHaveCount(0);
  await expect(page.getByText("widget line")).toHaveCount(0);
});

test("one of which nobody knows any more goes with the next key", async ({ page, desk }) => {
  await page.routeWebSocket(/\/ws/, (client) => {
    const server = client.connectToServer();
    client.onMessage((message) => {
      const said = JSON.parse(String(message)) as { id: string; type: string };
      if (said.type !== "extension_ui_key") {
        return server.send(message);
      }
      client.send(JSON.stringify({ id: said.id, type: "response", command: said.type, success: false, error: "nobody asks", code: "no_pending_request" }));
    });
  });
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "/choose");
  await expect(box(page)).toContainText("> red");
  await frame(page).getByRole("button", { name: "Dismiss" }).click();
  await expect(box(page)).toHaveCount(0);
});

test("one that does not go at Escape can be ended", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "/keys");
  await expect(box(page)).toContainText("Keys:");
  await frame(page).getByRole("button", { name: "Dismiss" }).click();
  await frame(page).getByRole("button", { name: "End it" }).click();
  await expect(box(page)).toHaveCount(0);
  await desk.settled(page);
});

test.describe("with a finger", () => {
  test.use({ viewport: { width: 375, height: 720 }, hasTouch: true, isMobile: true });

  test("keys are pressed and letters typed", async ({ page, desk }) => {
    await desk.enter(page);
    await desk.begin(page);
    await desk.editor(page).fill("/choose ");
    await page.getByRole("button", { name: "Send" }).tap();
    await expect(box(page)).toContainText("> red");
    const keys = frame(page).getByRole("group", { name: "Keys for it" });
    await keys.getByRole("button", { name: "Down" }).tap();
    await keys.getByRole("button", { name: "Down" }).tap();
    await keys.getByRole("button", { name: "Up" }).tap();
    await expect(box(page)).toContainText("> green");
    const letters = keys.getByRole("textbox", { name: "letters for it" });
    await letters.tap();
    await page.keyboard.type("abc");
    await page.keyboard.press("Backspace");
    await expect(box(page)).toContainText("typed: ab");
    await expect(letters).toHaveValue("");
    await expect(letters).toBeFocused();
    await page.screenshot({ path: "/tmp/page-chat/touch.png" });
    expect(await violations(page)).toEqual([]);
    await keys.getByRole("button", { name: "Enter" }).tap();
    await expect(page.getByText("chosen: green ab")).toBeVisible();
  });
});

test("keys for a finger are not there for a mouse", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "/choose");
  await expect(box(page)).toContainText("> red");
  await expect(page.getByRole("group", { name: "Keys for it" })).toHaveCount(0);
  await page.screenshot({ path: "/tmp/page-chat/component.png" });
});
