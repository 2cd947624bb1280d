/** Parts of the page that are plain functions. No browser is needed for these. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "@playwright/test";
import { optionText, reachText, titleText } from "../src/chat/approval";
import { called, nearest, pageCommand } from "../src/chat/commands";
import { originOf, shownName } from "../src/chat/origin";
import { complete, matching, mention, triggerAt } from "../src/chat/complete";
import { keyName } from "../src/chat/keys";
import { tail } from "../src/chat/output";
import { visible } from "../src/chat/visible";
import { adviceFor } from "../src/chat/failure";
import { Painter, type Token } from "../src/code/tokens";
import { parsePatch, words } from "../src/diff/patch";
import { type Block, Growing, parseBlocks } from "../src/markdown/blocks";
import { type Inline, parseInline } from "../src/markdown/inline";
import { formatRoute, parseRoute } from "../src/route";
import { reworded, saidOf, titleOf } from "../src/session/attached";
import { linesOf } from "../src/session/tree";
import { bundle } from "../src/parts/bundles";
import { ended, fill } from "../src/texts/fill";
import { letterWithAlt, shownKeys, withoutKeys } from "../src/parts/keys";

/** Inline nodes in a short form. */
function brief(nodes: Inline[]): string {
  return nodes
    .map((node) => {
      switch (node.type) {
        case "text":
          return node.text;
        case "code":
          return `<c>${node.text}</c>`;
        case "break":
          return "<br>";
        case "link":
          return `<a ${node.href}${node.isPicture === true ? " picture" : ""}>${brief(node.children)}</a>`;
        default:
          return `<${node.type}>${brief(node.children)}</${node.type}>`;
      }
    })
    .join("");
}

for (const [text, expected] of [
  ["a *b* c", "a <em>b</em> c"],
  ["**b *i* b**", "<strong>b <em>i</em> b</strong>"],
  ["***x***", "<em><strong>x</strong></em>"],
  ["snake_case_name and _it_", "snake_case_name and <em>it</em>"],
  ["2 * 3 * 4", "2 * 3 * 4"],
  ["~~gone~~ and ~one~", "<strike>gone</strike> and ~one~"],
  ["`a *b*` ``c`d``", "<c>a *b*</c> <c>c`d</c>"],
  ["`open", "`open"],
  ["[a *b*](https://x.org/y_(z)) end", "<a https://x.org/y_(z)>a <em>b</em></a> end"],
  ["[x](javascript:alert(1))", "x (javascript:alert(1))"],
  ["![pic](https://x.org/p.png)", "<a https://x.org/p.png picture>pic</a>"],
  ["see https://x.org/a, or <https://y.org>.", "see <a https://x.org/a>https://x.org/a</a>, or <a https://y.org>https://y.org</a>."],
  ["见https://example.com/路径，后面的中文。", "见<a https://example.com/路径>https://example.com/路径</a>，后面的中文。"],
  ["（https://example.com/a）、“https://x.org”", "（<a https://example.com/a>https://example.com/a</a>）、“<a https://x.org>https://x.org</a>”"],
  ["**重点。**后面，前面**“引用”**后面", "<strong>重点。</strong>后面，前面<strong>“引用”</strong>后面"],
  ["a &lt;b&gt; &amp; &#20013;&#x4e2d; &nope; &lt `&lt;`", "a <b> & 中中 &nope; &lt <c>&lt;</c>"],
  ["&#42;no&#42; &#0; &#x110000;", "*no* \ufffd \ufffd"],
  ["[not a link] <b>bold</b>", "[not a link] <b>bold</b>"],
  ["\\*no\\* two  \nlines", "*no* two<br>lines"],
] as const) {
  test(`inline: ${text}`, () => {
    expect(brief(parseInline(text))).toBe(expected);
  });
}

/** How deep what is drawn goes. */
function depth(nodes: readonly Inline[]): number {
  return Math.max(0, ...nodes.map((node) => ("children" in node ? 1 + depth(node.children) : 0)));
}

for (const [name, text] of [
  ["one run of stars", `${"*".repeat(500)}TITLE${"*".repeat(500)}`],
  ["stars apart", `${"*a ".repeat(400)}TITLE${" a*".repeat(400)}`],
  ["stars and lines in turn", `${"*a _b ".repeat(150)}TITLE${" b_ a*".repeat(150)}`],
  ["links in links", `${"[a ".repeat(400)}TITLE${"](https://x.org)".repeat(400)}`],
  ["links and stars in turn", `${"[*a ".repeat(200)}TITLE${" a*](https://x.org)".repeat(200)}`],
  ["stars that close and open", "a*".repeat(9000) + "TITLE"],
] as const) {
  test(`nesting has an end, and all is still there: ${name}`, () => {
    const nodes = parseInline(text);
    expect(depth(nodes)).toBeLessThanOrEqual(12);
    const said = brief(nodes).replace(/<[^>]*>/g, "");
    expect(said).toContain("TITLE");
    expect(said.replace(/[^a-z]/g, "").length).toBeGreaterThanOrEqual((text.match(/\b[ab]\b/g) ?? []).length);
  });
}

test("what turns a line around or cannot be seen is shown by its number, and lines stay lines", () => {
  expect(visible("rm -rf \u202e/\u202c\n\tls\u0007")).toBe("rm -rf \\u{202e}/\\u{202c}\n\tls\u2407");
});

test("a table has so many cells and no more, and what is left is still there", () => {
  const columns = 400;
  const row = `${"|x".repeat(columns)}|`;
  const text = [row, "|-".repeat(columns) + "|", ...Array.from({ length: 150 }, () => row)].join("\n");
  const blocks = parseBlocks(text).flat();
  const cells = blocks.flatMap((block) => (block.type === "table" ? block.rows.flat() : [])).reduce((sum, one) => sum + one.length, 0);
  expect(cells).toBeLessThanOrEqual(20_000);
  expect(blocks.map((block) => block.type)).toEqual(["table", "paragraph"]);
});

test("blocks are told apart", () => {
  const text = "# T\n\npara\nmore\n\n- a\n  - b\n- [x] c\n\n1. one\n2. two\n\n> q\n\n| a | b |\n|---|--:|\n| 1 | 2 |\n\n---\n\n```rs\nfn f() {}\n```\n";
  const blocks = parseBlocks(text).flat();
  expect(blocks.map((block) => block.type)).toEqual(["heading", "paragraph", "list", "list", "quote", "table", "rule", "code"]);
  const list = blocks[2] as Extract<Block, { type: "list" }>;
  expect(list.items.flat().map((item) => [item.task, item.blocks.flat().map((block) => block.type)])).toEqual([
    [undefined, ["paragraph", "list"]],
    [true, ["paragraph"]],
  ]);
});

test("lines may end as on Windows", () => {
  const text = "# T\n\n- a\n- b\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```rs\nfn f() {}\n```\nafter\n";
  const whole = parseBlocks(text);
  const windows = text.replaceAll("\n", "\r\n");
  expect(parseBlocks(windows)).toEqual(whole);
  for (const size of [1, 2, 7]) {
    const growing = new Growing();
    for (let at = 0; at < windows.length; at += size) {
      growing.append(windows.slice(at, at + size));
    }
    expect(growing.blocks, `in pieces of ${size}`).toEqual(whole);
  }
});

test("headings that are underlined, and code that is indented", () => {
  const blocks = parseBlocks("Title\nof two lines\n===\n\nSmaller\n---\ntext\n\n    let x = 1;\n\n    \tlet y;\n\n\nend\n\n---\n\n- item\n\n      in it").flat();
  expect(blocks.map((block) => (block.type === "heading" ? `h${block.level} ${brief(block.children)}` : block.type === "code" ? block.lines.flat().join("\n") : block.type))).toEqual([
    "h1 Title\nof two lines",
    "h2 Smaller",
    "paragraph",
    "let x = 1;\n\n\tlet y;",
    "paragraph",
    "rule",
    "list",
  ]);
});

const SAMPLE =
  "Intro *text*\n\n# Title\n- one\n- two\n  continued\n\n  para in item\n- three\n\nafter list\n```js\nlet x = `1`;\n\n\n```\n> quote\nlazy\n\n| a | b |\n|:--|--|\n| 1 | 2 |\n| 3 | 4 |\n\n1. x\n\n2. y\n\n10. z\n\n2026\nis no item\n\nHead\n----\n\n    code\n\n    more\n\nend **bold";

test("a text that grows ends as the whole text does, however it is cut", () => {
  const whole = parseBlocks(SAMPLE);
  for (let size = 1; size <= SAMPLE.length; size += size < 12 ? 1 : 17) {
    const growing = new Growing();
    for (let at = 0; at < SAMPLE.length; at += size) {
      growing.append(SAMPLE.slice(at, at + size));
    }
    expect(growing.blocks, `in pieces of ${size}`).toEqual(whole);
  }
});

test("finished blocks stay the same objects while the text grows", () => {
  const growing = new Growing();
  growing.append("first\n\nsecond\n\nthi");
  const [first, second] = growing.blocks.flat();
  growing.append("rd\n\n```\ncode");
  const blocks = growing.blocks.flat();
  expect(blocks[0]).toBe(first);
  expect(blocks[1]).toBe(second);
  expect(blocks).toHaveLength(4);
});

test("hostile markdown is read in good time and stays text", () => {
  const started = Date.now();
  for (const text of [
    "*".repeat(20_000),
    "[".repeat(20_000),
    "![".repeat(10_000) + "](",
    "`".repeat(9_999) + "a" + "`".repeat(8_000),
    "_a".repeat(15_000),
    "> ".repeat(5_000) + "deep",
    "- ".repeat(5_000) + "deep",
    "|".repeat(10_000) + "\n" + "|-".repeat(5_000),
    "<script>alert(1)</script>\n".repeat(2_000),
    "a".repeat(2_000_000),
  ]) {
    const growing = new Growing();
    growing.append(text);
    expect(growing.blocks.length).toBeGreaterThan(0);
    parseBlocks(text);
  }
  // A bound that only something of another order would miss.
  expect(Date.now() - started).toBeLessThan(30_000);
});

function tokens(code: string, language: string): Token[] {
  return new Painter(language).paint(bundle(code.split("\n"))).flat();
}

test("code in colours is the same text", () => {
  for (const [language, code] of [
    ["rust", "fn main() { let s: &'static str = \"a\\\"b\"; /* open"],
    ["ts", "const a = `x${1}y`; // c\nclass A {}"],
    ["python", "def f(x):\n    '''doc'''\n    return x # c"],
    ["sh", "echo \"$HOME\" # hi\nif true; then"],
    ["diff", "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n"],
    ["nothing-known", "just <text>"],
    ["__proto__", "safe"],
  ] as const) {
    expect(tokens(code, language).map((token) => token.text).join("")).toBe(code);
  }
  expect(tokens("fn f() {}", "rs").map((token) => token.kind)).toEqual(["keyword", "plain", "title", "plain"]);
});

test("a patch becomes rows with the words that changed", () => {
  const [file] = parsePatch("--- a/f.rs\n+++ b/f.rs\n@@ -2,3 +2,4 @@ fn x\n same\n-let a = 1;\n+let a = 2;\n+let b = 3;\n end\n");
  expect(file).toMatchObject({ path: "f.rs", added: 2, removed: 1 });
  expect(file?.rows.map((row) => row.type)).toEqual(["gap", "same", "changed", "changed", "same"]);
  const changed = file?.rows[2];
  expect(changed).toMatchObject({
    before: { line: 3, pieces: [{ text: "let a = ", isChanged: false }, { text: "1", isChanged: true }, { text: ";", isChanged: false }] },
    after: { line: 3 },
  });
  expect(words("completely different", "nothing alike here at all")).toEqual([undefined, undefined]);
});

test("addresses say where one is", () => {
  for (const address of ["#/", "#/s/a%2Fb", "#/s/x/tree", "#/s/x/m/e1", "#/s/x/envelope/m/e1/seg/s%201", "#/view"]) {
    expect(formatRoute(parseRoute(address))).toBe(address);
  }
  expect(parseRoute("#/s/%zz")).toMatchObject({ page: "session", session: "%zz" });
  expect(parseRoute("#nonsense")).toEqual({ page: "home" });
});

test("completion knows what is being typed", () => {
  expect(triggerAt("/mo", 3)).toEqual({ kind: "command", from: 0, word: "mo" });
  expect(triggerAt("say /mo", 7)).toBeUndefined();
  expect(triggerAt("look at @src/m", 14)).toEqual({ kind: "file", from: 8, word: "src/m" });
  expect(triggerAt("me@mail", 7)).toBeUndefined();
  expect(triggerAt('see @"my no', 11)).toEqual({ kind: "file", from: 4, word: "my no" });
  expect(triggerAt('see @"my notes.md" ', 19)).toBeUndefined();
  const offer = { insert: "@src/main.rs", label: "src/main.rs", detail: "", goesOn: false };
  expect(complete("see @ma now", 7, { kind: "file", from: 4, word: "ma" }, offer)).toEqual({ text: "see @src/main.rs  now", cursor: 17 });
  const folder = { insert: mention("my dir/"), label: "my dir", detail: "", goesOn: true };
  const opened = complete("@dir now", 4, { kind: "file", from: 0, word: "dir" }, folder);
  expect(opened).toEqual({ text: '@"my dir/" now', cursor: 9 });
  const notes = { insert: mention("my dir/a b.md"), label: "", detail: "", goesOn: false };
  expect(complete(opened.text, 9, triggerAt(opened.text, 9) as never, notes)).toEqual({ text: '@"my dir/a b.md"  now', cursor: 17 });
  const all = ["/compact", "/model", "/name"].map((label) => ({ insert: label, label, detail: "", goesOn: false }));
  expect(matching(all, "/m").map(({ label }) => label)).toEqual(["/model"]);
});

test("only what the server says to be the host's is the host's", () => {
  expect(originOf({ by: "host", approval: { capability: "exec", target: "ls" } })).toEqual({ by: "host" });
  expect(originOf({ by: "extension", extensionId: "host" })).toEqual({ by: "extension", name: "host" });
  expect(originOf(undefined)).toEqual({ by: "extension", name: undefined });
});

test("a name stands on one line, with letters that can be seen", () => {
  expect(shownName("a\nb\u202Ec\u200B d")).toBe("a b c d");
  expect(shownName("x".repeat(200))).toHaveLength(60);
});

test("answers to an approval have words of their own", () => {
  const options = ["Yes, this once", "Yes, for this session", "Yes, exec for this session", "Yes, exec for 30 days", "No", "No, not in this session", "Never"];
  const texts = ["approval.once", "approval.session", "approval.all", "approval.lasting", "question.no", "approval.not", "approval.never"];
  expect(options.map(optionText)).toEqual(texts);
  expect(optionText("Blue")).toBeUndefined();
});

test("what is asked is named by what it needs", () => {
  expect(["exec", "write", "env", "constructor"].map(titleText)).toEqual(["approval.title.exec", "approval.title.write", "approval.title", "approval.title"]);
});

test("how far a yes for longer reaches is told where it has bounds", () => {
  const broad = (capability: string) => ["No", "Yes, this once", `Yes, ${capability} for this session`, `Yes, ${capability} for 30 days`];
  expect(["read", "http", "env", "constructor"].map((capability) => reachText(capability, broad(capability)))).toEqual(["approval.reach.files", "approval.reach.hosts", undefined, undefined]);
  expect(reachText("exec", ["No", "Yes, this once", "Yes, for this session"])).toBeUndefined();
});

test("a message with other words keeps its files", () => {
  const file = '<file name="/a.rs">\nfn a() {}\n</file>';
  expect(reworded(`see @a.rs\n\n${file}\n${file}\n`, "look\nthere")).toBe(`look\nthere\n\n${file}\n${file}`);
  expect(reworded(`${file}\nExplain`, "Explain it")).toBe(`Explain it\n\n${file}`);
  expect(reworded("no files", "at all")).toBe("at all");
  expect(reworded(file, `${file}!`)).toBe(`${file}!`);
});

test("files in a message are told from its words", () => {
  const message = 'see @a.rs\n\n<file name="/p/a.rs">\nfn a() {}\n</file>';
  expect(saidOf(message)).toEqual({ text: "see @a.rs", files: [{ name: "/p/a.rs", text: "fn a() {}" }] });
  expect(saidOf("a <file> b")).toEqual({ text: "a <file> b", files: [] });
});

test("a title is made of the words of a message, wherever its files stand", () => {
  const file = '<file name="/p/a.rs">\nfn a() {}\n</file>';
  const titles = ['see @a.rs <file name="/p', `${file}\n\nWhat is\nthis?`, `${file}\n${file} Why?\n\n${file}`, `${file}`, '<file name="/p/a.rs">\nfn a(', "plain"].map(titleOf);
  expect(titles).toEqual(["see @a.rs", "What is this?", "Why?", "@a.rs", "@a.rs", "plain"]);
});

test("a name behind a slash is a command, a path is none, and a misspelt one finds its word", () => {
  expect(["/nope", "/nope with words", "/skill:x", "/tmp/a", "/a.b", "a /nope", "/", "/1"].map(called)).toEqual(["nope", "nope", "skill:x", undefined, undefined, undefined, undefined, undefined]);
  const words = ["model", "compact", "tree", "export"];
  expect(["modle", "compct", "Tree", "messages", "x"].map((word) => nearest(word, words))).toEqual(["model", "compact", "tree", undefined, undefined]);
  expect(["context", "usage", "constructor"].map(pageCommand)).toEqual(["envelope", "usage", undefined]);
});

for (const [why, text, remedies] of [
  ["openai answered: 429 rate_limited: Rate limit reached for requests (request id 7)", "rate", ["model"]],
  ["openai answered: 429 quota_exhausted: You exceeded your current quota", "quota", ["model"]],
  ["openai answered: 404 not_found: The model does not exist", "model", ["model"]],
  ["openai answered: 413 request_too_large: Too many tokens", "large", ["compact", "model"]],
  ["request_too_large: said within a stream", "large", ["compact", "model"]],
  ["openai answered: 401 authentication: 404 is in the key", "key", ["model"]],
  ["openai answered: 503 overloaded: cannot connect", "theirs", ["model"]],
  ["openai answered: 400 invalid_request: rate_limited: not_found: 401 your api key", "", ["model"]],
  ["there is no credential for openai", "key", ["model"]],
  ["nothing answers at http://127.0.0.1:1", "address", ["model"]],
  ["openai cannot be reached: connection refused", "address", ["model"]],
  ["openai did not answer in time (connecting, 10 s)", "timeout", ["model"]],
  ["a tool could not connect to your api key", "", ["model"]],
] as const) {
  test(`advice for: ${why}`, () => {
    expect(adviceFor(why)).toEqual({ text: text === "" ? "answer.failed.next" : `answer.failed.next.${text}`, remedies });
  });
}

for (const [keyboard, key, code, writing, letter] of [
  ["any", "n", "KeyN", true, "n"],
  ["one with other places", "m", "KeyO", true, "m"],
  ["a Mac", "µ", "KeyM", true, "m"],
  ["a Mac", "Dead", "KeyN", true, "n"],
  ["a Mac", "®", "KeyR", false, "r"],
  ["a Polish Mac while one writes", "ń", "KeyN", true, undefined],
  ["a Polish Mac otherwise", "ń", "KeyN", false, "n"],
  ["a Greek one", "ν", "KeyN", true, "n"],
  ["any, with a digit", "1", "Digit1", false, undefined],
] as const) {
  test(`a letter with Alt on ${keyboard}: ${key}`, () => {
    const pressed = { key, code, altKey: true, ctrlKey: false, metaKey: false, shiftKey: false };
    expect(letterWithAlt(pressed, writing)).toBe(letter);
    expect(letterWithAlt({ ...pressed, ctrlKey: true }, writing)).toBeUndefined();
  });
}

test("keys are called as they are on the keyboard that is there", () => {
  expect(shownKeys("choose another model (Alt M). Ctrl ↵ sends", true)).toBe("choose another model (⌥\u2009M). ⌘\u2009↵ sends");
  expect(shownKeys("Alt N", false)).toBe("Alt N");
  expect(["Choose another model (Alt M).", "换一个模型（Alt M）。"].map(withoutKeys)).toEqual(["Choose another model.", "换一个模型。"]);
});

test("keys have the names of the protocol", () => {
  const key = (name: string, marks: Partial<Record<"ctrlKey" | "altKey" | "shiftKey" | "metaKey", boolean>> = {}) =>
    keyName({ key: name, ctrlKey: false, altKey: false, shiftKey: false, metaKey: false, ...marks });
  expect(key("Enter")).toBe("enter");
  expect(key("ArrowUp", { shiftKey: true })).toBe("shift+up");
  expect(key("A", { shiftKey: true })).toBe("A");
  expect(key("c", { ctrlKey: true })).toBe("ctrl+c");
  expect(key("F5")).toBe("f5");
  expect(key("中")).toBe("中");
  expect(key("Shift")).toBeUndefined();
  expect(key("v", { metaKey: true })).toBeUndefined();
});

test("the last lines of an output are shown with the number before them", () => {
  expect(tail("a\nb\nc\nd\n", 2)).toEqual({ shown: "c\nd", hidden: 2 });
  expect(tail("a\nb", 5)).toEqual({ shown: "a\nb", hidden: 0 });
});

test("a tree of ten thousand entries is put in order without recursion", () => {
  const nodes = Array.from({ length: 10_000 }, (_, index) => ({
    entryId: `e${index}`,
    parentId: index === 0 ? null : `e${index - 1}`,
    entryType: "message",
    role: "user",
    text: `m${index}`,
    timestamp: null,
  }));
  const side = { ...(nodes[0] as (typeof nodes)[0]), entryId: "side", parentId: "e3", text: "side" };
  const lines = linesOf({ currentLeafId: "e9999", nodes: [...nodes, side] });
  expect(lines).toHaveLength(10_001);
  expect(lines.find((line) => line.node.entryId === "side")).toMatchObject({ depth: 1, isOnPath: false });
  expect(lines.at(-1)).toMatchObject({ isCurrent: true, depth: 0 });
});

test("a tree stands where something is shown, and labels are no branches", () => {
  const node = (entryId: string, parentId: string | null, entryType: string, label?: string) => ({
    entryId,
    parentId,
    entryType,
    role: entryType === "message" ? "user" : null,
    text: entryId,
    timestamp: null,
    ...(label === undefined ? {} : { label }),
  });
  const nodes = [
    node("model", null, "model_change"),
    node("one", "model", "message", "start"),
    node("two", "one", "message"),
    node("label", "two", "label"),
    node("side label", "one", "label"),
    node("other", "one", "message"),
  ];
  const lines = linesOf({ currentLeafId: "label", nodes });
  expect(lines.map(({ node: { entryId }, depth, isOnPath, isCurrent, branches }) => ({ entryId, depth, isOnPath, isCurrent, branches }))).toEqual([
    { entryId: "one", depth: 0, isOnPath: true, isCurrent: false, branches: 2 },
    { entryId: "other", depth: 1, isOnPath: false, isCurrent: false, branches: 0 },
    { entryId: "two", depth: 0, isOnPath: true, isCurrent: true, branches: 0 },
  ]);
});

test("both languages say the same things", () => {
  const read = (name: string) => JSON.parse(readFileSync(new URL(`../src/texts/${name}.json`, import.meta.url), "utf8")) as Record<string, string>;
  const [en, zh] = [read("en"), read("zh")];
  expect(Object.keys(zh).sort()).toEqual(Object.keys(en).sort());
  const names = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort();
  for (const [key, text] of Object.entries(en)) {
    expect(names(zh[key] ?? ""), key).toEqual(names(text));
  }
});

test("every text is used, and Chinese has one kind of quotes", () => {
  const folder = new URL("../src/", import.meta.url);
  const all = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => /\.(ts|svelte)$/.test(name));
  const sources = all.map((name) => readFileSync(new URL(name, folder), "utf8")).join("\n");
  const literals = new Set([...sources.matchAll(/["'`]([\w.]+)["'`]/g)].map(([, literal]) => literal));
  const beginnings = [...new Set([...sources.matchAll(/`([\w]+\.(?:[\w.]*\.)?)\$\{/g)].map(([, beginning]) => beginning ?? ""))];
  for (const texts of ["texts", "envelope/texts"]) {
    const keys = Object.keys(JSON.parse(readFileSync(new URL(`${texts}/en.json`, folder), "utf8")) as object);
    expect(keys.filter((key) => !literals.has(key) && !beginnings.some((beginning) => key.startsWith(beginning))), texts).toEqual([]);
    const chinese = Object.values(JSON.parse(readFileSync(new URL(`${texts}/zh.json`, folder), "utf8")) as Record<string, string>);
    expect(chinese.filter((text) => /["「」『』]/.test(text)), texts).toEqual([]);
  }
});

test("a sentence that another follows ends with its full stop, once", () => {
  expect(["The server is busy", "Why?", "It failed.", "忙。"].map(ended)).toEqual(["The server is busy.", "Why?", "It failed.", "忙。"]);
});

test("texts have a form for one and a form for many", () => {
  const text = "{count} {count?fault:faults} in {name}";
  expect([1, "1", 0, 2, "1,001"].map((count) => fill(text, { count, name: "a" }))).toEqual(["1 fault in a", "1 fault in a", "0 faults in a", "2 faults in a", "1,001 faults in a"]);
  expect(fill("{missing}", {})).toBe("{missing}");
});

test("nothing is used that a page has only over HTTPS", () => {
  const folder = new URL("../src/", import.meta.url);
  const sources = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => /\.(ts|svelte)$/.test(name));
  expect(sources.length).toBeGreaterThan(100);
  // Ids are made by `newId`, which works over plain HTTP too.
  expect(sources.filter((name) => /\brandomUUID\b/.test(readFileSync(new URL(name, folder), "utf8")))).toEqual([]);
});
