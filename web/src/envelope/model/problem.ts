/** What can be wrong with a file, as data: it is said in the language of the page, and in English with the words of the command line. */

import type { Word } from "../words";

/** Something that is wrong in a document. */
export interface Problem {
  /** `messages[3].segments[0].kind`, or the empty string for the document itself. */
  path: string;
  fault: Fault;
}

export type Fault =
  | { is: "missing" }
  /** A list without an item. */
  | { is: "empty" }
  | { is: "unexpected"; wanted: Wanted; found: Found }
  /** A place in a list that has no such place. */
  | { is: "outside"; count: number; found: Found }
  | { is: "unread"; why: Unread }
  /** There is more than what was named. */
  | { is: "more" };

export type Wanted = { one: "text" | "flag" | "number" | "list" | "record" } | { one: "word"; words: readonly string[] };

/** A value, without repeating more than a few characters of it. */
export type Found = { one: "list" | "record" } | { one: "long"; count: number } | { one: "value"; text: string };

/** Why a text is no JSON that we read. */
export type Unread =
  | "comma.list"
  | "comma.object"
  | "colon"
  | "control"
  | "deep"
  | "digit"
  | "encoding"
  | "end"
  | "escape"
  | "half"
  | "name"
  | "range"
  | "string"
  | "trailing"
  | "value";

/** Arrays and objects may nest this deep. */
export const DEPTH = 127;

/** The text of a key with values in it, in some language. */
export type Say = (key: Word, values?: Record<string, string | number>) => string;

/** A problem in words. */
export function problemText({ fault }: Problem, say: Say): string {
  switch (fault.is) {
    case "missing":
    case "empty":
    case "more":
      return say(`problem.${fault.is}`);
    case "unexpected":
      return say("problem.unexpected", { wanted: wantedText(fault.wanted, say), found: foundText(fault.found, say) });
    case "outside":
      return say("problem.outside", { count: fault.count, found: foundText(fault.found, say) });
    case "unread":
      return say("problem.unread", { why: say(`unread.${fault.why}`, { depth: DEPTH }) });
  }
}

function wantedText(wanted: Wanted, say: Say): string {
  return wanted.one === "word" ? say("wanted.word", { words: wanted.words.map((word) => `"${word}"`).join(", ") }) : say(`wanted.${wanted.one}`);
}

function foundText(found: Found, say: Say): string {
  switch (found.one) {
    case "value":
      return found.text;
    case "long":
      return say("found.long", { count: found.count });
    case "list":
    case "record":
      return say(`wanted.${found.one}`);
  }
}
