/**
 * What `pi` writes under `meta`: ids, origins, trust, tokens, cache.
 *
 * Others may use the same name for something else, so nothing is believed by its name: a member is used if all of it is as we
 * write it, and otherwise it is as if it were not there.
 */

import type {
  CacheState,
  Counted,
  Envelope,
  EnvelopeMessage,
  Origin,
  Part,
  Purpose,
  Segment,
  Tokens,
  Trust,
  Usage,
} from "./format";
import { isObject } from "./shape";

export interface Ours {
  id?: string;
  origin?: Origin;
  trust?: Trust;
  tokens?: Tokens;
  cache?: CacheState;
  part?: Part;
  call?: string;
  signature?: string;
  frame?: string[];
}

export interface OursOfEnvelope {
  request?: { id: string; provider: string; model: string; time: number; purpose: Purpose };
  tokens?: Tokens;
  usage?: Usage;
  residual?: number;
  replaced?: { by: Origin; digest: string };
}

/** More than any context window will hold, and few enough that sums stay exact. */
const MOST = 1e12;

const TRUST: readonly Trust[] = ["trusted", "project", "derived", "untrusted"];
const HOW: readonly Counted[] = ["exact", "counted", "estimated"];
const CACHE: readonly CacheState[] = ["cached", "written", "uncached"];
const PURPOSES: readonly Purpose[] = ["turn", "compaction", "branch_summary", "extension"];
const PARTS: readonly Part[] = [
  "thinking",
  "redacted_thinking",
  "bash_execution",
  "custom",
  "branch_summary",
  "compaction_summary",
  "section",
  "unknown",
  "nothing",
];
/** Each origin with the member that says which. */
const ORIGINS: Readonly<Record<Origin["from"], string | undefined>> = {
  user: undefined,
  built_in: undefined,
  file: "path",
  web: "url",
  mcp: "server",
  extension: "id",
  tool: "name",
  provider: "name",
};

const known = new WeakMap<Segment, Ours>();

/** What we wrote about a segment. Read once for each segment: an envelope that is shown does not change. */
export function ours(segment: Segment): Ours {
  let found = known.get(segment);
  if (found === undefined) {
    found = read(segment);
    known.set(segment, found);
  }
  return found;
}

function read(segment: Segment): Ours {
  const meta: unknown = (segment as { meta?: unknown }).meta;
  if (!isObject(meta)) {
    return {};
  }
  return present({
    id: text(meta["id"]),
    origin: origin(meta["origin"]),
    trust: oneOf(TRUST, meta["trust"]),
    tokens: tokens(meta["tokens"]),
    cache: oneOf(CACHE, meta["cache"]),
    part: oneOf(PARTS, meta["part"]),
    call: text(meta["call"]),
    signature: text(meta["signature"]),
    frame: texts(meta["frame"]),
  });
}

/** The tokens that a message says it has, which may not be the sum over its segments. */
export function claimed(message: EnvelopeMessage): Tokens | undefined {
  const meta: unknown = (message as { meta?: unknown }).meta;
  return isObject(meta) ? tokens(meta["tokens"]) : undefined;
}

export function oursOfEnvelope(envelope: Envelope): OursOfEnvelope {
  const meta: unknown = (envelope as { meta?: unknown }).meta;
  if (!isObject(meta)) {
    return {};
  }
  const residual = meta["residual"];
  return present({
    request: request(meta["request"]),
    tokens: tokens(meta["tokens"]),
    usage: usage(meta["usage"]),
    residual: Number.isSafeInteger(residual) ? (residual as number) : undefined,
    replaced: replaced(meta["replaced"]),
  });
}

/** An origin as one word: `file:AGENTS.md`. */
export function originText(origin: Origin | undefined): string {
  if (origin === undefined) {
    return "unknown";
  }
  const detail = originDetail(origin);
  return detail === "" ? origin.from : `${origin.from}:${detail}`;
}

/** Which file, server, extension, tool or provider. */
export function originDetail(origin: Origin): string {
  const name = ORIGINS[origin.from];
  return name === undefined ? "" : String((origin as unknown as Record<string, unknown>)[name]);
}

function origin(value: unknown): Origin | undefined {
  if (!isObject(value) || typeof value["from"] !== "string" || !Object.hasOwn(ORIGINS, value["from"])) {
    return undefined;
  }
  const name = ORIGINS[value["from"] as Origin["from"]];
  const wanted = name === undefined ? 1 : 2;
  const fits = Object.keys(value).length === wanted && (name === undefined || typeof value[name] === "string");
  return fits ? (value as unknown as Origin) : undefined;
}

function tokens(value: unknown): Tokens | undefined {
  if (!isObject(value) || Object.keys(value).length !== 2) {
    return undefined;
  }
  const [count, how] = [value["count"], oneOf(HOW, value["how"])];
  const fits = typeof count === "number" && Number.isInteger(count) && count >= 0 && count <= MOST;
  return fits && how !== undefined ? { count, how } : undefined;
}

function usage(value: unknown): Usage | undefined {
  if (!isObject(value) || !isObject(value["cost"])) {
    return undefined;
  }
  const isCount = (name: string) => Number.isSafeInteger(value[name]) && (value[name] as number) >= 0;
  const isPrice = (name: string) => typeof (value["cost"] as Record<string, unknown>)[name] === "number";
  const counts = ["input", "output", "cacheRead", "cacheWrite"].every(isCount);
  const prices = ["input", "output", "cacheRead", "cacheWrite", "total"].every(isPrice);
  return counts && prices ? (value as unknown as Usage) : undefined;
}

/**
 * Whether a provider told of its cache. A cache that held nothing and one that nobody spoke of are both counted 0,
 * so 0 is shown as "nothing told", never as "not cached".
 */
export function isCacheTold(usage: { cacheRead: number; cacheWrite: number }): boolean {
  return usage.cacheRead > 0 || usage.cacheWrite > 0;
}

function request(value: unknown): OursOfEnvelope["request"] {
  if (!isObject(value)) {
    return undefined;
  }
  const { id, provider, model, time } = value;
  const purpose = value["purpose"] === undefined ? "turn" : oneOf(PURPOSES, value["purpose"]);
  const named = typeof id === "string" && typeof provider === "string" && typeof model === "string";
  return named && typeof time === "number" && purpose !== undefined ? { id, provider, model, time, purpose } : undefined;
}

function replaced(value: unknown): OursOfEnvelope["replaced"] {
  if (!isObject(value) || typeof value["digest"] !== "string") {
    return undefined;
  }
  const by = origin(value["by"]);
  return by === undefined ? undefined : { by, digest: value["digest"] };
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function texts(value: unknown): string[] | undefined {
  return Array.isArray(value) && value.every((it) => typeof it === "string") ? value : undefined;
}

function oneOf<T extends string>(words: readonly T[], value: unknown): T | undefined {
  return words.find((word) => word === value);
}

/** Without the members that are not there. */
function present<T extends object>(members: { [K in keyof T]: T[K] | undefined }): T {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as T;
}
