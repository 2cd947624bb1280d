/** How full the window of the model is, as far as that is known. */
import type { ContextUsage, ModelRequest } from "pi-client";
import type { Row } from "./messages.svelte";

export interface Fill extends ContextUsage {
  /** Nobody has counted it but us, before the model was asked. */
  isEstimated: boolean;
}

/**
 * What the server tells, once a model has answered on this way. Until then it knows of what was said and not of everything else that was
 * sent; the last request does, whether it was answered or not. One that is being answered may have been sent from an entry that
 * nobody here has been told of.
 */
export function fillOf(
  usage: ContextUsage | undefined,
  rows: readonly Row[],
  requests: readonly ModelRequest[],
  { isWorking, isHere }: { isWorking: boolean; isHere: (entryId: string) => boolean },
): Fill | undefined {
  if (usage === undefined) {
    return undefined;
  }
  const since = rows.findLastIndex(({ message }) => message.role === "compactionSummary");
  const isCounted = rows.slice(since + 1).some(isCount);
  const asked = isCounted ? undefined : requests.findLast(({ purpose }) => purpose === "turn" || purpose === "compaction");
  const isOurs = asked !== undefined && ((isWorking && asked.usage === undefined) || (asked.entryId !== undefined && isHere(asked.entryId)));
  if (!isOurs || asked.purpose !== "turn" || asked.tokens === undefined) {
    return { ...usage, isEstimated: false };
  }
  return { ...usage, tokens: Math.max(asked.tokens.count, usage.tokens ?? 0), percent: null, isEstimated: true };
}

function isCount({ message }: Row): boolean {
  if (message.role !== "assistant" || message.stopReason === "error" || message.stopReason === "aborted") {
    return false;
  }
  const { input, cacheRead, cacheWrite } = message.usage;
  return input + cacheRead + cacheWrite > 0;
}
