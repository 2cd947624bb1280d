// Brings a provider: where it is, how it is spoken with, and a key, which is all that a provider usually says.
import { writeFileSync } from "node:fs";
import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";
import { complete, streamSimple } from "@mariozechner/pi-ai";

const address = "$URL/v1";

export default function (pi: ExtensionAPI) {
  const cost = { input: 1, output: 2, cacheRead: 0, cacheWrite: 0 };
  pi.registerProvider("brings", {
    baseUrl: address, apiKey: "BRINGS_KEY", api: "openai-completions", headers: { "x-brought": "by an extension" },
    models: [{ id: "m", name: "M", reasoning: false, input: ["text"], cost, contextWindow: 32000, maxTokens: 1000 }],
  });
  pi.registerCommand("aside", {
    description: "Asks the brought model and that of the session",
    async handler(args, ctx) {
      const context = { messages: [{ role: "user" as const, content: args, timestamp: 0 }] };
      const text = ({ content }) => content.map((block) => block.text).join("");
      const own = await complete(ctx.modelRegistry.find("brings", "m"), context);
      const steps: string[] = [];
      const stream = streamSimple(ctx.modelRegistry.find("scripted", "model"), context);
      for await (const event of stream) steps.push(event.type === "text_delta" ? event.delta : event.type);
      writeFileSync("asked.json", JSON.stringify({ own: text(own), steps, whole: text(await stream.result()) }));
    },
  });
}
