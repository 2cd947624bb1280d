/** What the tools of a conversation changed, file by file. What shell commands change is not known. */
import { parsePatch } from "../diff/patch";
import type { Row } from "./messages.svelte";
import type { Tool } from "./parts.svelte";

export interface Change {
  /** The message that the call stands in. */
  entryId: string | undefined;
  /** Of a file that was there before. */
  patch: string | undefined;
  /** Of one that was not. */
  content: string;
  added: number;
  removed: number;
}

export interface ChangedFile {
  path: string;
  changes: readonly Change[];
  added: number;
  removed: number;
}

/** Patches are counted once. */
const counted = new WeakMap<Tool, { patch: string; added: number; removed: number }>();

function count(tool: Tool, patch: string): { added: number; removed: number } {
  const known = counted.get(tool);
  if (known?.patch === patch) {
    return known;
  }
  const files = parsePatch(patch);
  const sum = (of: (file: (typeof files)[number]) => number) => files.reduce((all, file) => all + of(file), 0);
  const found = { patch, added: sum(({ added }) => added), removed: sum(({ removed }) => removed) };
  counted.set(tool, found);
  return found;
}

function changeOf(tool: Tool, entryId: string | undefined): Change | undefined {
  if (tool.status !== "done") {
    return undefined;
  }
  const patch = tool.detail("patch");
  if (typeof patch === "string") {
    return { entryId, patch, content: "", ...count(tool, patch) };
  }
  const content = tool.args["content"];
  if (tool.name !== "write" || typeof content !== "string") {
    return undefined;
  }
  return { entryId, patch: undefined, content, added: content === "" ? 0 : content.replace(/\n$/, "").split("\n").length, removed: 0 };
}

/** The files in the order in which they were first changed. */
export function changesIn(rows: readonly Row[]): ChangedFile[] {
  const files = new Map<string, Change[]>();
  for (const { parts, entryId } of rows) {
    for (const part of parts) {
      const change = part?.type === "tool" ? changeOf(part.tool, entryId) : undefined;
      const path = part?.type === "tool" ? part.tool.args["path"] : undefined;
      if (change !== undefined && typeof path === "string") {
        files.set(path, [...(files.get(path) ?? []), change]);
      }
    }
  }
  return [...files].map(([path, changes]) => ({
    path,
    changes,
    added: changes.reduce((sum, { added }) => sum + added, 0),
    removed: changes.reduce((sum, { removed }) => sum + removed, 0),
  }));
}
