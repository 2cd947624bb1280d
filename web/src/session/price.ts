/** What models and sessions cost, in words. */
import type { Model, SessionStats } from "pi-client";
import { t } from "../texts";
import { moneyAtLeast } from "../texts/amounts";
import { isPriceUnknown } from "./facts";
import type { Row } from "./messages.svelte";

/** Whether it is known to cost nothing; of a model that nobody has a price for that is not known. */
export function isFree(model: Model): boolean {
  return model.cost.input === 0 && model.cost.output === 0 && !isPriceUnknown(model);
}

/**
 * What was spent so far. If the server knows of no price at all, nothing is known, unless every answer is in sight and came from a model
 * that is free. Of a model without a price that holds before it has answered, too: what it says then is not free.
 */
export function spentWords({ cost, costAtLeast }: SessionStats, model: Model | undefined, rows: readonly Row[], hasOlder: boolean): string {
  const isUnknown = costAtLeast === true || (model !== undefined && isPriceUnknown(model));
  if (cost > 0 || !isUnknown) {
    return moneyAtLeast(cost, costAtLeast === true);
  }
  const isAllFree =
    model !== undefined && isFree(model) && !hasOlder && rows.every(({ message }) => message.role !== "assistant" || (message.model === model.id && message.provider === model.provider));
  return t(isAllFree ? "cost.free" : "cost.unknown");
}
