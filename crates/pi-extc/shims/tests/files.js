// The shims that there are, by the path that others import them with.
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../", import.meta.url));

const ALONE = ["facade", "globals", "names"];

export function globSync(folders = ["node", "web", "pi", "typebox"]) {
  const found = folders.length > 1 ? [...ALONE] : [];
  for (const folder of folders) {
    for (const entry of readdirSync(root + folder, { withFileTypes: true })) {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) found.push(...globSync([path]));
      else if (entry.name.endsWith(".js")) found.push(path.slice(0, -3));
    }
  }
  return found;
}
