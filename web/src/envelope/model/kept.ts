/** What came of a beginning that two prompts share. */
import { grouped } from "./amount";
import { isCacheTold } from "./ours";
import type { Say } from "./problem";
import { inTheirs, type Sent } from "./strip";

/** Providers cache in blocks, so the last of them may be missing. */
const MOSTLY = 0.5;

/**
 * That it could be read from the cache is known from the prompts; whether it was, only the provider says, and some say nothing: nothing read
 * is told only by one that told of its cache in the request before. Our counts are scaled to the provider's total: only then the two can be
 * compared.
 */
export function keptText(prefixTokens: number, allTokens: number, usage: Sent | undefined, before: Sent | undefined, say: Say): string {
  const isTold = [usage, before].some((sent) => sent !== undefined && isCacheTold(sent));
  if (usage === undefined || !isTold) {
    return say("diff.noBreak");
  }
  const { cacheRead } = usage;
  const prefix = inTheirs(prefixTokens, allTokens, usage);
  const values = { tokens: grouped(cacheRead), prefix: grouped(prefix) };
  return say(cacheRead >= prefix * MOSTLY ? "diff.cacheHeld" : "diff.cacheLost", values);
}
