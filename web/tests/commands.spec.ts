/** What begins with a slash: done, or refused with the nearest name, and never asked of a model by mistake. */
import { expect, test } from "./support/page";

test.describe("commands", () => {
  test.use({ files: { "agent/prompts/review.md": "Review this: $1\n" } });

  test("one that is not there is refused with the nearest name and costs nothing", async ({ page, desk }) => {
    await desk.enter(page);
    await desk.begin(page);
    for (const [text, meant] of [["/zzz", undefined], ["/modle", "/model"], ["/reviw all", "/review"]] as const) {
      await desk.editor(page).fill(text);
      await desk.editor(page).press("Escape");
      await desk.editor(page).press("Enter");
      const notice = page.locator(".notice.warning").last();
      await expect(notice).toContainText(`There is no command ${text.split(" ")[0]}.`);
      await (meant === undefined ? expect(notice).not.toContainText("Did you mean") : expect(notice).toContainText(`Did you mean ${meant}?`));
      await expect(desk.editor(page)).toHaveValue(text);
    }
    expect(desk.model.asked).toHaveLength(0);
    await desk.say(page, " /nope");
    await desk.settled(page);
    await desk.say(page, "/review this");
    await desk.settled(page);
    await desk.say(page, "/tmp/a is a path");
    await desk.settled(page);
    expect(desk.model.asked).toHaveLength(3);
  });

  test("those that only a terminal has say what to do instead, and are not asked of a model", async ({ page, desk }) => {
    await desk.enter(page);
    await desk.begin(page);
    const told = [
      ["/trust", `pi trust ${desk.server.folder}/project`],
      ["/resume", "Alt S"],
      ["/label here", "press l"],
      ["/reload", "/extensions"],
    ] as const;
    for (const [text, advice] of told) {
      await desk.editor(page).fill(text);
      await desk.editor(page).press("Escape");
      await desk.editor(page).press("Enter");
      const notice = page.locator(".notice.warning").last();
      await expect(notice).toContainText(`The page has no command ${text.split(" ")[0]}.`);
      await expect(notice).toContainText(advice);
    }
    expect(desk.model.asked).toHaveLength(0);
  });

  test("a folder whose name a shell would take apart is quoted", async ({ page, desk }) => {
    await desk.server.write("project/two words/README.md", "# Inside\n");
    await desk.enter(page);
    await desk.begin(page);
    await desk.say(page, "/new two words");
    await expect(page.getByText(`${desk.server.folder}/project/two words`, { exact: true })).toBeVisible();
    await desk.turn(page, "/trust");
    await expect(page.locator(".notice")).toContainText(`pi trust '${desk.server.folder}/project/two words'`);
  });

  test("the folder of a session is known also while the list of sessions shows others", async ({ page, desk }) => {
    await desk.server.write("project/inside/README.md", "# Inside\n");
    await desk.enter(page);
    await desk.begin(page);
    await page.locator("#session-search").fill("nothing is called like this");
    await expect(page.locator("[data-state]")).toHaveCount(0);
    await desk.turn(page, "/trust");
    await expect(page.locator(".notice")).toContainText(`pi trust ${desk.server.folder}/project `);
    await desk.turn(page, "/new inside");
    await expect(page.getByText(`${desk.server.folder}/project/inside`, { exact: true })).toBeVisible();
  });

  test("those of the terminal lead to what the page has for them", async ({ page, desk }) => {
    await desk.enter(page);
    await desk.begin(page);
    await desk.say(page, "hello");
    await desk.settled(page);
    await desk.turn(page, "/usage");
    await expect(page.locator(".notice.info")).toContainText("Spent so far.");
    await desk.turn(page, "/context");
    await expect(page).toHaveURL(/\/envelope$/);
    expect(desk.model.asked).toHaveLength(1);
  });
});
