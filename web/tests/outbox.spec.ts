/** What was sent and is not taken yet is seen, and gets there. */
import { expect, test } from "./support/page";
import { storeLong } from "./support/long";
import { gate } from "./support/model";

test("what is said offline while a run works is seen, and is said once", async ({ page, desk }) => {
  const rest = gate();
  desk.model.says({ text: ["Begun. ", "Ended."], hold: rest.opened }, { text: "Steered." });
  desk.allow(/WebSocket|ERR_|readyz/);
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Go");
  await expect(page.getByText("Begun.")).toBeVisible();
  await page.context().setOffline(true);
  await expect(page.locator("[data-link=offline]:visible, [data-link=connecting]:visible").first()).toBeVisible();
  await desk.say(page, "Left please");
  const waiting = page.locator(".outgoing");
  await expect(waiting).toContainText("Left please");
  await expect(waiting).toContainText("not taken by the server yet");
  await page.context().setOffline(false);
  await expect(waiting).toHaveCount(0, { timeout: 30_000 });
  rest.open();
  await expect(page.getByText("Steered.")).toBeVisible();
  await desk.settled(page);
  await expect(page.locator("[data-role=user]").filter({ hasText: "Left please" })).toHaveCount(1);
});

test("what is said offline in a long conversation stands above the editor", async ({ page, desk }) => {
  desk.allow(/WebSocket|ERR_|readyz/);
  await storeLong(desk.server, 60);
  await desk.enter(page);
  await page.locator("[data-state=stored] .open").click();
  await expect(page.getByText("Answer number 60")).toBeVisible();
  await page.context().setOffline(true);
  await expect(page.locator("[data-link=offline]:visible, [data-link=connecting]:visible").first()).toBeVisible();
  for (const words of ["Are you there?", "And now?"]) {
    await desk.say(page, words);
    await expect(page.locator(".outgoing").last()).toContainText(words);
    const isAbove = async () => {
      const [said, editor] = [await page.locator(".outgoing").last().boundingBox(), await page.locator(".composer").boundingBox()];
      return said !== null && editor !== null && said.y + said.height <= editor.y;
    };
    await expect.poll(isAbove).toBe(true);
  }
});

for (const reload of [false, true]) {
  test(`what waited while the server was away is there after it came back${reload ? ", also after a reload" : ""}`, async ({ page, desk }) => {
    desk.allow(/WebSocket|ERR_|readyz/);
    await desk.enter(page);
    await desk.begin(page);
    await desk.say(page, "Hello");
    await desk.settled(page);
    const place = page.url();
    await desk.server.kill();
    await expect(page.locator("[data-link=offline]:visible, [data-link=connecting]:visible").first()).toBeVisible();
    await desk.say(page, "Are you there?");
    await expect(page.locator(".outgoing")).toContainText("Are you there?");
    desk.model.says({ text: "I am." });
    await desk.server.launch();
    if (reload) {
      await page.reload();
    }
    await expect(page.getByText("I am.")).toBeVisible({ timeout: 30_000 });
    await expect(page).toHaveURL(place);
    await desk.settled(page);
    await expect(page.locator("[data-role=user]").filter({ hasText: "Are you there?" })).toHaveCount(1);
    await expect(page.locator(".outgoing")).toHaveCount(0);
  });
}
