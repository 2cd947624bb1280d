/** Which segments are shown: by kind, and by what they say. */

import type { Entry, Kind } from "./format";
import { originText, ours } from "./ours";
import { searchable } from "./text";

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
