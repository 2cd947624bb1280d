/**
 * Addresses of what a model was shown: the part after `#/s/<session>/envelope` of the page, or after `#` of a file that is shown by itself.
 *
 * `/r/<request>`, `/m/<message>` and `/seg/<segment>` each may be missing. A segment is named by its id, or else by its place in its message;
 * `@3` is the third of the whole prompt, for whoever knows nothing else of it.
 */

import type { Entry } from "./format";
import { ours } from "./ours";

export interface Target {
  request?: string;
  message?: string;
  segment?: string;
}

export function formatTarget(target: Target): string {
  const part = (name: string, value: string | undefined) =>
    value === undefined ? "" : `/${name}/${encodeURIComponent(value)}`;
  return part("r", target.request) + part("m", target.message) + part("seg", target.segment);
}

export function parseTarget(path: string): Target {
  const parts = path.replace(/^#/, "").split("/").filter((part) => part !== "");
  const target: Target = {};
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const value = decode(parts[at + 1] as string);
    switch (parts[at]) {
      case "r":
        target.request = value;
        break;
      case "m":
        target.message = value;
        break;
      case "seg":
        target.segment = value;
        break;
      default:
        at -= 1;
    }
  }
  return target;
}

/** The name of a segment in an address. */
function nameOf(entry: Entry): string {
  return ours(entry.segment).id || String(entry.place.segment);
}

/**
 * What names each segment of a prompt. The format does not ask that ids be there only once, or that they be anything: where they lead to
 * another segment, its place in the whole prompt names it.
 */
export function targetsOf(all: readonly Entry[]): Target[] {
  const taken = new Set<string>();
  return all.map((entry) => {
    const target = { message: entry.message.id, segment: nameOf(entry) };
    const address = formatTarget(target);
    if (target.message === "" || taken.has(address)) {
      return { segment: `@${entry.index + 1}` };
    }
    taken.add(address);
    return target;
  });
}

/** The segment that is meant; the first of a message if only that is named. */
export function find(all: readonly Entry[], target: Target): Entry | undefined {
  const { message, segment } = target;
  if (message === undefined && segment === undefined) {
    return undefined;
  }
  const inMessage = message === undefined ? all : all.filter((entry) => entry.message.id === message);
  if (segment === undefined) {
    return inMessage[0];
  }
  const place = /^@(\d+)$/.exec(segment)?.[1];
  return inMessage.find((entry) => nameOf(entry) === segment) ?? (place === undefined ? undefined : all[Number(place) - 1]) ?? inMessage[0];
}

/** A part that is badly encoded stands for itself. */
function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
