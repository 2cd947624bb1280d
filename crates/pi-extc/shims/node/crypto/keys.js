// Keys: secrets, and pairs of Ed25519, RSA and the curves P-256 and P-384, as they stand in PEM, DER and JWK.
import host from "pi:host";
import { Buffer } from "pi:shim/node/buffer/bytes";
import { ANY_BYTES, bytesOf, checkCallback, checkNumber, later, libraryFault, sameBytes, unsupported, wrongType, wrongValue } from "pi:shim/node/crypto/arguments";
import { BITS, BYTES, integer, INTEGER, items, LIST, NAME, NOTHING, OWN, pem, take, unpem, unsigned, wrap } from "pi:shim/node/crypto/der";
import { fault } from "pi:shim/node/stream/base";
import { CryptoKey } from "pi:shim/web/crypto";

const hex = (text) => Buffer.from(text, "hex");
const NAMES = { ed25519: hex("2b6570"), rsa: hex("2a864886f70d010101"), ec: hex("2a8648ce3d0201") };
/** Curves by the names that the host, the web and Node have for them. */
const CURVES = { p256: { jwk: "P-256", node: "prime256v1", aliases: ["P-256"], name: hex("2a8648ce3d030107"), size: 32 }, p384: { jwk: "P-384", node: "secp384r1", aliases: ["P-384"], name: hex("2b81040022"), size: 48 } };
const SEED = 32;
const REMEDY = "Ed25519, RSA and the curves P-256 and P-384 are, without a passphrase";
const zero = Buffer.from([0]);

const unreadable = () => libraryFault("1E08010C", "unsupported", "DECODER routines");
const wrongKind = (type, wanted) => fault("ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE", `Invalid key object type ${type}, expected ${wanted}.`, TypeError);

/** What is behind a KeyObject: `{ secret }`, or a `kind` with what is public and, if it is known, what is not. */
let insideOf;
let makeKey;

export class KeyObject {
  #inside;
  #type;
  static {
    insideOf = (key) => key.#inside;
    makeKey = (type, inside) => new (CLASSES[type])(type, inside);
  }
  constructor(type, inside) {
    if (type !== "secret" && type !== "public" && type !== "private") throw wrongValue("argument 'type'", "is invalid", type);
    this.#type = type;
    this.#inside = inside;
  }
  static from(key) {
    if (!(key instanceof CryptoKey)) throw wrongType("key", "an instance of CryptoKey", key);
    const inside = CryptoKey.secretOf(key);
    return key.type === "secret" ? makeKey("secret", { secret: inside }) : makeKey(key.type, inside);
  }
  get type() { return this.#type; }
  equals(other) {
    if (!(other instanceof KeyObject)) throw wrongType("otherKeyObject", "an instance of KeyObject", other);
    const parts = (key) => (key.type === "secret" ? [insideOf(key).secret] : [publicPart(insideOf(key)), ...(key.type === "private" ? privateParts(insideOf(key)) : [])]);
    const [own, its] = [parts(this), parts(other)];
    return this.type === other.type && insideOf(this).kind === insideOf(other).kind && own.every((part, at) => sameBytes(part, its[at]));
  }
  get [Symbol.toStringTag]() { return "KeyObject"; }
}

class SecretKeyObject extends KeyObject {
  get symmetricKeySize() { return insideOf(this).secret.length; }
  export(options) {
    const { secret } = insideOf(this);
    if (options?.format === "jwk") return { kty: "oct", k: Buffer.from(secret).toString("base64url") };
    return Buffer.from(secret);
  }
}

class PairedKeyObject extends KeyObject {
  get asymmetricKeyType() { return insideOf(this).kind; }
  get asymmetricKeyDetails() {
    const { kind, curve, pkcs1 } = insideOf(this);
    if (kind === "ec") return { namedCurve: CURVES[curve].node };
    if (kind !== "rsa") return {};
    const [modulus, exponent] = items(take(pkcs1, LIST).body).map(({ body }) => unsigned(body));
    return { modulusLength: modulus.length * 8 - Math.clz32(modulus[0]) + 24, publicExponent: BigInt(`0x${Buffer.from(exponent).toString("hex")}`) };
  }
  export(options) {
    if (options === null || typeof options !== "object") throw wrongType("options", "of type object", options);
    const inside = insideOf(this);
    const isPrivate = this.type === "private";
    if (options.format === "jwk") return toJwk(inside, isPrivate);
    if (options.format !== "pem" && options.format !== "der") throw wrongValue("property 'options.format'", "is invalid", options.format);
    if (options.cipher !== undefined) throw unsupported("a key with a passphrase", "export it without one");
    const [label, der] = (isPrivate ? privateFile : publicFile)(inside, options.type);
    return options.format === "der" ? der : pem(label, der);
  }
}
class PublicKeyObject extends PairedKeyObject {}
class PrivateKeyObject extends PairedKeyObject {}
const CLASSES = { secret: SecretKeyObject, public: PublicKeyObject, private: PrivateKeyObject };

const publicPart = ({ kind, point, pkcs1 }) => (kind === "rsa" ? pkcs1 : point);
const privateParts = ({ kind, number, pair }) => [kind === "rsa" ? pair : number];

// Files.

function publicFile(inside, type) {
  const { kind } = inside;
  if (type === "pkcs1" && kind === "rsa") return ["RSA PUBLIC KEY", inside.pkcs1];
  if (type === "pkcs1") throw fault("ERR_CRYPTO_INCOMPATIBLE_KEY_OPTIONS", "The selected key encoding pkcs1 can only be used for RSA keys.");
  if (type !== "spki") throw wrongValue("property 'options.type'", "is invalid", type);
  return ["PUBLIC KEY", wrap(LIST, algorithm(inside), wrap(BITS, zero, publicPart(inside)))];
}
function privateFile(inside, type) {
  const { kind } = inside;
  if (type === "pkcs1" && kind === "rsa") return ["RSA PRIVATE KEY", inside.pair];
  if (type === "pkcs1") throw fault("ERR_CRYPTO_INCOMPATIBLE_KEY_OPTIONS", "The selected key encoding pkcs1 can only be used for RSA keys.");
  if (type === "sec1" && kind === "ec") return ["EC PRIVATE KEY", sec1(inside, true)];
  if (type === "sec1") throw fault("ERR_CRYPTO_INCOMPATIBLE_KEY_OPTIONS", "The selected key encoding sec1 can only be used for EC keys.");
  if (type !== "pkcs8") throw wrongValue("property 'options.type'", "is invalid", type);
  const key = { ed25519: () => wrap(BYTES, inside.number), rsa: () => inside.pair, ec: () => sec1(inside, false) }[kind]();
  return ["PRIVATE KEY", wrap(LIST, integer(zero), algorithm(inside), wrap(BYTES, key))];
}
function algorithm({ kind, curve }) {
  const more = { ed25519: [], rsa: [wrap(NOTHING)], ec: kind === "ec" ? [wrap(NAME, CURVES[curve].name)] : [] }[kind];
  return wrap(LIST, wrap(NAME, NAMES[kind]), ...more);
}
const sec1 = ({ curve, number, point }, isAlone) =>
  wrap(LIST, integer(Buffer.from([1])), wrap(BYTES, number), ...(isAlone ? [wrap(OWN, wrap(NAME, CURVES[curve].name))] : []), wrap(OWN + 1, wrap(BITS, zero, point)));

function kindOf(list) {
  const [name, more] = items(list);
  const kind = Object.keys(NAMES).find((known) => sameBytes(NAMES[known], name.body));
  const curve = kind === "ec" ? curveOf(more?.body) : undefined;
  if (kind === undefined) throw unsupported("this kind of key", REMEDY);
  return { kind, curve };
}
function curveOf(name) {
  const curve = Object.keys(CURVES).find((known) => sameBytes(CURVES[known].name, name ?? zero));
  if (curve === undefined) throw unsupported("a key of this curve", REMEDY);
  return curve;
}

const fromPkcs1 = (pair) => {
  const [, modulus, exponent] = items(take(pair, LIST).body);
  return { kind: "rsa", pair, pkcs1: wrap(LIST, modulus.whole, exponent.whole) };
};
const fromSeed = (number) => ({ kind: "ed25519", number, point: host.publicKeyOf(number) });
function fromSec1(der, known) {
  const parts = items(take(der, LIST).body);
  const own = parts.find(({ tag }) => tag === OWN);
  const point = parts.find(({ tag }) => tag === OWN + 1);
  if (point === undefined) throw unsupported("a private key of a curve without its public half", "write both into the file");
  return { kind: "ec", curve: known ?? curveOf(own && take(own.body, NAME).body), number: parts[1].body, point: take(point.body, BITS).body.subarray(1) };
}
function fromPkcs8(der) {
  const [, list, key] = items(take(der, LIST).body);
  const { kind, curve } = kindOf(list.body);
  if (kind === "rsa") return fromPkcs1(key.body);
  return kind === "ec" ? fromSec1(key.body, curve) : fromSeed(take(key.body, BYTES).body);
}
function fromSpki(der) {
  const [list, bits] = items(take(der, LIST).body);
  const { kind, curve } = kindOf(list.body);
  const point = bits.body.subarray(1);
  return kind === "rsa" ? { kind, pkcs1: point } : { kind, curve, point };
}

const FILES = {
  "PRIVATE KEY": [fromPkcs8, true], "RSA PRIVATE KEY": [fromPkcs1, true], "EC PRIVATE KEY": [(der) => fromSec1(der), true], "PUBLIC KEY": [fromSpki, false],
  "RSA PUBLIC KEY": [(pkcs1) => ({ kind: "rsa", pkcs1 }), false],
};
const BARE = { pkcs8: "PRIVATE KEY", sec1: "EC PRIVATE KEY", spki: "PUBLIC KEY" };

function read(given, wantsPrivate) {
  const { key, format = "pem", type, encoding } = given !== null && typeof given === "object" && !ArrayBuffer.isView(given) && !(given instanceof ArrayBuffer) ? given : { key: given };
  if (format === "jwk") return fromJwk(key, wantsPrivate);
  const bytes = bytesOf(key, { encoding, name: "key", wanted: ANY_BYTES });
  const found = format === "der" ? { label: type === "pkcs1" ? `RSA ${wantsPrivate ? "PRIVATE" : "PUBLIC"} KEY` : BARE[type], der: bytes } : unpem(Buffer.from(bytes).toString("latin1"));
  if (found?.label === "ENCRYPTED PRIVATE KEY" || found?.label === "CERTIFICATE") throw unsupported(found.label === "CERTIFICATE" ? "a key out of a certificate" : "a key with a passphrase", REMEDY);
  const [reader, isPrivate] = FILES[found?.label] ?? [];
  if (reader === undefined || (wantsPrivate && !isPrivate)) throw unreadable();
  return { isPrivate, ...reader(Buffer.from(found.der)) };
}

// JSON Web Keys.

const NUMBERS = ["n", "e", "d", "p", "q", "dp", "dq", "qi"];
const inText = (bytes) => Buffer.from(bytes).toString("base64url");

function toJwk(inside, isPrivate) {
  const { kind, curve, number, point, pair, pkcs1 } = inside;
  if (kind === "ed25519") return { crv: "Ed25519", ...(isPrivate && { d: inText(number) }), x: inText(point), kty: "OKP" };
  if (kind === "ec") {
    const { size, jwk } = CURVES[curve];
    return { kty: "EC", x: inText(point.subarray(1, 1 + size)), y: inText(point.subarray(1 + size)), crv: jwk, ...(isPrivate && { d: inText(number) }) };
  }
  const found = items(take(isPrivate ? pair : pkcs1, LIST).body).map(({ body }) => inText(unsigned(body)));
  const numbers = isPrivate ? found.slice(1) : found;
  return { kty: "RSA", ...Object.fromEntries(numbers.map((text, at) => [NUMBERS[at], text])) };
}
function fromJwk(key, wantsPrivate) {
  if (key === null || typeof key !== "object") throw wrongType("key.key", "of type object", key);
  const part = (name) => {
    if (typeof key[name] !== "string") throw fault("ERR_INVALID_ARG_TYPE", `The "key.${name}" property must be of type string. Received ${key[name]}`, TypeError);
    return Buffer.from(key[name], "base64url");
  };
  const isPrivate = wantsPrivate || key.d !== undefined;
  if (key.kty === "OKP" && key.crv === "Ed25519") return { isPrivate, ...(isPrivate ? fromSeed(part("d")) : { kind: "ed25519", point: part("x") }) };
  if (key.kty === "RSA") {
    if (!isPrivate) return { isPrivate, kind: "rsa", pkcs1: wrap(LIST, integer(part("n")), integer(part("e"))) };
    return { isPrivate, ...fromPkcs1(wrap(LIST, integer(zero), ...NUMBERS.map((name) => integer(part(name))))) };
  }
  const curve = Object.keys(CURVES).find((known) => CURVES[known].jwk === key.crv);
  if (key.kty !== "EC" || curve === undefined) throw unsupported("this kind of key", REMEDY);
  const point = Buffer.concat([Buffer.from([4]), part("x"), part("y")]);
  return { isPrivate, kind: "ec", curve, point, ...(isPrivate && { number: part("d") }) };
}

// What callers make and hand over.

/** The bytes of a key that is shared: text, bytes, or a key object. */
const SECRET = { name: "key", wanted: "of type string or an instance of ArrayBuffer, Buffer, TypedArray, DataView, KeyObject, or CryptoKey" };
export function secretOf(key, encoding, about = SECRET) {
  if (key instanceof CryptoKey) key = KeyObject.from(key);
  if (key instanceof KeyObject) {
    if (key.type !== "secret") throw wrongKind(key.type, "secret");
    return insideOf(key).secret;
  }
  return bytesOf(key, { encoding, ...about });
}
const objectOf = (given) => {
  const key = given instanceof KeyObject || given instanceof CryptoKey ? given : given?.key;
  return key instanceof CryptoKey ? KeyObject.from(key) : key instanceof KeyObject ? key : undefined;
};
/** What signs, out of whatever stands for it. */
export function signingKey(given) {
  const known = objectOf(given);
  if (known !== undefined && known.type !== "private") throw wrongKind(known.type, "private");
  return known === undefined ? read(given, true) : insideOf(known);
}
/** What checks: a private key has its public half with it. */
export function checkingKey(given) {
  const known = objectOf(given);
  if (known?.type === "secret") throw wrongKind("secret", "public or private");
  return known === undefined ? read(given, false) : insideOf(known);
}

export const createSecretKey = (key, encoding) => makeKey("secret", { secret: Buffer.from(bytesOf(key, { encoding, name: "key" })) });
export function createPrivateKey(key) {
  const { isPrivate, ...inside } = read(key, true);
  return makeKey("private", inside);
}
export function createPublicKey(key) {
  const known = objectOf(key);
  if (known !== undefined && known.type !== "private") throw wrongKind(known.type, "private");
  const { isPrivate, number, pair, ...inside } = known === undefined ? read(key, false) : insideOf(known);
  return makeKey("public", inside);
}

export { insideOf, makeKey };

const PAIRS = {
  ed25519: () => fromSeed(Buffer.from(host.random(SEED))),
  ec({ namedCurve } = {}) {
    if (typeof namedCurve !== "string") throw wrongType("options.namedCurve", "of type string", namedCurve);
    const curve = Object.keys(CURVES).find((known) => CURVES[known].node === namedCurve || CURVES[known].aliases.includes(namedCurve));
    if (curve === undefined) throw unsupported(`the curve ${namedCurve}`, REMEDY);
    return fromPkcs8(Buffer.from(host.ecKeyPair(curve)));
  },
};
const KINDS = ["rsa", "rsa-pss", "dsa", "ec", "ed25519", "ed448", "x25519", "x448", "dh"];

export function generateKeyPairSync(type, options) {
  if (typeof type !== "string") throw wrongType("type", "of type string", type);
  if (!KINDS.includes(type)) throw wrongValue("argument 'type'", "must be a supported key type", type);
  if (PAIRS[type] === undefined) throw unsupported(`a new pair of keys of the kind ${type}`, "make one of ed25519 or ec, or have openssl make it");
  const inside = PAIRS[type](options);
  const { number, ...open } = inside;
  const [publicKey, privateKey] = [makeKey("public", open), makeKey("private", inside)];
  const { publicKeyEncoding, privateKeyEncoding } = options ?? {};
  return { publicKey: publicKeyEncoding ? publicKey.export(publicKeyEncoding) : publicKey, privateKey: privateKeyEncoding ? privateKey.export(privateKeyEncoding) : privateKey };
}
export function generateKeyPair(type, options, callback) {
  if (typeof options === "function") [options, callback] = [undefined, options];
  checkCallback(callback);
  later(() => generateKeyPairSync(type, options), (problem, pair) => callback(problem, pair?.publicKey, pair?.privateKey));
}
// `util.promisify` gives both keys.
Object.defineProperty(generateKeyPair, Symbol.for("nodejs.util.promisify.custom"), { value: (...given) => new Promise((resolve, reject) => { generateKeyPair(...given, (problem, publicKey, privateKey) => (problem ? reject(problem) : resolve({ publicKey, privateKey }))); }) });

export function generateKeySync(type, options) {
  const length = options?.length;
  if (type === "aes" && ![128, 192, 256].includes(length)) throw wrongValue("property 'options.length'", "must be one of: 128, 192, 256", length);
  else if (type === "hmac") checkNumber(length, "options.length", 8, 2 ** 31 - 1);
  else if (type !== "aes") throw wrongValue("argument 'type'", "must be a supported key type", type);
  return makeKey("secret", { secret: Buffer.from(host.random(Math.floor(length / 8))) });
}
export function generateKey(type, options, callback) {
  checkCallback(callback);
  later(() => generateKeySync(type, options), callback);
}
