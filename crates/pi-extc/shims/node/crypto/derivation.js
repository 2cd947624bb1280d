// Keys from passwords and from other keys: PBKDF2, scrypt, HKDF. The forms with callbacks do the same a little later: the work is
// the guest's own, and its time and memory are bounded like everything that it does.
import host from "pi:host";
import { Buffer } from "pi:shim/node/buffer/bytes";
import { bytesOf, checkCallback, checkNumber, demandDigest, later, outOfRange } from "pi:shim/node/crypto/arguments";
import { secretOf } from "pi:shim/node/crypto/keys";
import { fault } from "pi:shim/node/stream/base";

const LONGEST = 2 ** 31 - 1;
const MOST = 2 ** 32 - 1;
const buffer = (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

function preparePbkdf2(password, salt, iterations, length, digest) {
  if (typeof digest !== "string") demandDigest(digest);
  const [secret, grain] = [bytesOf(password, { name: "password" }), bytesOf(salt, { name: "salt" })];
  checkNumber(iterations, "iterations", 1, LONGEST);
  checkNumber(length, "keylen", 0, LONGEST);
  const name = demandDigest(digest);
  return () => buffer(host.pbkdf2(name, secret, grain, iterations, length));
}
export const pbkdf2Sync = (...given) => preparePbkdf2(...given)();
export function pbkdf2(password, salt, iterations, length, digest, callback) {
  if (typeof digest === "function") [digest, callback] = [undefined, digest];
  const work = preparePbkdf2(password, salt, iterations, length, digest);
  checkCallback(callback);
  later(work, callback);
}

const COSTS = { N: 16384, r: 8, p: 1, maxmem: 32 * 1024 * 1024 };
const LONG_NAMES = { cost: "N", blockSize: "r", parallelization: "p" };
const costFault = (why) => fault("ERR_CRYPTO_INVALID_SCRYPT_PARAMS", `Invalid scrypt params${why ? `: ${why}` : ""}`, RangeError);
const TOO_MUCH = "error:030000AC:digital envelope routines::memory limit exceeded";
const COST_FAULTS = { memory: TOO_MUCH, work: "more work than an extension may ask for at once" };

function costsOf(options) {
  const costs = { ...COSTS };
  for (const [name, value] of Object.entries(options ?? {})) {
    const own = LONG_NAMES[name] ?? name;
    if (value === undefined || !(own in COSTS)) continue;
    if (own !== name && options[own] !== undefined) throw fault("ERR_CRYPTO_SCRYPT_INVALID_PARAMETER", "Invalid scrypt parameter");
    checkNumber(value, name, 0, own === "maxmem" ? Number.MAX_SAFE_INTEGER : MOST);
    // Nothing is what is usual.
    costs[own] = value === 0 ? COSTS[own] : value;
  }
  return costs;
}

function prepareScrypt(password, salt, length, options) {
  const [secret, grain] = [bytesOf(password, { name: "password" }), bytesOf(salt, { name: "salt" })];
  checkNumber(length, "keylen", 0, LONGEST);
  const { N, r, p, maxmem } = costsOf(options);
  if (N < 2 || Number.isInteger(Math.log2(N)) === false) throw costFault();
  if (128 * r * (N + p + 2) > maxmem || p * r > 2 ** 30 - 1) throw costFault(TOO_MUCH);
  return () => {
    const { bytes, fault: word } = host.scrypt(secret, grain, [N, r, p], length);
    if (word !== undefined) throw costFault(COST_FAULTS[word]);
    return buffer(bytes);
  };
}
export const scryptSync = (...given) => prepareScrypt(...given)();
export function scrypt(password, salt, length, options, callback) {
  if (typeof options === "function") [options, callback] = [undefined, options];
  const work = prepareScrypt(password, salt, length, options);
  checkCallback(callback);
  later(work, callback);
}

/** The key by RFC 5869. */
export function expand(name, key, salt, info, length) {
  const size = host.digest(name, new Uint8Array(0)).length;
  const secret = host.hmac(name, salt.length > 0 ? salt : new Uint8Array(size), key);
  const parts = [];
  let last = Buffer.alloc(0);
  for (let block = 1; parts.length * size < length; block++) {
    last = Buffer.from(host.hmac(name, secret, Buffer.concat([last, info, Buffer.from([block])])));
    parts.push(last);
  }
  const bytes = Buffer.concat(parts).subarray(0, length);
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
}

const MATERIAL = { name: "ikm", wanted: "of type string or an instance of SecretKeyObject, ArrayBuffer, TypedArray, DataView, or Buffer" };
function prepareHkdf(digest, key, salt, info, length) {
  if (typeof digest !== "string") demandDigest(digest);
  const [secret, grain, about] = [secretOf(key, undefined, MATERIAL), bytesOf(salt, { name: "salt" }), bytesOf(info, { name: "info" })];
  checkNumber(length, "length", 0, LONGEST);
  if (about.length > 1024) throw outOfRange("info", "must not contain more than 1024 bytes", about.length);
  const name = demandDigest(digest);
  if (length > 255 * host.digest(name, new Uint8Array(0)).length) throw fault("ERR_CRYPTO_INVALID_KEYLEN", "Invalid key length", RangeError);
  return () => expand(name, secret, grain, about, length);
}
export const hkdfSync = (...given) => prepareHkdf(...given)();
export function hkdf(digest, key, salt, info, length, callback) {
  const work = prepareHkdf(digest, key, salt, info, length);
  checkCallback(callback);
  later(work, callback);
}
