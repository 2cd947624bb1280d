/** What the model saw in a session on a server, read over its protocol. */

import type { PiClient } from "pi-client";
import type { Library, Request } from "./model/album";
import type { Envelope, ModelRequest } from "./model/format";
import type { Switch, Switchable } from "./model/treemap";

/** An envelope says what was sent once and never changes, so each is read once. The newest few are kept. */
const KEPT = 24;
const kept = new Map<string, Promise<Envelope>>();

export function readEnvelope(client: PiClient, sessionId: string, requestId: string): Promise<Envelope> {
  const key = `${sessionId}\0${requestId}`;
  const found = kept.get(key) ?? fetchEnvelope(client, sessionId, requestId);
  kept.delete(key);
  kept.set(key, found);
  found.catch(() => kept.delete(key));
  for (const oldest of kept.keys()) {
    if (kept.size <= KEPT) {
      break;
    }
    kept.delete(oldest);
  }
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
    envelope: (requestId) => readEnvelope(client, sessionId, requestId),
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
