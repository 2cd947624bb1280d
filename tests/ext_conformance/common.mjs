// What two captures of the real Pi have in common. Where they differ, Pi differs from itself: there is nothing to hold another
// host to, and that place alone is left out of the comparison.

import { isDeepStrictEqual } from "node:util";

/** Stands where two captures differ. */
export const VARIES = "<varies>";

/**
 * A rehearsal in which everything is what both captures saw. Where effects only came at another step, since nobody waited for them, it
 * says what they are together.
 */
export function common(one, other) {
  const isShifted = isDeepStrictEqual(joined(one), joined(other));
  const isSteady = one.steps.every(({ effects = {} }, index) => isDeepStrictEqual(effects, other.steps[index]?.effects ?? {}));
  const steps = one.steps.map((step, index) => {
    const again = other.steps[index] ?? {};
    return {
      answer: both(step.answer, again.answer),
      effects: both(step.effects ?? {}, again.effects ?? {}),
      lacking: step.lacking || again.lacking || undefined,
      outside: step.outside || again.outside || undefined,
    };
  });
  const together = isShifted && !isSteady ? joined(one, (index) => steps[index].outside || steps[index].lacking) : undefined;
  return JSON.parse(JSON.stringify({ steps, together, traces: both(one.traces, other.traces) }));
}

/** All effects of a rehearsal by their kind, but for those of steps of which `isLeftOut`; a kind whose number varies has no sum. */
export function joined({ steps }, isLeftOut = () => false) {
  const all = {};
  steps.forEach(({ effects = {} }, index) => {
    if (isLeftOut(index)) return;
    for (const [kind, list] of Object.entries(effects === VARIES ? {} : effects)) {
      if (list === VARIES || all[kind] === VARIES) all[kind] = VARIES;
      else (all[kind] ??= []).push(...list);
    }
  });
  return all;
}

/** At how many places the captures differ. */
export function varying(value) {
  if (value === VARIES) return 1;
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce((sum, item) => sum + varying(item), 0);
}

function both(one, other) {
  const isTree = (value) => typeof value === "object" && value !== null;
  if (!isTree(one) || !isTree(other)) return Object.is(one, other) ? one : VARIES;
  if (Array.isArray(one) || Array.isArray(other)) {
    if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return VARIES;
    return one.map((item, index) => both(item, other[index]));
  }
  const names = [...new Set([...Object.keys(one), ...Object.keys(other)])].sort();
  return Object.fromEntries(names.map((name) => [name, both(one[name], other[name])]));
}
