/** How long a tool took, and the end of what it said. */

/** 340 ms, 4.2 s, 3:05. */
export function duration(ms: number): string {
  if (ms < 1000) {
    return `${Math.round(ms)} ms`;
  }
  if (ms < 60_000) {
    return `${(ms / 1000).toFixed(1)} s`;
  }
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** The last lines of a text, and how many there are before them. */
export function tail(text: string, lines: number): { shown: string; hidden: number } {
  const trimmed = text.replace(/\n+$/, "");
  let at = trimmed.length;
  for (let count = 0; count < lines && at > 0; count += 1) {
    at = trimmed.lastIndexOf("\n", at - 1);
    if (at === -1) {
      return { shown: trimmed, hidden: 0 };
    }
  }
  let hidden = 0;
  for (let from = trimmed.indexOf("\n"); from !== -1 && from <= at; from = trimmed.indexOf("\n", from + 1)) {
    hidden += 1;
  }
  return { shown: trimmed.slice(at + 1), hidden };
}
