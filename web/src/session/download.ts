/** What the server hands out as a file, in the browser of whoever looks at it: a session, or the output of a command. */

import { errorWords } from "../link/words";
import { type TextKey, t } from "../texts";
import { ended } from "../texts/fill";

/** What the server writes; see `GET /export`. */
export const FORMS = ["html", "markdown", "envelope", "envelopes", "viewer"] as const;

export type Form = (typeof FORMS)[number];

/** Fetches the file and has the browser keep it. Resolves to its name. */
export async function download(source: { session: string } | { file: string }, form: Form): Promise<string> {
  const answer = await fetch(`/export?${new URLSearchParams({ ...source, form }).toString()}`);
  if (!answer.ok) {
    throw new Error(await reasonOf(answer, { 413: "error.tooLarge", 503: "error.downloads" }));
  }
  const name = /filename="([^"]+)"/.exec(answer.headers.get("content-disposition") ?? "")?.[1] ?? `session.${form}`;
  const address = URL.createObjectURL(await answer.blob());
  const anchor = document.createElement("a");
  anchor.href = address;
  anchor.download = name;
  anchor.click();
  // The browser has taken it by then.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
  return name;
}

/** Where all that a command said is handed out whose output was too long; its message names the file on the server. */
export function outputAddress(session: string, path: string): string {
  return `/output?${new URLSearchParams({ session, name: path.split(/[\\/]/).at(-1) ?? "" }).toString()}`;
}

export async function fetchOutput(address: string): Promise<string> {
  const answer = await fetch(address);
  if (!answer.ok) {
    throw new Error(await reasonOf(answer, { 410: "error.removed", 413: "error.outputTooLarge", 503: "error.downloads" }));
  }
  return answer.text();
}

/** Why the server did not do it, and what to do. `byStatus` has what is told by its status alone, which depends on what was asked for. */
export async function reasonOf(answer: Response, byStatus: Partial<Record<number, TextKey>> = {}): Promise<string> {
  const told: unknown = await answer.json().catch(() => undefined);
  const words = (name: string) => (typeof told === "object" && told !== null && name in told ? String((told as Record<string, unknown>)[name] ?? "") : "");
  const known = byStatus[answer.status];
  if (known !== undefined) {
    return t(known);
  }
  const { text, hint } = errorWords({ error: words("error"), hint: words("hint"), code: words("code") });
  return [text, hint].filter((one) => one !== "").map(ended).join(" ") || `HTTP ${answer.status}`;
}
