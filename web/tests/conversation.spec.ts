import { Buffer } from "node:buffer";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Page } from "@playwright/test";
import { expect, test } from "./support/page";
import { gate } from "./support/model";

test("a first conversation: markdown, code, thinking, cost, context", async ({ page, desk }) => {
  desk.model.says({
    thinking: "The user wants an example.",
    text: ["Here is **the answer**:\n\n", "- one\n- two\n\n```rust\nfn main() { println!(\"hi\"); }\n```\n\n", "| a | b |\n|---|---|\n| 1 | 2 |\n"],
  });
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Show me something");
  await desk.settled(page);
  const answer = page.locator("[data-role=assistant]");
  await expect(answer.locator("strong")).toHaveText("the answer");
  await expect(answer.locator("li")).toHaveText(["one", "two"]);
  await expect(answer.locator("code .keyword").first()).toHaveText("fn");
  await expect(answer.locator("table td")).toHaveText(["1", "2"]);
  const thought = answer.getByRole("button", { name: "Thought" });
  await expect(thought).toHaveAttribute("aria-expanded", "false");
  await thought.click();
  await expect(answer.getByText("The user wants an example.")).toBeVisible();
  await expect(page.getByRole("meter")).toHaveAttribute("aria-valuetext", /\d.* \/ ≈ 128k, \d+ % \(assumed\)/);
  await expect(page.locator("[data-role=user]")).toContainText("Show me something");
  await expect(page.locator("[data-session] .words").first()).toHaveText("Show me something");
});

test("tools: verb and target, output, failure, changes in both ways", async ({ page, desk }) => {
  await desk.server.write("project/a.txt", "alpha\nbeta\ngamma\n");
  desk.model.says(
    { calls: [{ name: "read", arguments: { path: "a.txt" } }, { name: "bash", arguments: { command: "seq 1 40; echo done" } }] },
    { calls: [{ name: "edit", arguments: { path: "a.txt", edits: [{ oldText: "beta", newText: "beta two" }] } }, { name: "bash", arguments: { command: "exit 3" } }] },
    { text: "All done." },
  );
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Work");
  await desk.settled(page);
  const card = (name: string, number = 0) => page.locator(`[data-tool=${name}]`).nth(number);
  await expect(card("read")).toContainText("Read");
  await expect(card("read")).toContainText("a.txt");
  await expect(card("bash")).toContainText("seq 1 40; echo done");
  await expect(card("bash")).toHaveAttribute("data-status", "done");
  await card("bash").getByRole("button").first().click();
  await expect(card("bash").locator("pre")).toContainText("40\ndone");
  await expect(card("bash", 1)).toHaveAttribute("data-status", "failed");
  // Changes are open, with the words that changed.
  await expect(card("edit").locator("mark")).toHaveText([" two"]);
  await card("edit").getByRole("button", { name: "Split" }).click();
  await expect(card("edit").locator("table.split")).toBeVisible();
  await card("edit").getByRole("button", { name: "Unified" }).click();
  await expect(card("edit").locator("table.split")).toHaveCount(0);
});

test("output of a tool is followed while it works", async ({ page, desk }) => {
  desk.model.says({ calls: [{ name: "bash", arguments: { command: "for i in 1 2 3; do echo line $i; done; while [ ! -e go ]; do sleep 0.05; done; echo end" } }] });
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Run");
  const card = page.locator("[data-tool=bash]");
  await expect(card.locator(".tail")).toContainText("line 3");
  await expect(card).toHaveAttribute("data-status", "running");
  await desk.server.write("project/go", "");
  await expect(card).toHaveAttribute("data-status", "done");
  await desk.settled(page);
});

test("steer, queue, edit the queue, stop and send", async ({ page, desk }) => {
  const first = gate();
  desk.model.says({ text: ["Busy now", " with it."], hold: first.opened }, { text: "Steered." }, { text: "Queued." });
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Begin");
  await expect(page.getByText("Busy now")).toBeVisible();
  for (const name of ["Steer now", "Queue", "Stop and send"]) {
    await expect(page.getByRole("button", { name, exact: true })).toBeVisible();
  }
  await desk.say(page, "steer it");
  await desk.editor(page).fill("queue this");
  await page.getByRole("button", { name: "Queue", exact: true }).click();
  await desk.say(page, "queue that", "Alt+Enter");
  const queue = page.getByRole("region", { name: "Waits to be said" });
  await expect(queue.getByRole("listitem")).toHaveCount(3);
  // One is dropped, one is changed.
  await queue.getByRole("listitem").filter({ hasText: "queue that" }).getByRole("button", { name: "Drop" }).click();
  await expect(queue.getByRole("listitem")).toHaveCount(2);
  await queue.getByRole("listitem").filter({ hasText: "queue this" }).getByRole("button", { name: "Change the text" }).click();
  await queue.getByRole("textbox").fill("queue this instead");
  await queue.getByRole("textbox").press("Enter");
  await expect(queue.getByText("queue this instead")).toBeVisible();
  first.open();
  await desk.settled(page);
  await expect(page.locator("[data-role=user]")).toHaveText([/Begin/, /steer it/, /queue this instead/]);
  const second = gate();
  desk.model.says({ text: ["Never", " ending"], hold: second.opened }, { text: "Something else." });
  await desk.say(page, "Again");
  await expect(page.getByText("Never", { exact: false })).toBeVisible();
  await desk.say(page, "do this now", "Control+Enter");
  await expect(page.getByText("Something else.")).toBeVisible();
  await expect(page.getByText("Stopped", { exact: true })).toBeVisible();
  second.open();
  await desk.settled(page);
});

test("commands after a slash, files after an at", async ({ page, desk }) => {
  await desk.server.write("project/src/main.rs", "fn main() {}\n");
  await desk.enter(page);
  await desk.begin(page);
  await desk.editor(page).pressSequentially("/tr");
  await expect(page.getByRole("option")).toHaveText([/\/tree/]);
  await desk.editor(page).press("Tab");
  await expect(desk.editor(page)).toHaveValue("/tree ");
  await desk.editor(page).fill("");
  await desk.editor(page).pressSequentially("look at @main");
  await expect(page.getByRole("option").first()).toContainText("src/main.rs");
  await desk.editor(page).press("Enter");
  await expect(desk.editor(page)).toHaveValue("look at @src/main.rs ");
  await desk.editor(page).press("Enter");
  await desk.settled(page);
  await expect(page.locator("[data-role=user]").first()).toContainText("look at");
  expect(JSON.stringify(desk.model.asked.at(-1))).toContain("fn main() {}");
});

const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAFklEQVQI12P8z8DAwMDAxMDAwMDAAAANHQEDasKb6QAAAABJRU5ErkJggg==";

test("a picture is chosen, pasted, dropped, shown and sent", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  await page.locator("input[type=file]").setInputFiles({ name: "dot.png", mimeType: "image/png", buffer: Buffer.from(PNG, "base64") });
  await expect(page.getByRole("img", { name: "dot.png" })).toBeVisible();
  await page.getByRole("button", { name: "Remove dot.png" }).click();
  await desk.editor(page).evaluate((area, data) => {
    const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
    const transfer = new DataTransfer();
    transfer.items.add(new File([bytes], "pasted.png", { type: "image/png" }));
    area.dispatchEvent(new ClipboardEvent("paste", { clipboardData: transfer, bubbles: true, cancelable: true }));
  }, PNG);
  await expect(page.getByRole("img", { name: "pasted.png" })).toBeVisible();
  // What is no picture that a model takes is not taken.
  await drop(page, ".composer textarea", [
    { name: "dropped.png", type: "image/png", data: PNG },
    { name: "notes.svg", type: "image/svg+xml", data: PNG },
  ]);
  await expect(page.getByRole("img", { name: "dropped.png" })).toBeVisible();
  await expect(page.getByText("notes.svg")).toBeVisible();
  await desk.say(page, "What is this?");
  await desk.settled(page);
  await expect(page.locator("[data-role=user] img")).toHaveCount(2);
  expect(JSON.stringify(desk.model.asked.at(-1)).split(PNG).length - 1).toBe(2);
});

/** As a browser tells it: something is above, then it is let go. */
async function drop(page: Page, place: string, files: { name: string; type: string; data: string }[]): Promise<void> {
  const transfer = await page.evaluateHandle((all) => {
    const transfer = new DataTransfer();
    for (const { name, type, data } of all) {
      transfer.items.add(new File([Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0))], name, { type }));
    }
    return transfer;
  }, files);
  await page.locator(place).dispatchEvent("dragover", { dataTransfer: transfer });
  await page.locator(place).dispatchEvent("drop", { dataTransfer: transfer });
}

test("files are dropped anywhere: a picture joins the message, an envelope is shown", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  await drop(page, "header.bar", [{ name: "dropped.png", type: "image/png", data: PNG }]);
  await expect(page.getByRole("img", { name: "dropped.png" })).toBeVisible();
  const envelope = readFileSync(new URL("../../docs/examples/first-request.json", import.meta.url));
  await drop(page, "header.bar", [{ name: "first-request.json", type: "application/json", data: envelope.toString("base64") }]);
  await expect(page).toHaveURL(/#\/view/);
  await expect(page.getByRole("heading", { name: "first-request.json" })).toBeVisible();
  await expect(page.locator("article.segment").first()).toBeVisible();
});

test("an envelope is known by what it says, whatever its name", async ({ page, desk }) => {
  await desk.enter(page);
  const envelope = readFileSync(new URL("../../docs/examples/first-request.json", import.meta.url));
  const lines = Buffer.from(`${JSON.stringify(JSON.parse(envelope.toString()))}\n`);
  for (const [name, data] of [["env.jsonl", lines], ["captured", Buffer.concat([Buffer.from("\ufeff\n"), envelope])]] as const) {
    await page.goto(`${desk.server.origin}/#/`);
    await desk.begin(page);
    await drop(page, "header.bar", [{ name, type: "", data: data.toString("base64") }]);
    await expect(page.getByRole("heading", { name })).toBeVisible();
  }
});

test("a file that was dropped is there after a look at a session, and no link is promised to it", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  const envelope = readFileSync(new URL("../../docs/examples/first-request.json", import.meta.url));
  const list = Buffer.from(`[${envelope.toString()}]`);
  await drop(page, "header.bar", [{ name: "list", type: "", data: list.toString("base64") }]);
  const selected = page.locator("article.selected");
  await expect(page.locator("article.segment").first()).toBeVisible();
  await page.keyboard.press("j");
  await expect(selected).toHaveCount(1);
  await page.keyboard.press("y");
  await expect(page.getByText("open in this tab only")).toBeVisible();
  await page.locator("[data-session] .open").first().click();
  await expect(desk.editor(page)).toBeVisible();
  await page.goBack();
  await expect(page.getByRole("heading", { name: "list" })).toBeVisible();
  await expect(selected).toHaveCount(1);
});

test("the viewer of files can be left on a phone", async ({ page, desk }) => {
  await desk.enter(page);
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto(`${desk.server.origin}/#/view`);
  await expect(page.getByRole("heading", { name: "See what a model saw" })).toBeVisible();
  await page.getByRole("main").getByRole("button", { name: "Sessions" }).click();
  await expect(page.getByRole("complementary").getByRole("button", { name: "New session" })).toBeVisible();
});

test("files that are neither pictures nor envelopes leave the conversation as it is", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  const address = page.url();
  await desk.editor(page).fill("half a thought");
  const notes = { name: "notes.txt", type: "text/plain", data: Buffer.from("notes").toString("base64") };
  const notice = page.locator(".notice").filter({ hasText: "main.rs is no picture that models take" });
  for (const [place, times] of [["header.bar", 0], [".composer textarea", 1]] as const) {
    await drop(page, place, [{ name: "main.rs", type: "", data: notes.data }, notes]);
    await expect(notice).toHaveCount(1);
    // The same once more is counted.
    await expect(notice.getByText("×2")).toHaveCount(times);
  }
  for (const [place, name] of [["header.bar", "one.png"], [".composer textarea", "two.png"]] as const) {
    await drop(page, place, [{ name, type: "image/png", data: PNG }, notes]);
    await expect(page.getByRole("img", { name })).toBeVisible();
  }
  expect(page.url()).toBe(address);
  await expect(desk.editor(page)).toHaveValue("half a thought");
  // It is seen where files may be let go.
  const transfer = await page.evaluateHandle(() => {
    const transfer = new DataTransfer();
    transfer.items.add(new File(["x"], "x.png", { type: "image/png" }));
    return transfer;
  });
  await page.locator("header.bar").dispatchEvent("dragover", { dataTransfer: transfer });
  await expect(page.getByText("Drop pictures to attach them")).toBeVisible();
  await page.locator("header.bar").dispatchEvent("dragleave", { dataTransfer: transfer });
  await expect(page.getByText("Drop pictures to attach them")).toHaveCount(0);
});

test("an envelope file is looked at without being let in", async ({ page, desk }) => {
  await desk.look(page);
  desk.allow(/401|WebSocket/);
  await page.goto(`${desk.server.origin}/`);
  await page.getByRole("link", { name: "Look into an envelope file" }).click();
  await page.locator("input[type=file]").setInputFiles(fileURLToPath(new URL("../../docs/examples/second-request.json", import.meta.url)));
  await expect(page.locator("article.segment").first()).toBeVisible();
});

test.describe("approvals", () => {
  test.use({ settings: { agent: { policy: { mode: "prompt", default_caps: ["read"] } } } });

  test("one client decides for all", async ({ page, desk, second }) => {
    desk.model.says({ calls: [{ name: "bash", arguments: { command: "echo allowed > out.txt" } }] }, { text: "It is done." });
    await desk.enter(page);
    const session = await desk.begin(page);
    const other = await second();
    await other.goto(`${desk.server.origin}/#/s/${session}`);
    await expect(desk.editor(other)).toBeVisible();
    await desk.say(page, "Write it");
    const card = page.getByRole("region", { name: "A question for you" });
    await expect(card).toContainText("echo allowed > out.txt");
    const theirs = other.getByRole("region", { name: "A question for you" });
    await expect(theirs).toBeVisible();
    await theirs.getByRole("button", { name: /this once/ }).click();
    await expect(card).toHaveCount(0);
    await expect(theirs).toHaveCount(0);
    await desk.settled(page);
    await expect(page.locator("[data-tool=bash]")).toHaveAttribute("data-status", "done");
    await expect(other.getByText("It is done.")).toBeVisible();
  });

  test("a call that waits for a person says so, also elsewhere and after a reload", async ({ page, desk, second }) => {
    desk.model.says({ calls: [{ name: "bash", arguments: { command: "echo allowed" } }] }, { text: "It is done." });
    await desk.enter(page);
    const session = await desk.begin(page);
    const other = await second();
    await other.goto(`${desk.server.origin}/#/s/${session}`);
    await expect(desk.editor(other)).toBeVisible();
    await desk.say(page, "Write it");
    const waits = async (one: Page, words: string, more: string) => {
      const tool = one.locator("[data-tool=bash]");
      await expect(tool).toHaveAttribute("data-status", "asking");
      await expect(tool.locator(".status")).toContainText(words);
      await expect(tool.locator(".status .unseen")).toHaveText(more);
      await expect(tool.locator(".status svg")).toBeVisible();
      await expect(tool.locator(".pulse")).toHaveCount(0);
    };
    await waits(page, "waits for you", "You are asked below whether it may run.");
    await waits(other, "waits for you", "You are asked below whether it may run.");
    await other.evaluate(() => localStorage.setItem("pi.language", "zh"));
    await other.reload();
    await waits(other, "等待你的许可", "是否允许运行，请在下方回答。");
    await page.reload();
    await waits(page, "waits for you", "You are asked below whether it may run.");
    await page.getByRole("button", { name: /this once/ }).click();
    await desk.settled(page);
    for (const one of [page, other]) {
      await expect(one.locator("[data-tool=bash]")).toHaveAttribute("data-status", "done");
    }
  });

  test("a no is shown with what to do next", async ({ page, desk }) => {
    desk.model.says({ calls: [{ name: "bash", arguments: { command: "rm -r everything" } }] }, { text: "I may not." });
    await desk.enter(page);
    await desk.begin(page);
    await desk.say(page, "Remove it");
    await expect(page.getByRole("region", { name: "A question for you" })).toContainText("Run this command?");
    await page.getByRole("button", { name: /^No/ }).click();
    await desk.settled(page);
    const tool = page.locator("[data-tool=bash]");
    await expect(tool).toHaveAttribute("data-status", "denied");
    // Once, and in words for people.
    await expect(tool).toContainText("said no or put the question away. The model was told so and goes on without it.");
    await expect(tool).not.toContainText("deny exec");
    await page.reload();
    await expect(tool).toHaveAttribute("data-status", "denied");
    await expect(tool).toContainText("said no or put the question away. The model was told so and goes on without it.");
  });
});

test("a model that fails is told with what to do, and can be asked again", async ({ page, desk }) => {
  desk.model.says({ fail: 401 }, { text: "Better now." });
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Hello");
  await expect(page.getByText("The model could not answer")).toBeVisible();
  await expect(page.getByText("Check the provider's key")).toBeVisible();
  // Nothing is known of what it took.
  await expect(page.locator("[data-role=assistant]")).not.toContainText("→");
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(page.getByText("Better now.")).toBeVisible();
});

test("a failure that is tried again is a line, and what to do is said once at the end", async ({ page, desk }) => {
  // More than are asked for before a failure counts as one of the session.
  desk.model.says(...Array.from({ length: 20 }, () => ({ fail: 500 })));
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Hello");
  const stop = page.getByRole("button", { name: "Do not try again" });
  await expect(stop).toBeVisible();
  await expect(page.locator("[data-role=assistant] .failed")).toHaveCount(1);
  await expect(page.locator("[data-role=assistant] .failure")).toHaveCount(0);
  await stop.click();
  await expect(page.locator("[data-role=assistant] .failure")).toHaveCount(1);
  await expect(page.getByText("Try again in a while, or choose another model")).toHaveCount(1);
});

test("model, thinking and name are chosen", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  await page.keyboard.press("Alt+m");
  await expect(page.getByRole("option").first()).toBeVisible();
  await expect(page.getByRole("option", { name: "scripted" }).first()).toContainText("no price known");
  await page.getByRole("combobox").fill("demo");
  await expect(page.getByRole("option")).toHaveCount(1);
  await page.keyboard.press("Enter");
  await expect(page.locator("[data-model=demo]")).toBeVisible();
  await page.keyboard.press("Alt+r");
  await page.getByRole("textbox", { name: "Name the session" }).fill("Parser work");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Parser work");
  await expect(page.locator("[data-session] .words").first()).toHaveText("Parser work");
  await expect(page).toHaveTitle(/Parser work/);
});

test("an answer is copied as it was written, and what was said is called back after a reload", async ({ page, desk }) => {
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  desk.model.says({ text: "Use **tabs**." }, { text: "Yes." });
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Tabs or spaces?");
  await desk.settled(page);
  await desk.say(page, "Really?");
  await desk.settled(page);
  await page.locator("[data-role=assistant]").first().hover();
  await page.getByRole("button", { name: "Copy the answer" }).first().click();
  await expect(page.getByText("The answer is copied.")).toBeVisible();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe("Use **tabs**.");
  await page.reload();
  await expect(page.getByText("Use tabs.")).toBeVisible();
  const editor = desk.editor(page);
  for (const [key, text] of [["ArrowUp", "Really?"], ["ArrowUp", "Tabs or spaces?"], ["ArrowDown", "Really?"], ["ArrowDown", ""]] as const) {
    await editor.press(key);
    await expect(editor).toHaveValue(text);
  }
});

test("a shell command of one's own is shown", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "!echo from the shell");
  await expect(page.locator("[data-role=bashExecution]")).toContainText("from the shell");
  await expect(page.locator("[data-role=bashExecution]")).toContainText("exit code 0");
});

test.describe("without a key", () => {
  test.use({ model: "demo" });

  test("a first-time user talks to the demo model and sees what it saw", async ({ page, desk }) => {
    await desk.enter(page);
    await desk.begin(page);
    await expect(page.locator("[data-model=demo]")).toBeVisible();
    await page.getByTitle("How hard to think").click();
    await page.getByRole("option", { name: /^High/ }).click();
    await expect(page.getByTitle("How hard to think")).toHaveText(/High/i);
    await desk.say(page, "What is pi?");
    await desk.settled(page);
    await expect(page.locator("[data-role=assistant]")).toContainText("I am pi's demo model");
    // It uses tools as any other does.
    await page.goto(`${desk.server.origin}/#/`);
    await desk.begin(page);
    await page.getByRole("button", { name: "List the files of this project" }).click();
    await desk.settled(page);
    await expect(page.locator("[data-tool]").first()).toHaveAttribute("data-status", "done");
    await page.getByRole("link", { name: /What the model saw: [\d,]+ tokens/ }).last().click();
    await expect(page.locator('[data-kind="system_prompt"]').first()).toBeVisible();
  });
});

test("what to do about a failure fits what failed", async ({ page, desk }) => {
  await desk.enter(page);
  for (const [fail, refusal, advice] of [
    [401, { message: "Incorrect API key" }, "Check the provider's key"],
    [400, { message: "The field is wrong" }, "Try again, or choose another model"],
    [404, { message: "The model `scripted` does not exist or you do not have access to it.", code: "model_not_found" }, "does not have this model"],
    [402, { message: "You exceeded your current quota", code: "insufficient_quota" }, "trying again does not help"],
    [413, { message: "Request too large" }, "Compact it (/compact)"],
    [429, { message: "Rate limit reached for requests", code: "rate_limit_exceeded" }, "Wait a little"],
  ] as const) {
    desk.model.says(...Array.from({ length: 4 }, () => ({ fail, refusal })));
    await desk.begin(page);
    await desk.say(page, `fail with ${fail}`);
    await desk.settled(page);
    await expect(page.locator(".failure .why")).toContainText(refusal.message);
    await expect(page.locator(".failure .next")).toContainText(advice);
    desk.model.forget();
    await page.goto(`${desk.server.origin}/#/`);
  }
});

test.describe("with a finger", () => {
  test.use({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });

  test("no key is advised that is not there", async ({ page, desk }) => {
    desk.model.says({ fail: 402, refusal: { message: "You exceeded your current quota" } });
    await desk.enter(page);
    await desk.begin(page);
    await desk.editor(page).fill("Hello");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await expect(page.locator(".failure .next")).toContainText(/choose a model of another provider\./);
    await page.locator(".failure").getByRole("button", { name: "Choose another model" }).click();
    await expect(page.getByRole("option", { name: /scripted/ })).toBeVisible();
  });
});

test("what may help is a button beside the failure", async ({ page, desk }) => {
  desk.model.says({ fail: 413, refusal: { message: "Request too large" } });
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Hello");
  await desk.settled(page);
  await expect(page.locator(".failure").getByRole("button", { name: "Compact the conversation" })).toBeVisible();
  await page.locator(".failure").getByRole("button", { name: "Choose another model" }).click();
  await expect(page.getByRole("option", { name: /scripted/ })).toBeVisible();
});
