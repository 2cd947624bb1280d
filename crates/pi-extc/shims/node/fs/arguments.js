// What callers hand to file functions: paths, options, flags and modes, checked as Node checks them.
import host from "pi:host";
import { demand } from "pi:shim/node/buffer/encoding";

// Loaded when something is wrong: it is large.
const inspect = (value) => host.load("pi:shim/node/util/inspect").inspect(value);

function received(value) {
  if (value === null || value === undefined) return `${value}`;
  if (typeof value === "function") return `function ${value.name}`;
  if (typeof value === "object") return `an instance of ${value.constructor?.name ?? "Object"}`;
  return `type ${typeof value} (${inspect(value)})`;
}

/** The path as it was written; errors name it so. */
export function pathText(path, name = "path") {
  let text = path;
  if (path instanceof Uint8Array) text = host.utf8Decode(path, false);
  else if (path !== null && typeof path === "object" && typeof path.href === "string") text = host.load("pi:shim/node/url").fileURLToPath(path);
  if (typeof text !== "string") {
    throw Object.assign(new TypeError(`The "${name}" argument must be of type string or an instance of Buffer or URL. Received ${received(path)}`), { code: "ERR_INVALID_ARG_TYPE" });
  }
  if (text.includes("\0")) {
    throw Object.assign(new TypeError(`The argument '${name}' must be a string, Uint8Array, or URL without null bytes. Received ${inspect(text)}`), { code: "ERR_INVALID_ARG_VALUE" });
  }
  return text;
}

/** The path as the host gets it: absolute, from the folder that the extension works in. */
export function fullPath(text) {
  const path = host.load("pi:shim/node/path");
  return text === "" ? text : path.resolve(text);
}

/** Options may be an encoding. */
export function optionsOf(options, defaults = {}) {
  if (typeof options === "string") return { ...defaults, encoding: options };
  if (options === undefined || options === null || typeof options === "function") return { ...defaults };
  return { ...defaults, ...options };
}

export function textOrBytes(bytes, encoding) {
  const { Buffer } = host.load("pi:shim/node/buffer/bytes");
  if (!encoding || encoding === "buffer") return typeof bytes === "string" ? Buffer.from(bytes) : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const name = demand(encoding);
  if (typeof bytes === "string") return name === "utf8" ? bytes : Buffer.from(bytes).toString(name);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(name);
}

/** What is to be written, as the host takes it: text or bytes. */
export function contentOf(data, encoding) {
  if (typeof data === "string") {
    const name = demand(encoding === "buffer" ? undefined : encoding);
    return name === "utf8" ? data : host.load("pi:shim/node/buffer/bytes").Buffer.from(data, name);
  }
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  throw Object.assign(new TypeError(`The "data" argument must be of type string or an instance of Buffer, TypedArray, or DataView. Received ${received(data)}`), { code: "ERR_INVALID_ARG_TYPE" });
}

export function modeOf(mode) {
  const number = typeof mode === "string" ? parseInt(mode, 8) : mode;
  if (!Number.isInteger(number) || number < 0) {
    throw Object.assign(new TypeError(`The argument 'mode' must be a 32-bit unsigned integer or an octal string. Received ${inspect(mode)}`), { code: "ERR_INVALID_ARG_VALUE" });
  }
  return number & 0o7777;
}

const FLAGS = /^(r|rs|sr|w|a|as|sa)(x)?(\+)?$|^(wx|xw|ax|xa)(\+)?$/;

/** What a flag allows, as facts. */
export function flagsOf(flags = "r") {
  if (typeof flags === "number") {
    const access = flags & 3;
    return { reads: access !== 1, writes: access !== 0, appends: !!(flags & 1024), truncates: !!(flags & 512), creates: !!(flags & 64), isNew: !!(flags & 128) };
  }
  if (!FLAGS.test(flags)) throw Object.assign(new TypeError(`The argument 'flags' is invalid. Received ${inspect(flags)}`), { code: "ERR_INVALID_ARG_VALUE" });
  const has = (letter) => flags.includes(letter);
  return { reads: has("r") || has("+"), writes: !has("r") || has("+"), appends: has("a"), truncates: has("w"), creates: !has("r"), isNew: has("x") };
}
