/**
 * How many tokens, and how that is known.
 *
 * Every number on the page is a sum over segments, made here: no total is taken from the file, so parts and totals always agree.
 * What the file itself claims is compared and told.
 */

import { type CacheState, type Counted, type Envelope, KINDS, type Kind, type Segment, type Tokens } from "./format";
import { claimed, ours, oursOfEnvelope } from "./ours";
import { sent, weight } from "./text";

/** What an image costs when nobody counted it. */
const IMAGE_TOKENS = 1200;

const SURE: readonly Counted[] = ["exact", "counted", "estimated"];

const known = new WeakMap<Segment, Tokens>();

/** What a segment costs: as it was counted, or else as the estimate says. */
export function tokens(segment: Segment): Tokens {
  let found = known.get(segment);
  if (found === undefined) {
    found = ours(segment).tokens ?? { count: estimate(segment), how: "estimated" };
    known.set(segment, found);
  }
  return found;
}

function estimate(segment: Segment): number {
  return segment.kind === "media" ? IMAGE_TOKENS : estimated(sent(segment));
}

/**
 * Four characters are a token, more or less; of those that stand for a syllable or a word, ten are seven. `pi_envelope::estimate`
 * counts the same.
 */
export function estimated(text: string): number {
  return Math.ceil(weight(text) / 20);
}

/** The sum, known as surely as its least sure part. Nothing at all is known exactly. */
export function sum(parts: Iterable<Tokens>): Tokens {
  let [count, how] = [0, 0];
  for (const part of parts) {
    count += part.count;
    how = Math.max(how, SURE.indexOf(part.how));
  }
  return { count, how: SURE[how] ?? "estimated" };
}

export function total(segments: Iterable<Segment>): Tokens {
  return sum([...segments].map(tokens));
}

export interface Tally {
  tokens: Tokens;
  segments: number;
  /** Of all tokens, from 0 to 1. */
  share: number;
}

export interface Totals {
  tokens: Tokens;
  segments: number;
  byKind: ReadonlyMap<Kind, Tally>;
  byHow: Readonly<Record<Counted, number>>;
  byCache: Readonly<Record<CacheState | "unknown", number>>;
  /** What the provider counted as sent, and what is left of it when ours are taken away. */
  provider?: { sent: number; residual: number; byCache: Readonly<Record<CacheState, number>> };
  /** What the file claims where that is not the sum. */
  claims: { where: string; claimed: number; sum: number }[];
}

export function totals(envelope: Envelope): Totals {
  const all = envelope.messages.flatMap((message) => message.segments);
  const whole = total(all);
  const byKind = new Map<Kind, Tally>();
  for (const kind of KINDS) {
    const some = all.filter((segment) => segment.kind === kind);
    if (some.length > 0) {
      const part = total(some);
      byKind.set(kind, { tokens: part, segments: some.length, share: ratio(part.count, whole.count) });
    }
  }
  const byHow = { exact: 0, counted: 0, estimated: 0 };
  const byCache = { cached: 0, written: 0, uncached: 0, unknown: 0 };
  for (const segment of all) {
    const { count, how } = tokens(segment);
    byHow[how] += count;
    byCache[ours(segment).cache ?? "unknown"] += count;
  }
  const { usage, tokens: told } = oursOfEnvelope(envelope);
  const sentTokens = usage === undefined ? undefined : usage.input + usage.cacheRead + usage.cacheWrite;
  const claims = envelope.messages.flatMap((message) => {
    const claim = claimed(message);
    const count = total(message.segments).count;
    return claim === undefined || claim.count === count ? [] : [{ where: message.id, claimed: claim.count, sum: count }];
  });
  if (told !== undefined && told.count !== whole.count) {
    claims.unshift({ where: "", claimed: told.count, sum: whole.count });
  }
  return {
    tokens: whole,
    segments: all.length,
    byKind,
    byHow,
    byCache,
    ...(sentTokens === undefined ? {} : { provider: { sent: sentTokens, residual: sentTokens - whole.count, byCache: { cached: usage?.cacheRead ?? 0, written: usage?.cacheWrite ?? 0, uncached: usage?.input ?? 0 } } }),
    claims,
  };
}

/**
 * What a segment cost in this request, in dollars: its tokens at the price of what the cache did with them. Nothing is said
 * where the provider named no price.
 */
export function price(segment: Segment, envelope: Envelope): number | undefined {
  const { usage } = oursOfEnvelope(envelope);
  if (usage === undefined || usage.cost.total === 0) {
    return undefined;
  }
  const rates = {
    cached: ratio(usage.cost.cacheRead, usage.cacheRead),
    written: ratio(usage.cost.cacheWrite, usage.cacheWrite),
    uncached: ratio(usage.cost.input, usage.input),
  };
  return tokens(segment).count * rates[ours(segment).cache ?? "uncached"];
}

/**
 * Divides a whole number by weights so that the parts are whole and their sum is the number: each gets its share rounded down,
 * and what is left goes to the largest rests, the earlier first.
 */
export function divide(whole: number, weights: readonly number[]): number[] {
  const all = weights.reduce((left, right) => left + right, 0);
  if (weights.length === 0) {
    return [];
  }
  const shares = weights.map((weight) => (all === 0 ? whole / weights.length : (whole * weight) / all));
  const parts = shares.map(Math.floor);
  let left = whole - parts.reduce((one, other) => one + other, 0);
  const byRest = shares
    .map((share, index) => ({ index, rest: share - Math.floor(share) }))
    .sort((one, other) => other.rest - one.rest || one.index - other.index);
  for (const { index } of byRest) {
    if (left <= 0) {
      break;
    }
    parts[index] = (parts[index] ?? 0) + 1;
    left -= 1;
  }
  return parts;
}

function ratio(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}
