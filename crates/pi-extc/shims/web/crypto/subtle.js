// `crypto.subtle`: digests, HMAC, AES-CBC, AES-CTR, AES-GCM, PBKDF2, HKDF, and signatures with Ed25519, ECDSA and RSA. Not here: key
// agreement, encryption with public keys, AES-KW and new RSA keys; asking for them fails with their name.
import host from "pi:host";
import { CryptoKey } from "pi:shim/web/crypto";
import { DOMException } from "pi:shim/web/exception";

const HASHES = { "SHA-1": "sha1", "SHA-256": "sha256", "SHA-384": "sha384", "SHA-512": "sha512" };
const BLOCKS = { sha1: 64, sha256: 64, sha384: 128, sha512: 128 };
const SEALS = [32, 64, 96, 104, 112, 120, 128];
const AES_BITS = [128, 192, 256];
const CURVES = { "P-256": ["p256", "sha256"], "P-384": ["p384", "sha384"] };
const BLOCK = 16;

const problem = (message, name) => new DOMException(message, name);
const unsupported = (what) => problem(`${what} is not available to an extension`, "NotSupportedError");
const failed = () => problem("The operation failed for an operation-specific reason", "OperationError");

const bytesOf = (data) => {
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  throw Object.assign(new TypeError("expected an instance of ArrayBuffer, Buffer, TypedArray, or DataView"), { code: "ERR_INVALID_ARG_TYPE" });
};
const bufferOf = (bytes) => bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
const text = (bytes) => host.load("pi:shim/node/buffer/bytes").Buffer.from(bytes).toString("base64url");
const keys = () => host.load("pi:shim/node/crypto/keys");
const isList = (value) => Array.isArray(value) || typeof value?.[Symbol.iterator] === "function";

/** Names are the same in any case. */
const nameOf = (algorithm) => {
  const name = String(typeof algorithm === "string" ? algorithm : algorithm?.name).toUpperCase();
  return name === "ED25519" ? "Ed25519" : name === "RSASSA-PKCS1-V1_5" ? "RSASSA-PKCS1-v1_5" : name;
};
function hashOf(algorithm) {
  const name = nameOf(algorithm);
  if (!HASHES[name]) throw unsupported(name);
  return HASHES[name];
}

/** What is behind a key that may be used so. */
function usable(key, usage, algorithm) {
  if (!(key instanceof CryptoKey)) throw Object.assign(new TypeError("the key is not a CryptoKey"), { code: "ERR_INVALID_ARG_TYPE" });
  if (nameOf(algorithm) !== key.algorithm.name) throw problem("Key algorithm mismatch", "InvalidAccessError");
  if (!key.usages.includes(usage)) throw problem(`Unable to use this key to ${usage}`, "InvalidAccessError");
  return CryptoKey.secretOf(key);
}

// Ciphers.

function whole(cipher, bytes) {
  const first = cipher.update(bytes, true);
  const { bytes: last, tag, fault } = cipher.finish(true);
  if (fault !== undefined) throw failed();
  const both = new Uint8Array(first.length + last.length);
  both.set(first);
  both.set(last, first.length);
  return { both, tag };
}
function sealLength({ tagLength = 128 }) {
  if (!SEALS.includes(tagLength)) throw problem(`${tagLength} is not a valid AES-GCM tag length`, "OperationError");
  return tagLength / 8;
}
function accompanied(mode, isEncrypting, secret, algorithm) {
  const cipher = host.cipher(mode, isEncrypting, secret, bytesOf(algorithm.iv));
  if (algorithm.additionalData !== undefined) cipher.accompany(bytesOf(algorithm.additionalData));
  return cipher;
}
const CIPHERS = {
  "AES-CBC"(isEncrypting, secret, { iv }, bytes) {
    if (bytesOf(iv).length !== BLOCK) throw problem("algorithm.iv must contain exactly 16 bytes", "OperationError");
    return whole(host.cipher("cbc", isEncrypting, secret, bytesOf(iv)), bytes).both;
  },
  "AES-CTR"(isEncrypting, secret, { counter, length }, bytes) {
    if (bytesOf(counter).length !== BLOCK) throw problem("algorithm.counter must contain exactly 16 bytes", "OperationError");
    if (!(length >= 1 && length <= 128)) throw problem("AES-CTR algorithm.length must be between 1 and 128", "OperationError");
    return whole(host.cipher("ctr", isEncrypting, secret, bytesOf(counter), length), bytes).both;
  },
  "AES-GCM"(isEncrypting, secret, algorithm, bytes) {
    const size = sealLength(algorithm);
    if (bytesOf(algorithm.iv).length === 0) throw failed();
    const cipher = accompanied("gcm", isEncrypting, secret, algorithm);
    if (isEncrypting) {
      const { both, tag } = whole(cipher, bytes);
      const sealed = new Uint8Array(both.length + size);
      sealed.set(both);
      sealed.set(tag.subarray(0, size), both.length);
      return sealed;
    }
    if (bytes.length < size) throw problem("The provided data is too small.", "OperationError");
    const { both, tag } = whole(cipher, bytes.subarray(0, bytes.length - size));
    if (!same(tag.subarray(0, size), bytes.subarray(bytes.length - size))) throw failed();
    return both;
  },
};
function same(one, other) {
  let difference = one.length ^ other.length;
  for (let i = 0; i < one.length; i++) difference |= one[i] ^ other[i];
  return difference === 0;
}
function cipher(usage, algorithm, key, data) {
  const name = nameOf(algorithm);
  if (!CIPHERS[name]) throw unsupported(`${usage} with ${name}`);
  return bufferOf(CIPHERS[name](usage.startsWith("encrypt") || usage === "wrapKey", usable(key, usage, algorithm), algorithm, bytesOf(data).slice()));
}

// Signatures.

function kindOf(key, algorithm) {
  const { name, hash, namedCurve } = key.algorithm;
  if (name === "Ed25519") return "ed25519";
  if (name === "RSASSA-PKCS1-v1_5") return `rsa-${HASHES[hash.name]}`;
  if (name === "RSA-PSS") {
    const own = { sha256: 32, sha384: 48, sha512: 64 }[HASHES[hash.name]];
    if (algorithm.saltLength !== own) throw unsupported(`RSA-PSS with a salt of ${algorithm.saltLength} bytes`);
    return `rsa-pss-${HASHES[hash.name]}`;
  }
  const [curve, digest] = CURVES[namedCurve];
  if (hashOf(algorithm.hash) !== digest) throw unsupported(`ECDSA of ${namedCurve} with ${nameOf(algorithm.hash)}`);
  return `${curve}-${digest}-fixed`;
}
const parts = ({ kind, number, point, pair }) => (kind === "rsa" ? [pair] : kind === "ec" ? [number, point] : [number]);

// Keys.

const USAGES = {
  HMAC: ["sign", "verify"], "AES-CBC": ["encrypt", "decrypt", "wrapKey", "unwrapKey"], "AES-CTR": ["encrypt", "decrypt", "wrapKey", "unwrapKey"], "AES-GCM": ["encrypt", "decrypt", "wrapKey", "unwrapKey"],
  PBKDF2: ["deriveKey", "deriveBits"], HKDF: ["deriveKey", "deriveBits"], Ed25519: ["sign", "verify"], ECDSA: ["sign", "verify"], "RSASSA-PKCS1-v1_5": ["sign", "verify"], "RSA-PSS": ["sign", "verify"],
};
const KINDS = { Ed25519: "ed25519", ECDSA: "ec", "RSASSA-PKCS1-v1_5": "rsa", "RSA-PSS": "rsa" };
function usagesOf(name, usages) {
  if (!isList(usages)) throw Object.assign(new TypeError("keyUsages is not a list"), { code: "ERR_INVALID_ARG_TYPE" });
  if (!USAGES[name]) throw unsupported(name);
  if ([...usages].some((usage) => !USAGES[name].includes(usage))) throw problem(`Unsupported key usage for a ${name} key`, "SyntaxError");
  return [...new Set(usages)];
}

/** A key of so many bytes that are shared. */
function shared(algorithm, secret, extractable, given) {
  const name = nameOf(algorithm);
  const usages = usagesOf(name, given);
  if (name === "HMAC") {
    const hash = nameOf(algorithm.hash);
    hashOf(hash);
    if (secret.length === 0) throw problem("Zero-length key is not supported", "DataError");
    return new CryptoKey(secret, { algorithm: { name, hash: { name: hash }, length: secret.length * 8 }, extractable, usages });
  }
  if (name in CIPHERS) {
    if (!AES_BITS.includes(secret.length * 8)) throw problem("Invalid key length", "DataError");
    return new CryptoKey(secret, { algorithm: { name, length: secret.length * 8 }, extractable, usages });
  }
  if (extractable) throw problem(`${name} keys are not extractable`, "SyntaxError");
  return new CryptoKey(secret, { algorithm: { name }, extractable, usages });
}

function described(algorithm, inside) {
  const name = nameOf(algorithm);
  if (inside.kind !== KINDS[name]) throw problem("Invalid key type", "DataError");
  if (name === "Ed25519") return { name };
  if (name === "ECDSA") {
    const namedCurve = Object.keys(CURVES).find((curve) => CURVES[curve][0] === inside.curve);
    if (algorithm.namedCurve !== namedCurve) throw problem("Named curve mismatch", "DataError");
    return { name, namedCurve };
  }
  const hash = nameOf(algorithm.hash);
  hashOf(hash);
  const { makeKey } = keys();
  const { modulusLength, publicExponent } = makeKey("public", inside).asymmetricKeyDetails;
  const digits = publicExponent.toString(16);
  const exponent = host.load("pi:shim/node/buffer/bytes").Buffer.from(digits.length % 2 ? `0${digits}` : digits, "hex");
  return { name, modulusLength, publicExponent: new Uint8Array(exponent), hash: { name: hash } };
}
/** One half of a pair. */
function paired(type, inside, algorithm, extractable, usages) {
  const wanted = type === "private" ? "sign" : "verify";
  if (usages.some((usage) => usage !== wanted)) throw problem(`Unsupported key usage for a ${nameOf(algorithm)} key`, "SyntaxError");
  if (type === "private" && usages.length === 0) throw problem("Usages cannot be empty when importing a private key.", "SyntaxError");
  return new CryptoKey(inside, { type, algorithm: described(algorithm, inside), extractable, usages });
}
function readPaired(format, data, algorithm, extractable, given) {
  const usages = usagesOf(nameOf(algorithm), given);
  const { createPrivateKey, createPublicKey, insideOf } = keys();
  const isPrivate = format === "pkcs8" || (format === "jwk" && data?.d !== undefined);
  let source;
  if (format === "jwk") source = { key: data, format };
  else if (format === "pkcs8" || format === "spki") source = { key: bytesOf(data), format: "der", type: format };
  else if (format === "raw") source = { key: rawJwk(nameOf(algorithm), bytesOf(data)), format: "jwk" };
  else throw unsupported(`key format ${format}`);
  let key;
  try {
    key = (isPrivate ? createPrivateKey : createPublicKey)(source);
  } catch (cause) {
    throw new DOMException("Invalid keyData", { name: format !== "jwk" && cause.code === "ERR_CRYPTO_UNSUPPORTED_OPERATION" ? "NotSupportedError" : "DataError", cause });
  }
  return paired(key.type, insideOf(key), algorithm, extractable, usages);
}
function rawJwk(name, bytes) {
  if (name === "Ed25519") return { kty: "OKP", crv: "Ed25519", x: text(bytes) };
  const half = (bytes.length - 1) / 2;
  const crv = { 32: "P-256", 48: "P-384" }[half];
  if (name !== "ECDSA" || crv === undefined || bytes[0] !== 4) throw problem("Invalid keyData", "DataError");
  return { kty: "EC", crv, x: text(bytes.subarray(1, 1 + half)), y: text(bytes.subarray(1 + half)) };
}

function lengthOf(algorithm) {
  const name = nameOf(algorithm);
  if (name === "HMAC") return algorithm.length ?? BLOCKS[hashOf(algorithm.hash)] * 8;
  if (name in CIPHERS) {
    if (!AES_BITS.includes(algorithm.length)) throw problem("Invalid key length", "OperationError");
    return algorithm.length;
  }
  if (name === "HKDF" || name === "PBKDF2") return null;
  throw unsupported(name);
}
function derived(algorithm, key, usage, length) {
  const secret = usable(key, usage, algorithm);
  const name = nameOf(algorithm);
  if (name !== "PBKDF2" && name !== "HKDF") throw unsupported(`${usage} with ${name}`);
  if (length === null || length === undefined || length % 8 !== 0) throw problem("length must be a multiple of 8", "OperationError");
  const [hash, salt] = [hashOf(algorithm.hash), bytesOf(algorithm.salt)];
  if (name === "HKDF") return host.load("pi:shim/node/crypto/derivation").hkdfSync(hash, secret, salt, bytesOf(algorithm.info), length / 8);
  if (!(algorithm.iterations >= 1)) throw problem("iterations cannot be zero", "OperationError");
  return bufferOf(host.pbkdf2(hash, secret, salt, algorithm.iterations, length / 8));
}

const ALGS = { "AES-CBC": "CBC", "AES-CTR": "CTR", "AES-GCM": "GCM" };
function exported(format, key) {
  if (!(key instanceof CryptoKey)) throw Object.assign(new TypeError("the key is not a CryptoKey"), { code: "ERR_INVALID_ARG_TYPE" });
  if (!key.extractable) throw problem("key is not extractable", "InvalidAccessError");
  const inside = CryptoKey.secretOf(key);
  const { name, hash, length } = key.algorithm;
  const more = { key_ops: key.usages, ext: key.extractable };
  if (key.type === "secret") {
    if (format === "raw") return bufferOf(inside);
    if (format !== "jwk") throw unsupported(`key format ${format}`);
    return { kty: "oct", k: text(inside), alg: name === "HMAC" ? `HS${hash.name.slice(4)}` : `A${length}${ALGS[name]}`, ...more };
  }
  const { makeKey } = keys();
  const whole = makeKey(key.type, inside);
  if (format === "jwk") return { ...whole.export({ format }), ...more };
  if (format === "raw" && key.type === "public" && inside.kind !== "rsa") return bufferOf(inside.point);
  if (format !== (key.type === "private" ? "pkcs8" : "spki")) throw unsupported(`key format ${format} of a ${key.type} key`);
  return bufferOf(whole.export({ format: "der", type: format }));
}

const subtle = {
  digest: (algorithm, data) => bufferOf(host.digest(hashOf(algorithm), bytesOf(data))),
  encrypt: (algorithm, key, data) => cipher("encrypt", algorithm, key, data),
  decrypt: (algorithm, key, data) => cipher("decrypt", algorithm, key, data),
  importKey(format, data, algorithm, extractable, usages) {
    const name = nameOf(algorithm);
    if (name in KINDS) return readPaired(format, data, algorithm, extractable, usages);
    let secret;
    if (format === "raw") secret = bytesOf(data).slice();
    else if (format === "jwk" && data?.kty === "oct") secret = host.load("pi:shim/node/buffer/bytes").Buffer.from(data.k, "base64url");
    else throw format === "jwk" ? problem("Invalid keyData", "DataError") : unsupported(`key format ${format}`);
    return shared(algorithm, secret, extractable, usages);
  },
  generateKey(algorithm, extractable, usages) {
    const name = nameOf(algorithm);
    if (name === "PBKDF2" || name === "HKDF" || name.startsWith("RSA")) throw unsupported(`a new key of ${name}`);
    const wanted = usagesOf(name, usages);
    if (wanted.length === 0) throw problem("Usages cannot be empty when creating a key.", "SyntaxError");
    if (!(name in KINDS)) return shared(algorithm, host.random(Math.ceil(lengthOf(algorithm) / 8)), extractable, usages);
    const { generateKeyPairSync, insideOf } = keys();
    if (name === "ECDSA" && !CURVES[algorithm.namedCurve]) throw unsupported(`the curve ${algorithm.namedCurve}`);
    const { publicKey, privateKey } = generateKeyPairSync(KINDS[name], { namedCurve: algorithm.namedCurve });
    const half = (key, usage) => paired(key.type, insideOf(key), algorithm, extractable, wanted.filter((own) => own === usage));
    return { publicKey: half(publicKey, "verify"), privateKey: half(privateKey, "sign") };
  },
  exportKey: exported,
  sign(algorithm, key, data) {
    const inside = usable(key, "sign", algorithm);
    if (key.algorithm.name === "HMAC") return bufferOf(host.hmac(HASHES[key.algorithm.hash.name], inside, bytesOf(data)));
    return bufferOf(host.sign(kindOf(key, algorithm), parts(inside), bytesOf(data)));
  },
  verify(algorithm, key, signature, data) {
    const inside = usable(key, "verify", algorithm);
    if (key.algorithm.name === "HMAC") return same(host.hmac(HASHES[key.algorithm.hash.name], inside, bytesOf(data)), bytesOf(signature));
    return host.verify(kindOf(key, algorithm), inside.kind === "rsa" ? inside.pkcs1 : inside.point, bytesOf(data), bytesOf(signature));
  },
  deriveBits: (algorithm, key, length) => derived(algorithm, key, "deriveBits", length),
  deriveKey(algorithm, key, wanted, extractable, usages) {
    const bytes = derived(algorithm, key, "deriveKey", lengthOf(wanted) ?? 256);
    return shared(wanted, new Uint8Array(bytes), extractable, usages);
  },
  wrapKey(format, key, wrapping, algorithm) {
    const made = exported(format, key);
    return cipher("wrapKey", algorithm, wrapping, format === "jwk" ? host.utf8Encode(JSON.stringify(made)) : made);
  },
  unwrapKey(format, wrapped, wrapping, wrappedWith, algorithm, extractable, usages) {
    const made = cipher("unwrapKey", wrappedWith, wrapping, wrapped);
    return subtle.importKey(format, format === "jwk" ? JSON.parse(host.utf8Decode(new Uint8Array(made), true)) : made, algorithm, extractable, usages);
  },
};
export default subtle;
