// Differences of two texts, as people read them.

/** Lines that stay, go and come, by the longest common sequence between equal ends. */
export function compare(before, after) {
  const [a, b] = [before.split("\n"), after.split("\n")];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const [x, y] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  const middle = x.length * y.length > 4_000_000 ? [...x.map((text) => ["-", text]), ...y.map((text) => ["+", text])] : sequence(x, y);
  return [...a.slice(0, start).map((text) => [" ", text]), ...middle, ...a.slice(a.length - end).map((text) => [" ", text])];
}

function sequence(x, y) {
  const lengths = Array.from({ length: x.length + 1 }, () => new Uint32Array(y.length + 1));
  for (let i = x.length - 1; i >= 0; i--) for (let j = y.length - 1; j >= 0; j--) lengths[i][j] = x[i] === y[j] ? lengths[i + 1][j + 1] + 1 : Math.max(lengths[i + 1][j], lengths[i][j + 1]);
  const made = [];
  let [i, j] = [0, 0];
  while (i < x.length || j < y.length) {
    if (i < x.length && j < y.length && x[i] === y[j]) {
      made.push([" ", x[i++]]);
      j++;
    } else if (i < x.length && (j >= y.length || lengths[i + 1][j] >= lengths[i][j + 1])) made.push(["-", x[i++]]);
    else made.push(["+", y[j++]]);
  }
  return made;
}

/** The details of an edit: the lines that changed with four around them, numbered. */
export function diffLines(before, after, context = 4) {
  const lines = compare(before, after);
  const width = String(Math.max(before.split("\n").length, after.split("\n").length)).length;
  const isNear = lines.map((_, at) => lines.slice(Math.max(0, at - context), at + context + 1).some(([kind]) => kind !== " "));
  const shown = [];
  let [oldLine, newLine, first, isGap] = [1, 1, undefined, false];
  for (const [at, [kind, text]] of lines.entries()) {
    if (kind !== " ") first ??= newLine;
    if (isNear[at]) shown.push(`${kind}${String(kind === "+" ? newLine : oldLine).padStart(width)} ${text}`);
    else if (!isGap) shown.push(` ${" ".repeat(width)} ...`);
    isGap = !isNear[at];
    if (kind !== "+") oldLine++;
    if (kind !== "-") newLine++;
  }
  return { diff: shown.join("\n"), ...(first !== undefined && { firstChangedLine: first }) };
}

/** A diff in colours. */
export function renderDiff(text, theme) {
  return text.split("\n").map((line) => theme.fg(line.startsWith("+") ? "toolDiffAdded" : line.startsWith("-") ? "toolDiffRemoved" : "toolDiffContext", line)).join("\n");
}
