/** What goes wrong is said where the person is. */
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "./support/page";
import { sessionFile, storeLong } from "./support/long";

test("a session that cannot be made says why, also in a session", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  const folder = join(desk.server.folder, "project");
  await rm(folder, { recursive: true });
  await page.keyboard.press("Alt+n");
  const notice = page.locator("main .notice.error");
  await expect(notice).toBeVisible();
  await expect(notice).toContainText("No such file or directory");
  await notice.getByRole("button", { name: "Dismiss" }).click();
  await expect(notice).toHaveCount(0);
  await mkdir(folder);
});

test("a stored session that cannot be opened from the palette says why", async ({ page, desk }) => {
  await storeLong(desk.server, 2);
  await desk.enter(page);
  await expect(page.locator("[data-state=stored]")).toBeVisible();
  await rm(join(desk.server.folder, sessionFile(desk.server, "2026-11-15T10-00-00-000Z_11111111-2222-7333-8444-555555555555")));
  await page.keyboard.press("Control+k");
  await page.keyboard.type("Question number 1");
  await page.keyboard.press("Enter");
  await expect(page.locator("main .notice.error")).toBeVisible();
});

test("while a session is made, the button says so and makes no second one", async ({ page, desk }) => {
  let isHeld = false;
  await page.routeWebSocket(/\/ws/, (client) => {
    const server = client.connectToServer();
    server.onMessage((message) => {
      if (!isHeld || !String(message).includes('"create_session"')) {
        client.send(message);
      }
    });
  });
  await desk.enter(page);
  isHeld = true;
  const button = page.getByRole("main").getByRole("button", { name: "New session" });
  await button.click();
  await expect(button).toBeDisabled();
  await expect(button.locator(".spin")).toBeVisible();
});
