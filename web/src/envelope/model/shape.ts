/**
 * What Prompt Envelope 1.0 accepts, as data, and everything that is wrong with a value that it does not accept.
 *
 * The table, the paths and the words are those of `pi envelope validate`; a table of verdicts that both are tested with
 * holds them together. `meta` is not listed: whatever a file says there leaves it valid.
 */

import type { Fault, Found, Problem, Wanted } from "./problem";

export type Shape =
  | { is: "text" }
  | { is: "flag" }
  | { is: "number" }
  | { is: "word"; words: readonly string[] }
  | { is: "list"; items: Shape; mayBeEmpty: boolean }
  | { is: "record"; members: readonly Member[] }
  /** An object whose `kind` names the record that it must be. */
  | { is: "tagged"; records: Readonly<Record<string, readonly Member[]>> };

interface Member {
  name: string;
  required: boolean;
  shape: Shape;
}

export const TEXT: Shape = { is: "text" };
const FLAG: Shape = { is: "flag" };
export const NUMBER: Shape = { is: "number" };
export const word = (...words: string[]): Shape => ({ is: "word", words });
/** An array of at least one item. */
const list = (items: Shape): Shape => ({ is: "list", items, mayBeEmpty: false });
export const anyNumberOf = (items: Shape): Shape => ({ is: "list", items, mayBeEmpty: true });
export const record = (...members: Member[]): Shape => ({ is: "record", members });
export const required = (name: string, shape: Shape): Member => ({ name, required: true, shape });
export const optional = (name: string, shape: Shape): Member => ({ name, required: false, shape });

const KIND_MEMBERS: Readonly<Record<string, readonly Member[]>> = {
  text: [required("content", TEXT)],
  static_var: [required("name", TEXT), required("value", TEXT), optional("description", TEXT)],
  system_prompt: [required("content", TEXT), required("collapsed", FLAG)],
  memory: [
    optional("description", TEXT),
    required("items", list(record(required("title", TEXT), required("content", TEXT)))),
    required("collapsed", FLAG),
  ],
  skills: [
    optional("description", TEXT),
    required("items", list(record(required("name", TEXT), required("description", TEXT)))),
    required("collapsed", FLAG),
  ],
  tool_overview: [
    required(
      "items",
      list(
        record(
          required("name", TEXT),
          required("description", TEXT),
          required("parameters", TEXT),
          optional("schema", record()),
        ),
      ),
    ),
    required("collapsed", FLAG),
  ],
  tool_call_request: [required("toolName", TEXT), required("arguments", record()), required("collapsed", FLAG)],
  tool_call_result: [
    required("toolName", TEXT),
    required("result", TEXT),
    required("success", FLAG),
    required("collapsed", FLAG),
  ],
  document: [
    required("fileName", TEXT),
    required("mimeType", TEXT),
    required("snippet", TEXT),
    required("sizeBytes", NUMBER),
    optional("parsedContent", TEXT),
  ],
  long_text: [required("content", TEXT), required("charCount", NUMBER), required("collapsed", FLAG)],
  media: [required("mediaType", word("image", "audio", "video")), required("url", TEXT), optional("altText", TEXT)],
};

export const SEGMENT: Shape = { is: "tagged", records: KIND_MEMBERS };

/** A message with segments of a shape. */
export const messageOf = (segments: Shape): Shape =>
  record(
    required("id", TEXT),
    required("role", word("system", "user", "assistant", "tool")),
    required("segments", list(segments)),
    required("timestamp", NUMBER),
  );

export const ENVELOPE: Shape = record(
  required("version", word("1.0")),
  optional("model", TEXT),
  required("messages", list(messageOf(SEGMENT))),
);

/** How many faults are named: a reader mends a few at a time. */
export const LIMIT = 100;

/** The number at a path as the file has it: a value that was read no longer tells `1.0` from `1`. */
export type Written = (path: string) => string | undefined;

/**
 * What in `value` is not of this shape, members in the order in which the format lists them. After {@link LIMIT} of them a last
 * problem without a path says `and more`.
 */
export function problems(shape: Shape, value: unknown, written?: Written): Problem[] {
  const walk = new Walk(written ?? (() => undefined));
  walk.value(shape, value, "");
  return walk.found;
}

class Walk {
  readonly found: Problem[] = [];

  constructor(private readonly written: Written) {}

  value(shape: Shape, value: unknown, path: string): void {
    switch (shape.is) {
      case "text":
        return this.expect(typeof value === "string", { one: "text" }, value, path);
      case "flag":
        return this.expect(typeof value === "boolean", { one: "flag" }, value, path);
      case "number":
        return this.expect(typeof value === "number", { one: "number" }, value, path);
      case "word":
        return this.expect(typeof value === "string" && shape.words.includes(value), { one: "word", words: shape.words }, value, path);
      case "list":
        return this.list(shape, value, path);
      case "record":
        return this.record(shape.members, value, path);
      case "tagged":
        return this.tagged(shape.records, value, path);
    }
  }

  private list({ items, mayBeEmpty }: Shape & { is: "list" }, value: unknown, path: string): void {
    if (!Array.isArray(value)) {
      return this.expect(false, { one: "list" }, value, path);
    }
    if (value.length === 0 && !mayBeEmpty) {
      this.report(path, { is: "empty" });
    }
    for (const [index, item] of value.entries()) {
      if (this.isFull()) {
        return;
      }
      this.value(items, item, `${path}[${index}]`);
    }
  }

  private record(members: readonly Member[], value: unknown, path: string): void {
    if (!isObject(value)) {
      return this.expect(false, { one: "record" }, value, path);
    }
    for (const member of members) {
      const inner = path === "" ? member.name : `${path}.${member.name}`;
      if (Object.hasOwn(value, member.name)) {
        this.value(member.shape, value[member.name], inner);
      } else if (member.required) {
        this.report(inner, { is: "missing" });
      }
    }
  }

  private tagged(records: Readonly<Record<string, readonly Member[]>>, value: unknown, path: string): void {
    if (!isObject(value)) {
      return this.expect(false, { one: "record" }, value, path);
    }
    if (!Object.hasOwn(value, "kind")) {
      return this.report(`${path}.kind`, { is: "missing" });
    }
    const kind = value["kind"];
    const members = typeof kind === "string" && Object.hasOwn(records, kind) ? records[kind] : undefined;
    if (members === undefined) {
      return this.expect(false, { one: "word", words: Object.keys(records) }, kind, `${path}.kind`);
    }
    this.record(members, value, path);
  }

  private expect(fits: boolean, wanted: Wanted, value: unknown, path: string): void {
    if (!fits) {
      this.report(path, { is: "unexpected", wanted, found: describe(value, path, this.written) });
    }
  }

  private report(path: string, fault: Fault): void {
    if (this.found.length < LIMIT) {
      this.found.push({ path, fault });
    } else if (!this.isFull()) {
      this.found.push({ path: "", fault: { is: "more" } });
    }
  }

  private isFull(): boolean {
    return this.found.length > LIMIT;
  }
}

/** Names a value without repeating more than a few characters of it. */
export function describe(value: unknown, path: string, written: Written): Found {
  if (typeof value === "string") {
    const count = [...value].length;
    return count <= 40 ? { one: "value", text: debug(value) } : { one: "long", count };
  }
  if (Array.isArray(value)) {
    return { one: "list" };
  }
  if (isObject(value)) {
    return { one: "record" };
  }
  const text = typeof value === "number" ? written(path) : undefined;
  return { one: "value", text: text === undefined ? String(value) : number(text) };
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A number as the command line tells it: whole ones as they are, others as the shortest double with a mark of it. */
function number(written: string): string {
  if (/^-?\d+$/.test(written)) {
    const whole = BigInt(written);
    if (whole >= -(2n ** 63n) && whole < 2n ** 64n && written !== "-0") {
      return whole.toString();
    }
  }
  const shortest = String(Number(written)).replace("e+", "e");
  const isZero = Object.is(Number(written), -0);
  return (isZero ? "-" : "") + (/[.e]/.test(shortest) ? shortest : `${shortest}.0`);
}

/** A string between quotes; what cannot be seen is written out. */
function debug(text: string): string {
  const named: Record<string, string> = {
    '"': '\\"',
    "\\": "\\\\",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\0": "\\0",
  };
  const shown = [...text].map((character) => {
    const escape = named[character];
    if (escape !== undefined) {
      return escape;
    }
    const isHidden = /[\p{C}\p{Z}\p{Mn}\p{Me}]/u.test(character) && character !== " ";
    return isHidden ? `\\u{${character.codePointAt(0)?.toString(16)}}` : character;
  });
  return `"${shown.join("")}"`;
}
