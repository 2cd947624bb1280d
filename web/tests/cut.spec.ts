/** A command that fails after what was said had become part of the conversation. */
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "./support/page";

test("what was said stands in the conversation alone when the server is killed in its run", async ({ page, desk }) => {
  desk.allow(/./); // The connection is cut, and the browser says so.
  desk.model.says({ text: "Half an", hold: new Promise(() => undefined) });
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "paint the fence");
  await expect(page.locator("[data-role=assistant]")).toContainText("Half an");
  await desk.server.kill();
  await expect(page.locator("[data-link=offline], [data-link=connecting]").first()).toBeAttached();
  await desk.server.launch();
  await page.goto(await desk.server.address());
  const notice = page.locator(".notice.error");
  await expect(notice).toContainText("The server was ended in the middle of this.");
  await expect(notice).not.toContainText(/\bid\b|\bkey\b|recovery/);
  await expect(page.locator("[data-role=user]")).toHaveCount(1);
  await expect(desk.editor(page)).toHaveValue("");
});

test("what was refused because its file is gone is back in the editor and not in the conversation", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "first");
  await desk.settled(page);
  const sessions = join(desk.server.folder, "agent/sessions");
  for (const folder of await readdir(sessions)) {
    await rm(join(sessions, folder), { recursive: true });
  }
  await desk.say(page, "second");
  await expect(page.locator(".notice.error").first()).toContainText("The file of this session is gone");
  await expect(desk.editor(page)).toHaveValue("second");
  await expect(page.locator("[data-role=user]").filter({ hasText: "second" })).toHaveCount(0);
  expect(desk.model.asked).toHaveLength(1);
});
