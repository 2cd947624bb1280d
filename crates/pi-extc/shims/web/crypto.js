// crypto of the web: random values, digests and HMAC. Not here: ciphers, key agreement and public keys, which the host does
// not offer; asking for them fails with their name.
import host from "pi:host";
import { DOMException } from "pi:shim/web/exception";

const HASHES = { "SHA-1": "sha1", "SHA-256": "sha256", "SHA-384": "sha384", "SHA-512": "sha512" };
const BLOCKS = { sha1: 64, sha256: 64, sha384: 128, sha512: 128 };

const unsupported = (what) => new DOMException(`${what} is not available to an extension; SHA-1, SHA-256, SHA-384, SHA-512 and HMAC are`, "NotSupportedError");

function hashOf(algorithm) {
  const name = String(typeof algorithm === "string" ? algorithm : algorithm?.name).toUpperCase();
  if (!HASHES[name]) throw unsupported(name);
  return HASHES[name];
}

const bytesOf = (data) => (ArrayBuffer.isView(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : new Uint8Array(data));
const bufferOf = (bytes) => bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);

export class CryptoKey {
  #secret;
  constructor(secret, algorithm, extractable, usages) {
    this.#secret = secret;
    Object.assign(this, { type: "secret", algorithm, extractable, usages });
  }
  static secretOf(key) { return key.#secret; }
}

function hmacKey(key, usage) {
  if (!(key instanceof CryptoKey)) throw new TypeError("the key is not a CryptoKey");
  if (key.algorithm.name !== "HMAC") throw unsupported(key.algorithm.name);
  if (!key.usages.includes(usage)) throw new DOMException(`Unable to use this key to ${usage}`, "InvalidAccessError");
  return { secret: CryptoKey.secretOf(key), hash: HASHES[key.algorithm.hash.name] };
}

const given = {
  async digest(algorithm, data) { return bufferOf(host.digest(hashOf(algorithm), bytesOf(data))); },
  async importKey(format, data, algorithm, extractable, usages) {
    const name = String(algorithm?.name ?? algorithm).toUpperCase();
    if (name !== "HMAC") throw unsupported(name);
    const hash = String(algorithm.hash?.name ?? algorithm.hash).toUpperCase();
    hashOf(hash);
    let secret;
    if (format === "raw") secret = bytesOf(data).slice();
    else if (format === "jwk") secret = host.load("pi:shim/node/buffer/bytes").Buffer.from(data.k, "base64url");
    else throw unsupported(`key format ${format}`);
    return new CryptoKey(secret, { name: "HMAC", hash: { name: hash }, length: secret.length * 8 }, extractable, [...usages]);
  },
  async generateKey(algorithm, extractable, usages) {
    if (String(algorithm?.name).toUpperCase() !== "HMAC") throw unsupported(algorithm?.name ?? algorithm);
    const hash = String(algorithm.hash?.name ?? algorithm.hash).toUpperCase();
    const length = algorithm.length ? algorithm.length / 8 : BLOCKS[hashOf(hash)];
    return new CryptoKey(host.random(length), { name: "HMAC", hash: { name: hash }, length: length * 8 }, extractable, [...usages]);
  },
  async exportKey(format, key) {
    if (!key.extractable) throw new DOMException("key is not extractable", "InvalidAccessError");
    const secret = CryptoKey.secretOf(key);
    if (format === "raw") return bufferOf(secret);
    if (format !== "jwk") throw unsupported(`key format ${format}`);
    const k = host.load("pi:shim/node/buffer/bytes").Buffer.from(secret).toString("base64url");
    return { kty: "oct", k, alg: `HS${key.algorithm.hash.name.slice(4)}`, key_ops: key.usages, ext: true };
  },
  async sign(algorithm, key, data) {
    const { secret, hash } = hmacKey(key, "sign");
    return bufferOf(host.hmac(hash, secret, bytesOf(data)));
  },
  async verify(algorithm, key, signature, data) {
    const { secret, hash } = hmacKey(key, "verify");
    const [made, wanted] = [host.hmac(hash, secret, bytesOf(data)), bytesOf(signature)];
    let difference = made.length ^ wanted.length;
    for (let i = 0; i < made.length; i++) difference |= made[i] ^ wanted[i];
    return difference === 0;
  },
};
for (const name of ["encrypt", "decrypt", "deriveKey", "deriveBits", "wrapKey", "unwrapKey"]) given[name] = async (algorithm) => { throw unsupported(`${name} with ${algorithm?.name ?? algorithm}`); };

export class Crypto {
  get subtle() { return given; }
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
export class SubtleCrypto {}
export default new Crypto();
