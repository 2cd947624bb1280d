// Loads the extensions of the corpus in our program, rehearses them, and compares with the fixtures.
//
//   node replay.mjs CORPUS PI [--page FILE] [--logs FOLDER] [--cache FOLDER] [WORD…]
//
// PI is our binary; WORDs choose extensions. Fails below the thresholds. `--page` writes the table for readers, `--cache` keeps
// what was built for the next time, `--logs` what was seen, with its texts, and beside it the log of the host for each scenario.

import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";

import { scenario } from "./captured.mjs";
import { VARIES } from "./common.mjs";
import { CORPUS, HERE, entries, fileName, install, isMeant, order } from "./corpus.mjs";
import { ours } from "./effects.mjs";
import { hostTexts, isSameText, legible, registration, rehearsed } from "./normal.mjs";
import { page } from "./page.mjs";
import { plan, script } from "./plan.mjs";
import { each, once } from "./run.mjs";
import { assess, sums } from "./verdict.mjs";

/** What the process ends with where the corpus cannot be fetched. */
const UNREACHABLE = 77;

const { values, positionals } = parseArgs({ allowPositionals: true, options: { page: { type: "string" }, logs: { type: "string" }, cache: { type: "string" } } });
const [folder, pi, ...words] = positionals;
const missing = await install(folder);
for (const { name, fault } of missing) console.log(`not to be had: ${name}: ${fault}`);
if (missing.some(({ name }) => name === CORPUS.hosts[0].pi)) process.exit(UNREACHABLE);

const known = new Map(fixtures().map((fixture) => [`${fixture.kind} ${fixture.id}`, fixture]));
const found = entries(folder).filter((entry) => known.has(key(entry)) && isMeant(entry, words));
const inspect = (entry) => [resolve(pi), "ext", "inspect", entry.path, "--json"];
const texts = hostTexts(await once({ path: join(HERE, "host-texts.ts") }, inspect));

const planned = new Map();
const rehearse = (entry, place) => {
  const { registration: expected } = known.get(key(entry));
  const { scene, steps } = plan(expected, script(entry), place);
  const isRow = !script(entry).drawing && known.get(key(entry)).rehearsal;
  planned.set(entry, steps);
  const file = join(place.root, "script.json");
  writeFileSync(file, JSON.stringify({ scenario: scenario(entry), scene, steps: isRow ? steps : [] }));
  return [resolve(pi), "ext", "rehearse", entry.path, file];
};
const judged = new Map();
const judge = (entry, seen, place) => {
  const folders = [...place.folders, [folder, "<corpus>"]];
  const { registration: expected, rehearsal, captures } = known.get(key(entry));
  const drawing = script(entry).drawing ?? (rehearsal ? undefined : "its rehearsal does not come to an end in Pi itself");
  const steps = planned.get(entry);
  const registered = compare(expected, registration(seen, texts, folders));
  const told = seen.steps?.map((step, index) => ours(steps[index], step));
  const traces = told && place.changes();
  const behaved = drawing ? undefined : assess(steps, rehearsal, told ? rehearsed(told, traces, folders) : { steps: [], traces: {} }, compare);
  const error = (seen.error?.message ?? seen.error ?? undefined)?.replaceAll(folder, "<corpus>");
  judged.set(entry, { kind: entry.kind, id: entry.id, error, registered, behaved: behaved && { ...behaved, isTwice: captures === 2 }, drawing, counts: counts(expected) });
  keepLog(entry, place);
  log(entry, { registered, differences: behaved?.differences, steps, told: told && legible(told, folders), traces: traces && legible(traces, folders), error: seen.error });
};
if (values.cache) mkdirSync(values.cache, { recursive: true });
await each(found, rehearse, judge, values.cache && resolve(values.cache));
// On a machine that is busy those that took too long get a second chance; a real difference stays one.
await each(found.filter((entry) => hasDifference(judged.get(entry))), rehearse, judge, values.cache && resolve(values.cache));
const rows = [...judged.values()].sort((a, b) => order(a.kind, b.kind) || order(a.id, b.id));
for (const row of rows) tell(row);

const lost = words.length ? [] : [...known.keys()].filter((name) => !rows.some((row) => key(row) === name));
for (const name of lost) console.log(`a fixture without an extension: ${name}`);
const result = sums(rows);
if (values.page) writeFileSync(values.page, page(CORPUS, rows, unloaded(), result));
for (const line of result.lines) console.log(line);
process.exitCode = result.isGood && rows.length > 0 ? 0 : 1;

function tell(row) {
  const { registered, behaved, error } = row;
  const differences = [...registered, ...(behaved?.differences ?? [])];
  const steps = behaved ? ` (${behaved.equal} of ${behaved.all} steps)` : "";
  console.log(`${differences.length ? "differs" : "equal  "} ${key(row)}${steps}${differences.length ? `\n    ${[...differences.slice(0, 8), error ?? ""].join("\n    ")}` : ""}`);
}

function hasDifference({ registered, behaved }) {
  return registered.length > 0 || behaved?.differences.length > 0;
}

function fixtures() {
  const folder = join(HERE, "fixtures");
  return readdirSync(folder).map((file) => JSON.parse(readFileSync(join(folder, file), "utf8")));
}

function unloaded() {
  return JSON.parse(readFileSync(join(HERE, "unloaded.json"), "utf8"));
}

function key({ kind, id }) {
  return `${kind} ${id}`;
}

/** Every place at which two values differ, as `path: expected … found …`; not where the real Pi differs from itself. */
function compare(expected, found, path = "") {
  if (expected === VARIES) return [];
  const isTree = (value) => typeof value === "object" && value !== null;
  if (!isTree(expected) || !isTree(found) || Array.isArray(expected) !== Array.isArray(found)) {
    const isText = typeof expected === "string" && typeof found === "string";
    return (isText ? isSameText(expected, found) : Object.is(expected, found)) ? [] : [`${path}: expected ${short(expected)}, found ${short(found)}`];
  }
  const names = [...new Set([...Object.keys(expected), ...Object.keys(found)])];
  return names.flatMap((name) => compare(expected[name], found[name], path ? `${path}.${name}` : name));
}

function short(value) {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 120 ? `${text.slice(0, 117)}…` : text;
}

function counts({ handlers, tools, commands, shortcuts, flags, messageRenderers, providers }) {
  return { hooks: Object.keys(handlers).length, tools, commands, shortcuts, flags, messageRenderers, providers };
}

/** What the host wrote down of it, as `pi.ext.log.v1`. */
function keepLog(entry, { home }) {
  const folder = join(home, ".pi/agent/logs/extensions/trials");
  if (!values.logs || !existsSync(folder)) return;
  const lines = readdirSync(folder).filter((file) => file.endsWith(".jsonl")).sort().map((file) => readFileSync(join(folder, file), "utf8"));
  mkdirSync(values.logs, { recursive: true });
  writeFileSync(join(values.logs, `${scenario(entry)}.jsonl`), lines.join(""));
}

function log(entry, seen) {
  if (!values.logs) return;
  const file = join(values.logs, fileName(entry));
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(seen, null, 1)}\n`);
}
