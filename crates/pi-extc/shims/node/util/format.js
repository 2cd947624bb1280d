// `util.format`: printf-like texts, and what `console` prints.
import { inspect } from "pi:shim/node/util/inspect";

export const format = (...args) => formatWithOptions({}, ...args);

export function formatWithOptions(options, ...args) {
  const [first] = args;
  if (typeof first !== "string") return args.map((arg) => (typeof arg === "string" ? arg : inspect(arg, options))).join(" ");
  if (args.length === 1) return first;
  let next = 1;
  const text = first.replace(/%[sdifjoOc%]/g, (mark) => {
    if (mark === "%%") return "%";
    if (next >= args.length) return mark;
    return fill(mark, args[next++], options);
  });
  const rest = args.slice(next).map((arg) => ` ${typeof arg === "string" ? arg : inspect(arg, options)}`);
  return text + rest.join("");
}

function fill(mark, value, options) {
  switch (mark) {
    case "%s": return asText(value, options);
    case "%d": return typeof value === "bigint" ? `${value}n` : typeof value === "symbol" ? "NaN" : number(typeof value === "object" && value !== null ? NaN : Number(value), value);
    case "%i": return typeof value === "bigint" ? `${value}n` : typeof value === "symbol" || (typeof value === "object" && value !== null) ? intOf(value) : number(parseInt(value, 10));
    case "%f": return typeof value === "symbol" ? "NaN" : number(parseFloat(value));
    case "%j": return json(value);
    case "%o": return inspect(value, { ...options, showHidden: true, showProxy: true, depth: 4 });
    case "%O": return inspect(value, options);
    default: return "";
  }
}

const intOf = (value) => (typeof value === "symbol" ? "NaN" : number(parseInt(value, 10)));
function number(value, source) {
  if (Number.isNaN(value) && typeof source === "object" && source !== null) return String(Number(source));
  return Object.is(value, -0) ? "-0" : String(value);
}

function asText(value, options) {
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "number") return Object.is(value, -0) ? "-0" : String(value);
  if (typeof value !== "object" || value === null) return String(value);
  const own = value.toString;
  const isOwn = typeof own === "function" && own !== Object.prototype.toString && own !== Error.prototype.toString && own !== Array.prototype.toString && own !== Date.prototype.toString && own !== RegExp.prototype.toString && own !== Map.prototype.toString;
  if (value instanceof Error || (isOwn && !isBuiltIn(value))) return String(value);
  return inspect(value, { ...options, depth: 0, colors: false, compact: 3 });
}

const isBuiltIn = (value) => Array.isArray(value) || value instanceof Date || value instanceof RegExp || value instanceof Map || value instanceof Set || ArrayBuffer.isView(value);

function json(value) {
  try {
    return JSON.stringify(value);
  } catch (fault) {
    if (/circular/i.test(fault.message)) return "[Circular]";
    throw fault;
  }
}
