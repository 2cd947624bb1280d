/** Where something comes from that is put before a person: from the host, or from an extension. */
import type { Asker } from "pi-client";

export type Origin = { by: "host" } | { by: "extension"; name: string | undefined };

/** A longer name would push what is asked out of sight. */
const LONGEST = 60;

/** What a server does not say counts as an extension's: only what is known to come from the host is shown as its own. */
export function originOf(asker: Asker | undefined): Origin {
  return asker?.by === "host" ? { by: "host" } : { by: "extension", name: asker?.extensionId };
}

/** A name on one line, without letters that cannot be seen or turn the direction of others. */
export function shownName(name: string): string {
  const letters = [...name.replace(/[\p{C}\p{Z}]+/gu, " ").trim()];
  return letters.length <= LONGEST ? letters.join("") : `${letters.slice(0, LONGEST - 1).join("")}…`;
}
