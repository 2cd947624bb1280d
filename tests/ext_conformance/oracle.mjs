// Loads one extension in the real Pi and prints what it registered, in the form of `pi ext inspect --json`, and what came of
// each step of its script, if it is named.
//
//   node oracle.mjs PI ENTRY [KIND ID]        PI is the folder of Pi's npm package
//
// The snapshot is taken after the factory and before `session_start`. Runs in a process of its own: extensions leave timers
// behind, print, and end processes.

import { readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { fixChance } from "./chance.mjs";
import { registration } from "./normal.mjs";
import { SCENE, plan, script } from "./plan.mjs";
import { bus, closeDoors, installModel, notebook, perform, stage } from "./stage.mjs";

const [, , pi, entry, kind, id] = process.argv;
// Extensions that start another Pi take the program from here.
process.argv[1] = join(pi, JSON.parse(readFileSync(join(pi, "package.json"), "utf8")).bin.pi);
const exit = process.exit.bind(process);
/** Between two attempts to write to a pipe that is full. */
const PIPE_MS = 5;
const notes = notebook();
const place = { cwd: process.cwd(), home: process.env.HOME };
const known = id && script({ kind, id });
const isRehearsed = Boolean(id) && !known.drawing;
let beginStep;
const { loadExtensions } = await import(pathToFileURL(join(pi, "dist/core/extensions/loader.js")));
const { createEventBus } = await import(pathToFileURL(join(pi, "dist/core/event-bus.js")));
if (isRehearsed) {
  closeDoors(notes);
  beginStep = fixChance(pi);
  await installModel(pi, SCENE, notes);
  // What is thrown where nobody waits ends no rehearsal, and neither does who wants to end the process.
  for (const way of ["uncaughtException", "unhandledRejection"]) process.on(way, () => undefined);
  process.exit = () => undefined;
}

const loaded = await loadExtensions([entry], process.cwd(), bus(createEventBus, notes));
const [extension] = loaded.extensions;
const error = loaded.errors[0]?.error;
const seen = extension ? { loaded: true, ...registered(extension, loaded.runtime) } : { loaded: false, error };
if (extension && isRehearsed) {
  const { scene, steps } = plan(registration(seen, new Set(), [[place.home, "<home>"], [place.cwd, "<cwd>"]]), known, place);
  seen.script = steps;
  seen.steps = await perform(steps, await stage(pi, loaded, scene, notes), notes, beginStep);
}
tell(seen);

function registered(found, { pendingProviderRegistrations: providers, pendingNativeProviderRegistrations: native = [] }) {
  return JSON.parse(JSON.stringify({
    handlers: Object.fromEntries([...found.handlers].map(([event, list]) => [event, list.length])),
    tools: [...found.tools.values()].map(({ definition }) => definition),
    commands: [...found.commands.values()],
    shortcuts: [...found.shortcuts.values()],
    flags: [...found.flags.values()],
    messageRenderers: [...found.messageRenderers.keys()],
    providers: [...providers.map(({ name, config }) => ({ name, models: config.models ?? [] })), ...native.map(({ provider }) => ({ name: provider.id, models: [] }))],
  }));
}

/** On the last line and at once: whatever the extension printed comes before, and what it started is left. */
function tell(seen) {
  const line = Buffer.from(`\n${JSON.stringify(seen)}\n`);
  for (let from = 0; from < line.length; ) from += written(line, from);
  exit(0);
}

/** How much of it could be written: a pipe that an extension made non-blocking takes nothing while it is full. */
function written(line, from) {
  try {
    return writeSync(1, line, from);
  } catch (error) {
    if (error.code !== "EAGAIN") throw error;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PIPE_MS);
    return 0;
  }
}
