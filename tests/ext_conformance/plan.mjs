// Makes the script of an extension: from what it registered, and from what `rehearsal/scripts` says of it.
//
// Every tool is called with what its schema needs, with all it allows, and once with what is not there; every command runs
// without an argument and with one; every event that it hears is fired with each payload of `rehearsal/events.json`.

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { HERE, fileName, order } from "./corpus.mjs";

const read = (name) => JSON.parse(readFileSync(join(HERE, "rehearsal", name), "utf8"));
export const SCENE = read("scene.json");
const EVENTS = read("events.json");
export const FILES = read("files.json");

/** In this order events come in a session; those of a person's and a model's doing stand between the first and the last. */
const FIRST = ["session_directory", "project_trust", "resources_discover", "session_start"];
const LAST = ["session_shutdown"];
/** Events at which somebody may be asked: fired once for each way to answer. */
const GUARDS = new Set(["tool_call", "user_bash", "session_before_switch", "session_before_fork", "session_before_compact", "session_before_tree"]);
/** Values of a word that chooses among actions. */
const ACTIONS = 12;

const [assistant, user] = [SCENE.entries[3].message, SCENE.entries[0].message];

/** What is known beforehand about an extension: own steps, arguments of commands, inputs of tools, or why it is no row. */
export function script(entry) {
  const file = join(HERE, "rehearsal/scripts", fileName(entry));
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
}

/** The scene and the steps, for the place in which they are performed. */
export function plan(registration, known, place) {
  const { before = [], commands = {}, tools = {}, events = {}, after = [], scene = {}, skip = [] } = known;
  const names = Object.keys(registration.handlers).sort((a, b) => rank(a) - rank(b));
  const fire = (wanted) => names.filter(wanted).flatMap((name) => fired(name, [...(EVENTS[name] ?? []), ...(events[name] ?? [])]));
  const steps = [
    ...fire((name) => FIRST.includes(name)),
    ...before,
    ...registration.tools.flatMap(({ name, parameters }) => inputs(parameters, tools[name]).map((input) => ({ tool: name, input, person: "agrees" }))),
    ...registration.commands.flatMap(({ name }) => ran(name, commands[name] ?? ["", "rehearsed"])),
    ...registration.shortcuts.map(({ shortcut }) => ({ shortcut, person: "agrees" })),
    ...fire((name) => !FIRST.includes(name) && !LAST.includes(name)),
    ...after,
    ...fire((name) => LAST.includes(name)),
  ];
  const isWanted = (step) => !skip.some((word) => word === (step.tool ?? step.command ?? step.fire ?? step.shortcut));
  return fill({ scene: { ...SCENE, ...scene }, steps: steps.filter(isWanted) }, place);
}

function rank(name) {
  const place = Object.keys(EVENTS).indexOf(name);
  return place < 0 ? 1000 : place;
}

function fired(name, payloads) {
  const people = GUARDS.has(name) ? ["agrees", "declines", undefined] : ["agrees"];
  return payloads.flatMap((event) => people.map((person) => ({ fire: name, event, person })));
}

function ran(command, lines) {
  const [first] = lines;
  return [...lines.map((line) => ({ command, arguments: line, person: "agrees" })), { command, arguments: first, person: "declines" }];
}

/** Words that stand for something of the scene or of the place. */
function fill(value, place) {
  if (typeof value === "string") {
    if (value === "<assistant>") return structuredClone(assistant);
    if (value === "<user>") return structuredClone(user);
    if (value === "<model>") return structuredClone(SCENE.model);
    return value.replaceAll("<cwd>", place.cwd).replaceAll("<home>", place.home);
  }
  if (Array.isArray(value)) return value.map((item) => fill(item, place));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, fill(item, place)]));
}

/** Inputs for a tool: needed members, all members, each action, and one that names nothing that exists. */
export function inputs(schema = {}, known = []) {
  const action = chooser(schema);
  const actions = action ? choices(schema.properties[action]).slice(0, ACTIONS) : [];
  const made = [
    sample(schema, { all: false, isThere: true }),
    sample(schema, { all: true, isThere: true }),
    ...actions.map((value) => ({ ...sample(schema, { all: true, isThere: true }), [action]: value })),
    sample(schema, { all: false, isThere: false }),
  ];
  const objects = [...known, ...made].map((input) => (typeof input === "object" && input !== null && !Array.isArray(input) ? input : {}));
  return [...new Map(objects.map((input) => [JSON.stringify(input), input])).values()];
}

function chooser({ properties = {} }) {
  return Object.keys(properties).find((name) => /^(action|op|operation|mode|command|subcommand)$/.test(name) && choices(properties[name]).length > 1);
}

function choices(schema) {
  if (schema?.enum) return schema.enum;
  return (schema?.anyOf ?? schema?.oneOf ?? []).filter((one) => "const" in one).map((one) => one.const);
}

function sample(schema, how, name = "") {
  if (!schema || typeof schema !== "object") return "rehearsed";
  if ("const" in schema) return schema.const;
  if (schema.enum) return schema.enum[0];
  const variants = schema.anyOf ?? schema.oneOf;
  if (variants?.length) return sample(variants[0], how, name);
  if (schema.allOf?.length) return Object.assign({}, ...schema.allOf.map((part) => sample(part, how, name)));
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  switch (type) {
    case "object": {
      const needed = new Set(schema.required ?? []);
      const members = Object.entries(schema.properties ?? {}).filter(([member]) => how.all || needed.has(member));
      return Object.fromEntries(members.sort(([a], [b]) => order(a, b)).map(([member, part]) => [member, sample(part, how, member)]));
    }
    case "array":
      return Array.from({ length: Math.max(1, schema.minItems ?? 1) }, () => sample(schema.items, how, name.replace(/s$/, "")));
    case "integer":
    case "number":
      return schema.default ?? schema.minimum ?? (schema.exclusiveMinimum === undefined ? Math.min(3, schema.maximum ?? 3) : schema.exclusiveMinimum + 1);
    case "boolean":
      return schema.default ?? false;
    case "null":
      return null;
    case "string":
      return schema.default ?? text(name, how);
    default:
      return schema.properties ? sample({ ...schema, type: "object" }, how, name) : text(name, how);
  }
}

function text(name, { isThere }) {
  if (!isThere) return /url|uri|link/i.test(name) ? "no address" : "not/there.txt";
  if (/url|uri|link/i.test(name)) return "https://rehearsal.invalid/page";
  if (/^(cwd|dir|directory|folder|root)$|Dir(ectory)?$/i.test(name)) return ".";
  if (/path|file/i.test(name)) return "README.md";
  if (/^(cmd|command|script|shell)$/i.test(name)) return "echo rehearsed";
  if (/pattern|regex|query|search|needle|oldText|find/i.test(name)) return "hello";
  if (/content|newText|replace/i.test(name)) return "goodbye";
  if (/date|time/i.test(name)) return "2030-01-01T00:00:00Z";
  return "rehearsed";
}
