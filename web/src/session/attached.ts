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

/** The beginning of a message without the files in it, for a title that may be cut in the middle of one. */
export function titleOf(message: string): string {
  return (message.split(/\s*<file name="/)[0] ?? "").trim() || message;
}
