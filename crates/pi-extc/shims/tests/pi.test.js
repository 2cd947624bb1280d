import { reference, shim } from "./setup.js";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { same } from "./differ.js";

const tui = await shim("pi/tui");
const ai = await shim("pi/ai");
const agent = await shim("pi/coding-agent");
const { answers } = await import("./host.js");
const [theirTui, theirAi, theirAgent] = [await reference("@mariozechner/pi-tui"), await reference("@mariozechner/pi-ai"), await reference("@mariozechner/pi-coding-agent")];
const skip = theirTui ? false : "the real packages are not installed in PI_SHIMS_REFERENCE";

const TEXTS = ["", "hello world", "\x1b[31mred\x1b[0m plain", "日本語テキスト", "a\tb", "😀 emoji", "one two three four five six seven", "\x1b[1mbold text that goes on and on\x1b[22m end", "superlongwordwithoutanyspaces", "é combined", "line\nbreak and more words here", "  indented text", "trailing   ", "\x1b]8;;http://x\x07link\x1b]8;;\x07"];
const KEYS = ["a", "A", "1", " ", "\r", "\n", "\t", "\x1b", "\x7f", "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D", "\x1bOA", "\x1b[H", "\x1b[F", "\x1b[3~", "\x1b[5~", "\x1b[6~", "\x1b[Z", "\x01", "\x03", "\x04", "\x0f", "\x1a", "\x1ba", "\x1b[1;5C", "\x1b[1;2A", "\x1b[1;3D", "\x1b[97;5u", "\x1b[97;6u", "\x1b[13;2u", "\x1b[27u", "\x1b[97;5:3u", "\x1bOP", "\x1b[15~", "\x1b[3;5~", "/", "?", "!", "\x1b\r", "\x1b\x7f", "é", "\x1b[200~paste\x1b[201~", "\x1b[127;5u", "\x1b[9;2u", "\x1b[32;5u"];
const NAMES = ["a", "shift+a", "1", "space", "enter", "return", "tab", "escape", "esc", "backspace", "up", "down", "left", "right", "home", "end", "delete", "pageUp", "pageDown", "shift+tab", "ctrl+a", "ctrl+c", "ctrl+d", "ctrl+o", "ctrl+z", "alt+a", "ctrl+right", "shift+up", "alt+left", "ctrl+shift+a", "shift+ctrl+a", "shift+enter", "f1", "f5", "ctrl+delete", "/", "?", "!", "alt+enter", "alt+backspace", "ctrl+backspace", "ctrl+space", "ctrl+i", "ctrl+m"];

if (skip) test("packages of Pi", { skip }, () => {});
else {
  same("visibleWidth", tui, theirTui, TEXTS.map((text) => [text]), ({ visibleWidth }, text) => visibleWidth(text));
  same("matchesKey", tui, theirTui, KEYS.flatMap((data) => NAMES.map((name) => [data, name])), ({ matchesKey }, data, name) => matchesKey(data, name));
  same("parseKey", tui, theirTui, KEYS.map((data) => [data]), ({ parseKey }, data) => parseKey(data));
  same("isKeyRelease", tui, theirTui, KEYS.map((data) => [data]), ({ isKeyRelease, isKeyRepeat }, data) => [isKeyRelease(data), isKeyRepeat(data)]);
  same("Key", tui, theirTui, [["c"]], ({ Key }, key) => Object.fromEntries(Object.entries(Key).map(([name, value]) => [name, typeof value === "function" ? value(key) : value])));
  same("keybindings", tui, theirTui, Object.keys(theirTui.TUI_KEYBINDINGS).map((name) => [name]), ({ getKeybindings, TUI_KEYBINDINGS }, name) => [getKeybindings().getKeys(name), TUI_KEYBINDINGS[name]]);
  // Where styles begin again is a matter of taste; what is read on each line is not.
  const bare = (lines) => lines.map((line) => line.replace(/\x1b(?:\[[0-9;]*m|\][^\x07]*\x07)/g, "").trimEnd());
  same("wrapped lines read alike", tui, theirTui, TEXTS.flatMap((text) => [5, 10, 20, 40].map((width) => [text, width])).filter(([text]) => !text.includes("\t")), ({ wrapTextWithAnsi }, text, width) => bare(wrapTextWithAnsi(text, width)));
  same("cut lines read alike", tui, theirTui, TEXTS.flatMap((text) => [1, 3, 5, 10, 40].map((width) => [text.split("\n")[0], width])).filter(([text]) => !text.includes("\t")), ({ truncateToWidth, visibleWidth }, text, width) => [bare([truncateToWidth(text, width)]), bare([truncateToWidth(text, width, "…")]), visibleWidth(truncateToWidth(text, width, "", true))]);
  same("Text, Box, Spacer and lists are as high", tui, theirTui, [["hello"], ["a much longer text that needs more than one line to be shown"], [""], ["x\ny"]], ({ Box, Container, Spacer, Text, TruncatedText }, text) => {
    const box = new Box(2, 1, (line) => line);
    box.addChild(new Text(text, 1, 0));
    const all = new Container();
    for (const part of [new Text(text), new Spacer(2), box, new TruncatedText(text, 1)]) all.addChild(part);
    return bare(all.render(30));
  });
  const theme = { selectedPrefix: (own) => own, selectedText: (own) => own, description: (own) => own, scrollInfo: (own) => own, noMatch: (own) => own };
  same("SelectList", tui, theirTui, [[["\x1b[B", "\x1b[B"]], [["\x1b[A"]], [["\x1b[B", "\r"]], [["\x1b"]]], ({ SelectList }, keys) => {
    const list = new SelectList(Array.from({ length: 8 }, (_, at) => ({ value: `v${at}`, label: `Label ${at}`, description: at % 2 ? `about ${at}` : undefined })), 4, theme);
    const heard = [];
    list.onSelect = ({ value }) => heard.push(value);
    list.onCancel = () => heard.push("cancel");
    for (const key of keys) list.handleInput(key);
    return [bare(list.render(60)), heard, list.getSelectedItem().value];
  });
  same("Input", tui, theirTui, [[[..."hello"]], [[..."ab", "\x7f", "c", "\x01", "x"]], [[..."one two", "\x17"]], [[..."abc", "\x1b[D", "\x0b"]], [["\x1b[200~pasted\x1b[201~"]]], ({ Input }, keys) => {
    const input = new Input();
    for (const key of keys) input.handleInput(key);
    return [input.getValue(), bare(input.render(20).map((line) => line.replace(/\x1b_pi:c\x07/g, "")))];
  });
  same("fuzzyFilter", tui, theirTui, [["ab"], ["ts"], ["src main"], ["zzz"], [""]], ({ fuzzyFilter }, query) => fuzzyFilter(["src/main.ts", "about.md", "absolute/path.ts", "README", "tests/a.b"], query, (item) => item));
  same("StringEnum", ai, theirAi, [[["a", "b"]], [["a"], { description: "d", default: "a", title: "t" }]], ({ StringEnum }, ...args) => JSON.stringify(StringEnum(...args)));
  same("calculateCost", ai, theirAi, [[{ input: 1000, output: 500, cacheRead: 10, cacheWrite: 5 }]], ({ calculateCost }, usage) => calculateCost({ cost: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 } }, { ...usage, cost: {} }));
  same("parseStreamingJson", ai, theirAi, [['{"a": "b'], ['{"a": [1, {"b": tr'], [""], ['{"a":1,'], ['{"a":"x\\'], ["{"], ['{"a":1}'], ['{"k']], ({ parseStreamingJson }, text) => parseStreamingJson(text));
  same("validateToolArguments", ai, theirAi, [[{ n: "3", s: 4, l: "x", f: "true" }], [{ n: 1 }], [{ n: "x", s: "a", l: [], f: false }], [{ n: 1, s: "a", l: ["y"], f: 1, extra: 2 }]], ({ Type: T, validateToolArguments }, args) => validateToolArguments({ name: "t", parameters: T.Object({ n: T.Number(), s: T.String(), l: T.Array(T.String()), f: T.Boolean() }) }, { id: "1", name: "t", arguments: args }));
  same("isContextOverflow", ai, theirAi, ["prompt is too long: 210000 tokens", "rate limit", "maximum context length is 128000 tokens", "boom", "context_length_exceeded", "413 (no body)"].map((text) => [text]), ({ isContextOverflow }, errorMessage) => isContextOverflow({ stopReason: "error", errorMessage }));
  same("thinking levels", ai, theirAi, [[{ reasoning: false }, "high"], [{ reasoning: true }, "xhigh"], [{ reasoning: true, thinkingLevelMap: { xhigh: "max", minimal: null } }, "minimal"]], (own, model, level) => [own.getSupportedThinkingLevels(model), own.clampThinkingLevel(model, level)]);
  const long = Array.from({ length: 50 }, (_, at) => `line ${at} ${"ä".repeat(at)}`).join("\n");
  same("truncation", agent, theirAgent, [[long, { maxLines: 5 }], [long, { maxBytes: 200 }], [long, {}], ["x".repeat(100), { maxBytes: 10 }], ["", {}], ["€€€€", { maxBytes: 7 }]], (own, text, options) => [own.truncateHead(text, options), own.truncateTail(text, options), own.truncateLine(text, 20)]);
  same("formatSize", agent, theirAgent, [[0], [1023], [1024], [1536], [1048576], [5e7]], ({ formatSize }, bytes) => formatSize(bytes));
  same("frontmatter", agent, theirAgent, ["---\nname: x\ndescription: \"a: b\"\nlist: [a, 'b', 3]\nn: 3\nyes: true\nempty:\n---\nbody\n", "no frontmatter", "---\nlist:\n  - a\n  - b: 1\n    c: 2\nnested:\n  deep:\n    x: 1\n---\n\ntext", "---\ntext: |\n  one\n  two\nfolded: >\n  a\n  b\nplain: goes\n  on here\n---\nx", "---\nunclosed", "---\r\na: 1 # note\r\nurl: http://x/y#z\r\n---\r\nrest", "---\n---\nnothing"].map((text) => [text]), (own, text) => [own.parseFrontmatter(text), own.stripFrontmatter(text)]);
  const messages = [{ role: "user", content: "a", timestamp: 1 }, { role: "assistant", content: [{ type: "text", text: "t" }, { type: "thinking", thinking: "h" }, { type: "toolCall", id: "1", name: "read", arguments: { path: "x", n: 1 } }], timestamp: 2 }, { role: "toolResult", toolCallId: "1", toolName: "read", content: [{ type: "text", text: "r".repeat(2010) }], isError: false, timestamp: 3 }];
  same("serializeConversation", agent, theirAgent, [[messages]], ({ serializeConversation }, list) => serializeConversation(list));
  same("sizes and cuts", agent, theirAgent, [[messages]], (own, list) => [list.map((message) => own.estimateTokens(message)), own.findCutPoint(list.map((message, at) => ({ type: "message", id: String(at), message })), 0, 3, 100), own.shouldCompact(190000, 200000, own.DEFAULT_COMPACTION_SETTINGS)]);
  const entries = [{ type: "session", id: "s", version: 3 }, { type: "message", id: "1", parentId: null, timestamp: "2026-01-01T00:00:00Z", message: messages[0] }, { type: "message", id: "2", parentId: "1", timestamp: "2026-01-01T00:00:01Z", message: { ...messages[1], provider: "p", model: "m" } }, { type: "compaction", id: "3", parentId: "2", timestamp: "2026-01-01T00:00:02Z", summary: "S", firstKeptEntryId: "2", tokensBefore: 9 }, { type: "custom_message", id: "4", parentId: "3", timestamp: "2026-01-01T00:00:03Z", customType: "c", content: "x", display: true }];
  same("buildSessionContext", agent, theirAgent, [[undefined], ["2"], ["4"], [null]], ({ buildSessionContext }, leaf) => buildSessionContext(entries.slice(1), leaf));
  same("small things", agent, theirAgent, [["a.rs"], ["x.tsx"], ["Makefile"], ["q.unknown"]], (own, path) => [own.getLanguageFromPath(path), own.CURRENT_SESSION_VERSION, own.DEFAULT_MAX_LINES, own.DEFAULT_MAX_BYTES, own.isToolCallEventType("bash", { toolName: "bash" }), own.parseSkillBlock('<skill name="a" location="b">\nhi\n</skill>\n\nuser')]);
}

const TOOLS = ["Bash", "Read", "Write", "Edit", "Grep", "Find", "Ls"];
if (!skip) same("schemas of tools differ from Pi's in words only", agent, theirAgent, TOOLS.map((name) => [name]), (own, name) => JSON.stringify(own[`create${name}Tool`]("/").parameters, (key, value) => (key === "description" && typeof value === "string" ? "…" : value)));
test("tools say of themselves what pi-tools says", () => {
  const wider = (key, value) => (["minimum", "minItems", "additionalProperties"].includes(key) ? undefined : value === "integer" ? "number" : value);
  for (const name of TOOLS) {
    const { execute, renderCall, renderResult, ...ours } = agent[`create${name}ToolDefinition`](process.cwd());
    const theirs = readFileSync(new URL(`../../../pi-tools/definitions/${name.toLowerCase()}.json`, import.meta.url), "utf8");
    assert.deepEqual(JSON.parse(JSON.stringify(ours, wider)), JSON.parse(theirs, wider));
  }
});
test("a tool asks the host, and its failure is an exception", async () => {
  answers.tool = ({ name, input }) => ({ content: [{ type: "text", text: `${name} ${JSON.stringify(input)}` }], is_error: input.command === "false" });
  const bash = agent.createBashTool(process.cwd());
  assert.equal((await bash.execute("1", { command: "ls" })).content[0].text, 'bash {"command":"ls"}');
  await assert.rejects(bash.execute("1", { command: "false" }), /bash/);
});
test("the newer package declares edit and tells of write in its own way", async () => {
  const newer = await shim("pi/coding-agent/newer");
  const closed = (tools) => JSON.stringify(tools.createEditTool("/x").parameters).includes("additionalProperties");
  assert.deepEqual([closed(agent), closed(newer)], [true, false]);
  const operations = { mkdir: async () => {}, writeFile: async () => {} };
  const told = async (tools, make) => (await tools[make]("/x", { operations }).execute("1", { path: "/x/a", content: "abc" })).content[0].text;
  assert.equal(await told(agent, "createWriteTool"), "Successfully wrote 3 bytes to /x/a");
  for (const make of ["createWriteTool", "createWriteToolDefinition"]) assert.equal(await told(newer, make), "Successfully wrote to /x/a");
  assert.equal(newer.createReadTool, agent.createReadTool);
  assert.equal(newer.createCodingTools("/x").length, 4);
});
test("a tool over operations of the extension does not ask the host", async () => {
  answers.tool = () => assert.fail("the host was asked");
  const bash = agent.createBashTool("/far", { operations: { exec: async (command, cwd, { onData }) => { onData(Buffer.from(`${cwd}$ ${command}`)); return { exitCode: 0 }; } } });
  assert.equal((await bash.execute("1", { command: "pwd" })).content[0].text, "/far$ pwd");
  const files = new Map([["/far/a", "one\ntwo\n"]]);
  const operations = { readFile: async (path) => Buffer.from(files.get(path)), writeFile: async (path, text) => files.set(path, text), access: async () => {}, mkdir: async () => {} };
  assert.equal((await agent.createReadTool("/far", { operations }).execute("1", { path: "a" })).content[0].text, "one\ntwo\n");
  await agent.createEditTool("/far", { operations }).execute("1", { path: "a", edits: [{ oldText: "two", newText: "2" }] });
  assert.equal(files.get("/far/a"), "one\n2\n");
});
test("complete asks the session and streams what it answered", async () => {
  const message = { role: "assistant", content: [{ type: "text", text: "hi" }], stopReason: "stop" };
  answers.session = (params) => (assert.deepEqual(params, { op: "complete", model: { provider: "p", model: "m" }, system_prompt: "S", messages: [{ role: "user", content: "q" }] }), { message });
  const model = { provider: "p", id: "m", api: "x" };
  assert.deepEqual(await ai.complete(model, { systemPrompt: "S", messages: [{ role: "user", content: "q" }] }), message);
  const seen = [];
  for await (const event of ai.streamSimple(model, { systemPrompt: "S", messages: [{ role: "user", content: "q" }] })) seen.push(event.type);
  assert.deepEqual(seen, ["start", "text_start", "text_delta", "text_end", "done"]);
  answers.session = () => { throw Object.assign(new Error("no key"), { name: "HostFault", code: "denied" }); };
  assert.deepEqual(ai.getModels("p"), []);
  const failed = await ai.complete(model, { messages: [] });
  assert.deepEqual([failed.stopReason, failed.errorMessage], ["error", "no key"]);
});
test("an answer of the session is streamed as it comes", async () => {
  const message = { role: "assistant", content: [{ type: "text", text: "hi" }, { type: "toolCall", id: "1", name: "t", arguments: { a: 1 } }], stopReason: "toolUse" };
  const steps = [
    { type: "start" }, { type: "text_start", contentIndex: 0 }, { type: "text_delta", contentIndex: 0, delta: "h" }, { type: "text_delta", contentIndex: 0, delta: "i" }, { type: "text_end", contentIndex: 0, content: "hi" },
    { type: "toolcall_start", contentIndex: 1, id: "1", toolName: "t" }, { type: "toolcall_delta", contentIndex: 1, delta: '{"a":' }, { type: "toolcall_end", contentIndex: 1, toolCall: message.content[1] }, { type: "done", reason: "toolUse" },
  ];
  answers.session = () => ({ steps, message });
  const events = ai.stream({ provider: "p", id: "m", api: "x" }, { messages: [] });
  const seen = [];
  for await (const { type, partial } of events) seen.push(partial ? [type, partial.content.map(({ text, arguments: own }) => text ?? own)] : [type]);
  assert.deepEqual(seen, [
    ["start", []], ["text_start", [""]], ["text_delta", ["h"]], ["text_delta", ["hi"]], ["text_end", ["hi"]], ["toolcall_start", ["hi", {}]], ["toolcall_delta", ["hi", {}]], ["toolcall_end", ["hi", { a: 1 }]], ["done"],
  ]);
  assert.deepEqual(await events.result(), message);
});
test("models are those of the host, with what it knows of them", () => {
  const models = [{ provider: "p", model: "m", is_usable: true, info: { name: "M", contextWindow: 5, reasoning: true } }, { provider: "q", model: "n", is_usable: false, info: {} }];
  answers.session = () => ({ models });
  assert.deepEqual(ai.getProviders(), ["p", "q"]);
  assert.deepEqual(ai.getModels("q").map(({ id }) => id), ["n"]);
  const { id, name, provider, contextWindow, maxTokens, reasoning } = ai.getModel("p", "m");
  assert.deepEqual({ id, name, provider, contextWindow, maxTokens, reasoning }, { id: "m", name: "M", provider: "p", contextWindow: 5, maxTokens: 16384, reasoning: true });
  assert.equal(ai.getModel("q", "other").id, "other");
  assert.equal(ai.getModel("r", "other"), undefined);
});
test("tools and thinking go along with a model call", async () => {
  let asked;
  answers.session = (params) => { asked = params; return { message: { role: "assistant", content: [], stopReason: "stop" } }; };
  await ai.completeSimple(undefined, { messages: [], tools: [{ name: "t", description: "d", parameters: ai.Type.Object({}), execute() {} }] }, { reasoning: "low", maxTokens: 9.5 });
  assert.deepEqual(asked, { op: "complete", messages: [], max_tokens: 9, tools: [{ name: "t", description: "d", parameters: { type: "object", properties: {} } }], thinking_level: "low" });
});
test("Markdown gives lines that fit", () => {
  const theme = agent.getMarkdownTheme();
  const lines = new tui.Markdown("# Head\n\nSome **bold** and `code` and [link](http://x).\n\n- one\n- two\n\n> quote\n\n```js\nlet a = 1;\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |", 1, 0, theme).render(60);
  const text = lines.join("\n").replace(/\x1b\[[0-9;]*m/g, "");
  for (const part of ["Head", "Some bold and code and link (http://x).", "- one", "│ quote", "let a = 1;", "│ a │ b │"]) assert.ok(text.includes(part), `${part}\n${text}`);
  assert.ok(lines.every((line) => tui.visibleWidth(line) <= 60));
});
test("Editor takes keys, wraps and submits", () => {
  const editor = new tui.Editor({ requestRender() {}, terminal: { rows: 24 } }, { borderColor: (text) => text, selectList: agent.getSelectListTheme() });
  let sent;
  editor.onSubmit = (text) => { sent = text; };
  for (const key of [..."hello world", "\x17", ..."pi", "\x1b\r", ..."second", "\x1b[A"]) editor.handleInput(key);
  assert.deepEqual([editor.getText(), editor.getCursor()], ["hello pi\nsecond", { line: 0, col: 6 }]);
  assert.equal(editor.render(20).length, 4);
  editor.handleInput("\r");
  assert.deepEqual([sent, editor.getText()], ["hello pi\nsecond", ""]);
});
