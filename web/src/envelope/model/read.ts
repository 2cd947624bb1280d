/**
 * Reads an envelope from text, or says everything that is wrong with it, and where.
 *
 * The text is read as strictly as the command line reads it: no lone surrogates, no number that no double can hold, nothing
 * nested deeper than 127. `JSON.parse` is more lenient, and says nothing about places.
 */

import type { Envelope } from "./format";
import { DEPTH, type Problem, type Unread } from "./problem";
import { ENVELOPE, problems, type Written } from "./shape";

/** A problem, and the place in the text to look at. Lines and columns count from 1. */
export interface Located extends Problem {
  line: number;
  column: number;
  /** The line itself, cut to what is worth reading, and where in it the mark belongs. */
  excerpt: { text: string; mark: number };
}

export type Read = { ok: true; envelope: Envelope } | { ok: false; problems: Located[] };

const EXCERPT = 100;

/** Reads the bytes of a file. */
export function readBytes(bytes: ArrayBuffer | Uint8Array): Read {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return { ok: false, problems: [at("", { path: "", fault: { is: "unread", why: "encoding" } }, 0)] };
  }
  return readText(text);
}

export function readText(text: string): Read {
  const fault = scan(text);
  if (fault !== undefined) {
    return { ok: false, problems: [at(text, { path: "", fault: { is: "unread", why: fault.why } }, fault.offset)] };
  }
  const value: unknown = JSON.parse(text);
  const found = placed(text, (written) => problems(ENVELOPE, value, written));
  return found.length === 0 ? { ok: true, envelope: value as Envelope } : { ok: false, problems: found };
}

/** Each problem with its place in the text; only where there are any, the text is gone through for places. */
export function placed(text: string, find: (written?: Written) => readonly Problem[]): Located[] {
  if (find().length === 0) {
    return [];
  }
  const places = locate(text);
  const written = (path: string) => {
    const place = places.get(path);
    return place === undefined ? undefined : text.slice(place.start, place.end);
  };
  return find(written).map((problem) => {
    // What is missing is missing in the object around it.
    const place = places.get(problem.path) ?? places.get(parent(problem.path)) ?? { start: 0 };
    return at(text, problem, place.start);
  });
}

/** What is wrong with `text` as JSON; nothing if it is JSON that we read. */
export function scan(text: string): { why: Unread; offset: number } | undefined {
  try {
    new Scanner(text).document();
    return undefined;
  } catch (error) {
    if (error instanceof Unreadable) {
      return error;
    }
    throw error;
  }
}

/** Where each value stands, by its path; of members with one name the last counts. */
function locate(text: string): Map<string, { start: number; end: number }> {
  const places = new Map<string, { start: number; end: number }>();
  new Scanner(text, (path, start, end) => places.set(path, { start, end })).document();
  return places;
}

function parent(path: string): string {
  return path.slice(0, Math.max(path.lastIndexOf("."), path.lastIndexOf("["), 0));
}

function at(text: string, problem: Problem, offset: number): Located {
  const before = text.slice(0, offset);
  const line = before.split("\n").length;
  const start = before.lastIndexOf("\n") + 1;
  const stop = text.indexOf("\n", offset);
  const whole = text.slice(start, stop === -1 ? undefined : stop);
  const column = offset - start;
  // A file may be one line of megabytes.
  const cut = Math.max(0, Math.min(column - 30, whole.length - EXCERPT));
  return {
    ...problem,
    line,
    column: column + 1,
    excerpt: { text: whole.slice(cut, cut + EXCERPT), mark: column - cut },
  };
}

class Unreadable extends Error {
  constructor(
    readonly why: Unread,
    readonly offset: number,
  ) {
    super(why);
  }
}

type Visit = (path: string, start: number, end: number) => void;

/** With the flag `u`, a pair is one character and only a half one is left to match. */
const LONE = /\p{Surrogate}/u;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;

class Scanner {
  private offset = 0;
  private depth = 0;

  constructor(
    private readonly text: string,
    private readonly visit?: Visit,
  ) {}

  document(): void {
    this.value("");
    if (this.token() !== undefined) {
      this.fail("trailing");
    }
  }

  private value(path: string): void {
    const token = this.token();
    const start = this.offset;
    switch (token) {
      case undefined:
        return this.fail("end");
      case "{":
        this.object(path);
        break;
      case "[":
        this.list(path);
        break;
      case '"':
        this.string();
        break;
      case "t":
        this.literal("true");
        break;
      case "f":
        this.literal("false");
        break;
      case "n":
        this.literal("null");
        break;
      default:
        this.number();
    }
    this.visit?.(path, start, this.offset);
  }

  private object(path: string): void {
    this.enter();
    if (this.token() === "}") {
      return this.leave();
    }
    for (;;) {
      if (this.token() !== '"') {
        this.fail("name");
      }
      const name = this.string();
      if (this.token() !== ":") {
        this.fail("colon");
      }
      this.offset += 1;
      this.value(this.visit === undefined ? "" : step(path, JSON.parse(name) as string));
      const token = this.token();
      if (token === "}") {
        return this.leave();
      }
      if (token !== ",") {
        this.fail("comma.object");
      }
      this.offset += 1;
    }
  }

  private list(path: string): void {
    this.enter();
    if (this.token() === "]") {
      return this.leave();
    }
    for (let index = 0; ; index += 1) {
      this.value(this.visit === undefined ? "" : `${path}[${index}]`);
      const token = this.token();
      if (token === "]") {
        return this.leave();
      }
      if (token !== ",") {
        this.fail("comma.list");
      }
      this.offset += 1;
    }
  }

  /** Passes a string and returns it as it is written. */
  private string(): string {
    const { text } = this;
    const start = this.offset;
    let isEscaped = false;
    for (let offset = start + 1; offset < text.length; offset += 1) {
      const unit = text.charCodeAt(offset);
      if (unit === QUOTE) {
        this.offset = offset + 1;
        const raw = text.slice(start, this.offset);
        if (isEscaped && LONE.test(JSON.parse(raw) as string)) {
          this.offset = start;
          this.fail("half");
        }
        return raw;
      }
      if (unit === BACKSLASH) {
        isEscaped = true;
        offset += 1;
        const escape = text[offset] ?? "";
        if (escape === "u" && /^[0-9a-fA-F]{4}$/.test(text.slice(offset + 1, offset + 5))) {
          offset += 4;
        } else if (!'"\\/bfnrt'.includes(escape) || escape === "") {
          this.offset = offset;
          this.fail("escape");
        }
      } else if (unit < 0x20) {
        this.offset = offset;
        this.fail("control");
      }
    }
    this.offset = text.length;
    return this.fail("string");
  }

  private number(): void {
    const start = this.offset;
    if (this.text.charCodeAt(this.offset) === MINUS) {
      this.offset += 1;
    }
    if (this.text.charCodeAt(this.offset) === ZERO) {
      this.offset += 1;
    } else {
      this.digits("value");
    }
    if (this.text[this.offset] === ".") {
      this.offset += 1;
      this.digits("digit");
    }
    if (/^[eE]$/.test(this.text[this.offset] ?? "")) {
      this.offset += 1;
      if (/^[+-]$/.test(this.text[this.offset] ?? "")) {
        this.offset += 1;
      }
      this.digits("digit");
    }
    if (!Number.isFinite(Number(this.text.slice(start, this.offset)))) {
      this.offset = start;
      this.fail("range");
    }
  }

  private digits(otherwise: Unread): void {
    const start = this.offset;
    for (let unit = this.text.charCodeAt(start); unit >= ZERO && unit <= NINE; ) {
      this.offset += 1;
      unit = this.text.charCodeAt(this.offset);
    }
    if (this.offset === start) {
      this.fail(otherwise);
    }
  }

  private literal(word: string): void {
    if (!this.text.startsWith(word, this.offset)) {
      this.fail("value");
    }
    this.offset += word.length;
  }

  private enter(): void {
    this.depth += 1;
    if (this.depth > DEPTH) {
      this.fail("deep");
    }
    this.offset += 1;
  }

  private leave(): void {
    this.depth -= 1;
    this.offset += 1;
  }

  /** The next character that is not white space, without passing it. */
  private token(): string | undefined {
    for (;;) {
      switch (this.text.charCodeAt(this.offset)) {
        case 0x20:
        case 0x0a:
        case 0x09:
        case 0x0d:
          this.offset += 1;
          break;
        default:
          return this.text[this.offset];
      }
    }
  }

  private fail(why: Unread): never {
    throw new Unreadable(why, this.offset);
  }
}

function step(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}
