import { gate } from "./support/model";
import { expect, test } from "./support/page";

test("sessions are found, closed, resumed and deleted", async ({ page, desk }) => {
  await desk.enter(page);
  for (const words of ["write a parser", "fix the lexer"]) {
    await desk.begin(page);
    await desk.say(page, words);
    await desk.settled(page);
    await page.goto(`${desk.server.origin}/#/`);
  }
  const line = (name: string) => page.locator("[data-session]").filter({ hasText: name });
  await expect(line("write a parser")).toHaveAttribute("data-state", "open");
  await expect(line("write a parser")).toContainText("2 messages");
  await page.getByRole("searchbox", { name: "Search sessions" }).fill("lexer");
  await expect(line("write a parser")).toHaveCount(0);
  await expect(line("fix the lexer")).toHaveCount(1);
  await page.getByRole("searchbox", { name: "Search sessions" }).fill("");
  await line("write a parser").hover();
  await page.getByRole("button", { name: "Close write a parser" }).click();
  await expect(line("write a parser")).toHaveAttribute("data-state", "stored");
  await line("write a parser").locator(".open").click();
  await expect(page.locator("[data-role=user]")).toContainText("write a parser");
  await expect(line("write a parser")).toHaveAttribute("data-state", "open");
  await line("write a parser").hover();
  await page.getByRole("button", { name: "Delete write a parser" }).click();
  const dialog = page.getByRole("dialog", { name: "Delete this session?" });
  await expect(dialog).toContainText(".jsonl");
  await dialog.getByRole("button", { name: "Delete for good" }).click();
  await expect(line("write a parser")).toHaveCount(0);
  await expect(line("fix the lexer")).toHaveCount(1);
});

test("a session that somebody deletes is told to be deleted, once, and one that is closed to be closed", async ({ page, desk, second }) => {
  await desk.enter(page);
  const id = await desk.begin(page);
  await desk.say(page, "Hello");
  await desk.settled(page);
  const other = await second();
  await other.goto(`${desk.server.origin}/#/s/${id}`);
  await desk.editor(other).fill("typing");
  await page.locator("[data-session]").first().hover();
  await page.getByRole("button", { name: /^Close/ }).first().click();
  await expect(other.locator(".notice")).toHaveText(/The server has closed this session\..*Open it again/);
  await page.getByRole("button", { name: /^Delete/ }).first().click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete for good" }).click();
  await expect(other.locator(".notice")).toHaveText(/it was deleted/);
  await desk.editor(other).press("Enter");
  await expect(desk.editor(other)).toHaveValue("typing");
  await expect(other.locator(".notice")).toHaveCount(1);
});

test("a session on disk is named from the list, and stays on disk", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "What was said first");
  await desk.settled(page);
  const line = page.locator("[data-session]").first();
  for (const [state, name] of [["open", "A name while it is open"], ["stored", "A name while it is on disk"]] as const) {
    await expect(line).toHaveAttribute("data-state", state);
    await line.hover();
    await line.getByRole("button", { name: /^Name / }).click();
    await expect(page.getByRole("dialog").getByRole("textbox")).toBeFocused();
    await page.keyboard.type(name);
    await page.keyboard.press("Enter");
    await expect(line).toContainText(name);
    await expect(line).toHaveAttribute("data-state", state);
    if (state === "open") {
      await line.hover();
      await line.getByRole("button", { name: /^Close/ }).click();
    }
  }
  await page.reload();
  await expect(line).toContainText("A name while it is on disk");
});

test("the list says that a session works as long as it does, also by what waited", async ({ page, desk, second }) => {
  const [first, next] = [gate(), gate()];
  desk.model.says({ text: "One.", hold: first.opened }, { text: "Two.", hold: next.opened });
  await desk.enter(page);
  const other = await second();
  const session = await desk.begin(page);
  await desk.say(page, "begin");
  await expect(page.getByText("One.")).toBeVisible();
  await desk.say(page, "and then", "Alt+Enter");
  const lines = [page, other].map((one) => one.locator(`[data-session="${session}"]`));
  for (const line of lines) {
    await expect(line).toHaveAttribute("data-state", "working");
  }
  first.open();
  await expect(page.getByText("Two.")).toBeVisible();
  for (const line of lines) {
    await expect(line).toHaveAttribute("data-state", "working");
  }
  next.open();
  await desk.settled(page);
  for (const line of lines) {
    await expect(line).toHaveAttribute("data-state", "open");
  }
});

test("the tree goes back, with a label, and a fork goes on in a new file", async ({ page, desk }) => {
  desk.model.otherwise({ text: "Answered." });
  await desk.enter(page);
  const session = await desk.begin(page);
  await desk.say(page, "first question");
  await desk.settled(page);
  await desk.say(page, "second question");
  await desk.settled(page);
  await page.goto(`${desk.server.origin}/#/s/${session}/tree`);
  await page.getByRole("treeitem").filter({ hasText: "second question" }).click();
  await page.getByRole("textbox", { name: "Label" }).fill("before two");
  await page.getByRole("button", { name: "Go on from here" }).click();
  await expect(desk.editor(page)).toHaveValue("second question");
  await expect(page.locator("[data-role=user]")).toHaveCount(1);
  await desk.editor(page).fill("another question");
  await desk.editor(page).press("Enter");
  await desk.settled(page);
  await page.goto(`${desk.server.origin}/#/s/${session}/tree`);
  await expect(page.getByRole("treeitem").filter({ hasText: "before two" })).toBeVisible();
  await expect(page.getByRole("treeitem").filter({ hasText: "second question" })).toBeVisible();
  await page.getByRole("link", { name: "Back to the conversation" }).click();
  await page.locator("[data-role=user]").last().hover();
  await page.getByRole("button", { name: "Fork from here" }).last().click();
  await expect(desk.editor(page)).toHaveValue("another question");
  await expect(page.locator("[data-role=user]")).toHaveCount(1);
});

test("a session begins in another folder", async ({ page, desk }) => {
  await desk.server.write("project/inner/note.txt", "Inside.\n");
  await desk.enter(page);
  const first = await desk.begin(page);
  await expect(page.getByText(`${desk.server.folder}/project`, { exact: true })).toBeVisible();
  await desk.say(page, "/new inner");
  await expect(page).not.toHaveURL(new RegExp(first));
  await expect(page.getByText(`${desk.server.folder}/project/inner`, { exact: true })).toBeVisible();
  await desk.say(page, "/new nowhere");
  await expect(page.getByRole("alert")).toBeVisible();
});

test("a label is put on any place of the tree and taken away, without going there, and everybody sees it", async ({ page, desk, second }) => {
  desk.model.otherwise({ text: "Answered." });
  await desk.enter(page);
  const session = await desk.begin(page);
  await desk.say(page, "first question");
  await desk.settled(page);
  await desk.say(page, "second question");
  await desk.settled(page);
  const tree = `${desk.server.origin}/#/s/${session}/tree`;
  const other = await second();
  await other.goto(tree);
  await page.goto(tree);
  const line = (of: typeof page) => of.getByRole("treeitem").filter({ hasText: "first question" });
  const here = (of: typeof page) => of.getByRole("treeitem", { selected: true });
  await expect(here(page)).toContainText("Answered.");
  await line(page).focus();
  await page.keyboard.press("l");
  await page.keyboard.type("start");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  for (const one of [page, other]) {
    await expect(line(one)).toContainText("start");
    // The label is an entry too; nobody is shown it as a place, nor as a branch.
    await expect(one.getByRole("treeitem")).toHaveCount(4);
    await expect(here(one)).toContainText("Answered.");
  }
  await line(other).click();
  await other.getByRole("textbox", { name: "Label" }).fill("");
  await other.getByRole("button", { name: "Save the label" }).click();
  for (const one of [page, other]) {
    await expect(line(one)).not.toContainText("start");
  }
  await page.getByRole("link", { name: "Back to the conversation" }).click();
  await expect(page.locator("[data-role=user]")).toHaveCount(2);
});

test("a link leads to its message", async ({ page, desk }) => {
  await desk.enter(page);
  const session = await desk.begin(page);
  for (let number = 0; number < 12; number += 1) {
    desk.model.says({ text: `Answer ${number}.\n\n${"More words. ".repeat(60)}` });
    await desk.say(page, `question ${number}`);
    await desk.settled(page);
  }
  const second = page.locator("[data-role=user]").filter({ hasText: "question 1" });
  await page.locator("#main").focus();
  await page.keyboard.press("Home");
  await expect(second.first()).toBeVisible();
  const entry = await second.first().getAttribute("data-entry");
  await page.goto("about:blank");
  await page.goto(`${desk.server.origin}/#/s/${session}/m/${entry}`);
  await expect(page.locator(`[data-entry="${entry}"]`)).toBeInViewport();
});

test("whoever has no ticket is told how to get one", async ({ page, desk }) => {
  await desk.look(page);
  desk.allow(/401|WebSocket|localhost/);
  await page.goto(`${desk.server.origin}/`);
  await expect(page.getByText("This browser is not let in yet")).toBeVisible();
  await expect(page.getByText("pi serve --ticket")).toBeVisible();
  const used = await desk.server.address();
  // In the same tab: only what stands after # changes.
  await page.goto(used);
  await expect(page.getByRole("status", { name: /^Connected/ })).toBeVisible();
  await page.goto("about:blank");
  await page.goto(used.replace("127.0.0.1", "localhost"));
  await expect(page.getByText("the ticket is not good", { exact: false }).first()).toBeVisible();
});

test("an answer that comes late shuts nobody out who was let in meanwhile", async ({ page, desk }) => {
  await desk.look(page);
  desk.allow(/401|WebSocket/);
  const late = gate();
  let asked = 0;
  // Whether it is known is asked before it is let in, and answered after.
  await page.route("**/readyz", async (route) => {
    asked += 1;
    await late.opened;
    await route.fulfill({ status: 401, json: {} });
  });
  await page.goto(`${desk.server.origin}/`);
  await expect.poll(() => asked).toBeGreaterThan(0);
  await page.goto(await desk.server.address());
  await expect(page.locator("[data-link=live]:visible").first()).toBeVisible();
  const told = page.waitForResponse("**/readyz");
  late.open();
  await (await told).finished();
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  await expect(page.getByText("This browser is not let in yet")).toHaveCount(0);
  await desk.begin(page);
});

test("a ticket that nobody looked at is brought again", async ({ page, desk }) => {
  await desk.look(page);
  desk.allow(/401|WebSocket|ERR_/);
  let tries = 0;
  await page.route("**/login", async (route) => {
    tries += 1;
    await (tries <= 2 ? route.abort("connectionreset") : route.continue());
  });
  await page.goto(await desk.server.address());
  await expect(page.locator("[data-link=live]:visible").first()).toBeVisible();
  expect(tries).toBe(3);
});

test("only who is known is taken for known: a used ticket is told as such by a server that is slow", async ({ page, desk }) => {
  await desk.look(page);
  desk.allow(/401|408|WebSocket/);
  const used = await desk.server.address();
  await page.goto(used);
  await expect(page.locator("[data-link=live]:visible").first()).toBeVisible();
  await page.goto("about:blank");
  await page.context().clearCookies();
  await page.route("**/readyz", (route) => route.fulfill({ status: 408, json: {} }));
  await page.goto(used);
  await expect(page.getByText("the ticket is not good", { exact: false }).first()).toBeVisible();
});

test("a session is made in another folder, from everywhere and by keys", async ({ page, desk }) => {
  await desk.server.write("project/other/README.md", "# Elsewhere\n");
  const other = `${desk.server.folder}/project/other`;
  await desk.enter(page);
  await page.getByRole("main").getByRole("button", { name: "Work in another folder" }).click();
  const dialog = page.getByRole("dialog", { name: "Work in another folder" });
  const folder = dialog.getByRole("textbox");
  await expect(folder).toBeFocused();
  await folder.fill("/no/such/folder");
  await page.keyboard.press("Enter");
  await expect(dialog.getByRole("alert")).toBeVisible();
  await folder.fill(other);
  await page.keyboard.press("Enter");
  await expect(dialog).toHaveCount(0);
  await expect(desk.editor(page)).toBeVisible();
  await expect(page.locator("[data-session]").first()).toContainText("other");
  await desk.say(page, "!pwd");
  await expect(page.locator("[data-role=bashExecution] .text")).toHaveText(other);
  // Where there is a session there can be another one: with one click, also from a session.
  await page.getByRole("navigation").getByRole("button", { name: "Work in another folder" }).click();
  await dialog.getByRole("button", { name: other }).click();
  await expect(page.locator("[data-session]").filter({ hasText: "other" })).toHaveCount(2);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("another folder");
  await page.keyboard.press("Enter");
  await expect(dialog).toBeVisible();
});
