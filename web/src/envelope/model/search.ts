/** Which segments are shown: by kind, and by what they say. */

import type { Entry, Kind, Segment } from "./format";
import { originText, ours } from "./ours";
import { searchable } from "./text";
import { begin } from "./treemap";

export interface Filter {
  /** Empty: all of them. */
  kinds: ReadonlySet<Kind>;
  /** Words as they are, in any case; empty: everything. */
  query: string;
}

export function matches(entry: Entry, filter: Filter): boolean {
  const { kinds, query } = filter;
  if (kinds.size > 0 && !kinds.has(entry.segment.kind)) {
    return false;
  }
  const wanted = fold(query.trim());
  if (wanted === "") {
    return true;
  }
  const { id, origin } = ours(entry.segment);
  return [...searchable(entry.segment), originText(origin), id ?? ""].some((text) => fold(text).includes(wanted));
}

/** The same of one of the things that a segment lists, of which not all may be what is searched for. */
export function isItemShown(entry: Entry, place: number, filter: Filter): boolean {
  const { segment } = entry;
  if (!matches(entry, filter)) {
    return false;
  }
  switch (segment.kind) {
    case "memory":
    case "skills":
    case "tool_overview": {
      const item = segment.items[place];
      const isIt = item !== undefined && isIn(JSON.stringify(item), filter.query);
      // What is found around them is found in all of them.
      return isIt || !segment.items.some((other) => isIn(JSON.stringify(other), filter.query));
    }
    case "text":
    case "static_var":
    case "system_prompt":
    case "tool_call_request":
    case "tool_call_result":
    case "document":
    case "long_text":
    case "media":
      return true;
  }
}

/** Whether a text has what is searched for. */
export function isIn(text: string, query: string): boolean {
  return fold(text).includes(fold(query.trim()));
}

/** How often a query stands in what can be searched of a segment. */
export function countHits(segment: Segment, query: string): number {
  const wanted = fold(query.trim());
  if (wanted === "") {
    return 0;
  }
  const { id, origin } = ours(segment);
  return [...searchable(segment), originText(origin), id ?? ""].reduce((all, text) => all + occurrences(fold(text), wanted), 0);
}

function occurrences(text: string, wanted: string): number {
  let count = 0;
  for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + wanted.length)) {
    count += 1;
  }
  return count;
}

/** What of a text has room on a line: its beginning or, while something is searched for that stands further in it, what is around the first hit. */
export function excerpt(text: string, query: string, length: number): string {
  return around(text, query, length) ?? begin(text, length);
}

/** The first hit among texts with the words around it, if there is one. */
export function firstHit(texts: readonly string[], query: string): string | undefined {
  for (const text of texts) {
    const found = around(text, query, FOUND);
    if (found !== undefined) {
      return found;
    }
  }
  return undefined;
}

/** How long the text around a hit is. */
const FOUND = 160;
/** A line may be narrow: the hit stands near its beginning. */
const BEFORE = 24;

function around(text: string, query: string, length: number): string | undefined {
  const wanted = fold(query.trim());
  const folded = fold(text);
  const at = wanted === "" || folded.length !== text.length ? -1 : folded.indexOf(wanted);
  if (at === -1) {
    return undefined;
  }
  const from = whole(text, at - BEFORE <= BEFORE ? 0 : at - BEFORE);
  const to = whole(text, Math.min(text.length, Math.max(from + length, at + wanted.length)));
  return `${from > 0 ? "… " : ""}${text.slice(from, to).replace(/[\n\r\t]/g, " ")}${to < text.length ? " …" : ""}`;
}

/** The same place, or the one before it if it lies inside a character. */
function whole(text: string, at: number): number {
  const unit = text.charCodeAt(at);
  return unit >= 0xdc00 && unit <= 0xdfff ? at - 1 : at;
}

/** A text in pieces, those that were searched for apart from the others. */
export function marked(text: string, query: string): { text: string; isHit: boolean }[] {
  const wanted = fold(query.trim());
  const folded = fold(text);
  // Folding may change lengths (`İ`), and then places in one text are not places in the other.
  if (wanted === "" || folded.length !== text.length) {
    return [{ text, isHit: false }];
  }
  const pieces: { text: string; isHit: boolean }[] = [];
  let passed = 0;
  for (let at = folded.indexOf(wanted); at !== -1 && pieces.length < MOST; at = folded.indexOf(wanted, passed)) {
    if (at > passed) {
      pieces.push({ text: text.slice(passed, at), isHit: false });
    }
    passed = at + wanted.length;
    pieces.push({ text: text.slice(at, passed), isHit: true });
  }
  if (passed < text.length || pieces.length === 0) {
    pieces.push({ text: text.slice(passed), isHit: false });
  }
  return pieces;
}

/** A page with more marks than this helps nobody. */
const MOST = 500;

function fold(text: string): string {
  return text.toLowerCase();
}
