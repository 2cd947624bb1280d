// What callers hand to `crypto`: bytes, numbers and names of digests, checked as Node checks them.
import host from "pi:host";
import { Buffer } from "pi:shim/node/buffer/bytes";
import { fault } from "pi:shim/node/stream/base";

// Loaded when something is wrong: it is large.
const inspect = (value) => host.load("pi:shim/node/util/inspect").inspect(value);
const LONGEST_SHOWN = 28;

function received(value) {
  if (value === null || value === undefined) return `${value}`;
  if (typeof value === "function") return `function ${value.name}`;
  if (typeof value === "object") return `an instance of ${value.constructor?.name ?? "Object"}`;
  const shown = inspect(value);
  return `type ${typeof value} (${shown.length > LONGEST_SHOWN ? `${shown.slice(0, LONGEST_SHOWN - 3)}...` : shown})`;
}

export const wrongType = (name, wanted, value) => fault("ERR_INVALID_ARG_TYPE", `The ${name.includes(" ") ? name : `"${name}" argument`} must be ${wanted}. Received ${received(value)}`, TypeError);
export const wrongValue = (what, why, value) => fault("ERR_INVALID_ARG_VALUE", `The ${what} ${why}. Received ${inspect(value)}`, TypeError);
// Long numbers are shown in groups.
const numbered = (value) => (Number.isInteger(value) && Math.abs(value) > 2 ** 32 ? String(value).replace(/\B(?=(?:\d{3})+$)/g, "_") : inspect(value));
export const outOfRange = (name, range, value) => fault("ERR_OUT_OF_RANGE", `The value of "${name}" is out of range. It must be ${range}. Received ${numbered(value)}`, RangeError);

export const ANY_BYTES = "of type string or an instance of ArrayBuffer, Buffer, TypedArray, or DataView";

/** The bytes of what may be text, a view or a buffer. */
export function bytesOf(data, { encoding, name = "data", wanted = ANY_BYTES } = {}) {
  if (typeof data === "string") return Buffer.from(data, encoding === "buffer" ? undefined : encoding);
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  throw wrongType(name, wanted, data);
}

export function checkText(value, name) {
  if (typeof value !== "string") throw wrongType(name, "of type string", value);
}

export function checkNumber(value, name, least, most) {
  if (typeof value !== "number") throw wrongType(name, "of type number", value);
  if (!Number.isInteger(value)) throw outOfRange(name, "an integer", value);
  if (value < least || value > most) throw outOfRange(name, `>= ${least} && <= ${most}`, value);
}

export function checkCallback(value) {
  if (typeof value !== "function") throw wrongType("callback", "of type function", value);
}

const DIGESTS = ["md5", "sha1", "sha224", "sha256", "sha384", "sha512", "sha512-224", "sha512-256"];
export const getHashes = () => [...DIGESTS, ...DIGESTS.slice(0, 6).map((name) => `RSA-${name.toUpperCase()}`)];

/** The digest as the host names it, if there is one. */
export function digestOf(name) {
  const plain = String(name).toLowerCase().replace(/^rsa-/, "").replace(/withrsaencryption$/, "").replace(/^sha-/, "sha").replace("/", "-");
  return DIGESTS.includes(plain) ? plain : undefined;
}

export function demandDigest(name, what = "digest") {
  checkText(name, what);
  const known = digestOf(name);
  if (known === undefined) throw fault("ERR_CRYPTO_INVALID_DIGEST", `Invalid digest: ${name}`, TypeError);
  return known;
}

/** An error of the library that Node calls, as Node words it. */
export const libraryFault = (number, reason, library = "Provider routines") =>
  Object.assign(fault(`ERR_OSSL_${reason.toUpperCase().replaceAll(" ", "_")}`, `error:${number}:${library}::${reason}`), { library, reason });

/** Something that Node has and the host does not. */
export const unsupported = (what, remedy) => fault("ERR_CRYPTO_UNSUPPORTED_OPERATION", `${what} is not available to an extension; ${remedy}`);

/** Does it when what goes on now is over, and tells the callback. */
export function later(work, callback) {
  host.immediate(() => {
    let made;
    try {
      made = work();
    } catch (problem) {
      return callback(problem);
    }
    return callback(null, made);
  });
}

export const sameBytes = (one, other) => {
  let difference = one.length ^ other.length;
  for (let i = 0; i < one.length; i++) difference |= one[i] ^ other[i];
  return difference === 0;
};
