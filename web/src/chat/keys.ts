/** Keys of a browser in the words of the protocol. */
import { isWritten, letterWithAlt } from "../parts/keys";

const NAMES: Record<string, string> = {
  Enter: "enter",
  Escape: "escape",
  Tab: "tab",
  Backspace: "backspace",
  Delete: "delete",
  Insert: "insert",
  Home: "home",
  End: "end",
  PageUp: "pageUp",
  PageDown: "pageDown",
  ArrowUp: "up",
  ArrowDown: "down",
  ArrowLeft: "left",
  ArrowRight: "right",
  " ": "space",
};

/** The key, or nothing for one that means nothing by itself. */
export function keyName(event: Pick<KeyboardEvent, "key" | "ctrlKey" | "altKey" | "shiftKey" | "metaKey">): string | undefined {
  const { key } = event;
  const isText = [...key].length === 1;
  const name = Object.hasOwn(NAMES, key) ? NAMES[key] : /^F([1-9]|1[0-2])$/.test(key) ? key.toLowerCase() : isText ? key : undefined;
  if (name === undefined || event.metaKey) {
    return undefined;
  }
  const isPlain = isText && key !== " ";
  const marks = [event.ctrlKey ? "ctrl+" : "", event.altKey ? "alt+" : "", event.shiftKey && !isPlain ? "shift+" : ""].join("");
  // What was typed is text; only with another key does a letter become a name.
  return marks === "" && key === " " ? " " : marks + (isPlain && marks !== "" ? name.toLowerCase() : name);
}

/** Whether it is Alt+A, which leads to what wants keys and back. */
export function isGoKey(event: KeyboardEvent): boolean {
  return letterWithAlt(event, isWritten(event.target)) === "a";
}
