// Colours by name, and the themes of components that follow from them. The host sets the current theme; until then a dark
// palette of our own is used.
import { highlight } from "pi:shim/pi/coding-agent/highlight";

const DARK = {
  accent: "#7fb8d8", border: "#5a7d9a", borderAccent: "#4fb3bf", borderMuted: "#4a4f57", success: "#8fbf6f", error: "#d9706b", warning: "#dcc06a", muted: "#8a8f98", dim: "#666c75", text: "", thinkingText: "#8a8f98",
  userMessageText: "", customMessageText: "", customMessageLabel: "#a58fd0", toolTitle: "", toolOutput: "#8a8f98", mdHeading: "#e0b872", mdLink: "#7fa6c9", mdLinkUrl: "#666c75", mdCode: "#7fb8d8", mdCodeBlock: "#8fbf6f",
  mdCodeBlockBorder: "#8a8f98", mdQuote: "#8a8f98", mdQuoteBorder: "#8a8f98", mdHr: "#8a8f98", mdListBullet: "#7fb8d8", toolDiffAdded: "#8fbf6f", toolDiffRemoved: "#d9706b", toolDiffContext: "#8a8f98",
  syntaxComment: "#6f9a5f", syntaxKeyword: "#6fa3d8", syntaxFunction: "#dcd0a0", syntaxVariable: "#a0cbe8", syntaxString: "#cf9a7f", syntaxNumber: "#b5cfa5", syntaxType: "#5fc0aa", syntaxOperator: "#cccccc",
  syntaxPunctuation: "#cccccc", thinkingOff: "#4a4f57", thinkingMinimal: "#666c75", thinkingLow: "#5f87af", thinkingMedium: "#81a2be", thinkingHigh: "#b294bb", thinkingXhigh: "#d183e8", bashMode: "#8fbf6f",
};
const DARK_GROUNDS = { selectedBg: "#3a3f4a", userMessageBg: "#343840", customMessageBg: "#2d2838", toolPendingBg: "#282a32", toolSuccessBg: "#283228", toolErrorBg: "#3c2828" };

function code(color, isGround) {
  const base = isGround ? 48 : 38;
  if (color === "" || color === undefined) return `\x1b[${base + 1}m`;
  if (typeof color === "number") return `\x1b[${base};5;${color}m`;
  const [, r, g, b] = /^#?([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(color) ?? [];
  return r === undefined ? `\x1b[${base + 1}m` : `\x1b[${base};2;${parseInt(r, 16)};${parseInt(g, 16)};${parseInt(b, 16)}m`;
}

export class Theme {
  #colors;
  #grounds;
  #mode;
  constructor(colors, grounds, mode = "truecolor", options = {}) {
    this.#colors = Object.fromEntries(Object.entries(colors).map(([name, color]) => [name, code(color, false)]));
    this.#grounds = Object.fromEntries(Object.entries(grounds).map(([name, color]) => [name, code(color, true)]));
    this.#mode = mode;
    Object.assign(this, { name: options.name, sourcePath: options.sourcePath, sourceInfo: options.sourceInfo });
  }
  getFgAnsi(color) {
    const found = this.#colors[color];
    if (!found) throw new Error(`Unknown theme color: ${color}`);
    return found;
  }
  getBgAnsi(color) {
    const found = this.#grounds[color];
    if (!found) throw new Error(`Unknown theme background color: ${color}`);
    return found;
  }
  fg(color, text) { return `${this.getFgAnsi(color)}${text}\x1b[39m`; }
  bg(color, text) { return `${this.getBgAnsi(color)}${text}\x1b[49m`; }
  bold(text) { return `\x1b[1m${text}\x1b[22m`; }
  italic(text) { return `\x1b[3m${text}\x1b[23m`; }
  underline(text) { return `\x1b[4m${text}\x1b[24m`; }
  inverse(text) { return `\x1b[7m${text}\x1b[27m`; }
  strikethrough(text) { return `\x1b[9m${text}\x1b[29m`; }
  getColorMode() { return this.#mode; }
  getThinkingBorderColor(level) {
    const name = `thinking${level[0].toUpperCase()}${level.slice(1)}`;
    return (text) => this.fg(this.#colors[name] ? name : "thinkingOff", text);
  }
  getBashModeBorderColor() { return (text) => this.fg("bashMode", text); }
}

let current = new Theme(DARK, DARK_GROUNDS, "truecolor", { name: "dark" });
export const currentTheme = () => current;
export const setCurrentTheme = (theme) => { current = theme; };
/** For those who start it themselves; the host has done so already. */
export const initTheme = () => {};

const paint = (name) => (text) => current.fg(name, text);

export const getMarkdownTheme = () => ({
  heading: paint("mdHeading"), link: paint("mdLink"), linkUrl: paint("mdLinkUrl"), code: paint("mdCode"), codeBlock: paint("mdCodeBlock"), codeBlockBorder: paint("mdCodeBlockBorder"), quote: paint("mdQuote"),
  quoteBorder: paint("mdQuoteBorder"), hr: paint("mdHr"), listBullet: paint("mdListBullet"), bold: (text) => current.bold(text), italic: (text) => current.italic(text), underline: (text) => current.underline(text),
  strikethrough: (text) => current.strikethrough(text), highlightCode: (text, language) => highlightCode(text, language),
});
export const getSelectListTheme = () => ({ selectedPrefix: paint("accent"), selectedText: paint("accent"), description: paint("muted"), scrollInfo: paint("muted"), noMatch: paint("muted") });
export const getSettingsListTheme = () => ({
  label: (text, isChosen) => (isChosen ? current.fg("accent", text) : text), value: (text, isChosen) => current.fg(isChosen ? "accent" : "muted", text), description: paint("dim"), cursor: current.fg("accent", "→ "), hint: paint("dim"),
});
export const getEditorTheme = () => ({ borderColor: paint("borderMuted"), selectList: getSelectListTheme() });
export const highlightCode = (text, language) => highlight(text, language, current);
export { getLanguageFromPath } from "pi:shim/pi/coding-agent/highlight";
