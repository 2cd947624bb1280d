// Loads the extensions of the corpus in our program and compares what they register with the fixtures.
//
//   node replay.mjs CORPUS PI [--page FILE] [--logs FOLDER] [WORD…]     PI is our binary; WORDs choose extensions
//
// Fails when an example differs, or more packages than one in twenty. `--page` writes the table for readers.

import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";

import { CORPUS, HERE, entries, install, order } from "./corpus.mjs";
import { hostTexts, isSameText, registration } from "./normal.mjs";
import { page } from "./page.mjs";
import { each, once } from "./run.mjs";

/** The share of published packages that must register exactly what they register in Pi. */
const WANTED = 0.95;

/** What the process ends with where the corpus cannot be fetched. */
const UNREACHABLE = 77;

const { values, positionals } = parseArgs({ allowPositionals: true, options: { page: { type: "string" }, logs: { type: "string" } } });
const [folder, pi, ...words] = positionals;
const missing = await install(folder);
for (const { name, fault } of missing) console.log(`not to be had: ${name}: ${fault}`);
if (missing.some(({ name }) => name === CORPUS.hosts[0].pi)) process.exit(UNREACHABLE);

const known = new Map(fixtures().map((fixture) => [`${fixture.kind} ${fixture.id}`, fixture]));
const found = entries(folder).filter((entry) => known.has(key(entry)) && words.every((word) => entry.id.includes(word)));
const rows = [];
const command = (entry) => [resolve(pi), "ext", "inspect", entry.path, "--json", "--profile", "permissive"];
const texts = hostTexts(await once({ path: join(HERE, "host-texts.ts") }, command));
const judged = new Map();
const judge = (entry, seen, folders) => {
  const { registration: expected } = known.get(key(entry));
  const differences = compare(expected, registration(seen, texts, folders));
  judged.set(entry, { kind: entry.kind, id: entry.id, error: seen.error, differences, counts: counts(expected) });
  log(entry, seen, differences);
};
await each(found, command, judge);
// Those that took too long on a machine that is busy get a second chance; a real difference stays one.
await each(found.filter((entry) => judged.get(entry).differences.length), command, judge);
for (const row of judged.values()) {
  rows.push(row);
  const { differences, error } = row;
  console.log(`${differences.length ? "differs" : "equal  "} ${key(row)}${differences.length ? `\n    ${[...differences.slice(0, 5), error ?? ""].join("\n    ")}` : ""}`);
}

rows.sort((a, b) => order(a.kind, b.kind) || order(a.id, b.id));
const lost = words.length ? [] : [...known.keys()].filter((name) => !rows.some((row) => key(row) === name));
for (const name of lost) console.log(`a fixture without an extension: ${name}`);
const share = (kind) => {
  const own = rows.filter((row) => row.kind === kind);
  return { equal: own.filter((row) => row.differences.length === 0).length, all: own.length };
};
const [examples, packages] = [share("example"), share("package")];
if (values.page) writeFileSync(values.page, page(CORPUS, rows, unloaded(), examples, packages));
const good = examples.equal === examples.all && packages.equal >= packages.all * WANTED && rows.length > 0;
console.log(`examples: ${examples.equal} of ${examples.all} equal; packages: ${packages.equal} of ${packages.all} equal`);
process.exitCode = good ? 0 : 1;

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

/** Every place at which two values differ, as `path: expected … found …`. */
function compare(expected, found, path = "") {
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

function log(entry, seen, differences) {
  if (!values.logs) return;
  const file = join(values.logs, `${key(entry).replaceAll(/[^A-Za-z0-9._-]+/g, "-")}.json`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify({ id: entry.id, differences, seen }, null, 1)}\n`);
}
