/** The requests of a session as columns, and the compactions between them. */

import type { Request } from "./album";

export interface Column {
  index: number;
  request: Request;
  x: number;
  width: number;
  /** Of all that was sent. */
  height: number;
  /** Of what the cache held. */
  cached: number;
  /** Where the window was made smaller before this request: the tops of the columns before and after. */
  funnel?: { fromX: number; from: number; to: number };
}

export function size(request: Request): number {
  const { usage, tokens } = request;
  return tokens?.count ?? (usage === undefined ? 0 : usage.input + usage.cacheRead + usage.cacheWrite);
}

export function columns(requests: readonly Request[], width: number, height: number): Column[] {
  const most = Math.max(1, ...requests.map(size));
  const step = requests.length === 0 ? 0 : Math.min(36, width / requests.length);
  const gap = step > 6 ? 2 : 0;
  const found = requests.map((request, index): Column => {
    const x = Math.round(index * step);
    const all = size(request);
    const high = all === 0 ? 0 : Math.max(2, Math.round((all / most) * height));
    const { usage } = request;
    const sent = usage === undefined ? 0 : usage.input + usage.cacheRead + usage.cacheWrite;
    const cached = usage === undefined || sent === 0 ? 0 : Math.round((high * usage.cacheRead) / sent);
    return { index, request, x, width: Math.max(1, Math.round((index + 1) * step) - x - gap), height: high, cached };
  });
  for (const column of found) {
    const before = compactedFrom(requests, column.index);
    const from = before === undefined ? undefined : found[before];
    if (from !== undefined) {
      column.funnel = { fromX: from.x + from.width, from: from.height, to: column.height };
    }
  }
  return found;
}

/** The last turn before a compaction, if this request is the first turn after one. */
export function compactedFrom(requests: readonly Request[], index: number): number | undefined {
  if (requests[index]?.purpose !== "turn") {
    return undefined;
  }
  let isCompacted = false;
  for (let before = index - 1; before >= 0; before -= 1) {
    const purpose = requests[before]?.purpose;
    if (purpose === "turn") {
      return isCompacted ? before : undefined;
    }
    isCompacted ||= purpose === "compaction";
  }
  return undefined;
}

/** The request that this one is compared with unless another is chosen: the turn before. */
export function previousTurn(requests: readonly Request[], index: number): number | undefined {
  for (let before = index - 1; before >= 0; before -= 1) {
    if (requests[before]?.purpose === "turn") {
      return before;
    }
  }
  return undefined;
}
