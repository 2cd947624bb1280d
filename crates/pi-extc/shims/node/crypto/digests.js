// Hashes and HMAC.
import host from "pi:host";
import { Buffer } from "pi:shim/node/buffer/bytes";
import { bytesOf, checkText, demandDigest, digestOf } from "pi:shim/node/crypto/arguments";
import { secretOf } from "pi:shim/node/crypto/keys";
import { fault } from "pi:shim/node/stream/base";
import { Transform } from "pi:shim/node/stream/duplex";

const PIECES = "of type string or an instance of Buffer, TypedArray, or DataView";
const finalized = () => fault("ERR_CRYPTO_HASH_FINALIZED", "Digest already called");

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
    if (this.#isDone) throw finalized();
    // The caller may fill the same buffer again.
    const bytes = bytesOf(data, { encoding, wanted: PIECES });
    this.#parts.push(typeof data === "string" ? bytes : bytes.slice());
    return this;
  }
  digest(encoding) {
    if (this.#isDone) throw finalized();
    this.#isDone = true;
    const bytes = Buffer.from(this.#finish(Buffer.concat(this.#parts)));
    return encoding === undefined || encoding === "buffer" ? bytes : bytes.toString(encoding);
  }
  copy() {
    if (this.#isDone) throw finalized();
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
  checkText(algorithm, "algorithm");
  const name = digestOf(algorithm);
  if (name === undefined) throw new Error("Digest method not supported");
  return new Hash((bytes) => host.digest(name, bytes));
}
export function createHmac(algorithm, key, options) {
  checkText(algorithm, "hmac");
  const secret = secretOf(key, options?.encoding).slice();
  const name = demandDigest(algorithm, "hmac");
  return new Hmac((bytes) => host.hmac(name, secret, bytes));
}
export const hash = (algorithm, data, encoding = "hex") => createHash(algorithm).update(data).digest(encoding);
