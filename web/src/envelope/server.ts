/** What the model saw in a session on a server, read over its protocol. */

import type { PiClient } from "pi-client";
import type { Library, Request } from "./model/album";
import type { Envelope, ModelRequest } from "./model/format";
import { oursOfEnvelope } from "./model/ours";
import type { Switch, Switchable } from "./model/treemap";

/** The newest few are kept. */
const KEPT = 24;

interface Kept {
  envelope: Promise<Envelope>;
  /** What was sent never changes. What the provider counted and the cache did is missing until the answer has ended. */
  isCounted: boolean;
}

const kept = new Map<string, Kept>();

/** Reads what the model was given; with `counts` once more if it was read before they were known. */
export function readEnvelope(client: PiClient, sessionId: string, requestId: string, need: "prompt" | "counts"): Promise<Envelope> {
  const key = `${sessionId}\0${requestId}`;
  const known = kept.get(key);
  const found = known === undefined || (need === "counts" && !known.isCounted) ? read(client, sessionId, requestId, key) : known;
  kept.delete(key);
  kept.set(key, found);
  for (const oldest of kept.keys()) {
    if (kept.size <= KEPT) {
      break;
    }
    kept.delete(oldest);
  }
  return found.envelope;
}

function read(client: PiClient, sessionId: string, requestId: string, key: string): Kept {
  // As long as it is on its way nobody asks for another.
  const found: Kept = { envelope: fetchEnvelope(client, sessionId, requestId), isCounted: true };
  found.envelope.then(
    (envelope) => (found.isCounted = oursOfEnvelope(envelope).usage !== undefined),
    () => kept.get(key) === found && kept.delete(key),
  );
  return found;
}

async function fetchEnvelope(client: PiClient, sessionId: string, requestId: string): Promise<Envelope> {
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

/** What a session on a server can do besides telling its requests. */
export function ofSession(client: PiClient, sessionId: string): Omit<Library, "requests"> {
  return {
    title: sessionId,
    envelope: (requestId) => readEnvelope(client, sessionId, requestId, "counts"),
    switchable: () => readSwitchable(client, sessionId),
    apply: (change) => apply(client, sessionId, change),
  };
}

async function readSwitchable(client: PiClient, sessionId: string): Promise<Switchable> {
  const [sources, tools] = await Promise.all([
    client.request({ type: "list_context_sources", sessionId }),
    client.request({ type: "get_tools", sessionId }),
  ]);
  return { sources: sources.data.sources, tools: tools.data.tools };
}

async function apply(client: PiClient, sessionId: string, change: Switch): Promise<void> {
  switch (change.type) {
    case "source":
      await client.request({ type: "set_context_source", sessionId, sourceId: change.sourceId, enabled: change.enabled });
      break;
    case "tools":
      await client.request({ type: "set_active_tools", sessionId, tools: change.tools });
      break;
  }
}
