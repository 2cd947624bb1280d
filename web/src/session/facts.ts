/** What is known of a model, and what is only assumed: said by members that the list of its members does not name. */
import type { Model } from "pi-client";

function says(model: Model, what: string): boolean {
  return (model as unknown as Record<string, unknown>)[what] === true;
}

/** Nobody has said how large its context window is. */
export function isWindowAssumed(model: Model): boolean {
  return says(model, "contextWindowAssumed");
}

/** Nobody has said what it costs, which is not the same as nothing. */
export function isPriceUnknown(model: Model): boolean {
  return says(model, "costUnknown");
}
