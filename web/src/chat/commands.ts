/** Commands that the page does itself; all others are the server's. */
export const PAGE_COMMANDS = ["new", "model", "thinking", "name", "find", "fork", "tree", "changes", "envelope", "usage", "compact", "export", "extensions", "stop", "close", "help"] as const;

export type PageCommand = (typeof PAGE_COMMANDS)[number];

/** What they are called in a terminal. */
const ALIASES: Record<string, PageCommand> = { context: "envelope", diff: "changes", exit: "close", hotkeys: "help", quit: "close", search: "find" };

/** Commands that only a terminal has, and what leads to the same from here. */
const ELSEWHERE = { label: "command.label.elsewhere", reload: "command.reload.elsewhere", resume: "command.resume.elsewhere", trust: "command.trust.elsewhere" } as const;

/** What is said of a command that only a terminal has. */
export function elsewhere(name: string): (typeof ELSEWHERE)[keyof typeof ELSEWHERE] | undefined {
  return Object.hasOwn(ELSEWHERE, name) ? ELSEWHERE[name as keyof typeof ELSEWHERE] : undefined;
}

/** A folder as a shell takes it. */
export function quoted(folder: string): string {
  return /^[\w@%+=:,./-]+$/.test(folder) ? folder : `'${folder.replaceAll("'", "'\\''")}'`;
}

/** What the page does when something is called by this name. */
export function pageCommand(name: string): PageCommand | undefined {
  return PAGE_COMMANDS.find((own) => own === name) ?? (Object.hasOwn(ALIASES, name) ? ALIASES[name] : undefined);
}

/** The name behind a `/` at the beginning of a text, if it is one that a command, template or skill may have. A path is none. */
export function called(text: string): string | undefined {
  return /^\/(\p{L}[\p{L}\p{N}_:-]*)(?=\s|$)/u.exec(text)?.[1];
}

/** The word that is nearest to a misspelt one: a third of the letters may differ. */
export function nearest(word: string, words: readonly string[]): string | undefined {
  const near = words.map((known) => ({ known, distance: distance(word.toLowerCase(), known.toLowerCase()) }));
  const meant = near.filter(({ known, distance }) => distance <= Math.ceil(Math.max(word.length, known.length) / 3));
  return meant.sort((one, other) => one.distance - other.distance)[0]?.known;
}

/** How many letters must be put in, taken out, replaced or swapped with their neighbour to get from one word to the other. */
function distance(from: string, to: string): number {
  const rows: number[][] = [Array.from({ length: to.length + 1 }, (_, index) => index)];
  const at = (row: number, column: number) => rows[row]?.[column] ?? Number.POSITIVE_INFINITY;
  for (let row = 1; row <= from.length; row += 1) {
    rows.push([row]);
    for (let column = 1; column <= to.length; column += 1) {
      const isSame = from[row - 1] === to[column - 1];
      const isSwapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      const least = Math.min(at(row - 1, column - 1) + (isSame ? 0 : 1), at(row - 1, column) + 1, at(row, column - 1) + 1, isSwapped ? at(row - 2, column - 2) + 1 : Number.POSITIVE_INFINITY);
      rows[row]?.push(least);
    }
  }
  return at(from.length, to.length);
}
