/** What the tools of a conversation changed, to be looked through. */
import { violations } from "./support/axe";
import { expect, test } from "./support/page";

test("files that were changed are shown with their changes, and stay marked as seen until they change again", async ({ page, desk }) => {
  await desk.server.write("project/a.txt", "alpha\nbeta\ngamma\n");
  desk.model.says(
    { calls: [{ name: "edit", arguments: { path: "a.txt", edits: [{ oldText: "beta", newText: "beta two" }] } }, { name: "write", arguments: { path: "b.txt", content: "one\ntwo\n" } }] },
    { calls: [{ name: "edit", arguments: { path: "missing.txt", edits: [{ oldText: "x", newText: "y" }] } }] },
    { text: "Done." },
    { calls: [{ name: "edit", arguments: { path: "a.txt", edits: [{ oldText: "gamma", newText: "delta" }] } }] },
    { text: "Done again." },
  );
  await desk.enter(page);
  await desk.begin(page);
  const chip = page.getByRole("button", { name: /^What was changed: / });
  await expect(chip).toHaveCount(0);
  await desk.say(page, "Change things");
  await desk.settled(page);
  await expect(chip).toHaveAccessibleName("What was changed: 2 files, 3 lines added, 1 removed");
  await chip.click();
  await expect(page).toHaveURL(/\/changes$/);
  const file = (name: string) => page.locator(`[data-file="${name}"]`);
  await expect(page.locator("[data-file]")).toHaveCount(2);
  await expect(file("a.txt").locator("mark")).toHaveText([" two"]);
  await expect(file("b.txt")).toContainText("one");
  for (const name of ["a.txt", "b.txt"]) {
    await file(name).getByRole("checkbox", { name: "seen" }).check();
    await expect(file(name).getByRole("button").first()).toHaveAttribute("aria-expanded", "false");
  }
  await expect(page.getByText("2 of 2 seen")).toBeVisible();
  // It survives a reload, and what is changed once more is new.
  await page.reload();
  await expect(page.getByText("2 of 2 seen")).toBeVisible();
  await page.keyboard.press("Escape");
  await desk.say(page, "Once more");
  await desk.settled(page);
  await desk.turn(page, "/diff");
  await expect(page.getByText("1 of 2 seen")).toBeVisible();
  await expect(file("a.txt").getByRole("checkbox")).not.toBeChecked();
  await expect(file("a.txt")).toContainText("2 times");
  await file("a.txt").getByRole("link", { name: "Where it was done" }).last().click();
  await expect(page.locator("[data-tool=edit]").last()).toBeInViewport();
});

test("several changes of one file are places of their own names", async ({ page, desk }) => {
  await desk.server.write("project/a.txt", "alpha\nbeta\n");
  const edit = (oldText: string, newText: string) => ({ calls: [{ name: "edit", arguments: { path: "a.txt", edits: [{ oldText, newText }] } }] });
  desk.model.says(edit("alpha", "one"), edit("beta", "two"), { text: "Done." });
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Change it twice");
  await desk.settled(page);
  await expect(page.locator(".diff")).toHaveCount(2);
  expect(await violations(page)).toEqual([]);
  await desk.turn(page, "/diff");
  await expect(page.locator("[data-file] .diff")).toHaveCount(2);
  expect(await violations(page)).toEqual([]);
});

test("calls whose ids come again are shown with what came of each", async ({ page, desk }) => {
  const id = "call_0";
  const names = Array.from({ length: 60 }, (_, index) => `note-${index}.txt`);
  for (const name of ["a.txt", "b.txt", "c.txt", ...names]) {
    await desk.server.write(`project/${name}`, `content of ${name}\n`);
  }
  const read = (path: string) => ({ id, name: "read", arguments: { path } });
  const edit = (oldText: string, newText: string) => ({ id, name: "edit", arguments: { path: "a.txt", edits: [{ oldText, newText }] } });
  desk.model.says(
    // Long enough that the beginning is read later than the end.
    ...names.map((name) => ({ calls: [read(name)] })),
    { calls: [read("a.txt")] },
    { calls: [read("b.txt"), read("c.txt")] },
    { calls: [{ id, name: "bash", arguments: { command: "echo third" } }] },
    { calls: [edit("content", "words")] },
    { calls: [edit("words", "lines")] },
    { text: "Done." },
  );
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Count from nought");
  await desk.settled(page);
  const cards = page.locator("[data-tool]");
  const check = async () => {
    await expect(cards.last()).toContainText("lines of a.txt");
    const last = await cards.evaluateAll((all) => all.slice(-6).map((card) => (card as HTMLElement).innerText.replaceAll(/\s+/g, " ")));
    expect(last).toEqual([
      expect.stringMatching(/Read a\.txt .*content of a\.txt/),
      expect.stringMatching(/Read b\.txt .*content of b\.txt/),
      expect.stringMatching(/Read c\.txt .*content of c\.txt/),
      expect.stringMatching(/Run echo third .*third/),
      expect.stringMatching(/Edit a\.txt .*words of a\.txt/),
      expect.stringMatching(/Edit a\.txt .*lines of a\.txt/),
    ]);
  };
  await page.keyboard.press("Alt+o");
  await check();
  await page.reload();
  await expect(page.locator("[data-loaded=true]")).toBeVisible();
  await page.keyboard.press("Alt+o");
  await check();
  // What stands above is read as well here, and its results are not those of below.
  await desk.turn(page, "/diff");
  await expect(page.locator("[data-file] .diff")).toHaveCount(2);
  await page.keyboard.press("Escape");
  await check();
});

test("of a path that is too long the name of the file is seen", async ({ page, desk }) => {
  const path = `${Array.from({ length: 12 }, (_, index) => `folder-${index}`).join("/")}/name.txt`;
  const write = (content: string) => ({ calls: [{ name: "write", arguments: { path, content } }] });
  desk.model.says(write("one\n"), write("two\n"), { text: "Done." });
  await page.setViewportSize({ width: 390, height: 844 });
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Write it");
  await desk.settled(page);
  const check = async (count: number) => {
    const names = page.locator("main .path .name", { hasText: "name.txt" });
    await expect(names).toHaveCount(count);
    const cut = await names.evaluateAll((all) =>
      all.map((name) => {
        const words = document.createRange();
        words.selectNodeContents(name);
        return words.getBoundingClientRect().width - name.getBoundingClientRect().width;
      }),
    );
    expect(Math.max(...cut)).toBeLessThanOrEqual(0.01);
  };
  await check(3);
  await desk.turn(page, "/diff");
  await expect(page.locator("[data-file] .times")).toHaveText("2 times");
  expect((await page.locator("[data-file] .times").boundingBox())?.height).toBeLessThan(30);
  await check(2);
});
