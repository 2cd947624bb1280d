// Loads one extension in the real Pi and prints what it registered, in the form of `pi ext inspect --json`.
//
//   node oracle.mjs PI ENTRY        PI is the folder of Pi's npm package
//
// The snapshot is taken after the factory and before `session_start`. Runs in a process of its own: extensions leave timers
// behind, print, and end processes.

import { writeSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [, , pi, entry] = process.argv;
const { loadExtensions } = await import(pathToFileURL(join(pi, "dist/core/extensions/loader.js")));

const { extensions, errors, runtime } = await loadExtensions([entry], process.cwd());
const [extension] = extensions;
const error = errors[0]?.error;
tell(extension ? { loaded: true, ...registered(extension, runtime) } : { loaded: false, error });

function registered(found, { pendingProviderRegistrations: providers, pendingNativeProviderRegistrations: native = [] }) {
  return {
    handlers: Object.fromEntries([...found.handlers].map(([event, list]) => [event, list.length])),
    tools: [...found.tools.values()].map(({ definition }) => definition),
    commands: [...found.commands.values()],
    shortcuts: [...found.shortcuts.values()],
    flags: [...found.flags.values()],
    messageRenderers: [...found.messageRenderers.keys()],
    providers: [...providers.map(({ name, config }) => ({ name, models: config.models ?? [] })), ...native.map(({ provider }) => ({ name: provider.id, models: [] }))],
  };
}

/** On the last line and at once: whatever the extension printed comes before, and what it started is left. */
function tell(seen) {
  writeSync(1, `\n${JSON.stringify(seen)}\n`);
  process.exit(0);
}
