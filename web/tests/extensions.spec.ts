/** What extensions ask, draw and announce: a real one, in the folder of the agent, that the real server runs. */
import { readFileSync } from "node:fs";
import type { Page } from "@playwright/test";
import { expect, test } from "./support/page";

const SURVEY = readFileSync(new URL("extensions/survey.ts", import.meta.url), "utf8");
const IMITATOR = readFileSync(new URL("extensions/pi.ts", import.meta.url), "utf8");

test.use({ files: { "agent/extensions/survey.ts": SURVEY } });

const question = (page: Page, text: string) => page.getByRole("region", { name: "A question for you" }).filter({ hasText: text });

/** Answers by a key. For a moment after a question took the focus that does nothing. */
async function send(page: Page, text: string, key: string): Promise<void> {
  await expect(async () => {
    await page.keyboard.press(key);
    await expect(question(page, text)).toHaveCount(0, { timeout: 3000 });
  }).toPass();
}

test("every kind of question is asked inline, and the extension gets the answers", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "/survey");

  await expect(question(page, "Which?")).toBeVisible();
  await page.keyboard.press("Alt+a");
  await expect(question(page, "Which?")).toBeFocused();
  await page.keyboard.press("2");
  await expect(question(page, "It costs.")).toBeVisible();
  await page.keyboard.press("Alt+a");
  await page.keyboard.press("y");
  await question(page, "Name?").getByPlaceholder("a name").fill("Ann");
  await send(page, "Name?", "Enter");
  const editor = question(page, "Text").getByRole("textbox");
  await expect(editor).toHaveValue("before");
  await editor.fill("after");
  await send(page, "Text", "Control+Enter");
  const form = question(page, "About you");
  await form.getByLabel("Your name").fill("Bo");
  await form.getByLabel("blue").check();
  await form.getByLabel("saw").check();
  await form.getByLabel("axe").check();
  await form.getByLabel("Agreed").check();
  await form.getByRole("button", { name: "Answer" }).click();

  const told = { side: "right", isSure: true, name: "Ann", text: "after", form: { name: "Bo", colour: "blue", tools: ["saw", "axe"], agreed: true } };
  await expect(page.getByText('{"side"')).toBeVisible();
  expect(JSON.parse((await page.getByText('{"side"').textContent()) ?? "")).toEqual(told);
  await expect(question(page, "")).toHaveCount(0);
});

test("a question with answers that are the same can be answered", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "/twins");
  await expect(question(page, "Which twin?").getByRole("button", { name: "same" })).toHaveCount(2);
  await question(page, "Which twin?").getByRole("button", { name: "same" }).last().click();
  await question(page, "Twins").getByLabel("same").last().check();
  await question(page, "Twins").getByRole("button", { name: "Answer" }).click();
  await expect(page.getByText('{"one":"same","form":{"one":"same"}}')).toBeVisible();
});

test("Escape puts a question away, and what was written into it is not said", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "/survey");
  const dismiss = async (text: string, written = "") => {
    await expect(question(page, text)).toBeVisible();
    await page.keyboard.press("Alt+a");
    await page.keyboard.type(written);
    await page.keyboard.press("Escape");
    await expect(question(page, text)).toHaveCount(0);
  };
  await dismiss("Which?");
  await dismiss("It costs.");
  await dismiss("Name?", "Ann");
  // One that is dismissed again and again is not heard any more: this one is answered.
  await question(page, "Text").getByRole("textbox").fill("after");
  await send(page, "Text", "Control+Enter");
  await dismiss("About you", "Bo");
  // Who puts a yes or no away has not said yes.
  await expect(page.locator(".notice").getByText(/^\{.*\}$/)).toHaveText('{"isSure":false,"text":"after"}');
});

test("a question is asked of every browser, also one that comes later, and whoever answers first decides", async ({ page, desk, second }) => {
  await desk.enter(page);
  const session = await desk.begin(page);
  await desk.say(page, "/survey");
  await expect(question(page, "Which?")).toBeVisible();
  const other = await second();
  await other.goto(`${desk.server.origin}/#/s/${session}`);
  await question(other, "Which?").getByRole("button", { name: "left" }).click();
  await expect(question(page, "Which?")).toHaveCount(0);
  await question(page, "It costs.").getByRole("button", { name: "No" }).click();
  await expect(question(other, "It costs.")).toHaveCount(0);
  await expect(question(other, "Name?")).toBeVisible();
});

test("a component is drawn with its styles and gets keys in their order", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "/keys");
  const box = page.locator("[data-component]");
  await expect(box).toContainText("Keys:");
  await expect(box.locator(".bold")).toHaveText("Keys:");
  // It takes no keys from who writes.
  await expect(desk.editor(page)).toBeFocused();
  await page.keyboard.type("yes");
  await expect(desk.editor(page)).toHaveValue("yes");
  await desk.editor(page).fill("");
  await page.keyboard.press("Alt+a");
  await expect(box).toBeFocused();
  for (const key of ["a", "ArrowDown", "Control+c"]) {
    await page.keyboard.press(key);
  }
  await expect(box).toContainText("a down ctrl+c");
  await page.keyboard.press("Enter");
  await expect(box).toHaveCount(0);
  await expect(page.getByText("heard a down ctrl+c enter")).toBeVisible();
  await expect(desk.editor(page)).toBeFocused();
});

test("a component that takes a focus which nobody has does not hear at once", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  await desk.editor(page).fill("/keys");
  await desk.editor(page).evaluate((area: HTMLTextAreaElement) => {
    area.form?.requestSubmit();
    area.blur();
  });
  const box = page.locator("[data-component]");
  await expect(box).toBeFocused();
  // Keys of one moment, as somebody types who has not seen it come.
  await box.evaluate((node) => {
    for (const key of ["y", "n"]) {
      node.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    }
    // Whoever wants to go there is heard at once.
    node.dispatchEvent(new KeyboardEvent("keydown", { key: "a", altKey: true, bubbles: true, cancelable: true }));
  });
  await page.keyboard.press("b");
  await expect(box.locator(".line")).toHaveText("Keys: b");
});

test("announcements of extensions are shown", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  // The editor is not empty for long: the extension writes into it.
  await desk.editor(page).fill("/announce");
  await desk.editor(page).press("Enter");
  await expect(page.getByText("Careful now")).toBeVisible();
  await expect(page.locator(".notice").filter({ hasText: "Careful now" })).toContainText("Its own words, not those of pi.");
  await expect(page.getByText("main +2")).toBeVisible();
  await expect(page.getByText("a widget")).toBeVisible();
  await expect(desk.editor(page)).toHaveValue("from an extension");
});

test.describe("an extension that wants to be taken for the host", () => {
  test.use({
    files: { "agent/extensions/program.ts": IMITATOR },
    settings: { agent: { policy: { mode: "prompt", default_caps: ["read"] } } },
  });

  test("its questions carry its name and never look like an approval", async ({ page, desk }) => {
    await desk.enter(page);
    await desk.begin(page);
    await desk.say(page, "/trick");
    await expect(page.locator(".outgoing")).toContainText("the server works on it");
    for (const [words, answer] of [["The model asks for exec: rm -r /", /^No/], ["This is the program itself, no extension.", /^No/]] as const) {
      const card = question(page, words);
      await expect(card).toHaveAccessibleName(/^A question for you, Extension program: /);
      await expect(card.locator("[data-from]")).toHaveCount(1);
      const band = card.locator("[data-from=extension]");
      await expect(band).toContainText("Extension program");
      await expect(band).toContainText("pi does not ask this");
      await expect(card).not.toHaveClass(/approval/);
      // Its words stand below the band and not in it, and the options are as it wrote them.
      const [above, below] = [await band.boundingBox(), await card.locator(".inside").boundingBox()];
      expect((above?.y ?? 0) + (above?.height ?? 0)).toBeLessThanOrEqual((below?.y ?? 0) + 0.5);
      expect(above?.height).toBeGreaterThan(15);
      await card.getByRole("button", { name: answer }).click();
      await expect(card).toHaveCount(0);
    }
  });

  test("what it draws, announces and shows carries its name too", async ({ page, desk }) => {
    await desk.enter(page);
    await desk.begin(page);
    await desk.say(page, "/say");
    const notice = page.locator(".notice").filter({ hasText: "pi asks" });
    await expect(notice.locator(".by [data-from=extension] strong")).toHaveText("Extension program");
    await expect(notice).toHaveCSS("border-top-style", "dashed");
    await expect(page.locator(".widget [data-from=extension]")).toContainText("Extension program");
    await expect(page.locator(".statuses")).toContainText("program:\u00a0pi asks");
    await desk.say(page, "/paint");
    const drawn = page.locator("[data-component]");
    await expect(drawn).toContainText("pi asks");
    await expect(page.locator(".frame", { has: drawn }).last().locator("> [data-from=extension]")).toContainText("Extension program");
    await expect(page.locator("[data-from=host]")).toHaveCount(0);
  });

  test("what the host asks says so, and stands before all that it asks", async ({ page, desk }) => {
    desk.model.says({ calls: [{ name: "bash", arguments: { command: "echo real" } }] }, { text: "Done." });
    await desk.enter(page);
    await desk.begin(page);
    await desk.say(page, "/flood");
    await expect(question(page, "")).toHaveCount(3);
    await desk.say(page, "Do it");
    await expect(question(page, "")).toHaveCount(4);
    const first = question(page, "").first();
    await expect(first).toHaveAccessibleName("A question for you, pi asks: exec echo real");
    await expect(first.locator("[data-from=host]")).toContainText("This is the program itself");
    await expect(first).toContainText("echo real");
    await expect(first).toHaveClass(/approval/);
    await expect(page.locator("[data-from=host]")).toHaveCount(1);
  });
});

test.describe("the panel of extensions", () => {
  // Only what somebody asks for is loaded anew.
  test.use({ settings: { watchExtensions: false } });

  const row = (page: Page, name: string) => page.locator(`[data-extension=${name}]`);

  test("shows what each is and did, and its switches act at once and everywhere", async ({ page, desk, second }) => {
    await desk.enter(page);
    const session = await desk.begin(page);
    await desk.say(page, "/announce", "Enter").catch(() => undefined); // It writes into the editor itself.
    await expect(page.getByText("Careful now")).toBeVisible();
    await page.getByRole("button", { name: "Extensions" }).click();
    const mine = row(page, "survey");
    await expect(mine).toContainText("script");
    await expect(mine).toContainText("/announce");
    await expect(mine).toHaveAttribute("data-state", /running|idle|parked/);
    await expect(mine.locator("dd").first()).not.toHaveText("0");
    const other = await second();
    await other.goto(`${desk.server.origin}/#/s/${session}`);
    await other.getByRole("button", { name: "Extensions" }).click();
    await expect(row(other, "survey").getByRole("switch")).toBeChecked();
    // By keyboard alone.
    await mine.getByRole("switch").focus();
    await page.keyboard.press("Space");
    await expect(mine.getByRole("switch")).not.toBeChecked();
    await expect(mine).toHaveAttribute("data-state", "disabled");
    await expect(row(other, "survey")).toHaveAttribute("data-state", "disabled");
    await other.keyboard.press("Escape");
    await desk.editor(other).fill("/surv");
    await expect(other.getByRole("option", { name: /survey/ })).toHaveCount(0);
    await desk.editor(other).fill("");
    await mine.getByRole("switch").click();
    await expect(mine.getByRole("switch")).toBeChecked();
    await desk.editor(other).fill("/surv");
    await expect(other.getByRole("option", { name: /survey/ })).toHaveCount(1);
  });

  test("a reload takes up what was changed on the disk, and finds what is new", async ({ page, desk }) => {
    await desk.enter(page);
    await desk.begin(page);
    await page.getByRole("button", { name: "Extensions" }).click();
    await expect(row(page, "survey")).toContainText("/survey");
    await desk.server.write("agent/extensions/survey.ts", SURVEY.replace('registerCommand("survey"', 'registerCommand("poll"'));
    await page.getByRole("button", { name: "Load survey again" }).click();
    await expect(row(page, "survey")).toContainText("/poll");
    await desk.server.write("agent/extensions/program.ts", IMITATOR);
    await page.getByRole("button", { name: "Load all again" }).click();
    await expect(row(page, "program")).toContainText("/trick");
  });

  test("shows two of one id, each with its place", async ({ page, desk }) => {
    await page.routeWebSocket(/\/ws/, (client) => {
      const server = client.connectToServer();
      server.onMessage((message) => {
        const said = JSON.parse(String(message)) as { command?: string; data?: { extensions: { extensionId: string; path?: string }[] } };
        const found = said.command === "list_extensions" ? said.data?.extensions.find(({ extensionId }) => extensionId === "survey") : undefined;
        if (found !== undefined) {
          said.data?.extensions.push({ ...found, path: "/elsewhere/survey.ts" }, { ...found, path: "/elsewhere/survey.ts" });
        }
        client.send(found === undefined ? message : JSON.stringify(said));
      });
    });
    await desk.enter(page);
    await desk.begin(page);
    await page.getByRole("button", { name: "Extensions" }).click();
    await expect(row(page, "survey")).toHaveCount(3);
    await expect(row(page, "survey").filter({ hasText: "/elsewhere/survey.ts" })).toHaveCount(2);
  });

  test("speaks Chinese", async ({ page, desk }) => {
    await page.addInitScript(() => localStorage.setItem("pi.language", "zh"));
    await desk.enter(page);
    await desk.begin(page);
    await page.getByRole("button", { name: "扩展" }).click();
    await expect(row(page, "survey")).toContainText("脚本");
    await expect(row(page, "survey").getByRole("switch", { name: "survey：已启用" })).toBeChecked();
  });
});
