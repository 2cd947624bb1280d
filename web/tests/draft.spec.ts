/** What is about to be said, and what was said and failed, keeps its pictures. */
import type { Page, WebSocketRoute } from "@playwright/test";
import { gate } from "./support/model";
import { type Desk, expect, test } from "./support/page";

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

async function attach(page: Page): Promise<void> {
  await page.locator("input[type=file]").setInputFiles({ name: "dot.png", mimeType: "image/png", buffer: Buffer.from(PNG, "base64") });
  await expect(attached(page)).toHaveCount(1);
}

function attached(page: Page) {
  return page.getByRole("list", { name: "Pictures to send" }).getByRole("img");
}

function lastAsked(desk: Desk): { role: string; content: unknown }[] {
  return (desk.model.asked.at(-1)?.messages ?? []).filter(({ role }) => role === "user");
}

test("another view and another session leave the pictures of a draft where they are", async ({ page, desk }) => {
  await desk.enter(page);
  const session = await desk.begin(page);
  await desk.editor(page).fill("Look at this");
  await attach(page);
  await page.goto(`${desk.server.origin}/#/s/${session}/tree`);
  await expect(page.getByRole("heading", { name: "Tree" })).toBeVisible();
  await page.goto(`${desk.server.origin}/#/s/${session}`);
  await expect(desk.editor(page)).toHaveValue("Look at this");
  await expect(attached(page)).toHaveCount(1);
  await page.goto(`${desk.server.origin}/#/`);
  await page.goto(`${desk.server.origin}/#/s/${session}`);
  await expect(attached(page)).toHaveCount(1);
  await page.reload();
  await expect(attached(page)).toHaveCount(1);
  await desk.editor(page).press("Enter");
  await desk.settled(page);
  expect(JSON.stringify(lastAsked(desk))).toContain(PNG);
  await expect(attached(page)).toHaveCount(0);
});

test("what failed is tried again in its place, with its pictures", async ({ page, desk }) => {
  desk.model.says({ fail: 400 }, { text: "A dot." });
  await desk.enter(page);
  await desk.begin(page);
  await attach(page);
  await desk.say(page, "What is it?");
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByText("A dot.")).toBeVisible();
  await desk.settled(page);
  await expect(page.locator("[data-role=user]")).toHaveCount(1);
  await expect(page.locator("[data-role=user] img")).toHaveCount(1);
  expect(lastAsked(desk)).toHaveLength(1);
  expect(JSON.stringify(lastAsked(desk))).toContain(PNG);
});

test("whoever goes back to a message or forks from it has its pictures", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  await attach(page);
  await desk.say(page, "First");
  await desk.settled(page);
  await page.locator("[data-role=user]").hover();
  await page.getByRole("button", { name: "Go back to this message and change it" }).click();
  await expect(desk.editor(page)).toHaveValue("First");
  await expect(attached(page)).toHaveCount(1);
  await desk.editor(page).press("Enter");
  await desk.settled(page);
  await page.locator("[data-role=user]").hover();
  await page.getByRole("button", { name: /^Fork/ }).click();
  await expect(desk.editor(page)).toHaveValue("First");
  await expect(attached(page)).toHaveCount(1);
});

test("whoever goes back or forks keeps what was typed, and what was put there makes room", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  for (const words of ["First", "Second"]) {
    await desk.say(page, words);
    await desk.settled(page);
  }
  const back = async (words: string, name: string | RegExp) => {
    await page.locator("[data-role=user]", { hasText: words }).hover();
    await page.locator("[data-role=user]", { hasText: words }).getByRole("button", { name }).click();
  };
  await back("Second", "Go back to this message and change it");
  await expect(desk.editor(page)).toHaveValue("Second");
  // Nobody typed that.
  await back("First", "Go back to this message and change it");
  await expect(desk.editor(page)).toHaveValue("First");
  await desk.editor(page).press("Enter");
  await desk.settled(page);
  await desk.editor(page).fill("My own words");
  await attach(page);
  await back("First", "Go back to this message and change it");
  await expect(desk.editor(page)).toHaveValue("My own words\n\nFirst");
  await expect(attached(page)).toHaveCount(1);
  await desk.editor(page).fill("Say");
  await desk.editor(page).press("Enter");
  await desk.settled(page);
  await desk.editor(page).fill("More of my own");
  await back("Say", /^Fork/);
  await expect(desk.editor(page)).toHaveValue("More of my own\n\nSay");
});

test.describe("what an extension calls the tab", () => {
  test.use({
    files: { "agent/extensions/crier.ts": `export default (pi) => pi.registerCommand("cry", { description: "Cries", handler: async (_, { ui }) => ui.setTitle("pi asks: all is well") });` },
  });

  test("says whose words they are", async ({ page, desk }) => {
    await desk.enter(page);
    await desk.begin(page);
    await desk.say(page, "/cry");
    await expect(page).toHaveTitle(/^(● )?Extension crier: pi asks: all is well · pi$/);
  });
});

test("what the server does not take stands in the editor again, with its pictures", async ({ page, desk, second }) => {
  await desk.enter(page);
  const session = await desk.begin(page);
  const other = await second();
  await other.locator(`[data-session="${session}"]`).hover();
  await other.getByRole("button", { name: /^Close/ }).first().click();
  await expect(page.getByRole("alert").first()).toBeVisible();
  await desk.editor(page).fill("For nobody");
  await attach(page);
  await desk.editor(page).press("Enter");
  await expect(page.getByRole("alert").filter({ hasText: /session/i }).last()).toBeVisible();
  await expect(desk.editor(page)).toHaveValue("For nobody");
  await expect(attached(page)).toHaveCount(1);
});

/** Holds what the server says to prompts until it is let go, and refuses them: nothing was said. */
async function refuse(page: Page): Promise<{ open: () => void; sent: () => number }> {
  const { open, opened } = gate();
  let sent = 0;
  await page.routeWebSocket(/\/ws/, (client: WebSocketRoute) => {
    const server = client.connectToServer();
    client.onMessage((message) => {
      const said = JSON.parse(String(message)) as { id: string; type: string };
      if (said.type !== "prompt") {
        return server.send(message);
      }
      sent += 1;
      const refusal = { id: said.id, type: "response", command: "prompt", success: false, error: "Refused: the script says no", code: "refused" };
      void opened.then(() => client.send(JSON.stringify(refusal)));
    });
  });
  return { open, sent: () => sent };
}

test("what comes back stands beside what was typed meanwhile, with the pictures of both", async ({ page, desk }) => {
  const refusal = await refuse(page);
  await desk.enter(page);
  await desk.begin(page);
  await attach(page);
  await desk.say(page, "Said before");
  await expect.poll(refusal.sent).toBe(1);
  await desk.editor(page).fill("Typed meanwhile");
  await attach(page);
  refusal.open();
  await expect(page.getByRole("alert").filter({ hasText: "the script says no" })).toBeVisible();
  await expect(desk.editor(page)).toHaveValue("Typed meanwhile\n\nSaid before");
  await expect(attached(page)).toHaveCount(2);
  await page.reload();
  await expect(desk.editor(page)).toHaveValue("Typed meanwhile\n\nSaid before");
});

test("what comes back is not there twice for whoever has typed it again", async ({ page, desk }) => {
  const refusal = await refuse(page);
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Said before");
  await expect.poll(refusal.sent).toBe(1);
  await desk.editor(page).fill("Once more: Said before");
  refusal.open();
  await expect(page.getByRole("alert").filter({ hasText: "the script says no" })).toBeVisible();
  await expect(desk.editor(page)).toHaveValue("Once more: Said before");
});

test("what comes back to a conversation that was left is told where one is, and stands there beside the draft", async ({ page, desk }) => {
  const refusal = await refuse(page);
  await desk.enter(page);
  const session = await desk.begin(page);
  await desk.say(page, "Said before");
  await expect.poll(refusal.sent).toBe(1);
  await desk.editor(page).fill("Typed meanwhile");
  await page.goto(`${desk.server.origin}/#/`);
  refusal.open();
  await expect(page.getByRole("alert").filter({ hasText: "the script says no" })).toBeVisible();
  await page.goto(`${desk.server.origin}/#/s/${session}`);
  await expect(desk.editor(page)).toHaveValue("Typed meanwhile\n\nSaid before");
});
