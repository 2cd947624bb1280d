/** Two texts compared line by line, for a segment that says something else than before. */

export interface Line {
  what: "same" | "added" | "removed";
  text: string;
}

/** Beyond this many lines that differ, the comparison is given up: whole blocks are shown instead of a search without end. */
const MOST = 1500;

/** The lines of both texts in order. */
export function compare(before: string, after: string): Line[] {
  const [old, now] = [before.split("\n"), after.split("\n")];
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) {
    start += 1;
  }
  let [oldEnd, newEnd] = [old.length, now.length];
  while (oldEnd > start && newEnd > start && old[oldEnd - 1] === now[newEnd - 1]) {
    oldEnd -= 1;
    newEnd -= 1;
  }
  const same = (lines: string[]): Line[] => lines.map((text) => ({ what: "same", text }));
  return [
    ...same(old.slice(0, start)),
    ...middle(old.slice(start, oldEnd), now.slice(start, newEnd)),
    ...same(old.slice(oldEnd)),
  ];
}

function middle(old: string[], now: string[]): Line[] {
  const removed = (text: string): Line => ({ what: "removed", text });
  const added = (text: string): Line => ({ what: "added", text });
  if (old.length * now.length > MOST * MOST) {
    return [...old.map(removed), ...now.map(added)];
  }
  // The longest common subsequence, counted from the end so that it can be read from the beginning.
  const width = now.length + 1;
  const common = new Uint16Array((old.length + 1) * width);
  for (let row = old.length - 1; row >= 0; row -= 1) {
    for (let column = now.length - 1; column >= 0; column -= 1) {
      const at = row * width + column;
      common[at] =
        old[row] === now[column]
          ? (common[at + width + 1] as number) + 1
          : Math.max(common[at + width] as number, common[at + 1] as number);
    }
  }
  const lines: Line[] = [];
  let [row, column] = [0, 0];
  while (row < old.length && column < now.length) {
    const at = row * width + column;
    if (old[row] === now[column]) {
      lines.push({ what: "same", text: old[row] as string });
      row += 1;
      column += 1;
    } else if ((common[at + width] as number) >= (common[at + 1] as number)) {
      lines.push(removed(old[row] as string));
      row += 1;
    } else {
      lines.push(added(now[column] as string));
      column += 1;
    }
  }
  return [...lines, ...old.slice(row).map(removed), ...now.slice(column).map(added)];
}

/** Leaves out what is the same and far from any change. */
export function fold(lines: readonly Line[], around: number): (Line | { what: "gap"; count: number })[] {
  const isNear = lines.map(() => false);
  lines.forEach((line, index) => {
    if (line.what !== "same") {
      for (let near = Math.max(0, index - around); near <= Math.min(lines.length - 1, index + around); near += 1) {
        isNear[near] = true;
      }
    }
  });
  const folded: (Line | { what: "gap"; count: number })[] = [];
  lines.forEach((line, index) => {
    const last = folded.at(-1);
    if (isNear[index]) {
      folded.push(line);
    } else if (last?.what === "gap") {
      last.count += 1;
    } else {
      folded.push({ what: "gap", count: 1 });
    }
  });
  return folded;
}
