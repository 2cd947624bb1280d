/** The first minute: what is to be seen before anything was said, and what the page explains. */
import { violations } from "./support/axe";
import { expect, test } from "./support/page";

test("something can be said where one comes in", async ({ page, desk }) => {
  desk.model.says({ text: "Gladly." });
  await desk.enter(page);
  const field = page.getByRole("textbox", { name: "What shall the agent do?" });
  await expect(field).toBeFocused();
  await page.keyboard.type("Begin with the tests");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/#\/s\//);
  await desk.settled(page);
  await expect(page.locator("[data-role=user]")).toHaveText([/Begin with the tests/]);
  await expect(page.getByText("Gladly.")).toBeVisible();
  expect(desk.model.asked.length).toBe(1);
  // What was done last is offered to whoever comes back.
  await page.goto(`${desk.server.origin}/#/`);
  await page.getByRole("region", { name: "Go on with" }).getByRole("button", { name: /Begin with the tests/ }).click();
  await expect(page.getByText("Gladly.")).toBeVisible();
});

test("where a new conversation will work and whom it asks is told before it begins", async ({ page, desk }) => {
  await desk.enter(page);
  const usual = page.locator("dl.usual");
  await expect(usual).toContainText(`A new conversation works in${desk.server.folder}/project`);
  await expect(usual).toContainText(/asks\S+\/scripted/);
  await expect(page.getByText("built-in demo")).toHaveCount(0);
});

test("a command that is typed where one comes in stands in the editor", async ({ page, desk }) => {
  await desk.enter(page);
  await page.keyboard.type("!ls");
  await page.keyboard.press("Enter");
  await expect(desk.editor(page)).toHaveValue("!ls");
  expect(desk.model.asked.length).toBe(0);
});

test("commands and files are offered where one comes in as they are in a session", async ({ page, desk }) => {
  await desk.server.write("project/src/main.rs", "fn main() {}\n");
  await desk.server.write("agent/prompts/review.md", "Review this: $1\n");
  await desk.enter(page);
  const editor = page.getByRole("textbox", { name: "What shall the agent do?" });
  await editor.pressSequentially("/tre");
  await expect(page.getByRole("option")).toHaveText([/\/tree/]);
  await editor.press("Tab");
  await expect(editor).toHaveValue("/tree ");
  await editor.fill("/");
  await editor.press("End");
  await editor.pressSequentially("e");
  await expect(page.getByRole("option").last()).toBeInViewport();
  expect(await violations(page)).toEqual([]);
  await desk.begin(page);
  await page.goto(`${desk.server.origin}/#/`);
  // The session that was begun has taken it along.
  await editor.fill("");
  await editor.pressSequentially("/revi");
  await expect(page.getByRole("option")).toHaveText([/\/review/]);
  await editor.press("Escape");
  await editor.fill("");
  await editor.pressSequentially("look at @main");
  await expect(page.getByRole("option").first()).toContainText("src/main.rs");
  await editor.press("Enter");
  await expect(editor).toHaveValue("look at @src/main.rs ");
  await editor.press("Enter");
  await expect(page.getByText("Done.")).toBeVisible();
  expect(JSON.stringify(desk.model.asked.at(-1))).toContain("fn main() {}");
});

test("the first strip says what it is, until somebody knows", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  for (const words of ["one", "two"]) {
    await desk.say(page, words);
    await desk.settled(page);
  }
  const hint = page.getByRole("note").filter({ hasText: "everything the model was given" });
  await expect(hint).toHaveCount(1);
  await expect(hint.getByRole("listitem")).toContainText([/^Tools [\d.]+k?$/, /^System prompt/, /^Variable/, /^Text/]);
  await hint.getByRole("button", { name: "Got it" }).click();
  await expect(hint).toHaveCount(0);
  await page.reload();
  await expect(page.getByRole("link", { name: /What the model saw: / })).toHaveCount(2);
  await expect(hint).toHaveCount(0);
});

test("a stretch of a strip says what it is and leads to its segment", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Hello there");
  await desk.settled(page);
  const strip = page.getByRole("link", { name: /What the model saw: / });
  await expect(strip.locator("svg")).toBeVisible();
  const box = await strip.boundingBox();
  const edge = box === null ? { x: 0, y: 0 } : { x: box.width - 1.5, y: 8 };
  await strip.hover({ position: edge });
  await expect(page.locator(".pointed")).toContainText(/^Text \d+ tokens? · [\d.]+%/);
  await strip.hover({ position: { x: 5, y: 8 } });
  await expect(page.locator(".pointed")).toContainText(/^Tools/);
  await strip.click({ position: edge });
  await expect(page.locator("article.segment.selected")).toContainText("Hello there");
  // By a key it leads to the whole.
  await page.goBack();
  await strip.focus();
  await page.keyboard.press("Enter");
  await expect(page.locator("article.segment").first()).toBeVisible();
  await expect(page.locator("article.segment.selected")).toHaveCount(0);
});

test("on a wide screen what the model saw stands beside the conversation and grows with it", async ({ page, desk }) => {
  await page.setViewportSize({ width: 1920, height: 1000 });
  desk.model.says({ text: "First answer." }, { text: "Second answer." });
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "one");
  await desk.settled(page);
  const strip = page.getByRole("link", { name: /What the model saw: / });
  await strip.first().focus();
  await page.keyboard.press("Enter");
  await expect(page.locator("article.segment").first()).toBeVisible();
  await expect(page.getByText("First answer.")).toBeVisible();
  await desk.say(page, "two");
  await desk.settled(page);
  await expect(page.locator(".scrubber .told")).toContainText("Request 2 of 2");
  await expect(page.locator("article.segment").filter({ hasText: "First answer." })).toBeVisible();
  await expect(page.locator("[data-role=assistant]").filter({ hasText: "Second answer." })).toBeVisible();
  // Where there is no room for both, one is shown.
  await page.setViewportSize({ width: 1280, height: 800 });
  await expect(desk.editor(page)).toHaveCount(0);
  await expect(page.locator("article.segment").first()).toBeVisible();
});

test("the window is as full as the last request, also if nobody answered it", async ({ page, desk }) => {
  desk.model.says({ fail: 400 });
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Hello");
  await desk.settled(page);
  await expect(page.locator(".failure")).toBeVisible();
  const meter = page.getByRole("meter");
  await expect(meter).toHaveAttribute("aria-valuetext", /^≈ \d{3} \//);
  await desk.say(page, "Hello again");
  await desk.settled(page);
  await expect(meter).toHaveAttribute("aria-valuetext", /^1\.2k \//);
});

test("the window is told while the first calls are at work", async ({ page, desk }) => {
  desk.model.says({ calls: [{ name: "bash", arguments: { command: "while [ ! -e go ]; do sleep 0.05; done" } }] });
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Wait");
  await expect(page.locator("[data-tool=bash]")).toHaveAttribute("data-status", "running");
  await expect(page.getByRole("meter")).toHaveAttribute("aria-valuetext", /^1\.2k \//);
  await desk.server.write("project/go", "");
  await desk.settled(page);
});

test.describe("without a key", () => {
  test.use({ model: "demo" });

  test("the demo says that it is one, and how to get a real model", async ({ page, desk }) => {
    await desk.enter(page);
    await expect(page.locator("dl.usual")).toContainText("demo/demo");
    await expect(page.getByText(/built-in demo.*ANTHROPIC_API_KEY.*start pi serve again/)).toBeVisible();
    expect(await violations(page)).toEqual([]);
  });
});

test.describe("in Chinese without a key", () => {
  test.use({ model: "demo", locale: "zh-CN" });

  test("the examples are understood and answered in Chinese", async ({ page, desk }) => {
    await desk.enter(page);
    await expect(page.getByText(/当前是内置演示.*ANTHROPIC_API_KEY.*重新启动 pi serve/)).toBeVisible();
    await page.getByRole("button", { name: "列出此项目的文件" }).click();
    await desk.settled(page);
    await expect(page.locator("[data-tool]")).toHaveAttribute("data-status", "done");
    await expect(page.locator("[data-role=assistant]").last()).toContainText(/工具 \w+ 返回：README\.md/);
    await desk.say(page, "什么是 pi？");
    await desk.settled(page);
    await expect(page.locator("[data-role=assistant]").last()).toContainText("编程智能体");
    await desk.say(page, "/compact");
    await expect(page.locator(".notice").getByText("没有可压缩的内容")).toBeVisible();
  });
});
