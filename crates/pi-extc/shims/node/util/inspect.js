// `util.inspect`: values as Node prints them.
// Not here: the state of a promise and what is inside weak collections, which no engine tells, and the targets of proxies.
import { members } from "pi:shim/node/util/members";
import { quote } from "pi:shim/node/util/layout";

const DEFAULTS = {
  showHidden: false, depth: 2, colors: false, customInspect: true, showProxy: false, maxArrayLength: 100,
  maxStringLength: 10000, breakLength: 80, compact: 3, sorted: false, getters: false, numericSeparator: false,
};

const CUSTOM = Symbol.for("nodejs.util.inspect.custom");

/** @param {object} [options] those of Node; `(value, showHidden, depth, colors)` works as well */
export function inspect(value, options, depth, colors) {
  const given = typeof options === "boolean" || (options === undefined && arguments.length > 1)
    ? { showHidden: !!options, ...(depth !== undefined && { depth }), ...(colors !== undefined && { colors }) }
    : (options ?? {});
  const settled = { ...inspect.defaultOptions, ...given };
  for (const name of ["depth", "maxArrayLength", "maxStringLength"]) if (settled[name] === null) settled[name] = Infinity;
  const context = { options: settled, seen: [], circular: undefined, indentation: 0, deepest: 0, show, style: settled.colors ? paint : plain };
  return show(context, value, 0, true);
}

inspect.custom = CUSTOM;
inspect.defaultOptions = { ...DEFAULTS };
inspect.styles = Object.assign(Object.create(null), {
  special: "cyan", number: "yellow", bigint: "yellow", boolean: "yellow", undefined: "grey", null: "bold",
  string: "green", symbol: "green", date: "magenta", regexp: "red", module: "underline",
});
inspect.colors = Object.assign(Object.create(null), {
  reset: [0, 0], bold: [1, 22], dim: [2, 22], italic: [3, 23], underline: [4, 24], blink: [5, 25], inverse: [7, 27],
  hidden: [8, 28], strikethrough: [9, 29], doubleunderline: [21, 24], black: [30, 39], red: [31, 39], green: [32, 39],
  yellow: [33, 39], blue: [34, 39], magenta: [35, 39], cyan: [36, 39], white: [37, 39], bgBlack: [40, 49], bgRed: [41, 49],
  bgGreen: [42, 49], bgYellow: [43, 49], bgBlue: [44, 49], bgMagenta: [45, 49], bgCyan: [46, 49], bgWhite: [47, 49],
  framed: [51, 54], overlined: [53, 55], gray: [90, 39], grey: [90, 39], redBright: [91, 39], greenBright: [92, 39],
  yellowBright: [93, 39], blueBright: [94, 39], magentaBright: [95, 39], cyanBright: [96, 39], whiteBright: [97, 39],
  bgGray: [100, 49], bgRedBright: [101, 49], bgGreenBright: [102, 49], bgYellowBright: [103, 49], bgBlueBright: [104, 49],
  bgMagentaBright: [105, 49], bgCyanBright: [106, 49], bgWhiteBright: [107, 49],
});

const plain = (text) => text;

function paint(text, kind) {
  const pair = inspect.colors[inspect.styles[kind]];
  return pair ? `\x1b[${pair[0]}m${text}\x1b[${pair[1]}m` : text;
}

function show(context, value, depth, isOutermost = false) {
  if (value === null || (typeof value !== "object" && typeof value !== "function")) return primitive(context, value, isOutermost);
  const custom = context.options.customInspect ? safely(() => value[CUSTOM]) : undefined;
  if (typeof custom === "function" && custom !== inspect) return customised(context, value, custom, depth);
  if (context.seen.includes(value)) return circular(context, value);
  return members(context, value, depth);
}

function customised(context, value, custom, depth) {
  const left = context.options.depth - depth;
  const options = { ...context.options, depth: left, stylize: context.style };
  const shown = custom.call(value, left, options, inspect);
  if (shown === value) return members(context, value, depth);
  if (typeof shown === "string") return shown.replaceAll("\n", `\n${" ".repeat(context.indentation)}`);
  return show(context, shown, depth);
}

function circular(context, value) {
  context.circular ??= new Map();
  if (!context.circular.has(value)) context.circular.set(value, context.circular.size + 1);
  return context.style(`[Circular *${context.circular.get(value)}]`, "special");
}

function primitive(context, value, isOutermost) {
  const { options, style } = context;
  switch (typeof value) {
    case "string": return text(context, value);
    case "number": return style(Object.is(value, -0) ? "-0" : options.numericSeparator ? separated(value) : `${value}`, "number");
    case "bigint": return style(`${options.numericSeparator ? separated(value) : value}n`, "bigint");
    case "boolean": return style(`${value}`, "boolean");
    case "symbol": return style(value.toString(), "symbol");
    case "undefined": return style("undefined", "undefined");
    default: return style("null", "null");
  }
}

function separated(number) {
  const [whole, fraction] = String(number).split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, "_");
  return fraction === undefined ? grouped : `${grouped}.${fraction.replace(/(\d{3})(?=\d)/g, "$1_")}`;
}

function text(context, value) {
  const { options, style, indentation } = context;
  let more = "";
  if (value.length > options.maxStringLength) {
    const left = value.length - options.maxStringLength;
    value = value.slice(0, options.maxStringLength);
    more = `... ${left} more character${left > 1 ? "s" : ""}`;
  }
  const isLong = options.compact !== true && value.length > 16 && value.length > options.breakLength - indentation - 4;
  if (!isLong) return style(quote(value), "string") + more;
  const lines = value.split(/(?<=\n)/).map((line) => style(quote(line), "string"));
  return lines.join(` +\n${" ".repeat(indentation + 2)}`) + more;
}

export function safely(read) {
  try {
    return read();
  } catch {
    return undefined;
  }
}
