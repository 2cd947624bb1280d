// Writes modules.json from names.js: `node tests/write-modules.js`. A test compares the two.
import { writeFileSync } from "node:fs";
import names from "../names.js";

export const text = `${JSON.stringify(Object.fromEntries(Object.entries(names).map(([name, path]) => [name, `${path}.js`])), null, 2)}\n`;
if (process.argv[1]?.endsWith("write-modules.js")) writeFileSync(new URL("../modules.json", import.meta.url), text);
