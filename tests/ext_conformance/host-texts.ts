// Registers the tools that the host itself brings. What stands in their descriptions is the host's own wording: an extension
// that passes it on is compared by the name of the text, not by its letters.

import * as pi from "@mariozechner/pi-coding-agent";

export default function (api: { registerTool(tool: unknown): void }) {
  const factories = ["createReadTool", "createBashTool", "createEditTool", "createWriteTool", "createGrepTool", "createFindTool", "createLsTool"];
  for (const name of factories) api.registerTool((pi as Record<string, (cwd: string) => unknown>)[name](process.cwd()));
}
