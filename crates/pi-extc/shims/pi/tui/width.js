// Widths, wrapping and cutting of text with terminal escapes. Escapes take no room and stay whole.
import host from "pi:host";

const ESCAPE = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|_[^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])/g;
const AT_START = new RegExp(ESCAPE.source, "y");
const isStyle = (escape) => /^\x1b\[[0-9;:]*m$/.test(escape);
const isPlain = (text) => /^[\x20-\x7e]*$/.test(text);

/** Columns that a text takes on a terminal. A tab counts three, as where it is drawn. */
export function visibleWidth(text) {
  if (isPlain(text)) return text.length;
  const bare = text.replace(ESCAPE, "").replace(/\t/g, "   ");
  return isPlain(bare) ? bare.length : host.textWidth(bare);
}

/** Escapes and graphemes one by one, with their widths. */
export function* pieces(text) {
  let at = 0;
  while (at < text.length) {
    AT_START.lastIndex = at;
    const escape = AT_START.exec(text);
    if (escape) {
      yield { text: escape[0], width: 0, isEscape: true };
      at += escape[0].length;
      continue;
    }
    let end = text.indexOf("\x1b", at + 1);
    if (end < 0) end = text.length;
    const run = text.slice(at, end);
    if (isPlain(run)) for (const char of run) yield { text: char, width: 1, isEscape: false };
    else for (const grapheme of host.graphemes(run)) yield { text: grapheme, width: grapheme === "\t" ? 3 : host.textWidth(grapheme), isEscape: false };
    at = end;
  }
}

/** Which styles are on, so that a new line can begin with them. */
class Styles {
  #on = [];
  note(escape) {
    if (!isStyle(escape)) return;
    const codes = escape.slice(2, -1);
    if (codes === "" || codes === "0") this.#on = [];
    else {
      const group = groupOf(codes);
      this.#on = this.#on.filter((own) => groupOf(own) !== group);
      if (!/^(?:22|23|24|25|27|28|29|39|49|59)$/.test(codes)) this.#on.push(codes);
      if (codes.startsWith("0;")) this.#on = [codes.slice(2)];
    }
  }
  get codes() { return this.#on.length > 0 ? `\x1b[${this.#on.join(";")}m` : ""; }
  get isUnderlined() { return this.#on.some((codes) => codes === "4"); }
}

function groupOf(codes) {
  const first = Number(codes.split(/[;:]/)[0]);
  if ((first >= 30 && first <= 39) || (first >= 90 && first <= 97)) return "foreground";
  if ((first >= 40 && first <= 49) || (first >= 100 && first <= 107)) return "background";
  return { 1: "bold", 2: "bold", 22: "bold", 3: "italic", 23: "italic", 4: "underline", 24: "underline", 7: "inverse", 27: "inverse", 9: "strike", 29: "strike" }[first] ?? String(first);
}

/** Lines of at most `width` columns, broken between words where that is possible; styles go on across the breaks. */
export function wrapTextWithAnsi(text, width) {
  if (text === "") return [""];
  const styles = new Styles();
  const lines = [];
  for (const line of text.split("\n")) {
    const start = styles.codes;
    lines.push(...wrapLine(start + line, width, styles));
  }
  return lines;
}

function wrapLine(line, width, styles) {
  if (visibleWidth(line) <= width) {
    for (const piece of pieces(line)) if (piece.isEscape) styles.note(piece.text);
    return [line];
  }
  const lines = [];
  let [current, used] = ["", 0];
  const flush = () => {
    // Spaces before a break are not shown, and a line through them would look odd.
    lines.push(current.replace(/ +((?:\x1b\[[0-9;]*m)*)$/, "$1") + (styles.isUnderlined ? "\x1b[24m" : ""));
    current = styles.codes;
    used = 0;
  };
  for (const word of words(line)) {
    if (word.isSpace) {
      if (used + word.width > width) flush();
      else if (used > 0 || lines.length === 0) {
        current += word.text;
        used += word.width;
      }
      continue;
    }
    if (used > 0 && used + word.width > width) flush();
    for (const piece of word.pieces) {
      if (piece.isEscape) {
        styles.note(piece.text);
        current += piece.text;
        continue;
      }
      if (used + piece.width > width && used > 0) flush();
      current += piece.text;
      used += piece.width;
    }
  }
  if (used > 0 || lines.length === 0) lines.push(current);
  return lines;
}

function* words(line) {
  let word = { pieces: [], text: "", width: 0, isSpace: false };
  for (const piece of pieces(line)) {
    const isSpace = piece.text === " " || piece.text === "\t";
    if (!piece.isEscape && isSpace !== word.isSpace && word.text !== "") {
      yield word;
      word = { pieces: [], text: "", width: 0, isSpace };
    } else if (word.text === "" && !piece.isEscape) word.isSpace = isSpace;
    if (piece.isEscape && word.isSpace && word.text !== "") {
      yield word;
      word = { pieces: [], text: "", width: 0, isSpace: false };
    }
    word.pieces.push(piece);
    word.text += piece.text;
    word.width += piece.width;
  }
  if (word.text !== "") yield word;
}

/** Cuts a text that is too wide and ends it with `ellipsis`; with `pad` the result is exactly `maxWidth` wide. */
export function truncateToWidth(text, maxWidth, ellipsis = "...", pad = false) {
  const width = visibleWidth(text);
  if (width <= maxWidth) return pad ? text + " ".repeat(maxWidth - width) : text;
  const end = visibleWidth(ellipsis);
  if (end > maxWidth) return cut(ellipsis, maxWidth).text;
  const { text: head, width: used } = cut(text, maxWidth - end);
  const made = `${head}\x1b[0m${ellipsis}\x1b[0m`;
  return pad ? made + " ".repeat(Math.max(0, maxWidth - used - end)) : made;
}

function cut(text, room) {
  let [made, width] = ["", 0];
  for (const piece of pieces(text)) {
    if (width + piece.width > room) break;
    made += piece.text;
    width += piece.width;
  }
  return { text: made, width };
}

/** The columns from `start` on, `length` of them, with the styles that are on there. */
export function sliceByColumn(line, start, length) {
  const styles = new Styles();
  let [made, column] = ["", 0];
  for (const piece of pieces(line)) {
    if (piece.isEscape) {
      styles.note(piece.text);
      if (column >= start && column < start + length) made += piece.text;
      continue;
    }
    if (column >= start && column + piece.width <= start + length) made = (made === "" ? styles.codes : made) + piece.text;
    column += piece.width;
    if (column >= start + length) break;
  }
  return made;
}

/** A line filled up with spaces, on a background. */
export function applyBackgroundToLine(line, width, background) {
  return background(line + " ".repeat(Math.max(0, width - visibleWidth(line))));
}
