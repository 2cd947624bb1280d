// AES in the modes CBC, CTR, GCM and ECB, piece by piece.
import host from "pi:host";
import { Buffer } from "pi:shim/node/buffer/bytes";
import { bytesOf, checkText, libraryFault, sameBytes, wrongType, wrongValue } from "pi:shim/node/crypto/arguments";
import { secretOf } from "pi:shim/node/crypto/keys";
import { fault } from "pi:shim/node/stream/base";
import { Transform } from "pi:shim/node/stream/duplex";
import { StringDecoder } from "pi:shim/node/string_decoder";

const BLOCK = 16;
const MODES = {
  cbc: { numbers: [419, 423, 427], blockSize: BLOCK, ivLength: BLOCK },
  ctr: { numbers: [904, 905, 906], blockSize: 1, ivLength: BLOCK },
  ecb: { numbers: [418, 422, 426], blockSize: BLOCK },
  gcm: { numbers: [895, 898, 901], blockSize: 1, ivLength: 12 },
};

/** What is known of each cipher, in the order in which Node tells it. */
const KNOWN = new Map();
for (const [at, bits] of [128, 192, 256].entries()) {
  for (const [mode, { numbers, blockSize, ivLength }] of Object.entries(MODES)) {
    const name = mode === "gcm" ? `id-aes${bits}-gcm` : `aes-${bits}-${mode}`;
    const info = { mode, name, nid: numbers[at], blockSize, ...(ivLength !== undefined && { ivLength }), keyLength: bits / 8 };
    for (const known of [`aes-${bits}-${mode}`, name, ...(mode === "cbc" ? [`aes${bits}`] : [])]) KNOWN.set(known, info);
  }
}

export const getCiphers = () => [...KNOWN.keys()].sort();
export function getCipherInfo(which, options) {
  if (typeof which !== "string" && typeof which !== "number") throw wrongType("nameOrNid", "one of type string or number", which);
  const info = typeof which === "number" ? [...KNOWN.values()].find(({ nid }) => nid === which) : KNOWN.get(which.toLowerCase());
  const { keyLength, ivLength } = options ?? {};
  if (info === undefined || (keyLength !== undefined && keyLength !== info.keyLength)) return undefined;
  if (ivLength === undefined) return { ...info };
  const fits = info.mode === "gcm" ? ivLength > 0 : ivLength === info.ivLength;
  return fits ? { ...info, ivLength } : undefined;
}

const invalidState = (operation) => fault("ERR_CRYPTO_INVALID_STATE", operation ? `Invalid state for operation ${operation}` : "Invalid state");
const FAULTS = { length: () => libraryFault("1C80006B", "wrong final block length"), padding: () => libraryFault("1C800064", "bad decrypt") };

function checkSeal(length, wanted) {
  const isLength = wanted === undefined ? length === 4 || length === 8 || (length >= 12 && length <= 16) : length === wanted;
  if (!isLength) throw fault("ERR_CRYPTO_INVALID_AUTH_TAG", `Invalid authentication tag length: ${length}`, TypeError);
}

class Ciphering extends Transform {
  #native;
  #mode;
  #isPadded = true;
  #hasText = false;
  #isDone = false;
  #decoder;
  #encoding;
  /** As long as the caller wants it; what was told, or what was made. */
  #sealLength;
  #seal;
  #isEncrypting;

  constructor(isEncrypting, cipher, key, iv, options) {
    checkText(cipher, "cipher");
    const secret = secretOf(key, options?.encoding);
    const start = iv === null ? undefined : bytesOf(iv, { name: "iv" });
    super(options);
    const info = KNOWN.get(cipher.toLowerCase());
    if (info === undefined) throw fault("ERR_CRYPTO_UNKNOWN_CIPHER", "Unknown cipher");
    this.#mode = info.mode;
    const isStart = info.mode === "gcm" ? start?.length > 0 : (start?.length ?? 0) === (info.ivLength ?? 0);
    if (!isStart) throw fault("ERR_CRYPTO_INVALID_IV", "Invalid initialization vector", TypeError);
    const wanted = options?.authTagLength;
    if (info.mode === "gcm" && wanted !== undefined && wanted !== null) {
      if (!(wanted >= 0 && wanted <= 2 ** 31 - 1 && Number.isInteger(wanted))) throw wrongValue("property 'options.authTagLength'", "is invalid", wanted);
      checkSeal(wanted);
      this.#sealLength = wanted;
    }
    if (secret.length !== info.keyLength) throw fault("ERR_CRYPTO_INVALID_KEYLEN", "Invalid key length", RangeError);
    this.#isEncrypting = isEncrypting;
    this.#native = host.cipher(info.mode, isEncrypting, secret, start ?? new Uint8Array(0));
  }

  update(data, inputEncoding, outputEncoding) {
    if (typeof data !== "string" && !ArrayBuffer.isView(data)) throw wrongType("data", "of type string or an instance of Buffer, TypedArray, or DataView", data);
    const bytes = bytesOf(data, { encoding: inputEncoding });
    if (this.#isDone) throw new Error("Trying to add data in unsupported state");
    this.#hasText = true;
    return this.#told(this.#native.update(bytes, this.#isPadded), outputEncoding, false);
  }
  final(outputEncoding) {
    if (this.#isDone) throw invalidState();
    this.#isDone = true;
    const { bytes, tag, fault: word } = this.#native.finish(this.#isPadded);
    if (word !== undefined) throw FAULTS[word]();
    if (tag !== undefined && this.#isEncrypting) this.#seal = Buffer.from(tag.subarray(0, this.#sealLength ?? BLOCK));
    else if (tag !== undefined && !(this.#seal && sameBytes(this.#seal, tag.subarray(0, this.#seal.length)))) throw new Error("Unsupported state or unable to authenticate data");
    return this.#told(bytes, outputEncoding, true);
  }
  setAutoPadding(isPadded = true) {
    if (this.#isDone) throw invalidState("setAutoPadding");
    this.#isPadded = Boolean(isPadded);
    return this;
  }
  setAAD(data, options) {
    const bytes = bytesOf(data, { encoding: options?.encoding, name: "aadbuf" });
    if (this.#mode !== "gcm" || this.#hasText || this.#isDone) throw invalidState("setAAD");
    this.#native.accompany(bytes);
    return this;
  }
  _made() {
    if (this.#mode !== "gcm" || !this.#isDone || this.#seal === undefined) throw invalidState("getAuthTag");
    return this.#seal;
  }
  _expect(data, encoding) {
    const seal = bytesOf(data, { encoding, name: "buffer" });
    if (this.#mode !== "gcm" || this.#isDone || this.#seal !== undefined) throw invalidState("setAuthTag");
    checkSeal(seal.length, this.#sealLength);
    this.#seal = Buffer.from(seal);
    return this;
  }
  #told(bytes, encoding, isEnd) {
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (encoding === undefined || encoding === null || encoding === "buffer") return buffer;
    this.#decoder ??= new StringDecoder(encoding);
    this.#encoding ??= this.#decoder.encoding;
    if (new StringDecoder(encoding).encoding !== this.#encoding) throw fault("ERR_INTERNAL_ASSERTION", "Cannot change encoding");
    return this.#decoder.write(buffer) + (isEnd ? this.#decoder.end() : "");
  }
  _transform(chunk, encoding, callback) {
    try {
      this.push(this.update(chunk, encoding));
    } catch (problem) {
      return callback(problem);
    }
    return callback();
  }
  _flush(callback) {
    try {
      this.push(this.final());
    } catch (problem) {
      return callback(problem);
    }
    return callback();
  }
}

export class Cipheriv extends Ciphering {
  constructor(cipher, key, iv, options) { super(true, cipher, key, iv, options); }
  getAuthTag() { return this._made(); }
}
export class Decipheriv extends Ciphering {
  constructor(cipher, key, iv, options) { super(false, cipher, key, iv, options); }
  setAuthTag(data, encoding) { return this._expect(data, encoding); }
}
export const createCipheriv = (cipher, key, iv, options) => new Cipheriv(cipher, key, iv, options);
export const createDecipheriv = (cipher, key, iv, options) => new Decipheriv(cipher, key, iv, options);
