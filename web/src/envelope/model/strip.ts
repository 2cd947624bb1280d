/**
 * The strip: every segment in prompt order on one bar, as wide as it has tokens.
 *
 * Whole pixels only, and the same pixels for the same input: the ends of stretches are rounded, not their lengths, so errors do
 * not add up and the bar is always full.
 */

import type { Strip as Told } from "../../../../clients/typescript/src/wire";
import { tokens } from "./count";
import type { CacheState, Diff, Entry, Kind } from "./format";
import { isCacheTold, ours } from "./ours";

/** A segment that nobody can see cannot be pointed at. So each gets this many pixels, as far as the others can spare them. */
const LEAST = 3;
/** Of the bar, what all small ones together may be given beyond their share: widths are tokens, and a twelfth is hardly seen. */
const SPARED = 0.08;

/** A segment as far as it is drawn. */
export interface Piece {
  kind: Kind;
  tokens: number;
  cache: CacheState | "unknown";
}

export interface Stretch {
  /** The segments from here up to `last`: one, or several neighbours of one kind that are too small to be drawn apart. */
  first: number;
  last: number;
  kind: Kind;
  x: number;
  width: number;
}

export interface CacheStretch {
  state: CacheState | "unknown";
  x: number;
  width: number;
}

export interface Strip {
  width: number;
  stretches: Stretch[];
  /** Neighbours with the same state are one stretch; empty if nothing is known. */
  cache: CacheStretch[];
  /** Where the cache broke, in pixels. */
  notch?: number;
}

/** What is drawn of the segments of an envelope. */
export function piecesOf(all: readonly Entry[]): Piece[] {
  return all.map(({ segment }) => ({ kind: segment.kind, tokens: tokens(segment).count, cache: ours(segment).cache ?? "unknown" }));
}

/** What is drawn of a strip as a server tells it, without what was said. */
export function toldPieces({ segments, cache }: Told): Piece[] {
  const states = cache.flatMap(([state, count]) => Array.from({ length: count }, () => state));
  return segments.map(([kind, count], index) => ({ kind, tokens: count, cache: states[index] ?? "unknown" }));
}

/** What a provider counted as sent. */
export interface Sent {
  input: number;
  cacheRead: number;
  cacheWrite: number;
}

/** So many of our tokens in those of the provider: ours are scaled to its total. */
export function inTheirs(tokens: number, all: number, { input, cacheRead, cacheWrite }: Sent): number {
  return all === 0 ? 0 : Math.round((tokens * (input + cacheRead + cacheWrite)) / all);
}

/**
 * Lays segments out. Where it is known what the provider counted, the line of the cache has its borders where the provider had them,
 * also inside a segment; else each segment is drawn by its own state.
 */
export function layout(all: readonly Piece[], width: number, cacheBreak?: Diff["cacheBreak"], sent?: Sent | undefined): Strip {
  const whole = Math.max(1, Math.floor(width));
  const ends = edges(
    all.map((piece) => piece.tokens),
    whole,
  );
  const stretches: Stretch[] = [];
  const cache: CacheStretch[] = [];
  all.forEach(({ kind, cache: state }, index) => {
    const x = ends[index - 1] ?? 0;
    const size = (ends[index] ?? x) - x;
    const before = stretches.at(-1);
    if (size === 0 && before !== undefined) {
      // It has no pixel of its own; whoever points at its neighbour finds it by the keyboard.
      before.last = index;
    } else if (before?.width === 0) {
      Object.assign(before, { last: index, kind, width: size });
    } else {
      stretches.push({ first: index, last: index, kind, x, width: size });
    }
    const last = cache.at(-1);
    if (last !== undefined && (last.state === state || size === 0)) {
      last.width += size;
    } else {
      cache.push({ state, x, width: size });
    }
  });
  const isTold = sent !== undefined && isCacheTold(sent);
  const isKnown = isTold || cache.some((stretch) => stretch.state !== "unknown");
  const notch = cacheBreak === undefined ? undefined : (ends[cacheBreak.index - 1] ?? 0);
  const drawn = !isKnown ? [] : !isTold ? cache : bordered(all, ends, whole, sent);
  return { width: whole, stretches, cache: drawn, ...(notch === undefined ? {} : { notch }) };
}

/** The line of the cache by what the provider counted: a cache holds a beginning of the prompt, and what is written follows it. */
function bordered(all: readonly Piece[], ends: readonly number[], width: number, { input, cacheRead, cacheWrite }: Sent): CacheStretch[] {
  const counted = all.reduce((sum, piece) => sum + piece.tokens, 0);
  const sum = Math.max(1, input + cacheRead + cacheWrite);
  // Our tokens are scaled to the provider's; inside a segment they lie evenly.
  const at = (tokens: number): number => {
    const wanted = (counted * Math.min(tokens, sum)) / sum;
    let passed = 0;
    for (const [index, piece] of all.entries()) {
      if (passed + piece.tokens >= wanted) {
        const from = ends[index - 1] ?? 0;
        const share = piece.tokens === 0 ? 0 : (wanted - passed) / piece.tokens;
        return Math.round(from + ((ends[index] ?? from) - from) * share);
      }
      passed += piece.tokens;
    }
    return width;
  };
  const [read, written] = [at(cacheRead), at(cacheRead + cacheWrite)];
  const parts: CacheStretch[] = [
    { state: "cached", x: 0, width: read },
    { state: "written", x: read, width: written - read },
    { state: "uncached", x: written, width: width - written },
  ];
  return parts.filter((part) => part.width > 0);
}

/**
 * Where each stretch ends, so that all of them together fill the width. Only what would be too narrow to be seen is made wider than its
 * share, at the cost of those that are wide. Where so many are narrow that this would bend the bar, each gets less, and those that are
 * left without a pixel are drawn with their neighbour: nothing jumps when one more comes.
 */
export function edges(sizes: readonly number[], width: number): number[] {
  const all = sizes.reduce((one, other) => one + other, 0);
  const shares = sizes.map((size) => (all === 0 ? 1 / sizes.length : size / all) * width);
  const [wanted, spare] = shares.reduce(([short, over], share) => [short + Math.max(0, LEAST - share), over + Math.max(0, share - LEAST)], [0, 0]);
  const given = Math.min(wanted, spare, width * SPARED);
  let passed = 0;
  return shares.map((share, index) => {
    passed += share < LEAST ? share + (wanted === 0 ? 0 : ((LEAST - share) * given) / wanted) : share - (spare === 0 ? 0 : ((share - LEAST) * given) / spare);
    return index === sizes.length - 1 ? width : Math.round(passed);
  });
}

/** The stretch that a segment is drawn in. */
export function stretchOf(strip: Strip, index: number): Stretch | undefined {
  return strip.stretches.find((stretch) => index >= stretch.first && index <= stretch.last);
}
