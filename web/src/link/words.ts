/**
 * What a failure is called before a person. What the server says is for programs: it names commands and ids that nobody sees here. Where it
 * names a path or another thing of which the page knows nothing, its text stays, and only the advice is the page's.
 */
import { t, type TextKey } from "../texts";
import type { Trouble } from "./link.svelte";

/** Codes with a text of the page's own. */
const TEXTS: Partial<Record<string, TextKey>> = {
  aborted_unsaid: "error.unsaid",
  busy: "error.busy",
  circuit_open: "error.circuit",
  conflict: "error.changed",
  interrupted: "error.interrupted",
  journal_unavailable: "error.journal",
  not_found: "error.notFound",
  queue_changed: "error.changed",
  rate_limited: "error.busy",
  session_file_missing: "error.fileMissing",
  session_in_use: "error.inUse",
  session_limit: "error.limit",
  session_not_found: "session.missing",
  shutting_down: "error.stopping",
  timeout: "error.timeout",
  too_many_pending: "error.busy",
  version_mismatch: "error.changed",
};

/** Codes with a text of the page's own in which a part of what the server says is named: what stands behind its first colon. */
const NAMING: Partial<Record<string, TextKey>> = {
  outside_roots: "error.outside",
  refused: "error.refused",
};

/** Codes with an advice of the page's own. */
const ADVICE: Partial<Record<string, TextKey>> = {
  aborted_unsaid: "error.unsaid.next",
  busy: "error.busy.next",
  circuit_open: "error.circuit.next",
  conflict: "error.changed.next",
  extension_failed: "error.extension.next",
  folder_missing: "error.folderMissing.next",
  interrupted: "error.interrupted.next",
  journal_unavailable: "error.journal.next",
  model_not_found: "error.model.next",
  outside_roots: "error.outside.next",
  queue_changed: "error.changed.next",
  rate_limited: "error.busy.next",
  session_file_missing: "error.fileMissing.next",
  session_in_use: "error.inUse.next",
  session_limit: "error.limit.next",
  session_not_found: "session.missing.next",
  shutting_down: "error.stopping.next",
  storage_failed: "error.storage.next",
  timeout: "error.timeout.next",
  too_many_pending: "error.busy.next",
  version_mismatch: "error.changed.next",
};

export function errorWords(code: string | undefined, said: Trouble): Trouble {
  const text = own(TEXTS, code) ?? own(NAMING, code, { named: said.text.replace(/^[^:]*: /, "") });
  // What is refused comes with an advice that fits it, or with a general one about ids.
  const isGeneral = code === "refused" && /\bnew id\b/.test(said.hint);
  return { text: text ?? said.text, hint: isGeneral ? t("error.refused.next") : (own(ADVICE, code) ?? said.hint) };
}

function own(table: Partial<Record<string, TextKey>>, code: string | undefined, values: Record<string, string> = {}): string | undefined {
  const key = code !== undefined && Object.hasOwn(table, code) ? table[code] : undefined;
  return key === undefined ? undefined : t(key, values);
}
