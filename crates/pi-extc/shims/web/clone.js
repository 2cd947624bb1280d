// structuredClone. Not here: transfer, and what only the engine can copy.
import { DOMException } from "pi:shim/web/exception";

const TypedArray = Object.getPrototypeOf(Uint8Array);
const ERRORS = { EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };

export function structuredClone(value) {
  if (arguments.length === 0) throw Object.assign(new TypeError('The "value" argument must be specified'), { code: "ERR_MISSING_ARGS" });
  return copy(value, new Map());
}

function refuse(value) {
  const shown = typeof value === "symbol" ? value.toString() : typeof value === "function" ? String(value) : `#<${value?.constructor?.name ?? "Object"}>`;
  throw new DOMException(`${shown} could not be cloned.`, "DataCloneError");
}

function copy(value, seen) {
  if (typeof value === "symbol" || typeof value === "function") refuse(value);
  if (value === null || typeof value !== "object") return value;
  if (seen.has(value)) return seen.get(value);
  const keep = (made) => { seen.set(value, made); return made; };
  if (Array.isArray(value)) {
    const list = keep(new Array(value.length));
    for (const key of Object.keys(value)) list[key] = copy(value[key], seen);
    return list;
  }
  if (value instanceof Date) return keep(new Date(value.getTime()));
  if (value instanceof RegExp) return keep(new RegExp(value.source, value.flags));
  if (value instanceof Map) {
    const map = keep(new Map());
    for (const [key, item] of [...value]) map.set(copy(key, seen), copy(item, seen));
    return map;
  }
  if (value instanceof Set) {
    const set = keep(new Set());
    for (const item of [...value]) set.add(copy(item, seen));
    return set;
  }
  if (value instanceof ArrayBuffer) return keep(value.slice(0));
  if (value instanceof TypedArray || value instanceof DataView) {
    const buffer = copy(value.buffer, seen);
    const Kind = value instanceof DataView ? DataView : typedArrayOf(value);
    return keep(new Kind(buffer, value.byteOffset, value.length ?? value.byteLength));
  }
  if (value instanceof Error) return keep(copyError(value, seen));
  if (value instanceof Promise || value instanceof WeakMap || value instanceof WeakSet || (typeof WeakRef !== "undefined" && value instanceof WeakRef)) refuse(value);
  if (/^\[object (Number|String|Boolean|BigInt)\]$/.test(Object.prototype.toString.call(value))) return keep(Object(value.valueOf()));
  const object = keep({});
  for (const key of Object.keys(value)) object[key] = copy(value[key], seen);
  return object;
}

// A Buffer becomes a plain Uint8Array, as in Node.
const typedArrayOf = (value) => globalThis[value[Symbol.toStringTag]];

function copyError(value, seen) {
  const Kind = Object.hasOwn(ERRORS, value.name) ? ERRORS[value.name] : Error;
  const made = new Kind(value.message);
  for (const key of ["stack", "cause"]) if (Object.hasOwn(value, key)) Object.defineProperty(made, key, { value: key === "cause" ? copy(value.cause, seen) : value[key], writable: true, configurable: true });
  return made;
}
