/**
 * What a failure is called before a person. What the server says is for programs: it names commands and ids that nobody sees here. Where it
 * names a path or another thing of which the page knows nothing, its text stays, and only the advice is the page's.
 */
import type { FailureResponse } from "pi-client";
import { t, type TextKey } from "../texts";
import type { Trouble } from "./link.svelte";

type Failure = Pick<FailureResponse, "error" | "code" | "field" | "hint" | "retryAfterMs">;

/** Codes with a text of the page's own. */
const TEXTS: Partial<Record<string, TextKey>> = {
  aborted: "error.stopped",
  aborted_unsaid: "error.unsaid",
  bash_circuit_open: "error.shellCircuit",
  busy: "error.busy",
  circuit_open: "error.circuit",
  conflict: "error.changed",
  connection_limit: "error.busy",
  forbidden: "error.forbidden",
  internal: "error.internal",
  interrupted: "error.interrupted",
  journal_unavailable: "error.journal",
  message_too_large: "error.messageTooLarge",
  no_pending_request: "error.answered",
  request_settled: "error.answered",
  not_found: "error.notFound",
  nothing_to_compact: "error.nothingToCompact",
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

/** A text of the page's own in which parts of what the server says are named. */
interface Naming {
  text: TextKey;
  parts: RegExp;
}

/** By code, the first that fits. */
const NAMING: Partial<Record<string, readonly Naming[]>> = {
  answer_refused: [{ text: "error.answerRefused", parts: /^Answer refused: (?<named>.*)$/s }],
  extension_failed: [{ text: "error.extension", parts: /^Extension (?<who>.*?) failed: (?<named>.*)$/s }],
  file_exists: [{ text: "error.fileExists", parts: /^A file is there already: (?<named>.*)$/s }],
  folder_missing: [{ text: "error.folderMissing", parts: /: the session worked in (?<named>.*)$/s }],
  model_not_found: [
    { text: "error.model", parts: /^Model not found: (?<named>\S+)$/ },
    { text: "error.modelMute", parts: /^Model not found: (?<named>\S+) does not answer with words$/ },
    { text: "error.modelKey", parts: /^Model (?<named>\S+) has no credential: set (?<keys>.*)$/s },
  ],
  outside_roots: [{ text: "error.outside", parts: /: (?<named>.*)$/s }],
  provider_failed: [{ text: "error.provider", parts: /^Provider \S+ failed: (?<named>.*)$/s }],
  refused: [
    { text: "error.nothingSaid", parts: /^Refused: nothing was said in this session yet$/ },
    { text: "error.working", parts: /^Refused: the model is at work; / },
    { text: "error.noEnvelopes", parts: /^Refused: no envelope is kept with this session$/ },
    { text: "error.refused", parts: /^Refused: (?<named>.*)$/s },
  ],
  storage_failed: [
    { text: "error.storage.write", parts: /^Session file cannot be written: (?<named>.*)$/s },
    { text: "error.storage.read", parts: /^Session file cannot be read: (?<named>.*)$/s },
  ],
};

/** Codes with an advice of the page's own. */
const ADVICE: Partial<Record<string, TextKey>> = {
  aborted_unsaid: "error.unsaid.next",
  busy: "error.busy.next",
  circuit_open: "error.circuit.next",
  conflict: "error.changed.next",
  connection_limit: "error.busy.next",
  extension_failed: "error.extension.next",
  forbidden: "error.forbidden.next",
  internal: "error.storage.next",
  message_too_large: "error.messageTooLarge.next",
  folder_missing: "error.folderMissing.next",
  interrupted: "error.interrupted.next",
  journal_unavailable: "error.journal.next",
  model_not_found: "error.model.next",
  nothing_to_compact: "error.nothingToCompact.next",
  outside_roots: "error.outside.next",
  provider_failed: "error.provider.next",
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

/** Codes whose advice names how long to wait, where that is known. */
const WAITS: Partial<Record<string, TextKey>> = {
  bash_circuit_open: "error.shellCircuit.wait",
  circuit_open: "error.circuit.wait",
};

export function errorWords({ error, code, field, hint = "", retryAfterMs }: Failure): Trouble {
  // The one field that people fill in by hand.
  if (code === "validation_failed" && field === "cwd") {
    return { text: t("error.cwd"), hint: t("error.cwd.next") };
  }
  const seconds = Math.ceil((retryAfterMs ?? 0) / 1000);
  const wait = seconds === 0 ? undefined : own(WAITS, code);
  // What is refused comes with an advice that fits it, or with a general one about ids.
  const isGeneral = code === "refused" && /\bnew id\b/.test(hint);
  const advice = wait ?? (isGeneral ? "error.refused.next" : own(ADVICE, code));
  return { text: textOf(code, error), hint: advice === undefined ? hint : t(advice, { seconds }) };
}

function textOf(code: string | undefined, said: string): string {
  const key = own(TEXTS, code);
  if (key !== undefined) {
    return t(key);
  }
  for (const { text, parts } of own(NAMING, code) ?? []) {
    const found = parts.exec(said);
    if (found !== null) {
      return t(text, found.groups ?? {});
    }
  }
  return said;
}

function own<Entry>(table: Partial<Record<string, Entry>>, code: string | undefined): Entry | undefined {
  return code !== undefined && Object.hasOwn(table, code) ? table[code] : undefined;
}
