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
