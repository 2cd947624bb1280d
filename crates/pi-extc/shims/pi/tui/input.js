// Input: one line of text with a cursor.
import host from "pi:host";
import { getKeybindings } from "pi:shim/pi/tui/bindings";
import { decodeKittyPrintable } from "pi:shim/pi/tui/keys";
import { CURSOR_MARKER } from "pi:shim/pi/tui/marker";
import { visibleWidth } from "pi:shim/pi/tui/width";

const before = (text, at) => at - (host.graphemes(text.slice(0, at)).at(-1)?.length ?? 0);
const after = (text, at) => at + (host.graphemes(text.slice(at))[0]?.length ?? 0);

/** Where the word before or behind a place ends. */
export function wordLeft(text, at) {
  const head = text.slice(0, at).replace(/\s+$/, "");
  const word = /(?:[\p{L}\p{N}_]+|[^\p{L}\p{N}_\s]+)$/u.exec(head);
  return word ? word.index : 0;
}
export function wordRight(text, at) {
  const word = /^\s*(?:[\p{L}\p{N}_]+|[^\p{L}\p{N}_\s]+)?/u.exec(text.slice(at));
  return at + word[0].length;
}

/** Typed or pasted text, or `undefined` if it is a key that types nothing. */
export function typed(data) {
  const paste = /^\x1b\[200~([\s\S]*?)(?:\x1b\[201~)?$/.exec(data);
  if (paste) return paste[1].replace(/\r\n?/g, "\n");
  const kitty = decodeKittyPrintable(data);
  if (kitty !== undefined) return kitty;
  return /[\x00-\x1f\x7f]/.test(data) ? undefined : data;
}

export class Input {
  #value = "";
  #cursor = 0;
  #killed = "";
  #undo = [];
  onSubmit;
  onEscape;
  focused = false;
  getValue() { return this.#value; }
  setValue(value) {
    this.#value = value;
    this.#cursor = Math.min(this.#cursor, value.length);
  }
  invalidate() {}

  #set(value, cursor) {
    this.#undo.push([this.#value, this.#cursor]);
    if (this.#undo.length > 100) this.#undo.shift();
    this.#value = value;
    this.#cursor = cursor;
  }
  #remove(from, to) {
    if (from >= to) return;
    this.#set(this.#value.slice(0, from) + this.#value.slice(to), from);
  }
  #kill(from, to) {
    if (from < to) this.#killed = this.#value.slice(from, to);
    this.#remove(from, to);
  }
  #insert(text) { this.#set(this.#value.slice(0, this.#cursor) + text + this.#value.slice(this.#cursor), this.#cursor + text.length); }

  handleInput(data) {
    const keys = getKeybindings();
    const is = (name) => keys.matches(data, name);
    const [value, at] = [this.#value, this.#cursor];
    if (is("tui.select.cancel")) this.onEscape?.();
    else if (is("tui.input.submit") || data === "\n") this.onSubmit?.(value);
    else if (is("tui.editor.undo")) [this.#value, this.#cursor] = this.#undo.pop() ?? [value, at];
    else if (is("tui.editor.deleteCharBackward")) this.#remove(before(value, at), at);
    else if (is("tui.editor.deleteCharForward")) this.#remove(at, after(value, at));
    else if (is("tui.editor.deleteWordBackward")) this.#kill(wordLeft(value, at), at);
    else if (is("tui.editor.deleteWordForward")) this.#kill(at, wordRight(value, at));
    else if (is("tui.editor.deleteToLineStart")) this.#kill(0, at);
    else if (is("tui.editor.deleteToLineEnd")) this.#kill(at, value.length);
    else if (is("tui.editor.yank")) this.#insert(this.#killed);
    else if (is("tui.editor.cursorLeft")) this.#cursor = before(value, at);
    else if (is("tui.editor.cursorRight")) this.#cursor = after(value, at);
    else if (is("tui.editor.cursorLineStart")) this.#cursor = 0;
    else if (is("tui.editor.cursorLineEnd")) this.#cursor = value.length;
    else if (is("tui.editor.cursorWordLeft")) this.#cursor = wordLeft(value, at);
    else if (is("tui.editor.cursorWordRight")) this.#cursor = wordRight(value, at);
    else {
      const text = typed(data);
      if (text !== undefined) this.#insert(text.replace(/[\r\n]/g, "").replace(/\t/g, "    "));
    }
  }

  render(width) {
    const prompt = "> ";
    const room = width - prompt.length;
    if (room <= 0) return [prompt];
    // The part around the cursor is seen; the cursor needs a column of its own at the end.
    const graphemes = host.graphemes(this.#value);
    let [start, offset] = [0, 0];
    const head = () => graphemes.slice(start).reduce(([sum, length], own) => (offset + length >= this.#cursor ? [sum, length] : [sum + visibleWidth(own), length + own.length]), [0, 0])[0];
    while (head() >= room) offset += graphemes[start++].length;
    let [line, used, place] = ["", 0, offset];
    for (const own of graphemes.slice(start)) {
      const size = visibleWidth(own);
      if (used + size > room) break;
      line += place === this.#cursor ? `${this.focused ? CURSOR_MARKER : ""}\x1b[7m${own}\x1b[27m` : own;
      used += size;
      place += own.length;
    }
    if (this.#cursor >= this.#value.length && used < room) {
      line += `${this.focused ? CURSOR_MARKER : ""}\x1b[7m \x1b[27m`;
      used += 1;
    }
    return [prompt + line + " ".repeat(Math.max(0, room - used))];
  }
}
