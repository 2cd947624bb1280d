// The log of a capture: what the real Pi was asked and how it answered, in the form `pi.ext.log.v1` and in the place that the
// document on extensions names, `capture/EXTENSION/SCENARIO/extension.log.jsonl`.
//
// Whatever differs from run to run is a placeholder, and an answer is there as its hash: the fixture has what it was.

import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { HERE, fileName } from "./corpus.mjs";

/** The event and the id of a step, by its kind. */
const KINDS = {
  tool: { event: "tool_call", id: "tool_call_id" },
  command: { event: "slash_command", id: "slash_command_id" },
  fire: { event: "event_hook", id: "event_id" },
  shortcut: { event: "event_hook", id: "event_id" },
};

/** The name of what is played, which is the same in every run. */
export function scenario(entry) {
  return fileName(entry).replace(/\.json$/, "");
}

/** Where the log of an extension lies. */
export function captureLog(entry) {
  return join(HERE, "capture", entry.id.replaceAll(/[^A-Za-z0-9._-]+/g, "-"), scenario(entry), "extension.log.jsonl");
}

/** Writes down what was captured of an extension; without a rehearsal only what it registered. */
export function keepCaptureLog(entry, host, registration, script = [], rehearsal) {
  const file = captureLog(entry);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, lines(entry, host, registration, script, rehearsal).map((line) => `${JSON.stringify(line)}\n`).join(""));
}

function lines(entry, host, registration, script, rehearsal) {
  const line = (event, message, ids, data) => ({
    schema: "pi.ext.log.v1",
    ts: "<ts>",
    level: "info",
    event,
    message,
    correlation: { extension_id: entry.id, scenario_id: scenario(entry), ...ids },
    source: { component: "capture", host: "<host>" },
    data,
  });
  const { tools, commands, shortcuts, flags, handlers } = registration;
  const registered = { host: host.name, tools: tools.map(({ name }) => name), commands: commands.map(({ name }) => name), shortcuts: shortcuts.map(({ shortcut }) => shortcut), flags: flags.map(({ name }) => name), handlers };
  const played = (rehearsal?.steps ?? []).flatMap((step, index) => {
    const kind = Object.keys(KINDS).find((kind) => script[index]?.[kind] !== undefined);
    if (kind === undefined) return [];
    const [{ event, id }, name] = [KINDS[kind], script[index][kind]];
    const ids = { [id]: `${kind}-${index}` };
    const ended = { name, is_error: step.error !== undefined || step.answer?.isError === true, answer_hash: hash(step.answer ?? step.error ?? null), effects: Object.keys(step.effects ?? {}) };
    return [line(`${event}.start`, `${kind} ${name}`, ids, { name }), line(`${event}.end`, `${kind} ${name}`, ids, ended)];
  });
  return [line("extension.register", "loaded in the real Pi", {}, registered), ...played];
}

function hash(value) {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex");
}
