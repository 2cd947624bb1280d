// console: what is printed goes to the log of the extension.
import host from "pi:host";
import { formatWithOptions } from "pi:shim/node/util/format";
import { inspect } from "pi:shim/node/util/inspect";

export class Console {
  #indent = "";
  #counts = new Map();
  #timers = new Map();
  #write;
  constructor(stdout, stderr = stdout?.stderr) {
    const output = stdout?.stdout ?? stdout;
    const errors = stderr ?? output;
    this.#write = (name, text) => (output ? (name === "stdout" ? output : errors).write(text) : host.write(name, text));
    // Methods are handed around without their object.
    for (const name of Object.getOwnPropertyNames(Console.prototype)) if (name !== "constructor") this[name] = this[name].bind(this);
  }
  #print(name, args) {
    const text = formatWithOptions({}, ...args);
    this.#write(name, `${this.#indent}${this.#indent ? text.replaceAll("\n", `\n${this.#indent}`) : text}\n`);
  }
  log(...args) { this.#print("stdout", args); }
  info(...args) { this.#print("stdout", args); }
  debug(...args) { this.#print("stdout", args); }
  error(...args) { this.#print("stderr", args); }
  warn(...args) { this.#print("stderr", args); }
  trace(...args) {
    const { stack } = new Error();
    this.#print("stderr", [`Trace${args.length > 0 ? ": " : ""}${formatWithOptions({}, ...args)}${stack.slice("Error".length)}`]);
  }
  dir(value, options) { this.#print("stdout", [inspect(value, { customInspect: false, ...options })]); }
  dirxml(...args) { this.log(...args); }
  assert(isTrue, ...args) {
    if (isTrue) return;
    const [first, ...rest] = args;
    this.error(...(typeof first === "string" ? [`Assertion failed: ${first}`, ...rest] : ["Assertion failed", ...args]));
  }
  count(label = "default") {
    const count = (this.#counts.get(label) ?? 0) + 1;
    this.#counts.set(label, count);
    this.log(`${label}: ${count}`);
  }
  countReset(label = "default") { this.#counts.delete(label); }
  group(...args) {
    if (args.length > 0) this.log(...args);
    this.#indent += "  ";
  }
  groupCollapsed(...args) { this.group(...args); }
  groupEnd() { this.#indent = this.#indent.slice(2); }
  time(label = "default") { this.#timers.set(label, host.monotonic()); }
  timeLog(label = "default", ...args) {
    const start = this.#timers.get(label);
    if (start !== undefined) this.log(`${label}: ${durationText(host.monotonic() - start)}`, ...args);
  }
  timeEnd(label = "default") {
    this.timeLog(label);
    this.#timers.delete(label);
  }
  timeStamp() {}
  profile() {}
  profileEnd() {}
  clear() {}
  table(data, columns) {
    if (data === null || typeof data !== "object") return this.log(data);
    return this.log(tableText(data, columns));
  }
}

function durationText(ms) {
  return ms >= 1000 ? `${(ms / 1000).toFixed(3)}s` : `${Number(ms.toFixed(3))}ms`;
}

function tableText(data, wanted) {
  const rows = data instanceof Map ? [...data] : Object.entries(data);
  const show = (value) => inspect(value, { depth: 0, compact: 3 });
  const columns = wanted ?? [...new Set(rows.flatMap(([, row]) => (row !== null && typeof row === "object" ? Object.keys(row) : [])))];
  const hasValues = !wanted && rows.some(([, row]) => row === null || typeof row !== "object");
  const head = ["(index)", ...columns, ...(hasValues ? ["Values"] : [])];
  const lines = rows.map(([index, row]) => {
    const isObject = row !== null && typeof row === "object";
    return [String(index), ...columns.map((column) => (isObject && column in row ? show(row[column]) : "")), ...(hasValues ? [isObject ? "" : show(row)] : [])];
  });
  const widths = head.map((name, at) => Math.max(name.length, ...lines.map((line) => host.textWidth(line[at]))) + 2);
  const centre = (text, width) => {
    const space = width - host.textWidth(text);
    return " ".repeat(Math.floor(space / 2)) + text + " ".repeat(Math.ceil(space / 2));
  };
  const rule = (left, middle, right) => left + widths.map((width) => "─".repeat(width)).join(middle) + right;
  const line = (cells) => `│${cells.map((cell, at) => centre(cell, widths[at])).join("│")}│`;
  return [rule("┌", "┬", "┐"), line(head), rule("├", "┼", "┤"), ...lines.map(line), rule("└", "┴", "┘")].join("\n");
}

const console = new Console();
console.Console = Console;
export default console;
