/** What a command said and a file became: all of it is one click away. */
import { expect, test } from "./support/page";

test("all of a long output is shown and kept, of a tool and of a command of one's own", async ({ page, desk }) => {
  desk.model.says({ calls: [{ name: "bash", arguments: { command: "seq 20000" } }] }, { text: "Counted." });
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Count");
  await desk.settled(page);
  const card = page.locator("[data-tool=bash]");
  await card.getByRole("button").first().click();
  const output = card.getByLabel("Output");
  await expect(output).toContainText("20000");
  await expect(output).not.toContainText(/^1\n2\n3\n/);
  await card.getByRole("button", { name: "Show all of the output" }).click();
  await expect(output).toContainText(/^1\n2\n3\n/);
  await expect(output).toContainText(/\n19999\n20000\n?$/);
  const kept = page.waitForEvent("download");
  await card.getByRole("link", { name: "Download it" }).click();
  expect((await kept).suggestedFilename()).toMatch(/^pi-bash-[0-9a-f]{16}\.log$/);

  await desk.say(page, "!seq 20000");
  const shell = page.locator("[data-role=bashExecution]");
  await expect(shell).toContainText("20000");
  await shell.getByRole("button", { name: "Show all of the output" }).click();
  await expect(shell.getByLabel("Output")).toContainText(/^1\n2\n3\n/);
  await expect(shell.getByLabel("Output")).toContainText(/\n19999\n20000\n?$/);
});

test("output that is gone says so", async ({ page, desk }) => {
  desk.allow(/410/);
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "!seq 20000");
  const shell = page.locator("[data-role=bashExecution]");
  const told = await shell.locator(".path").innerText();
  const file = /\/\S*pi-bash-[0-9a-f]+\.log/.exec(told)?.[0] ?? "";
  await desk.say(page, `!rm ${file}`);
  await expect(shell).toHaveCount(2);
  await shell.first().getByRole("button", { name: "Show all of the output" }).click();
  await expect(shell.first().getByRole("alert")).toContainText("Run the command again");
});

test("a file that is written over shows what changed", async ({ page, desk }) => {
  await desk.server.write("project/a.txt", "alpha\nbeta\ngamma\n");
  desk.model.says(
    { calls: [{ name: "write", arguments: { path: "a.txt", content: "alpha\nbeta two\ngamma\n" } }, { name: "write", arguments: { path: "b.txt", content: "new here\n" } }] },
    { text: "Written." },
  );
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Write it");
  await desk.settled(page);
  const [over, made] = [0, 1].map((number) => page.locator("[data-tool=write]").nth(number));
  await expect(over!.locator(".diff mark")).toHaveText([" two"]);
  await expect(over!.locator(".diff .count")).toHaveText("+1 −1");
  await made!.getByRole("button").first().click();
  await expect(made!.locator(".diff")).toHaveCount(0);
  await expect(made!).toContainText("new here");
});

test("a command that fails shows its end and its exit code, and how long it took is known after a reload", async ({ page, desk }) => {
  desk.model.says({ calls: [{ name: "bash", arguments: { command: "sleep 0.2; seq 1 6000; exit 3" } }] }, { text: "It failed." });
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Count");
  await desk.settled(page);
  const card = page.locator("[data-tool=bash]");
  const time = await card.locator(".time").innerText();
  for (let round = 0; round < 2; round += 1) {
    await expect(card).toHaveAttribute("data-status", "failed");
    await expect(card.getByRole("button").first()).toContainText("exit 3");
    await expect(card.locator(".time")).toHaveText(time);
    const output = card.getByLabel("Output");
    await expect.poll(() => output.evaluate((node) => node.scrollTop + node.clientHeight >= node.scrollHeight - 2 && node.scrollTop > 0)).toBe(true);
    await page.reload();
  }
});
