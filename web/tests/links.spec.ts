/** Links outlive the session that they were made in. */
import { expect, test } from "./support/page";

test("links to a session, a message and a segment hold when the session was closed", async ({ page, desk, second }) => {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await desk.enter(page);
  const session = await desk.begin(page);
  await desk.say(page, "Remember this");
  await desk.settled(page);
  const place = page.url();
  await page.locator("[data-role=user]").hover();
  await page.locator("[data-role=user]").getByRole("button", { name: /link/i }).click();
  const message = await page.evaluate(() => navigator.clipboard.readText());
  expect(message).not.toContain(session);
  await desk.turn(page, "/envelope");
  const segment = await page.locator("article.segment a[href*='/seg/']").first().evaluate((link: HTMLAnchorElement) => link.href);
  // A link to what is shown leads there without another load.
  await page.goto(segment);
  await expect(page.locator("article.selected")).toBeVisible();
  await expect(page.locator(`[data-session="${session}"]`)).toHaveAttribute("data-state", "open");

  const close = async () => {
    await page.goto(`${desk.server.origin}/#/`);
    const open = page.locator("[data-state=open]").filter({ hasText: "Remember this" });
    await open.hover();
    await open.getByRole("button", { name: /^Close/ }).click();
    await expect(page.locator("[data-state=stored]").filter({ hasText: "Remember this" })).toBeVisible();
  };
  await close();
  await page.goto(message);
  await expect(page.locator("[data-role=user]")).toContainText("Remember this");
  await close();
  await page.goto(segment);
  await expect(page.locator("article.selected")).toBeVisible();
  await close();
  // The address as it stood there, in the browser that has shown it.
  await page.goto(place);
  await expect(page.locator("[data-role=user]")).toContainText("Remember this");
  // Whoever names the file of a session that is loaded under another id gets that one.
  const other = await second();
  await other.goto("about:blank");
  await other.goto(message);
  await expect(other.locator("[data-role=user]")).toContainText("Remember this");
});

test("a link to a session that nobody has says so in the words of the page", async ({ page, desk }) => {
  await desk.enter(page);
  await page.goto(`${desk.server.origin}/#/s/nobody-has-this`);
  const told = page.getByRole("main");
  await expect(told).toContainText("The server has no such session");
  await expect(told).not.toContainText("load_session");
  await told.getByRole("link", { name: "Show the other sessions" }).click();
  await expect(page).toHaveURL(/#\/$/);
});

test("whoever begins to write while a link leads to its message goes on writing", async ({ page, desk }) => {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Remember this");
  await desk.settled(page);
  const link = page.locator("[data-role=user]").getByRole("button", { name: /link/i });
  await link.evaluate((button: HTMLButtonElement) => {
    button.focus();
    button.click();
    const editor = document.querySelector("textarea") as HTMLTextAreaElement;
    editor.focus();
    editor.value = "Half a sent";
    editor.dispatchEvent(new Event("input", { bubbles: true }));
  });
  await expect(page).toHaveURL(/\/m\//);
  // It takes some frames until a row stands where it shall.
  await page.evaluate(async () => {
    for (let frames = 0; frames < 45; frames += 1) {
      await new Promise(requestAnimationFrame);
    }
  });
  await expect(desk.editor(page)).toBeFocused();
  await page.keyboard.type("ence");
  await expect(desk.editor(page)).toHaveValue("Half a sentence");
});
