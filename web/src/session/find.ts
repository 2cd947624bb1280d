/** Where words stand in a conversation: in what was said, thought, called and written, also where it is folded. */
import { saidOf } from "./attached";
import type { Row } from "./messages.svelte";
import { contentText, type Part } from "./parts.svelte";

/** One place where the words stand. */
export interface Hit {
  /** The row, by its key. */
  row: number;
  /** Which part of it: what is folded is opened for it. */
  part: string;
  /** How many stand before it in the row. */
  nth: number;
}

/** Names of parts of a row; parts of an answer are named by their places. */
export const SAID = "said";
export const OUTPUT = "output";
export const fileOf = (index: number): string => `file ${index}`;
export const partOf = (index: number): string => `part ${index}`;

/** Finds words as they are written, in whatever case; nothing for no words. */
export function patternOf(words: string): RegExp | undefined {
  const wanted = words.trim();
  return wanted === "" ? undefined : new RegExp(wanted.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&").replace(/\s+/g, "\\s+"), "giu");
}

export function hitsIn(rows: readonly Row[], words: string): Hit[] {
  const pattern = patternOf(words);
  return pattern === undefined ? [] : rows.flatMap((row) => hitsOf(row, pattern));
}

function hitsOf(row: Row, pattern: RegExp): Hit[] {
  const hits: Hit[] = [];
  for (const [part, text] of textsOf(row)) {
    for (const _ of text.matchAll(pattern)) {
      hits.push({ row: row.key, part, nth: hits.length });
    }
  }
  return hits;
}

/** What there is to read in a row, part by part. */
export function textsOf({ message, parts }: Pick<Row, "message" | "parts">): [string, string][] {
  switch (message.role) {
    case "user": {
      const { text, files } = saidOf(contentText(message.content));
      return [[SAID, text], ...files.map((file, index): [string, string] => [fileOf(index), file.text])];
    }
    case "assistant":
      return parts.flatMap((part, index): [string, string][] => (part === undefined ? [] : [[partOf(index), partText(part)]]));
    case "bashExecution":
      return [
        [SAID, message.command],
        [OUTPUT, message.output],
      ];
    case "compactionSummary":
    case "branchSummary":
      return [[SAID, message.summary]];
    case "custom":
      return [[SAID, contentText(message.content)]];
    case "system": // It is not shown.
    case "toolResult": // It is shown with its call.
      return [];
  }
}

function partText(part: Part): string {
  switch (part.type) {
    case "text":
      return part.text.replace(/[*`]/g, ""); // As it reads, and not as it is marked.
    case "thinking":
      return part.isRedacted ? "" : part.text;
    case "tool": {
      const { args, text } = part.tool;
      const patch = part.tool.detail("patch");
      const given = Object.values(args).filter((value) => typeof value === "string");
      return (typeof patch === "string" ? [args["path"] ?? "", patch] : [...given, text]).join("\n");
    }
    case "image":
      return "";
  }
}

/** The places of words in an element, however many nodes their letters are in. */
export function rangesIn(element: Element, words: string): Range[] {
  const pattern = patternOf(words);
  if (pattern === undefined) {
    return [];
  }
  const nodes: { node: Node; from: number }[] = [];
  let text = "";
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    nodes.push({ node, from: text.length });
    text += node.textContent ?? "";
  }
  const placeOf = (offset: number) => nodes.findLast(({ from }) => from <= offset);
  return [...text.matchAll(pattern)].flatMap((found) => {
    const [first, last] = [placeOf(found.index), placeOf(found.index + found[0].length - 1)];
    if (first === undefined || last === undefined) {
      return [];
    }
    const range = document.createRange();
    range.setStart(first.node, found.index - first.from);
    range.setEnd(last.node, found.index + found[0].length - last.from);
    return range.getClientRects().length === 0 ? [] : [range]; // What is there for screen readers alone is no hit.
  });
}

/** Scrolls everything around a place, up to an element, until the place is in its middle. */
export function bringIntoSight(range: Range, upTo: Element): void {
  for (let around = range.startContainer.parentElement; around !== null; around = around.parentElement) {
    if (around === upTo || around.scrollHeight > around.clientHeight + 1) {
      const [place, frame] = [range.getBoundingClientRect(), around.getBoundingClientRect()];
      if (place.top < frame.top + 24 || place.bottom > frame.top + around.clientHeight - 24) {
        around.scrollTop += place.top - frame.top - around.clientHeight / 2;
      }
    }
    if (around === upTo) {
      return;
    }
  }
}
