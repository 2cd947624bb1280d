/** What the model saw in a session of the real server: the strip above an answer, the view behind it, and switches that act. */
import { readFileSync } from "node:fs";
import type { Locator, Page } from "playwright/test";
import { sessionFile } from "./support/long";
import { gate } from "./support/model";
import { type Desk, expect, test } from "./support/page";

/** The strips above the answers, each of which leads to what the model saw. They come some time after the answer. */
function stripsOf(page: Page) {
  return page.getByRole("link", { name: /What the model saw: [\d,]+ tokens/ });
}

/** One question after the other, each answered. */
async function ask(page: Page, desk: Desk, ...questions: readonly string[]): Promise<void> {
  for (const question of questions) {
    await desk.say(page, question);
    await desk.settled(page);
  }
}

/** A session in which the first of two questions became a part of a summary. */
async function compacted(page: Page, desk: Desk): Promise<void> {
  const long = `A long first answer. ${"Words and more words. ".repeat(80)}`;
  desk.model.says({ text: long }, { text: "A second answer." }, { text: "They talked about words." });
  await desk.enter(page);
  await desk.begin(page);
  await ask(page, desk, "first question", "second question");
  await desk.say(page, "/compact");
  // The summary is folded.
  await expect(page.getByText("They talked about words.")).toBeAttached();
  await expect(page.getByText("Compacted: the model is given a summary")).toBeVisible();
}

test("a strip above the answer leads to what the model saw, and a tool that is turned off is gone from the next request", async ({ page, desk }) => {
  await desk.server.write("project/AGENTS.md", "Use tabs, and say so.\n");
  desk.model.says({ text: "First answer." }, { text: "Second answer." });
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Hello there");
  await desk.settled(page);
  const strip = stripsOf(page);
  await expect(strip).toHaveCount(1);
  await strip.click();
  await expect(page.locator('[data-kind="system_prompt"]').first()).toBeVisible();
  await expect(page.locator('[data-kind="tool_overview"]').first()).toContainText("bash");
  await expect(page.locator('[data-kind="text"]')).toContainText("Hello there");
  // The sum of what stands beside the segments is the total above them.
  const number = (text: string) => Number(text.replace(/[^\d]/g, ""));
  const counts = await page.locator("article.segment .margin .count a").allTextContents();
  const total = await page.locator("dl.facts dd strong").first().textContent();
  expect(counts.map(number).reduce((one, other) => one + other, 0)).toBe(number(total ?? ""));

  await page.keyboard.press("t");
  await expect(page).toHaveURL(/\/treemap/);
  const row = page.getByRole("listitem").filter({ has: page.getByText("bash", { exact: true }) });
  await row.getByRole("button", { name: /Turn off: saves [\d.]+k? tokens a turn/ }).click();
  await expect(page.getByText("From the next turn on")).toBeVisible();
  // One row, as the server has it now: it can be undone before anything is asked.
  await expect(row).toHaveCount(1);
  await row.getByRole("button", { name: /^Turn on: takes/ }).click();
  await row.getByRole("button", { name: /^Turn off: saves/ }).click();
  await expect(row.getByRole("button", { name: /^Turn on: takes/ })).toBeVisible();

  await page.goBack();
  await page.goBack();
  await desk.say(page, "And now?");
  await desk.settled(page);
  await expect(strip).toHaveCount(2);
  // The small strip has the notch too, and says the cause.
  await expect(strip.last()).toHaveAccessibleName(/Tools changed \(−bash\)/);
  await expect(strip.last().locator(".notch")).toHaveCount(1);
  await expect(page.getByText("Tools changed (−bash)")).toBeVisible();
  await strip.last().click();
  await expect(page.locator(".scrubber .told")).toContainText("Request 2 of 2");
  await expect(page.locator(".broke")).toContainText("Tools changed (−bash)");
  await page.keyboard.press("d");
  await expect(page.locator(".rows .row.changed").filter({ hasText: "−bash" })).toBeVisible();
  await page.keyboard.press("s");
  await page.reload();
  await expect(page.locator(".scrubber .told")).toContainText("Request 2 of 2");
});

test("the view follows new requests, and stays where somebody looks back", async ({ page, desk, second }) => {
  await desk.enter(page);
  const session = await desk.begin(page);
  await desk.say(page, "one");
  await desk.settled(page);
  const other = await second();
  await other.goto(`${desk.server.origin}/#/s/${session}/envelope`);
  await expect(other.locator('[data-kind="text"]')).toContainText("one");
  const told = other.locator(".scrubber .told");

  // The last one was shown, so the last one is shown, also while it is being answered.
  const rest = gate();
  desk.model.says({ text: ["Half", " way."], hold: rest.opened });
  await desk.say(page, "two");
  await expect(told).toContainText("Request 2 of 2");
  await expect(other.locator('[data-kind="text"]').last()).toContainText("two");
  // Nobody has counted it yet.
  await expect(other.getByText("Counted by the provider")).toHaveCount(0);
  rest.open();
  await desk.settled(page);
  await expect(told).toContainText("Request 2 of 2");
  await expect(other.getByText("Counted by the provider")).toBeVisible();

  await other.keyboard.press("[");
  await expect(told).toContainText("Request 1 of 2");
  await desk.say(page, "three");
  await desk.settled(page);
  await expect(told).toContainText("Request 1 of 3");
  await other.keyboard.press("]");
  await other.keyboard.press("]");
  await expect(told).toContainText("Request 3 of 3");
  await desk.say(page, "four");
  await expect(told).toContainText("Request 4 of 4");
  await expect(other).toHaveURL(/\/r\//);
});

test("an answer has its strip before the run ends", async ({ page, desk }) => {
  const rest = gate();
  desk.model.says({ text: "I look.", calls: [{ name: "ls", arguments: {} }] }, { text: ["Half", " way."], hold: rest.opened });
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Look around");
  await expect(page.getByText("Half")).toBeVisible();
  const strip = stripsOf(page);
  // Also the one that is being written, and it is its own.
  await expect(strip).toHaveCount(2);
  const addresses = await strip.evaluateAll((all) => all.map((one) => one.getAttribute("href")));
  expect(new Set(addresses).size).toBe(2);
  rest.open();
  await desk.settled(page);
  await expect(strip).toHaveCount(2);
  expect(await strip.evaluateAll((all) => all.map((one) => one.getAttribute("href")))).toEqual(addresses);
});

test("every request of a long run is listed and has its strip", async ({ page, desk }) => {
  test.slow();
  const TURNS = 210;
  desk.model.says(...Array.from({ length: TURNS - 1 }, () => ({ calls: [{ name: "ls", arguments: {} }] })), { text: "At last." });
  await desk.enter(page);
  await desk.begin(page);
  await desk.say(page, "Go on for long");
  await expect(page.getByText("At last.")).toBeVisible({ timeout: 120_000 });
  await desk.settled(page);
  await page.reload();
  await expect(page.getByText("At last.")).toBeVisible();
  const first = page.locator("[data-role=user]").filter({ hasText: "Go on for long" });
  // Older pages are read on the way.
  await page.locator("#main").focus();
  await expect(async () => {
    await page.keyboard.press("Home");
    await expect(first).toBeInViewport({ timeout: 1000 });
  }).toPass({ timeout: 30_000 });
  const answer = page.locator('[data-row][aria-posinset="2"]');
  await stripsOf(page).and(answer.getByRole("link")).click();
  await expect(page.locator(".scrubber .told")).toContainText(`Request 1 of ${TURNS}`);
});

test.describe("compaction", () => {
  test.use({ settings: { compaction: { keepRecentTokens: 20, reserveTokens: 100 } } });

  test("a compaction is drawn as before and after", async ({ page, desk }) => {
    await compacted(page, desk);
    desk.model.says({ text: "A third answer." });
    await ask(page, desk, "third question");
    await expect(stripsOf(page)).toHaveCount(3);
    await expect(stripsOf(page).last()).toHaveAccessibleName(/the conversation was compacted/);
    await stripsOf(page).last().click();
    await expect(page.locator("p.broke").first()).toContainText("the conversation was compacted");
    await expect(page.locator(".scrubber .told")).toContainText(/Request (\d+) of \1 /);
    await expect(page.locator(".scrubber .funnel")).toHaveCount(1);
    await page.getByRole("button", { name: /compacted/i }).click();
    await expect(page.locator("p.compaction")).toContainText("dropped for a summary");
    await expect(page.locator(".rows .row.added").first()).toContainText("in summary");
    await expect(page.locator(".rows .row.removed").first()).toContainText("first question");
  });

  test("what was said before a compaction is read above its summary", async ({ page, desk }) => {
    await compacted(page, desk);
    // The summary stands between what it stands for and what was kept.
    await expect(page.getByText("The beginning of the conversation")).toBeVisible();
    const said = page.locator("[data-role=user], [data-role=compactionSummary]");
    await expect(said).toHaveText([/first question/, /summarised/, /second question/]);
    await expect(page.getByText("A long first answer.")).toBeVisible();
    // Also where what the model still sees does not fill the window, so that nobody can scroll.
    await page.reload();
    await expect(said).toHaveText([/first question/, /summarised/, /second question/]);
  });
});

test("what a switch says beside a conversation covers nothing of it, and goes", async ({ page, desk }) => {
  await page.setViewportSize({ width: 1700, height: 800 });
  await desk.enter(page);
  await desk.begin(page);
  await ask(page, desk, "Hello there");
  await stripsOf(page).click();
  await page.getByRole("group", { name: "Views" }).getByRole("button", { name: "Treemap" }).click();
  const row = page.getByRole("listitem").filter({ has: page.getByText("bash", { exact: true }) });
  await row.getByRole("button", { name: /^Turn off/ }).click();
  const note = page.getByText("From the next turn on");
  await expect(note).toBeVisible();
  const [said, composer] = [await note.boundingBox(), await page.locator(".composer").boundingBox()];
  expect(said?.x).toBeGreaterThan((composer?.x ?? 0) + (composer?.width ?? 0));
  await expect(note).toHaveCount(0);
});

test("strips load what they draw and not what was said", async ({ page, desk }) => {
  const turns = 6;
  desk.model.otherwise({ text: "some words that fill a window ".repeat(1000) });
  await desk.enter(page);
  await desk.begin(page);
  await ask(page, desk, ...Array.from({ length: turns }, (_, turn) => `question ${turn}`));
  const loaded = { get_strip: 0, get_envelope: 0 };
  page.on("websocket", (socket) => {
    socket.on("framereceived", ({ payload }) => {
      const { command } = JSON.parse(String(payload)) as { command?: string };
      if (command === "get_strip" || command === "get_envelope") {
        loaded[command] += String(payload).length;
      }
    });
  });
  await page.reload();
  const strips = stripsOf(page);
  // Through the whole conversation: each is read when it comes into sight.
  const up = async () => {
    await page.locator(".scroller").evaluate((node) => {
      node.scrollTop -= 600;
    });
    const [top, isFirst, drawn] = [await page.locator(".scroller").evaluate((node) => node.scrollTop), await page.locator("[data-role=user]", { hasText: "question 0" }).count(), await strips.first().locator("svg").count()];
    return isFirst === 1 && drawn === 1 ? top : Number.POSITIVE_INFINITY;
  };
  await expect.poll(up, { intervals: [30], timeout: 60_000 }).toBe(0);
  await expect(strips.first().locator("svg")).toBeVisible();
  expect(loaded.get_envelope).toBe(0);
  expect(loaded.get_strip).toBeGreaterThan(0);
  // Six prompts of up to 180 kB each were sent to the model.
  expect(loaded.get_strip).toBeLessThan(turns * 2500);
});

test("only the request where somebody rests is read, and until then it is said which one is shown", async ({ page, desk }) => {
  const turns = 12;
  await desk.enter(page);
  await desk.begin(page);
  await ask(page, desk, ...Array.from({ length: turns }, (_, turn) => `question ${turn}`));
  let read = 0;
  page.on("websocket", (socket) => {
    socket.on("framesent", ({ payload }) => {
      read += (JSON.parse(String(payload)) as { type?: string }).type === "get_envelope" ? 1 : 0;
    });
  });
  await page.reload();
  await stripsOf(page).last().click();
  const told = page.locator(".scrubber .told");
  await expect(told).toContainText(`Request ${turns} of ${turns}`);
  // What is said once more stands in each that follows.
  const strip = (count: number) => page.getByRole("listbox", { name: `What the model saw, in order: ${count} segments` });
  await expect(strip(29)).toBeVisible();
  // Itself, and the turn before it, which tells where the cache broke.
  expect(read).toBe(2);
  const passed = await page.getByRole("slider", { name: "Requests over time" }).evaluate(async (slider: HTMLInputElement) => {
    const said: string[] = [];
    for (let index = Number(slider.max); index > 2; index -= 1) {
      slider.value = String(index - 1);
      slider.dispatchEvent(new Event("input", { bubbles: true }));
      // As fast as a drag goes.
      await new Promise((resolve) => setTimeout(resolve));
      said.push(document.querySelector(".scrubber .told")?.textContent ?? "");
    }
    return said;
  });
  expect(passed).toHaveLength(turns - 3);
  expect(passed[3]).toContain(`Request ${turns - 4} of ${turns}`);
  expect(passed[3]).toContain(`below still request ${turns}`);
  await expect(told).not.toContainText("below still");
  await expect(told).toContainText(`Request 3 of ${turns}`);
  await expect(strip(11)).toBeVisible();
  expect(read).toBe(4);
});

/** A session as it was recorded once, in the folder of this server. */
async function replay(desk: Desk): Promise<string> {
  const id = "01a1e823-e0a4-7db8-a7d7-a08e6cb90df8";
  const file = sessionFile(desk.server, `2026-11-17T06-13-47-812Z_${id}`);
  const recorded = (name: string) => readFileSync(new URL(`recorded/${name}`, import.meta.url), "utf8");
  await desk.server.write(file, recorded("session.jsonl").replace("/tmp/recorded/project", `${desk.server.folder}/project`));
  await desk.server.write(`${file}.envelopes`, recorded("session.jsonl.envelopes"));
  return "Change the second line of a.txt";
}

/** What is drawn of a strip: where each stretch begins, how wide it is and what kind it has. */
function geometry(page: Page): Promise<string[]> {
  return page.locator(".strip .bar svg g").evaluateAll((stretches) =>
    stretches.map((stretch) => {
      const path = stretch.querySelector("path") as SVGPathElement;
      const { x, width } = path.getBBox();
      return `${Math.round(x)}+${Math.round(width)} ${/--kind-([\w-]+)/.exec(path.style.fill)?.[1]}`;
    }),
  );
}

/** A picture of what moves no more: what the request before tells of the cache comes after the strip. */
async function still(part: Locator): Promise<Buffer> {
  let last = await part.screenshot({ animations: "disabled" });
  await expect
    .poll(async () => {
      const [before, now] = [last, await part.screenshot({ animations: "disabled" })];
      last = now;
      return now.equals(before);
    })
    .toBe(true);
  return last;
}

/** One pixel between two is left free. */
const RECORDED = [
  "0+568 tool-overview",
  "569+42 system-prompt",
  "612+61 system-prompt",
  "674+171 system-prompt",
  "846+28 memory",
  "875+10 static-var",
  "886+10 static-var",
  "897+7 text",
  "905+4 text",
  "910+4 text",
  "915+7 tool-call-request",
  "923+6 tool-call-result",
  "930+4 text",
  "934+25 tool-call-request",
  "960+12 tool-call-result",
];

test("the strip of a recorded session has the same pixels in every browser that opens it", async ({ page, desk, second }) => {
  const name = await replay(desk);
  await desk.enter(page);
  const shots: Buffer[] = [];
  for (const one of [page, await second()]) {
    await one.setViewportSize({ width: 1280, height: 800 });
    await one.reload();
    await one.locator("[data-session]").filter({ hasText: name }).locator(".open").click();
    const strip = stripsOf(one);
    await expect(strip).toHaveCount(4);
    await strip.nth(2).click();
    await expect(one.locator(".scrubber .told")).toContainText("Request 3 of 4");
    await expect(one.locator(".strip .bar svg g").first()).toBeVisible();
    expect(await geometry(one)).toEqual(RECORDED);
    // What is pointed at has an outline.
    await one.mouse.move(0, 0);
    shots.push(await still(one.locator(".strip .bar")));
  }
  expect(shots[0]?.equals(shots[1] ?? Buffer.alloc(0))).toBe(true);
});

test("whether the cache held is what the provider said", async ({ page, desk }) => {
  desk.model.says({ text: "One." }, { text: "Two.", cached: 1100 }, { text: "Three.", cached: 0 });
  await desk.enter(page);
  const session = await desk.begin(page);
  await ask(page, desk, "first", "second", "third");
  await page.goto(`${desk.server.origin}/#/s/${session}/diff`);
  await expect(page.locator("p.kept")).toContainText("but the provider read 0 of");
  await expect(page.locator("p.kept")).toContainText("expired or was not kept");
  await page.keyboard.press("[");
  await expect(page.locator("p.kept")).toContainText("the provider read 1,100 tokens of it from its cache");
});

test("a cache of which nobody told is not drawn as one that held nothing", async ({ page, desk }) => {
  desk.model.says({ text: "One.", cached: 0 }, { text: "Two.", cached: 600 });
  await desk.enter(page);
  await desk.begin(page);
  await ask(page, desk, "first", "second");
  const strips = stripsOf(page);
  const line = (bar: Locator) => bar.locator("rect:is(.cached, .written, .uncached, .unknown)").evaluateAll((parts) => parts.map((part) => part.getAttribute("class")?.split(" ")[0]));
  const facts = page.locator("dl.facts div").filter({ hasText: "From the cache" });
  const bar = page.locator(".strip .bar");
  await expect(strips.locator("svg")).toHaveCount(2);
  // What the provider counted comes after the strip.
  await expect.poll(() => line(strips.last())).toEqual(["cached", "uncached"]);
  expect(await line(strips.first())).toEqual([]);

  await strips.first().click();
  await expect(facts).toHaveText(/nothing told$/);
  await expect(bar.locator("svg g").first()).toBeVisible();
  expect(await line(bar)).toEqual([]);
  await page.keyboard.press("]");
  await expect(facts).toHaveText(/ 50%$/);
  expect(await line(bar)).toEqual(["cached", "uncached"]);
});

test("the first request is compared with nothing, and another can be chosen", async ({ page, desk }) => {
  await desk.enter(page);
  const session = await desk.begin(page);
  await ask(page, desk, "first", "second");
  await page.goto(`${desk.server.origin}/#/s/${session}/diff`);
  await expect(page.locator("p.kept, p.broke").first()).toBeVisible();
  await page.keyboard.press("[");
  await expect(page.locator("p.alone")).toContainText("nothing came before it");
  await expect(page.locator("p.kept, p.broke, .rows")).toHaveCount(0);
  await page.getByLabel("From").selectOption("1");
  await expect(page.locator("p.alone")).toHaveCount(0);
  await expect(page.locator(".rows .row.removed").first()).toBeVisible();
});

test("results of one tool are told apart by what they are about", async ({ page, desk }) => {
  await desk.server.write("project/a.txt", "alpha\n");
  await desk.server.write("project/b.txt", "beta\n");
  desk.model.says({ calls: [{ name: "read", arguments: { path: "a.txt" } }, { name: "read", arguments: { path: "b.txt" } }] }, { text: "Read." });
  await desk.enter(page);
  const session = await desk.begin(page);
  await ask(page, desk, "Read both");
  await page.goto(`${desk.server.origin}/#/s/${session}/diff`);
  for (const name of ["read a.txt", "read b.txt"]) {
    await expect(page.locator(".rows .row.added .name").filter({ hasText: name })).toHaveCount(2);
  }
  await page.goto(`${desk.server.origin}/#/s/${session}/treemap`);
  await expect(page.getByRole("button", { name: /^Tool result: read b\.txt/ })).toHaveCount(1);
  await expect(page.locator(".item title").filter({ hasText: "read b.txt" }).first()).toBeAttached();
});
