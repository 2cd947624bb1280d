// The form in which two hosts are compared: lists in the order of names, absent instead of undefined, and hashes in the
// place of texts. Fixtures are in this form, so that they hold no sentence that others wrote.

import { createHash } from "node:crypto";

import { order } from "./corpus.mjs";

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

/** What a hook, a tool or a command gave back. */
export function result(value, folders) {
  return clean(value, { long: 16, folders });
}

function clean(value, rules = {}, key) {
  if (value === null || value === undefined) return undefined;
  if (typeof value === "string") {
    if (PROSE.has(key) && rules.texts?.has(value)) return `host ${digest(value)}`;
    const text = (rules.folders ?? []).reduce((all, [path, word]) => all.replaceAll(path, word), value);
    return PROSE.has(key) || (rules.long && text.length > rules.long) ? digest(text) : text;
  }
  if (Array.isArray(value)) return value.map((item) => clean(item, rules, key) ?? null);
  if (typeof value !== "object") return value;
  const members = Object.entries(value).map(([name, item]) => [name, clean(item, rules, name)]);
  return Object.fromEntries(members.filter(([, item]) => item !== undefined).sort(([a], [b]) => order(a, b)));
}

function digest(text) {
  return `sha256:${createHash("sha256").update(text).digest("hex").slice(0, 16)}`;
}
