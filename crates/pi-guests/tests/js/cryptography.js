// What the engine and Node say alike: run with `crypto`, and `pem`, a key of RSA, it gives lines.
const hex = (bytes) => Buffer.from(bytes).toString("hex");
const key = Buffer.from("0123456789abcdef0123456789abcdef");
const start = Buffer.from("fedcba9876543210");
const lines = [];
for (const [name, size] of [["aes-128-cbc", 16], ["aes-192-ctr", 24], ["aes-256-gcm", 32], ["aes-256-ecb", 32]]) {
  const own = name.endsWith("ecb") ? null : start;
  const cipher = crypto.createCipheriv(name, key.subarray(0, size), own);
  const sealed = Buffer.concat([cipher.update("one and "), cipher.update("another one"), cipher.final()]);
  const back = crypto.createDecipheriv(name, key.subarray(0, size), own);
  if (name.endsWith("gcm")) back.setAuthTag(cipher.getAuthTag());
  lines.push(`${name} ${hex(sealed)} ${back.update(sealed, undefined, "utf8") + back.final("utf8")}`);
}
try {
  const back = crypto.createDecipheriv("aes-128-cbc", key.subarray(0, 16), start);
  back.update(key);
  back.final();
} catch ({ code }) {
  lines.push(code);
}
lines.push(`scrypt ${hex(crypto.scryptSync("password", "salt", 16, { N: 64 }))}`);
lines.push(`pbkdf2 ${hex(await new Promise((resolve) => { crypto.pbkdf2("password", "salt", 300, 16, "sha512", (_, made) => resolve(made)); }))}`);
lines.push(`hkdf ${hex(crypto.hkdfSync("sha256", "key", "salt", "info", 16))}`);
const { subtle } = crypto.webcrypto;
const shared = await subtle.importKey("raw", key, "AES-GCM", false, ["encrypt", "decrypt"]);
const sealed = await subtle.encrypt({ name: "AES-GCM", iv: start, additionalData: key }, shared, key);
lines.push(`subtle ${hex(sealed)} ${hex(await subtle.decrypt({ name: "AES-GCM", iv: start, additionalData: key }, shared, sealed)) === hex(key)}`);
const few = await subtle.importKey("raw", key, "AES-CTR", false, ["encrypt"]);
lines.push(`counting ${hex(await subtle.encrypt({ name: "AES-CTR", counter: Buffer.alloc(16, 255), length: 8 }, few, Buffer.alloc(48)))}`);
const seed = crypto.createPrivateKey({ key: Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), key]), format: "der", type: "pkcs8" });
lines.push(`ed25519 ${hex(crypto.sign(null, key, seed))} ${crypto.createPublicKey(seed).export({ format: "jwk" }).x}`);
const { publicKey, privateKey } = crypto.generateKeyPairSync("ec", { namedCurve: "P-256" });
const made = crypto.createSign("sha256").update("text").sign(privateKey);
lines.push(`ecdsa ${crypto.createVerify("sha256").update("text").verify(publicKey, made)} ${crypto.createVerify("sha256").update("other").verify(publicKey, made)}`);
const long = crypto.createSign("RSA-SHA256").update("text").sign(pem);
lines.push(`rsa ${crypto.createHash("sha256").update(long).digest("hex")} ${crypto.verify("sha256", Buffer.from("text"), crypto.createPublicKey(pem), long)}`);
return lines;
