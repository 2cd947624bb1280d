// What keys do, by name (`tui.select.up`), as a person may have changed it.
import { matchesKey } from "pi:shim/pi/tui/keys";

const describe = (defaultKeys, description) => ({ defaultKeys, description });

export const TUI_KEYBINDINGS = {
  "tui.editor.cursorUp": describe("up", "Move cursor up"), "tui.editor.cursorDown": describe("down", "Move cursor down"), "tui.editor.cursorLeft": describe(["left", "ctrl+b"], "Move cursor left"),
  "tui.editor.cursorRight": describe(["right", "ctrl+f"], "Move cursor right"), "tui.editor.cursorWordLeft": describe(["alt+left", "ctrl+left", "alt+b"], "Move cursor word left"),
  "tui.editor.cursorWordRight": describe(["alt+right", "ctrl+right", "alt+f"], "Move cursor word right"), "tui.editor.cursorLineStart": describe(["home", "ctrl+a"], "Move to line start"),
  "tui.editor.cursorLineEnd": describe(["end", "ctrl+e"], "Move to line end"), "tui.editor.jumpForward": describe("ctrl+]", "Jump forward to character"),
  "tui.editor.jumpBackward": describe("ctrl+alt+]", "Jump backward to character"), "tui.editor.pageUp": describe("pageUp", "Page up"), "tui.editor.pageDown": describe("pageDown", "Page down"),
  "tui.editor.deleteCharBackward": describe("backspace", "Delete character backward"), "tui.editor.deleteCharForward": describe(["delete", "ctrl+d"], "Delete character forward"),
  "tui.editor.deleteWordBackward": describe(["ctrl+w", "alt+backspace"], "Delete word backward"), "tui.editor.deleteWordForward": describe(["alt+d", "alt+delete"], "Delete word forward"),
  "tui.editor.deleteToLineStart": describe("ctrl+u", "Delete to line start"), "tui.editor.deleteToLineEnd": describe("ctrl+k", "Delete to line end"), "tui.editor.yank": describe("ctrl+y", "Yank"),
  "tui.editor.yankPop": describe("alt+y", "Yank pop"), "tui.editor.undo": describe("ctrl+-", "Undo"), "tui.input.newLine": describe("shift+enter", "Insert newline"), "tui.input.submit": describe("enter", "Submit input"),
  "tui.input.tab": describe("tab", "Tab / autocomplete"), "tui.input.copy": describe("ctrl+c", "Copy selection"), "tui.select.up": describe("up", "Move selection up"), "tui.select.down": describe("down", "Move selection down"),
  "tui.select.pageUp": describe("pageUp", "Selection page up"), "tui.select.pageDown": describe("pageDown", "Selection page down"), "tui.select.confirm": describe("enter", "Confirm selection"),
  "tui.select.cancel": describe(["escape", "ctrl+c"], "Cancel selection"),
};

/** What the application itself does with keys. */
export const APP_KEYBINDINGS = {
  "app.interrupt": describe("escape", "Cancel or abort"), "app.clear": describe("ctrl+c", "Clear editor"), "app.exit": describe("ctrl+d", "Exit when editor is empty"), "app.suspend": describe("ctrl+z", "Suspend to background"),
  "app.thinking.cycle": describe("shift+tab", "Cycle thinking level"), "app.model.cycleForward": describe("ctrl+p", "Cycle to next model"), "app.model.cycleBackward": describe("shift+ctrl+p", "Cycle to previous model"),
  "app.model.select": describe("ctrl+l", "Open model selector"), "app.tools.expand": describe("ctrl+o", "Toggle tool output"), "app.thinking.toggle": describe("ctrl+t", "Toggle thinking blocks"),
  "app.editor.external": describe("ctrl+g", "Open external editor"), "app.message.followUp": describe("alt+enter", "Queue follow-up message"), "app.message.dequeue": describe("alt+up", "Restore queued messages"),
  "app.clipboard.pasteImage": describe("ctrl+v", "Paste image from clipboard"),
};

// Names from before they had prefixes, which older extensions use.
const OLD = {
  expandTools: "app.tools.expand", interrupt: "app.interrupt", clear: "app.clear", exit: "app.exit", selectUp: "tui.select.up", selectDown: "tui.select.down", selectConfirm: "tui.select.confirm", selectCancel: "tui.select.cancel",
  selectPageUp: "tui.select.pageUp", selectPageDown: "tui.select.pageDown", submit: "tui.input.submit", newLine: "tui.input.newLine", tab: "tui.input.tab", copy: "tui.input.copy",
};
const current = (name) => (name.includes(".") ? name : (OLD[name] ?? `tui.editor.${name}`));

export class KeybindingsManager {
  #definitions;
  #own;
  constructor(definitions = { ...TUI_KEYBINDINGS, ...APP_KEYBINDINGS }, own = {}) {
    this.#definitions = definitions;
    this.#own = { ...own };
  }
  getKeys(name) {
    const key = current(name);
    return [this.#own[key] ?? this.#definitions[key]?.defaultKeys ?? []].flat();
  }
  matches(data, name) { return this.getKeys(name).some((key) => matchesKey(data, key)); }
  getDefinition(name) { return this.#definitions[current(name)]; }
  getUserBindings() { return { ...this.#own }; }
  setUserBindings(own) { this.#own = { ...own }; }
  getResolvedBindings() { return Object.fromEntries(Object.keys(this.#definitions).map((name) => [name, this.#own[name] ?? this.#definitions[name].defaultKeys])); }
  getEffectiveConfig() { return this.getResolvedBindings(); }
  getConflicts() {
    const byKey = new Map();
    for (const [name, keys] of Object.entries(this.#own)) for (const key of [keys].flat()) byKey.set(key, [...(byKey.get(key) ?? []), name]);
    return [...byKey].filter(([, names]) => names.length > 1).map(([key, keybindings]) => ({ key, keybindings }));
  }
}

let shared = new KeybindingsManager();
export const getKeybindings = () => shared;
export const setKeybindings = (bindings) => { shared = bindings; };
/** The old name of the same. */
export const getEditorKeybindings = getKeybindings;
export const setEditorKeybindings = setKeybindings;
export { KeybindingsManager as EditorKeybindingsManager };
