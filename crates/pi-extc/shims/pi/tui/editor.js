// Editor: several lines of text with a cursor, history, undo and completions of a provider. Long pastes are kept as they
// are; Pi's shortened marks for them are not made.
import host from "pi:host";
import { getKeybindings } from "pi:shim/pi/tui/bindings";
import { typed, wordLeft, wordRight } from "pi:shim/pi/tui/input";
import { SelectList } from "pi:shim/pi/tui/lists";
import { CURSOR_MARKER } from "pi:shim/pi/tui/marker";
import { visibleWidth } from "pi:shim/pi/tui/width";

/** A line in parts of at most `width` columns, each with the place where it begins. */
export function wordWrapLine(line, width) {
  if (visibleWidth(line) <= width) return [{ text: line, startIndex: 0, endIndex: line.length }];
  const chunks = [];
  let [start, at, used, space] = [0, 0, 0, -1];
  const push = (end) => {
    chunks.push({ text: line.slice(start, end), startIndex: start, endIndex: end });
    start = end;
    used = visibleWidth(line.slice(start, at));
    space = -1;
  };
  for (const own of host.graphemes(line)) {
    const size = visibleWidth(own);
    if (used + size > width && at > start) push(space > start ? space : at);
    at += own.length;
    used += size;
    if (own === " ") space = at;
  }
  push(line.length);
  return chunks;
}

export class Editor {
  #lines = [""];
  #line = 0;
  #column = 0;
  #undo = [];
  #killed = "";
  #history = [];
  #historyAt = -1;
  #draft = "";
  #theme;
  #paddingX;
  #most;
  #provider;
  #completion;
  #scroll = 0;
  #lastWidth = 80;
  focused = false;
  onSubmit;
  onChange;
  disableSubmit = false;

  constructor(tui, theme, options = {}) {
    this.tui = tui;
    this.#theme = theme;
    this.borderColor = theme?.borderColor ?? ((text) => text);
    this.#paddingX = options.paddingX ?? 0;
    this.#most = options.autocompleteMaxVisible ?? 5;
  }
  getPaddingX() { return this.#paddingX; }
  setPaddingX(padding) { this.#paddingX = Math.max(0, Math.floor(padding) || 0); }
  getAutocompleteMaxVisible() { return this.#most; }
  setAutocompleteMaxVisible(most) { this.#most = most; }
  setAutocompleteProvider(provider) { this.#provider = provider; this.#completion = undefined; }
  isShowingAutocomplete() { return this.#completion !== undefined; }
  addToHistory(text) {
    const entry = text.trim();
    if (entry === "" || this.#history[0] === entry) return;
    this.#history.unshift(entry);
    if (this.#history.length > 100) this.#history.pop();
  }
  getText() { return this.#lines.join("\n"); }
  getExpandedText() { return this.getText(); }
  getLines() { return [...this.#lines]; }
  getCursor() { return { line: this.#line, col: this.#column }; }
  invalidate() {}

  setText(text) {
    this.#remember();
    this.#place(text);
    this.#historyAt = -1;
    this.onChange?.(this.getText());
  }
  #place(text) {
    this.#lines = text.replace(/\r\n?/g, "\n").replace(/\t/g, "    ").split("\n");
    this.#line = this.#lines.length - 1;
    this.#column = this.#lines.at(-1).length;
  }
  insertTextAtCursor(text) { if (text) this.#insert(text); }

  #remember() {
    this.#undo.push({ lines: [...this.#lines], line: this.#line, column: this.#column });
    if (this.#undo.length > 200) this.#undo.shift();
  }
  #insert(text) {
    this.#remember();
    const line = this.#lines[this.#line];
    const parts = text.replace(/\r\n?/g, "\n").replace(/\t/g, "    ").split("\n");
    const [head, tail] = [line.slice(0, this.#column), line.slice(this.#column)];
    const last = parts.length - 1;
    const made = parts.map((part, at) => `${at === 0 ? head : ""}${part}${at === last ? tail : ""}`);
    this.#lines.splice(this.#line, 1, ...made);
    this.#column = last === 0 ? head.length + parts[0].length : parts[last].length;
    this.#line += last;
    this.#changed();
  }
  #changed() {
    this.#historyAt = -1;
    this.onChange?.(this.getText());
    if (this.#completion) this.#complete(false);
  }
  #deleteTo(line, column, isKilled) {
    this.#remember();
    const [from, to] = line < this.#line || (line === this.#line && column < this.#column) ? [{ line, column }, { line: this.#line, column: this.#column }] : [{ line: this.#line, column: this.#column }, { line, column }];
    const removed = this.#lines.slice(from.line, to.line + 1);
    removed[removed.length - 1] = removed.at(-1).slice(0, to.column);
    removed[0] = removed[0].slice(from.column);
    if (isKilled) this.#killed = removed.join("\n");
    this.#lines.splice(from.line, to.line - from.line + 1, this.#lines[from.line].slice(0, from.column) + this.#lines[to.line].slice(to.column));
    [this.#line, this.#column] = [from.line, from.column];
    this.#changed();
  }
  /** The place one grapheme, or one line end, before or behind the cursor. */
  #beside(step) {
    const line = this.#lines[this.#line];
    if (step < 0 && this.#column === 0) return this.#line === 0 ? undefined : [this.#line - 1, this.#lines[this.#line - 1].length];
    if (step > 0 && this.#column === line.length) return this.#line === this.#lines.length - 1 ? undefined : [this.#line + 1, 0];
    const near = step < 0 ? host.graphemes(line.slice(0, this.#column)).at(-1) : host.graphemes(line.slice(this.#column))[0];
    return [this.#line, this.#column + step * near.length];
  }
  #go(place) { if (place) [this.#line, this.#column] = place; }

  handleInput(data) {
    const keys = getKeybindings();
    const is = (name) => keys.matches(data, name);
    if (this.#completion && this.#completionInput(data, is)) return;
    const line = this.#lines[this.#line];
    if (is("tui.input.newLine") || data === "\n" || data === "\x1b\r") return void this.#insert("\n");
    if (is("tui.input.submit")) return void this.#submit();
    if (is("tui.input.tab")) return void this.#complete(true);
    if (is("tui.editor.undo")) return void this.#undoLast();
    if (is("tui.editor.deleteCharBackward")) return void this.#removeBeside(-1);
    if (is("tui.editor.deleteCharForward")) return void this.#removeBeside(1);
    if (is("tui.editor.deleteWordBackward")) return void (this.#column > 0 ? this.#deleteTo(this.#line, wordLeft(line, this.#column), true) : this.#removeBeside(-1));
    if (is("tui.editor.deleteWordForward")) return void (this.#column < line.length ? this.#deleteTo(this.#line, wordRight(line, this.#column), true) : this.#removeBeside(1));
    if (is("tui.editor.deleteToLineStart")) return void (this.#column > 0 ? this.#deleteTo(this.#line, 0, true) : this.#removeBeside(-1));
    if (is("tui.editor.deleteToLineEnd")) return void (this.#column < line.length ? this.#deleteTo(this.#line, line.length, true) : this.#removeBeside(1));
    if (is("tui.editor.yank")) return void (this.#killed && this.#insert(this.#killed));
    if (is("tui.editor.cursorUp")) return void this.#vertical(-1);
    if (is("tui.editor.cursorDown")) return void this.#vertical(1);
    if (is("tui.editor.cursorLeft")) return void this.#go(this.#beside(-1));
    if (is("tui.editor.cursorRight")) return void this.#go(this.#beside(1));
    if (is("tui.editor.cursorLineStart")) return void (this.#column = 0);
    if (is("tui.editor.cursorLineEnd")) return void (this.#column = line.length);
    if (is("tui.editor.cursorWordLeft")) return void this.#go(this.#column > 0 ? [this.#line, wordLeft(line, this.#column)] : this.#beside(-1));
    if (is("tui.editor.cursorWordRight")) return void this.#go(this.#column < line.length ? [this.#line, wordRight(line, this.#column)] : this.#beside(1));
    const text = typed(data);
    if (text === undefined) return undefined;
    this.#insert(text);
    if (/^[/@]$/.test(text) || this.#completion) this.#complete(false);
    return undefined;
  }

  #removeBeside(step) {
    const place = this.#beside(step);
    if (place) this.#deleteTo(...place, false);
  }
  #undoLast() {
    const state = this.#undo.pop();
    if (!state) return;
    [this.#lines, this.#line, this.#column] = [state.lines, state.line, state.column];
    this.onChange?.(this.getText());
  }
  #submit() {
    if (this.disableSubmit) return;
    const text = this.getText().trim();
    this.#lines = [""];
    [this.#line, this.#column, this.#scroll, this.#historyAt, this.#undo, this.#completion] = [0, 0, 0, -1, [], undefined];
    this.onChange?.("");
    this.onSubmit?.(text);
  }

  /** Up and down go by lines as they are seen; at the ends they go through the history. */
  #vertical(step) {
    const rows = this.#rows(this.#lastWidth);
    const at = rows.findIndex((row) => row.line === this.#line && this.#column >= row.startIndex && (this.#column < row.endIndex || row.isLast));
    const target = rows[at + step];
    if (target) {
      const offset = this.#column - rows[at].startIndex;
      [this.#line, this.#column] = [target.line, Math.min(target.startIndex + offset, target.isLast ? target.endIndex : Math.max(target.startIndex, target.endIndex - 1))];
      return;
    }
    const isBrowsing = this.#historyAt >= 0 || this.getText() === "";
    if (!isBrowsing) return void (this.#column = step < 0 ? 0 : this.#lines[this.#line].length);
    const next = this.#historyAt - step;
    if (next < -1 || next >= this.#history.length) return;
    if (this.#historyAt === -1) this.#draft = this.getText();
    this.#historyAt = next;
    this.#place(next === -1 ? this.#draft : this.#history[next]);
    this.onChange?.(this.getText());
  }

  async #complete(isForced) {
    if (!this.#provider) return;
    const { AbortController } = host.load("pi:shim/web/abort");
    const found = await this.#provider.getSuggestions(this.#lines, this.#line, this.#column, { signal: new AbortController().signal, force: isForced });
    if (!found || found.items.length === 0) this.#completion = undefined;
    else this.#completion = { prefix: found.prefix, list: new SelectList(found.items, this.#most, this.#theme.selectList) };
    this.tui?.requestRender?.();
  }
  #completionInput(data, is) {
    const { list, prefix } = this.#completion;
    if (is("tui.select.cancel")) this.#completion = undefined;
    else if (is("tui.select.up") || is("tui.select.down")) list.handleInput(data);
    else if (is("tui.input.tab") || is("tui.select.confirm")) {
      const item = list.getSelectedItem();
      this.#completion = undefined;
      if (!item) return false;
      this.#remember();
      const { lines, cursorLine, cursorCol } = this.#provider.applyCompletion(this.#lines, this.#line, this.#column, item, prefix);
      [this.#lines, this.#line, this.#column] = [lines, cursorLine, cursorCol];
      this.onChange?.(this.getText());
    } else return false;
    return true;
  }

  #rows(width) {
    return this.#lines.flatMap((text, line) => {
      const chunks = wordWrapLine(text, width);
      return chunks.map((chunk, at) => ({ ...chunk, line, isLast: at === chunks.length - 1 }));
    });
  }

  render(width) {
    const inner = Math.max(1, width - 2 * this.#paddingX);
    this.#lastWidth = Math.max(1, inner - (this.#paddingX === 0 ? 1 : 0));
    const margin = " ".repeat(this.#paddingX);
    const rows = this.#rows(this.#lastWidth);
    const most = Math.max(5, Math.floor((this.tui?.terminal?.rows ?? 24) * 0.3));
    const own = rows.findIndex((row) => row.line === this.#line && this.#column >= row.startIndex && (this.#column < row.endIndex || row.isLast));
    if (own < this.#scroll) this.#scroll = own;
    if (own >= this.#scroll + most) this.#scroll = own - most + 1;
    this.#scroll = Math.max(0, Math.min(this.#scroll, rows.length - most));
    const border = (label) => this.borderColor(label ? `${label}${"─".repeat(Math.max(0, width - visibleWidth(label)))}` : "─".repeat(width));
    const below = rows.length - this.#scroll - most;
    const lines = [border(this.#scroll > 0 ? `─── ↑ ${this.#scroll} more ` : "")];
    for (const [at, row] of rows.slice(this.#scroll, this.#scroll + most).entries()) {
      const text = this.#scroll + at === own ? this.#withCursor(row) : row.text;
      lines.push(margin + text + " ".repeat(Math.max(0, inner - visibleWidth(text))) + margin);
    }
    lines.push(border(below > 0 ? `─── ↓ ${below} more ` : ""));
    if (this.#completion) lines.push(...this.#completion.list.render(inner).map((line) => margin + line + margin));
    return lines;
  }
  #withCursor(row) {
    const at = this.#column - row.startIndex;
    const under = host.graphemes(row.text.slice(at))[0] ?? " ";
    return `${row.text.slice(0, at)}${this.focused ? CURSOR_MARKER : ""}\x1b[7m${under}\x1b[0m${row.text.slice(at + (at < row.text.length ? under.length : 0))}`;
  }
}
