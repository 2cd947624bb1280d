/** Puts the page of all commands beside the package. What it points to is not packed, so only the words stay. */

import { readFile, writeFile } from "node:fs/promises";

const page = await readFile("../../docs/commands.md", "utf8");
await writeFile("commands.md", page.replaceAll(/\[([^\]]+)\]\((?!https?:)[^)]+\)/g, "$1"));
