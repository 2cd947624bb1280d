/** What happened, in a sentence. */

import { grouped } from "./model/amount";
import type { CacheBreak, Change, Entry } from "./model/format";
import { title } from "./model/treemap";
import { kindName, w } from "./words";

/** Where and why the cache broke, where both prompts are known. */
export function breakText(cacheBreak: CacheBreak, all: readonly Entry[], before: readonly Entry[] = []): string {
  return causeText(cacheBreak, (change) => {
    const entry = find(all, change.after) ?? find(before, change.before);
    return entry === undefined ? undefined : title(entry.segment);
  });
}

/** The same with the name of the segment that was told. */
export function causeText(cacheBreak: CacheBreak, nameOf: (change: Change) => string | undefined): string {
  const lost = cacheBreak.tokensLost === 0 ? "" : ` · ${w("break.lost", { tokens: grouped(cacheBreak.tokensLost) })}`;
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

/**
 * What came of a beginning that did not change. That it could be read from the cache is known from the prompts; whether it was, only the
 * provider says. Providers cache in blocks, so the last of them may be missing.
 */
export function keptText(prefixTokens: number, cacheRead: number | undefined): string {
  if (cacheRead === undefined) {
    return w("diff.noBreak");
  }
  const values = { tokens: grouped(cacheRead), prefix: grouped(prefixTokens) };
  return w(cacheRead >= prefixTokens * MOSTLY ? "diff.cacheHeld" : "diff.cacheLost", values);
}

const MOSTLY = 0.5;

function find(all: readonly Entry[], place: Change["after"]): Entry | undefined {
  return place && all.find((it) => it.place.message === place.message && it.place.segment === place.segment);
}

/** `+deploy -old ~read` */
export function itemsText(change: Change): string {
  const { added = [], removed = [], changed = [] } = change.items ?? {};
  const marked = (sign: string, names: readonly string[]) => names.map((name) => sign + name);
  return [...marked("+", added), ...marked("−", removed), ...marked("~", changed)].join(" ");
}
