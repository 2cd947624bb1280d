/** What the editor makes of pastes, pictures, commands and keys. */
import type { Page } from "@playwright/test";
import { gate } from "./support/model";
import { expect, test } from "./support/page";

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const attached = (page: Page) => page.getByRole("list", { name: "Pictures to send" }).getByRole("img");
const files = (page: Page) => page.locator(".composer input[type=file]");
const field = (page: Page) => page.getByRole("textbox", { name: "What shall the agent do?" });

async function attach(page: Page, name = "dot.png"): Promise<void> {
  const before = await attached(page).count();
  await files(page).setInputFiles({ name, mimeType: "image/png", buffer: Buffer.from(PNG, "base64") });
  await expect(attached(page)).toHaveCount(before + 1);
}

/** Pastes a text, a picture, or both. Resolves to whether the browser is left to put the text in. */
function paste(page: Page, label: string, text: string | undefined, picture: string | undefined): Promise<boolean> {
  return page.getByRole("textbox", { name: label, exact: true }).evaluate(
    (area, { text, picture, data }) => {
      const transfer = new DataTransfer();
      if (text !== undefined) {
        transfer.setData("text/plain", text);
      }
      if (picture !== undefined) {
        transfer.items.add(new File([Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0))], picture, { type: "image/png" }));
      }
      return area.dispatchEvent(new ClipboardEvent("paste", { clipboardData: transfer, bubbles: true, cancelable: true }));
    },
    { text, picture, data: PNG },
  );
}

/** A picture of noise, which cannot be made small without losing something. */
function noise(page: Page, side: number): Promise<string> {
  return page.evaluate(async (side) => {
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = side;
    const pen = canvas.getContext("2d");
    const image = pen?.createImageData(side, side);
    if (pen === null || image === undefined) {
      throw new Error("no canvas");
    }
    for (let at = 0; at < image.data.length; at += 1) {
      image.data[at] = at % 4 === 3 ? 255 : Math.random() * 256;
    }
    pen.putImageData(image, 0, 0);
    return canvas.toDataURL("image/png").replace(/^[^,]*,/, "");
  }, side);
}

test.describe("a paste", () => {
  test("of a text with a picture of it is the text", async ({ page, desk }) => {
    await desk.enter(page);
    await desk.begin(page);
    expect(await paste(page, "Message", "a\tb\n1\t2\n", "image.png")).toBe(true);
    expect(await paste(page, "Message", undefined, "image.png")).toBe(false);
    await expect(attached(page)).toHaveCount(1);
    // Where files are copied, their names are the text.
    expect(await paste(page, "Message", "/home/me/shot.png\n", "shot.png")).toBe(false);
    await expect(attached(page)).toHaveCount(2);
  });
});

test.describe("a picture", () => {
  test("stays where it is when a command of the page is called, and a shell command too", async ({ page, desk }) => {
    await desk.enter(page);
    await desk.begin(page);
    await attach(page);
    await desk.say(page, "/usage");
    await expect(page.locator(".notice.info")).toContainText("Spent so far.");
    await desk.say(page, "!echo from the shell");
    await expect(page.getByText("from the shell", { exact: true })).toBeVisible();
    await expect(attached(page)).toHaveCount(1);
    expect(desk.model.asked).toHaveLength(0);
    await desk.say(page, "What is it?");
    await desk.settled(page);
    expect(JSON.stringify(desk.model.asked)).toContain(PNG);
    await expect(attached(page)).toHaveCount(0);
  });

  test("that is too large is made smaller, and it is said", async ({ page, desk }) => {
    await desk.enter(page);
    await desk.begin(page);
    const large = Buffer.from(await noise(page, 1500), "base64");
    expect(large.length).toBeGreaterThan(5_000_000);
    await files(page).setInputFiles({ name: "large.png", mimeType: "image/png", buffer: large });
    await expect(attached(page)).toHaveCount(1);
    await expect(page.locator(".notice.info")).toContainText(/large\.png is sent as a JPEG: \d\.\d MB became \d\.\d MB/);
    await expect(attached(page)).toHaveAttribute("src", /^data:image\/jpeg;base64,/);
    expect((await attached(page).getAttribute("src"))?.length).toBeLessThan(6_700_000);
    expect(await attached(page).evaluate((image: HTMLImageElement) => image.naturalWidth)).toBe(1500);
  });

  test("that no browser here reads is refused by its kind, until something is sent", async ({ page, desk }) => {
    await desk.enter(page);
    await desk.begin(page);
    for (const [name, mimeType] of [["IMG_1.HEIC", ""], ["scan.tiff", "image/tiff"], ["large.png", "image/png"]] as const) {
      await files(page).setInputFiles({ name, mimeType, buffer: Buffer.alloc(name === "large.png" ? 5_000_001 : 100) });
    }
    const warnings = page.locator(".notice.warning");
    await expect(warnings).toHaveText([/IMG_1\.HEIC: this browser cannot read HEIC pictures/, /scan\.tiff: this browser cannot read TIFF/, /large\.png is larger than 5 MB/]);
    await expect(attached(page)).toHaveCount(0);
    await desk.say(page, "Never mind");
    await expect(warnings).toHaveCount(0);
    await desk.settled(page);
  });
});

test("an unknown command is told until the right one is called", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  await desk.editor(page).fill("/usagee");
  await desk.editor(page).press("Enter");
  await expect(page.locator(".notice.warning")).toContainText("Did you mean /usage?");
  await desk.say(page, "/usage");
  await expect(page.locator(".notice.warning")).toHaveCount(0);
  await expect(page.locator(".notice.info")).toContainText("Spent so far.");
});

test("nothing to compact is news and no fault", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Hello");
  await desk.settled(page);
  await desk.say(page, "/compact");
  await expect(page.locator(".notice.info")).toContainText("There is nothing to compact");
  await expect(page.locator(".notice.error")).toHaveCount(0);
});

test("Enter with another key means what it always means, also while something is offered", async ({ page, desk }) => {
  const rest = gate();
  await desk.server.write("project/notes.md", "the notes\n");
  desk.model.says({ text: ["Begun. ", "Done."], hold: rest.opened });
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Begin");
  await expect(page.getByText("Begun.")).toBeVisible();
  const offer = async (words: string) => {
    await desk.editor(page).fill("");
    await desk.editor(page).pressSequentially(words);
    await expect(page.getByRole("option").first()).toContainText("notes.md");
  };
  await offer("look at @note");
  await desk.editor(page).press("Shift+Enter");
  await expect(desk.editor(page)).toHaveValue("look at @note\n");
  await offer("look at @note");
  await desk.editor(page).press("Alt+Enter");
  await expect(page.getByRole("region", { name: "Waits to be said" }).getByRole("listitem")).toContainText("look at @note");
  await offer("rather look at @note");
  await desk.editor(page).press("Control+Enter");
  await expect(page.locator("[data-role=user]").filter({ hasText: "rather look at @note" })).toBeVisible();
  rest.open();
  await desk.settled(page);
});

test("what is offered says what it does in a column", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  await desk.editor(page).pressSequentially("/");
  await expect(page.getByRole("option").nth(5)).toBeVisible();
  const lefts = await page.getByRole("option").locator(".detail").evaluateAll((all) => all.map((one) => Math.round(one.getBoundingClientRect().left)));
  expect(new Set(lefts).size).toBe(1);
  await page.screenshot({ path: "/tmp/page-chat/offers.png" });
});

test("all ways to send are told where there is room for them", async ({ page, desk }) => {
  const rest = gate();
  desk.model.says({ text: ["Begun. ", "Done."], hold: rest.opened });
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Begin");
  await expect(page.getByText("Begun.")).toBeVisible();
  const hint = page.locator(".composer .hint");
  await expect(hint).toHaveText("Alt ↵ queues · Ctrl ↵ stops and sends");
  await page.screenshot({ path: "/tmp/page-chat/working.png" });
  expect(await hint.evaluate((node) => node.scrollWidth - node.clientWidth)).toBe(0);
  rest.open();
  await desk.settled(page);
});

test("closing a session that works is asked about, and one that does not is closed at once", async ({ page, desk }) => {
  const rest = gate();
  desk.model.says({ text: ["Begun. ", "Done."], hold: rest.opened });
  await desk.enter(page);
  const session = await desk.begin(page);
  await desk.say(page, "Begin");
  const row = page.locator(`[data-session="${session}"]`);
  await expect(row).toHaveAttribute("data-state", "working");
  const close = async () => {
    await row.hover();
    await row.getByRole("button", { name: /^Close / }).click();
  };
  await close();
  const question = page.getByRole("dialog", { name: "Close a session that works?" });
  await expect(question).toContainText("stops the run");
  await question.getByRole("button", { name: "Let it work" }).click();
  await expect(question).toHaveCount(0);
  await expect(row).toHaveAttribute("data-state", "working");
  rest.open();
  await desk.settled(page);
  await expect(row).toHaveAttribute("data-state", "open");
  await close();
  await expect(page).toHaveURL(/#\/$/);
});

test("a session that works is closed when that is wanted", async ({ page, desk }) => {
  const rest = gate();
  desk.model.says({ text: ["Begun. ", "Done."], hold: rest.opened });
  await desk.enter(page);
  const session = await desk.begin(page);
  await desk.say(page, "Begin");
  const row = page.locator(`[data-session="${session}"]`);
  await expect(row).toHaveAttribute("data-state", "working");
  await row.hover();
  await row.getByRole("button", { name: /^Close / }).click();
  await page.getByRole("button", { name: "Stop and close" }).click();
  await expect(page).toHaveURL(/#\/$/);
  rest.open();
});

test.describe("where one begins", () => {
  test("what was typed stays, with its pictures, and is sent as it stands", async ({ page, desk }) => {
    await desk.enter(page);
    await field(page).fill("Look at this");
    expect(await paste(page, "What shall the agent do?", undefined, "dot.png")).toBe(false);
    await expect(attached(page)).toHaveCount(1);
    await page.getByRole("link", { name: "Look into an envelope file" }).click();
    await expect(page.getByRole("heading", { name: "See what a model saw" })).toBeVisible();
    await page.goBack();
    await expect(field(page)).toHaveValue("Look at this");
    await page.reload();
    await expect(field(page)).toHaveValue("Look at this");
    await expect(attached(page)).toHaveCount(1);
    await page.screenshot({ path: "/tmp/page-chat/home.png" });
    await field(page).press("Enter");
    await expect(page).toHaveURL(/#\/s\//);
    await desk.settled(page);
    await expect(page.locator("[data-role=user] img")).toHaveCount(1);
    expect(JSON.stringify(desk.model.asked)).toContain(PNG);
    await page.goto(`${desk.server.origin}/#/`);
    await expect(field(page)).toHaveValue("");
    await expect(attached(page)).toHaveCount(0);
  });

  test("what is dropped is attached, or it is said why not", async ({ page, desk }) => {
    await desk.enter(page);
    await drop(page, [{ name: "dropped.png", type: "image/png" }, { name: "main.rs", type: "" }]);
    await expect(attached(page)).toHaveCount(1);
    await expect(page.locator(".notice.warning")).toContainText("main.rs is no picture that models take");
    await page.getByRole("button", { name: "Remove dropped.png" }).click();
    await expect(attached(page)).toHaveCount(0);
  });

  test("what was typed goes along with a session that is begun in another way", async ({ page, desk }) => {
    await desk.enter(page);
    await field(page).fill("Half a thought");
    await desk.begin(page);
    await expect(desk.editor(page)).toHaveValue("Half a thought");
    expect(desk.model.asked).toHaveLength(0);
    await page.goto(`${desk.server.origin}/#/`);
    await expect(field(page)).toHaveValue("");
  });

  test("what is sent while the server cannot be reached waits, says so, and is sent", async ({ page, desk }) => {
    desk.allow(/WebSocket|ERR_CONNECTION_REFUSED|Failed to load resource/);
    await desk.enter(page);
    await desk.server.kill();
    await expect(page.locator("[data-link=offline]:visible").first()).toBeVisible();
    await field(page).fill("Said offline");
    await field(page).press("Enter");
    await expect(page.getByText("The server cannot be reached: this waits, and is sent when it is there again.")).toBeVisible();
    await page.screenshot({ path: "/tmp/page-chat/home-offline.png" });
    await desk.server.launch();
    await expect(page).toHaveURL(/#\/s\//, { timeout: 30_000 });
    await desk.settled(page);
    await expect(page.locator("[data-role=user]")).toHaveText([/Said offline/]);
  });

  test("folder and model stand beside their labels", async ({ page, desk }) => {
    await desk.enter(page);
    for (const row of await page.locator("dl.usual > div").all()) {
      const [label, value] = await Promise.all([row.locator("dt").boundingBox(), row.locator("dd").boundingBox()]);
      const middle = (box: typeof label) => (box?.y ?? 0) + (box?.height ?? 0) / 2;
      expect(Math.abs(middle(label) - middle(value))).toBeLessThan(1.5);
    }
  });
});

test.describe("with a finger", () => {
  test.use({ viewport: { width: 375, height: 720 }, hasTouch: true, isMobile: true });

  test("Enter makes a line, and the button sends", async ({ page, desk }) => {
    await desk.enter(page);
    await expect(field(page)).toHaveAttribute("enterkeyhint", "enter");
    await field(page).tap();
    await page.keyboard.type("one");
    await page.keyboard.press("Enter");
    await page.keyboard.type("two");
    await expect(field(page)).toHaveValue("one\ntwo");
    await page.getByRole("button", { name: "Send" }).tap();
    await desk.settled(page);
    await expect(desk.editor(page)).toHaveAttribute("enterkeyhint", "enter");
    await desk.editor(page).tap();
    await page.keyboard.type("three");
    await page.keyboard.press("Enter");
    await page.keyboard.type("four");
    await expect(desk.editor(page)).toHaveValue("three\nfour");
    await page.getByRole("button", { name: "Send" }).tap();
    await desk.settled(page);
    await expect(page.locator("[data-role=user]")).toHaveText([/one\s+two/, /three\s+four/]);
    expect(desk.model.asked).toHaveLength(2);
  });
});

/** Lets files go over the page, as a browser tells it. */
async function drop(page: Page, all: { name: string; type: string }[]): Promise<void> {
  const transfer = await page.evaluateHandle(
    ({ all, data }) => {
      const transfer = new DataTransfer();
      for (const { name, type } of all) {
        transfer.items.add(new File([Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0))], name, { type }));
      }
      return transfer;
    },
    { all, data: PNG },
  );
  await page.locator(".home").dispatchEvent("dragover", { dataTransfer: transfer });
  await page.locator(".home").dispatchEvent("drop", { dataTransfer: transfer });
}
