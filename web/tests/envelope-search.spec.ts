/** What is searched for is seen, wherever in a prompt it stands. */
import { expect, type Page, test } from "@playwright/test";
import type { Segment } from "../src/envelope/model/format";
import { countHits, excerpt, firstHit } from "../src/envelope/model/search";
import { prompt, said } from "./envelope/small";
import { files, page as made } from "./envelope/viewer";

const DEEP: Segment[] = [
  { kind: "long_text", content: `${"line of words\n".repeat(3000)}a NEEDLE here\n${"tail\n".repeat(500)}`, charCount: 50_000, collapsed: true },
  { kind: "system_prompt", content: `${"a\n".repeat(500)}# H\nNEEDLE`, collapsed: true },
  { kind: "tool_call_result", toolName: "bash", result: `${"x\n".repeat(4000)}NEEDLE and NEEDLE`, success: true, collapsed: true },
  said(`${"y ".repeat(5000)}NEEDLE`),
  { kind: "document", fileName: "a.txt", mimeType: "text/plain", snippet: "abc", sizeBytes: 10, parsedContent: "abc zz NEEDLE" },
  { kind: "tool_overview", collapsed: true, items: [{ name: "t", description: "d", parameters: "p", schema: { a: { b: "NEEDLE" } } }] },
  { kind: "tool_call_request", toolName: "t", arguments: { path: "p".repeat(300), x: "NEEDLE" }, collapsed: true },
  { kind: "skills", collapsed: true, items: Array.from({ length: 40 }, (_, index) => ({ name: `s${index}`, description: index === 39 ? "NEEDLE" : "d" })) },
  { kind: "memory", collapsed: true, items: [{ title: "notes", content: `${"n ".repeat(100)}NEEDLE` }] },
  said("nothing of it"),
];

async function search(page: Page, words: string): Promise<void> {
  await page.keyboard.press("/");
  await page.keyboard.type(words);
}

test("every look shows what was searched for, and how often it is there", async ({ page }) => {
  await page.goto(made(files(prompt(DEEP))));
  await search(page, "NEEDLE");
  await expect(page.locator(".hits")).toHaveText("9 of 10");
  await expect(page.locator("article.segment")).toHaveCount(9);
  for (const card of await page.locator("article.segment").all()) {
    await expect(card.locator("mark").first()).toHaveText("NEEDLE");
  }
  await expect(page.locator('[data-kind="long_text"]')).toContainText("words line of words a NEEDLE here tail tail");
  await expect(page.locator('[data-kind="long_text"] .margin')).toContainText("1 hit");
  await expect(page.locator('[data-kind="tool_call_result"] .margin')).toContainText("2 hits");
});

test("what is open and cut shows the first hit behind the cut", async ({ page }) => {
  const opened = DEEP.map((segment) => ("collapsed" in segment ? { ...segment, collapsed: false } : segment));
  await page.goto(made(files(prompt(opened))));
  await search(page, "NEEDLE");
  await expect(page.locator(".hits")).toHaveText("9 of 10");
  const count = await page.locator("article.segment").count();
  for (let index = 0; index < count; index += 1) {
    const card = page.locator("article.segment").nth(index);
    await card.scrollIntoViewIfNeeded();
    await expect(card.locator("mark").first()).toHaveText("NEEDLE");
  }
});

test("without words to search for a folded look is as it was", async ({ page }) => {
  await page.goto(made(files(prompt(DEEP))));
  await expect(page.locator('[data-kind="long_text"] .peek')).toHaveText(/^line of words line of words/);
  await expect(page.locator(".found, article .tally")).toHaveCount(0);
});

test("a cut stands around the first hit, and never within a character", () => {
  const text = `${"🙂".repeat(50)}needle${"🙂".repeat(200)}`;
  const cut = excerpt(text, "NEEDLE", 60);
  expect(cut).toBe(`… ${"🙂".repeat(12)}needle${"🙂".repeat(15)} …`);
  expect(excerpt(text, "", 10)).toBe(`${"🙂".repeat(9)}…`);
  expect(excerpt("near the needle", "needle", 60)).toBe("near the needle");
  expect(excerpt("İ and a needle", "needle", 60)).toBe("İ and a needle");
  expect(firstHit(["no", "one\nneedle"], "needle")).toBe("one needle");
  expect(firstHit(["no"], "needle")).toBeUndefined();
  expect(countHits({ kind: "static_var", name: "aa", value: "aaa" }, "AA")).toBe(2);
  expect(countHits({ kind: "static_var", name: "aa", value: "aaa" }, " ")).toBe(0);
});
