// Signatures with Ed25519, RSA and the curves P-256 and P-384.
import host from "pi:host";
import { Buffer } from "pi:shim/node/buffer/bytes";
import { bytesOf, checkCallback, checkText, digestOf, later, libraryFault, unsupported } from "pi:shim/node/crypto/arguments";
import { checkingKey, signingKey } from "pi:shim/node/crypto/keys";
import { fault } from "pi:shim/node/stream/base";
import { Writable } from "pi:shim/node/stream/writable";

export const constants = {
  RSA_PKCS1_PADDING: 1, RSA_NO_PADDING: 3, RSA_PKCS1_OAEP_PADDING: 4, RSA_PKCS1_PSS_PADDING: 6, RSA_PSS_SALTLEN_DIGEST: -1, RSA_PSS_SALTLEN_MAX_SIGN: -2, RSA_PSS_SALTLEN_AUTO: -2,
};
const SIZES = { sha256: 32, sha384: 48, sha512: 64 };

/** The kind of signature, as the host names it. */
function kindOf({ kind, curve }, digest, { padding = constants.RSA_PKCS1_PADDING, saltLength, dsaEncoding = "der" } = {}, isSigning) {
  if (kind === "ed25519") {
    if (digest !== undefined) throw libraryFault("1C80007A", "invalid digest");
    return kind;
  }
  const name = digest ?? "sha256";
  if (kind === "ec") {
    if (name !== { p256: "sha256", p384: "sha384" }[curve]) throw unsupported(`a signature of ${curve} with ${name}`, "sign P-256 with SHA-256 and P-384 with SHA-384");
    return `${curve}-${name}${dsaEncoding === "ieee-p1363" ? "-fixed" : ""}`;
  }
  if (SIZES[name] === undefined && (isSigning || name !== "sha1")) throw unsupported(`a signature of RSA with ${name}`, "take SHA-256, SHA-384 or SHA-512");
  if (padding === constants.RSA_PKCS1_PADDING) return `rsa-${name}`;
  const isOwnSalt = saltLength === constants.RSA_PSS_SALTLEN_DIGEST || saltLength === SIZES[name] || (saltLength === undefined && !isSigning);
  if (padding !== constants.RSA_PKCS1_PSS_PADDING || !isOwnSalt) throw unsupported("this padding of RSA", "take RSA_PKCS1_PADDING, or RSA_PKCS1_PSS_PADDING with RSA_PSS_SALTLEN_DIGEST");
  return `rsa-pss-${name}`;
}

const partsOf = ({ kind, number, point, pair }) => ({ ed25519: [number], rsa: [pair], ec: [number, point] })[kind];

function make(digest, bytes, given) {
  if (given === undefined || given === null) throw fault("ERR_CRYPTO_SIGN_KEY_REQUIRED", "No key provided to sign");
  const key = signingKey(given);
  return Buffer.from(host.sign(kindOf(key, digest, given, true), partsOf(key), bytes));
}
function check(digest, bytes, given, signature) {
  const key = checkingKey(given);
  return host.verify(kindOf(key, digest, given, false), key.kind === "rsa" ? key.pkcs1 : key.point, bytes, signature);
}
function demand(algorithm) {
  const name = digestOf(algorithm);
  if (name === undefined) throw fault("ERR_CRYPTO_INVALID_DIGEST", `Invalid digest${algorithm === undefined ? "" : `: ${algorithm}`}`, TypeError);
  return name;
}
const optional = (algorithm) => (algorithm === null || algorithm === undefined ? undefined : demand(algorithm));

export function sign(algorithm, data, key, callback) {
  if (algorithm !== null && algorithm !== undefined) checkText(algorithm, "algorithm");
  const bytes = bytesOf(data);
  const work = () => make(optional(algorithm), bytes, key);
  if (callback === undefined) return work();
  checkCallback(callback);
  return later(work, callback);
}
export function verify(algorithm, data, key, signature, callback) {
  if (algorithm !== null && algorithm !== undefined) checkText(algorithm, "algorithm");
  const [bytes, made] = [bytesOf(data), bytesOf(signature, { name: "signature" })];
  const work = () => check(optional(algorithm), bytes, key, made);
  if (callback === undefined) return work();
  checkCallback(callback);
  return later(work, callback);
}

/** Collects what is to be signed, or was. */
class Collected extends Writable {
  #parts = [];
  #digest;
  constructor(algorithm, options) {
    checkText(algorithm, "algorithm");
    super(options);
    this.#digest = digestOf(algorithm);
    if (this.#digest === undefined) throw fault("ERR_CRYPTO_INVALID_DIGEST", "Invalid digest", TypeError);
  }
  update(data, encoding) {
    this.#parts.push(Buffer.from(bytesOf(data, { encoding })));
    return this;
  }
  _write(chunk, encoding, callback) {
    this.update(chunk, encoding);
    callback();
  }
  _with(key, work) {
    if (key.kind === "ed25519") throw fault("ERR_CRYPTO_UNSUPPORTED_OPERATION", "Unsupported crypto operation");
    return work(this.#digest, Buffer.concat(this.#parts));
  }
}
export class Sign extends Collected {
  sign(key, encoding) {
    if (key === undefined || key === null) throw fault("ERR_CRYPTO_SIGN_KEY_REQUIRED", "No key provided to sign");
    const made = this._with(signingKey(key), (digest, bytes) => make(digest, bytes, key));
    return encoding === undefined || encoding === null || encoding === "buffer" ? made : made.toString(encoding);
  }
}
export class Verify extends Collected {
  verify(key, signature, encoding) {
    const made = bytesOf(signature, { encoding, name: "signature" });
    return this._with(checkingKey(key), (digest, bytes) => check(digest, bytes, key, made));
  }
}
export const createSign = (algorithm, options) => new Sign(algorithm, options);
export const createVerify = (algorithm, options) => new Verify(algorithm, options);
