import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";

/** What the tool answers, and `/hello` says. */
export function greeting(name: string): string {
  return `Hello, ${name.trim() || "world"}!`;
}

export default function (pi: ExtensionAPI) {
  pi.registerTool({
    name: "hello",
    label: "Hello",
    description: "Greets somebody by name",
    parameters: {
      type: "object",
      properties: { name: { type: "string", description: "Who is greeted" } },
      required: ["name"],
    },
    execute: async (_id: string, input: { name: string }) => ({
      content: [{ type: "text", text: greeting(input.name) }],
      details: {},
    }),
  } as any);

  pi.registerCommand("hello", {
    description: "Greet somebody",
    handler: async (args, ctx) => ctx.ui.notify(greeting(args), "info"),
  });
}
