// The inside of objects for `inspect`: what kind an object is, what it is called, and its members.
import host from "pi:host";
import { join, quote } from "pi:shim/node/util/layout";

const tag = (value) => Object.prototype.toString.call(value).slice(8, -1);
const TypedArray = Object.getPrototypeOf(Uint8Array);

export function members(context, value, depth) {
  const { options, style } = context;
  const keys = keysOf(value, options.showHidden);
  const name = nameOf(value);
  const shape = shapeOf(context, value, keys, name);
  if (shape.whole !== undefined) return shape.whole;
  if (depth > options.depth) return style(`[${shape.short ?? short(value, name)}]`, "special");

  context.seen.push(value);
  context.deepest = depth;
  const parts = shape.parts ? shape.parts(depth) : [];
  const fixed = shape.isList ? parts.length : 0;
  for (const key of keys) parts.push(member(context, value, key, depth, shape.isList));
  for (const extra of shape.extras ?? []) parts.push(extra(depth));
  context.seen.pop();

  const number = context.circular?.get(value);
  let base = shape.base ?? "";
  let braces = shape.braces;
  if (number !== undefined) {
    const reference = style(`<ref *${number}>`, "special");
    if (options.compact !== true) base = base === "" ? reference : `${reference} ${base}`;
    else braces = [`${reference} ${braces[0]}`, braces[1]];
  }
  if (options.sorted) parts.push(...parts.splice(fixed).sort(options.sorted === true ? undefined : options.sorted));
  if (parts.length === 0 && !shape.keepBraces) {
    const opened = braces[0].endsWith(" ") ? braces[0].trimEnd() : braces[0];
    return base ? (shape.isBare ? base : `${base} ${opened}${braces[1]}`) : `${opened}${braces[1]}`;
  }
  return join(context, parts, base, braces, shape.isList, depth, shape.isList ? value : undefined);
}

function keysOf(value, showHidden) {
  const isIndexed = Array.isArray(value) || ArrayBuffer.isView(value);
  const names = showHidden ? Object.getOwnPropertyNames(value) : Object.keys(value);
  const plain = isIndexed ? names.filter((key) => !/^(0|[1-9]\d*)$/.test(key)) : names;
  const symbols = Object.getOwnPropertySymbols(value).filter((key) => showHidden || Object.prototype.propertyIsEnumerable.call(value, key));
  return [...plain, ...symbols];
}

/** The name of the class of a value; `null` for one without a prototype. */
function nameOf(value) {
  let prototype = value;
  while (prototype !== null) {
    const descriptor = Object.getOwnPropertyDescriptor(prototype, "constructor");
    if (descriptor && typeof descriptor.value === "function" && descriptor.value.name !== "") {
      try {
        if (value instanceof descriptor.value) return descriptor.value.name;
      } catch {
        return descriptor.value.name;
      }
    }
    prototype = Object.getPrototypeOf(prototype);
  }
  return null;
}

function toStringTag(value, name) {
  let own = "";
  try {
    // One's own tag is shown as a member already.
    if (Object.prototype.propertyIsEnumerable.call(value, Symbol.toStringTag)) return "";
    own = value[Symbol.toStringTag];
  } catch {
    return "";
  }
  return typeof own === "string" && own !== "" && own !== name ? ` [${own}]` : "";
}

function prefix(value, name, fallback, size = "") {
  const called = name === null ? `[${fallback}${size}: null prototype]` : `${name}${size}`;
  return `${called}${toStringTag(value, name ?? fallback)} `;
}

const short = (value, name) => `${name ?? `${tag(value)}: null prototype`}${toStringTag(value, name)}`;

function shapeOf(context, value, keys, name) {
  const { style, options } = context;
  if (Array.isArray(value)) {
    const head = name !== "Array" || toStringTag(value, name) ? prefix(value, name, "Array", `(${value.length})`) : "";
    if (value.length === 0 && keys.length === 0) return { whole: `${head}[]` };
    return { braces: [`${head}[`, "]"], isList: true, short: name === "Array" ? "Array" : `${name ?? "Array: null prototype"}`, parts: (depth) => items(context, value, depth) };
  }
  if (typeof value === "function") return callable(context, value, keys, name);
  if (value instanceof TypedArray) {
    const head = prefix(value, name, tag(value), `(${value.length})`);
    if (value.length === 0 && keys.length === 0 && !options.showHidden) return { whole: `${head}[]` };
    return { braces: [`${head}[`, "]"], isList: true, parts: (depth) => items(context, value, depth) };
  }
  switch (tag(value)) {
    case "Arguments": return { braces: ["[Arguments] {", "}"] };
    case "Error": return errorShape(context, value, keys, name);
    case "Date": {
      const shown = Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
      return keys.length === 0 ? { whole: style(shown, "date") } : { base: style(shown, "date"), braces: ["{", "}"] };
    }
    case "RegExp": {
      const shown = style(RegExp.prototype.toString.call(value), "regexp");
      return keys.length === 0 ? { whole: shown } : { base: shown, braces: ["{", "}"] };
    }
    case "Number": case "String": case "Boolean": case "Symbol": case "BigInt": return boxed(context, value, keys, name);
    default:
  }
  if (value instanceof Error) return errorShape(context, value, keys, name);
  if (value instanceof Map) return collection(value, name, "Map", keys, (depth) => Array.from(value, ([key, item]) => nested(context, () => `${context.show(context, key, depth + 1)} => ${context.show(context, item, depth + 1)}`)));
  if (value instanceof Set) return collection(value, name, "Set", keys, (depth) => Array.from(value, (item) => nested(context, () => context.show(context, item, depth + 1))));
  if (value instanceof Promise) return { braces: [`${prefix(value, name, "Promise")}{`, "}"], parts: () => [style("<pending>", "special")] };
  if (value instanceof WeakMap || value instanceof WeakSet) return { braces: [`${prefix(value, name, "Weak")}{`, "}"], parts: () => [style("<items unknown>", "special")] };
  if (value instanceof ArrayBuffer) return { braces: [`${prefix(value, name, "ArrayBuffer")}{`, "}"], parts: () => arrayBuffer(context, value) };
  if (value instanceof DataView) return { braces: [`${prefix(value, name, "DataView")}{`, "}"], extras: ["byteLength", "byteOffset", "buffer"].map((key) => (depth) => `${key}: ${nested(context, () => context.show(context, value[key], depth + 1))}`) };
  const head = name === "Object" && !toStringTag(value, name) ? "" : prefix(value, name, tagOf(value));
  return keys.length === 0 ? { whole: `${head}{}` } : { braces: [`${head}{`, "}"], short: short(value, name) };
}

const tagOf = (value) => { const own = tag(value); return own === "" ? "Object" : own; };

function collection(value, name, kind, keys, parts) {
  const head = prefix(value, name, kind, `(${value.size})`);
  if (value.size === 0 && keys.length === 0) return { whole: `${head}{}` };
  return { braces: [`${head}{`, "}"], parts };
}

function boxed(context, value, keys, name) {
  const kind = tag(value);
  const inner = kind === "String" ? quote(String.prototype.toString.call(value)) : context.show({ ...context, style: (text) => text }, value.valueOf(), 0);
  const shown = context.style(`[${kind}${name !== kind ? ` (${name})` : ""}: ${inner}]`, kind.toLowerCase());
  const others = kind === "String" ? keys.filter((key) => !/^\d+$/.test(String(key))) : keys;
  keys.splice(0, keys.length, ...others);
  return others.length === 0 ? { whole: shown } : { base: shown, braces: ["{", "}"] };
}

function callable(context, value, keys, name) {
  const source = Function.prototype.toString.call(value);
  let shown;
  if (source.startsWith("class") && source.endsWith("}")) {
    const parent = Object.getPrototypeOf(value);
    shown = `[class ${value.name === "" || !Object.hasOwn(value, "name") ? "(anonymous)" : value.name}`;
    if (name !== "Function" && name !== null) shown += ` [${name}]`;
    if (name === null) shown += " extends [null prototype]";
    else if (parent?.name) shown += ` extends ${parent.name}`;
    shown += "]";
  } else {
    const kind = { AsyncFunction: "AsyncFunction", GeneratorFunction: "GeneratorFunction", AsyncGeneratorFunction: "AsyncGeneratorFunction" }[tag(value)] ?? "Function";
    const called = typeof value.name === "string" && value.name !== "" ? `: ${value.name}` : " (anonymous)";
    shown = `[${kind}${name === null ? " (null prototype)" : ""}${called}]`;
  }
  const painted = context.style(shown, "special");
  return keys.length === 0 ? { whole: painted } : { base: painted, braces: ["{", "}"] };
}

// An engine may leave name and message out of the stack; Node's readers expect them there.
function errorShape(context, value, keys, name) {
  const title = errorTitle(value, name);
  const stack = typeof value.stack === "string" ? value.stack.trimEnd() : "";
  const message = typeof value.message === "string" ? value.message : "";
  let shown = stack === "" ? `[${title}]` : stack.startsWith(title.split("\n")[0]) || (message && stack.includes(message)) ? stack : `${title}\n${stack.split("\n").map((line) => (line.startsWith("    ") ? line : `    ${line.trim()}`)).join("\n")}`;
  if (!/\n\s+at /.test(shown) && !shown.startsWith("[")) shown = `[${shown}]`;
  for (const implied of ["name", "message", "stack"]) {
    const at = keys.indexOf(implied);
    if (at >= 0 && typeof value[implied] === "string" && shown.includes(value[implied])) keys.splice(at, 1);
  }
  if (Object.hasOwn(value, "cause") && !keys.includes("cause")) keys.push("cause");
  if (Array.isArray(value.errors) && !keys.includes("errors")) keys.push("errors");
  if (context.indentation > 0) shown = shown.replaceAll("\n", `\n${" ".repeat(context.indentation)}`);
  return keys.length === 0 ? { whole: shown } : { base: shown, braces: ["{", "}"], short: short(value, name) };
}

function errorTitle(value, name) {
  const called = typeof value.name === "string" && value.name !== "" ? value.name : (name ?? "Error");
  const shown = name && name !== called && called === "Error" ? name : called;
  return value.message ? `${shown}: ${value.message}` : shown;
}

function items(context, value, depth) {
  const { options, style } = context;
  const parts = [];
  const limit = Math.min(Math.max(0, options.maxArrayLength), value.length);
  let index = 0;
  while (index < value.length && parts.length < limit) {
    if (Object.hasOwn(value, index)) {
      const at = index++;
      parts.push(nested(context, () => context.show(context, value[at], depth + 1)));
      continue;
    }
    const from = index;
    while (index < value.length && !Object.hasOwn(value, index)) index++;
    parts.push(style(`<${index - from} empty item${index - from > 1 ? "s" : ""}>`, "undefined"));
  }
  const left = value.length - index;
  if (left > 0) parts.push(`... ${left} more item${left > 1 ? "s" : ""}`);
  return parts;
}

function nested(context, write) {
  context.indentation += 2;
  try {
    return write();
  } finally {
    context.indentation -= 2;
  }
}

function arrayBuffer(context, value) {
  const bytes = new Uint8Array(value);
  const shown = Array.from(bytes.subarray(0, 50), (byte) => byte.toString(16).padStart(2, "0")).join(" ");
  const more = bytes.length > 50 ? ` ... ${bytes.length - 50} more byte${bytes.length > 51 ? "s" : ""}` : "";
  return [`${context.style("[Uint8Contents]", "special")}: <${shown}${more}>`, `byteLength: ${context.style(String(bytes.length), "number")}`];
}

function member(context, value, key, depth, isInList) {
  const { style } = context;
  const descriptor = Object.getOwnPropertyDescriptor(value, key) ?? { value: value[key], enumerable: true };
  let shown;
  if (descriptor.get || descriptor.set) {
    const kind = descriptor.get ? (descriptor.set ? "Getter/Setter" : "Getter") : "Setter";
    shown = style(`[${kind}]`, "special");
    if (context.options.getters && descriptor.get) shown = `[${kind}: ${nested(context, () => context.show(context, descriptor.get.call(value), depth + 1))}]`;
  } else {
    const step = context.options.compact !== true || isInList ? 2 : 3;
    context.indentation += step;
    try {
      shown = context.show(context, descriptor.value, depth + 1);
      if (step === 3 && context.options.breakLength < host.textWidth(shown)) shown = `\n${" ".repeat(context.indentation)}${shown}`;
    } finally {
      context.indentation -= step;
    }
  }
  return `${keyName(context, key, descriptor.enumerable)}: ${shown}`;
}

function keyName({ style }, key, isEnumerable) {
  if (typeof key === "symbol") return `[${style(key.toString(), "symbol")}]`;
  if (key === "__proto__") return "['__proto__']";
  if (!isEnumerable) return `[${key}]`;
  return /^[a-zA-Z_][a-zA-Z_0-9]*$/.test(key) ? style(key, "name") : style(quote(key), "string");
}
