/** The texts of a segment, and what was sent for it. */

import type { Segment } from "./format";
import { ours } from "./ours";

/** What the model reads of a segment, in order, without the markup around it. */
export function texts(segment: Segment): string[] {
  switch (segment.kind) {
    case "text":
    case "system_prompt":
    case "long_text":
      return [segment.content];
    case "static_var":
      return [segment.value];
    case "memory":
      return segment.items.flatMap((item) => [item.title, item.content]);
    case "skills":
      return segment.items.flatMap((item) => [item.name, item.description]);
    case "tool_overview":
      return segment.items.flatMap((item) => [
        item.name,
        item.description,
        item.schema === undefined ? item.parameters : JSON.stringify(item.schema),
      ]);
    case "tool_call_request":
      return [segment.toolName, JSON.stringify(segment.arguments)];
    case "tool_call_result":
      return [segment.result];
    case "document":
      return [segment.parsedContent ?? segment.snippet];
    case "media":
      return [segment.url];
  }
}

/** The text that was sent: the texts of the segment within the markup that `meta.frame` keeps, if that fits. */
export function sent(segment: Segment): string {
  const parts = texts(segment);
  const { frame } = ours(segment);
  if (frame === undefined || frame.length !== parts.length + 1) {
    return parts.join("");
  }
  return frame.map((markup, index) => markup + (parts[index] ?? "")).join("");
}

/** What a person may search for in a segment: also names that the model is not sent. */
export function searchable(segment: Segment): string[] {
  switch (segment.kind) {
    case "static_var":
      return [segment.name, segment.value, segment.description ?? ""];
    case "memory":
    case "skills":
      return [segment.description ?? "", ...texts(segment)];
    case "tool_overview":
      return segment.items.flatMap((item) => [item.name, item.description, item.parameters, item.schema === undefined ? "" : spelled(item.schema)]);
    case "tool_call_result":
      return [segment.toolName, segment.result];
    case "document":
      return [segment.fileName, segment.mimeType, ...texts(segment), ...(isPart(segment.snippet, segment.parsedContent) ? [] : [segment.snippet])];
    case "media":
      // Nobody searches in the digits of a picture.
      return [segment.altText ?? "", segment.url.startsWith("data:") ? "" : segment.url];
    case "tool_call_request":
      return [segment.toolName, ...Object.entries(segment.arguments).flatMap(([name, value]) => [name, spelled(value)])];
    case "text":
    case "system_prompt":
    case "long_text":
      return texts(segment);
  }
}

function isPart(snippet: string, whole: string | undefined): boolean {
  return whole === undefined || whole.includes(snippet);
}

/** A value as it is shown: a text as it is, everything else as its JSON. */
export function spelled(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
}

/** How many characters, as a person counts them: no half ones. */
export function characters(text: string): number {
  let count = 0;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    // The first half of a pair counts with the second.
    if (unit < 0xd800 || unit > 0xdbff) {
      count += 1;
    }
  }
  return count;
}

/** How much of a window a text takes, in twentieths of a token; see `estimated`. */
export function weight(text: string): number {
  const wide = wideCharacters(text);
  return 14 * wide + 5 * (characters(text) - wide);
}

/** How many of them are Chinese, Japanese or Korean letters, or the signs that are written among them. */
function wideCharacters(text: string): number {
  let count = 0;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    // Those beyond the first plane begin with U+20000, whose first half is this.
    const isFirstHalf = unit >= 0xd840 && unit <= 0xd8bf;
    if (
      isFirstHalf ||
      (unit >= 0x3000 && unit <= 0x30ff) ||
      (unit >= 0x3400 && unit <= 0x4dbf) ||
      (unit >= 0x4e00 && unit <= 0x9fff) ||
      (unit >= 0xac00 && unit <= 0xd7af) ||
      (unit >= 0xf900 && unit <= 0xfaff) ||
      (unit >= 0xff00 && unit <= 0xffef)
    ) {
      count += 1;
    }
  }
  return count;
}
