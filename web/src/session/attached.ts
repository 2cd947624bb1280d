/** Files that were named with `@` stand in a message with their text; people are shown their names. */

export interface Attached {
  name: string;
  text: string;
}

export interface Said {
  text: string;
  files: Attached[];
}

const FILE = /\n*<file name="([^"\n]*)">\n([\s\S]*?)\n?<\/file>/g;

export function saidOf(message: string): Said {
  const files: Attached[] = [];
  const text = message.replace(FILE, (_, name: string, content: string) => {
    files.push({ name, text: content });
    return "";
  });
  // A message of nothing but files is shown as it is.
  return text.trim() === "" ? { text: message, files: [] } : { text: text.trim(), files };
}

/** A message with other words, and the files that are in it. */
export function reworded(message: string, text: string): string {
  const { files } = saidOf(message);
  const written = files.length === 0 ? "" : [...message.matchAll(FILE)].map(([file]) => file).join("");
  return written === "" || written.startsWith("\n") ? text + written : `${text}\n\n${written}`;
}

/** Letters by which a message is known from others. */
const LONGEST_TITLE = 160;

/** The words of a message in one line, without the files in it; it may be cut in the middle of one. A message without words is known by its files. */
export function titleOf(message: string): string {
  const names: string[] = [];
  const words = message
    .replace(FILE, (_, name: string) => {
      names.push(name);
      return " ";
    })
    .replace(/\s*<file name="([^"\n]*)[\s\S]*$/, (_, name: string) => {
      names.push(name);
      return "";
    });
  const said = words.trim() === "" ? names.map((name) => `@${name.split(/[\\/]/).at(-1) ?? name}`).join(" ") : words;
  const title = said.trim().replace(/\s+/g, " ");
  return title.length > LONGEST_TITLE ? `${[...title.slice(0, LONGEST_TITLE)].slice(0, -1).join("")}…` : title;
}
