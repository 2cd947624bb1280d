import { shim } from "./setup.js";
import assert from "node:assert/strict";
import theirs from "node:crypto";
import test from "node:test";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { same } from "./differ.js";

const { default: ours } = await shim("node/crypto");
const { default: webOurs } = await shim("web/crypto");
const { pipeline: pipelineOurs } = await shim("node/stream/promises");
const { Readable } = await shim("node/stream/readable");
const TEXT = "The quick brown fox. ".repeat(20);
const key = (bits) => Buffer.alloc(bits / 8, "key material");
const IV = Buffer.alloc(16, "start");
const NONCE = IV.subarray(0, 12);
const startOf = (name) => (name.endsWith("ecb") ? null : name.endsWith("gcm") ? NONCE : IV);
const NAMES = [128, 192, 256].flatMap((bits) => ["cbc", "ctr", "gcm", "ecb"].map((mode) => [`aes-${bits}-${mode}`, key(bits)]));

same("AES in pieces", ours, theirs, NAMES.flatMap(([name, secret]) => [1, 15, 16, 17, 400].map((size) => [name, secret, size])), (own, name, secret, size) => {
  const cipher = own.createCipheriv(name, secret, startOf(name));
  const parts = [];
  for (let at = 0; at < TEXT.length; at += size) parts.push(cipher.update(TEXT.slice(at, at + size), "utf8", "hex"));
  return [parts, cipher.final("hex"), name.endsWith("gcm") && cipher.getAuthTag().toString("hex")];
});
same("AES back in pieces, as text", ours, theirs, NAMES.flatMap(([name, secret]) => [1, 16, 33].map((size) => [name, secret, size])), (own, name, secret, size) => {
  const cipher = theirs.createCipheriv(name, secret, startOf(name));
  const sealed = Buffer.concat([cipher.update("ü€😀 ".repeat(20)), cipher.final()]);
  const back = own.createDecipheriv(name, secret, startOf(name));
  if (name.endsWith("gcm")) back.setAuthTag(cipher.getAuthTag());
  let text = "";
  for (let at = 0; at < sealed.length; at += size) text += back.update(sealed.subarray(at, at + size), undefined, "utf8");
  return text + back.final("utf8");
});
same("AES without filling up", ours, theirs, [[32], [33], [0]], (own, size) => {
  const cipher = own.createCipheriv("aes-128-cbc", key(128), IV).setAutoPadding(false);
  const sealed = Buffer.concat([cipher.update(Buffer.alloc(size)), cipher.final()]);
  const back = own.createDecipheriv("aes-128-cbc", key(128), IV).setAutoPadding(false);
  return [sealed, back.update(sealed), back.final()];
});
same("seals: lengths, company, long starts", ours, theirs, [[{}, 12], [{ authTagLength: 4 }, 12], [{ authTagLength: 13 }, 16], [{ authTagLength: 5 }, 12], [{ authTagLength: "x" }, 12], [{}, 1], [{}, 60], [{}, 0]], (own, options, size) => {
  const cipher = own.createCipheriv("aes-256-gcm", key(256), Buffer.alloc(size, 1), options);
  cipher.setAAD(Buffer.from("be")).setAAD(Buffer.from("side"));
  return [cipher.update(TEXT), cipher.final(), cipher.getAuthTag()];
});
const MISUSED = [
  (own) => own.createCipheriv("aes-7", key(256), IV), (own) => own.createCipheriv(undefined, key(256), IV), (own) => own.createCipheriv("aes-256-cbc", key(128), IV), (own) => own.createCipheriv("aes-256-cbc", 5, IV),
  (own) => own.createCipheriv("aes-256-cbc", undefined, IV), (own) => own.createCipheriv("aes-256-cbc", key(256), NONCE), (own) => own.createCipheriv("aes-256-cbc", key(256), null), (own) => own.createCipheriv("aes-256-cbc", key(256)),
  (own) => own.createCipheriv("aes-128-ecb", key(128), IV), (own) => own.createCipheriv("aes-128-ctr", key(128), NONCE), (own) => own.createCipheriv("AES256", key(256), IV).update("x", "utf8", "hex"),
  (own) => { const made = own.createCipheriv("aes-256-cbc", key(256), IV); made.final(); return made.final(); }, (own) => { const made = own.createCipheriv("aes-256-cbc", key(256), IV); made.final(); return made.update("x"); },
  (own) => { const made = own.createCipheriv("aes-256-cbc", key(256), IV); made.final(); return made.setAutoPadding(false); }, (own) => own.createDecipheriv("aes-256-cbc", key(256), IV).final(),
  (own) => { const made = own.createDecipheriv("aes-256-cbc", key(256), IV); made.update(Buffer.alloc(16, 1)); return made.final(); }, (own) => own.createCipheriv("aes-256-gcm", key(256), NONCE).getAuthTag(),
  (own) => { const made = own.createCipheriv("aes-256-cbc", key(256), IV); made.final(); return made.getAuthTag(); }, (own) => own.createDecipheriv("aes-256-cbc", key(256), IV).setAuthTag(IV), (own) => own.createDecipheriv("aes-256-gcm", key(256), IV).setAuthTag(IV.subarray(0, 5)),
  (own) => own.createDecipheriv("aes-256-gcm", key(256), IV, { authTagLength: 12 }).setAuthTag(IV), (own) => own.createDecipheriv("aes-256-gcm", key(256), IV).setAuthTag(IV).setAuthTag(IV), (own) => own.createDecipheriv("aes-256-gcm", key(256), IV).setAuthTag(5),
  (own) => own.createDecipheriv("aes-256-gcm", key(256), IV).final(), (own) => own.createDecipheriv("aes-256-gcm", key(256), IV).setAuthTag(IV).final(), (own) => own.createCipheriv("aes-256-cbc", key(256), IV).setAAD(IV),
  (own) => { const made = own.createCipheriv("aes-256-gcm", key(256), IV); made.update("x"); return made.setAAD(IV); }, (own) => own.createCipheriv("aes-256-gcm", key(256), IV).update(5), (own) => own.createCipheriv("aes-256-cbc", own.createSecretKey(key(256)), IV).final("hex"),
  (own) => [own.createCipheriv("aes-256-cbc", key(256), IV).setAuthTag, own.createDecipheriv("aes-256-cbc", key(256), IV).getAuthTag],
];
same("what is wrong with a cipher is said as Node says it", ours, theirs, MISUSED.map((act) => [act]), (own, act) => act(own));
same("what is known of ciphers", ours, theirs, [["aes-256-gcm"], ["AES-256-CBC"], ["aes-128-ctr", { ivLength: 12 }], ["aes-128-ecb"], ["zz"], [427], [true], ["aes-256-gcm", { ivLength: 13, keyLength: 32 }], ["aes-256-gcm", { keyLength: 16 }]], (own, ...given) => own.getCipherInfo(...given));
test("every cipher that is told of is one of Node's", () => assert.deepEqual(ours.getCiphers().filter((name) => !theirs.getCiphers().map((known) => known.toLowerCase()).includes(name)), []));
test("ciphers are streams", async () => {
  const parts = [];
  const back = ours.createDecipheriv("aes-256-cbc", key(256), IV);
  back.on("data", (chunk) => parts.push(chunk));
  await pipelineOurs(Readable.from([TEXT.slice(0, 99), TEXT.slice(99)]), ours.createCipheriv("aes-256-cbc", key(256), IV), back);
  assert.equal(Buffer.concat(parts).toString(), TEXT);
  const other = ours.createDecipheriv("aes-256-cbc", key(256), IV);
  await assert.rejects(pipelineOurs(Readable.from([Buffer.alloc(32, 1)]), other), { code: "ERR_OSSL_BAD_DECRYPT" });
});

const SCRYPTS = [
  ["p", "s", 64], ["p", "s", 20, { N: 1024, r: 4, p: 3 }], ["p", "s", 20, { cost: 1024, blockSize: 4, parallelization: 3 }], ["p", "s", 8, { N: 3 }], ["p", "s", 8, { N: 1 }], ["p", "s", 8, { N: 2 ** 20 }], ["p", "s", 8, { N: 2 ** 14, cost: 5 }], ["p", "s", -1],
  [5, "s", 1], ["p", undefined, 1], ["p", "s", 0], ["p", "s", 8, { r: 2 ** 30 }], ["p", "s", 8, { N: "x" }], ["p", "s", 8, { N: 1.5 }], ["p", "s", 8, { maxmem: -1 }], ["p", "s", 8, { p: 0 }], ["p", "s", 8, { maxmem: 128 * 8 * 16387 }], ["p", "s", 8, { maxmem: 128 * 8 * 16387 - 1 }],
];
same("scrypt", ours, theirs, SCRYPTS, (own, ...given) => own.scryptSync(...given));
same("PBKDF2", ours, theirs, [["p", "s", 1000, 70, "sha512"], [Buffer.from("p"), new Uint8Array(3), 3, 8, "SHA1"], ["p", "s", 1, 8], ["p", "s", 1, 8, "nope"], ["p", "s", 0, 8, "sha1"], ["p", "s", 1, -8, "sha1"], ["p", "s", 1, 0, "sha1"], ["p", 5, 1, 8, "sha1"], ["p", "s", "x", 8, "sha1"], ["p", "s", 1.5, 8, "sha1"]], (own, ...given) => own.pbkdf2Sync(...given));
same("HKDF", ours, theirs, [["sha256", "k", "s", "i", 32], ["sha512", "", "", "", 200], ["nope", "k", "s", "i", 32], ["sha256", "k", "s", "i", 255 * 32], ["sha256", "k", "s", "i", 255 * 32 + 1], ["sha256", "k", "s", Buffer.alloc(1025), 1], ["sha256", 5, "s", "i", 1]], (own, ...given) => Buffer.from(own.hkdfSync(...given)));
same("keys later need somebody to tell", ours, theirs, [["scrypt", "p", "s", 8], ["pbkdf2", "p", "s", 1, 8, "sha1"], ["pbkdf2", "p", "s", 1, 8, "nope", () => {}], ["hkdf", "sha256", "k", "s", "i", 32], ["randomBytes", 4, "x"]], (own, name, ...given) => own[name](...given));
test("keys later are those of at once", async () => {
  assert.deepEqual(await promisify(ours.scrypt)("p", "s", 32, { N: 16 }), ours.scryptSync("p", "s", 32, { N: 16 }));
  assert.deepEqual(await promisify(ours.pbkdf2)("p", "s", 3, 32, "sha256"), ours.pbkdf2Sync("p", "s", 3, 32, "sha256"));
  assert.deepEqual(await promisify(ours.hkdf)("sha256", "k", "s", "i", 32), ours.hkdfSync("sha256", "k", "s", "i", 32));
});
test("what the host refuses of scrypt is an error of scrypt", () => assert.throws(() => ours.scryptSync("p", "s", 8, { N: 2 ** 21, maxmem: 2 ** 40 }), { code: "ERR_CRYPTO_INVALID_SCRYPT_PARAMS" }));

same("digests", ours, theirs, ["md5", "sha1", "SHA224", "sha256", "RSA-SHA256", "sha384", "sha512", "sha512-256", "nope", undefined, 5].map((name) => [name]), (own, name) => own.createHash(name).update("a").update(Buffer.from("b")).digest("hex"));
same("keyed digests", ours, theirs, [["sha256", "k"], ["sha1", Buffer.alloc(100, 1)], ["nope", "k"], ["sha256", undefined], ["sha256", 5]], (own, name, secret) => own.createHmac(name, secret).update("a").digest("base64"));
test("a digest keeps what it was given, though the buffer is filled again", () => {
  const buffer = Buffer.from("ab");
  const hash = ours.createHash("sha256").update(buffer);
  buffer.fill("x");
  assert.equal(hash.digest("hex"), theirs.createHash("sha256").update("ab").digest("hex"));
});
same("comparing", ours, theirs, [["a", Buffer.from("a")], [Buffer.from("a"), Buffer.from("ab")], [Buffer.from("ab"), new Uint8Array([97, 98])], [Buffer.from("ab"), Buffer.from("ac")]], (own, one, other) => own.timingSafeEqual(one, other));
same("random values have limits", ours, theirs, [["randomBytes", -1], ["randomBytes", "x"], ["randomInt", 0], ["randomInt", 5, 5], ["randomInt", 1.5], ["randomInt", 2 ** 50], ["randomInt", 5, "x"], ["randomFillSync", 5], ["randomFillSync", Buffer.alloc(4), 5], ["randomFillSync", Buffer.alloc(4), 2, 3]], (own, name, ...given) => own[name](...given));
test("random values fill what they are asked to", () => {
  assert.equal(ours.randomBytes(3 * 2 ** 20).length, 3 * 2 ** 20);
  assert.ok(ours.randomFillSync(new Uint32Array(4), 1, 2).every((word, at) => (at === 0 || at === 3) === (word === 0)));
  assert.ok([...Array(100)].every(() => [3, 4].includes(ours.randomInt(3, 5))));
});

// Keys and signatures.
const PAIRS = { ed25519: {}, rsa: { modulusLength: 2048 }, "ec 256": { namedCurve: "prime256v1" }, "ec 384": { namedCurve: "secp384r1" } };
const made = Object.entries(PAIRS).map(([name, options]) => [name, theirs.generateKeyPairSync(name.split(" ")[0], options)]);
const pems = made.map(([name, { publicKey, privateKey }]) => [name, privateKey.export({ type: "pkcs8", format: "pem" }), publicKey.export({ type: "spki", format: "pem" })]);
const DIGESTS = { ed25519: null, rsa: "sha512", "ec 256": "sha256", "ec 384": "sha384" };
same("keys are read, told and written as Node does it", ours, theirs, pems, (own, name, pem, open) => {
  const [hidden, shown, half] = [own.createPrivateKey(pem), own.createPublicKey(open), own.createPublicKey(pem)];
  const types = { ed25519: [], rsa: ["pkcs1"] }[name] ?? ["sec1"];
  const read = [own.createPrivateKey({ key: hidden.export({ format: "jwk" }), format: "jwk" }), own.createPrivateKey({ key: hidden.export({ type: "pkcs8", format: "der" }), format: "der", type: "pkcs8" }), ...types.map((type) => own.createPrivateKey({ key: hidden.export({ type, format: "der" }), format: "der", type }))];
  return [
    hidden.type, shown.type, hidden.asymmetricKeyType, shown.asymmetricKeyDetails, hidden.export({ type: "pkcs8", format: "pem" }), half.export({ type: "spki", format: "der" }), shown.export({ format: "jwk" }), hidden.export({ format: "jwk" }),
    half.equals(shown), hidden.equals(own.createPrivateKey(pem)), hidden.equals(shown), types.map((type) => hidden.export({ type, format: "pem" })), read.map((key) => key.equals(hidden)), own.createPublicKey(hidden).equals(shown),
    own.createPublicKey({ key: shown.export({ format: "jwk" }), format: "jwk" }).equals(shown),
  ];
});
for (const [name, pem, open] of pems) {
  test(`signatures of ${name} are known on both sides`, async () => {
    const digest = DIGESTS[name];
    for (const [one, other] of [[ours, theirs], [theirs, ours]]) {
      const signature = one.sign(digest, Buffer.from(TEXT), pem);
      assert.deepEqual([other.verify(digest, Buffer.from(TEXT), open, signature), other.verify(digest, Buffer.from("x"), open, signature), other.verify(digest, Buffer.from(TEXT), open, Buffer.alloc(3))], [true, false, false]);
      if (digest === null) continue;
      const options = name === "rsa" ? { padding: theirs.constants.RSA_PKCS1_PSS_PADDING, saltLength: theirs.constants.RSA_PSS_SALTLEN_DIGEST } : { dsaEncoding: "ieee-p1363" };
      const streamed = one.createSign(digest).update(TEXT).sign({ key: pem, ...options }, "base64");
      assert.ok(other.createVerify(digest).update(TEXT).verify({ key: open, ...options }, streamed, "base64"));
    }
    assert.deepEqual(await promisify(ours.verify)(digest, Buffer.from(TEXT), open, ours.sign(digest, Buffer.from(TEXT), pem)), true);
  });
}
const [, ED, ED_OPEN] = pems[0];
const MISREAD = [
  (own) => own.generateKeyPairSync("nope"), (own) => own.sign(null, Buffer.from("a")), (own) => own.createPrivateKey("zzz"), (own) => own.createPublicKey("zzz"), (own) => own.sign("sha256", Buffer.from("a"), ED), (own) => own.sign(null, Buffer.from("a"), own.createPublicKey(ED)),
  (own) => own.createSign("sha256").update("a").sign(ED), (own) => own.createSign("nope"), (own) => own.createSign(null), (own) => own.verify(null, Buffer.from("a"), own.createPrivateKey(ED), own.sign(null, Buffer.from("a"), ED)), (own) => own.createPrivateKey(ED).export(),
  (own) => own.createPrivateKey(ED).export({ format: "pem" }), (own) => own.createPublicKey(ED).export({ format: "pem", type: "pkcs1" }), (own) => own.createPrivateKey(ED).export({ format: "raw", type: "pkcs8" }), (own) => own.createPrivateKey(ED).export({ format: "pem", type: "sec1" }),
  (own) => own.createPublicKey(own.createPublicKey(ED)), (own) => own.createPrivateKey(ED_OPEN), (own) => own.createHmac("sha1", own.createPrivateKey(ED)), (own) => own.generateKeySync("aes", { length: 100 }), (own) => own.generateKeySync("hmac", { length: 7 }), (own) => own.generateKeySync("aes", { length: 256 }).symmetricKeySize,
  (own) => own.createSecretKey("ab").export({ format: "jwk" }), (own) => own.createSecretKey("6162", "hex").equals(own.createSecretKey(Buffer.from("ab"))), (own) => own.createSecretKey("ab").equals(5),
];
same("what is wrong with a key is said as Node says it", ours, theirs, MISREAD.map((act) => [act]), (own, act) => act(own));
test("new pairs are pairs", async () => {
  for (const [type, options] of [["ed25519"], ["ec", { namedCurve: "P-256" }]]) {
    const { publicKey, privateKey } = await promisify(ours.generateKeyPair)(type, { ...options, publicKeyEncoding: { type: "spki", format: "pem" }, privateKeyEncoding: { type: "pkcs8", format: "pem" } });
    const digest = type === "ec" ? "sha256" : null;
    assert.ok(theirs.verify(digest, Buffer.from("a"), publicKey, ours.sign(digest, Buffer.from("a"), privateKey)));
  }
  assert.throws(() => ours.generateKeyPairSync("rsa", { modulusLength: 2048 }), { code: "ERR_CRYPTO_UNSUPPORTED_OPERATION" });
});

// crypto.subtle.
const bytes = (buffer) => Buffer.from(buffer).toString("hex");
const told = async (act) => {
  try {
    const value = await act();
    return value instanceof ArrayBuffer ? bytes(value) : value;
  } catch ({ name }) {
    return `throws ${name}`;
  }
};
const AES = [["AES-CBC", { iv: IV }], ["AES-CTR", { counter: Buffer.alloc(16, 255), length: 128 }], ["AES-GCM", { iv: NONCE }], ["AES-GCM", { iv: NONCE, additionalData: IV, tagLength: 96 }], ["AES-GCM", { iv: NONCE, tagLength: 5 }], ["AES-CBC", { iv: NONCE }], ["AES-CTR", { counter: IV, length: 0 }]];
test("subtle: AES", async () => {
  for (const [name, given] of AES) {
    for (const bits of [128, 256]) {
      const run = async ({ subtle }) => {
        const own = await subtle.importKey("raw", key(bits), name, true, ["encrypt", "decrypt"]);
        const sealed = await subtle.encrypt({ name, ...given }, own, Buffer.from(TEXT));
        const back = await subtle.decrypt({ name: name.toLowerCase(), ...given }, own, sealed);
        const broken = await told(() => subtle.decrypt({ name, ...given }, own, Buffer.from(sealed).fill(7, -1)));
        return [bytes(sealed), Buffer.from(back).toString() === TEXT, name === "AES-GCM" && broken, await subtle.exportKey("jwk", own), own.algorithm, own.usages, own.extractable];
      };
      assert.deepEqual(await told(() => run(webOurs)), await told(() => run(theirs.webcrypto)), `${name} ${bits} ${JSON.stringify(given)}`);
    }
  }
});
const DERIVED = [
  ["PBKDF2", { salt: IV, iterations: 100, hash: "SHA-256" }], ["HKDF", { salt: IV, info: NONCE, hash: { name: "SHA-512" } }], ["PBKDF2", { salt: IV, iterations: 0, hash: "SHA-256" }],
];
test("subtle: keys from keys", async () => {
  for (const [name, given] of DERIVED) {
    const run = async ({ subtle }) => {
      const base = await subtle.importKey("raw", Buffer.from("secret"), { name }, false, ["deriveBits", "deriveKey"]);
      const aes = await subtle.deriveKey({ name, ...given }, base, { name: "AES-GCM", length: 256 }, true, ["encrypt"]);
      const mac = await subtle.deriveKey({ name, ...given }, base, { name: "HMAC", hash: "SHA-256" }, true, ["sign"]);
      return [bytes(await subtle.deriveBits({ name, ...given }, base, 384)), bytes(await subtle.exportKey("raw", aes)), bytes(await subtle.exportKey("raw", mac)), mac.algorithm];
    };
    assert.deepEqual(await told(() => run(webOurs)), await told(() => run(theirs.webcrypto)), name);
  }
});
const REFUSED = [
  ({ subtle }) => subtle.importKey("raw", key(128).subarray(1), "AES-GCM", true, ["encrypt"]), ({ subtle }) => subtle.importKey("raw", key(128), "AES-GCM", true, ["sign"]), ({ subtle }) => subtle.importKey("raw", key(128), "PBKDF2", true, ["deriveBits"]),
  async ({ subtle }) => subtle.encrypt({ name: "AES-GCM", iv: NONCE }, await subtle.importKey("raw", key(128), "AES-GCM", true, ["decrypt"]), IV), async ({ subtle }) => subtle.encrypt({ name: "AES-CBC", iv: IV }, await subtle.importKey("raw", key(128), "AES-GCM", true, ["encrypt"]), IV),
  ({ subtle }) => subtle.digest("MD5", IV), ({ subtle }) => subtle.generateKey({ name: "AES-GCM", length: 100 }, true, ["encrypt"]), ({ subtle }) => subtle.generateKey({ name: "AES-GCM", length: 128 }, true, []),
  ({ subtle }) => subtle.importKey("jwk", { kty: "OKP" }, "Ed25519", true, ["sign"]), async ({ subtle }) => subtle.decrypt({ name: "AES-GCM", iv: NONCE }, await subtle.importKey("raw", key(128), "AES-GCM", true, ["decrypt"]), IV.subarray(1)),
];
test("subtle: what is wrong has the web's name", async () => {
  for (const act of REFUSED) assert.deepEqual(await told(() => act(webOurs)), await told(() => act(theirs.webcrypto)), String(act));
});
test("subtle: keys go wrapped", async () => {
  const { subtle } = webOurs;
  // Node 20 has a name of its own for this one.
  await assert.rejects(async () => subtle.exportKey("raw", await subtle.importKey("raw", key(128), "AES-GCM", false, ["decrypt"])), { name: "InvalidAccessError" });
  const [own, wrapping] = [await subtle.generateKey({ name: "HMAC", hash: "SHA-256" }, true, ["sign"]), await subtle.generateKey({ name: "AES-GCM", length: 256 }, false, ["wrapKey", "unwrapKey"])];
  for (const format of ["raw", "jwk"]) {
    const wrapped = await subtle.wrapKey(format, own, wrapping, { name: "AES-GCM", iv: NONCE });
    const back = await subtle.unwrapKey(format, wrapped, wrapping, { name: "AES-GCM", iv: NONCE }, { name: "HMAC", hash: "SHA-256" }, true, ["sign"]);
    assert.equal(bytes(await subtle.exportKey("raw", back)), bytes(await subtle.exportKey("raw", own)));
  }
});
const SIGNED = [["ed25519", "Ed25519", {}], ["rsa", "RSASSA-PKCS1-v1_5", { hash: "SHA-256" }], ["rsa", "RSA-PSS", { hash: "SHA-256", saltLength: 32 }], ["ec 256", "ECDSA", { namedCurve: "P-256", hash: "SHA-256" }], ["ec 384", "ECDSA", { namedCurve: "P-384", hash: "SHA-384" }]];
for (const [pair, name, given] of SIGNED) {
  test(`subtle: signatures of ${name} ${given.namedCurve ?? ""}`, async () => {
    const { publicKey, privateKey } = made.find(([known]) => known === pair)[1];
    const algorithm = { name, ...given };
    const half = async ({ subtle }, isPrivate) => subtle.importKey(...(isPrivate ? ["pkcs8", privateKey.export({ type: "pkcs8", format: "der" })] : ["jwk", publicKey.export({ format: "jwk" })]), algorithm, true, [isPrivate ? "sign" : "verify"]);
    for (const [one, other] of [[webOurs, theirs.webcrypto], [theirs.webcrypto, webOurs]]) {
      const signature = await one.subtle.sign(algorithm, await half(one, true), IV);
      assert.deepEqual([await other.subtle.verify(algorithm, await half(other, false), signature, IV), await other.subtle.verify(algorithm, await half(other, false), signature, NONCE)], [true, false]);
    }
    const shown = async (own) => [(await half(own, false)).algorithm, (await half(own, true)).type, await own.subtle.exportKey("jwk", await half(own, true)), bytes(await own.subtle.exportKey("spki", await half(own, false)))];
    const [mine, its] = [await shown(webOurs), await shown(theirs.webcrypto)];
    for (const [, , jwk] of [mine, its]) delete jwk.alg;
    assert.deepEqual(mine, its);
  });
}
test("subtle: new pairs", async () => {
  const { subtle } = webOurs;
  for (const algorithm of [{ name: "Ed25519" }, { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" }]) {
    const { publicKey, privateKey } = await subtle.generateKey(algorithm, false, ["sign", "verify"]);
    assert.ok(await subtle.verify(algorithm, publicKey, await subtle.sign(algorithm, privateKey, IV), IV));
    assert.deepEqual([publicKey.extractable, privateKey.extractable, publicKey.usages, privateKey.usages], [true, false, ["verify"], ["sign"]]);
  }
});
