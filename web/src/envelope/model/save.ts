/** What is shown, as a file. */

import { grouped } from "./amount";
import { total } from "./count";
import type { Envelope, Segment } from "./format";
import { originText, ours } from "./ours";

/** An envelope as it is. */
export function toJson(envelope: Envelope): string {
  return `${JSON.stringify(envelope, null, 2)}\n`;
}

/** Several as a list, one on each line: a file of it is read like one of one envelope. */
export function toJsonList(envelopes: readonly Envelope[]): string {
  return `[\n${envelopes.map((envelope) => JSON.stringify(envelope)).join(",\n")}\n]\n`;
}

/** What the model saw, for people: a heading for each message, each segment in a fence that its text cannot close. */
export function toMarkdown(envelope: Envelope): string {
  const parts = [`# ${line(envelope.model ?? "prompt")}`];
  for (const message of envelope.messages) {
    const sum = total(message.segments);
    parts.push(`## ${message.role} · ${line(message.id)} · ${grouped(sum.count)} tokens, ${sum.how}`);
    for (const segment of message.segments) {
      const { origin, trust } = ours(segment);
      const about = [segment.kind, originText(origin), trust, `${grouped(total([segment]).count)} tokens`];
      parts.push(`**${line(about.filter((it) => it !== undefined).join(" · "))}**`, fenced(body(segment)));
    }
  }
  return `${parts.join("\n\n")}\n`;
}

function body(segment: Segment): string {
  switch (segment.kind) {
    case "text":
    case "system_prompt":
    case "long_text":
      return segment.content;
    case "static_var":
      return `${segment.name} = ${segment.value}`;
    case "memory":
      return segment.items.map((item) => `${item.title}\n\n${item.content}`).join("\n\n");
    case "skills":
      return segment.items.map((item) => `${item.name}: ${item.description}`).join("\n");
    case "tool_overview":
      return segment.items.map((item) => `${item.name}(${item.parameters}): ${item.description}`).join("\n");
    case "tool_call_request":
      return `${segment.toolName} ${JSON.stringify(segment.arguments, null, 2)}`;
    case "tool_call_result":
      return `${segment.toolName}: ${segment.success ? "ok" : "failed"}\n\n${segment.result}`;
    case "document":
      return `${segment.fileName} (${segment.mimeType})\n\n${segment.parsedContent ?? segment.snippet}`;
    case "media":
      return `${segment.altText ?? segment.mediaType}: ${segment.url.slice(0, 200)}`;
  }
}

/** On one line, and without what Markdown or a browser would read as more than words. */
function line(text: string): string {
  return text.replace(/\s+/g, " ").replace(/[\\`*_<>[\]#|]/g, "\\$&");
}

function fenced(text: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((run) => run.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}text\n${text}\n${fence}`;
}

/**
 * A page with everything in it: the shell of the viewer with data in its place. In JSON `<` can be written in another way, so nothing
 * in the data can end the element that it stands in.
 */
export function toHtml(shell: string, data: unknown): string {
  const text = JSON.stringify(data).replaceAll("<", "\\u003c").replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
  const place = /(<script type="application\/json" id="pi-data">)[^<]*(<\/script>)/;
  if (!place.test(shell)) {
    throw new Error("the shell of the viewer has no place for data");
  }
  return shell.replace(place, (_, before: string, after: string) => before + text + after);
}
