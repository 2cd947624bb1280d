// Session files: lines to entries, and entries to what a model would see.

import crypto from "pi:shim/web/crypto";

export const CURRENT_SESSION_VERSION = 3;

/** Lines that are no JSON are passed over, as when a file was cut. */
export function parseSessionEntries(content) {
  const entries = [];
  for (const line of content.trim().split("\n")) {
    if (line.trim() === "") continue;
    try {
      entries.push(JSON.parse(line));
    } catch {
      continue;
    }
  }
  return entries;
}

/** Brings old entries to the newest version, in place. */
export function migrateSessionEntries(entries) {
  const header = entries.find((entry) => entry.type === "session");
  const version = header?.version ?? 1;
  if (version < 2) {
    let parentId = null;
    const ids = [];
    for (const entry of entries) {
      if (entry.type === "session") continue;
      entry.id = newId(ids);
      entry.parentId = parentId;
      parentId = entry.id;
      ids.push(entry.id);
    }
    for (const entry of entries) {
      if (entry.type !== "compaction" || typeof entry.firstKeptEntryIndex !== "number") continue;
      const kept = entries[entry.firstKeptEntryIndex];
      if (kept && kept.type !== "session") entry.firstKeptEntryId = kept.id;
      delete entry.firstKeptEntryIndex;
    }
  }
  if (version < 3) for (const entry of entries) if (entry.type === "message" && entry.message?.role === "hookMessage") entry.message.role = "custom";
  if (header) header.version = CURRENT_SESSION_VERSION;
}

/** Eight hexadecimal digits that are not taken. */
export function newId(taken) {
  for (;;) {
    const id = crypto.randomUUID().slice(0, 8);
    if (!taken.includes(id)) return id;
  }
}

export const getLatestCompactionEntry = (entries) => entries.findLast((entry) => entry.type === "compaction") ?? null;

/** From the root to a leaf. */
export function pathTo(entries, leafId, byId = new Map(entries.map((entry) => [entry.id, entry]))) {
  const path = [];
  const last = leafId === undefined ? entries.filter((entry) => entry.type !== "session").at(-1) : byId.get(leafId);
  for (let entry = last; entry; entry = entry.parentId ? byId.get(entry.parentId) : undefined) path.unshift(entry);
  return path;
}

const at = (entry) => new Date(entry.timestamp).getTime();

function messageOf(entry) {
  if (entry.type === "message") return [entry.message];
  if (entry.type === "custom_message") return [{ role: "custom", customType: entry.customType, content: entry.content, display: entry.display, details: entry.details, timestamp: at(entry) }];
  if (entry.type === "branch_summary" && entry.summary) return [{ role: "branchSummary", summary: entry.summary, fromId: entry.fromId, timestamp: at(entry) }];
  return [];
}

/** Messages, model and thinking level at a leaf; the latest compaction stands for what came before it. */
export function buildSessionContext(entries, leafId, byId) {
  if (leafId === null) return { messages: [], thinkingLevel: "off", model: null };
  const path = pathTo(entries, leafId, byId);
  let thinkingLevel = "off";
  let model = null;
  for (const entry of path) {
    if (entry.type === "thinking_level_change") thinkingLevel = entry.thinkingLevel;
    else if (entry.type === "model_change") model = { provider: entry.provider, modelId: entry.modelId };
    else if (entry.type === "message" && entry.message.role === "assistant") model = { provider: entry.message.provider, modelId: entry.message.model };
  }
  const last = path.findLastIndex((entry) => entry.type === "compaction");
  if (last < 0) return { messages: path.flatMap(messageOf), thinkingLevel, model };
  const compaction = path[last];
  const first = path.findIndex((entry) => entry.id === compaction.firstKeptEntryId);
  const kept = first < 0 || first > last ? [] : path.slice(first, last);
  const summary = { role: "compactionSummary", summary: compaction.summary, tokensBefore: compaction.tokensBefore, timestamp: at(compaction) };
  return { messages: [summary, ...[...kept, ...path.slice(last + 1)].flatMap(messageOf)], thinkingLevel, model };
}
