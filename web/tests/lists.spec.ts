/** What the lists of sessions tell, and that what they offer can be had. */
import type { PiServer } from "./support/server";
import { expect, test } from "./support/page";
import { sessionFile } from "./support/long";

/** Stores a session in which one thing was said. */
async function store(server: PiServer, number: number, said: string, cwd = `${server.folder}/project`): Promise<void> {
  const id = `11111111-2222-7333-8444-${number.toString().padStart(12, "0")}`;
  const at = new Date(Date.parse("2030-01-01T00:00:00.000Z") + number * 1000).toISOString();
  const message = { role: "user", content: said, timestamp: Date.parse(at) };
  const lines = [
    { type: "session", version: 3, id, timestamp: at, cwd },
    { type: "message", id: "00000001", parentId: null, timestamp: at, message },
  ];
  await server.write(sessionFile(server, `2030-01-01T00-00-00-000Z_${id}`), `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`);
}

test("an open session keeps its title however many newer files there are", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "paint the fence");
  await desk.settled(page);
  for (let number = 0; number < 45; number += 1) {
    await store(desk.server, number, `other work ${number}`);
  }
  await page.reload();
  await expect(page.locator("[data-state=stored]")).toHaveCount(40);
  await expect(page.locator("[data-state=open]")).toContainText("paint the fence");
  await expect(page.getByRole("heading", { level: 1 })).toContainText("paint the fence");
});

test("a session that began with a file is called by the words behind it", async ({ page, desk }) => {
  const file = `<file name="/p/fence.txt">\n${"wood ".repeat(1000)}\n</file>`;
  await store(desk.server, 1, `${file}\n\nWhat is\nin it?`);
  await store(desk.server, 2, file);
  await desk.enter(page);
  const names = page.locator("[data-state=stored] .words");
  await expect(names).toHaveText(["@fence.txt", "What is in it?"]);
  await names.nth(1).click();
  await expect(page.locator("[data-state=open] .words")).toHaveText("What is in it?");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("What is in it?");
});

test("a session outside of the server's folders says so, is not opened, and its folder is not offered", async ({ page, desk }) => {
  await store(desk.server, 1, "nearby work", `${desk.server.folder}/project`);
  await store(desk.server, 2, "far away", "/srv/elsewhere");
  await desk.enter(page);
  const away = page.locator("[data-session]").filter({ hasText: "far away" });
  await expect(away).toContainText("cannot be opened here");
  await away.locator(".open").click();
  const notice = page.locator("main .notice");
  await expect(notice).toContainText("/srv/elsewhere");
  await expect(notice).toContainText("pi serve --root /srv/elsewhere");
  await page.getByRole("button", { name: "Work in another folder" }).first().click();
  const dialog = page.getByRole("dialog", { name: "Work in another folder" });
  await expect(dialog.getByRole("button", { name: `${desk.server.folder}/project` })).toBeVisible();
  await expect(dialog.getByRole("button", { name: "/srv/elsewhere" })).toHaveCount(0);
  await dialog.getByRole("textbox").fill("/srv/elsewhere");
  await dialog.getByRole("button", { name: "Begin there" }).click();
  await expect(dialog.getByRole("alert")).toContainText("The server works only in these folders:");
  await dialog.getByRole("button", { name: "Close" }).click();
  // What was said about it is old in another view.
  await page.locator("[data-session]").filter({ hasText: "nearby work" }).first().locator(".open").click();
  await expect(page.locator("[data-role=user]")).toContainText("nearby work");
  await expect(notice).toHaveCount(0);
});

test("what was done last is offered first where one comes in, be it open or on disk", async ({ page, desk }) => {
  const home = () => page.goto(`${desk.server.origin}/#/`);
  const offered = page.getByRole("region", { name: "Go on with" }).getByRole("button");
  await desk.enter(page);
  for (const words of ["paint the fence", "mow the lawn"]) {
    await desk.begin(page);
    await desk.say(page, words);
    await desk.settled(page);
    await home();
  }
  await expect(offered).toHaveText([/^mow the lawn/, /^paint the fence/]);
  await offered.last().click();
  await desk.say(page, "once more");
  await desk.settled(page);
  await home();
  await expect(offered).toHaveText([/^paint the fence/, /^mow the lawn/]);
  // The server lists those that it holds before those on disk, and the page offers three.
  await store(desk.server, 1, "later work");
  await store(desk.server, 2, "latest work");
  await page.reload();
  await expect(offered).toHaveText([/^latest work/, /^later work/, /^paint the fence/]);
});

test("what a session has cost has the same sign in the list, on its answer and in its head", async ({ page, desk }) => {
  const id = "11111111-2222-7333-8444-888888888888";
  const timestamp = "2026-11-15T10:00:00.000Z";
  const cost = { input: 0.05, output: 0.032, cacheRead: 0, cacheWrite: 0, total: 0.082, atLeast: true };
  const usage = { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, totalTokens: 15, cost };
  const answer = { role: "assistant", content: [{ type: "text", text: "So it is." }], api: "openai-completions", provider: "local", model: "scripted", usage, stopReason: "stop", timestamp: Date.parse(timestamp) };
  const lines = [
    { type: "session", version: 3, id, timestamp, cwd: `${desk.server.folder}/project` },
    { type: "message", id: "00000001", parentId: null, timestamp, message: { role: "user", content: "Is it?", timestamp: Date.parse(timestamp) } },
    { type: "message", id: "00000002", parentId: "00000001", timestamp, message: answer },
  ];
  await desk.server.write(sessionFile(desk.server, `2026-11-15T10-00-00-000Z_${id}`), `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`);
  await desk.enter(page);
  await expect(page.locator("[data-session] .facts")).toContainText("≥ $0.0820");
  await page.locator("[data-session] .open").first().click();
  await expect(page.locator("header .cost")).toHaveText("≥ $0.0820");
  await expect(page.locator("[data-role=assistant]")).toContainText("≥ $0.0820");
  await expect(page.locator("[data-state=open] .facts")).toContainText("≥ $0.0820");
});
