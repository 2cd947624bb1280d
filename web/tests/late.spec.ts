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

test.describe("a reading that is overtaken", () => {
  test.use({ settings: { compaction: { keepRecentTokens: 20, reserveTokens: 100 } } });

  test("what stands above is read for the beginning that takes the place of the old one", async ({ page, desk }) => {
    interface Told {
      id?: string;
      type: string;
      command?: string;
      data?: { commandType?: string };
    }
    /** The first reading of what stands above, and the readings of the end after it. */
    let above: string | undefined;
    const ends: string[] = [];
    const { open: begin, opened: begun } = gate();
    const { open: end, opened: ended } = gate();
    const { open: overtake, opened: overtaken } = gate();
    await page.routeWebSocket(/\/ws/, (client: WebSocketRoute) => {
      const server = client.connectToServer();
      client.onMessage((message) => {
        const said = JSON.parse(String(message)) as { id: string; type: string; before?: string; after?: string };
        if (said.type === "get_messages" && said.before !== undefined && above === undefined) {
          above = said.id;
          begin();
        } else if (said.type === "get_messages" && said.before === undefined && said.after === undefined && above !== undefined) {
          ends.push(said.id);
        }
        server.send(message);
      });
      server.onMessage((message) => {
        const said = JSON.parse(String(message)) as Told;
        if (said.type === "command_finished" && said.data?.commandType === "compact") {
          // Everybody is told that it was compacted when the first reading after it is done.
          void begun.then(() => client.send(message));
        } else if (said.id !== undefined && said.id === above) {
          void overtaken.then(() => client.send(message));
        } else {
          client.send(message);
          if (said.id !== undefined && ends.includes(said.id)) {
            end();
          }
        }
      });
    });
    desk.model.says({ text: `A long first answer. ${"Words and more words. ".repeat(80)}` }, { text: "A second answer." }, { text: "They talked about words." });
    await desk.enter(page);
    await desk.begin(page);
    for (const words of ["first question", "second question"]) {
      await desk.say(page, words);
      await desk.settled(page);
    }
    await desk.say(page, "/compact");
    await ended;
    // By then the new beginning is drawn, and what stands above it was asked for.
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    overtake();
    // Sooner than what is told of the compaction fades: then everything moves, and it would be asked for once more.
    await expect(page.locator("[data-role=user], [data-role=compactionSummary]")).toHaveText([/first question/, /summarised/, /second question/], { timeout: 8000 });
  });
});

test.describe("a compaction inside a run", () => {
  // Whatever is said is too much, so that every answer is followed by a compaction.
  test.use({ settings: { compaction: { keepRecentTokens: 20, reserveTokens: 127_000 } } });

  test("nothing is shown twice when it is read as the run ends", async ({ page, desk }) => {
    // Everything comes in its order, and late: the end of the run is told while what was compacted is read.
    await page.routeWebSocket(/\/ws/, (client: WebSocketRoute) => {
      const server = client.connectToServer();
      server.onMessage((message) => void setTimeout(() => client.send(message), 300));
    });
    desk.model.otherwise({ text: "Understood, and here is what there is to say about it." });
    await desk.enter(page);
    await desk.begin(page);
    for (const words of ["The first thing to do", "The second thing to do", "The third thing to do"]) {
      await desk.say(page, words);
      await desk.settled(page);
      await expect(page.locator("[data-role=user]").filter({ hasText: words })).toHaveCount(1);
    }
    await expect(page.locator("[data-role=compactionSummary]").first()).toBeVisible();
    await expect(page.locator("[data-role=user]").last()).toContainText("The third thing to do");
    for (const words of ["first", "second", "third"]) {
      expect(await page.locator("[data-role=user]").filter({ hasText: words }).count()).toBeLessThanOrEqual(1);
    }
    const entries = await page.locator("[data-entry]").evaluateAll((nodes) => nodes.map((node) => node.getAttribute("data-entry")));
    expect(new Set(entries).size).toBe(entries.length);
  });
});
