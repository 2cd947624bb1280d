// Records what the extensions of the corpus register and do in the real Pi:
//
//   node capture.mjs CORPUS [--logs FOLDER] [WORD…]     CORPUS is the folder into which packages are fetched
//
// One fixture per extension that loads in one of the hosts; what loads in none is no row. WORDs choose extensions, and the
// fixtures of others stay as they are. Beside the fixtures lie the logs of the capture (`captured.mjs`), which are not part of the
// repository. `--logs` keeps what was seen with its texts, which neither of them holds.

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { keepCaptureLog } from "./captured.mjs";
import { HERE, entries, fileName, hosts, install, order } from "./corpus.mjs";
import { theirs } from "./effects.mjs";
import { hostTexts, legible, registration, rehearsed } from "./normal.mjs";
import { each, once } from "./run.mjs";

const { values, positionals } = parseArgs({ allowPositionals: true, options: { logs: { type: "string" } } });
const [folder, ...words] = positionals;
const missing = await install(folder);
const fixtures = join(HERE, "fixtures");
if (!words.length) rmSync(fixtures, { recursive: true, force: true });
mkdirSync(fixtures, { recursive: true });

const oracle = join(HERE, "oracle.mjs");
let waiting = entries(folder).filter(({ kind, id }) => words.every((word) => `${kind} ${id}`.includes(word)));
for (const host of hosts(folder)) {
  const [refused, silent] = [[], []];
  const texts = hostTexts(await once({ path: join(HERE, "host-texts.ts") }, ({ path }) => [host.node, oracle, host.folder, path]));
  await each(waiting, ({ path, kind, id }) => [host.node, oracle, host.folder, path, kind, id], (entry, seen, place) => {
    const folders = [...place.folders, [folder, "<corpus>"]];
    if (!seen.loaded && seen.error.startsWith("no answer")) {
      silent.push(entry);
      return;
    }
    if (!seen.loaded) {
      refused.push({ ...entry, error: seen.error.split("\n")[0].replaceAll(folder, "<corpus>") });
      return;
    }
    const told = seen.steps?.map((step, index) => theirs(seen.script[index], step));
    const traces = told && place.changes();
    keep(entry, host, registration(seen, texts, folders), told && rehearsed(told, traces, folders), seen.script);
    log(entry, { script: seen.script, told: told && legible(told, folders), traces: traces && legible(traces, folders) });
  });
  // What does not come to an end in a rehearsal is compared by what it registers.
  await each(silent, ({ path }) => [host.node, oracle, host.folder, path], (entry, seen, place) => {
    if (seen.loaded) keep(entry, host, registration(seen, texts, [...place.folders, [folder, "<corpus>"]]));
    else refused.push({ ...entry, error: seen.error.split("\n")[0].replaceAll(folder, "<corpus>") });
  });
  waiting = refused.sort((a, b) => order(a.id, b.id));
}

if (!words.length) writeFileSync(join(HERE, "unloaded.json"), `${JSON.stringify({ missing, unloaded: waiting.map((entry) => ({ ...row(entry), error: entry.error })) }, null, 1)}\n`);
for (const { name, fault } of missing) console.log(`not to be had: ${name}: ${fault}`);
for (const { kind, id, error } of waiting) console.log(`does not load in Pi: ${kind} ${id}: ${error}`);

function keep(entry, host, registration, rehearsal, script) {
  const fixture = { ...row(entry), host: host.name, registration, rehearsal };
  writeFileSync(join(fixtures, fileName(entry)), `${JSON.stringify(fixture, null, 1)}\n`);
  keepCaptureLog(entry, host, registration, script, rehearsal);
  console.log(`captured ${entry.kind} ${entry.id}`);
}

function log(entry, seen) {
  if (!values.logs) return;
  mkdirSync(values.logs, { recursive: true });
  writeFileSync(join(values.logs, fileName(entry)), `${JSON.stringify(seen, null, 1)}\n`);
}

function row({ kind, id }) {
  return { kind, id };
}
