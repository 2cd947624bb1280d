// Records what the extensions of the corpus register and do in the real Pi:
//
//   node capture.mjs CORPUS [--logs FOLDER] [WORD…]     CORPUS is the folder into which packages are fetched
//
// One fixture per extension that loads in one of the hosts, of what two captures have in common (`common.mjs`); what loads in
// none is no row. WORDs choose extensions, `a|b` is one of both, and the fixtures of others stay as they are. Beside the fixtures lie
// the logs of the capture (`captured.mjs`), which are not part of the repository. `--logs` keeps what was seen with its texts, which
// neither of them holds.

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { keepCaptureLog } from "./captured.mjs";
import { checkLots } from "./chance.mjs";
import { common } from "./common.mjs";
import { HERE, entries, fileName, hosts, install, isMeant } from "./corpus.mjs";
import { theirs } from "./effects.mjs";
import { hostTexts, legible, registration, rehearsed } from "./normal.mjs";
import { each, once } from "./run.mjs";

const { values, positionals } = parseArgs({ allowPositionals: true, options: { logs: { type: "string" } } });
const [folder, ...words] = positionals;
checkLots();
const missing = await install(folder);
const fixtures = join(HERE, "fixtures");
if (!words.length) rmSync(fixtures, { recursive: true, force: true });
mkdirSync(fixtures, { recursive: true });

const oracle = join(HERE, "oracle.mjs");
let waiting = entries(folder).filter((entry) => isMeant(entry, words));
for (const host of hosts(folder)) {
  const texts = hostTexts(await once({ path: join(HERE, "host-texts.ts") }, ({ path }) => [host.node, oracle, host.folder, path]));
  const rehearse = ({ path, kind, id }) => [host.node, oracle, host.folder, path, kind, id];
  const inspect = ({ path }) => [host.node, oracle, host.folder, path];
  const captures = async (asked, command, log) => {
    const found = new Map();
    await each(asked, command, (entry, seen, place) => found.set(entry, read(entry, seen, place, texts, log)));
    return found;
  };
  const first = await captures(waiting, rehearse, values.logs);
  // What does not come to an end in a rehearsal is compared by what it registers.
  const silent = waiting.filter((entry) => first.get(entry).isSilent);
  for (const entry of silent) console.log(`no rehearsal of ${entry.kind} ${entry.id}: ${first.get(entry).error}`);
  for (const [entry, seen] of await captures(silent, inspect)) first.set(entry, seen);
  const second = await captures(waiting.filter((entry) => first.get(entry).rehearsal), rehearse, values.logs && join(values.logs, "again"));
  for (const [entry, { isLoaded, registration, rehearsal, script }] of first) {
    if (!isLoaded) continue;
    const again = second.get(entry)?.rehearsal;
    if (rehearsal && !again) console.log(`captured once: ${entry.kind} ${entry.id}: ${second.get(entry).error}`);
    keep(entry, host, registration, again ? common(rehearsal, again) : rehearsal, { script, captures: again && 2 });
  }
  waiting = waiting.filter((entry) => !first.get(entry).isLoaded).map((entry) => ({ ...entry, error: first.get(entry).error }));
}

if (!words.length) writeFileSync(join(HERE, "unloaded.json"), `${JSON.stringify({ missing, unloaded: waiting.map((entry) => ({ ...row(entry), error: entry.error })) }, null, 1)}\n`);
for (const { name, fault } of missing) console.log(`not to be had: ${name}: ${fault}`);
for (const { kind, id, error } of waiting) console.log(`does not load in Pi: ${kind} ${id}: ${error}`);

function keep(entry, host, registration, rehearsal, { script, captures }) {
  const fixture = { ...row(entry), host: host.name, registration, captures, rehearsal };
  writeFileSync(join(fixtures, fileName(entry)), `${JSON.stringify(fixture, null, 1)}\n`);
  keepCaptureLog(entry, host, registration, script, rehearsal);
  console.log(`captured ${entry.kind} ${entry.id}`);
}

/** What was seen of an extension, in normal form; with its texts in the folder `log`, if there is one. */
function read(entry, seen, place, texts, log) {
  const folders = [...place.folders, [folder, "<corpus>"]];
  if (!seen.loaded) return { isSilent: seen.isSilent, error: seen.error.split("\n")[0].replaceAll(folder, "<corpus>") };
  const told = seen.steps?.map((step, index) => theirs(seen.script[index], step));
  const traces = told && place.changes();
  if (log) {
    mkdirSync(log, { recursive: true });
    const legibly = { script: seen.script, told: told && legible(told, folders), traces: traces && legible(traces, folders) };
    writeFileSync(join(log, fileName(entry)), `${JSON.stringify(legibly, null, 1)}\n`);
  }
  return { isLoaded: true, registration: registration(seen, texts, folders), rehearsal: told && rehearsed(told, traces, folders), script: seen.script };
}

function row({ kind, id }) {
  return { kind, id };
}
