/** A unified patch as rows, side by side, with the words that changed. */

export interface Piece {
  text: string;
  isChanged: boolean;
}

export interface Side {
  line: number;
  pieces: Piece[];
}

export type Row =
  | { type: "same"; text: string; before: number; after: number }
  /** What was removed and what stands there now; one of them is missing where lines were only removed or only added. */
  | { type: "changed"; before: Side | undefined; after: Side | undefined }
  | { type: "gap"; text: string };

export interface FilePatch {
  path: string;
  rows: Row[];
  added: number;
  removed: number;
}

/** Lines longer than this are marked as a whole. */
const LONGEST = 500;

export function parsePatch(patch: string): FilePatch[] {
  const files: FilePatch[] = [];
  let file: FilePatch | undefined;
  let [before, after] = [0, 0];
  let [left, right] = [0, 0];
  let removed: { line: number; text: string }[] = [];
  let added: { line: number; text: string }[] = [];
  const settle = () => {
    file?.rows.push(...pairs(removed, added));
    removed = [];
    added = [];
  };
  for (const line of patch.replace(/\n$/, "").split("\n")) {
    const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)$/.exec(line);
    const inHunk = left > 0 || right > 0;
    if (!inHunk && line.startsWith("--- ")) {
      settle();
      file = { path: pathOf(line.slice(4)), rows: [], added: 0, removed: 0 };
      files.push(file);
    } else if (!inHunk && line.startsWith("+++ ") && file !== undefined) {
      const path = pathOf(line.slice(4));
      file.path = path === "/dev/null" ? file.path : path;
    } else if (!inHunk && hunk !== null) {
      settle();
      file ??= push(files);
      [before, after] = [Number(hunk[1]), Number(hunk[3])];
      [left, right] = [Number(hunk[2] ?? 1), Number(hunk[4] ?? 1)];
      if (file.rows.length > 0 || before > 1) {
        file.rows.push({ type: "gap", text: (hunk[5] ?? "").trim() });
      }
    } else if (inHunk && file !== undefined && line.startsWith("-")) {
      if (added.length > 0) {
        settle();
      }
      removed.push({ line: before, text: line.slice(1) });
      [before, left, file.removed] = [before + 1, left - 1, file.removed + 1];
    } else if (inHunk && file !== undefined && line.startsWith("+")) {
      added.push({ line: after, text: line.slice(1) });
      [after, right, file.added] = [after + 1, right - 1, file.added + 1];
    } else if (inHunk && file !== undefined && !line.startsWith("\\")) {
      settle();
      file.rows.push({ type: "same", text: line.slice(1), before, after });
      [before, after, left, right] = [before + 1, after + 1, left - 1, right - 1];
    }
  }
  settle();
  return files;
}

function push(files: FilePatch[]): FilePatch {
  const file = { path: "", rows: [], added: 0, removed: 0 };
  files.push(file);
  return file;
}

function pathOf(header: string): string {
  return header.replace(/\t.*$/, "").replace(/^[ab]\//, "");
}

/** Lines that were removed and lines that stand in their place, in pairs as far as there are some. */
function pairs(removed: { line: number; text: string }[], added: { line: number; text: string }[]): Row[] {
  const rows: Row[] = [];
  for (let index = 0; index < Math.max(removed.length, added.length); index += 1) {
    const [old, now] = [removed[index], added[index]];
    const [before, after] = old !== undefined && now !== undefined ? words(old.text, now.text) : [undefined, undefined];
    rows.push({
      type: "changed",
      before: old === undefined ? undefined : { line: old.line, pieces: before ?? [{ text: old.text, isChanged: false }] },
      after: now === undefined ? undefined : { line: now.line, pieces: after ?? [{ text: now.text, isChanged: false }] },
    });
  }
  return rows;
}

/** Which words of two lines differ; nothing if they have too little in common to be told apart by words. */
export function words(before: string, after: string): [Piece[], Piece[]] | [undefined, undefined] {
  if (before.length > LONGEST || after.length > LONGEST) {
    return [undefined, undefined];
  }
  const [left, right] = [split(before), split(after)];
  const common = lcs(left, right);
  const kept = common.reduce((sum, [index]) => sum + (left[index] as string).trim().length, 0);
  if (kept * 3 < Math.max(before.trim().length, after.trim().length)) {
    return [undefined, undefined];
  }
  return [pieces(left, new Set(common.map(([index]) => index))), pieces(right, new Set(common.map(([, index]) => index)))];
}

function split(line: string): string[] {
  return line.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? [];
}

function lcs(left: string[], right: string[]): [number, number][] {
  const width = right.length + 1;
  const table = new Uint16Array((left.length + 1) * width);
  const at = (row: number, column: number) => table[row * width + column] as number;
  for (let row = left.length - 1; row >= 0; row -= 1) {
    for (let column = right.length - 1; column >= 0; column -= 1) {
      table[row * width + column] =
        left[row] === right[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1));
    }
  }
  const found: [number, number][] = [];
  let [row, column] = [0, 0];
  while (row < left.length && column < right.length) {
    if (left[row] === right[column]) {
      found.push([row, column]);
      [row, column] = [row + 1, column + 1];
    } else if (at(row + 1, column) >= at(row, column + 1)) {
      row += 1;
    } else {
      column += 1;
    }
  }
  return found;
}

function pieces(parts: string[], kept: Set<number>): Piece[] {
  const result: Piece[] = [];
  parts.forEach((text, index) => {
    const isChanged = !kept.has(index);
    const last = result.at(-1);
    if (last !== undefined && last.isChanged === isChanged) {
      last.text += text;
    } else {
      result.push({ text, isChanged });
    }
  });
  return result;
}
