// crypto of the web: random values, and `subtle`.
import host from "pi:host";
import { DOMException } from "pi:shim/web/exception";

/** `secret` is bytes for a shared key, and what node:crypto knows of the others. */
export class CryptoKey {
  #secret;
  constructor(secret, { type = "secret", algorithm, extractable, usages }) {
    this.#secret = secret;
    Object.assign(this, { type, extractable: type === "public" || Boolean(extractable), algorithm, usages });
  }
  static secretOf(key) { return key.#secret; }
  get [Symbol.toStringTag]() { return "CryptoKey"; }
}

// Loaded when it is used: most want a random name and nothing else.
const OPERATIONS = ["encrypt", "decrypt", "sign", "verify", "digest", "generateKey", "deriveKey", "deriveBits", "importKey", "exportKey", "wrapKey", "unwrapKey"];
export class SubtleCrypto {
  get [Symbol.toStringTag]() { return "SubtleCrypto"; }
}
for (const name of OPERATIONS) {
  const operation = { async [name](...given) { return host.load("pi:shim/web/crypto/subtle").default[name](...given); } }[name];
  Object.defineProperty(SubtleCrypto.prototype, name, { value: operation, writable: true, enumerable: true, configurable: true });
}
const subtle = new SubtleCrypto();

export class Crypto {
  get subtle() { return subtle; }
  getRandomValues(target) {
    if (!ArrayBuffer.isView(target) || target instanceof Float32Array || target instanceof Float64Array) throw new DOMException("The data argument must be an integer-type TypedArray", "TypeMismatchError");
    if (target.byteLength > 65536) throw new DOMException(`The requested length exceeds 65,536 bytes`, "QuotaExceededError");
    new Uint8Array(target.buffer, target.byteOffset, target.byteLength).set(host.random(target.byteLength));
    return target;
  }
  randomUUID() {
    const bytes = host.random(16);
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
  }
  get [Symbol.toStringTag]() { return "Crypto"; }
}
export default new Crypto();
