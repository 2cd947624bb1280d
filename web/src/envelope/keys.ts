/** The keys of the envelope view, in the order in which a help page lists them. */

import type { TextKey } from "../texts";

export type Action =
  | "next"
  | "previous"
  | "nextMessage"
  | "previousMessage"
  | "first"
  | "last"
  | "fold"
  | "foldAll"
  | "older"
  | "newer"
  | "search"
  | "nextHit"
  | "filter"
  | "segments"
  | "treemap"
  | "diff"
  | "copyLink"
  | "leave";

export interface Key {
  action: Action;
  /** As a help page shows them. */
  keys: string;
  /** As `KeyboardEvent.key` names them; each of them does it. */
  pressed: readonly string[];
  text: TextKey;
}

export const KEYS: readonly Key[] = [
  { action: "next", keys: "j ↓", pressed: ["j", "ArrowDown"], text: "envelope.key.next" },
  { action: "previous", keys: "k ↑", pressed: ["k", "ArrowUp"], text: "envelope.key.previous" },
  { action: "nextMessage", keys: "J", pressed: ["J"], text: "envelope.key.nextMessage" },
  { action: "previousMessage", keys: "K", pressed: ["K"], text: "envelope.key.previousMessage" },
  { action: "first", keys: "g Home", pressed: ["g", "Home"], text: "envelope.key.first" },
  { action: "last", keys: "G End", pressed: ["G", "End"], text: "envelope.key.last" },
  { action: "fold", keys: "x Enter", pressed: ["x", "Enter"], text: "envelope.key.fold" },
  { action: "foldAll", keys: "X", pressed: ["X"], text: "envelope.key.foldAll" },
  { action: "older", keys: "[", pressed: ["["], text: "envelope.key.older" },
  { action: "newer", keys: "]", pressed: ["]"], text: "envelope.key.newer" },
  { action: "search", keys: "/", pressed: ["/"], text: "envelope.key.search" },
  { action: "nextHit", keys: "n", pressed: ["n"], text: "envelope.key.nextHit" },
  { action: "filter", keys: ".", pressed: ["."], text: "envelope.key.filter" },
  { action: "segments", keys: "s", pressed: ["s"], text: "envelope.key.segments" },
  { action: "treemap", keys: "t", pressed: ["t"], text: "envelope.key.treemap" },
  { action: "diff", keys: "d", pressed: ["d"], text: "envelope.key.diff" },
  { action: "copyLink", keys: "y", pressed: ["y"], text: "envelope.key.copyLink" },
  { action: "leave", keys: "Esc", pressed: ["Escape"], text: "envelope.key.leave" },
];

/** What a key press asks for; nothing while something is typed, or with a modifier that belongs to the browser. */
export function actionOf(event: KeyboardEvent): Action | undefined {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) {
    return undefined;
  }
  const target = event.target instanceof HTMLElement ? event.target : undefined;
  const isTyping = target?.matches("input, textarea, select, [contenteditable]") ?? false;
  if (isTyping && event.key !== "Escape") {
    return undefined;
  }
  // Enter on a button presses it, arrows in a widget move in it.
  const isWidget = target?.matches("button, a, summary, audio, video, [role=listbox], [role=tab], [role=slider]") ?? false;
  if (isWidget && event.key.length > 1 && event.key !== "Escape") {
    return undefined;
  }
  return KEYS.find((key) => key.pressed.includes(event.key))?.action;
}
