// Records what the extensions of the corpus register in the real Pi: `node capture.mjs CORPUS`, CORPUS being the folder
// into which packages are fetched. One fixture per extension that loads in one of the hosts; what loads in none is no row.

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { HERE, entries, hosts, install, order } from "./corpus.mjs";
import { hostTexts, registration } from "./normal.mjs";
import { each, once } from "./run.mjs";

const [, , folder] = process.argv;
const missing = await install(folder);
const fixtures = join(HERE, "fixtures");
rmSync(fixtures, { recursive: true, force: true });
mkdirSync(fixtures);

const oracle = join(HERE, "oracle.mjs");
let waiting = entries(folder);
for (const host of hosts(folder)) {
  const refused = [];
  const texts = hostTexts(await once({ path: join(HERE, "host-texts.ts") }, (entry) => [host.node, oracle, host.folder, entry.path]));
  await each(waiting, (entry) => [host.node, oracle, host.folder, entry.path], (entry, seen, folders) => {
    if (!seen.loaded) {
      refused.push({ ...entry, error: seen.error.split("\n")[0].replaceAll(folder, "<corpus>") });
      return;
    }
    const fixture = { ...row(entry), host: host.name, registration: registration(seen, texts, folders) };
    writeFileSync(join(fixtures, `${file(entry)}.json`), `${JSON.stringify(fixture, null, 1)}\n`);
    console.log(`captured ${entry.kind} ${entry.id}`);
  });
  waiting = refused.sort((a, b) => order(a.id, b.id));
}

const unloaded = waiting.map((entry) => ({ ...row(entry), error: entry.error }));
writeFileSync(join(HERE, "unloaded.json"), `${JSON.stringify({ missing, unloaded }, null, 1)}\n`);
for (const { name, fault } of missing) console.log(`not to be had: ${name}: ${fault}`);
for (const { kind, id, error } of unloaded) console.log(`does not load in Pi: ${kind} ${id}: ${error}`);

function row({ kind, id }) {
  return { kind, id };
}

function file({ kind, id }) {
  return `${kind}-${id.replaceAll(/[^A-Za-z0-9._-]+/g, "-")}`;
}
