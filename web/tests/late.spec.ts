/** A server that answers late: what is shown meanwhile can be used. */
import type { Page, WebSocketRoute } from "@playwright/test";
import { expect, test } from "./support/page";
import { gate } from "./support/model";

/** Holds back the answers to a command until they are let go. */
async function hold(page: Page, command: string): Promise<{ open: () => void }> {
  const { open, opened } = gate();
  await page.routeWebSocket(/\/ws/, (client: WebSocketRoute) => {
    const server = client.connectToServer();
    server.onMessage((message) => {
      const said = JSON.parse(String(message)) as { type: string; command?: string };
      if (said.type === "response" && said.command === command) {
        void opened.then(() => client.send(message));
      } else {
        client.send(message);
      }
    });
  });
  return { open };
}

test("a session is named by a click on its heading before the list of sessions is there", async ({ page, desk }) => {
  const list = await hold(page, "list_stored_sessions");
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "A first message that is long enough to be a heading as wide as the line that it stands in, and longer");
  await desk.settled(page);
  await page.getByRole("heading", { level: 1 }).click();
  await page.getByRole("textbox", { name: "Name the session" }).fill("Parser work");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Parser work");
  list.open();
});

test("a strip that comes late does not undo a newer one", async ({ page, desk }) => {
  interface Said {
    type: string;
    command?: string;
    data?: { requests?: { usage?: unknown }[]; strip?: { tokens: { count: number } } };
  }
  const { open, opened } = gate();
  let isCounted = false;
  let strips = 0;
  await page.routeWebSocket(/\/ws/, (client: WebSocketRoute) => {
    const server = client.connectToServer();
    server.onMessage((message) => {
      const said = JSON.parse(String(message)) as Said;
      if (said.command === "list_requests" && !isCounted) {
        // As if its answer had not ended: when it has, the strip is read once more.
        said.data?.requests?.forEach((request) => delete request.usage);
      }
      if (said.command === "get_strip" && said.data?.strip !== undefined) {
        strips += 1;
        if (strips === 1) {
          said.data.strip.tokens.count = 987_654;
          void opened.then(() => client.send(JSON.stringify(said)));
          return;
        }
      }
      client.send(JSON.stringify(said));
    });
  });
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "one");
  await desk.settled(page);
  await expect.poll(() => strips).toBe(1);
  isCounted = true;
  await desk.say(page, "two");
  await desk.settled(page);
  await expect(page.locator("a.small svg")).toHaveCount(2);
  open();
  // Answers come in their order: after this one the late one is there.
  await desk.say(page, "three");
  await desk.settled(page);
  await expect(page.locator("a.small svg")).toHaveCount(3);
  await expect(page.getByRole("link", { name: /987,654/ })).toHaveCount(0);
});

test("whoever is at the end stays there, also if it moves on before the browser tells of a scrolling", async ({ page, desk }) => {
  desk.model.says({ text: `Much. ${"Words and more words. ".repeat(400)}` });
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Go");
  await desk.settled(page);
  const distance = await page.evaluate(async () => {
    const scroller = document.querySelector(".scroller") as HTMLElement;
    const frames = async (count: number) => {
      for (let frame = 0; frame < count; frame += 1) {
        await new Promise(requestAnimationFrame);
      }
    };
    scroller.scrollTop -= 10;
    await frames(3);
    // Between two frames, so that the browser tells of the scrolling before anybody has measured anew.
    await new Promise((resolve) => setTimeout(resolve));
    scroller.scrollTop = scroller.scrollHeight;
    // As if a question came up below it in the same moment.
    (document.querySelector(".foot") as HTMLElement).style.paddingBottom = "200px";
    await frames(5);
    return scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight;
  });
  expect(distance).toBeLessThan(48);
  // And who goes up is left there.
  await page.locator(".scroller").hover();
  await page.mouse.wheel(0, -300);
  await expect(page.getByRole("button", { name: "To the end" })).toBeVisible();
});

test("whoever says something sees it, wherever he was reading", async ({ page, desk }) => {
  desk.model.says({ text: `Much. ${"Words and more words. ".repeat(400)}` }, { text: "Little." });
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Go");
  await desk.settled(page);
  await page.locator("#main").focus();
  await page.keyboard.press("Home");
  await expect(page.getByRole("button", { name: "To the end" })).toBeVisible();
  await desk.say(page, "And now?");
  await expect(page.getByText("Little.")).toBeInViewport();
});
