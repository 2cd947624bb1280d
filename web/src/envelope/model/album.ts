/**
 * Several requests in one file: the envelopes of a session, with everything that they share written once.
 *
 * `pi export --html --envelopes` writes one, and the page writes one when a session is saved from it. A file of another tool is an
 * album of one. Whoever shows an album needs {@link Library}, which a session on a server is as well.
 */

import { total } from "./count";
import type { CacheState, Envelope, EnvelopeMessage, Purpose, Segment, Tokens, Usage } from "./format";
import { ours, oursOfEnvelope } from "./ours";
import type { Problem } from "./problem";
import { decoded } from "./encoding";
import { type Located, placed, readBytes, readText, scan } from "./read";
import { anyNumberOf, describe, ENVELOPE, isObject, messageOf, NUMBER, optional, problems, record, required, SEGMENT, TEXT, word, type Written } from "./shape";
import type { Switch, Switchable } from "./treemap";

/** A call of a model, as a list of them tells it. */
export interface Request {
  id: string;
  time: number;
  model: string;
  purpose: Purpose;
  tokens?: Tokens;
  usage?: Usage;
  /** Where the conversation stood. */
  entryId?: string;
}

/** Requests, the oldest first, and what the model was shown in each. */
export interface Library {
  title: string;
  requests: readonly Request[];
  envelope(request: string): Promise<Envelope>;
  /** What can be switched off; a file cannot. */
  switchable?(): Promise<Switchable>;
  apply?(change: Switch): Promise<void>;
}

/** The form of a file with several envelopes. */
export interface Album {
  album: "1.0";
  title: string;
  segments: Segment[];
  messages: (Omit<EnvelopeMessage, "segments"> & { segments: number[] })[];
  requests: {
    request: Request;
    model?: string;
    meta?: unknown;
    /** How many messages are the same as in the request before it. */
    same: number;
    /** The others, by their places. */
    messages: number[];
    /** What the cache did, in prompt order, as runs: it differs from request to request where the segment does not. */
    cache?: [CacheState | "unknown", number][];
  }[];
}

export type Opened = { ok: true; library: Library } | { ok: false; problems: Located[] };

/** What a page has in it: nothing, texts of files, or an album. Anything else is an envelope, or said to be none. */
export function openEmbedded(text: string): { files: { name: string; opened: Opened }[] } | undefined {
  const value: unknown = text.trim() === "" ? null : JSON.parse(text);
  if (value === null) {
    return undefined;
  }
  if (isObject(value) && Array.isArray(value["files"])) {
    const named = value["files"].filter(isFile);
    return { files: named.map((file) => ({ name: file.name, opened: openText(file.name, file.text) })) };
  }
  const name = isObject(value) && typeof value["title"] === "string" ? value["title"] : "";
  return { files: [{ name, opened: openText(name, text) }] };
}

function isFile(value: unknown): value is { name: string; text: string } {
  return isObject(value) && typeof value["name"] === "string" && typeof value["text"] === "string";
}

/** Opens a file as it is on disk. */
export function openBytes(name: string, bytes: Uint8Array): Opened {
  const text = decoded(bytes);
  if (text !== undefined) {
    return openText(name, text);
  }
  const read = readBytes(bytes);
  return read.ok ? openEnvelope(name, read.envelope) : read;
}

/**
 * Opens the text of a file: an envelope, an album, a list of envelopes, or one envelope on each line. A mark of the order of bytes at its
 * beginning is no part of the document.
 */
export function openText(name: string, written: string): Opened {
  const text = written.startsWith("\ufeff") ? written.slice(1) : written;
  if (scan(text) === undefined) {
    const value: unknown = JSON.parse(text);
    if (isAlbum(value)) {
      const found = placed(text, (written) => faultsOf(value, written));
      return found.length > 0 ? { ok: false, problems: found } : { ok: true, library: openAlbum(name, value as unknown as Album) };
    }
    if (Array.isArray(value) && value.length > 0) {
      const found = placed(text, (written) => problems(anyNumberOf(ENVELOPE), value, written));
      return found.length > 0 ? { ok: false, problems: found } : { ok: true, library: collect(name, numbered(name, value as Envelope[])) };
    }
  } else {
    const lines = text.split("\n").filter((line) => line.trim() !== "");
    const read = lines.length > 1 ? lines.map(readText) : [];
    if (read.length > 0 && read.every((one) => one.ok)) {
      return { ok: true, library: collect(name, numbered(name, read.map((one) => one.envelope))) };
    }
  }
  const read = readText(text);
  return read.ok ? openEnvelope(name, read.envelope) : read;
}

function openEnvelope(name: string, envelope: Envelope): Opened {
  return { ok: true, library: collect(name, [{ name, envelope }]) };
}

function numbered(name: string, envelopes: readonly Envelope[]): { name: string; envelope: Envelope }[] {
  return envelopes.map((envelope, index) => ({ name: `${name}:${index + 1}`, envelope }));
}

/** Envelopes as a library, in the order given. */
export function collect(title: string, files: readonly { name: string; envelope: Envelope }[]): Library {
  const ids = distinct(files.map(({ name, envelope }) => oursOfEnvelope(envelope).request?.id ?? name));
  const shown = files.map(({ name, envelope }, index) => {
    const { request, usage } = oursOfEnvelope(envelope);
    const id = ids[index] ?? name;
    const found: Request = {
      id,
      time: request?.time ?? latest(envelope),
      model: request === undefined ? (envelope.model ?? "") : `${request.provider}/${request.model}`,
      purpose: request?.purpose ?? "turn",
      tokens: total(envelope.messages.flatMap((message) => message.segments)),
      ...(usage && { usage }),
    };
    return { request: found, envelope };
  });
  const byId = new Map(shown.map(({ request, envelope }) => [request.id, envelope]));
  return {
    title,
    requests: shown.map(({ request }) => request),
    envelope: (id) => find(byId.get(id), id),
  };
}

/** Names of which no two are the same and none is empty, so that an address can have them: others get a mark. */
function distinct(names: readonly string[]): string[] {
  const seen = new Set([""]);
  return names.map((name) => {
    let one = name;
    while (seen.has(one)) {
      one += "'";
    }
    seen.add(one);
    return one;
  });
}

/** One request of a library, as if there were no others. */
export function only({ title, envelope }: Library, request: Request): Library {
  return { title, requests: [request], envelope };
}

/** Several files as one library. */
export async function join(title: string, libraries: readonly Library[]): Promise<Library> {
  const all = await Promise.all(
    libraries.flatMap((library) =>
      library.requests.map(async ({ id }) => ({ name: library.title || id, envelope: await library.envelope(id) })),
    ),
  );
  return collect(title, all);
}

function latest(envelope: Envelope): number {
  return envelope.messages.reduce((last, message) => Math.max(last, message.timestamp), 0);
}

async function find(envelope: Envelope | undefined, id: string): Promise<Envelope> {
  if (envelope === undefined) {
    throw new Error(`there is no request ${id}`);
  }
  return envelope;
}

const ALBUM = record(
  required("album", word("1.0")),
  required("title", TEXT),
  required("segments", anyNumberOf(SEGMENT)),
  required("messages", anyNumberOf(messageOf(NUMBER))),
  required(
    "requests",
    anyNumberOf(
      record(
        required("request", record(required("id", TEXT), required("time", NUMBER), required("model", TEXT), required("purpose", TEXT))),
        optional("model", TEXT),
        required("same", NUMBER),
        required("messages", anyNumberOf(NUMBER)),
      ),
    ),
  ),
);

/** Whatever says so means to be one, however damaged it is. */
function isAlbum(value: unknown): value is Record<string, unknown> {
  return isObject(value) && "album" in value && !("version" in value);
}

function faultsOf(value: Record<string, unknown>, written?: Written): Problem[] {
  const found = problems(ALBUM, value, written);
  return found.length > 0 ? found : strayed(value as unknown as Album, written);
}

/** The places that are none. */
function strayed(album: Album, written: Written = () => undefined): Problem[] {
  const among = (list: readonly unknown[], places: readonly number[], path: string) =>
    places.flatMap((place, index): Problem[] => {
      const at = `${path}[${index}]`;
      return place in list ? [] : [{ path: at, fault: { is: "outside", count: list.length, found: describe(place, at, written) } }];
    });
  return [
    ...album.messages.flatMap(({ segments }, index) => among(album.segments, segments, `messages[${index}].segments`)),
    ...album.requests.flatMap(({ messages }, index) => among(album.messages, messages, `requests[${index}].messages`)),
  ];
}

/** Each request is put together when it is asked for the first time. */
function openAlbum(name: string, album: Album): Library {
  const lists: number[][] = [];
  for (const { same, messages } of album.requests) {
    lists.push([...(lists.at(-1) ?? []).slice(0, same), ...messages]);
  }
  const named = distinct(album.requests.map(({ request }) => request.id));
  const requests = album.requests.map(({ request }, index) => ({ ...request, id: named[index] ?? request.id }));
  const places = new Map(named.map((id, index) => [id, index]));
  const kept = new Map<string, Envelope>();
  const open = (id: string): Envelope | undefined => {
    const index = places.get(id);
    const page = index === undefined ? undefined : album.requests[index];
    if (index === undefined || page === undefined) {
      return undefined;
    }
    const state = states(page.cache ?? []);
    const messages = (lists[index] ?? []).flatMap((place) => {
      const message = album.messages[place];
      return message === undefined ? [] : [filled(album, message, state)];
    });
    const { model, meta } = page;
    return { version: "1.0", ...(model !== undefined && { model }), messages, ...(meta !== undefined && { meta }) } as Envelope;
  };
  return {
    title: album.title === "" ? name : album.title,
    requests,
    envelope: (id) => {
      const found = kept.get(id) ?? open(id);
      if (found !== undefined) {
        kept.set(id, found);
      }
      return find(found, id);
    },
  };
}

type State = CacheState | "unknown" | undefined;

/** What the cache did with each segment in turn. */
function states(runs: readonly (readonly [State, number])[]): () => State {
  let [run, passed] = [0, 0];
  return () => {
    while (passed >= (runs[run]?.[1] ?? Number.POSITIVE_INFINITY)) {
      run += 1;
      passed = 0;
    }
    passed += 1;
    return runs[run]?.[0];
  };
}

function filled(album: Album, message: Album["messages"][number], state: () => State): EnvelopeMessage {
  const segments = message.segments.map((place) => {
    const segment = album.segments[place] as Segment;
    const cache = state();
    return cache === undefined || cache === "unknown" ? segment : { ...segment, meta: { ...segment.meta, cache } };
  });
  return { ...message, segments };
}

/** The album of a library, to be written to a file. */
export async function bind(library: Library): Promise<Album> {
  const album: Album = { album: "1.0", title: library.title, segments: [], messages: [], requests: [] };
  const places = new Map<string, number>();
  const place = <T>(list: T[], item: T): number => {
    const key = `${list === (album.segments as unknown) ? "s" : "m"}${JSON.stringify(item)}`;
    const found = places.get(key) ?? list.push(item) - 1;
    places.set(key, found);
    return found;
  };
  let last: number[] = [];
  for (const request of library.requests) {
    const { model, messages, meta } = await library.envelope(request.id);
    const cache: [CacheState | "unknown", number][] = [];
    const heads = messages.map((message) => {
      const segments = message.segments.map((segment) => {
        const state = ours(segment).cache ?? "unknown";
        const run = cache.at(-1);
        run?.[0] === state ? (run[1] += 1) : cache.push([state, 1]);
        return place(album.segments, withoutCache(segment));
      });
      return place(album.messages, { ...message, segments });
    });
    const shared = heads.findIndex((place, index) => place !== last[index]);
    const same = shared === -1 ? heads.length : shared;
    const isKnown = cache.some(([state]) => state !== "unknown");
    album.requests.push({
      request,
      ...(model !== undefined && { model }),
      ...(meta && { meta }),
      same,
      messages: heads.slice(same),
      ...(isKnown && { cache }),
    });
    last = heads;
  }
  return album;
}

function withoutCache(segment: Segment): Segment {
  if (segment.meta?.cache === undefined) {
    return segment;
  }
  const { cache: _, ...meta } = segment.meta;
  return { ...segment, meta };
}
