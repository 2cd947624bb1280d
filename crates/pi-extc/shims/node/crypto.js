// node:crypto: hashes, HMAC, random values. Not here: ciphers, signatures and key agreement, which the host does not offer;
// their names are stubs that say so when they are used.
import host from "pi:host";
import { Buffer } from "pi:shim/node/buffer/bytes";
import { Transform } from "pi:shim/node/stream/duplex";
import webcrypto from "pi:shim/web/crypto";

export { webcrypto };
export const subtle = webcrypto.subtle;
const ALGORITHMS = ["md5", "sha1", "sha256", "sha384", "sha512"];

function algorithmOf(name, what) {
  const plain = String(name).toLowerCase().replace(/^rsa-/, "").replace(/^sha-/, "sha");
  if (ALGORITHMS.includes(plain)) return plain;
  throw Object.assign(new Error(what === "hmac" ? `Invalid digest: ${name}` : "Digest method not supported"), { code: what === "hmac" ? "ERR_CRYPTO_INVALID_DIGEST" : "ERR_OSSL_EVP_UNSUPPORTED" });
}

const bytesOf = (data, encoding) => {
  if (typeof data === "string") return Buffer.from(data, encoding);
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  throw Object.assign(new TypeError(`The "data" argument must be of type string or an instance of Buffer, TypedArray, or DataView. Received ${data === null || data === undefined ? data : `type ${typeof data}`}`), { code: "ERR_INVALID_ARG_TYPE" });
};

/** Collects what is fed and asks the host once: its hashes know no pieces. */
class Digest extends Transform {
  #parts = [];
  #isDone = false;
  #finish;
  constructor(finish) {
    super();
    this.#finish = finish;
  }
  update(data, encoding) {
    if (this.#isDone) throw Object.assign(new Error("Digest already called"), { code: "ERR_CRYPTO_HASH_FINALIZED" });
    this.#parts.push(bytesOf(data, encoding));
    return this;
  }
  digest(encoding) {
    if (this.#isDone) throw Object.assign(new Error("Digest already called"), { code: "ERR_CRYPTO_HASH_FINALIZED" });
    this.#isDone = true;
    const bytes = Buffer.from(this.#finish(Buffer.concat(this.#parts)));
    return encoding === undefined || encoding === "buffer" ? bytes : bytes.toString(encoding);
  }
  copy() {
    const other = new this.constructor(this.#finish);
    for (const part of this.#parts) other.update(part);
    return other;
  }
  _transform(chunk, encoding, callback) {
    this.update(chunk);
    callback();
  }
  _flush(callback) {
    this.push(this.digest());
    callback();
  }
}
export class Hash extends Digest {}
export class Hmac extends Digest {}

export function createHash(algorithm) {
  const name = algorithmOf(algorithm, "hash");
  return new Hash((bytes) => host.digest(name, bytes));
}
export function createHmac(algorithm, key) {
  const name = algorithmOf(algorithm, "hmac");
  const secret = bytesOf(key instanceof KeyObject ? key.export() : key);
  return new Hmac((bytes) => host.hmac(name, secret, bytes));
}
export const hash = (algorithm, data, encoding = "hex") => createHash(algorithm).update(data).digest(encoding);

export function randomBytes(size, callback) {
  if (!(size >= 0 && size <= 2 ** 31 - 1)) throw Object.assign(new RangeError(`The value of "size" is out of range. It must be >= 0 && <= 2147483647. Received ${size}`), { code: "ERR_OUT_OF_RANGE" });
  const bytes = Buffer.from(host.random(size));
  if (callback) return void host.immediate(() => callback(null, bytes));
  return bytes;
}
export const pseudoRandomBytes = randomBytes;
export const randomUUID = () => webcrypto.randomUUID();
export const getRandomValues = (target) => webcrypto.getRandomValues(target);

export function randomInt(low, high, callback) {
  if (high === undefined || typeof high === "function") [low, high, callback] = [0, low, high];
  if (!Number.isSafeInteger(low) || !Number.isSafeInteger(high)) throw Object.assign(new TypeError('The "max" argument must be a safe integer.'), { code: "ERR_INVALID_ARG_TYPE" });
  const range = high - low;
  if (range <= 0 || range > 2 ** 48 - 1) throw Object.assign(new RangeError(`The value of "max" is out of range. It must be greater than the value of "min" (${low}). Received ${high}`), { code: "ERR_OUT_OF_RANGE" });
  // Values above the last whole multiple would make some results likelier than others.
  const limit = 2 ** 48 - (2 ** 48 % range);
  let value;
  do value = Buffer.from(host.random(6)).readUIntBE(0, 6);
  while (value >= limit);
  const result = low + (value % range);
  if (callback) return void host.immediate(() => callback(undefined, result));
  return result;
}

export function randomFillSync(target, offset = 0, size = target.byteLength - offset) {
  new Uint8Array(target.buffer ?? target, target.byteOffset ?? 0, target.byteLength).set(host.random(size), offset);
  return target;
}
export function randomFill(target, ...rest) {
  const callback = rest.pop();
  randomFillSync(target, ...rest);
  host.immediate(() => callback(null, target));
}

export function timingSafeEqual(one, other) {
  const [a, b] = [bytesOf(one), bytesOf(other)];
  if (a.length !== b.length) throw Object.assign(new RangeError("Input buffers must have the same byte length"), { code: "ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH" });
  let difference = 0;
  for (let i = 0; i < a.length; i++) difference |= a[i] ^ b[i];
  return difference === 0;
}

export function pbkdf2Sync(password, salt, iterations, length, digest) {
  const name = algorithmOf(digest, "hmac");
  const secret = bytesOf(password);
  const blocks = [];
  for (let block = 1; blocks.reduce((sum, part) => sum + part.length, 0) < length; block++) {
    const number = Buffer.alloc(4);
    number.writeUInt32BE(block);
    let last = host.hmac(name, secret, Buffer.concat([bytesOf(salt), number]));
    const result = Buffer.from(last);
    for (let i = 1; i < iterations; i++) {
      last = host.hmac(name, secret, last);
      for (let at = 0; at < result.length; at++) result[at] ^= last[at];
    }
    blocks.push(result);
  }
  return Buffer.concat(blocks).subarray(0, length);
}
export function pbkdf2(password, salt, iterations, length, digest, callback) {
  host.immediate(() => {
    let made;
    try {
      made = pbkdf2Sync(password, salt, iterations, length, digest);
    } catch (fault) {
      return callback(fault);
    }
    return callback(null, made);
  });
}
export function hkdfSync(digest, key, salt, info, length) {
  const name = algorithmOf(digest, "hmac");
  const size = host.digest(name, new Uint8Array(0)).length;
  const secret = host.hmac(name, bytesOf(salt).length > 0 ? bytesOf(salt) : new Uint8Array(size), bytesOf(key));
  let last = Buffer.alloc(0);
  const parts = [];
  for (let block = 1; parts.length * size < length; block++) {
    last = Buffer.from(host.hmac(name, secret, Buffer.concat([last, bytesOf(info), Buffer.from([block])])));
    parts.push(last);
  }
  const bytes = Buffer.concat(parts).subarray(0, length);
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
}

export class KeyObject {
  #secret;
  constructor(secret) {
    this.#secret = secret;
    this.type = "secret";
    this.symmetricKeySize = secret.length;
  }
  export() { return Buffer.from(this.#secret); }
}
export const createSecretKey = (key, encoding) => new KeyObject(Buffer.from(bytesOf(key, encoding)));

export const getHashes = () => ALGORITHMS.slice();
export const getCiphers = () => [];
export const getCurves = () => [];
export const constants = {};

export default {
  webcrypto, subtle, Hash, Hmac, KeyObject, createHash, createHmac, hash, randomBytes, pseudoRandomBytes, randomUUID, getRandomValues, randomInt, randomFillSync,
  randomFill, timingSafeEqual, pbkdf2Sync, pbkdf2, hkdfSync, createSecretKey, getHashes, getCiphers, getCurves, constants,
};
