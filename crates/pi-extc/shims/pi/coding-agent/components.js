// Components of the application that extensions use: borders, loaders, its editor, and messages.
import host from "pi:host";
import { getKeybindings } from "pi:shim/pi/tui/bindings";
import { Editor } from "pi:shim/pi/tui/editor";
import { Markdown } from "pi:shim/pi/tui/markdown";
import { Box, CancellableLoader, Container, Loader, Spacer, Text } from "pi:shim/pi/tui/parts";
import { currentTheme, getMarkdownTheme } from "pi:shim/pi/coding-agent/theme";

export class DynamicBorder {
  #color;
  constructor(color = (text) => currentTheme().fg("border", text)) { this.#color = color; }
  invalidate() {}
  render(width) { return [this.#color("─".repeat(Math.max(1, width)))]; }
}

export class BorderedLoader extends Container {
  #loader;
  #isCancellable;
  #abort;
  constructor(tui, theme, message, options) {
    super();
    this.#isCancellable = options?.cancellable ?? true;
    const border = (text) => theme.fg("border", text);
    const [accent, muted] = [(text) => theme.fg("accent", text), (text) => theme.fg("muted", text)];
    this.#loader = this.#isCancellable ? new CancellableLoader(tui, accent, muted, message) : new Loader(tui, accent, muted, message);
    if (!this.#isCancellable) this.#abort = new (host.load("pi:shim/web/abort").AbortController)();
    this.addChild(new DynamicBorder(border));
    this.addChild(this.#loader);
    if (this.#isCancellable) {
      this.addChild(new Spacer(1));
      this.addChild(new Text(keyHint("tui.select.cancel", "cancel"), 1, 0));
    }
    this.addChild(new Spacer(1));
    this.addChild(new DynamicBorder(border));
  }
  get signal() { return this.#isCancellable ? this.#loader.signal : this.#abort.signal; }
  set onAbort(callback) { if (this.#isCancellable) this.#loader.onAbort = callback; }
  handleInput(data) { if (this.#isCancellable) this.#loader.handleInput(data); }
  dispose() { this.#loader.stop(); }
}

/** The editor of the application: keys that it has an action for go there first. */
export class CustomEditor extends Editor {
  #keybindings;
  actionHandlers = new Map();
  onEscape;
  onCtrlD;
  onPasteImage;
  onExtensionShortcut;
  constructor(tui, theme, keybindings, options) {
    super(tui, theme, options);
    this.#keybindings = keybindings ?? getKeybindings();
  }
  onAction(action, handler) { this.actionHandlers.set(action, handler); }
  handleInput(data) {
    if (this.onExtensionShortcut?.(data)) return;
    const is = (name) => this.#keybindings.matches(data, name);
    if (is("app.clipboard.pasteImage") && this.onPasteImage) return void this.onPasteImage();
    if (is("app.interrupt") && !this.isShowingAutocomplete()) {
      const handler = this.onEscape ?? this.actionHandlers.get("app.interrupt");
      if (handler) return void handler();
    }
    if (is("app.exit") && this.getText() === "") {
      const handler = this.onCtrlD ?? this.actionHandlers.get("app.exit");
      if (handler) return void handler();
    }
    for (const [action, handler] of this.actionHandlers) if (action !== "app.interrupt" && action !== "app.exit" && is(action)) return void handler();
    super.handleInput(data);
  }
}

export const keyText = (name) => getKeybindings().getKeys(name).join("/");
export const rawKeyHint = (key, description) => currentTheme().fg("dim", key) + currentTheme().fg("muted", ` ${description}`);
export const keyHint = (name, description) => rawKeyHint(keyText(name), description);

export class UserMessageComponent extends Container {
  constructor(text, markdownTheme = getMarkdownTheme()) {
    super();
    const box = new Box(1, 1, (line) => currentTheme().bg("userMessageBg", line));
    box.addChild(new Markdown(text, 0, 0, markdownTheme, { color: (own) => currentTheme().fg("userMessageText", own) }));
    this.addChild(box);
  }
}

export class AssistantMessageComponent extends Container {
  #isHidden;
  #theme;
  #label;
  #message;
  constructor(message, hideThinkingBlock = false, markdownTheme = getMarkdownTheme(), hiddenThinkingLabel = "Thinking...") {
    super();
    this.#isHidden = hideThinkingBlock;
    this.#theme = markdownTheme;
    this.#label = hiddenThinkingLabel;
    if (message) this.updateContent(message);
  }
  setHideThinkingBlock(isHidden) { this.#isHidden = isHidden; if (this.#message) this.updateContent(this.#message); }
  setHiddenThinkingLabel(label) { this.#label = label; if (this.#message) this.updateContent(this.#message); }
  updateContent(message) {
    this.#message = message;
    this.clear();
    const theme = currentTheme();
    for (const block of message.content) {
      if (block.type === "text" && block.text.trim() !== "") this.#add(new Markdown(block.text.trim(), 1, 0, this.#theme));
      else if (block.type === "thinking" && block.thinking.trim() !== "") {
        this.#add(this.#isHidden ? new Text(theme.italic(theme.fg("thinkingText", this.#label)), 1, 0) : new Markdown(block.thinking.trim(), 1, 0, this.#theme, { color: (text) => theme.fg("thinkingText", text), italic: true }));
      }
    }
    const hasCalls = message.content.some((block) => block.type === "toolCall");
    if (!hasCalls && (message.stopReason === "error" || message.stopReason === "aborted")) this.#add(new Text(theme.fg("error", message.stopReason === "aborted" ? message.errorMessage ?? "Operation aborted" : `Error: ${message.errorMessage ?? "Unknown error"}`), 1, 0));
  }
  #add(component) {
    this.addChild(new Spacer(1));
    this.addChild(component);
  }
}

/** One line for a call of a tool. */
export function renderCall(name, args, theme) {
  const aim = args?.command ?? args?.path ?? args?.pattern ?? "";
  return `${theme.fg("toolTitle", theme.bold(name))}${aim ? ` ${theme.fg("accent", String(aim).split("\n")[0])}` : ""}`;
}
export function renderResult(result, view, theme) {
  const text = (result.content ?? []).map((block) => (block.type === "image" ? `[image ${block.mimeType}]` : (block.text ?? ""))).join("\n").trim();
  const lines = text.split("\n");
  const shown = view?.expanded ? lines : lines.slice(0, 10);
  const more = lines.length > shown.length ? `\n${theme.fg("muted", `... (${lines.length - shown.length} more lines, `)}${keyHint("app.tools.expand", "to expand")}${theme.fg("muted", ")")}` : "";
  return theme.fg("toolOutput", shown.join("\n")) + more;
}

export class ToolExecutionComponent extends Container {
  #name;
  #args;
  #definition;
  #result;
  #isPartial = true;
  #isExpanded = false;
  constructor(toolName, toolCallId, args, options, toolDefinition) {
    super();
    this.#name = toolName;
    this.#args = args;
    this.#definition = toolDefinition;
  }
  updateArgs(args) { this.#args = args; }
  markExecutionStarted() {}
  setArgsComplete() {}
  setShowImages() {}
  setImageWidthCells() {}
  updateResult(result, isPartial = false) {
    this.#result = result;
    this.#isPartial = isPartial;
  }
  setExpanded(isExpanded) { this.#isExpanded = isExpanded; }
  render(width) {
    const theme = currentTheme();
    const ground = this.#isPartial ? "toolPendingBg" : this.#result?.isError ? "toolErrorBg" : "toolSuccessBg";
    const box = new Box(1, 1, (line) => theme.bg(ground, line));
    const view = { expanded: this.#isExpanded, isPartial: this.#isPartial };
    box.addChild(this.#definition?.renderCall?.(this.#args, theme, {}) ?? new Text(renderCall(this.#name, this.#args, theme), 0, 0));
    if (this.#result) box.addChild(this.#definition?.renderResult?.(this.#result, view, theme, {}) ?? new Text(renderResult(this.#result, view, theme), 0, 0));
    return ["", ...box.render(width)];
  }
}

/** A message of an extension's own type, as it is shown without a renderer. */
export class CustomMessageComponent extends Container {
  constructor(message, renderer, markdownTheme = getMarkdownTheme()) {
    super();
    const theme = currentTheme();
    const own = renderer?.(message, { expanded: false }, theme);
    this.addChild(new Spacer(1));
    if (own) return void this.addChild(own);
    const box = new Box(1, 1, (line) => theme.bg("customMessageBg", line));
    const text = typeof message.content === "string" ? message.content : message.content.filter((block) => block.type === "text").map((block) => block.text).join("\n");
    box.addChild(new Text(theme.fg("customMessageLabel", theme.bold(`[${message.customType}]`)), 0, 0));
    box.addChild(new Spacer(1));
    box.addChild(new Markdown(text, 0, 0, markdownTheme, { color: (line) => theme.fg("customMessageText", line) }));
    this.addChild(box);
  }
  setExpanded() {}
}
