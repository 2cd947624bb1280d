/** The tree of entries in the order in which it is shown: a branch is indented only where there is another beside it. */
import type { EntryTree, TreeNode } from "pi-client";
import { titleOf } from "./attached";

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

function isShown(node: TreeNode): boolean {
  return SHOWN.includes(node.entryType) || node.label !== undefined;
}

/** What an entry says in one line: of what a person said the words, and not the files in it. */
export function saysOf({ role, text }: TreeNode): string {
  return role === "user" ? titleOf(text) : text;
}

export function linesOf(tree: EntryTree): Line[] {
  const known = new Map(tree.nodes.map((node) => [node.entryId, node]));
  const parentOf = (node: TreeNode) => (node.parentId === null ? undefined : known.get(node.parentId));
  const path = new Set<string>();
  let current: string | undefined;
  // What the conversation stands at may be a label or a change of the model: then it stands at what is shown before it.
  for (let at = known.get(tree.currentLeafId ?? ""); at !== undefined && !path.has(at.entryId); at = parentOf(at)) {
    path.add(at.entryId);
    current ??= isShown(at) ? at.entryId : undefined;
  }
  const children = childrenOf(tree, parentOf);
  const lines: Line[] = [];
  const seen = new Set<string>();
  // Without recursion: a conversation may be ten thousand entries deep.
  const waiting: { node: TreeNode; depth: number }[] = [];
  const push = (nodes: readonly TreeNode[], depth: number) => {
    // The way that is gone stands last among its siblings, so that it goes on below without a jump.
    const sorted = [...nodes].sort((one, other) => Number(path.has(one.entryId)) - Number(path.has(other.entryId)));
    for (const node of sorted.reverse()) {
      waiting.push({ node, depth: nodes.length > 1 && !path.has(node.entryId) ? depth + 1 : depth });
    }
  };
  push(children.get(undefined) ?? [], 0);
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { node, depth } = next;
    if (seen.has(node.entryId)) {
      continue;
    }
    seen.add(node.entryId);
    const below = children.get(node.entryId) ?? [];
    if (isShown(node)) {
      lines.push({ node, depth, isOnPath: path.has(node.entryId), isCurrent: node.entryId === current, branches: below.length });
    }
    push(below, depth);
  }
  return lines;
}

/** What follows an entry, or nothing; ways on which nothing is shown are none. */
function childrenOf(tree: EntryTree, parentOf: (node: TreeNode) => TreeNode | undefined): Map<string | undefined, TreeNode[]> {
  // A parent stands before its children, so that going back meets the children first.
  const leads = new Set<string>();
  for (const node of tree.nodes.toReversed()) {
    const parent = parentOf(node);
    if (isShown(node) || leads.has(node.entryId)) {
      leads.add(node.entryId);
      if (parent !== undefined) {
        leads.add(parent.entryId);
      }
    }
  }
  const children = new Map<string | undefined, TreeNode[]>();
  for (const node of tree.nodes.filter(({ entryId }) => leads.has(entryId))) {
    const parent = parentOf(node)?.entryId;
    const siblings = children.get(parent);
    if (siblings === undefined) {
      children.set(parent, [node]);
    } else {
      siblings.push(node);
    }
  }
  return children;
}
