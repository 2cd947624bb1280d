/** What goes wrong is said where the person is. */
import { appendFile, mkdir, readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
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

test("news fade, what went wrong stays until it is dismissed or another view is opened", async ({ page, desk }) => {
  await page.clock.install();
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "hello");
  await desk.settled(page);
  await desk.say(page, "/usage");
  await desk.turn(page, "/zzz");
  await expect(page.locator(".notice")).toHaveCount(2);
  await page.clock.fastForward(15_000);
  await expect(page.locator(".notice.info")).toHaveCount(0);
  await expect(page.locator(".notice.warning")).toHaveCount(1);
});

test("a conversation that is not written any more says so", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "hello");
  await desk.settled(page);
  const folder = join(desk.server.folder, dirname(sessionFile(desk.server, "any")));
  const [file] = (await readdir(folder)).filter((name) => name.endsWith(".jsonl"));
  // Another program writes into it: nothing is added to what we do not know.
  await appendFile(join(folder, file ?? ""), '{"type":"custom","customType":"x","id":"deadbeef","parentId":null,"timestamp":"2026-11-15T10:00:00.000Z"}\n');
  await desk.say(page, "and again");
  await expect(page.locator("main .notice.error").filter({ hasText: "not written to its file any more" })).toBeVisible();
});

test("a browser that is not let in is not told to be offline", async ({ page, desk }) => {
  desk.allow(/401|WebSocket/);
  await desk.look(page);
  await page.goto(desk.server.origin);
  await expect(page.getByText("This browser is not let in yet")).toBeVisible();
  await expect(page.locator("[data-link]:visible")).toHaveCount(0);
});
