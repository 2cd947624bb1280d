// TUI: the root of what is drawn. The host draws and sends keys; this keeps focus, overlays and listeners, and tells
// whoever listens that something changed. There is no terminal of the extension's own: starting one does nothing.
import { Container } from "pi:shim/pi/tui/parts";
import { isFocusable } from "pi:shim/pi/tui/marker";
import { sliceByColumn, visibleWidth } from "pi:shim/pi/tui/width";

export class TUI extends Container {
  #focused = null;
  #overlays = [];
  #listeners = new Set();
  #isAsked = false;
  onDebug;
  /** Set by the host: called once per turn of the loop in which something asked for drawing. */
  onRender;
  constructor(terminal = { columns: 80, rows: 24, write() {} }) {
    super();
    this.terminal = terminal;
  }
  get fullRedraws() { return 0; }
  getShowHardwareCursor() { return false; }
  setShowHardwareCursor() {}
  getClearOnShrink() { return false; }
  setClearOnShrink() {}
  start() {}
  stop() {}

  setFocus(component) {
    if (isFocusable(this.#focused)) this.#focused.focused = false;
    this.#focused = component;
    if (isFocusable(component)) component.focused = true;
  }
  requestRender() {
    if (this.#isAsked) return;
    this.#isAsked = true;
    queueMicrotask(() => {
      this.#isAsked = false;
      this.onRender?.();
    });
  }
  addInputListener(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
  removeInputListener(listener) { this.#listeners.delete(listener); }

  /** A key from the host: listeners first, then whoever has the focus. */
  handleInput(data) {
    let current = data;
    for (const listener of this.#listeners) {
      const result = listener(current);
      if (result?.consume) return;
      if (result?.data !== undefined) current = result.data;
    }
    const top = this.#overlays.findLast((own) => !own.isHidden && !own.options.nonCapturing);
    (top?.component ?? this.#focused)?.handleInput?.(current);
    this.requestRender();
  }

  showOverlay(component, options = {}) {
    const overlay = { component, options, isHidden: false, before: this.#focused };
    this.#overlays.push(overlay);
    if (!options.nonCapturing) this.setFocus(component);
    this.requestRender();
    const restore = () => { if (this.#focused === component) this.setFocus(overlay.before); };
    return {
      hide: () => {
        this.#overlays = this.#overlays.filter((own) => own !== overlay);
        restore();
        this.requestRender();
      },
      setHidden: (isHidden) => {
        overlay.isHidden = isHidden;
        if (isHidden) restore();
        else if (!options.nonCapturing) this.setFocus(component);
        this.requestRender();
      },
      isHidden: () => overlay.isHidden,
      focus: () => this.setFocus(component),
      unfocus: restore,
      isFocused: () => this.#focused === component,
    };
  }
  hideOverlay() {
    const overlay = this.#overlays.pop();
    if (overlay) this.setFocus(overlay.before);
    this.requestRender();
  }
  hasOverlay() { return this.#overlays.some((own) => !own.isHidden); }
  invalidate() {
    super.invalidate();
    for (const { component } of this.#overlays) component.invalidate?.();
  }

  render(width) {
    let lines = super.render(width);
    for (const overlay of this.#overlays) {
      const { visible } = overlay.options;
      if (!overlay.isHidden && (!visible || visible(width, this.terminal.rows))) lines = laidOver(lines, overlay, width, this.terminal.rows);
    }
    return lines;
  }
}

const sizeOf = (value, whole) => (typeof value === "string" ? Math.floor((parseFloat(value) / 100) * whole) : value);

/** Where an overlay stands: its anchor, its offset, or its own row and column. */
function laidOver(lines, { component, options }, width, height) {
  const wide = Math.max(1, Math.min(width, Math.max(sizeOf(options.width, width) ?? Math.min(80, width), options.minWidth ?? 0)));
  let drawn = component.render(wide);
  const most = sizeOf(options.maxHeight, height);
  if (most !== undefined) drawn = drawn.slice(0, most);
  const { anchor = "center", offsetX = 0, offsetY = 0 } = options;
  const margin = typeof options.margin === "number" ? { top: options.margin, right: options.margin, bottom: options.margin, left: options.margin } : { top: 0, right: 0, bottom: 0, left: 0, ...options.margin };
  const rows = Math.max(height, lines.length);
  const left = /left/.test(anchor) ? margin.left : /right/.test(anchor) ? width - wide - margin.right : Math.floor((width - wide) / 2);
  const top = /top/.test(anchor) ? margin.top : /bottom/.test(anchor) ? rows - drawn.length - margin.bottom : Math.floor((rows - drawn.length) / 2);
  const column = Math.max(0, Math.min(width - wide, (sizeOf(options.col, width - wide) ?? left) + offsetX));
  const row = Math.max(0, (sizeOf(options.row, rows - drawn.length) ?? top) + offsetY);
  const made = [...lines];
  while (made.length < row + drawn.length) made.push("");
  for (const [at, line] of drawn.entries()) {
    const under = made[row + at];
    const head = sliceByColumn(under, 0, column);
    const tail = sliceByColumn(under, column + wide, width);
    made[row + at] = `${head}${" ".repeat(Math.max(0, column - visibleWidth(head)))}\x1b[0m${line}${" ".repeat(Math.max(0, wide - visibleWidth(line)))}\x1b[0m${tail}`;
  }
  return made;
}
