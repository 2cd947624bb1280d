/** What the server refuses is told in the language of who reads it. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { storeLong } from "./support/long";
import { gate } from "./support/model";
import { expect, test } from "./support/page";

test.use({ locale: "zh-CN", settings: { compaction: { enabled: false, keepRecentTokens: 20, reserveTokens: 100 } } });

test("a compaction that has nothing to do, was stopped or failed says so", async ({ page, desk, second }) => {
  const never = gate();
  const long = `说了很多。${"Words and more words. ".repeat(80)}`;
  desk.model.says({ text: long }, { text: long }, { text: ["摘", "要"], hold: never.opened }, { fail: 400 });
  const notice = page.locator(".notice").last();
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "/compact");
  await expect(notice).toHaveText("没有可压缩的内容：最近的消息总是原样保留。请继续对话；内容更多之后即可压缩。");
  for (const words of ["第一个问题", "第二个问题"]) {
    await desk.say(page, words);
    await desk.settled(page);
  }
  await desk.say(page, "/compact");
  await expect.poll(() => desk.model.asked.length).toBe(3);
  await page.keyboard.press("Escape");
  await expect(notice).toContainText("已停止。");
  never.open();
  await desk.settled(page);
  const other = await second();
  await other.goto(page.url());
  await expect(other.locator("[data-loaded=true]")).toBeVisible();
  await desk.say(page, "/compact");
  await expect(notice).toContainText("无法请求模型：");
  // Whoever looks on is told by an event, and whoever asked hears it once.
  await expect(other.locator(".notice")).toContainText("未能压缩对话：");
  await expect(page.locator(".notice.error")).toHaveCount(1);
});

test("a folder that is not there says so, and one that went away", async ({ page, desk }) => {
  await storeLong(desk.server, 2);
  await desk.enter(page);
  await page.getByRole("main").getByRole("button", { name: "在其他文件夹中工作" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("textbox").fill(`${desk.server.folder}/project/none`);
  await page.keyboard.press("Enter");
  await expect(dialog.getByRole("alert")).toHaveText("服务器所在的机器上没有这个文件夹。请填写已有文件夹的完整路径。");
  await page.keyboard.press("Escape");
  await rm(join(desk.server.folder, "project"), { recursive: true });
  await page.locator("[data-state=stored] .open").click();
  await expect(page.locator(".notice").last()).toContainText(`本会话的工作文件夹已不存在：${desk.server.folder}/project`);
});

test("a ticket that was used says so", async ({ page, desk }) => {
  desk.allow(/401|WebSocket|localhost/);
  await desk.look(page);
  const used = await desk.server.address();
  await page.goto(used);
  await expect(page.locator("[data-link=live]:visible").first()).toBeVisible();
  await page.goto("about:blank");
  await page.goto(used.replace("127.0.0.1", "localhost"));
  await expect(page.getByText("这张票据无效：已被用过，或已过期。")).toBeVisible();
});

test("a file that cannot be made says why, and so does the view of the envelope", async ({ page, desk }) => {
  desk.allow(/409/);
  await desk.enter(page);
  const session = await desk.begin(page);
  await desk.say(page, "/export envelope");
  await expect(page.locator(".notice.error")).toHaveText(/^\s*本会话还没有任何内容。/);
  await page.routeWebSocket(/\/ws/, (client) => {
    const server = client.connectToServer();
    client.onMessage((message) => {
      const { type, id } = JSON.parse(String(message)) as { type: string; id: string };
      if (type === "list_requests") {
        client.send(JSON.stringify({ type: "response", command: type, id, success: false, error: "Session file cannot be read: no such file", code: "storage_failed", hint: "x" }));
      } else {
        server.send(message);
      }
    });
  });
  await page.reload();
  await page.goto(`${desk.server.origin}/#/s/${session}/envelope`);
  await expect(page.getByRole("alert").filter({ hasText: "无法读取会话文件：no such file" })).toBeVisible();
});
