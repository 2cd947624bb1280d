// node:zlib over the host's compression: gzip, zlib and bare deflate, at once or as streams. A stream keeps what it is given until
// its end. Not here: brotli and zstd.
import host from "pi:host";
import { Buffer } from "pi:shim/node/buffer/bytes";
import { Transform } from "pi:shim/node/stream/duplex";

const DEFAULT_LEVEL = 6;
/** More than this is not unpacked at once, whatever is asked for: what is packed may be anything. */
const MOST = 64 * 1024 * 1024;

export const constants = {
  Z_NO_FLUSH: 0, Z_PARTIAL_FLUSH: 1, Z_SYNC_FLUSH: 2, Z_FULL_FLUSH: 3, Z_FINISH: 4, Z_BLOCK: 5, Z_OK: 0, Z_STREAM_END: 1, Z_NEED_DICT: 2, Z_ERRNO: -1, Z_STREAM_ERROR: -2, Z_DATA_ERROR: -3, Z_MEM_ERROR: -4, Z_BUF_ERROR: -5,
  Z_VERSION_ERROR: -6, Z_NO_COMPRESSION: 0, Z_BEST_SPEED: 1, Z_BEST_COMPRESSION: 9, Z_DEFAULT_COMPRESSION: -1, Z_FILTERED: 1, Z_HUFFMAN_ONLY: 2, Z_RLE: 3, Z_FIXED: 4, Z_DEFAULT_STRATEGY: 0, Z_DEFAULT_LEVEL: -1,
};

const FAULTS = {
  end: () => Object.assign(new Error("unexpected end of file"), { errno: -5, code: "Z_BUF_ERROR" }),
  data: () => Object.assign(new Error("incorrect header check"), { errno: -3, code: "Z_DATA_ERROR" }),
  size: (most) => Object.assign(new RangeError(`Cannot create a Buffer larger than ${most} bytes`), { code: "ERR_BUFFER_TOO_LARGE" }),
};

function bytesOf(given) {
  if (typeof given === "string") return Buffer.from(given);
  if (ArrayBuffer.isView(given)) return new Uint8Array(given.buffer, given.byteOffset, given.byteLength);
  if (given instanceof ArrayBuffer) return new Uint8Array(given);
  throw Object.assign(new TypeError('The "buffer" argument must be of type string or an instance of Buffer, TypedArray, DataView, or ArrayBuffer.'), { code: "ERR_INVALID_ARG_TYPE" });
}
const buffer = (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

const pack = (form) => (given, { level = -1 } = {}) => buffer(host.deflate(form, bytesOf(given), level < 0 ? DEFAULT_LEVEL : Math.min(level, 9)));
const unpack = (form) => (given, { maxOutputLength = MOST } = {}) => {
  const most = Math.min(maxOutputLength, MOST);
  const { bytes, fault } = host.inflate(form, bytesOf(given), most);
  if (fault !== undefined) throw FAULTS[fault](most);
  return buffer(bytes);
};

export const gzipSync = pack("gzip");
export const deflateSync = pack("deflate");
export const deflateRawSync = pack("deflate-raw");
export const gunzipSync = unpack("gzip");
export const inflateSync = unpack("deflate");
export const inflateRawSync = unpack("deflate-raw");
/** Whichever of the two it is. */
export const unzipSync = (given, options) => {
  const bytes = bytesOf(given);
  return (bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync : inflateSync)(bytes, options);
};

const later = (work) => (given, options, callback = options) => {
  const bytes = bytesOf(given);
  host.immediate(() => {
    let result;
    try {
      result = work(bytes, typeof options === "function" ? {} : options);
    } catch (fault) {
      return callback(fault);
    }
    return callback(null, result);
  });
};
export const gzip = later(gzipSync);
export const deflate = later(deflateSync);
export const deflateRaw = later(deflateRawSync);
export const gunzip = later(gunzipSync);
export const inflate = later(inflateSync);
export const inflateRaw = later(inflateRawSync);
export const unzip = later(unzipSync);

// Whoever drives a stream by hand may have put something else in the place of `Buffer.concat` meanwhile.
function joined(parts) {
  const all = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

const stream = (work) => class extends Transform {
  #parts = [];
  #options;
  // What packages look for that drive a stream by hand, such as minizlib.
  _handle = { close() {} };
  constructor(options = {}) {
    super(options);
    this.#options = options;
  }
  /** The same without events: gives everything with the last part, and nothing before. */
  _processChunk(chunk, flush) {
    this.#parts.push(bytesOf(chunk).slice());
    return flush === (this.#options?.finishFlush ?? constants.Z_FINISH) ? work(joined(this.#parts.splice(0)), this.#options) : Buffer.alloc(0);
  }
  _transform(chunk, encoding, callback) {
    this.#parts.push(bytesOf(chunk));
    callback();
  }
  _flush(callback) {
    try {
      this.push(work(Buffer.concat(this.#parts), this.#options));
      callback();
    } catch (fault) {
      callback(fault);
    }
  }
  close(callback) {
    this.destroy();
    if (callback) this.once("close", callback);
  }
};
export const Gzip = stream(gzipSync);
export const Deflate = stream(deflateSync);
export const DeflateRaw = stream(deflateRawSync);
export const Gunzip = stream(gunzipSync);
export const Inflate = stream(inflateSync);
export const InflateRaw = stream(inflateRawSync);
export const Unzip = stream(unzipSync);
export const createGzip = (options) => new Gzip(options);
export const createDeflate = (options) => new Deflate(options);
export const createDeflateRaw = (options) => new DeflateRaw(options);
export const createGunzip = (options) => new Gunzip(options);
export const createInflate = (options) => new Inflate(options);
export const createInflateRaw = (options) => new InflateRaw(options);
export const createUnzip = (options) => new Unzip(options);

let table;
function tableOf() {
  table ??= Uint32Array.from({ length: 256 }, (_, at) => {
    let value = at;
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
    return value;
  });
  return table;
}
export function crc32(given, before = 0) {
  let value = ~before;
  const known = tableOf();
  for (const byte of bytesOf(given)) value = known[(value ^ byte) & 255] ^ (value >>> 8);
  return ~value >>> 0;
}

export default {
  constants, gzipSync, deflateSync, deflateRawSync, gunzipSync, inflateSync, inflateRawSync, unzipSync, gzip, deflate, deflateRaw, gunzip, inflate, inflateRaw, unzip, crc32, Gzip, Deflate, DeflateRaw, Gunzip, Inflate, InflateRaw, Unzip,
  createGzip, createDeflate, createDeflateRaw, createGunzip, createInflate, createInflateRaw, createUnzip, [Symbol.for("pi.remedy")]: "use gzip or deflate: the host has no other compression",
};
