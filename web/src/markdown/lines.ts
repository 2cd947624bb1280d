/** What a line of markdown can begin, looked at by itself. */

export type Align = "left" | "right" | "center" | undefined;

export const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([^`\n]*)$/;
export const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/;
export const RULE = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
export const QUOTE = /^ {0,3}> ?/;
/** Below a paragraph it makes a heading of it. */
export const UNDERLINE = /^ {0,3}(?:(=+)|-+)[ \t]*$/;
export const INDENTED = /^(?: {4}| {0,3}\t)/;
export const DELIMITERS = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;
const BULLET = /^( {0,3})([-*+])(?:([ \t]+)(.*)|)$/;
const NUMBER = /^( {0,3})(\d{1,9})([.)])(?:([ \t]+)(.*)|)$/;

export function isBlank(line: string): boolean {
  return line.trim() === "";
}

/** The sign before an item of a list. */
export interface Marker {
  /** What the items of one list have in common. */
  kind: string;
  start: number | undefined;
  /** How far the text of the item is indented. */
  indent: number;
  rest: string;
}

export function marker(line: string): Marker | undefined {
  const bullet = BULLET.exec(line);
  if (bullet !== null && !RULE.test(line)) {
    return mark(bullet[2] as string, undefined, bullet[1] as string, bullet[2] as string, bullet[3], bullet[4]);
  }
  const number = NUMBER.exec(line);
  if (number !== null) {
    const sign = `${number[2]}${number[3]}`;
    return mark(number[3] as string, Number(number[2]), number[1] as string, sign, number[4], number[5]);
  }
  return undefined;
}

function mark(kind: string, start: number | undefined, lead: string, sign: string, gap = " ", rest = ""): Marker {
  // A gap of more than four is code in the item; the text then stands one after the sign.
  const width = gap.replace(/\t/g, "    ").length;
  return { kind, start, indent: lead.length + sign.length + (width > 4 ? 1 : width), rest: width > 4 ? gap.slice(1) + rest : rest };
}

/** Whether a line begins something else than a paragraph, in the middle of one. */
export function begins(line: string): boolean {
  const number = NUMBER.exec(line);
  const bullet = BULLET.exec(line);
  return (
    FENCE.test(line) ||
    HEADING.test(line) ||
    RULE.test(line) ||
    QUOTE.test(line) ||
    (bullet !== null && (bullet[4] ?? "").trim() !== "") ||
    (number !== null && number[2] === "1" && (number[5] ?? "").trim() !== "")
  );
}

export function cells(line: string): string[] {
  const bare = line.trim().replace(/^\|/, "").replace(/(?<!\\)\|$/, "");
  return bare.split(/(?<!\\)\|/).map((cell) => cell.trim().replace(/\\\|/g, "|"));
}

export function alignment(cell: string): Align {
  const [left, right] = [cell.startsWith(":"), cell.endsWith(":")];
  return left && right ? "center" : right ? "right" : left ? "left" : undefined;
}
