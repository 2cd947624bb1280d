// One extension that uses what a front door has to carry: tools, hooks, commands, questions, announcements and a
// component that it draws. What it was answered comes back in the results of its tools.
import { Type } from "@sinclair/typebox";

const said = (value: unknown) => ({ content: [{ type: "text", text: JSON.stringify(value) }], details: {} });

export default function (pi: any) {
  pi.registerTool({
    name: "greet", label: "Greet", description: "Says hello to somebody",
    parameters: Type.Object({ name: Type.String() }),
    execute: async (id: string, { name }: { name: string }) => said(`Hello, ${name}`),
  });
  pi.registerTool({
    name: "ask", label: "Ask", description: "Asks every kind of question",
    parameters: Type.Object({}),
    async execute(id: string, params: unknown, signal: AbortSignal, onUpdate: unknown, ctx: any) {
      return said([
        await ctx.ui.select("Which?", ["red", "blue"]),
        await ctx.ui.confirm("Sure?", "It costs."),
        await ctx.ui.input("Name?", "somebody"),
        await ctx.ui.editor("Text?", "a\nb"),
        (await ctx.ui.input("Late?", "", { timeout: 40 })) ?? "nothing",
        await ctx.ui.confirm("Late?", "", { timeout: 40 }),
      ]);
    },
  });
  pi.registerTool({
    name: "pick", label: "Pick", description: "Draws a list and waits for a key",
    parameters: Type.Object({}),
    async execute(id: string, params: unknown, signal: AbortSignal, onUpdate: unknown, ctx: any) {
      const picked = await ctx.ui.custom((tui: any, theme: any, keys: any, done: (value: unknown) => void) => {
        let row = 0;
        return {
          render: (width: number) => ["one", "two"].map((text, index) => (index === row ? theme.bold(`> ${text}`) : `  ${text}`)),
          handleInput(data: string) {
            if (keys.matches(data, "tui.select.down")) row = 1;
            if (keys.matches(data, "tui.select.confirm")) done({ row });
            tui.requestRender();
          },
          invalidate() {},
        };
      });
      return said(picked ?? "nothing");
    },
  });
  pi.registerTool({
    name: "show", label: "Show", description: "Shows something everywhere",
    parameters: Type.Object({}),
    async execute(id: string, params: unknown, signal: AbortSignal, onUpdate: unknown, ctx: any) {
      ctx.ui.notify("noted", "warning");
      ctx.ui.setStatus("concierge", "at work");
      ctx.ui.setWidget("concierge", ["first line", "second line"], { placement: "belowEditor" });
      return said(ctx.hasUI);
    },
  });
  pi.registerCommand("hello", {
    description: "Greets with a notice",
    handler: async (args: string, ctx: any) => {
      ctx.ui.notify(`Hello ${args}`);
      pi.appendEntry("greeted", { args });
    },
  });
  pi.registerCommand("choose", {
    description: "Asks which",
    handler: async (args: string, ctx: any) => ctx.ui.notify(`chosen: ${await ctx.ui.select("Which?", ["red", "blue"])}`),
  });
  pi.on("session_start", async (event: unknown, ctx: any) => ctx.ui.setStatus("concierge", "ready"));
  pi.on("before_agent_start", async (event: any) => ({ systemPrompt: `${event.systemPrompt}\nThe concierge is in.` }));
  pi.on("input", async (event: any) => (event.text === "wink" ? { action: "transform", text: "The guest winks." } : { action: "continue" }));
  pi.on("tool_call", async (event: any) => (event.toolName === "bash" ? { block: true, reason: "no shell today" } : undefined));
  pi.on("tool_result", async (event: any) => (event.toolName === "greet" ? { content: [{ type: "text", text: `${event.content[0].text}!` }] } : undefined));
}
