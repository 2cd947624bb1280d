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

test("what waits is changed with its lines, and keeps its files", async ({ page, desk }) => {
  await desk.server.write("project/my notes.md", "the notes\nof two lines\n");
  const rest = gate();
  desk.model.says({ text: ["Begun. ", "Done."], hold: rest.opened });
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Begin");
  await expect(page.getByText("Begun.")).toBeVisible();
  // A name with a blank is offered as one that is attached.
  await desk.editor(page).pressSequentially("read @notes");
  await expect(page.getByRole("option").first()).toContainText("my notes.md");
  await desk.editor(page).press("Tab");
  await expect(desk.editor(page)).toHaveValue('read @"my notes.md" ');
  await desk.editor(page).press("Alt+Enter");
  const item = page.getByRole("region", { name: "Waits to be said" }).getByRole("listitem");
  await expect(item.locator(".text")).toHaveText('read @"my notes.md" · my notes.md');
  await item.getByRole("button", { name: "Change the text" }).click();
  const words = item.getByRole("textbox");
  await expect(words).toHaveValue('read @"my notes.md"');
  await words.press("End");
  await words.press("Shift+Enter");
  await words.pressSequentially("and more");
  // An enter that chooses a word of an input method does nothing else.
  await words.evaluate((area) => area.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", isComposing: true, bubbles: true, cancelable: true })));
  await expect(words).toHaveValue('read @"my notes.md"\nand more');
  await words.press("Enter");
  await expect(item.locator(".text")).toContainText("and more");
  rest.open();
  await desk.settled(page);
  const asked = desk.model.asked.at(-1)?.messages.at(-1)?.content;
  expect(JSON.stringify(asked)).toMatch(/read @\\"my notes\.md\\"\\nand more\\n\\n<file name=\\".*my notes\.md\\">\\nthe notes\\nof two lines\\n\\n<\/file>/);
});
