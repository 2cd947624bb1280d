// node:util. Not here: aborted, MIMEType, transferable signals, call sites.
import host from "pi:host";
import { parseArgs } from "pi:shim/node/util/args";
import { isDeepStrictEqual } from "pi:shim/node/util/equal";
import { format, formatWithOptions } from "pi:shim/node/util/format";
import { inspect } from "pi:shim/node/util/inspect";
import types from "pi:shim/node/util/types";

export { format, formatWithOptions, inspect, isDeepStrictEqual, parseArgs, types };

const PROMISIFY = Symbol.for("nodejs.util.promisify.custom");

function demandFunction(value, name) {
  if (typeof value === "function") return;
  const shown = value === null || value === undefined ? `${value}` : typeof value === "object" ? `an instance of ${value.constructor?.name ?? "Object"}` : `type ${typeof value} (${inspect(value)})`;
  throw Object.assign(new TypeError(`The "${name}" argument must be of type function. Received ${shown}`), { code: "ERR_INVALID_ARG_TYPE" });
}

export function promisify(original) {
  demandFunction(original, "original");
  if (original[PROMISIFY]) return original[PROMISIFY];
  const wrapped = function (...args) {
    return new Promise((resolve, reject) => {
      original.call(this, ...args, (fault, value) => (fault ? reject(fault) : resolve(value)));
    });
  };
  return Object.defineProperties(Object.setPrototypeOf(wrapped, Object.getPrototypeOf(original)), {
    ...Object.getOwnPropertyDescriptors(original),
    [PROMISIFY]: { value: wrapped, configurable: true },
  });
}
promisify.custom = PROMISIFY;

export function callbackify(original) {
  demandFunction(original, "original");
  return Object.defineProperty(function (...args) {
    const callback = args.pop();
    demandFunction(callback, "last argument");
    original.apply(this, args).then(
      (value) => queueMicrotask(() => callback(null, value)),
      (fault) => queueMicrotask(() => callback(fault ?? Object.assign(new Error("Promise was rejected with a falsy value"), { code: "ERR_FALSY_VALUE_REJECTION", reason: fault }))),
    );
  }, "name", { value: `${original.name}Callbackified` });
}

export function inherits(Child, Parent) {
  demandFunction(Child, "ctor");
  demandFunction(Parent, "superCtor");
  Object.defineProperty(Child, "super_", { value: Parent, writable: true, configurable: true });
  Object.setPrototypeOf(Child.prototype, Parent.prototype);
}

const warned = new Set();
export function deprecate(original, message, code) {
  let isWarned = false;
  return Object.setPrototypeOf(function (...args) {
    if (!isWarned && !(code && warned.has(code))) {
      isWarned = true;
      if (code) warned.add(code);
      host.write("stderr", `DeprecationWarning: ${message}\n`);
    }
    return new.target ? Reflect.construct(original, args, new.target) : Reflect.apply(original, this, args);
  }, original);
}

/** Off unless NODE_DEBUG names the section, as in Node. */
export function debuglog(section) {
  const log = (...args) => { if (log.enabled) host.write("stderr", `${section.toUpperCase()} ${host.place.pid}: ${format(...args)}\n`); };
  Object.defineProperty(log, "enabled", {
    get() {
      const names = host.load("pi:shim/node/process").default.env.NODE_DEBUG ?? "";
      return names.split(/[\s,]+/).some((name) => name.toLowerCase() === section.toLowerCase());
    },
  });
  return log;
}
export const debug = debuglog;

// ECMA-48: CSI and OSC sequences, and the short ones.
const CONTROLS = /[\u001b\u009b](?:\][^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)|[[\]()#;?]*(?:\d{1,4}(?:[;:]\d{0,4})*)?[\dA-PR-TZcf-nq-uy=><~])/g;
export const stripVTControlCharacters = (text) => String(text).replace(CONTROLS, "");

export function styleText(formats, text) {
  let [before, after] = ["", ""];
  for (const name of [formats].flat()) {
    if (name === "none") continue;
    const pair = inspect.colors[name];
    if (!pair) throw Object.assign(new TypeError(`The argument 'format' must be one of: ${Object.keys(inspect.colors).map((own) => `'${own}'`).join(", ")}. Received ${inspect(name)}`), { code: "ERR_INVALID_ARG_VALUE" });
    before += `\x1b[${pair[0]}m`;
    after = `\x1b[${pair[1]}m${after}`;
  }
  return before + text + after;
}

export const toUSVString = (text) => String(text).toWellFormed();
export const isArray = Array.isArray;
export const getSystemErrorName = (number) => host.load("pi:shim/node/fs/fault").nameOf(number);
export const getSystemErrorMap = () => host.load("pi:shim/node/fs/fault").systemErrors();
export const _extend = (target, source) => Object.assign(target, source);
export const isBoolean = (value) => typeof value === "boolean";
export const isNull = (value) => value === null;
export const isNullOrUndefined = (value) => value === null || value === undefined;
export const isNumber = (value) => typeof value === "number";
export const isString = (value) => typeof value === "string";
export const isSymbol = (value) => typeof value === "symbol";
export const isUndefined = (value) => value === undefined;
export const isRegExp = types.isRegExp;
export const isObject = (value) => value !== null && typeof value === "object";
export const isDate = types.isDate;
export const isError = (value) => value instanceof Error;
export const isFunction = (value) => typeof value === "function";
export const isPrimitive = (value) => value === null || (typeof value !== "object" && typeof value !== "function");

const module = {
  format, formatWithOptions, inspect, isDeepStrictEqual, parseArgs, types, promisify, callbackify, inherits, deprecate, debuglog, debug,
  stripVTControlCharacters, styleText, toUSVString, isArray, getSystemErrorName, getSystemErrorMap, _extend, isBoolean, isNull,
  isNullOrUndefined, isNumber, isString, isSymbol, isUndefined, isRegExp, isObject, isDate, isError, isFunction, isPrimitive,
  get TextEncoder() { return host.load("pi:shim/web/encoding").TextEncoder; },
  get TextDecoder() { return host.load("pi:shim/web/encoding").TextDecoder; },
};
export default module;
