import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";

/** What `/hello` says. */
export function greeting(name: string): string {
  return `Hello, ${name.trim() || "world"}!`;
}

export default function (pi: ExtensionAPI) {
  pi.registerCommand("hello", {
    description: "Greet somebody",
    handler: async (args, ctx) => ctx.ui.notify(greeting(args), "info"),
  });
}
