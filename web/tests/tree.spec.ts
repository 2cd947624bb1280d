/** The tree of a conversation. */
import { expect, test } from "./support/page";

test("a message with files is known by its words", async ({ page, desk }) => {
  await desk.server.write("project/src/pair.rs", "pub fn pair() {}\n");
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Look at @src/pair.rs");
  await desk.settled(page);
  await desk.turn(page, "/tree");
  const line = page.getByRole("treeitem").first();
  await expect(line.locator(".text")).toHaveText("Look at @src/pair.rs");
  await line.click();
  await expect(page.getByRole("dialog").locator(".goal")).toHaveText("Look at @src/pair.rs");
});
