/**
 * Blocks of a markdown text as plain data.
 *
 * A text that still grows is read by {@link Growing}: what is finished keeps its identity, also within a block that goes on, so that
 * what was drawn is not drawn again. A text that is there as a whole is read the same way, in one step.
 */
import { type Bundles, Gathering } from "../parts/bundles";
import type { Inline } from "./inline";
import type { Align } from "./lines";
import { Content } from "./content";

export type Block =
  | { type: "heading"; level: number; children: Inline[] }
  | { type: "paragraph"; children: Bundles<Inline> }
  | { type: "code"; language: string; lines: Bundles<string>; isClosed: boolean }
  | { type: "list"; start: number | undefined; isLoose: boolean; hasTasks: boolean; items: Bundles<Item> }
  | { type: "quote"; blocks: Bundles<Block> }
  | { type: "table"; align: Align[]; head: Inline[][]; rows: Bundles<Inline[][]> }
  | { type: "rule" }
  /** Too large or too deep to be read: shown as it is. */
  | { type: "plain"; lines: Bundles<string> };

export interface Item {
  /** Whether it is done, if it is a task. */
  task: boolean | undefined;
  blocks: Bundles<Block>;
}

/** So much of a text is read; the lines behind it are shown as they are. */
const LARGEST = 150_000;

export function parseBlocks(text: string): Bundles<Block> {
  const growing = new Growing();
  growing.append(text);
  return growing.blocks;
}

/**
 * A text that grows at its end. Lines that are over are read once. The last one may change its meaning with every letter, so it is read
 * each time by a copy of what was read before it; what is finished is shared by both.
 */
export class Growing {
  private content = new Content();
  /** Where the last line begins. */
  private at = 0;
  private line = "";
  /** Lines behind what is read. */
  private rest: Gathering<string> | undefined;
  private shown: Bundles<Block> | undefined;

  append(more: string): void {
    this.shown = undefined;
    let from = 0;
    for (let end = more.indexOf("\n"); end !== -1; end = more.indexOf("\n", from)) {
      this.line += more.slice(from, end);
      this.endLine();
      from = end + 1;
    }
    this.line += more.slice(from);
  }

  /** Where nothing was added, the same array as before. */
  get blocks(): Bundles<Block> {
    this.shown ??= this.show();
    return this.shown;
  }

  private get isTooFar(): boolean {
    return this.at + this.line.length > LARGEST;
  }

  private endLine(): void {
    const line = withoutReturn(this.line);
    if (this.rest === undefined && this.isTooFar) {
      this.rest = new Gathering();
    }
    if (this.rest === undefined) {
      this.content.take(line);
    } else {
      this.rest.push(line);
    }
    this.at += this.line.length + 1;
    this.line = "";
  }

  private show(): Bundles<Block> {
    const shown = this.content.copy();
    const line = withoutReturn(this.line);
    if (this.rest !== undefined || this.isTooFar) {
      const rest = this.rest ?? new Gathering<string>();
      return shown.followed({ type: "plain", lines: rest.all(line) });
    }
    shown.take(line);
    return shown.blocks();
  }
}

/** Lines end as they do on Windows, too. */
function withoutReturn(line: string): string {
  return line.endsWith("\r") ? line.slice(0, -1) : line;
}
