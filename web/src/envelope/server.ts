/** What the model saw in a session on a server, read over its protocol. */

import { PiError, type Strip } from "pi-client";
import type { Asks } from "../link/link.svelte";
import { errorWords } from "../link/words";
import { ended } from "../texts/fill";
import type { Library, Request } from "./model/album";
import type { Envelope, ModelRequest } from "./model/format";
import { oursOfEnvelope } from "./model/ours";
import type { Switch, Switchable } from "./model/treemap";

/** The newest few are kept; strips are small. */
const KEPT = 24;
const KEPT_STRIPS = 400;

interface Kept {
  envelope: Promise<Envelope>;
  /** What was sent never changes. What the provider counted and the cache did is missing until the answer has ended. */
  isCounted: boolean;
}

const kept = new Map<string, Kept>();
const strips = new Map<string, Promise<Strip>>();

/** Reads what the model was given; once more if it was read before the counts of the provider were known. */
function readEnvelope(client: Asks, sessionId: string, requestId: string): Promise<Envelope> {
  const key = `${sessionId}\0${requestId}`;
  const known = kept.get(key);
  const found = known === undefined || !known.isCounted ? read(client, sessionId, requestId, key) : known;
  keep(kept, key, found, KEPT);
  return found.envelope;
}

/** What is drawn of a request; read once more when its answer has ended, which tells what the cache did. */
export function readStrip(client: Asks, sessionId: string, request: ModelRequest, before: string | undefined): Promise<Strip> {
  const { requestId, usage } = request;
  const key = [sessionId, requestId, before ?? "", usage === undefined].join("\0");
  const found = strips.get(key) ?? fetchStrip(client, sessionId, requestId, before);
  keep(strips, key, found, KEPT_STRIPS);
  found.catch(() => strips.delete(key));
  return found;
}

/** As the newest; the oldest makes room. */
function keep<T>(all: Map<string, T>, key: string, value: T, most: number): void {
  all.delete(key);
  all.set(key, value);
  for (const oldest of all.keys()) {
    if (all.size <= most) {
      break;
    }
    all.delete(oldest);
  }
}

async function fetchStrip(client: Asks, sessionId: string, requestId: string, before: string | undefined): Promise<Strip> {
  const answer = await client.request({ type: "get_strip", sessionId, requestId, ...(before !== undefined && { before }) });
  return answer.data.strip;
}

function read(client: Asks, sessionId: string, requestId: string, key: string): Kept {
  // As long as it is on its way nobody asks for another.
  const found: Kept = { envelope: fetchEnvelope(client, sessionId, requestId), isCounted: true };
  found.envelope.then(
    (envelope) => (found.isCounted = oursOfEnvelope(envelope).usage !== undefined),
    () => kept.get(key) === found && kept.delete(key),
  );
  return found;
}

async function fetchEnvelope(client: Asks, sessionId: string, requestId: string): Promise<Envelope> {
  const answer = await client.request({ type: "get_envelope", sessionId, requestId });
  return answer.data.envelope;
}

export function toRequest(request: ModelRequest): Request {
  const { requestId, time, provider, model, purpose, tokens, usage, entryId } = request;
  return {
    id: requestId,
    time,
    model: `${provider}/${model}`,
    purpose,
    ...(tokens && { tokens }),
    ...(usage && { usage }),
    ...(entryId !== undefined && { entryId }),
  };
}

/** A failure in the words of whoever reads them. */
async function inWords<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof PiError) {
      const { text, hint } = errorWords(error.response);
      throw new Error([text, hint].filter((one) => one !== "").map(ended).join(" "), { cause: error });
    }
    throw error;
  }
}

/** What a session can tell besides its requests. */
export function reading(client: Asks, sessionId: string): Omit<Library, "requests" | "switchable" | "apply"> {
  return { title: sessionId, envelope: (requestId) => inWords(readEnvelope(client, sessionId, requestId)) };
}

/** What can be switched in a session that is open here. */
export function switching(client: Asks, sessionId: string): Required<Pick<Library, "switchable" | "apply">> {
  return {
    switchable: () => inWords(readSwitchable(client, sessionId)),
    apply: (change) => inWords(apply(client, sessionId, change)),
  };
}

async function readSwitchable(client: Asks, sessionId: string): Promise<Switchable> {
  const [sources, tools] = await Promise.all([
    client.request({ type: "list_context_sources", sessionId }),
    client.request({ type: "get_tools", sessionId }),
  ]);
  return { sources: sources.data.sources, tools: tools.data.tools };
}

async function apply(client: Asks, sessionId: string, change: Switch): Promise<void> {
  switch (change.type) {
    case "source":
      await client.request({ type: "set_context_source", sessionId, sourceId: change.sourceId, enabled: change.enabled });
      break;
    case "tools":
      await client.request({ type: "set_active_tools", sessionId, tools: change.tools });
      break;
  }
}
