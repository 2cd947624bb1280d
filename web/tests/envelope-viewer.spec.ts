/** The viewer page in a real browser: a file by itself, with no server behind it. */
import { readFileSync } from "node:fs";
import { expect, type Locator, type Page, test } from "@playwright/test";
import { KINDS } from "../src/envelope/model/format";
import { everyKind, giant, hostile, long, session } from "./envelope/sample";
import { files, page as made } from "./envelope/viewer";
import { violations } from "./support/axe";

/** Everything that the page complained about or asked for. */
function watch(page: Page): { complaints: string[]; asked: string[] } {
  const seen = { complaints: [] as string[], asked: [] as string[] };
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") seen.complaints.push(message.text());
  });
  page.on("pageerror", (error) => seen.complaints.push(error.message));
  page.on("request", (request) => {
    if (!/^(file|data|blob):/.test(request.url())) seen.asked.push(request.url());
  });
  return seen;
}

async function open(page: Page, data: unknown, hash = ""): Promise<ReturnType<typeof watch>> {
  const seen = watch(page);
  await page.goto(made(data) + hash);
  await expect(page.locator(".viewer")).toBeVisible();
  return seen;
}

/** Looks through the whole list, part by part: only what is near the screen exists. */
async function lookThrough(page: Page, look: (part: Locator) => Promise<void>): Promise<void> {
  const parts = page.locator(".list .chunk");
  await parts.first().waitFor();
  for (let index = 0; index < (await parts.count()); index += 1) {
    const part = parts.nth(index);
    await part.evaluate((node) => node.scrollIntoView());
    await expect(part.locator("article.segment").first()).toBeVisible();
    await look(part);
  }
}

async function kindsSeen(page: Page): Promise<Set<string>> {
  const found = new Set<string>();
  await lookThrough(page, async (part) => {
    const kinds = await part.locator("article.segment").evaluateAll((all) => all.map((it) => (it as HTMLElement).dataset["kind"] ?? ""));
    kinds.forEach((kind) => found.add(kind));
  });
  return found;
}

/** Something of each view, by its key: it is there when the view is. */
const VIEWS = { s: "article.segment", t: ".treemap .item", d: ".rows .row, .hint" } as const;

test("every kind is shown, and nothing is asked of anybody", async ({ page }) => {
  const seen = await open(page, files(everyKind()));
  expect([...(await kindsSeen(page))].sort()).toEqual([...KINDS].sort());
  expect(seen).toEqual({ complaints: [], asked: [] });
});

test("segments begin as the file says, and fold by key and press", async ({ page }) => {
  await open(page, files(everyKind()), "#/view/m/system/seg/system%2Finstructions");
  const prompt = page.locator('[data-kind="system_prompt"]');
  await expect(prompt.locator("nav")).toHaveCount(0);
  await page.keyboard.press("x");
  await expect(prompt.locator("nav")).toContainText("How to work");
  await prompt.getByRole("button", { expanded: true }).first().click();
  await expect(prompt.locator("nav")).toHaveCount(0);
  // The result of the failed command says `collapsed: false`.
  await page.keyboard.press("G");
  await expect(page.locator("article.selected .output")).toContainText("assertion `left == right` failed");
});

test("counts on the page sum up", async ({ page }) => {
  const envelope = everyKind();
  await open(page, files(envelope));
  const number = (text: string) => Number(text.replace(/[^\d]/g, ""));
  await expect(page.locator("dl.facts dd strong").first()).toHaveText("8,776");
  await expect(page.locator("dl.facts")).toContainText("7,576 counted + 1,200 estimated");
  await expect(page.locator("dl.facts")).toContainText("+41 that no segment explains");
  // Every count of every segment, as it stands in the margin, and the sum that its message shows.
  const sums = new Map<string, number>();
  const told = new Map<string, number>();
  await lookThrough(page, async (part) => {
    for (const { id, counts, sum } of await part.locator("section.message").evaluateAll((all) =>
      all.map((section) => ({
        id: section.querySelector(".id")?.textContent ?? "",
        sum: section.querySelector(".sum")?.textContent ?? "",
        counts: [...section.querySelectorAll(".margin .count a")].map((it) => it.textContent ?? ""),
      })),
    )) {
      sums.set(id, (sums.get(id) ?? 0) + counts.reduce((all, count) => all + number(count), 0));
      told.set(id, number(sum));
    }
  });
  expect(told.size).toBe(envelope.messages.length);
  expect(sums).toEqual(told);
  expect([...told.values()].reduce((one, other) => one + other, 0)).toBe(8776);
});

test("the strip is drawn with the same pixels every time", async ({ page, browser }) => {
  const shot = async (on: Page) => {
    await on.setViewportSize({ width: 1200, height: 800 });
    await on.goto(made(files(...session())) + "#/view/r/r3");
    await expect(on.locator(".broke")).toContainText("Skills changed (+deploy) · 2,218 unchanged tokens");
    return on.locator(".strip .bar").screenshot({ animations: "disabled" });
  };
  const first = await shot(page);
  const other = await browser.newPage();
  const second = await shot(other);
  await other.close();
  expect(second.equals(first)).toBe(true);
});

test("the strip can be read and walked by the keyboard", async ({ page }) => {
  await open(page, files(everyKind()));
  const strip = page.getByRole("listbox");
  await expect(strip).toHaveAccessibleName(/18 segments, 8,776 tokens/);
  await strip.focus();
  await page.keyboard.press("Home");
  await page.keyboard.press("ArrowRight");
  await expect(page.getByRole("option", { selected: true })).toHaveAccessibleName(/^2: Tools, github_search_issues.*962 tokens counted.*MCP: github.*untrusted.*cached/);
  await expect(page.locator("article.selected")).toHaveAttribute("id", "segment-1");
});

test("keys move, search, filter and change the view", async ({ page }) => {
  await open(page, files(...session()));
  await page.keyboard.press("[");
  await expect(page.locator(".scrubber .told")).toContainText("Request 6 of 7");
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await expect(page.locator("article.selected")).toHaveAttribute("id", "segment-1");
  expect(new URL(page.url()).hash).toBe("#/view/r/r6/m/system/seg/tools%2Fmcp%3Agithub");
  await page.keyboard.press("J");
  await expect(page.locator("article.selected")).toContainText("summary of what was compacted");
  await page.keyboard.press("/");
  await page.keyboard.type("bisect");
  await expect(page.locator(".hits")).toHaveText("1 of 10");
  await expect(page.locator("article.segment mark").first()).toHaveText("bisect");
  await page.keyboard.press("Escape");
  await expect(page.locator(".hits")).toHaveCount(0);
  await page.keyboard.press("g");
  await page.keyboard.press(".");
  await expect(page.locator("article.segment")).toHaveCount(2);
  await page.keyboard.press("t");
  await expect(page.getByRole("region", { name: "What fills the window" })).toBeVisible();
  await page.keyboard.press("d");
  await expect(page.locator("p.compaction")).toContainText("10 segments were dropped for a summary, 8 stayed");
  await page.keyboard.press("s");
  await expect(page.locator(".legend")).toBeVisible();
});

test("a link leads to its segment", async ({ page }) => {
  await open(page, files(...session()), "#/view/r/r4/m/e6/seg/e6%2F0");
  const chosen = page.locator("article.selected");
  await expect(chosen).toContainText("trailing_comma_in_map");
  await expect(chosen).toBeInViewport();
});

test("what is compared can be searched, filtered and walked by keys", async ({ page }) => {
  const seen = await open(page, files(...session()), "#/view/r/r4");
  await page.keyboard.press("d");
  const rows = page.locator(".rows [data-row]");
  const at = page.locator(".rows [data-row]:focus");
  await page.keyboard.press("j");
  await expect(at).toHaveText("= 16 unchanged");
  // What did not change can be looked at as well.
  await page.keyboard.press("x");
  await expect(page.locator(".rows .row.unchanged")).toHaveCount(16);
  await page.keyboard.press("x");
  const count = await rows.count();
  await page.keyboard.press("G");
  await expect(rows.last()).toBeFocused();
  await page.keyboard.press("ArrowUp");
  await expect(rows.nth(count - 2)).toBeFocused();
  await page.keyboard.press("g");
  await expect(rows.first()).toBeFocused();
  await page.keyboard.press("X");
  await expect(page.locator(".rows .row > [aria-expanded=false]")).toHaveCount(0);
  await page.keyboard.press("X");
  const legend = page.getByRole("group", { name: "Only these kinds" });
  await legend.getByRole("button", { name: /^Tool call/ }).click();
  await expect(page.locator(".rows .row .kind").filter({ hasNotText: "Tool call" })).toHaveCount(0);
  await page.keyboard.press("Escape");
  await expect(rows).toHaveCount(count);
  await page.keyboard.press("G");
  await page.keyboard.press(".");
  await expect(legend.locator("[aria-pressed=true]")).toHaveCount(1);
  await page.keyboard.press("Escape");
  await page.keyboard.press("/");
  await page.keyboard.type("trailing_comma");
  await expect(page.locator(".hits")).toHaveText(/^[1-9]\d* of \d+$/);
  await page.keyboard.press("Escape");
  await page.keyboard.press("/");
  await page.keyboard.type("nothing has these words");
  await expect(page.getByText("No segment is like this.")).toBeVisible();
  expect(await violations(page)).toEqual([]);
  expect(seen.complaints).toEqual([]);
});

test("the treemap can be searched, filtered and walked by keys", async ({ page }) => {
  const seen = await open(page, files(...session()), "#/view/r/r4");
  await page.keyboard.press("t");
  const lit = page.locator(".treemap .item:not(.dim)");
  const all = await page.locator(".treemap .item").count();
  await expect(lit).toHaveCount(all);
  const legend = page.getByRole("group", { name: "Only these kinds" });
  await legend.getByRole("button", { name: /^Skills/ }).click();
  await expect(page.locator(".hits")).toBeVisible();
  for (const one of await lit.all()) {
    await expect(one).toHaveAccessibleName(/^Skills: /);
  }
  await page.keyboard.press("Escape");
  await expect(lit).toHaveCount(all);
  await page.keyboard.press("/");
  await page.keyboard.type("bisect");
  // Of a list that holds it, the one thing.
  await expect(lit.filter({ hasText: /bisect/ })).not.toHaveCount(0);
  await expect.poll(() => lit.count()).toBeLessThan(all);
  await page.keyboard.press("Enter");
  await expect(page.locator(".treemap .told strong")).toHaveText("bisect");
  await expect(page).toHaveURL(/\/seg\//);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  const told = page.locator(".treemap .told strong");
  await page.keyboard.press("g");
  await expect(told).toHaveText("read");
  await page.keyboard.press("j");
  await expect(told).toHaveText(/^github_/);
  await page.keyboard.press("J");
  await expect(told).toHaveText(/^The parser accepts/);
  await page.keyboard.press(".");
  await expect(legend.locator("[aria-pressed=true]")).toHaveCount(1);
  await page.keyboard.press(".");
  await page.keyboard.press("x");
  await expect(page.locator("article.selected")).toBeInViewport();
  expect(seen.complaints).toEqual([]);
});

test("numbers in the treemap are there as a whole, or not at all", async ({ page }) => {
  await open(page, files(...session()), "#/view/r/r4");
  await page.keyboard.press("t");
  for (const width of [390, 560, 760, 1280]) {
    await page.setViewportSize({ width, height: 900 });
    await expect(page.locator(".treemap .item").first()).toBeVisible();
    const found = await page.locator(".treemap foreignObject").evaluateAll((all) =>
      all.flatMap((one) => {
        const room = one.getBoundingClientRect();
        const walker = document.createTreeWalker(one, NodeFilter.SHOW_TEXT);
        const cut: string[] = [];
        let shown = 0;
        for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
          const range = document.createRange();
          range.selectNode(node);
          const { left, right, top, width } = range.getBoundingClientRect();
          const isNumber = /^[\s·]*[<\d][\d.,]*[kM%]?\s*$/.test(node.textContent ?? "");
          const isSeen = width > 0 && top < room.bottom - 2;
          shown += isNumber && isSeen ? 1 : 0;
          if (isNumber && isSeen && (left < room.left - 1 || right > room.right + 1)) {
            cut.push(node.textContent ?? "");
          }
        }
        return [{ cut, shown }];
      }),
    );
    expect(found.flatMap(({ cut }) => cut), `at ${width}`).toEqual([]);
    expect(found.reduce((sum, { shown }) => sum + shown, 0), `at ${width}`).toBeGreaterThan(8);
  }
});

test("two requests are compared by segment", async ({ page }) => {
  await open(page, files(...session()), "#/view/r/r3");
  await page.keyboard.press("d");
  const rows = page.locator(".rows .row");
  await expect(rows).toHaveCount(2);
  await expect(rows.first()).toContainText("+deploy");
  await rows.first().getByRole("button").first().click();
  await expect(rows.first().locator(".text.added")).toContainText("deploy: Roll a service out");
  await page.getByLabel("From").selectOption("0");
  await expect(page.locator(".sum")).toContainText("5,054 → 8,532 tokens");
});

test("a file can be dropped, and its faults are shown where they are", async ({ page }) => {
  const seen = await open(page, null);
  await expect(page.getByRole("heading", { name: "See what a model saw" })).toBeVisible();
  const drop = async (name: string, text: string) => {
    const transfer = await page.evaluateHandle(([file, content]) => {
      const data = new DataTransfer();
      data.items.add(new File([content as string], file as string, { type: "application/json" }));
      return data;
    }, [name, text]);
    await page.dispatchEvent("body", "drop", { dataTransfer: transfer });
  };
  const example = (name: string) => readFileSync(new URL(`../../docs/examples/${name}`, import.meta.url), "utf8");
  await drop("broken-envelope.json", example("broken-envelope.json"));
  await expect(page.getByRole("heading", { name: "broken-envelope.json is not a Prompt Envelope" })).toBeVisible();
  await expect(page.locator(".problems li")).toHaveCount(4);
  await expect(page.locator(".problems li").first()).toContainText('messages[1].role expected one of "system", "user", "assistant", "tool", found "robot" line 17, column 15');
  await drop("second-request.json", example("second-request.json"));
  await expect(page.locator(".problems")).toHaveCount(0);
  await expect(page.locator("article.segment").first()).toBeVisible();
  expect(seen).toEqual({ complaints: [], asked: [] });
});

test("two files of one name are told apart", async ({ page }) => {
  const seen = await open(page, { files: [{ name: "bad.json", text: "{" }, { name: "bad.json", text: '{"version":"1.0"}' }] });
  await expect(page.locator(".problems")).toHaveCount(2);
  await expect(page.locator(".problems li")).toHaveText([/expected a name in quotes/, /required member is missing/]);
  expect(await violations(page)).toEqual([]);
  expect(seen.complaints).toEqual([]);
});

test("a damaged album says what is wrong with it", async ({ page }) => {
  const album = { album: "1.0", title: "", segments: [], messages: [], requests: [null] };
  const seen = await open(page, { files: [{ name: "album.json", text: JSON.stringify(album) }] });
  await expect(page.locator(".problems li")).toHaveText([/requests\[0\] expected an object, found null/]);
  expect(seen.complaints).toEqual([]);
});

test("requests are gone through in every view", async ({ page }) => {
  const seen = await open(page, files(...session()), "#/view/r/r4/m/e1/seg/e1%2F0");
  await expect(page.locator("article.selected")).toBeVisible();
  for (const key of ["t", "d"] as const) {
    await page.keyboard.press(key);
    await expect(page.locator(VIEWS[key]).first()).toBeVisible();
    await page.keyboard.press("[");
    await expect(page.locator(".scrubber .told")).toContainText("Request 3 of 7");
    await page.keyboard.press("]");
    await expect(page.locator(".scrubber .told")).toContainText("Request 4 of 7");
  }
  expect(seen.complaints).toEqual([]);
});

test("messages with one id, or none, are walked and opened one by one", async ({ page }) => {
  const message = (id: string, index: number) => ({ id, role: "tool", timestamp: 1, segments: [{ kind: "tool_call_result", toolName: "read", result: `line ${index}`, success: true, collapsed: true }] });
  await open(page, files({ version: "1.0", messages: ["a", "a", "", "", "a"].map(message) }));
  for (const index of [0, 1, 2, 3, 4]) {
    await page.keyboard.press("j");
    await expect(page.locator("article.selected")).toHaveAttribute("id", `segment-${index}`);
  }
  await page.keyboard.press("x");
  await expect(page.locator("article.segment").getByRole("button", { expanded: true })).toHaveCount(1);
  await page.reload();
  await expect(page.locator("article.selected")).toHaveAttribute("id", "segment-4");
});

test("a view begins at its top", async ({ page }) => {
  await open(page, files(...session()), "#/view/r/r7");
  await page.keyboard.press("G");
  await expect.poll(() => page.locator(".viewer").evaluate((viewer) => viewer.scrollTop)).toBeGreaterThan(200);
  await page.keyboard.press("t");
  await expect(page.locator(VIEWS.t).first()).toBeVisible();
  await expect.poll(() => page.locator(".viewer").evaluate((viewer) => viewer.scrollTop)).toBeLessThan(60);
});

test("hostile content is text, and nothing runs", async ({ page }) => {
  const seen = await open(page, files(hostile()));
  await kindsSeen(page);
  await page.keyboard.press("X");
  await expect(page.getByRole("button", { expanded: true }).first()).toBeVisible();
  for (const key of ["t", "d", "s"] as const) {
    await page.keyboard.press(key);
    await expect(page.locator(VIEWS[key]).first()).toBeVisible();
  }
  expect(await page.title()).toBe("pi");
  expect(await page.locator(".viewer script, .viewer [onerror], .viewer [onload], .viewer a[href^=javascript]").count()).toBe(0);
  expect(await page.locator(".viewer img").count()).toBe(0);
  expect(seen).toEqual({ complaints: [], asked: [] });
});

test("ten megabytes and a hundred levels leave the page alive", async ({ page }) => {
  const seen = await open(page, files(giant()));
  await expect(page.locator("article.segment")).toHaveCount(3);
  const more = page.locator('[data-kind="text"]').getByRole("button", { name: /Show more/ });
  await expect(more).toContainText("9,996,000");
  await more.click();
  await more.click();
  await expect(more).toContainText("characters left");
  await page.keyboard.press("/");
  await page.keyboard.type("bottom");
  await expect(page.locator(".hits")).toHaveText("1 of 3");
  expect(seen.complaints).toEqual([]);
});

test("ten thousand messages open, and the last is one key away", async ({ page }) => {
  await open(page, files(long(10_000)));
  await page.locator("article.segment").first().waitFor();
  expect(await page.locator("article.segment").count()).toBeLessThan(400);
  await page.keyboard.press("G");
  await expect(page.locator("#segment-9999")).toBeInViewport();
  expect(await page.locator("article.segment").count()).toBeLessThan(600);
});

test("what is shown can be saved as JSON, Markdown and a page of its own", async ({ page, browser }) => {
  await open(page, files(...session()));
  const save = async (name: string) => {
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("group", { name: "Save" }).getByRole("button", { name }).click()]);
    return { name: download.suggestedFilename(), path: await download.path() };
  };
  const json = await save("JSON");
  expect(JSON.parse(readFileSync(json.path, "utf8"))).toEqual(session()[6]);
  const markdown = await save("Markdown");
  expect(readFileSync(markdown.path, "utf8")).toContain("## system · system · 3,219 tokens, counted");
  await page.getByLabel("What is saved").selectOption("All 7 requests");
  const all = await save("JSON");
  expect(all.name).toBe("envelopes.json");
  expect(JSON.parse(readFileSync(all.path, "utf8"))).toEqual(session());
  expect(readFileSync((await save("Markdown")).path, "utf8").match(/^## system · /gm)).toHaveLength(session().filter(({ messages }) => messages[0]?.role === "system").length);
  const html = await save("HTML");
  const copy = await browser.newPage();
  const seen = watch(copy);
  await copy.goto(`file://${html.path}`);
  // A download has no ending, and a browser would show it as text; so it is read and set instead.
  await copy.setContent(readFileSync(html.path, "utf8"));
  await expect(copy.locator(".scrubber .told")).toContainText("Request 7 of 7");
  expect(seen.complaints).toEqual([]);
  await copy.close();
});

for (const scheme of ["light", "dark"] as const) {
  for (const view of ["s", "t", "d"] as const) {
    test(`axe finds nothing: ${view} in ${scheme}`, async ({ page }) => {
      await page.emulateMedia({ colorScheme: scheme });
      await open(page, files(...session()), "#/view/r/r4/m/e1/seg/e1%2F0");
      await page.keyboard.press(view);
      await page.keyboard.press("X");
      await expect(page.locator(VIEWS[view]).first()).toBeVisible();
      expect(await violations(page)).toEqual([]);
    });
  }
}

test("the page speaks Chinese", async ({ browser }) => {
  const context = await browser.newContext({ locale: "zh-CN" });
  const page = await context.newPage();
  await page.goto(made(files(everyKind())));
  await expect(page.getByRole("button", { name: "树图" })).toBeVisible();
  await expect(page.locator(".legend")).toContainText("系统提示");
  const picture = { kind: "media", mediaType: "image", url: "https://example.com/a.png" };
  await page.goto(made(files({ version: "1.0", messages: [{ id: "m", role: "user", timestamp: 1, segments: [picture] }] })));
  await page.keyboard.press("t");
  await expect(page.locator(".treemap .item").first()).toHaveAccessibleName(/^媒体: 图片/);
  await page.goto(made({ files: [{ name: "bad.json", text: '{"version":"1.0"}' }] }));
  await expect(page.locator(".problems li")).toContainText("缺少必需的成员");
  await context.close();
});

test("a narrow screen has no sideways scrolling", async ({ page }) => {
  await page.setViewportSize({ width: 360, height: 740 });
  await open(page, files(everyKind()));
  await page.locator("article.segment").first().waitFor();
  await page.keyboard.press("X");
  await expect(page.locator("article.segment").getByRole("button", { expanded: true }).first()).toBeVisible();
  const wide = await page.locator(".viewer").evaluate((viewer) => viewer.scrollWidth - viewer.clientWidth);
  expect(wide).toBe(0);
});

test("a time that nobody knew is not told", async ({ page }) => {
  const [first] = session();
  const unknown = { ...first, messages: (first as { messages: object[] }).messages.map((message) => ({ ...message, timestamp: 0 })) };
  await open(page, files(unknown as never));
  await expect(page.locator(".list time").first()).toHaveText("");
});

test("numbers that nobody can have counted are not told", async ({ page }) => {
  const document = { kind: "document", fileName: "a.txt", mimeType: "text/plain", snippet: "Some words." };
  const long = { kind: "long_text", content: "Twelve signs", collapsed: true };
  const segments = [0, -5, 1e300, 2600].map((sizeBytes) => ({ ...document, sizeBytes })).concat([0, -1, 1e300].map((charCount) => ({ ...long, charCount })) as never[]);
  await page.goto(made(files({ version: "1.0", messages: [{ id: "m", role: "user", timestamp: 1e300, segments }] })));
  await expect(page.locator(".document .facts")).toHaveText([/size not known/, /size not known/, /size not known/, /2\.6 kB/]);
  await expect(page.locator(".long .count")).toHaveText(["12 characters", "12 characters", "12 characters"]);
  await expect(page.locator("body")).not.toContainText(/Invalid Date|e\+|NaN/);
});

test("the treemap uses the room that a large window has", async ({ page }) => {
  for (const [height, expected] of [[800, "460"], [1080, "620"], [2000, "720"]] as const) {
    await page.setViewportSize({ width: 1600, height });
    await page.goto(made(files(...session())));
    await page.keyboard.press("t");
    await expect(page.locator(".treemap > div > svg").first()).toHaveAttribute("height", expected);
  }
});
