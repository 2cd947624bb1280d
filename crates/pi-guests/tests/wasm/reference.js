// What reference.wat does, in the words of the other tier.
export default function (pi) {
  const say = (text) => ({ content: [{ type: "text", text: String(text) }], details: undefined });
  const tool = (name, body) =>
    pi.registerTool({
      name, description: "d", parameters: { type: "object" },
      async execute(id, params, signal, onUpdate, ctx) {
        try {
          return say(await body(params, onUpdate, ctx));
        } catch (fault) {
          if (fault.name !== "HostFault") throw fault;
          return say(fault.message);
        }
      },
    });
  let count = 0;
  tool("answer", (params) => JSON.stringify(params));
  tool("count", () => ++count);
  tool("read", async () => pi.fs.read("note.txt"));
  tool("write", async () => (await pi.fs.write("made.txt", "made"), "done"));
  tool("execute", async () => {
    const { stdout, stderr, code } = await pi.exec("sh", ["-c", "echo hi"]);
    return code === 0 ? stdout : stderr;
  });
  tool("use", async () => (await pi.tool("read", { path: "note.txt" })).content[0].text);
  tool("own", async () => (await pi.tool("count", {})).content[0].text);
  tool("fail", () => {
    throw new Error("sad: not today");
  });
  tool("note", (params, onUpdate) => (onUpdate({ content: [{ type: "text", text: "half" }] }), "done"));
  pi.registerCommand("greet", { description: "Says hello", handler: async (args, ctx) => ctx.ui.notify("hello", "info") });
  pi.on("tool_call", (event) => (event.toolName.startsWith("d") ? { block: true, reason: "no tools with d" } : undefined));
}
