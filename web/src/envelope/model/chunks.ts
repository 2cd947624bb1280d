/**
 * A long list in pieces that are drawn when they come into sight: ten thousand messages are a few hundred pieces, of which a handful
 * exists at a time.
 */

import type { Entry } from "./format";

export interface Chunk {
  /** Messages with those of their segments that are shown. */
  groups: { message: number; entries: Entry[] }[];
  first: number;
  last: number;
  /** About as high as it will be, in pixels. */
  height: number;
}

const SIZE = 24;
const ROW = 72;
const HEAD = 44;

export function chunks(shown: readonly Entry[]): Chunk[] {
  const found: Chunk[] = [];
  let open: Chunk | undefined;
  let count = 0;
  for (const entry of shown) {
    if (open === undefined || count >= SIZE) {
      open = { groups: [], first: entry.index, last: entry.index, height: 0 };
      found.push(open);
      count = 0;
    }
    let group = open.groups.at(-1);
    if (group?.message !== entry.place.message) {
      group = { message: entry.place.message, entries: [] };
      open.groups.push(group);
      open.height += HEAD;
    }
    group.entries.push(entry);
    open.last = entry.index;
    open.height += ROW;
    count += 1;
  }
  return found;
}
