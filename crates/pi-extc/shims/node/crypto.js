// node:crypto. Not here: key agreement, encryption with public keys, certificates, new RSA keys, and ciphers other than AES, which the
// host does not offer; their names are stubs that say so when they are used.
import { getHashes } from "pi:shim/node/crypto/arguments";
import { Cipheriv, createCipheriv, createDecipheriv, Decipheriv, getCipherInfo, getCiphers } from "pi:shim/node/crypto/ciphers";
import { hkdf, hkdfSync, pbkdf2, pbkdf2Sync, scrypt, scryptSync } from "pi:shim/node/crypto/derivation";
import { createHash, createHmac, Hash, hash, Hmac } from "pi:shim/node/crypto/digests";
import { createPrivateKey, createPublicKey, createSecretKey, generateKey, generateKeyPair, generateKeyPairSync, generateKeySync, KeyObject } from "pi:shim/node/crypto/keys";
import { getRandomValues, randomBytes, randomFill, randomFillSync, randomInt, randomUUID, timingSafeEqual } from "pi:shim/node/crypto/random";
import { constants, createSign, createVerify, Sign, sign, Verify, verify } from "pi:shim/node/crypto/signatures";
import webcrypto from "pi:shim/web/crypto";

export {
  Cipheriv, constants, createCipheriv, createDecipheriv, createHash, createHmac, createPrivateKey, createPublicKey, createSecretKey, createSign, createVerify, Decipheriv, generateKey,
  generateKeyPair, generateKeyPairSync, generateKeySync, getCipherInfo, getCiphers, getHashes, getRandomValues, Hash, hash, hkdf, hkdfSync, Hmac, KeyObject, pbkdf2, pbkdf2Sync,
  randomBytes, randomFill, randomFillSync, randomInt, randomUUID, scrypt, scryptSync, Sign, sign, timingSafeEqual, Verify, verify, webcrypto,
};
export const subtle = webcrypto.subtle;
export const pseudoRandomBytes = randomBytes;
export const getCurves = () => ["prime256v1", "secp384r1"];
export const getFips = () => 0;

export default {
  Cipheriv, constants, createCipheriv, createDecipheriv, createHash, createHmac, createPrivateKey, createPublicKey, createSecretKey, createSign, createVerify, Decipheriv, generateKey,
  generateKeyPair, generateKeyPairSync, generateKeySync, getCipherInfo, getCiphers, getCurves, getFips, getHashes, getRandomValues, Hash, hash, hkdf, hkdfSync, Hmac, KeyObject, pbkdf2,
  pbkdf2Sync, pseudoRandomBytes, randomBytes, randomFill, randomFillSync, randomInt, randomUUID, scrypt, scryptSync, Sign, sign, subtle, timingSafeEqual, Verify, verify, webcrypto,
  [Symbol.for("pi.remedy")]: "the host has digests, AES (cbc, ctr, gcm, ecb), pbkdf2, scrypt, hkdf, and signatures of Ed25519, RSA, P-256 and P-384",
};
