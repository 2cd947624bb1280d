/**
 * What changed from one envelope to another, segment by segment, as `pi envelope diff` decides it.
 *
 * A segment is the same one in both if it has the same id (ours, in `meta`), or else says the same, or else, where one side has no
 * ids, stands at the same place of the same message. What it says is compared by its canonical JSON, role and markup. A
 * provider's cache holds a beginning of the prompt, so the first difference is also where the cache breaks.
 */

import { canonical } from "./canonical";
import { tokens } from "./count";
import { type Change, type Diff, type Entry, type Envelope, entries, type Segment, type What } from "./format";
import { ours } from "./ours";

type Items = NonNullable<Change["items"]>;

interface Compared extends Entry {
  id: string | undefined;
  /** What is shown, without `meta`. */
  says: string;
  frame: string;
}

/** Which segments belong together, by their indices in prompt order. */
export interface Pairing {
  /** For each segment of the first envelope, its partner in the second. */
  after: (number | undefined)[];
  /** For each segment of the second envelope, its partner in the first. */
  before: (number | undefined)[];
}

export interface Comparison extends Diff {
  pairing: Pairing;
}

export function diff(before: Envelope, after: Envelope): Comparison {
  const [old, now] = [compared(before), compared(after)];
  const pairing = pair(old, now);
  const kept = keptOrder(pairing.before);
  const changes = changesOf(old, now, pairing, kept);
  const sameModel = before.model === after.model;
  const shared = now.findIndex((entry, index) => !says(old[index], entry));
  const common = shared === -1 ? Math.min(old.length, now.length) : shared;
  const prefix = sameModel ? common : 0;
  const first = firstDifference(old, now, prefix, pairing, changes);
  const cause = sameModel
    ? first && { type: "segment" as const, change: first }
    : { type: "model" as const, before: before.model ?? null, after: after.model ?? null };
  const lost = now.filter((entry, index) => {
    const partner = pairing.before[index];
    return index >= prefix && partner !== undefined && says(old[partner], entry);
  });
  const count = (what: What) => changes.filter((change) => change.what === what).length;
  return {
    changes,
    summary: {
      added: count("added"),
      removed: count("removed"),
      changed: count("changed"),
      moved: count("moved"),
      unchanged: count("unchanged"),
      tokensBefore: counted(old),
      tokensAfter: counted(now),
    },
    prefix,
    prefixTokens: counted(now.slice(0, prefix)),
    ...(cause === undefined ? {} : { cacheBreak: { index: prefix, cause, tokensLost: counted(lost) } }),
    pairing,
  };
}

function compared(envelope: Envelope): Compared[] {
  return entries(envelope).map((entry) => {
    const { meta: _, ...shown } = entry.segment as Segment & { meta?: unknown };
    const { id, frame } = ours(entry.segment);
    return { ...entry, id, says: canonical(shown), frame: JSON.stringify(frame ?? null) };
  });
}

function says(old: Compared | undefined, now: Compared | undefined): boolean {
  if (old === undefined || now === undefined) {
    return false;
  }
  return old.message.role === now.message.role && old.says === now.says && old.frame === now.frame;
}

function counted(some: readonly Compared[]): number {
  return some.reduce((all, entry) => all + tokens(entry.segment).count, 0);
}

function pair(old: readonly Compared[], now: readonly Compared[]): Pairing {
  const pairing: Pairing = { after: old.map(() => undefined), before: now.map(() => undefined) };
  const join = (key: (entry: Compared) => string | undefined) => {
    const waiting = new Map<string, number[]>();
    old.forEach((entry, index) => {
      const name = pairing.after[index] === undefined ? key(entry) : undefined;
      if (name !== undefined) {
        const queue = waiting.get(name);
        queue === undefined ? waiting.set(name, [index]) : queue.push(index);
      }
    });
    const taken = new Map<string, number>();
    now.forEach((entry, index) => {
      const name = pairing.before[index] === undefined ? key(entry) : undefined;
      const queue = name === undefined ? undefined : waiting.get(name);
      if (name === undefined || queue === undefined) {
        return;
      }
      // The first with the first.
      const next = taken.get(name) ?? 0;
      const partner = queue[next];
      if (partner !== undefined) {
        taken.set(name, next + 1);
        pairing.before[index] = partner;
        pairing.after[partner] = index;
      }
    });
  };
  join((entry) => entry.id);
  join((entry) => `${entry.message.role} ${entry.says}`);
  if ([...old, ...now].some((entry) => entry.id === undefined)) {
    join((entry) => JSON.stringify([entry.message.id, entry.segment.kind, entry.place.segment]));
  }
  return pairing;
}

/** For each segment of the second envelope, whether it is in a longest run of pairs that stand in the same order on both sides. */
function keptOrder(before: Pairing["before"]): boolean[] {
  // `ends[n]` is the segment that ends a rising run of length n + 1 with the smallest partner.
  const ends: number[] = [];
  const previous: (number | undefined)[] = before.map(() => undefined);
  before.forEach((partner, index) => {
    if (partner === undefined) {
      return;
    }
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const end = before[ends[middle] as number] as number;
      if (end < partner) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    previous[index] = low === 0 ? undefined : ends[low - 1];
    ends[low] = index;
  });
  const kept = before.map(() => false);
  for (let last = ends.at(-1); last !== undefined; last = previous[last]) {
    kept[last] = true;
  }
  return kept;
}

function changesOf(
  old: readonly Compared[],
  now: readonly Compared[],
  pairing: Pairing,
  kept: readonly boolean[],
): Change[] {
  const gone = old.filter((_, index) => pairing.after[index] === undefined);
  let next = 0;
  const changes: Change[] = [];
  now.forEach((entry, index) => {
    const partner = pairing.before[index];
    // A segment that kept its order shows how far the first envelope has been passed.
    if (partner !== undefined && kept[index]) {
      for (let passed = gone[next]; passed !== undefined && passed.index < partner; passed = gone[next]) {
        changes.push(changeOf(passed, undefined, true));
        next += 1;
      }
    }
    changes.push(changeOf(partner === undefined ? undefined : old[partner], entry, kept[index] ?? false));
  });
  return [...changes, ...gone.slice(next).map((entry) => changeOf(entry, undefined, true))];
}

function changeOf(before: Compared | undefined, after: Compared | undefined, kept: boolean): Change {
  const shown = (after ?? before) as Compared;
  const what = (): What => {
    if (before === undefined) return "added";
    if (after === undefined) return "removed";
    if (!says(before, after)) return "changed";
    return kept ? "unchanged" : "moved";
  };
  const listed = before !== undefined && after !== undefined ? itemsOf(before.segment, after.segment) : undefined;
  return {
    what: what(),
    kind: shown.segment.kind,
    role: shown.message.role,
    ...(shown.id === undefined ? {} : { id: shown.id }),
    ...(before === undefined ? {} : { before: before.place }),
    ...(after === undefined ? {} : { after: after.place }),
    tokens: counted(after === undefined ? [] : [after]) - counted(before === undefined ? [] : [before]),
    ...(listed === undefined ? {} : { items: listed }),
  };
}

/** What changed among the things that two segments list; nothing if they list none or the same. Of equal names the first is meant. */
function itemsOf(before: Segment, after: Segment): Items | undefined {
  const [old, now] = [listed(before), listed(after)];
  if (old === undefined || now === undefined) {
    return undefined;
  }
  const items: Items = { added: [], removed: [], changed: [] };
  const [byOldName, byNewName] = [new Map([...old].reverse()), new Map([...now].reverse())];
  for (const [name, item] of now) {
    const other = byOldName.get(name);
    if (other === undefined) {
      items.added.push(name);
    } else if (other !== item) {
      items.changed.push(name);
    }
  }
  items.removed.push(...old.map(([name]) => name).filter((name) => !byNewName.has(name)));
  return items.added.length + items.removed.length + items.changed.length === 0 ? undefined : items;
}

function listed(segment: Segment): [string, string][] | undefined {
  switch (segment.kind) {
    case "memory":
      return segment.items.map((item) => [item.title, canonical(item)]);
    case "skills":
    case "tool_overview":
      return segment.items.map((item) => [item.name, canonical(item)]);
    case "text":
    case "static_var":
    case "system_prompt":
    case "tool_call_request":
    case "tool_call_result":
    case "document":
    case "long_text":
    case "media":
      return undefined;
  }
}

/** What happened where the envelopes first differ; nothing if one is the beginning of the other. */
function firstDifference(
  old: readonly Compared[],
  now: readonly Compared[],
  prefix: number,
  pairing: Pairing,
  changes: readonly Change[],
): Change | undefined {
  const [before, after] = [old[prefix], now[prefix]];
  if (before === undefined || after === undefined) {
    return undefined;
  }
  const isGone = pairing.after[prefix] === undefined && pairing.before[prefix] !== prefix;
  const found = changes.find((change) => (isGone ? same(change.before, before) : same(change.after, after)));
  // The order that was kept may be that of the others: here, seen from the beginning, this one is out of place.
  return found && { ...found, what: found.what === "unchanged" ? "moved" : found.what };
}

function same(place: Change["before"], entry: Compared): boolean {
  return place?.message === entry.place.message && place.segment === entry.place.segment;
}
