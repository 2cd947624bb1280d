/** What extensions ask and draw. The frames are put into the real connection where the server would send them. */
import type { Page, WebSocketRoute } from "@playwright/test";
import { expect, test } from "./support/page";

interface Heard {
  type: string;
  requestId?: string;
  response?: unknown;
  key?: string;
}

/** Takes part in the connection: sends events of a session, and answers what is said to extensions. */
async function between(page: Page): Promise<{ send: (session: string, event: object) => void; heard: Heard[] }> {
  const heard: Heard[] = [];
  let socket: WebSocketRoute | undefined;
  await page.routeWebSocket(/\/ws/, (route) => {
    socket = route;
    const server = route.connectToServer();
    server.onMessage((message) => route.send(message));
    route.onMessage((message) => {
      const command = JSON.parse(String(message)) as Heard & { id: string };
      if (command.type === "extension_ui_response" || command.type === "extension_ui_key") {
        heard.push(command);
        route.send(JSON.stringify({ id: command.id, type: "response", command: command.type, success: true }));
      } else {
        server.send(message);
      }
    });
  });
  return { heard, send: (sessionId, event) => socket?.send(JSON.stringify({ type: "event", sessionId, event })) };
}

test("every kind of question is asked inline and answered", async ({ page, desk }) => {
  const wire = await between(page);
  await desk.enter(page);
  const session = await desk.begin(page);
  const card = page.getByRole("region", { name: "A question for you" });
  const ask = (requestId: string, question: object) => wire.send(session, { type: "extension_ui_request", requestId, ...question });

  ask("q1", { method: "select", title: "Which?", options: ["left", "right"] });
  await expect(card).toContainText("Which?");
  await page.keyboard.press("2");
  ask("q2", { method: "confirm", title: "Sure?", message: "It costs.", timeout: 60_000 });
  await expect(card).toContainText("It costs.");
  await page.keyboard.press("y");
  ask("q3", { method: "input", title: "Name?", placeholder: "a name" });
  await card.getByPlaceholder("a name").fill("Ann");
  await page.keyboard.press("Enter");
  ask("q4", { method: "editor", title: "Text", prefill: "before" });
  await expect(card.getByRole("textbox")).toHaveValue("before");
  await card.getByRole("textbox").fill("after");
  await card.getByRole("button", { name: "Answer" }).click();
  ask("q5", {
    method: "interview",
    title: "About you",
    questions: [
      { id: "name", type: "text", label: "Your name", required: true },
      { id: "colour", type: "select", label: "Colour", options: ["red", "blue"] },
      { id: "tools", type: "multi", label: "Tools", options: ["saw", "axe"] },
      { id: "ok", type: "confirm", label: "Agreed" },
    ],
  });
  await card.getByLabel("Your name").fill("Bo");
  await card.getByLabel("blue").check();
  await card.getByLabel("saw").check();
  await card.getByLabel("axe").check();
  await card.getByLabel("Agreed").check();
  await card.getByRole("button", { name: "Answer" }).click();
  await expect(card).toHaveCount(0);
  expect(wire.heard.map(({ requestId, response }) => [requestId, response])).toEqual([
    ["q1", { method: "select", value: "right" }],
    ["q2", { method: "confirm", confirmed: true }],
    ["q3", { method: "input", value: "Ann" }],
    ["q4", { method: "editor", value: "after" }],
    ["q5", { method: "interview", responses: { name: "Bo", colour: "blue", tools: ["saw", "axe"], ok: true } }],
  ]);
});

test("a question that somebody else answered goes away", async ({ page, desk }) => {
  const wire = await between(page);
  await desk.enter(page);
  const session = await desk.begin(page);
  wire.send(session, { type: "extension_ui_request", requestId: "q1", method: "confirm", title: "Sure?", message: "Well?" });
  const card = page.getByRole("region", { name: "A question for you" });
  await expect(card).toBeVisible();
  wire.send(session, { type: "extension_ui_resolved", requestId: "q1", outcome: "answered" });
  await expect(card).toHaveCount(0);
});

test("a component is drawn with its styles and gets keys in their order", async ({ page, desk }) => {
  const wire = await between(page);
  await desk.enter(page);
  const session = await desk.begin(page);
  const draw = (text: string) =>
    wire.send(session, {
      type: "extension_ui_render",
      requestId: "c1",
      width: 80,
      placement: "overlay",
      lines: [[{ text: "Build ", style: { bold: true } }, { text, style: { foreground: "#00aa00" } }], []],
    });
  draw("runs");
  const box = page.locator("[data-component=c1]");
  await expect(box).toContainText("Build runs");
  await expect(box).toBeFocused();
  for (const key of ["a", "ArrowDown", "Control+c", "Enter"]) {
    await page.keyboard.press(key);
  }
  draw("ok");
  await expect(box).toContainText("Build ok");
  await expect.poll(() => wire.heard.flatMap(({ key }) => (key === undefined ? [] : [key]))).toEqual(["a", "down", "ctrl+c", "enter"]);
  wire.send(session, { type: "extension_ui_resolved", requestId: "c1", outcome: "closed" });
  await expect(box).toHaveCount(0);
});

test("announcements of extensions are shown", async ({ page, desk }) => {
  const wire = await between(page);
  await desk.enter(page);
  const session = await desk.begin(page);
  const say = (announcement: object) => wire.send(session, { type: "extension_ui_request", requestId: "a", ...announcement });
  say({ method: "notify", message: "Careful now", notifyType: "warning" });
  say({ method: "setStatus", key: "branch", text: "main +2" });
  say({ method: "setWidget", key: "w", content: ["a widget", "with lines"], placement: "aboveEditor" });
  say({ method: "setEditorText", text: "from an extension" });
  await expect(page.getByText("Careful now")).toBeVisible();
  await expect(page.getByText("main +2")).toBeVisible();
  await expect(page.getByText("a widget")).toBeVisible();
  await expect(desk.editor(page)).toHaveValue("from an extension");
});
