/** Whether everybody can use it: keys, screen readers, schemes, sizes, languages. */
import { readFileSync } from "node:fs";
import type { Response } from "@playwright/test";
import { violations } from "./support/axe";
import { expect, test } from "./support/page";
import { gate } from "./support/model";

for (const scheme of ["light", "dark"] as const) {
  test(`axe finds nothing, ${scheme}`, async ({ page, desk }) => {
    await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
    const rest = gate();
    await desk.server.write("project/a.txt", "alpha\nbeta\n");
    desk.model.says(
      { thinking: "Hm.", text: "# Title\n\nText with `code`, a [link](https://example.org) and\n\n- [x] a task\n\n> a quote\n\n```ts\nconst x = 1; // note\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |", calls: [{ name: "edit", arguments: { path: "a.txt", edits: [{ oldText: "beta", newText: "beta 2" }] } }, { name: "bash", arguments: { command: "echo hi; exit 1" } }] },
      { fail: 401 },
      { text: ["Half way", "."], hold: rest.opened },
    );
    await desk.enter(page);
    expect(await violations(page), "home").toEqual([]);
    const session = await desk.begin(page);
    expect(await violations(page), "empty").toEqual([]);
    await desk.editor(page).pressSequentially("/");
    await expect(page.getByRole("option").first()).toBeVisible();
    expect(await violations(page), "offers").toEqual([]);
    await desk.editor(page).fill("");
    await desk.say(page, "Show everything");
    await expect(page.getByText("The model could not answer")).toBeVisible();
    await page.keyboard.press("Alt+o");
    expect(await violations(page), "conversation").toEqual([]);
    await desk.say(page, "Go on");
    await expect(page.getByText("Half way")).toBeVisible();
    await desk.say(page, "later", "Alt+Enter");
    await expect(page.getByText("Waits to be said")).toBeVisible();
    expect(await violations(page), "at work").toEqual([]);
    rest.open();
    await desk.settled(page);
    await page.keyboard.press("Alt+m");
    await expect(page.getByRole("option").first()).toBeVisible();
    expect(await violations(page), "models").toEqual([]);
    await page.keyboard.press("Escape");
    await page.goto(`${desk.server.origin}/#/s/${session}/tree`);
    await expect(page.getByRole("treeitem").first()).toBeVisible();
    expect(await violations(page), "tree").toEqual([]);
    await page.getByRole("treeitem").first().click();
    await expect(page.getByRole("dialog")).toBeVisible();
    expect(await violations(page), "a place in the tree").toEqual([]);
    await page.keyboard.press("Escape");
    for (const [view, part] of [["envelope", "article.segment"], ["treemap", ".treemap .item"], ["diff", ".rows .row"], ["changes", "[data-file]"]]) {
      await page.goto(`${desk.server.origin}/#/s/${session}/${view}`);
      await expect(page.locator(part ?? "").first()).toBeVisible();
      expect(await violations(page), view).toEqual([]);
    }
  });
}

for (const scheme of ["light", "dark"] as const) {
  test.describe(`where people are asked, ${scheme}`, () => {
    test.use({
      files: { "agent/extensions/program.ts": readFileSync(new URL("extensions/pi.ts", import.meta.url), "utf8") },
      settings: { agent: { policy: { mode: "prompt", default_caps: ["read"] } } },
    });

    test("axe finds nothing", async ({ page, desk }) => {
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
      desk.model.says({ calls: [{ name: "bash", arguments: { command: "echo hi" } }] });
      await desk.enter(page);
      await desk.begin(page);
      await desk.say(page, "/say");
      await desk.say(page, "/flood");
      await desk.say(page, "Do it");
      await expect(page.locator("[data-from=host]")).toBeVisible();
      await expect(page.locator("[data-tool=bash]")).toHaveAttribute("data-status", "asking");
      expect(await violations(page), "questions").toEqual([]);
      await page.getByRole("button", { name: "Extensions" }).click();
      await expect(page.locator("[data-extension=program]")).toBeVisible();
      expect(await violations(page), "extensions").toEqual([]);
    });
  });
}

test("help lists all keys, and everything is reached without a mouse", async ({ page, desk }) => {
  await desk.enter(page);
  await page.keyboard.press("Alt+n");
  await expect(desk.editor(page)).toBeFocused();
  await page.keyboard.type("Hello");
  await page.keyboard.press("Enter");
  await desk.settled(page);
  await page.locator("#main").focus();
  await page.keyboard.press("?");
  const help = page.getByRole("dialog", { name: "Keys" });
  await expect(help).toContainText("Steer".toLowerCase());
  await expect(help.locator("dt")).not.toHaveCount(0);
  expect(await violations(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await expect(help).toHaveCount(0);
  await page.keyboard.press("Control+k");
  await expect(page.getByRole("combobox")).toBeFocused();
  await page.keyboard.type("tree");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("tree")).toBeVisible();
  await page.keyboard.press("Alt+s");
  await expect(page.getByRole("searchbox", { name: "Search sessions" })).toBeFocused();
});

test("a context window that is only assumed is told to be so, with what to do", async ({ page, desk }) => {
  await desk.enter(page);
  await desk.begin(page);
  const meter = page.getByRole("meter");
  await expect(meter).toContainText("≈ 128k");
  await expect(meter).toHaveAttribute("aria-valuetext", /assumed/);
  const mark = page.getByRole("button", { name: "assumed", exact: true });
  await expect(mark).toHaveAttribute("title", /128,000 tokens are assumed.*contextWindow/);
  // Whoever has no pointer reads it as well.
  await mark.focus();
  await page.keyboard.press("Enter");
  const told = page.locator(".notice").filter({ hasText: "128,000 tokens are assumed" });
  await expect(told).toContainText("models.json");
  expect(await violations(page)).toEqual([]);
  await page.keyboard.press("Alt+m");
  await expect(page.getByRole("option", { name: /scripted.*128k assumed/ })).toBeVisible();
});

test.describe("a model that is described", () => {
  const shop = { baseUrl: "http://127.0.0.1:9/v1", api: "openai-completions", apiKey: "none", models: [{ id: "measured", contextWindow: 32_000 }] };
  test.use({ files: { "agent/models.json": JSON.stringify({ providers: { shop } }) } });

  test("has a window that is no assumption", async ({ page, desk }) => {
    await desk.enter(page);
    await desk.begin(page);
    await page.keyboard.press("Alt+m");
    await page.keyboard.type("measured");
    await expect(page.getByRole("option")).toHaveText(/measured\s*shop · 32k · no price known/);
    await page.keyboard.press("Enter");
    await expect(page.getByRole("meter")).toContainText("/ 32k");
    await expect(page.getByRole("button", { name: "assumed", exact: true })).toHaveCount(0);
  });
});

test("a window that was closed takes no other one with it", async ({ page, desk }) => {
  await desk.enter(page);
  await page.locator("#main").focus();
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog", { name: "Keys" })).toBeVisible();
  // The browser tells that it was closed some time after: by then somebody may have opened the next one.
  await page.evaluate(async () => {
    const help = document.querySelector("dialog") as HTMLDialogElement;
    const told = new Promise((resolve) => help.addEventListener("close", resolve));
    help.close();
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "k", ctrlKey: true, bubbles: true, cancelable: true }));
    await told;
  });
  await expect(page.getByRole("combobox")).toBeFocused();
});

test("a phone has everything, in one column", async ({ page, desk }) => {
  await page.setViewportSize({ width: 375, height: 720 });
  await desk.enter(page);
  const session = await desk.begin(page);
  desk.model.says({ text: "A wide table:\n\n| a | b | c | d |\n|---|---|---|---|\n| some long words | more long words | and more | and even more |\n\n```\na very long line of code that does not fit on a small screen at all, not even nearly\n```" });
  await desk.say(page, "Show me");
  await desk.settled(page);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(375);
  await desk.say(page, "And what is there to say about everything else that does not fit on a small screen either?");
  await desk.settled(page);
  await page.goto(`${desk.server.origin}/#/s/${session}/diff`);
  const row = page.locator(".rows .row").last();
  await expect(row).toContainText("And what is there");
  const { x, width } = (await row.boundingBox()) ?? { x: 0, width: Number.POSITIVE_INFINITY };
  expect(x + width).toBeLessThanOrEqual(375);
  await page.goto(`${desk.server.origin}/#/s/${session}`);
  await page.getByRole("button", { name: "Sessions" }).click();
  await expect(page.getByRole("searchbox", { name: "Search sessions" })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("searchbox", { name: "Search sessions" })).toBeHidden();
});

test.describe("a phone that is touched", () => {
  test.use({ viewport: { width: 375, height: 720 }, hasTouch: true, isMobile: true });

  test("closes sessions though nothing hovers over them", async ({ page, desk }) => {
    await desk.enter(page);
    await desk.begin(page);
    await page.getByRole("button", { name: "Sessions" }).tap();
    await expect(page.locator("[data-session] .tools").first()).toHaveCSS("opacity", "1");
    await page.getByRole("button", { name: /^Close / }).first().tap();
    await expect(page).toHaveURL(/#\/$/);
  });
});

test("Chinese, and a scheme that is remembered", async ({ page, desk }) => {
  await desk.enter(page);
  await page.getByRole("button", { name: "Settings" }).click();
  await page.getByLabel("Dark", { exact: true }).check();
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
  await page.getByLabel("中文").click();
  await expect(page.getByRole("button", { name: "新会话" }).first()).toBeVisible();
  await expect(page.locator("html")).toHaveAttribute("lang", "zh-Hans");
  await expect(page.locator("html")).toHaveAttribute("data-theme", "dark");
});

test("the first load is small and comes with nothing but the server", async ({ page, desk }) => {
  test.skip(process.env["PAGE_DIST"] !== undefined, "the page of a folder is not compressed");
  const loaded: Response[] = [];
  page.on("response", (response) => loaded.push(response));
  desk.model.stop();
  await desk.enter(page);
  await expect(page.getByRole("button", { name: "New session" }).first()).toBeVisible();
  const headers = await Promise.all(loaded.filter((response) => response.url().startsWith(desk.server.origin)).map((response) => response.allHeaders()));
  const sizes = headers.filter((all) => /javascript|css|html/.test(all["content-type"] ?? "")).map((all) => Number(all["content-length"] ?? 0));
  const total = sizes.reduce((sum, size) => sum + size, 0);
  expect(total).toBeGreaterThan(10_000);
  expect(total).toBeLessThan(150_000);
});
