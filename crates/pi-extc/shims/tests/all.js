// Every test in one process, so that shims and reference packages are loaded once: `node tests/all.js`.
import { readdirSync } from "node:fs";
import { after } from "node:test";

for (const name of readdirSync(new URL("./", import.meta.url)).filter((own) => own.endsWith(".test.js")).sort()) await import(`./${name}`);
// The real packages keep something open; the code of the run is set by then.
after(() => { setTimeout(() => process.exit(), 500).unref(); });
