/** A text that grows is read as the whole text is, and costs no more the longer it gets. No browser is needed for these. */
import { isDeepStrictEqual } from "node:util";
import { expect, test } from "@playwright/test";
import { Painter } from "../src/code/tokens";
import { type Block, Growing, parseBlocks } from "../src/markdown/blocks";
import { type Bundles, bundle } from "../src/parts/bundles";
import { SHAPES } from "./support/shapes";

/** The same numbers in every run. */
function chance(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return (state >> 8) % below;
  };
}

function made(pieces: readonly string[], random: (below: number) => number): string {
  let text = "";
  for (let count = 1 + random(40); count > 0; count -= 1) {
    const piece = pieces[random(pieces.length)] as string;
    // Now and then so many that bundles become full.
    text += random(150) === 0 ? piece.repeat(150) : piece;
  }
  return text;
}

const BLOCKS = ["- ", "* ", "1. ", "2) ", "10. ", "  ", "    ", "\t", "> ", "\n", "\n", "\n\n", "# ", "---\n", "===\n", "```\n", "```js\n", "~~~\n", "| a | b |\n", "|---|--:|\n", "| 1 | *2* |\n", "- [ ] ", "- [x] t\n", "- item\n", "\r\n"];
const INLINES = ["a", "word ", "**b**", "*i", "_u_ ", "`c` ", "`", "``", "~~s~~", "[l](https://x.org) ", "[x *e* y](javascript:a) ", "[x *e* https://x.org y] ", "[", "]", "](", "![", ")", "https://a.b/c ", "中文**重点。**后", "，", "😀", "\\", "\\\n", "  \n", "&amp;", "<https://x.y>", "***", "** ", "x\ny\n"];

/** Fast where they are the same; where they are not, it shows how. */
function expectSame(one: unknown, other: unknown, text: string): void {
  if (!isDeepStrictEqual(one, other)) {
    expect(one, JSON.stringify(text)).toEqual(other);
  }
}

/** Gives a text in pieces, and shows what was read every now and then, and at the end. */
function grow(text: string, random: (below: number) => number, look: (growing: Growing, sofar: string) => void): void {
  const growing = new Growing();
  // In long texts the places lie farther apart.
  const size = Math.max(6, Math.floor(text.length / 40));
  for (let at = 0; at < text.length; ) {
    const more = text.slice(at, at + 1 + random(size));
    at += more.length;
    growing.append(more);
    // What was looked at changes nothing.
    if (random(3) > 0 || at === text.length) {
      look(growing, text.slice(0, at));
    }
  }
}

for (const [name, pieces, rounds] of [
  ["blocks", [...BLOCKS, ...INLINES], 2000],
  ["one paragraph", INLINES, 1000],
] as const) {
  test(`however a text is cut, it is read as the whole text at each of its places: ${name}`, () => {
    const random = chance(1);
    for (let round = 0; round < rounds; round += 1) {
      grow(made(pieces, random), random, (growing, sofar) => expectSame(growing.blocks, parseBlocks(sofar), sofar));
    }
  });
}

test("a text that is too long to be read grows as the whole one", () => {
  const random = chance(2);
  const text = `${"- item *of* many\n".repeat(8700)}\n${"words ".repeat(1000)}\n\`\`\`\n${"code\n".repeat(200)}`;
  grow(text, (below) => (below > 3 ? below - 1 : random(below)), (growing, sofar) => expectSame(growing.blocks, parseBlocks(sofar), sofar.slice(-80)));
  const blocks = parseBlocks(text).flat();
  expect(blocks.map((block) => block.type)).toEqual(["list", "plain"]);
  expect(blocks[1]?.type === "plain" && blocks[1].lines.flat().join("\n")).toBe(text.slice(text.indexOf("words")));
});

test("code that grows gets the colours of the whole code", () => {
  const random = chance(3);
  const pieces = ["/*", "*/", "//", "\n", "\n", '"', "'", "`", '"""', "'''", "\\", "\\\n", "a ", "fn ", "let x", "12", "1e", "<!--", "-->", "#", "--", "A(", "!", "'a'", "+x\n", "-y\n", "@@"];
  for (let round = 0; round < 200; round += 1) {
    for (const language of ["rust", "ts", "python", "sh", "c", "html", "diff", "none"]) {
      const painter = new Painter(language);
      grow(`~~~\n${made(pieces, random)}`, random, (growing, sofar) => {
        const block = growing.blocks.flat()[0];
        const lines = block?.type === "code" ? block.lines : [];
        const painted = painter.paint(lines);
        expectSame(painted, new Painter(language).paint(bundle(lines.flat())), sofar);
        expectSame(painted.flat().map((token) => token.text).join(""), lines.flat().join("\n"), sofar);
      });
    }
  }
});

test("what is begun in one bundle of lines goes on in the next", () => {
  const lines = ["/* open", ...Array.from({ length: 200 }, () => "words"), "*/ fn"];
  const kinds = new Painter("rust").paint(bundle(lines)).map((tokens) => tokens.map((token) => token.kind));
  expect(kinds).toEqual([["comment"], ["comment"], ["comment"], ["comment", "plain", "keyword"]]);
});

function looseness(text: string): (boolean | undefined)[] {
  const all = (blocks: Bundles<Block>): (boolean | undefined)[] =>
    blocks.flat().flatMap((block) => (block.type === "list" ? [block.isLoose, ...block.items.flat().flatMap((item) => all(item.blocks))] : []));
  return all(parseBlocks(text));
}

for (const [name, text, expected] of [
  ["no blank line", "- a\n- b", [false]],
  ["one between items", "- a\n\n- b\n- c", [true]],
  ["one between the last items", "- a\n- b\n\n- c", [true]],
  ["one behind the list", "- a\n- b\n\nend", [false]],
  ["one between blocks of an item", "- a\n\n  b\n- c", [true]],
  ["one in the list within", "- a\n  - b\n\n  - c\n- d", [false, true]],
  ["one in an item of the list within", "- a\n  - b\n\n    c\n- d", [false, true]],
  ["one between the list within and the next item", "- a\n  - b\n\n- c", [true, false]],
  ["one behind the list within", "- a\n  - b\n\n  c", [true, false]],
  ["one in the middle of code", "- a\n  ```\n  x\n\n  y\n  ```\n- b", [false]],
  ["one behind code", "- a\n  ```\n  x\n  ```\n\n- b", [true]],
  ["a quote with an empty line", "- a\n  > b\n  >\n- c", [false]],
] as const) {
  test(`a list is loose or tight: ${name}`, () => {
    expect(looseness(text)).toEqual(expected);
  });
}

const OPEN: Readonly<Record<string, string>> = {
  ...SHAPES,
  tasks: "- [x] done\n".repeat(3000),
  comment: `\`\`\`ts\n/*\n${"words\n".repeat(5000)}`,
  quote: "> - quoted\n".repeat(3000),
  lines: "a line of a *paragraph*\n".repeat(1500),
};

for (const [name, text] of Object.entries(OPEN)) {
  test(`what is finished within an open block stays the same: ${name}`, () => {
    const growing = new Growing();
    growing.append(text.slice(0, -30));
    const before = bundles(growing.blocks);
    growing.append(text.slice(-30));
    const after = bundles(growing.blocks);
    expect(after.size).toBeGreaterThan(20);
    // Of thousands: those that hold the end at each depth, and what is in the last items.
    expect([...after].filter((one) => !before.has(one)).length).toBeLessThan(40);
  });
}

/** All lists in a tree. */
function bundles(tree: unknown, found = new Set<object>()): Set<object> {
  if (typeof tree === "object" && tree !== null) {
    if (Array.isArray(tree)) {
      found.add(tree);
    }
    Object.values(tree).forEach((inner) => bundles(inner, found));
  }
  return found;
}
