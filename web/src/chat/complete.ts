/** What the editor offers while one types: commands after `/` at the beginning, files after `@`. */

export interface Completion {
  /** What is put into the text. */
  insert: string;
  label: string;
  detail: string;
  /** Whether one goes on typing right after it, as in a folder. */
  goesOn: boolean;
}

export interface Trigger {
  kind: "command" | "file";
  /** Where the word begins, its sign included. */
  from: number;
  word: string;
}

/** What is being completed at a place in a text, if anything is. */
export function triggerAt(text: string, cursor: number): Trigger | undefined {
  const before = text.slice(0, cursor);
  const command = /^\/(\S*)$/.exec(before);
  if (command !== null) {
    return { kind: "command", from: 0, word: command[1] ?? "" };
  }
  const file = /(?:^|\s)(@"([^"\n]*)|@(\S*))$/.exec(before);
  return file === null ? undefined : { kind: "file", from: before.length - (file[1] ?? "").length, word: file[2] ?? file[3] ?? "" };
}

/** What names a file in a message: with quotes if there is a blank in it. */
export function mention(path: string): string {
  return /\s/.test(path) ? `@"${path}"` : `@${path}`;
}

/** The text with the word replaced, and where the cursor stands then. */
export function complete(text: string, cursor: number, trigger: Trigger, chosen: Completion): { text: string; cursor: number } {
  const inserted = chosen.insert + (chosen.goesOn ? "" : " ");
  // A quote that closed what was typed so far.
  const rest = text.startsWith('@"', trigger.from) ? text.slice(cursor).replace(/^"/, "") : text.slice(cursor);
  const isInQuotes = chosen.goesOn && inserted.endsWith('"');
  return { text: text.slice(0, trigger.from) + inserted + rest, cursor: trigger.from + inserted.length - (isInQuotes ? 1 : 0) };
}

/** Those that fit a word: first those that begin with it, then those that hold it. */
export function matching(all: readonly Completion[], word: string): Completion[] {
  const wanted = word.toLowerCase();
  const rank = (one: Completion) => {
    const name = one.label.toLowerCase();
    return name.startsWith(wanted) ? 0 : name.includes(wanted) ? 1 : 2;
  };
  return all.filter((one) => rank(one) < 2).sort((one, other) => rank(one) - rank(other));
}
