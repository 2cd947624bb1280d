/** The tree of entries in the order in which it is shown: a branch is indented only where there is another beside it. */
import type { EntryTree, TreeNode } from "pi-client";

export interface Line {
  node: TreeNode;
  depth: number;
  /** Whether it is on the way to where the conversation stands. */
  isOnPath: boolean;
  isCurrent: boolean;
  /** How many ways go on from here. */
  branches: number;
}

const SHOWN = ["message", "compaction", "branch_summary", "custom_message"];

export function linesOf(tree: EntryTree): Line[] {
  const children = new Map<string | null, TreeNode[]>();
  const known = new Map(tree.nodes.map((node) => [node.entryId, node]));
  for (const node of tree.nodes) {
    const parent = node.parentId !== null && known.has(node.parentId) ? node.parentId : null;
    children.set(parent, [...(children.get(parent) ?? []), node]);
  }
  const path = new Set<string>();
  for (let at = tree.currentLeafId; at !== null && !path.has(at); at = known.get(at)?.parentId ?? null) {
    path.add(at);
  }
  const lines: Line[] = [];
  const seen = new Set<string>();
  // Without recursion: a conversation may be ten thousand entries deep.
  const waiting: { node: TreeNode; depth: number }[] = [];
  const push = (nodes: TreeNode[], depth: number) => {
    // The way that is gone stands last among its siblings, so that it goes on below without a jump.
    const sorted = [...nodes].sort((one, other) => Number(path.has(one.entryId)) - Number(path.has(other.entryId)));
    for (const node of sorted.reverse()) {
      waiting.push({ node, depth: nodes.length > 1 && !path.has(node.entryId) ? depth + 1 : depth });
    }
  };
  push(children.get(null) ?? [], 0);
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { node, depth } = next;
    if (seen.has(node.entryId)) {
      continue;
    }
    seen.add(node.entryId);
    const below = children.get(node.entryId) ?? [];
    const isCurrent = node.entryId === tree.currentLeafId;
    if (SHOWN.includes(node.entryType) || isCurrent || node.label !== undefined) {
      lines.push({ node, depth, isOnPath: path.has(node.entryId), isCurrent, branches: below.length });
    }
    push(below, depth);
  }
  return lines;
}
