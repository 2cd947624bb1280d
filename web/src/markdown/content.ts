/**
 * Reads blocks line by line: those of a text, and those within a quote or an item of a list.
 *
 * No line is looked at twice. A block that may go on is an {@link Open}; it takes up lines until one comes that is not its own. What is
 * written here ends in the same blocks however the lines were given.
 */
import { Gathering, type Bundles } from "../parts/bundles";
import type { Block, Item } from "./blocks";
import { type Inline, InlineReading, parseInline } from "./inline";
import { type Align, alignment, begins, cells, DELIMITERS, FENCE, HEADING, INDENTED, isBlank, type Marker, marker, QUOTE, RULE, UNDERLINE } from "./lines";

/** Quotes and lists in each other; what is deeper is shown as it is. */
const DEEPEST = 16;
/** Rows of a table that are read, and cells: each of them is an element. What follows is a paragraph. */
const MOST_ROWS = 2000;
const MOST_CELLS = 20_000;

interface Open {
  /** The block as it goes on with this line: itself, or what the line makes of it. Undefined if the line belongs to what follows. */
  take(line: string): Open | undefined;
  block(): Block;
  /** Another one that goes on by itself. */
  copy(): Open;
  /** Whether a blank line would be part of its text. */
  readonly isVerbatim: boolean;
}

/** Where a reading stands: how deep, and with what is remembered of the text at its end. */
interface Place {
  depth: number;
  inlines: InlineReading;
}

export class Content {
  /** Whether a blank line stands between two of its blocks. */
  hasGap = false;
  private finished = new Gathering<Block>();
  private open: Open | undefined;
  private isAfterBlank = false;

  constructor(private readonly place: Place = { depth: 0, inlines: new InlineReading() }) {}

  get isVerbatim(): boolean {
    return this.open?.isVerbatim === true;
  }

  take(line: string): void {
    const isOver = isBlank(line);
    const next = this.open?.take(line);
    if (next !== undefined) {
      this.open = next;
    } else {
      this.close();
      if (!isOver) {
        this.hasGap ||= this.isAfterBlank && this.finished.count > 0;
        this.open = begin(line, this.place);
      }
    }
    this.isAfterBlank = isOver && !this.isVerbatim;
  }

  blocks(): Bundles<Block> {
    return this.open === undefined ? this.finished.all() : this.finished.all(this.open.block());
  }

  /** The blocks, and one behind them. */
  followed(block: Block): Bundles<Block> {
    return this.open === undefined ? this.finished.all(block) : this.finished.all(this.open.block(), block);
  }

  copy(): Content {
    const copy = twin(this);
    copy.finished = this.finished.copy();
    copy.open = this.open?.copy();
    return copy;
  }

  private close(): void {
    if (this.open !== undefined) {
      this.finished.push(this.open.block());
      this.open = undefined;
    }
  }
}

function begin(line: string, place: Place): Open {
  if (place.depth > DEEPEST) {
    return new Kept(line.trimStart(), "all");
  }
  const fence = FENCE.exec(line);
  if (fence !== null) {
    return new Fence(line, fence[1] as string, (fence[2] ?? "").trim());
  }
  const heading = HEADING.exec(line);
  if (heading !== null) {
    return new Whole({ type: "heading", level: (heading[1] as string).length, children: parseInline(heading[2] ?? "") });
  }
  if (RULE.test(line)) {
    return new Whole({ type: "rule" });
  }
  if (QUOTE.test(line)) {
    return new Quote(line, place);
  }
  const first = marker(line);
  if (first !== undefined) {
    return new List(first, place);
  }
  if (INDENTED.test(line)) {
    return new Kept(line, "indented");
  }
  return new Paragraph(line, place);
}

/** A copy with the same fields. Those that change in place have to be copied by whoever asks for it. */
function twin<T extends object>(one: T): T {
  return Object.assign(Object.create(Object.getPrototypeOf(one) as object) as T, one);
}

/** A block that never goes on. */
class Whole implements Open {
  readonly isVerbatim = false;

  constructor(private readonly whole: Block) {}

  take(): undefined {
    return undefined;
  }

  block(): Block {
    return this.whole;
  }

  copy(): Whole {
    return this;
  }
}

class Fence implements Open {
  private lines = new Gathering<string>();
  private isClosed = false;
  private readonly close: RegExp;
  private readonly indent: RegExp;
  private readonly language: string;

  constructor(line: string, fence: string, info: string) {
    this.close = new RegExp(`^ {0,3}\\${fence[0]}{${fence.length},}[ \\t]*$`);
    this.indent = new RegExp(`^ {0,${/^ */.exec(line)?.[0].length ?? 0}}`);
    this.language = (info.split(/[\s{,]/)[0] ?? "").toLowerCase();
  }

  get isVerbatim(): boolean {
    return !this.isClosed;
  }

  take(line: string): Fence | undefined {
    if (this.isClosed) {
      return undefined;
    }
    if (this.close.test(line)) {
      this.isClosed = true;
    } else {
      this.lines.push(line.replace(this.indent, ""));
    }
    return this;
  }

  block(): Block {
    return { type: "code", language: this.language, lines: this.lines.all(), isClosed: this.isClosed };
  }

  copy(): Fence {
    const copy = twin(this);
    copy.lines = this.lines.copy();
    return copy;
  }
}

/** Lines that are kept as they are: those of indented code, or all. Blank ones at the end belong to nobody. */
class Kept implements Open {
  readonly isVerbatim = false;
  private lines = new Gathering<string>();
  private blank = new Gathering<string>();

  constructor(
    line: string,
    private readonly which: "indented" | "all",
  ) {
    this.lines.push(this.bare(line));
  }

  take(line: string): Kept | undefined {
    if (isBlank(line)) {
      this.blank.push(this.bare(line));
      return this;
    }
    if (this.which === "indented" && !INDENTED.test(line)) {
      return undefined;
    }
    if (this.blank.count > 0) {
      this.blank.all().flat().forEach((one) => this.lines.push(one));
      this.blank = new Gathering();
    }
    this.lines.push(this.bare(line));
    return this;
  }

  block(): Block {
    const lines = this.lines.all();
    return this.which === "indented" ? { type: "code", language: "", lines, isClosed: true } : { type: "plain", lines };
  }

  copy(): Kept {
    const copy = twin(this);
    copy.lines = this.lines.copy();
    copy.blank = this.blank.copy();
    return copy;
  }

  private bare(line: string): string {
    return this.which === "indented" ? line.replace(INDENTED, "") : line;
  }
}

class Quote implements Open {
  readonly isVerbatim = false;
  private content: Content;
  private isAfterBlank = false;

  constructor(line: string, place: Place) {
    this.content = new Content({ ...place, depth: place.depth + 1 });
    this.take(line);
  }

  take(line: string): Quote | undefined {
    if (QUOTE.test(line)) {
      this.add(line.replace(QUOTE, ""));
    } else if (!isBlank(line) && !this.isAfterBlank && !begins(line)) {
      this.add(line); // A paragraph goes on without its mark.
    } else {
      return undefined;
    }
    return this;
  }

  block(): Block {
    return { type: "quote", blocks: this.content.blocks() };
  }

  copy(): Quote {
    const copy = twin(this);
    copy.content = this.content.copy();
    return copy;
  }

  private add(line: string): void {
    this.content.take(line);
    this.isAfterBlank = isBlank(line);
  }
}

/** As wide as the box of a task. */
const BEHIND_BOX = /^ {4}/;

/** The item of a list that is written last. */
class OpenItem {
  readonly task: boolean | undefined;
  content: Content;
  /** Whether what is in a task begins as far in as its words, behind the box; nothing until something is in it. */
  private isBehindBox: boolean | undefined;

  constructor(rest: string, place: Place) {
    const task = /^\[([ xX])\][ \t]+/.exec(rest);
    this.task = task === null ? undefined : task[1] !== " ";
    this.content = new Content({ ...place, depth: place.depth + 1 });
    this.content.take(task === null ? rest : rest.slice(task[0].length));
  }

  /** A line below the first. A list in a task is often written below the words, which would make code of it. */
  take(line: string): void {
    if (this.task !== undefined && !isBlank(line)) {
      this.isBehindBox ??= BEHIND_BOX.test(line) && marker(line.trimStart()) !== undefined;
    }
    this.content.take(this.isBehindBox === true ? line.replace(BEHIND_BOX, "") : line);
  }

  item(): Item {
    return { task: this.task, blocks: this.content.blocks() };
  }

  copy(): OpenItem {
    const copy = twin(this);
    copy.content = this.content.copy();
    return copy;
  }
}

/** It is loose as soon as a blank line stands between two of its items, or between two blocks of one of them; not deeper. */
class List implements Open {
  private finished = new Gathering<Item>();
  private current: OpenItem;
  private indent: number;
  private isLoose = false;
  private hasTasks: boolean;
  private isAfterBlank = false;
  /** Whether that blank line parts items, and is not in the middle of code. */
  private isParted = false;

  constructor(
    private readonly first: Marker,
    private readonly place: Place,
  ) {
    this.indent = first.indent;
    this.current = new OpenItem(first.rest, place);
    this.hasTasks = this.current.task !== undefined;
  }

  get isVerbatim(): boolean {
    return this.current.content.isVerbatim;
  }

  take(line: string): List | undefined {
    if (isBlank(line)) {
      this.isAfterBlank = true;
      this.isParted ||= !this.isVerbatim;
      this.current.take("");
      return this;
    }
    const spaced = line.replace(/\t/g, "    ");
    const lead = /^ */.exec(spaced)?.[0].length ?? 0;
    const next = lead < this.indent ? marker(line) : undefined;
    if (lead >= this.indent) {
      this.current.take(spaced.slice(this.indent));
    } else if (next?.kind === this.first.kind) {
      this.begin(next);
    } else if (!this.isAfterBlank && !begins(line)) {
      this.current.take(line.trimStart());
    } else {
      return undefined;
    }
    this.isAfterBlank = false;
    this.isParted = false;
    return this;
  }

  block(): Block {
    const { first, hasTasks, current } = this;
    const isLoose = this.isLoose || current.content.hasGap;
    return { type: "list", start: first.start, isLoose, hasTasks, items: this.finished.all(current.item()) };
  }

  copy(): List {
    const copy = twin(this);
    copy.finished = this.finished.copy();
    copy.current = this.current.copy();
    return copy;
  }

  private begin(next: Marker): void {
    this.isLoose ||= this.isParted || this.current.content.hasGap;
    this.finished.push(this.current.item());
    this.current = new OpenItem(next.rest, this.place);
    this.indent = next.indent;
    this.hasTasks ||= this.current.task !== undefined;
  }
}

class Table implements Open {
  readonly isVerbatim = false;
  private rows = new Gathering<Inline[][]>();
  private readonly head: Inline[][];

  constructor(
    head: string[],
    private readonly align: Align[],
  ) {
    this.head = head.map((cell) => parseInline(cell));
  }

  take(line: string): Table | undefined {
    const { rows, align } = this;
    if (!line.includes("|") || rows.count >= MOST_ROWS || (rows.count + 1) * align.length > MOST_CELLS) {
      return undefined;
    }
    const found = cells(line);
    rows.push(align.map((_, column) => parseInline(found[column] ?? "")));
    return this;
  }

  block(): Block {
    return { type: "table", align: this.align, head: this.head, rows: this.rows.all() };
  }

  copy(): Table {
    const copy = twin(this);
    copy.rows = this.rows.copy();
    return copy;
  }
}

class Paragraph implements Open {
  readonly isVerbatim = false;
  private text: string;
  private isOneLine = true;
  /** What was made of it last, by itself or by one of its copies: a paragraph is asked again and again before it is over. */
  private readonly made: { text?: string; block?: Block } = {};

  constructor(
    private readonly first: string,
    private readonly place: Place,
  ) {
    this.text = first.trimStart();
  }

  take(line: string): Open | undefined {
    const table = this.isOneLine ? tableOf(this.first, line) : undefined;
    if (table !== undefined) {
      return table;
    }
    const underline = UNDERLINE.exec(line);
    if (underline !== null) {
      return new Whole({ type: "heading", level: underline[1] === undefined ? 2 : 1, children: parseInline(this.text.trimEnd()) });
    }
    if (isBlank(line) || begins(line)) {
      return undefined;
    }
    this.text += `\n${line.trimStart()}`;
    this.isOneLine = false;
    return this;
  }

  block(): Block {
    const { made, text } = this;
    if (made.block === undefined || made.text !== text) {
      made.text = text;
      made.block = { type: "paragraph", children: this.place.inlines.read(text.trimEnd()) };
    }
    return made.block;
  }

  copy(): Paragraph {
    return twin(this);
  }
}

function tableOf(line: string, delimiters: string): Table | undefined {
  if (!line.includes("|") || !DELIMITERS.test(delimiters)) {
    return undefined;
  }
  const head = cells(line);
  const align = cells(delimiters).map(alignment);
  return head.length === align.length && head.length <= MOST_CELLS ? new Table(head, align) : undefined;
}
