/** What waits when a run was stopped is neither lost nor a riddle. */
import { expect, test } from "./support/page";
import { gate } from "./support/model";

test("what waits after a stop says so, and is sent when one wants", async ({ page, desk }) => {
  const never = gate();
  desk.model.says({ text: ["Begun. ", "Never."], hold: never.opened });
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Begin");
  await expect(page.getByText("Begun.")).toBeVisible();
  await desk.say(page, "then this", "Alt+Enter");
  await desk.say(page, "then that", "Alt+Enter");
  const queue = page.getByRole("region", { name: "Waits to be said" });
  await expect(queue.getByRole("listitem")).toHaveCount(2);
  await expect(queue.getByRole("button", { name: "Send now" })).toHaveCount(0);
  await page.keyboard.press("Escape");
  await desk.settled(page);
  never.open();
  await expect(queue).toContainText("Nothing runs, so these wait");
  await expect(queue.getByRole("listitem").first()).toContainText("after your next message");
  await queue.getByRole("button", { name: "Send now" }).click();
  await expect(queue).toHaveCount(0);
  await desk.settled(page);
  await expect(page.locator("[data-role=user]")).toHaveText([/Begin/, /then this/, /then that/]);
});
