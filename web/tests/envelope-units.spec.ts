/** What is decided and measured below the envelope view: plain functions, checked as tables. */
import { readFileSync } from "node:fs";
import { expect, test } from "@playwright/test";
import { bind, collect, openBytes, openEmbedded, openText } from "../src/envelope/model/album";
import { bytes, dollars, grouped, isCount, moment, percent, short, signed } from "../src/envelope/model/amount";
import { squarify, tiles } from "../src/envelope/model/areas";
import { cut, isShowable, lineLimit, minimap, sections } from "../src/envelope/model/cap";
import { chunks } from "../src/envelope/model/chunks";
import { divide, estimated, price, tokens, total, totals } from "../src/envelope/model/count";
import { diff } from "../src/envelope/model/diff";
import { type Envelope, entries, KINDS, type Segment } from "../src/envelope/model/format";
import { compare, fold } from "../src/envelope/model/lines";
import { find, formatTarget, parseTarget, targetsOf } from "../src/envelope/model/link";
import { ours, oursOfEnvelope } from "../src/envelope/model/ours";
import { keptText } from "../src/envelope/model/kept";
import { outline } from "../src/envelope/model/outline";
import { type Problem, problemText } from "../src/envelope/model/problem";
import { readBytes, readText } from "../src/envelope/model/read";
import { toHtml, toMarkdown } from "../src/envelope/model/save";
import { marked, matches } from "../src/envelope/model/search";
import { edges, inTheirs, layout, piecesOf, stretchOf } from "../src/envelope/model/strip";
import { columns, compactedFrom, previousTurn } from "../src/envelope/model/timeline";
import { shortest } from "../src/envelope/model/paths";
import { itemTokens, switchRows, title, tree } from "../src/envelope/model/treemap";
import { fill } from "../src/texts/fill";
import { everyKind, giant, hostile, long, session } from "./envelope/sample";

const ROOT = new URL("../../", import.meta.url);
const file = (path: string) => readFileSync(new URL(path, ROOT), "utf8");

interface Agreed {
  base: unknown;
  mutations: [string, string, [string, string][]][];
  texts: [string, boolean][];
  comparisons: { before: Envelope; after: Envelope; diff: unknown }[];
  examples: { broken: [string, string][]; first: []; second: []; diff: unknown };
}

/** What `pi-envelope` decides; its own tests hold the file up to date. */
const agreed = JSON.parse(file("crates/pi-envelope/tests/agreed.json")) as Agreed;

function problemsOf(text: string): [string, string][] {
  const read = readText(text);
  return read.ok ? [] : read.problems.map((problem) => [problem.path, said(problem)]);
}

/** A problem in the words of a language. */
function said(problem: Problem, language = "en"): string {
  const texts = JSON.parse(file(`web/src/envelope/texts/${language}.json`)) as Record<string, string>;
  return problemText(problem, (key, values = {}) => fill(texts[key] ?? key, values));
}

/** The text of the base with the value at a pointer replaced or, if the replacement is empty, taken out. */
function mutate(pointer: string, replacement: string): string {
  const mark = "\u0001here\u0001";
  const document = structuredClone(agreed.base);
  const steps = pointer.slice(1).split("/");
  const last = steps.pop() as string;
  const parent = steps.reduce((value, step) => (value as Record<string, unknown>)[step], document) as Record<string, unknown>;
  if (replacement !== "") {
    parent[last] = mark;
  } else if (Array.isArray(parent)) {
    parent.splice(Number(last), 1);
  } else {
    delete parent[last];
  }
  return JSON.stringify(document).replace(JSON.stringify(mark), () => replacement);
}

test.describe("the verdict is that of the command line", () => {
  test("on every small change to a document with every kind", () => {
    expect(agreed.mutations.length).toBeGreaterThan(300);
    for (const [pointer, replacement, expected] of agreed.mutations) {
      expect(problemsOf(mutate(pointer, replacement)), `${pointer} := ${replacement}`).toEqual(expected);
    }
  });

  test("on texts that are hard to read", () => {
    const deep = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
    const document = (value: string) =>
      `{"x":${value},"version":"1.0","messages":[{"id":"a","role":"user","timestamp":1,"segments":[{"kind":"text","content":""}]}]}`;
    for (const [name, expected] of agreed.texts) {
      const value = name.startsWith("deep ") ? deep(Number(name.slice(5))) : name;
      const text = name === "bom" ? `\ufeff${document("1")}` : document(value);
      expect(readBytes(new TextEncoder().encode(text)).ok, JSON.stringify(name)).toBe(expected);
    }
  });

  test("on the published examples", () => {
    expect(problemsOf(file("docs/examples/broken-envelope.json"))).toEqual(agreed.examples.broken);
    expect(problemsOf(file("docs/examples/first-request.json"))).toEqual([]);
    expect(problemsOf(file("docs/examples/second-request.json"))).toEqual([]);
  });
});

test("what is wrong with a file is said in Chinese as well", () => {
  const words = (text: string) => {
    const read = readText(text);
    return read.ok ? [] : read.problems.map((problem) => said(problem, "zh"));
  };
  expect(words('{"version":"2","messages":[]}')).toEqual(['应为 "1.0" 之一，实为 "2"', "至少需要 1 项，实为 0 项"]);
  expect(words('{"version":"1.0","messages":[{"role":7}]}').slice(0, 2)).toEqual(["缺少必需的成员", '应为 "system", "user", "assistant", "tool" 之一，实为 7']);
  expect(words(`${"[".repeat(128)}`)).toEqual(["不是可读的 JSON：嵌套超过 127 层"]);
});

test("a fault is shown at its place", () => {
  const read = readText(file("docs/examples/broken-envelope.json"));
  expect(read.ok).toBe(false);
  const places = read.ok ? [] : read.problems.map(({ line, column, excerpt }) => [line, column, excerpt.text.slice(excerpt.mark, excerpt.mark + 8)]);
  expect(places).toEqual([
    [17, 15, '"robot",'],
    [22, 20, "[],"],
    [26, 19, '"poem",'],
    [18, 20, '"yesterd'],
  ]);
  const cut = readText('{"version": "1.0",\n  "messages": [}');
  expect(cut.ok ? [] : cut.problems.map((problem) => [problem.line, problem.column, said(problem)])).toEqual([
    [2, 16, "not JSON that we read: expected a value"],
  ]);
  expect(readBytes(new Uint8Array([0x22, 0xff, 0x22])).ok).toBe(false);
});

test.describe("two envelopes compare as on the command line", () => {
  const bare = (before: Envelope, after: Envelope) => {
    const { pairing: _, ...found } = diff(before, after);
    return JSON.parse(JSON.stringify(found)) as unknown;
  };

  test("in many small ways", () => {
    expect(agreed.comparisons.length).toBeGreaterThan(20);
    agreed.comparisons.forEach(({ before, after, diff: expected }, index) => {
      expect(bare(before, after), `comparison ${index}`).toEqual(expected);
    });
  });

  test("on the published examples", () => {
    const read = (name: string) => JSON.parse(file(`docs/examples/${name}-request.json`)) as Envelope;
    expect(bare(read("first"), read("second"))).toEqual(agreed.examples.diff);
  });
});

test.describe("tokens", () => {
  test("of segments sum up to every total that is shown", () => {
    for (const envelope of [everyKind(), hostile(), ...session()]) {
      const all = totals(envelope);
      const sum = (counts: Iterable<number>) => [...counts].reduce((one, other) => one + other, 0);
      expect(sum(entries(envelope).map(({ segment }) => tokens(segment).count))).toBe(all.tokens.count);
      expect(sum(envelope.messages.map((message) => total(message.segments).count))).toBe(all.tokens.count);
      expect(sum([...all.byKind.values()].map((tally) => tally.tokens.count))).toBe(all.tokens.count);
      expect(sum(Object.values(all.byHow))).toBe(all.tokens.count);
      expect(sum(Object.values(all.byCache))).toBe(all.tokens.count);
      const branches = tree(envelope);
      expect(sum(branches.map((branch) => branch.tokens))).toBe(all.tokens.count);
      for (const branch of branches) {
        expect(sum(branch.sources.map((source) => source.tokens))).toBe(branch.tokens);
        for (const source of branch.sources) {
          expect(sum(source.items.map((item) => item.tokens))).toBe(source.tokens);
        }
      }
    }
  });

  test("that nobody counted are estimated", () => {
    const cases: [Segment, number][] = [
      [{ kind: "text", content: "" }, 0],
      [{ kind: "text", content: "abcde" }, 2],
      [{ kind: "text", content: "𝄞𝄞𝄞𝄞" }, 1],
      [{ kind: "media", mediaType: "image", url: "x" }, 1200],
      [{ kind: "text", content: "ab", meta: { frame: ["12", "3456"] } }, 2],
      [{ kind: "text", content: "ab", meta: { frame: ["does not fit"] } }, 1],
      [{ kind: "text", content: "ab", meta: { tokens: { count: -4, how: "exact" } } }, 1],
      [{ kind: "text", content: "ab", meta: { tokens: { count: 1e300, how: "exact" } } }, 1],
    ];
    for (const [segment, count] of cases) {
      expect(tokens(segment), JSON.stringify(segment)).toEqual({ count, how: "estimated" });
    }
  });

  test("are estimated as pi itself estimates them", () => {
    const cases = JSON.parse(readFileSync(new URL("../../crates/pi-envelope/tests/estimates.json", import.meta.url), "utf8")) as [string, number][];
    for (const [text, count] of cases) {
      expect(estimated(text), text).toBe(count);
    }
  });

  test("of the provider leave a residual, and wrong claims are told", () => {
    const envelope = everyKind();
    expect(totals(envelope).provider).toEqual({ sent: 8817, residual: 41, byCache: { cached: 2547, written: 4900, uncached: 1370 } });
    expect(totals(envelope).claims).toEqual([]);
    const lying = { ...envelope, meta: { ...envelope.meta, tokens: { count: 1, how: "exact" as const } } };
    expect(totals(lying).claims).toEqual([{ where: "", claimed: 1, sum: 8776 }]);
    const first = entries(envelope)[0];
    expect(first && price(first.segment, envelope)).toBeCloseTo(1184 * 3e-7, 10);
  });

  test("are divided without a rest", () => {
    const cases: [number, number[], number[]][] = [
      [10, [1, 1, 1], [4, 3, 3]],
      [3, [0, 0], [2, 1]],
      [0, [5, 5], [0, 0]],
      [7, [1000, 1], [7, 0]],
      [5, [], []],
    ];
    for (const [whole, weights, expected] of cases) {
      expect(divide(whole, weights)).toEqual(expected);
    }
  });
});

test("members of meta that are not as we write them are not used", () => {
  const segment = { kind: "text", content: "", meta: { id: 7, origin: { from: "user", name: "ada" }, trust: "much", tokens: { count: 1, how: "exact", by: "me" }, cache: [], part: "dream", frame: [1] } };
  expect(ours(segment as never)).toEqual({});
  expect(ours({ kind: "text", content: "", meta: "mine" } as never)).toEqual({});
  expect(oursOfEnvelope({ version: "1.0", messages: [], meta: { residual: 0.5, usage: {} } } as never)).toEqual({});
});

test.describe("the strip", () => {
  test("fills its width with whole pixels, the same ones every time", () => {
    for (const envelope of [everyKind(), long(5000), hostile()]) {
      for (const width of [1, 37, 320, 1283]) {
        const all = entries(envelope);
        const strip = layout(piecesOf(all), width);
        expect(strip).toEqual(layout(piecesOf(entries(structuredClone(envelope))), width));
        let end = 0;
        const isJoined = strip.stretches.every((stretch) => {
          const fits = stretch.x === end && Number.isInteger(stretch.width);
          end += stretch.width;
          return fits;
        });
        expect(isJoined).toBe(true);
        expect(end).toBe(width);
        // Every segment can be found.
        expect(all.every(({ index }) => stretchOf(strip, index) !== undefined)).toBe(true);
      }
    }
  });

  test("gives each segment its share, and the smallest enough to be seen", () => {
    expect(edges([50, 25, 25], 100)).toEqual([50, 75, 100]);
    expect(edges([0, 0], 10)).toEqual([5, 10]);
    expect(edges([1000, 1], 100)).toEqual([97, 100]);
    expect(edges([1, 1, 1, 1], 4)).toEqual([1, 2, 3, 4]);
    expect(edges([5, 5000, 5, 5000, 5], 1000)).toEqual([3, 499, 502, 997, 1000]);
  });

  test("is as wide as its tokens, however many small ones there are, and jumps nowhere", () => {
    const width = 1200;
    let before: number | undefined;
    for (let small = 0; small <= 600; small += 1) {
      const sizes = [20_000, ...Array.from({ length: small }, () => 10), 10_000];
      const ends = edges(sizes, width);
      const all = 30_000 + small * 10;
      const large = ends[0] ?? 0;
      expect(Math.abs(large - (20_000 / all) * width), `with ${small}`).toBeLessThanOrEqual(width * 0.08 + 1);
      expect(Math.abs(large - (before ?? large)), `with ${small}`).toBeLessThanOrEqual(3);
      before = large;
    }
    // What has no pixel of its own is found in its neighbour.
    const crowd = layout(Array.from({ length: 2000 }, () => ({ kind: "text", tokens: 1, cache: "unknown" }) as const), 300);
    expect(crowd.stretches.every((stretch) => stretch.width > 0)).toBe(true);
    expect(crowd.stretches.at(-1)?.last).toBe(1999);
  });

  test("has a notch where the cache broke", () => {
    const [, second, third] = session();
    const found = diff(second as Envelope, third as Envelope);
    expect(found.cacheBreak?.index).toBe(5);
    const strip = layout(piecesOf(entries(third as Envelope)), 1000, found.cacheBreak);
    expect(strip.notch).toBe(stretchOf(strip, 5)?.x);
  });

  test("draws the border of the cache where the provider had it, also inside a segment", () => {
    const pieces = [
      { kind: "system_prompt", tokens: 900, cache: "cached" },
      { kind: "text", tokens: 100, cache: "uncached" },
    ] as const;
    const drawn = (sent: Parameters<typeof layout>[3]) => layout(pieces, 1000, undefined, sent).cache.map(({ state, x, width }) => `${state} ${x}+${width}`);
    const [end] = edges([900, 100], 1000);
    expect(drawn(undefined)).toEqual([`cached 0+${end}`, `uncached ${end}+${1000 - (end ?? 0)}`]);
    // By the middle of the first segment all of it would count as read.
    expect(drawn({ input: 250, cacheRead: 200, cacheWrite: 50 })).toEqual(["cached 0+400", "written 400+100", "uncached 500+500"]);
    expect(drawn({ input: 0, cacheRead: 500, cacheWrite: 0 })).toEqual(["cached 0+1000"]);
  });

  test("what the cache held is told in the units of the provider", () => {
    // Ours are an estimate, twice what the provider counts: all of it was read from the cache.
    expect(inTheirs(8000, 8000, { input: 100, cacheRead: 3900, cacheWrite: 0 })).toBe(4000);
    expect(inTheirs(2803, 7339, { input: 1869, cacheRead: 2803, cacheWrite: 0 })).toBe(1784);
    expect(inTheirs(0, 0, { input: 1, cacheRead: 0, cacheWrite: 0 })).toBe(0);
  });

  test("of a provider that tells nothing of its cache nothing is told", () => {
    const sent = (cacheRead: number, cacheWrite: number) => ({ input: 700 - cacheRead - cacheWrite, cacheRead, cacheWrite });
    const told = (usage: ReturnType<typeof sent> | undefined, before?: ReturnType<typeof sent>) => keptText(600, 700, usage, before, (key) => key);
    expect([told(sent(0, 0)), told(sent(0, 637)), told(sent(600, 0)), told(undefined)]).toEqual(["diff.noBreak", "diff.cacheLost", "diff.cacheHeld", "diff.noBreak"]);
    // One that told of it before tells of nothing now.
    expect([told(sent(0, 0), sent(600, 0)), told(sent(0, 0), sent(0, 0)), told(undefined, sent(600, 0))]).toEqual(["diff.cacheLost", "diff.noBreak", "diff.noBreak"]);
  });

  test("has an outline of its own for every kind", () => {
    const shapes = KINDS.map((kind) => outline(kind, 0, 60, 40));
    // Two share the full block and are told apart by texture and colour.
    expect(new Set(shapes).size).toBe(10);
    expect(outline("system_prompt", 0, 60, 40)).toBe(outline("tool_overview", 0, 60, 40));
    expect(outline("document", 0, 5, 40)).toBe("M0 2H5V40H0Z");
  });
});

test.describe("the treemap", () => {
  test("divides its area by tokens and overlaps nowhere", () => {
    const areas = squarify([6, 6, 4, 3, 2, 2, 1], { x: 0, y: 0, width: 600, height: 400 });
    const sizes = areas.map((area) => Math.round((area.width * area.height) / 10000));
    expect(sizes).toEqual([6, 6, 4, 3, 2, 2, 1]);
    for (const [index, one] of areas.entries()) {
      for (const other of areas.slice(index + 1)) {
        const wide = Math.min(one.x + one.width, other.x + other.width) - Math.max(one.x, other.x);
        const high = Math.min(one.y + one.height, other.y + other.height) - Math.max(one.y, other.y);
        expect(Math.min(wide, high)).toBeLessThan(1e-6);
      }
    }
    expect(squarify([0, 0], { x: 0, y: 0, width: 5, height: 5 }).every((area) => area.width === 0)).toBe(true);
  });

  test("knows what can be switched, and what that means", () => {
    const source = (sourceId: string, kind: "skill" | "memory" | "tools", enabled = true) => ({ sourceId, kind, name: sourceId, enabled });
    const found = tree(everyKind(), {
      sources: [source("tools:builtin", "tools"), source("tools:mcp:github", "tools"), source("skill:bisect", "skill"), source("memory:AGENTS.md", "memory")],
      tools: [
        { name: "read", description: "", active: true },
        { name: "bash", description: "", active: true },
        { name: "off", description: "", active: false },
        { name: "github_search_issues", description: "", active: true, sourceId: "tools:mcp:github" },
      ],
    });
    const tools = found.find((branch) => branch.kind === "tool_overview");
    expect(tools?.sources.map((it) => [it.name, it.tokens, it.switch])).toEqual([
      ["built_in", 1184, { type: "source", sourceId: "tools:builtin", enabled: false }],
      ["mcp:github", 962, { type: "source", sourceId: "tools:mcp:github", enabled: false }],
    ]);
    expect(tools?.sources[0]?.items.find((item) => item.name === "read")?.switch).toEqual({ type: "tools", tools: ["bash", "github_search_issues"] });
    const skills = found.find((branch) => branch.kind === "skills");
    expect(skills?.sources[0]?.items.filter((item) => item.switch).map((item) => item.name)).toEqual(["bisect"]);
    const memory = found.find((branch) => branch.kind === "memory");
    expect(memory?.sources[0]?.switch).toEqual({ type: "source", sourceId: "memory:AGENTS.md", enabled: false });
    expect(tiles(found, 900, 460).every(({ area }) => Number.isInteger(area.x) && area.x + area.width <= 900)).toBe(true);
  });
});

test("switches tell what the server reckons, and files of one name by their folders", () => {
  const count = (count: number) => ({ count, how: "counted" as const });
  const tool = (name: string, active: boolean, tokens: number, sourceId = "tools:builtin") => ({ name, description: "", active, tokens: count(tokens), sourceId });
  const file = (path: string, tokens: number) => ({ sourceId: `memory:${path}`, kind: "memory" as const, name: "AGENTS.md", path, enabled: true, tokens: count(tokens) });
  const set = (sourceId: string, enabled: boolean, tokens: number) => ({ sourceId, kind: "tools" as const, name: sourceId, enabled, tokens: count(tokens) });
  const rows = switchRows({
    sources: [file("/home/ann/AGENTS.md", 30), file("/home/ann/parser/AGENTS.md", 20), set("tools:builtin", true, 400), set("tools:mcp:hi", false, 90)],
    tools: [tool("read", true, 300), tool("ls", false, 100), tool("hello", false, 90, "tools:mcp:hi"), { name: "old", description: "" }],
  });
  expect(rows.map(({ name, isOn, tokens }) => `${name} ${isOn ? "on" : "off"} ${tokens?.count ?? "?"}`)).toEqual([
    "tools:builtin on 400",
    "read on 300",
    "ls off 100",
    // Its tools come with it.
    "tools:mcp:hi off 90",
    "ann/AGENTS.md on 30",
    "parser/AGENTS.md on 20",
    "old on ?",
  ]);
  expect(rows.find(({ name }) => name === "ls")?.change).toEqual({ type: "tools", tools: ["read", "old", "ls"] });
});

test("names of files are as short as they can be told apart", () => {
  const names = (...paths: string[]) => [...shortest(paths).values()];
  expect(names("/a/AGENTS.md", "/a/CLAUDE.md")).toEqual(["AGENTS.md", "CLAUDE.md"]);
  expect(names("/a/x/AGENTS.md", "/b/x/AGENTS.md", "/c/AGENTS.md")).toEqual(["a/x/AGENTS.md", "b/x/AGENTS.md", "c/AGENTS.md"]);
  expect(names("/AGENTS.md", "/w/AGENTS.md")).toEqual(["/AGENTS.md", "w/AGENTS.md"]);
  expect(names("C:\\w\\AGENTS.md", "C:\\v\\AGENTS.md")).toEqual(["w/AGENTS.md", "v/AGENTS.md"]);
});

test("a skill takes what stands around it, too", () => {
  const skills = (location: string): Envelope => ({
    version: "1.0",
    messages: [
      {
        id: "system",
        role: "system",
        timestamp: 1,
        segments: [
          {
            kind: "skills",
            collapsed: true,
            items: [{ name: "aa", description: "bb" }, { name: "cc", description: "dd" }],
            meta: { frame: ["\nLead:\n<skills>\n<s>", "<d>", `${location}</s>\n<s>`, "<d>", "</s>\n</skills>"], tokens: { count: 100, how: "counted" } },
          },
        ],
      },
    ],
  });
  const shares = (location: string) => itemTokens(skills(location).messages[0]?.segments[0] as Segment);
  expect(shares("")).toEqual([50, 50]);
  expect(shares("x".repeat(14))).toEqual([67, 33]);
});

test("calls and their results are told by what they are about", () => {
  const names = tree(everyKind()).flatMap((branch) => branch.sources.flatMap((source) => source.items.map((item) => item.name)));
  expect(names.filter((name) => name.startsWith("read "))).toEqual(["read src/parser.rs", "read src/parser.rs"]);
  expect(title({ kind: "tool_call_request", toolName: "odd", arguments: { count: 3, what: "first\nwords" }, collapsed: true })).toBe("odd first words");
  expect(title({ kind: "tool_call_result", toolName: "read", result: "", success: true, collapsed: true })).toBe("read");
});

test("texts are cut between characters, in blocks", () => {
  const text = "𝄞".repeat(40_000);
  const found = cut(text, 40_001);
  expect(found.blocks.join("").length + found.left).toBe(text.length);
  expect(found.blocks.every((block) => !/\p{Surrogate}/u.test(block))).toBe(true);
  expect(cut("a\nb\nc", 100)).toEqual({ blocks: ["a\nb\nc"], left: 0 });
  expect(lineLimit("a\nb\nc\nd", 2, 1000)).toBe(3);
  expect(lineLimit("abc", 2, 1000)).toBe(1000);
  expect(minimap(`${"x".repeat(100)}\n\nxx`, 3)).toEqual([1, 0, 0.02]);
  expect(sections("intro\n# A\na\n```\n# no\n```\n## B\nb").map(({ level, title }) => [level, title])).toEqual([[0, ""], [1, "A"], [2, "B"]]);
  const parts = sections("x\n# A\n# B").map((part) => part.text);
  expect(parts.join("")).toBe("x\n# A\n# B");
});

test("only pictures and sounds that are in the file are shown", () => {
  const cases: [string, string, boolean][] = [
    ["image", "data:image/png;base64,AAAA", true],
    ["image", "data:image/svg+xml;base64,AAAA", false],
    ["image", "https://example.com/a.png", false],
    ["image", "javascript:alert(1)", false],
    ["image", "data:text/html,<script>", false],
    ["audio", "data:audio/mpeg;base64,AAAA", true],
    ["video", "data:image/png;base64,AAAA", false],
    ["poem", "data:image/png;base64,AAAA", false],
  ];
  for (const [type, url, expected] of cases) {
    expect(isShowable(type, url), url).toBe(expected);
  }
});

test("lines are compared and folded", () => {
  expect(compare("a\nb\nc", "a\nx\nc").map(({ what, text }) => `${what} ${text}`)).toEqual(["same a", "removed b", "added x", "same c"]);
  expect(compare("", "").length).toBe(1);
  const folded = fold(compare("1\n2\n3\n4\n5", "1\n2\n3\n4\nx"), 1);
  expect(folded[0]).toEqual({ what: "gap", count: 3 });
  const huge = compare(Array.from({ length: 3000 }, (_, index) => `a${index}`).join("\n"), Array.from({ length: 3000 }, (_, index) => `b${index}`).join("\n"));
  expect(huge.length).toBe(6000);
});

test("a search finds words in any case, and marks them", () => {
  const all = entries(everyKind());
  const hits = (query: string, ...kinds: Segment["kind"][]) => all.filter((entry) => matches(entry, { kinds: new Set(kinds), query })).length;
  expect(hits("")).toBe(all.length);
  expect(hits("TRAILING")).toBe(3);
  expect(hits("trailing", "text")).toBe(1);
  expect(hits("github")).toBe(1);
  expect(hits("iVBORw0KGgo")).toBe(0);
  expect(marked("aXbx", "x")).toEqual([{ text: "a", isHit: false }, { text: "X", isHit: true }, { text: "b", isHit: false }, { text: "x", isHit: true }]);
  expect(marked("İstanbul i", "i")).toEqual([{ text: "İstanbul i", isHit: false }]);
});

test("an address names request, message and segment", () => {
  const all = entries(everyKind());
  for (const [index, named] of targetsOf(all).entries()) {
    const entry = all[index] as (typeof all)[number];
    const target = { request: "r/4", ...named };
    expect(target.message).toBe(entry.message.id);
    expect(parseTarget(formatTarget(target))).toEqual(target);
    expect(find(all, target)?.index).toBe(entry.index);
  }
  expect(find(all, { message: "e2" })?.place).toEqual({ message: 2, segment: 0 });
  expect(find(all, {})).toBeUndefined();
  expect(parseTarget("/r/%E0%A4%A/m")).toEqual({ request: "%E0%A4%A" });
});

test("segments whose ids are there twice, or empty, are named by their places", () => {
  const segment = (id?: string): Segment => ({ kind: "text", content: "", ...(id !== undefined && { meta: { id } }) }) as Segment;
  const message = (id: string, ...segments: Segment[]) => ({ id, role: "user" as const, timestamp: 1, segments });
  const all = entries({ version: "1.0", messages: [message("a", segment(), segment("x"), segment("x")), message("a", segment()), message("", segment(""), segment("y"))] });
  const targets = targetsOf(all);
  expect(targets.map(formatTarget)).toEqual(["/m/a/seg/0", "/m/a/seg/x", "/seg/%403", "/seg/%404", "/seg/%405", "/seg/%406"]);
  expect(targets.map((target) => find(all, parseTarget(formatTarget(target)))?.index)).toEqual([0, 1, 2, 3, 4, 5]);
});

test("requests over time show growth and compaction", () => {
  const library = collect("s", session().map((envelope, index) => ({ name: String(index), envelope })));
  expect(library.requests.map((request) => request.purpose)).toEqual(["turn", "turn", "turn", "turn", "compaction", "turn", "turn"]);
  expect(library.requests.map((_, index) => previousTurn(library.requests, index))).toEqual([undefined, 0, 1, 2, 3, 3, 5]);
  expect(library.requests.map((_, index) => compactedFrom(library.requests, index))).toEqual([undefined, undefined, undefined, undefined, undefined, 3, undefined]);
  const drawn = columns(library.requests, 1000, 40);
  expect(drawn.map((column) => column.funnel !== undefined)).toEqual([false, false, false, false, false, true, false]);
  expect(Math.max(...drawn.map((column) => column.height))).toBe(40);
  expect(columns([], 1000, 40)).toEqual([]);
});

test("an album gives back every envelope as it was", async () => {
  const envelopes = session();
  const library = collect("s", envelopes.map((envelope, index) => ({ name: String(index), envelope })));
  const album = await bind(library);
  expect(JSON.stringify(album).length).toBeLessThan(JSON.stringify(envelopes).length / 2);
  const opened = openText("album.json", JSON.stringify(album));
  expect(opened.ok).toBe(true);
  if (opened.ok) {
    expect(opened.library.requests).toEqual(library.requests);
    for (const [index, { id }] of opened.library.requests.entries()) {
      expect(await opened.library.envelope(id)).toEqual(envelopes[index]);
    }
    await expect(opened.library.envelope("none")).rejects.toThrow("there is no request none");
  }
});

test("a damaged album is told place by place, and requests of one name stay apart", async () => {
  const album = await bind(collect("s", session().map((envelope, index) => ({ name: String(index), envelope }))));
  const faults = (damage: object) => {
    const opened = openText("a", JSON.stringify({ ...album, ...damage }));
    return opened.ok ? [] : opened.problems.slice(0, 2).map((problem) => [problem.path, said(problem)]);
  };
  const [first] = album.requests;
  expect(faults({ requests: [null] })).toEqual([["requests[0]", "expected an object, found null"]]);
  expect(faults({ requests: [{ ...first, request: undefined }] })).toEqual([["requests[0].request", "required member is missing"]]);
  expect(faults({ requests: undefined })).toEqual([["requests", "required member is missing"]]);
  expect(faults({ segments: [] })[0]).toEqual(["messages[0].segments[0]", "expected a place among 0, found 0"]);
  expect(faults({ requests: [{ ...first, messages: [0, 1.5] }] })).toEqual([["requests[0].messages[1]", `expected a place among ${album.messages.length}, found 1.5`]]);
  const twice = openText("a", JSON.stringify({ ...album, requests: [first, first] }));
  expect(twice.ok && twice.library.requests.map(({ id }) => id)).toEqual(["r1", "r1'"]);
});

test("a page may bring files, an album, an envelope or nothing", () => {
  expect(openEmbedded("")).toBeUndefined();
  expect(openEmbedded("null")).toBeUndefined();
  const text = JSON.stringify(everyKind());
  const names = (found: ReturnType<typeof openEmbedded>) => found?.files.map(({ name, opened }) => [name, opened.ok]);
  expect(names(openEmbedded(JSON.stringify({ files: [{ name: "a", text }, { name: "b", text: "{" }, { name: 3 }] })))).toEqual([["a", true], ["b", false]]);
  expect(names(openEmbedded(text))).toEqual([["", true]]);
  const lines = openText("two.jsonl", `${text}\n${text}\n`);
  expect(lines.ok && lines.library.requests.map((request) => request.id)).toEqual(["r4", "r4'"]);
});

test("a file may begin with a mark, be UTF-16, or be a list of envelopes", () => {
  const text = JSON.stringify(everyKind());
  const utf16 = (document: string, isBig: boolean) => {
    const bytes = Buffer.from(`\ufeff${document}`, "utf16le");
    return isBig ? bytes.swap16() : bytes;
  };
  const ids = (bytes: Uint8Array | string) => {
    const opened = openBytes("a.json", typeof bytes === "string" ? new TextEncoder().encode(bytes) : new Uint8Array(bytes));
    return opened.ok ? opened.library.requests.map(({ id }) => id) : opened.problems.map(({ path, fault }) => `${path} ${fault.is === "unread" ? fault.why : fault.is}`);
  };
  expect(ids(`\ufeff${text}`)).toEqual(["r4"]);
  expect(ids(`\ufeff${text}\r\n${text}\r\n`)).toEqual(["r4", "r4'"]);
  expect(ids(utf16(text, false))).toEqual(["r4"]);
  expect(ids(utf16(text, true))).toEqual(["r4"]);
  expect(ids(`[${text}, ${text}]`)).toEqual(["r4", "r4'"]);
  expect(ids(`[${text}, {"version": "1.0"}]`)).toEqual(["[1].messages missing"]);
  expect(ids(new Uint8Array([0x22, 0xff, 0x22]))).toEqual([" encoding"]);
});

test("a saved page cannot be left by what is in it", () => {
  const shell = '<body><script type="application/json" id="pi-data">@PI-DATA@</script><script>run()</script>';
  const html = toHtml(shell, { content: "</script><script>alert(1)</script><!-- $& \u2028" });
  expect(html.match(/<script/g)?.length).toBe(2);
  const data = /id="pi-data">(.*)<\/script><script>/.exec(html)?.[1] ?? "";
  expect(JSON.parse(data)).toEqual({ content: "</script><script>alert(1)</script><!-- $& \u2028" });
  expect(() => toHtml("<body>", {})).toThrow();
  const markdown = toMarkdown(hostile());
  expect(markdown.replace(/^(`{3,})text\n[\s\S]*?\n\1$/gm, "")).not.toMatch(/(?<!\\)<script/);
});

test("a long list is drawn in pieces", () => {
  const shown = entries(long(10_000));
  const found = chunks(shown);
  expect(found.length).toBe(Math.ceil(10_000 / 24));
  expect(found.flatMap((chunk) => chunk.groups.flatMap((group) => group.entries)).length).toBe(10_000);
});

test("giant and deep documents are read", () => {
  const started = JSON.stringify(giant());
  expect(started.length).toBeGreaterThan(15_000_000);
  const read = readText(started);
  expect(read.ok || read.problems).toBe(true);
});

test("numbers are told as people read them", () => {
  expect([0, 999, 1000, 1234567].map(grouped)).toEqual(["0", "999", "1,000", "1,234,567"]);
  expect([-1200, 0, 5].map(signed)).toEqual(["−1,200", "0", "+5"]);
  expect([0, 812, 8400, 9_960, 84_210, 999_499, 1_200_000].map(short)).toEqual(["0", "812", "8.4k", "10k", "84k", "999k", "1.2M"]);
  expect([0, 0.0004, 0.054, 0.5, 1].map(percent)).toEqual(["0.0%", "<0.1%", "5.4%", "50%", "100%"]);
  expect([0, 999, 1000, 1536, 9999, 999_499, 999_500, 5_000_000, 4e12].map(bytes)).toEqual(["0 B", "999 B", "1.0 kB", "1.5 kB", "10 kB", "999 kB", "1.0 MB", "5.0 MB", "4.0 TB"]);
  expect([0, -1, 1, 640, 2 ** 53, 1e300, Number.NaN, Number.POSITIVE_INFINITY].map(isCount)).toEqual([false, false, true, true, false, false, false, false]);
  expect([0, -1, 1.5, 8.64e15, 8.65e15, Number.NaN].map((at) => moment(at)?.getTime())).toEqual([undefined, undefined, 1, 8.64e15, undefined, undefined]);
  expect([0.00001, 0.00123, 0.5, 12.345].map(dollars)).toEqual(["<$0.0001", "$0.0012", "$0.50", "$12.35"]);
});
