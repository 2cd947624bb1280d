/** What happened, in a sentence. */

import { grouped } from "./model/amount";
import type { CacheBreak, Change, Entry, Segment } from "./model/format";
import { keptText as keptTextOf } from "./model/kept";
import { type Problem, problemText as textOf } from "./model/problem";
import type { Sent } from "./model/strip";
import { type CallTargets, title } from "./model/treemap";
import { kindName, w } from "./words";

/** Where and why the cache broke, where both prompts are known. */
export function breakText(cacheBreak: CacheBreak, all: readonly Entry[], before: readonly Entry[] = []): string {
  return causeText(cacheBreak, (change) => {
    const entry = find(all, change.after) ?? find(before, change.before);
    return entry === undefined ? undefined : titleOf(entry.segment);
  });
}

/** The same where the conversation was compacted between the two: whatever was removed first, that is why. */
export function compactedText(cacheBreak: CacheBreak): string {
  return w("break.compacted") + lostText(cacheBreak);
}

/** The same with the name of the segment that was told. */
export function causeText(cacheBreak: CacheBreak, nameOf: (change: Change) => string | undefined): string {
  const lost = lostText(cacheBreak);
  const { cause } = cacheBreak;
  if (cause.type === "model") {
    const none = w("break.noModel");
    return `${w("break.model", { before: cause.before ?? none, after: cause.after ?? none })}${lost}`;
  }
  const { change } = cause;
  const listed = itemsText(change);
  if (listed !== "") {
    return `${w("break.changedList", { kind: kindName(change.kind) })} (${listed})${lost}`;
  }
  const name = nameOf(change) ?? change.id ?? "";
  return w(`break.${change.what}`, { kind: kindName(change.kind), name }) + lost;
}

function lostText({ tokensLost }: CacheBreak): string {
  return tokensLost === 0 ? "" : ` · ${w("break.lost", { tokens: grouped(tokensLost) })}`;
}

export function keptText(prefixTokens: number, allTokens: number, usage: Sent | undefined, before: Sent | undefined): string {
  return keptTextOf(prefixTokens, allTokens, usage, before, w);
}

function find(all: readonly Entry[], place: Change["after"]): Entry | undefined {
  return place && all.find((it) => it.place.message === place.message && it.place.segment === place.segment);
}

/** A segment in a few words; what nobody described is called by what it is. */
export function titleOf(segment: Segment, calls?: CallTargets): string {
  return segment.kind === "media" && segment.altText === undefined ? w(`media.${segment.mediaType}`) : title(segment, calls);
}

/** `+deploy -old ~read` */
export function itemsText(change: Change): string {
  const { added = [], removed = [], changed = [] } = change.items ?? {};
  const marked = (sign: string, names: readonly string[]) => names.map((name) => sign + name);
  return [...marked("+", added), ...marked("−", removed), ...marked("~", changed)].join(" ");
}

export function problemText(problem: Problem): string {
  return textOf(problem, w);
}
