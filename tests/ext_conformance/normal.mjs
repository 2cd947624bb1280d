// The form in which two hosts are compared: lists in the order of names, absent instead of undefined, and hashes in the
// place of texts. Fixtures are in this form, so that they hold no sentence that others wrote.

import { createHash } from "node:crypto";

import { order } from "./corpus.mjs";

/** Texts of a rehearsal that are longer than this are kept as hashes. */
const LONG = 24;

/** Members that hold the number of a process. */
const PROCESS = /^(.*Pid|pid)$/;

/** Members that hold how long something took. */
const DURATION = /^(took|elapsed|duration|executionTime|wallTime|.*(Ms|_ms|Seconds))$/i;

/** Numbers from here on are milliseconds since 1970. */
const MOMENT = 1.6e12;

/** Members whose value is prose, wherever they stand. */
const PROSE = new Set(["description", "label", "title", "promptSnippet", "errorMessage"]);

/**
 * The wording of a host's own tools, from what `host-texts.ts` registers there. Two hosts say the same in other words, so
 * an extension that passes such a text on is not compared by its letters.
 */
export function hostTexts(seen) {
  const found = new Set();
  const visit = (value) => {
    for (const [name, item] of Object.entries(value ?? {})) {
      if (typeof item === "string" && PROSE.has(name)) found.add(item);
      else if (typeof item === "object") visit(item);
    }
  };
  for (const { label, description, parameters } of seen.tools) visit({ label, description, parameters });
  return found;
}

/** Whether two texts in normal form are the same: to the letter, or both a host's own wording. */
export function isSameText(one, other) {
  const [a, b] = [one, other].map((text) => /^(host )?(sha256:.*)$/s.exec(text));
  if (!a || !b) return one === other;
  return a[2] === b[2] || Boolean(a[1] && b[1]);
}

/** What an extension registered, as `pi ext inspect --json` prints it, in a host with these texts of its own. */
export function registration(seen, texts, folders) {
  const by = (list, key, pick) => (list ?? []).map(pick).sort((a, b) => order(a[key], b[key]));
  return clean({
    loaded: seen.loaded,
    handlers: Object.fromEntries(Object.entries(seen.handlers ?? {}).sort(([a], [b]) => order(a, b))),
    tools: by(seen.tools, "name", ({ name, label, description, parameters }) => ({ name, label, description, parameters })),
    commands: by(seen.commands, "name", ({ name, description }) => ({ name, description })),
    shortcuts: by(seen.shortcuts, "shortcut", ({ shortcut, description }) => ({ shortcut, description })),
    flags: by(seen.flags, "name", ({ name, type, default: value, description }) => ({ name, type, default: value, description })),
    messageRenderers: [...(seen.messageRenderers ?? [])].sort(order),
    providers: by(seen.providers, "name", ({ name, models }) => ({ name, models: by(models, "id", ({ id, name }) => ({ id, name })) })),
  }, { texts, folders });
}

/** What came of a rehearsal: steps in the form of `effects.mjs`, and what was left in files. */
export function rehearsed(steps, { files, commits }, folders) {
  const rules = { long: LONG, folders, changing: true };
  return { steps: steps.map((step) => clean(step, rules) ?? {}), traces: clean({ files, commits }, rules) };
}

/** The same with its texts, for people who look for the reason of a difference. */
export function legible(value, folders) {
  return clean(value, { folders, changing: true });
}

/** What differs between two runs of the same program: colours, moments, days, durations, identities, processes, temporary names. */
function constant(text) {
  return text
    .replaceAll(/\u001b\[[0-9;?]*[a-zA-Z]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)/g, "")
    .replaceAll(/\b\d{4}-\d\d-\d\d[T ]\d\d[:-]\d\d([:-]\d\d)?([.-]\d+)?(Z|[+-]\d\d:?\d\d)?/g, "<moment>")
    .replaceAll(/\b\d{1,2}\/\d{1,2}\/\d{4}\b/g, "<day>")
    .replaceAll(/ext-conformance-[A-Za-z0-9]{6}/gi, "ext-conformance")
    .replaceAll(/<temporary>\/(pi-scratch-[^/]+\/)?pi-ext-[^/]+\//g, "<temporary>/")
    .replaceAll(/(<temporary>\/[\w.-]*?-)([0-9a-f]{12}|[A-Za-z0-9]{6})(?=[/"'`\s]|$)/g, "$1<chance>")
    .replaceAll(/\b(pid:? )\d+/gi, "$1<process>")
    .replaceAll(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, "<identity>")
    .replaceAll(/\b1[6-9]\d{11}\b/g, "<moment>")
    .replaceAll(/\b\d{1,2}:\d\d(:\d\d)?( ?[AP]M)?\b/g, "<clock>")
    .replaceAll(/\b\d+(\.\d+)? ?(ms|s|seconds?|milliseconds?)\b/g, "<duration>");
}

function clean(value, rules = {}, key) {
  if (value === null || value === undefined) return undefined;
  if (typeof value === "string") {
    if (PROSE.has(key) && rules.texts?.has(value)) return `host ${digest(value)}`;
    const placed = (rules.folders ?? []).reduce((all, [path, word]) => all.replaceAll(path, word), value);
    const text = rules.changing ? constant(placed) : placed;
    if (rules.changing) return rules.long && text.length > rules.long ? digest(text) : text;
    return PROSE.has(key) || (rules.long && text.length > rules.long) ? digest(text) : text;
  }
  if (Array.isArray(value)) return value.map((item) => clean(item, rules, key) ?? null);
  if (rules.changing && typeof value === "number") {
    if (value > MOMENT) return "<moment>";
    if (PROCESS.test(key)) return "<process>";
    return DURATION.test(key) ? "<duration>" : value;
  }
  if (typeof value !== "object") return value;
  const named = (name) => (rules.changing ? clean(name, { ...rules, long: undefined }) : name);
  const told = Object.entries(value).filter(([name]) => !(rules.changing && name === "stack"));
  const members = told.map(([name, item]) => [named(name), clean(item, rules, name)]);
  return Object.fromEntries(members.filter(([, item]) => item !== undefined).sort(([a], [b]) => order(a, b)));
}

function digest(text) {
  return `sha256:${createHash("sha256").update(text).digest("hex").slice(0, 16)}`;
}
