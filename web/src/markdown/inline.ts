/**
 * Text within a block: emphasis, code, links. The result is a tree of plain data; whoever draws it makes nodes of it, so nothing
 * that a model, a file or a tool wrote is ever read as markup.
 */
import { type Bundles, Gathering } from "../parts/bundles";

export type Inline =
  | { type: "text"; text: string }
  | { type: "code"; text: string }
  | { type: "strong" | "em" | "strike"; children: Inline[] }
  | { type: "link"; href: string; children: Inline[]; isPicture?: true }
  | { type: "break" };

/** Deeper nesting than this is shown as it was written: whoever draws it goes as deep, and has no more room than a call stack. */
const DEEPEST = 12;
/** What stands behind so much text is not searched for marks: nobody emphasises so late, and looking costs. */
const LONGEST = 40_000;
/** It is drawn in pieces, so that only the last one changes when it grows. */
const PIECE = 4096;
/** An address behind the words of a link, with its title. */
const LONGEST_TARGET = 4096;
const MARKS = /[\\`*_~[\]!<&\n]|https?:\/\//g;
const PUNCTUATION = /[\p{P}\p{S}]/u;
/** Who writes these puts no blanks between words, so that marks stand right beside letters. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\u3000-\u303f\uff00-\uffef]/u;
/** The full width punctuation and the quotes of a text around it end an address that nobody marked. */
const WIDE = "\\u2014\\u2018-\\u201f\\u2026\\u3000-\\u303f\\uff01-\\uff0f\\uff1a-\\uff20\\uff3b-\\uff40\\uff5b-\\uff65";
const ADDRESS = new RegExp(`^https?://[^\\s<>"'\`${WIDE}]*[^\\s<>"'\`.,;:!?)\\]}*_~${WIDE}]`);
const ENTITY = /^&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-zA-Z]{2,8}));/;
/** Those that models write. */
const ENTITIES: Readonly<Record<string, string>> = {
  amp: "&",
  apos: "'",
  bull: "•",
  copy: "©",
  deg: "°",
  emsp: "\u2003",
  ensp: "\u2002",
  ge: "≥",
  gt: ">",
  hellip: "…",
  larr: "←",
  laquo: "«",
  ldquo: "“",
  le: "≤",
  lsquo: "‘",
  lt: "<",
  mdash: "—",
  middot: "·",
  nbsp: "\u00a0",
  ndash: "–",
  ne: "≠",
  plusmn: "±",
  quot: '"',
  raquo: "»",
  rarr: "→",
  rdquo: "”",
  reg: "®",
  rsquo: "’",
  times: "×",
  trade: "™",
};

interface Delimiter {
  type: "delimiter";
  mark: string;
  count: number;
  canOpen: boolean;
  canClose: boolean;
}

interface Bracket {
  type: "bracket";
  isImage: boolean;
}

type Piece = Inline | Delimiter | Bracket;

/** How deep the pieces are that have others in them. */
type Depths = Map<Piece, number>;
/** Where pieces end in the text. */
type Ends = Map<Piece, number>;

export function parseInline(text: string): Inline[] {
  return new InlineReading().read(text).flat();
}

/**
 * Reads texts one after the other, which mostly go on where the one before ended. What is made of a text depends on that text alone;
 * how long it takes depends on what is new in it, and on how far back a mark stands that waits for its partner.
 */
export class InlineReading {
  /** What no text that follows can change, and the text that it was made of. */
  private finished = new Gathering<Inline>();
  private known = "";

  read(text: string): Bundles<Inline> {
    const marked = text.slice(0, cut(text, LONGEST));
    if (!marked.startsWith(this.known)) {
      this.finished = new Gathering();
      this.known = "";
    }
    const { done, rest, upTo } = new Reader(marked, this.known.length).read();
    done.forEach((node) => this.finished.push(node));
    this.known = marked.slice(0, upTo);
    for (let at = marked.length; at < text.length; ) {
      const end = cut(text, at + PIECE);
      rest.push({ type: "text", text: text.slice(at, end) });
      at = end;
    }
    return this.finished.all(...rest);
  }
}

/** Where a text can be cut at this place or right before it: not within a letter. */
function cut(text: string, at: number): number {
  const before = text.charCodeAt(at - 1);
  return at < text.length && before >= 0xd800 && before <= 0xdbff ? at - 1 : at;
}

/** The address of a link if it leads to where a link may lead. */
export function safeAddress(address: string): string | undefined {
  return /^(https?:\/\/|mailto:)[^\s]+$/i.test(address) ? address : undefined;
}

interface Found {
  /** What stays as it is whatever follows, and where the text behind it begins. */
  done: Inline[];
  upTo: number;
  rest: Inline[];
}

class Reader {
  private at: number;
  private readonly pieces: Piece[] = [];
  /** Places of brackets that wait for their end, among the pieces. */
  private readonly brackets: number[] = [];
  /** Lengths of backtick runs that have no end; looked for once. */
  private readonly unclosed = new Set<number>();

  /** How deep what was put around something is. */
  private readonly depths: Depths = new Map();
  /** Where a piece ends that is no text. */
  private readonly ends: Ends = new Map();
  /** What reaches to here may have another meaning when the text goes on. */
  private doubtful = Number.POSITIVE_INFINITY;

  /** What stands before that place has no mark that waits. */
  constructor(
    private readonly text: string,
    private readonly from: number,
  ) {
    this.at = from;
  }

  read(): Found {
    const { text } = this;
    while (this.at < text.length) {
      MARKS.lastIndex = this.at;
      const found = MARKS.exec(text);
      const next = found === null ? text.length : found.index;
      if (next > this.at) {
        this.say(text.slice(this.at, next));
        this.at = next;
      }
      if (found !== null) {
        this.readMark();
      }
    }
    const waiting = this.pieces[this.brackets[0] ?? -1];
    if (waiting !== undefined) {
      this.doubt(this.ends.get(waiting) ?? 0);
    }
    const pieces = emphasise(this.pieces, this.depths, this.ends);
    const { count, upTo } = this.finished(pieces);
    return { done: spelled(pieces.slice(0, count)), rest: spelled(pieces.slice(count)), upTo };
  }

  /** How many pieces are finished. Behind the last of them stands a blank: no mark or address before it goes on. */
  private finished(pieces: readonly Piece[]): { count: number; upTo: number } {
    let found = { count: 0, upTo: this.from };
    for (const [index, piece] of pieces.entries()) {
      if (piece.type === "delimiter" || piece.type === "bracket") {
        break;
      }
      const end = this.ends.get(piece);
      if (end === undefined) {
        continue;
      }
      if (end >= this.doubtful) {
        break;
      }
      if (/\s/.test(this.text[end] ?? "")) {
        found = { count: index + 1, upTo: end };
      }
    }
    return found;
  }

  /** Adds a piece that is no text, which ends here. */
  private add(piece: Piece): void {
    this.pieces.push(piece);
    this.ends.set(piece, this.at);
  }

  private doubt(place: number): void {
    this.doubtful = Math.min(this.doubtful, place);
  }

  private say(text: string): void {
    const last = this.pieces.at(-1);
    if (last?.type === "text") {
      last.text += text;
    } else {
      this.pieces.push({ type: "text", text });
    }
  }

  private readMark(): void {
    const { text } = this;
    const mark = text[this.at] as string;
    switch (mark) {
      case "\\":
        return this.readEscape();
      case "`":
        return this.readCode();
      case "*":
      case "_":
      case "~":
        return this.readDelimiter(mark);
      case "[":
        return this.openBracket(false);
      case "!":
        return text[this.at + 1] === "[" ? this.openBracket(true) : this.take(1);
      case "]":
        return this.closeBracket();
      case "<":
        return this.readAngle();
      case "&":
        return this.readEntity();
      case "\n":
        return this.readBreak();
      default:
        return this.readAddress();
    }
  }

  private take(length: number): void {
    this.say(this.text.slice(this.at, this.at + length));
    this.at += length;
  }

  private readEscape(): void {
    const next = this.text[this.at + 1];
    if (next === "\n") {
      this.at += 2;
      this.add({ type: "break" });
    } else if (next !== undefined && /[!-/:-@[-`{-~]/.test(next)) {
      this.say(next);
      this.at += 2;
    } else {
      this.take(1);
    }
  }

  private readCode(): void {
    const { text } = this;
    const run = /^`+/.exec(text.slice(this.at, this.at + 64))?.[0] ?? "`";
    if (!this.unclosed.has(run.length)) {
      for (let end = text.indexOf(run, this.at + run.length); end !== -1; ) {
        let after = end;
        while (text[after] === "`") {
          after += 1;
        }
        if (after - end === run.length) {
          const code = text.slice(this.at + run.length, end).replace(/\n/g, " ");
          const bare = /^ .*[^ ].* $/s.test(code) ? code.slice(1, -1) : code;
          this.at = after;
          return this.add({ type: "code", text: bare });
        }
        end = text.indexOf(run, after);
      }
      this.unclosed.add(run.length);
    }
    this.doubt(this.at);
    this.take(run.length);
  }

  private readDelimiter(mark: string): void {
    const { text } = this;
    let end = this.at;
    while (text[end] === mark) {
      end += 1;
    }
    const count = end - this.at;
    if (mark === "~" && count !== 2) {
      return this.take(count);
    }
    const before = text[this.at - 1] ?? " ";
    const after = text[end] ?? " ";
    const isLeft = !/\s/.test(after) && (!PUNCTUATION.test(after) || /\s/.test(before) || PUNCTUATION.test(before) || UNSPACED.test(before));
    const isRight = !/\s/.test(before) && (!PUNCTUATION.test(before) || /\s/.test(after) || PUNCTUATION.test(after) || UNSPACED.test(after));
    const isWord = mark === "_";
    this.at = end;
    this.add({
      type: "delimiter",
      mark,
      count,
      canOpen: isLeft && (!isWord || !isRight || PUNCTUATION.test(before)),
      canClose: isRight && (!isWord || !isLeft || PUNCTUATION.test(after)),
    });
  }

  private openBracket(isImage: boolean): void {
    this.brackets.push(this.pieces.length);
    this.at += isImage ? 2 : 1;
    this.add({ type: "bracket", isImage });
  }

  private closeBracket(): void {
    const open = this.brackets.pop();
    // An address with one level of brackets in it, and a title that nobody is shown.
    const target = /^\]\(\s*<?([^\s<>()]*(?:\([^\s()]*\)[^\s<>()]*)*)>?(?:\s+(?:"[^"]*"|'[^']*'))?\s*\)/.exec(
      this.text.slice(this.at, this.at + LONGEST_TARGET),
    );
    if (open === undefined || target === null) {
      if (open !== undefined) {
        this.spell(open);
      }
      return this.take(1);
    }
    const { isImage } = this.pieces[open] as Bracket;
    const inner = this.pieces.splice(open).slice(1);
    const children = spelled(emphasise(inner, this.depths, this.ends));
    const href = safeAddress(target[1] ?? "");
    const depth = depthOf(children, this.depths) + 1;
    this.at += target[0].length;
    // What stands between brackets is no place to begin at.
    children.forEach((child) => this.ends.delete(child));
    if (depth > DEEPEST) {
      this.pieces.push({ type: "text", text: isImage ? "![" : "[" }, ...children, { type: "text", text: target[0] });
    } else if (href === undefined) {
      // It leads nowhere that a link may lead: the words stand as they are, with the address for whoever looks.
      this.pieces.push(...children, { type: "text", text: ` (${target[1] ?? ""})` });
    } else {
      // Pictures of elsewhere are not fetched: whoever wants to see one follows the link.
      const words: Inline[] = children.length > 0 ? children : [{ type: "text", text: href }];
      const made: Inline = { type: "link", href, children: words, ...(isImage ? { isPicture: true as const } : {}) };
      this.depths.set(made, depth);
      this.add(made);
    }
  }

  /** A bracket that is no link after all, unless its address is still to come. */
  private spell(place: number): void {
    const bracket = this.pieces[place] as Bracket;
    const next = this.text[this.at + 1];
    if ((next === undefined || next === "(") && this.text.length - this.at < LONGEST_TARGET) {
      this.doubt(this.ends.get(bracket) ?? 0);
    }
    if (this.brackets.length === 0) {
      this.pieces.slice(place).forEach((piece) => this.ends.delete(piece));
    }
    this.pieces[place] = { type: "text", text: bracket.isImage ? "![" : "[" };
  }

  private readAngle(): void {
    const found = /^<((?:https?:\/\/|mailto:)[^\s<>]+)>/i.exec(this.text.slice(this.at, this.at + 2048));
    const href = found?.[1] === undefined ? undefined : safeAddress(found[1]);
    if (found === null || href === undefined) {
      return this.take(1);
    }
    this.at += found[0].length;
    this.add({ type: "link", href, children: [{ type: "text", text: href }] });
  }

  private readAddress(): void {
    const found = ADDRESS.exec(this.text.slice(this.at, this.at + 2048));
    const href = found === null ? undefined : safeAddress(found[0]);
    if (found === null || href === undefined || this.brackets.length > 0) {
      return this.take(4);
    }
    this.at += found[0].length;
    this.add({ type: "link", href, children: [{ type: "text", text: href }] });
  }

  /** A letter that is written by its name or number. It is text like any other, and begins no mark. */
  private readEntity(): void {
    const found = ENTITY.exec(this.text.slice(this.at, this.at + 16));
    const [whole = "", decimal, hex, name = ""] = found ?? [];
    const number = decimal !== undefined ? Number(decimal) : hex !== undefined ? Number.parseInt(hex, 16) : undefined;
    const letter = number !== undefined ? letterOf(number) : Object.hasOwn(ENTITIES, name) ? ENTITIES[name] : undefined;
    if (letter === undefined) {
      return this.take(1);
    }
    this.say(letter);
    this.at += whole.length;
  }

  private readBreak(): void {
    const last = this.pieces.at(-1);
    if (last?.type === "text" && last.text.endsWith("  ")) {
      last.text = last.text.trimEnd();
      this.at += 1;
      this.add({ type: "break" });
    } else {
      this.take(1);
    }
  }
}

function letterOf(number: number): string {
  const isNone = number === 0 || number > 0x10ffff || (number >= 0xd800 && number <= 0xdfff);
  return isNone ? "\ufffd" : String.fromCodePoint(number);
}

/** Pairs the delimiters, as CommonMark does. Those that have no partner are left. */
function emphasise(pieces: Piece[], depths: Depths, ends: Ends): Piece[] {
  const done: Piece[] = [];
  /** Places of delimiters in `done` that may still open something. */
  let openers: number[] = [];
  for (const piece of pieces) {
    if (piece.type !== "delimiter") {
      done.push(piece);
      continue;
    }
    const closer = { ...piece };
    while (closer.canClose && closer.count > 0) {
      const index = openers.findLastIndex((place) => fits(done[place] as Delimiter, closer));
      if (index === -1) {
        break;
      }
      const place = openers[index] as number;
      const depth = depthOf(done.slice(place + 1), depths) + 1;
      if (depth > DEEPEST) {
        // Whatever was opened before has this in it as well.
        openers = [];
        break;
      }
      openers = openers.slice(0, index + 1);
      const opener = done[place] as Delimiter;
      const used = opener.mark === "~" ? 2 : opener.count >= 2 && closer.count >= 2 ? 2 : 1;
      const children = spelled(done.splice(place + 1));
      opener.count -= used;
      closer.count -= used;
      const type = opener.mark === "~" ? "strike" : used === 2 ? "strong" : "em";
      if (opener.count === 0) {
        done.pop();
        openers.pop();
      }
      const made: Inline = { type, children };
      depths.set(made, depth);
      const end = ends.get(piece);
      if (end !== undefined) {
        ends.set(made, end - closer.count);
      }
      done.push(made);
    }
    if (closer.count > 0) {
      if (closer.canOpen && openers.length < 200) {
        openers.push(done.length);
        done.push(closer);
      } else {
        done.push({ type: "text", text: closer.mark.repeat(closer.count) });
      }
    }
  }
  return done;
}

function depthOf(pieces: readonly Piece[], depths: Depths): number {
  return pieces.reduce((deepest, piece) => Math.max(deepest, depths.get(piece) ?? 0), 0);
}

function fits(opener: Delimiter, closer: Delimiter): boolean {
  if (opener.mark !== closer.mark || opener.count === 0) {
    return false;
  }
  const isBoth = (opener.canOpen && opener.canClose) || (closer.canOpen && closer.canClose);
  return !(isBoth && (opener.count + closer.count) % 3 === 0 && (opener.count % 3 !== 0 || closer.count % 3 !== 0));
}

/** What is left of marks is text, and text beside text is one. */
function spelled(pieces: Piece[]): Inline[] {
  const result: Inline[] = [];
  for (const piece of pieces) {
    const plain: Inline =
      piece.type === "delimiter"
        ? { type: "text", text: piece.mark.repeat(piece.count) }
        : piece.type === "bracket"
          ? { type: "text", text: piece.isImage ? "![" : "[" }
          : piece;
    const last = result.at(-1);
    if (plain.type === "text" && last?.type === "text") {
      result[result.length - 1] = { type: "text", text: last.text + plain.text };
    } else {
      result.push(plain);
    }
  }
  return result;
}
