/**
 * Blocks of a markdown text as plain data.
 *
 * A text that still grows is read by {@link Growing}: every block but the last is finished and keeps its identity, so what was drawn
 * is not drawn again and only the open end is read anew.
 */
import { type Inline, parseInline } from "./inline";

export type Align = "left" | "right" | "center" | undefined;

export type Block =
  | { type: "heading"; level: number; children: Inline[] }
  | { type: "paragraph"; children: Inline[] }
  | { type: "code"; language: string; text: string; isClosed: boolean }
  | { type: "list"; start: number | undefined; isLoose: boolean; items: Item[] }
  | { type: "quote"; blocks: Block[] }
  | { type: "table"; align: Align[]; head: Inline[][]; rows: Inline[][][] }
  | { type: "rule" }
  /** Too large or too deep to be read: shown as it is. */
  | { type: "plain"; text: string };

export interface Item {
  /** Whether it is done, if it is a task. */
  task: boolean | undefined;
  blocks: Block[];
}

/** A larger text is shown as it is. */
const LARGEST = 150_000;
/** Quotes and lists in each other; what is deeper is shown as it is. */
const DEEPEST = 16;
/** Rows of a table that are read, and cells: each of them is an element. What follows is a paragraph. */
const MOST_ROWS = 2000;
const MOST_CELLS = 20_000;

const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([^`\n]*)$/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/;
const RULE = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const QUOTE = /^ {0,3}> ?/;
const BULLET = /^( {0,3})([-*+])(?:([ \t]+)(.*)|)$/;
const NUMBER = /^( {0,3})(\d{1,9})([.)])(?:([ \t]+)(.*)|)$/;
/** Below a paragraph it makes a heading of it. */
const UNDERLINE = /^ {0,3}(?:(=+)|-+)[ \t]*$/;
const INDENTED = /^(?: {4}| {0,3}\t)/;
/** May become the number of an item, when more of it is there. */
const DIGITS = /^ {0,3}\d{1,9}$/;
const DELIMITERS = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;

export function parseBlocks(text: string): Block[] {
  return text.length > LARGEST ? [{ type: "plain", text }] : read(linesOf(text), 0).map((part) => part.block);
}

/** Lines end as they do on Windows, too. */
function linesOf(text: string): string[] {
  return text.replaceAll("\r\n", "\n").split("\n");
}

/** A text that grows at its end. */
export class Growing {
  /** Finished blocks, and the open one last; or two, where the last may still join the one before. A new array after every change; finished blocks are the same objects. */
  blocks: readonly Block[] = [];
  private finished: Block[] = [];
  private open = "";
  private length = 0;

  append(more: string): void {
    if (more === "") {
      return;
    }
    this.length += more.length;
    this.open += more;
    if (this.length > LARGEST) {
      // What was read stays; the rest is shown as it comes.
      this.blocks = [...this.finished, { type: "plain", text: this.open }];
      return;
    }
    const lines = linesOf(this.open);
    const parts = read(lines, 0);
    const mayJoin = parts.at(-2)?.block.type === "list" && lines.length - 1 === parts.at(-1)?.line && DIGITS.test(lines.at(-1) ?? "");
    const done = parts.splice(0, Math.max(0, parts.length - (mayJoin ? 2 : 1)));
    const first = parts[0];
    if (first !== undefined && done.length > 0) {
      this.finished = [...this.finished, ...done.map((part) => part.block)];
      this.open = lines.slice(first.line).join("\n");
    }
    this.blocks = [...this.finished, ...parts.map((part) => part.block)];
  }

  /** Makes it the whole text, which mostly only goes on. */
  become(text: string, before: string): void {
    if (text.startsWith(before)) {
      this.append(text.slice(before.length));
      return;
    }
    this.finished = [];
    this.open = "";
    this.length = 0;
    this.blocks = [];
    this.append(text);
  }
}

interface Part {
  block: Block;
  /** Where it begins. */
  line: number;
}

function read(lines: string[], depth: number): Part[] {
  const parts: Part[] = [];
  if (depth > DEEPEST) {
    const text = lines.join("\n").trim();
    return text === "" ? [] : [{ block: { type: "plain", text }, line: 0 }];
  }
  let at = 0;
  while (at < lines.length) {
    const line = lines[at] as string;
    if (line.trim() === "") {
      at += 1;
      continue;
    }
    const [block, next] = readBlock(lines, at, depth);
    parts.push({ block, line: at });
    at = next;
  }
  return parts;
}

function readBlock(lines: string[], at: number, depth: number): [Block, number] {
  const line = lines[at] as string;
  const fence = FENCE.exec(line);
  if (fence !== null) {
    return readFence(lines, at, fence[1] as string, (fence[2] ?? "").trim());
  }
  const heading = HEADING.exec(line);
  if (heading !== null) {
    return [{ type: "heading", level: (heading[1] as string).length, children: parseInline(heading[2] ?? "") }, at + 1];
  }
  if (RULE.test(line)) {
    return [{ type: "rule" }, at + 1];
  }
  if (QUOTE.test(line)) {
    return readQuote(lines, at, depth);
  }
  if (BULLET.test(line) || NUMBER.test(line)) {
    return readList(lines, at, depth);
  }
  if (INDENTED.test(line)) {
    return readIndented(lines, at);
  }
  const delimiters = lines[at + 1];
  if (line.includes("|") && delimiters !== undefined && DELIMITERS.test(delimiters)) {
    const head = cells(line);
    const align = cells(delimiters).map(alignment);
    if (head.length === align.length && head.length <= MOST_CELLS) {
      return readTable(lines, at, head, align);
    }
  }
  return readParagraph(lines, at);
}

function readFence(lines: string[], at: number, fence: string, info: string): [Block, number] {
  const indent = /^ */.exec(lines[at] as string)?.[0].length ?? 0;
  const close = new RegExp(`^ {0,3}\\${fence[0]}{${fence.length},}[ \\t]*$`);
  let end = at + 1;
  while (end < lines.length && !close.test(lines[end] as string)) {
    end += 1;
  }
  const body = lines.slice(at + 1, end).map((line) => line.replace(new RegExp(`^ {0,${indent}}`), ""));
  const isClosed = end < lines.length;
  const language = (info.split(/[\s{,]/)[0] ?? "").toLowerCase();
  return [{ type: "code", language, text: body.join("\n"), isClosed }, isClosed ? end + 1 : end];
}

function readIndented(lines: string[], at: number): [Block, number] {
  let end = at + 1;
  for (let next = end; next < lines.length; next += 1) {
    const line = lines[next] as string;
    if (INDENTED.test(line) && line.trim() !== "") {
      end = next + 1;
    } else if (line.trim() !== "") {
      break;
    }
  }
  const text = lines.slice(at, end).map((line) => line.replace(INDENTED, "")).join("\n");
  return [{ type: "code", language: "", text, isClosed: true }, end];
}

function readQuote(lines: string[], at: number, depth: number): [Block, number] {
  const inner: string[] = [];
  let end = at;
  while (end < lines.length) {
    const line = lines[end] as string;
    if (QUOTE.test(line)) {
      inner.push(line.replace(QUOTE, ""));
    } else if (line.trim() !== "" && inner.at(-1)?.trim() !== "" && !begins(line)) {
      inner.push(line); // A paragraph goes on without its mark.
    } else {
      break;
    }
    end += 1;
  }
  return [{ type: "quote", blocks: read(inner, depth + 1).map((part) => part.block) }, end];
}

interface Marker {
  /** What the items of one list have in common. */
  kind: string;
  start: number | undefined;
  /** How far the text of the item is indented. */
  indent: number;
  rest: string;
}

function marker(line: string): Marker | undefined {
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

function readList(lines: string[], at: number, depth: number): [Block, number] {
  const first = marker(lines[at] as string) as Marker;
  const items: string[][] = [];
  let current: string[] = [];
  let indent = first.indent;
  let isLoose = false;
  let blank = false;
  let end = at;
  while (end < lines.length) {
    const line = lines[end] as string;
    const lead = /^[ ]*/.exec(line.replace(/\t/g, "    "))?.[0].length ?? 0;
    const next = lead < indent ? marker(line) : undefined;
    if (line.trim() === "") {
      blank = true;
      current.push("");
    } else if (items.length > 0 && lead >= indent) {
      isLoose ||= blank;
      blank = false;
      current.push(line.replace(/\t/g, "    ").slice(indent));
    } else if (next !== undefined && next.kind === first.kind) {
      isLoose ||= blank;
      blank = false;
      current = [next.rest];
      items.push(current);
      indent = next.indent;
    } else if (!blank && items.length > 0 && !begins(line)) {
      current.push(line.trimStart());
    } else {
      break;
    }
    end += 1;
  }
  // Blank lines at the end belong to nobody.
  while (end > at + 1 && (lines[end - 1] as string).trim() === "") {
    end -= 1;
  }
  return [{ type: "list", start: first.start, isLoose, items: items.map((item) => readItem(item, depth)) }, end];
}

function readItem(lines: string[], depth: number): Item {
  const task = /^\[([ xX])\][ \t]+/.exec(lines[0] ?? "");
  const inner = task === null ? lines : [(lines[0] as string).slice(task[0].length), ...lines.slice(1)];
  return { task: task === null ? undefined : task[1] !== " ", blocks: read(inner, depth + 1).map((part) => part.block) };
}

function readTable(lines: string[], at: number, head: string[], align: Align[]): [Block, number] {
  const rows: Inline[][][] = [];
  let end = at + 2;
  while (end < lines.length && rows.length < MOST_ROWS && (rows.length + 1) * align.length <= MOST_CELLS) {
    const line = lines[end] as string;
    if (line.trim() === "" || !line.includes("|")) {
      break;
    }
    const found = cells(line);
    rows.push(align.map((_, column) => parseInline(found[column] ?? "")));
    end += 1;
  }
  return [{ type: "table", align, head: head.map((cell) => parseInline(cell)), rows }, end];
}

function cells(line: string): string[] {
  const bare = line.trim().replace(/^\|/, "").replace(/(?<!\\)\|$/, "");
  return bare.split(/(?<!\\)\|/).map((cell) => cell.trim().replace(/\\\|/g, "|"));
}

function alignment(cell: string): Align {
  const [left, right] = [cell.startsWith(":"), cell.endsWith(":")];
  return left && right ? "center" : right ? "right" : left ? "left" : undefined;
}

function readParagraph(lines: string[], at: number): [Block, number] {
  let end = at + 1;
  while (end < lines.length) {
    const line = lines[end] as string;
    const underline = UNDERLINE.exec(line);
    if (underline !== null) {
      return [{ type: "heading", level: underline[1] === undefined ? 2 : 1, children: parseInline(textOf(lines.slice(at, end))) }, end + 1];
    }
    if (line.trim() === "" || begins(line)) {
      break;
    }
    end += 1;
  }
  return [{ type: "paragraph", children: parseInline(textOf(lines.slice(at, end))) }, end];
}

function textOf(lines: string[]): string {
  return lines.map((line) => line.trimStart()).join("\n").trimEnd();
}

/** Whether a line begins something else than a paragraph, in the middle of one. */
function begins(line: string): boolean {
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
