import { shim } from "pi:shims";

// What reference.wat does, in the words of the other tier.
const { spawn } = shim("pi:shim/node/child_process");

export default function (pi) {
  const say = (said) =>
    ({ content: Array.isArray(said) ? said : [{ type: "text", text: String(said) }], details: undefined });
  const tool = (name, body) =>
    pi.registerTool({
      name, description: "d", parameters: { type: "object" },
      execute: async (id, params, signal, onUpdate) => say(await body(params, signal, onUpdate)),
    });
  const printed = (command, args) => new Promise((done, failed) => {
    const [child, pieces] = [spawn(command, args), []];
    child.stdin.end();
    child.stdout.on("data", (piece) => pieces.push(piece));
    child.on("error", (fault) => failed(fault.cause ?? fault));
    child.on("close", () => done(pieces.join("")));
  });
  let count = 0;
  tool("answer", (params) => JSON.stringify(params));
  tool("count", () => ++count);
  tool("read", async () => pi.fs.read("note.txt"));
  tool("write", async () => (await pi.fs.write("made.txt", "made"), "done"));
  tool("execute", async () => {
    const { stdout, stderr, code } = await pi.exec("sh", ["-c", "echo hi"]);
    if (code !== 0) throw new Error(stderr);
    return stdout;
  });
  tool("use", async () => (await pi.tool("read", { path: "note.txt" })).content[0].text);
  tool("own", async () => (await pi.tool("count", {})).content[0].text);
  tool("inquire", async (params) => (await pi.tool("mcp__srv__inquire", params)).content[0].text);
  tool("stream", () => printed("sh", ["-c", "echo hi"]));
  tool("meet", () => printed("python3", ["SERVER"]));
  tool("vigil", async (params, signal) => (await pi.exec("sh", ["-c", "touch begun; exec sleep 30"], { signal })).stdout);
  tool("loop", () => {
    for (;;);
  });
  const deep = (n) => n + deep(n + 1);
  tool("deep", () => deep(0));
  tool("hail", async () => {
    for (let n = 0; n < 2000; n++) await pi.fs.stat("note.txt");
    return "done";
  });
  tool("bomb", () => {
    for (const all = []; ; ) all.push(new Array(100_000).fill(7));
  });
  tool("zillion", ({ parts }) => {
    const block = (text) => ({ type: "text", text });
    return parts ? Array(1200).fill(block("x")) : "a".repeat(1 << 19);
  });
  const offer = (name, description, parameters) =>
    pi.registerTool({ name, description, parameters, execute: async () => say("") });
  offer("lie", "d", { properties: [], type: "object" });
  offer("mask", "d\u{e0041}", { properties: { a: { description: "a\u202e\u200bb", type: "string" } }, type: "object" });
  tool("giant", () => "a".repeat(32 << 20));
  tool("fail", () => {
    throw new Error("sad: not today");
  });
  tool("note", (params, signal, onUpdate) => (onUpdate({ content: [{ type: "text", text: "half" }] }), "done"));
  pi.registerCommand("greet", { description: "Says hello", handler: async (args, ctx) => ctx.ui.notify("hello", "info") });
  pi.registerCommand("echo", { handler: async (args, ctx) => ctx.ui.notify(JSON.stringify({ text: args }), "info") });
  pi.registerCommand("report", { handler: async (args, ctx) => ctx.ui.notify('all "well"', "info") });
  pi.registerCommand("worry", {
    handler: async () => {
      throw new Error('it went "wrong"');
    },
  });
  pi.on("tool_call", (event) => (event.toolName.startsWith("d") ? { block: true, reason: "no tools with d" } : undefined));
}
