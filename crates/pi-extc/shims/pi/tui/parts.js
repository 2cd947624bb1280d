// Components that only show: text, boxes, space, images (as words), spinners.
import host from "pi:host";
import { getKeybindings } from "pi:shim/pi/tui/bindings";
import { applyBackgroundToLine, truncateToWidth, visibleWidth, wrapTextWithAnsi } from "pi:shim/pi/tui/width";

export class Container {
  children = [];
  addChild(child) { this.children.push(child); }
  removeChild(child) { this.children = this.children.filter((own) => own !== child); }
  clear() { this.children = []; }
  invalidate() { for (const child of this.children) child.invalidate?.(); }
  render(width) { return this.children.flatMap((child) => child.render(width)); }
}

/** Lines with room around them, on a background if there is one. */
function padded(lines, width, paddingX, paddingY, background) {
  const margin = " ".repeat(paddingX);
  const fill = (line) => (background ? applyBackgroundToLine(line, width, background) : line + " ".repeat(Math.max(0, width - visibleWidth(line))));
  const blank = Array.from({ length: paddingY }, () => fill(" ".repeat(width)));
  return [...blank, ...lines.map((line) => fill(margin + line + margin)), ...blank];
}

export class Text {
  #text;
  #x;
  #y;
  #background;
  #cache;
  constructor(text = "", paddingX = 1, paddingY = 1, background) {
    this.#text = text;
    this.#x = paddingX;
    this.#y = paddingY;
    this.#background = background;
  }
  setText(text) { this.#text = text; this.#cache = undefined; }
  setCustomBgFn(background) { this.#background = background; this.#cache = undefined; }
  invalidate() { this.#cache = undefined; }
  render(width) {
    if (this.#cache?.width === width) return this.#cache.lines;
    const text = String(this.#text ?? "").replace(/\t/g, "   ");
    const lines = text.trim() === "" ? [] : padded(wrapTextWithAnsi(text, Math.max(1, width - 2 * this.#x)), width, this.#x, this.#y, this.#background);
    this.#cache = { width, lines };
    return lines;
  }
}

export class TruncatedText {
  #text;
  #x;
  #y;
  constructor(text, paddingX = 0, paddingY = 0) {
    this.#text = text;
    this.#x = paddingX;
    this.#y = paddingY;
  }
  invalidate() {}
  render(width) {
    const line = truncateToWidth(this.#text.split("\n")[0], Math.max(1, width - 2 * this.#x));
    return padded([line], width, this.#x, this.#y);
  }
}

export class Spacer {
  #lines;
  constructor(lines = 1) { this.#lines = lines; }
  setLines(lines) { this.#lines = lines; }
  invalidate() {}
  render() { return Array.from({ length: this.#lines }, () => ""); }
}

export class Box extends Container {
  #x;
  #y;
  #background;
  constructor(paddingX = 1, paddingY = 1, background) {
    super();
    this.#x = paddingX;
    this.#y = paddingY;
    this.#background = background;
  }
  setBgFn(background) { this.#background = background; }
  render(width) {
    if (this.children.length === 0) return [];
    const inner = Math.max(1, width - 2 * this.#x);
    const lines = this.children.flatMap((child) => child.render(inner)).map((line) => " ".repeat(this.#x) + line);
    if (lines.length === 0) return [];
    const fill = (line) => (this.#background ? applyBackgroundToLine(line, width, this.#background) : line + " ".repeat(Math.max(0, width - visibleWidth(line))));
    const blank = Array.from({ length: this.#y }, () => fill(""));
    return [...blank, ...lines.map(fill), ...blank];
  }
}

/** Pictures are named and not drawn: who shows the lines may be no terminal. */
export class Image {
  #label;
  #theme;
  #id;
  constructor(data, mimeType, theme, options = {}, dimensions) {
    this.#theme = theme;
    this.#id = options.imageId;
    this.#label = imageFallback(mimeType, dimensions, options.filename);
  }
  getImageId() { return this.#id; }
  invalidate() {}
  render(width) { return [(this.#theme?.fallbackColor ?? ((text) => text))(truncateToWidth(this.#label, width))]; }
}
export function imageFallback(mimeType, dimensions, filename) {
  const parts = [filename, `[${mimeType}]`, dimensions && `${dimensions.widthPx}x${dimensions.heightPx}`].filter(Boolean);
  return `[Image: ${parts.join(" ")}]`;
}

const FRAMES = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

export class Loader extends Text {
  #screen;
  #colors;
  #message;
  #frames;
  #pace;
  #at = 0;
  #timer;
  constructor(screen, spinnerColor, messageColor, message = "Loading...", indicator) {
    super("", 1, 0);
    this.#screen = screen;
    this.#colors = { spinner: spinnerColor, message: messageColor };
    this.#message = message;
    this.setIndicator(indicator);
  }
  #update() {
    const frame = this.#frames[this.#at];
    this.setText(`${frame ? `${this.#colors.spinner(frame)} ` : ""}${this.#colors.message(this.#message)}`);
    this.#screen?.requestRender?.();
  }
  start() {
    this.stop();
    this.#update();
    if (this.#frames.length < 2) return;
    const { setInterval } = host.load("pi:shim/node/timers");
    this.#timer = setInterval(() => {
      this.#at = (this.#at + 1) % this.#frames.length;
      this.#update();
    }, this.#pace);
    this.#timer.unref();
  }
  stop() {
    this.#timer?.close();
    this.#timer = undefined;
  }
  setMessage(message) { this.#message = message; this.#update(); }
  setIndicator(indicator) {
    this.#frames = indicator?.frames ?? FRAMES;
    this.#pace = indicator?.intervalMs ?? 80;
    this.#at = 0;
    this.start();
  }
  render(width) { return ["", ...super.render(width)]; }
}

export class CancellableLoader extends Loader {
  #abort = new (host.load("pi:shim/web/abort").AbortController)();
  onAbort;
  get signal() { return this.#abort.signal; }
  get aborted() { return this.#abort.signal.aborted; }
  handleInput(data) {
    if (!getKeybindings().matches(data, "tui.select.cancel")) return;
    this.#abort.abort();
    this.onAbort?.();
  }
  dispose() { this.stop(); }
}
