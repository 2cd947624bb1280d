// The class Buffer: a Uint8Array with Node's methods.
// Not here: pooling (every Buffer owns its memory) and the deprecated SlowBuffer.
import host from "pi:host";
import { byteLength, decode, demand, encode, normalise } from "pi:shim/node/buffer/encoding";
import { numberMethods } from "pi:shim/node/buffer/numbers";

// Loaded when somebody looks: it is large.
const inspect = (value, options) => host.load("pi:shim/node/util/inspect").inspect(value, options);

class Bytes extends Uint8Array {
  static get [Symbol.species]() { return Bytes; }

  toString(encoding, start = 0, end = this.length) {
    const from = clamp(start, 0, this.length);
    const to = clamp(end, 0, this.length);
    if (to <= from) return "";
    const name = demand(encoding);
    return decode(from === 0 && to === this.length ? this : this.subarray(from, to), name);
  }

  toLocaleString(encoding, start, end) { return this.toString(encoding, start, end); }
  toJSON() { return { type: "Buffer", data: Array.from(this) }; }

  equals(other) {
    demandBytes(other, "otherBuffer");
    return this === other || Buffer.compare(this, other) === 0;
  }

  compare(target, targetStart = 0, targetEnd = target.length, sourceStart = 0, sourceEnd = this.length) {
    demandBytes(target, "target");
    return Buffer.compare(this.subarray(sourceStart, sourceEnd), target.subarray(targetStart, targetEnd));
  }

  slice(start, end) { return this.subarray(start, end); }

  subarray(start = 0, end = this.length) {
    const from = relative(start, this.length);
    const to = Math.max(from, relative(end, this.length));
    return new Bytes(this.buffer, this.byteOffset + from, to - from);
  }

  copy(target, targetStart = 0, sourceStart = 0, sourceEnd = this.length) {
    const room = target.length - targetStart;
    if (room <= 0 || sourceStart >= sourceEnd) return 0;
    const part = Uint8Array.prototype.subarray.call(this, sourceStart, Math.min(sourceEnd, sourceStart + room));
    target.set(part, targetStart);
    return part.length;
  }

  write(text, offset, length, encoding) {
    if (typeof text !== "string") throw invalid("argument", "string", text);
    if (typeof offset === "string") [encoding, offset, length] = [offset, undefined, undefined];
    else if (typeof length === "string") [encoding, length] = [length, undefined];
    const start = offset ?? 0;
    if (start < 0 || start > this.length) {
      throw Object.assign(new RangeError(`The value of "offset" is out of range. It must be >= 0 && <= ${this.length}. Received ${start}`), { code: "ERR_OUT_OF_RANGE" });
    }
    const name = demand(encoding);
    const room = Math.min(length ?? Infinity, this.length - start);
    let bytes = encode(text, name);
    if (bytes.length > room) bytes = bytes.subarray(0, whole(bytes, room, name));
    this.set(bytes, start);
    return bytes.length;
  }

  fill(value, start = 0, end = this.length, encoding) {
    if (typeof start === "string") [encoding, start, end] = [start, 0, this.length];
    else if (typeof end === "string") [encoding, end] = [end, this.length];
    if (typeof value === "string") value = encode(value, demand(encoding));
    if (typeof value === "number" || typeof value === "boolean") return super.fill(value & 255, start, end);
    if (value.length === 0) return super.fill(0, start, end);
    for (let i = start; i < end; i++) this[i] = value[(i - start) % value.length];
    return this;
  }

  indexOf(value, from, encoding) { return find(this, value, from, encoding, false); }
  lastIndexOf(value, from, encoding) { return find(this, value, from, encoding, true); }
  includes(value, from, encoding) { return this.indexOf(value, from, encoding) !== -1; }

  swap16() { return swap(this, 2); }
  swap32() { return swap(this, 4); }
  swap64() { return swap(this, 8); }

  get parent() { return this.buffer; }
  get offset() { return this.byteOffset; }

  [Symbol.for("nodejs.util.inspect.custom")](depth, options) {
    const shown = Array.from(Uint8Array.prototype.subarray.call(this, 0, 50), (byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const more = this.length > 50 ? ` ... ${this.length - 50} more byte${this.length > 51 ? "s" : ""}` : "";
    const extra = Object.keys(this).filter((key) => !/^\d+$/.test(key)).map((key) => `, ${key}: ${inspect(this[key], options)}`).join("");
    return `<Buffer ${shown}${more}${extra}>`;
  }
}

/** Also callable without `new`, as old code does. */
export function Buffer(value, encoding, length) {
  return typeof value === "number" ? Buffer.alloc(value) : Buffer.from(value, encoding, length);
}
Object.setPrototypeOf(Buffer, Uint8Array);
Buffer.prototype = Bytes.prototype;
Object.defineProperty(Bytes.prototype, "constructor", { value: Buffer, writable: true, configurable: true });
for (const [name, method] of Object.entries(numberMethods())) {
  Object.defineProperty(Bytes.prototype, name, { value: method, writable: true, configurable: true });
}
for (const encoding of ["utf8", "hex", "base64", "base64url", "latin1", "ascii", "ucs2", "utf16le"]) {
  Object.defineProperty(Bytes.prototype, `${encoding}Slice`, { value(start, end) { return this.toString(encoding, start, end); }, writable: true, configurable: true });
  Object.defineProperty(Bytes.prototype, `${encoding}Write`, { value(text, offset, length) { return this.write(text, offset, length, encoding); }, writable: true, configurable: true });
}

Object.assign(Buffer, {
  poolSize: 8192,

  // Functions like these are called with `new` as well (`new Buffer.alloc(0)`), which methods refuse.
  from: function from(value, encoding, length) {
    if (typeof value === "string") return wrap(encode(value, demand(encoding)));
    if (isBuffer(value) || ArrayBuffer.isView(value)) return new Bytes(value);
    if (value instanceof ArrayBuffer || isSharedBuffer(value)) {
      const offset = encoding === undefined ? 0 : +encoding || 0;
      if (offset > value.byteLength) throw bounds("offset");
      if (length !== undefined && offset + +length > value.byteLength) throw bounds("length");
      return new Bytes(value, offset, length === undefined ? undefined : Math.max(0, +length || 0));
    }
    if (value === null || (typeof value !== "object" && typeof value !== "function")) throw invalidSource(value);
    const plain = value.valueOf?.();
    if (plain !== undefined && plain !== null && plain !== value) return Buffer.from(plain, encoding, length);
    if (value.type === "Buffer" && Array.isArray(value.data)) return Bytes.from(value.data);
    if (typeof value.length === "number") return Bytes.from({ length: Math.max(0, value.length), ...value });
    if (typeof value[Symbol.toPrimitive] === "function") return Buffer.from(value[Symbol.toPrimitive]("string"), encoding);
    if (value.buffer instanceof ArrayBuffer) return new Bytes(value.buffer);
    throw invalidSource(value);
  },

  alloc: function alloc(size, fill, encoding) {
    const bytes = new Bytes(checkSize(size));
    return fill === undefined || fill === 0 ? bytes : bytes.fill(fill, 0, bytes.length, encoding);
  },
  allocUnsafe: function allocUnsafe(size) { return new Bytes(checkSize(size)); },
  allocUnsafeSlow: function allocUnsafeSlow(size) { return new Bytes(checkSize(size)); },
  of: (...values) => Bytes.from(values),

  concat: function concat(list, total) {
    if (!Array.isArray(list)) throw invalid('"list" argument', "an instance of Array", list);
    const size = total ?? list.reduce((sum, item) => sum + item.length, 0);
    const bytes = new Bytes(size);
    let at = 0;
    for (const item of list) {
      demandBytes(item, `list[${list.indexOf(item)}]`);
      if (at >= size) break;
      bytes.set(item.length > size - at ? item.subarray(0, size - at) : item, at);
      at += item.length;
    }
    return bytes;
  },

  compare(one, other) {
    demandBytes(one, "buf1");
    demandBytes(other, "buf2");
    const shared = Math.min(one.length, other.length);
    for (let i = 0; i < shared; i++) if (one[i] !== other[i]) return one[i] < other[i] ? -1 : 1;
    return Math.sign(one.length - other.length);
  },

  byteLength(value, encoding) {
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer || isSharedBuffer(value)) return value.byteLength;
    if (typeof value !== "string") throw invalid('"string" argument', "of type string or an instance of Buffer or ArrayBuffer", value);
    return byteLength(value, normalise(encoding) ?? "utf8");
  },

  isBuffer,
  isEncoding: (encoding) => typeof encoding === "string" && encoding !== "" && normalise(encoding) !== undefined,
  copyBytesFrom(view, offset = 0, length = view.length - offset) {
    const part = view.subarray(offset, offset + length);
    return new Bytes(new Uint8Array(part.buffer, part.byteOffset, part.byteLength));
  },
});

/** The same memory as a Buffer. */
export function wrap(bytes) {
  return bytes instanceof Bytes ? bytes : new Bytes(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function isBuffer(value) { return value instanceof Bytes; }
function isSharedBuffer(value) { return typeof SharedArrayBuffer !== "undefined" && value instanceof SharedArrayBuffer; }

function clamp(value, low, high) {
  const number = Math.trunc(+value) || 0;
  return Math.min(Math.max(number, low), high);
}

function relative(value, length) {
  const number = Math.trunc(+value) || 0;
  return number < 0 ? Math.max(0, length + number) : Math.min(number, length);
}

// A text that does not fit is cut between characters, never inside one.
function whole(bytes, room, encoding) {
  if (encoding === "utf16le") return room & ~1;
  if (encoding !== "utf8") return room;
  let end = room;
  while (end > 0 && (bytes[end] & 0xc0) === 0x80) end--;
  return end;
}

function find(bytes, value, from, encoding, backwards) {
  if (typeof from === "string") [encoding, from] = [from, undefined];
  const start = from === undefined || Number.isNaN(+from) ? (backwards ? bytes.length : 0) : Math.trunc(+from);
  const first = start < 0 ? bytes.length + start : start;
  if (typeof value === "number") {
    const at = Math.min(first, bytes.length - 1);
    if (backwards) return first < 0 ? -1 : Uint8Array.prototype.lastIndexOf.call(bytes, value & 255, at);
    return Uint8Array.prototype.indexOf.call(bytes, value & 255, Math.max(0, first));
  }
  if (typeof value !== "string") demandBytes(value, "value");
  const wanted = typeof value === "string" ? encode(value, demand(encoding)) : value;
  if (wanted.length === 0) return backwards ? Math.min(first, bytes.length) : Math.min(Math.max(0, first), bytes.length);
  const last = bytes.length - wanted.length;
  const step = backwards ? -1 : 1;
  for (let at = backwards ? Math.min(first, last) : Math.max(0, first); at >= 0 && at <= last; at += step) {
    let same = 0;
    while (same < wanted.length && bytes[at + same] === wanted[same]) same++;
    if (same === wanted.length) return at;
  }
  return -1;
}

function swap(bytes, size) {
  if (bytes.length % size !== 0) {
    throw Object.assign(new RangeError(`Buffer size must be a multiple of ${size * 8}-bits`), { code: "ERR_INVALID_BUFFER_SIZE" });
  }
  for (let i = 0; i < bytes.length; i += size) Uint8Array.prototype.subarray.call(bytes, i, i + size).reverse();
  return bytes;
}

function checkSize(size) {
  if (typeof size !== "number") throw invalid('"size" argument', "of type number", size);
  if (!(size >= 0 && size <= 2 ** 32)) {
    throw Object.assign(new RangeError(`The value of "size" is out of range. It must be >= 0 && <= 4294967296. Received ${inspect(size)}`), { code: "ERR_OUT_OF_RANGE" });
  }
  return size;
}

function received(value) {
  if (value === null || value === undefined) return `${value}`;
  if (typeof value === "function") return `function ${value.name}`;
  if (typeof value === "object") return value.constructor?.name ? `an instance of ${value.constructor.name}` : inspect(value, { depth: -1 });
  const shown = inspect(value);
  return `type ${typeof value} (${shown.length > 28 ? `${shown.slice(0, 25)}...` : shown})`;
}

function invalid(what, wanted, value) {
  const must = wanted.startsWith("of ") || wanted.startsWith("an ") ? wanted : `of type ${wanted}`;
  return Object.assign(new TypeError(`The ${what.startsWith('"') ? what : `${what}`} must be ${must}. Received ${received(value)}`), { code: "ERR_INVALID_ARG_TYPE" });
}

function invalidSource(value) {
  return invalid("first argument", "of type string or an instance of Buffer, ArrayBuffer, or Array or an Array-like Object", value);
}

function demandBytes(value, name) {
  if (!(value instanceof Uint8Array)) throw invalid(`"${name}" argument`, "an instance of Buffer or Uint8Array", value);
}

function bounds(name) {
  return Object.assign(new RangeError(`"${name}" is outside of buffer bounds`), { code: "ERR_BUFFER_OUT_OF_BOUNDS" });
}
