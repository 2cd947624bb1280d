/**
 * Prompt Envelope 1.0, and what `pi` adds to it, as the wire has them.
 *
 * Nothing is checked here: `read.ts` makes these types from text, `ours.ts` reads what stands under `meta`.
 */

import type { Envelope, EnvelopeMessage, Role, Segment } from "../../../../clients/typescript/src/wire";

export type {
  CacheState,
  ContextSource,
  Counted,
  Envelope,
  EnvelopeMessage,
  ListedTool,
  ModelRequest,
  Origin,
  Part,
  Purpose,
  Role,
  Segment,
  Tokens,
  Trust,
  Usage,
} from "../../../../clients/typescript/src/wire";

export type Kind = Segment["kind"];

/** What happened to a segment from one envelope to another, in the words of `pi envelope diff --json`. */
export type What = "added" | "removed" | "changed" | "moved" | "unchanged";

export interface Change {
  what: What;
  kind: Kind;
  role: Role;
  id?: string;
  before?: Place;
  after?: Place;
  /** Tokens in the second envelope less tokens in the first. */
  tokens: number;
  /** Names of the memory files, skills or tools that came, went, or say something else. */
  items?: { added: string[]; removed: string[]; changed: string[] };
}

export interface Diff {
  /** One for every segment of either envelope, in the order of the second; removed ones stand where they were. */
  changes: Change[];
  summary: {
    added: number;
    removed: number;
    changed: number;
    moved: number;
    unchanged: number;
    tokensBefore: number;
    tokensAfter: number;
  };
  /** How many segments at the beginning are the same, and their tokens. */
  prefix: number;
  prefixTokens: number;
  cacheBreak?: CacheBreak;
}

/** Where a cache that holds the first envelope stops being of use for the second. */
export interface CacheBreak {
  /** How many segments of the second envelope stand before it. */
  index: number;
  cause: { type: "model"; before: string | null; after: string | null } | { type: "segment"; change: Change };
  /** Tokens behind the break that say the same as before, and are paid for again. */
  tokensLost: number;
}

/** The eleven kinds, in the order in which the format lists them. */
export const KINDS = [
  "text",
  "static_var",
  "system_prompt",
  "memory",
  "skills",
  "tool_overview",
  "tool_call_request",
  "tool_call_result",
  "document",
  "long_text",
  "media",
] as const satisfies readonly Kind[];

/** A segment of one kind. */
export type Of<K extends Kind> = Extract<Segment, { kind: K }>;

/** Where a segment stands. */
export interface Place {
  message: number;
  segment: number;
}

/** Every segment in prompt order, with its message and its place. */
export interface Entry {
  /** Counted through the whole envelope. */
  index: number;
  place: Place;
  message: EnvelopeMessage;
  segment: Segment;
}

export function entries(envelope: Envelope): Entry[] {
  const all: Entry[] = [];
  envelope.messages.forEach((message, outer) => {
    message.segments.forEach((segment, inner) => {
      all.push({ index: all.length, place: { message: outer, segment: inner }, message, segment });
    });
  });
  return all;
}
