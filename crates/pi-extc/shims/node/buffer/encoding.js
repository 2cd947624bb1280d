// Strings to bytes and back, by the names that Node gives to encodings.
// UTF-8 and base64 are done by the host; the rest is short enough to do here.
import host from "pi:host";

const NAMES = {
  utf8: "utf8", "utf-8": "utf8", hex: "hex", base64: "base64", base64url: "base64url",
  latin1: "latin1", binary: "latin1", ascii: "ascii",
  ucs2: "utf16le", "ucs-2": "utf16le", utf16le: "utf16le", "utf-16le": "utf16le",
};

/** The one name of an encoding, or `undefined` for what is none. No name at all means UTF-8. */
export function normalise(encoding) {
  if (encoding === undefined || encoding === null || encoding === "") return "utf8";
  return typeof encoding === "string" ? (NAMES[encoding] ?? NAMES[encoding.toLowerCase()]) : undefined;
}

/** Like `normalise`, but throws as Node does. */
export function demand(encoding) {
  const name = normalise(encoding);
  if (name) return name;
  throw Object.assign(new TypeError(`Unknown encoding: ${encoding}`), { code: "ERR_UNKNOWN_ENCODING" });
}

/** @returns {Uint8Array} */
export function encode(text, encoding) {
  switch (encoding) {
    case "utf8": return host.utf8Encode(text);
    case "hex": return fromHex(text);
    case "base64": case "base64url": return fromBase64(text);
    case "latin1": case "ascii": return fromLatin1(text);
    default: return fromUtf16(text);
  }
}

export function decode(bytes, encoding) {
  switch (encoding) {
    case "utf8": return host.utf8Decode(bytes, false);
    case "hex": return toHex(bytes);
    case "base64": return host.base64Encode(bytes);
    case "base64url": return host.base64Encode(bytes).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
    case "latin1": return toChars(bytes, 0xff);
    case "ascii": return toChars(bytes, 0x7f);
    default: return toUtf16(bytes);
  }
}

/** How many bytes the text takes, without making them where that is cheap. */
export function byteLength(text, encoding) {
  switch (encoding) {
    case "hex": return text.length >>> 1;
    case "latin1": case "ascii": return text.length;
    case "utf16le": return text.length * 2;
    default: return encode(text, encoding).length;
  }
}

const DIGITS = "0123456789abcdef";

function toHex(bytes) {
  let text = "";
  for (const byte of bytes) text += DIGITS[byte >> 4] + DIGITS[byte & 15];
  return text;
}

// Stops at the first pair that is not a number, as Node does.
function fromHex(text) {
  const bytes = new Uint8Array(text.length >>> 1);
  for (let i = 0; i < bytes.length; i++) {
    const pair = text.slice(2 * i, 2 * i + 2);
    if (!/^[0-9a-fA-F]{2}$/.test(pair)) return bytes.subarray(0, i);
    bytes[i] = parseInt(pair, 16);
  }
  return bytes;
}

// Node reads both alphabets, ignores what belongs to neither, and needs no padding; `=` ends the text.
function fromBase64(text) {
  const end = text.indexOf("=");
  let clean = (end < 0 ? text : text.slice(0, end)).replace(/-/g, "+").replace(/_/g, "/").replace(/[^A-Za-z0-9+/]/g, "");
  if (clean.length % 4 === 1) clean = clean.slice(0, -1);
  // The last letter may carry bits that no byte takes; a strict decoder would refuse them.
  const rest = clean.length % 4;
  if (rest > 0) {
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const mask = rest === 2 ? 0x30 : 0x3c;
    clean = clean.slice(0, -1) + alphabet[alphabet.indexOf(clean.at(-1)) & mask] + "=".repeat(4 - rest);
  }
  return host.base64Decode(clean);
}

function fromLatin1(text) {
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

function toChars(bytes, mask) {
  let text = "";
  for (let start = 0; start < bytes.length; start += 4096) {
    const part = bytes.subarray(start, start + 4096);
    text += String.fromCharCode.apply(null, mask === 0xff ? part : Array.from(part, (byte) => byte & mask));
  }
  return text;
}

function fromUtf16(text) {
  const bytes = new Uint8Array(text.length * 2);
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    bytes[2 * i] = unit & 0xff;
    bytes[2 * i + 1] = unit >> 8;
  }
  return bytes;
}

function toUtf16(bytes) {
  const units = [];
  for (let i = 0; i + 1 < bytes.length; i += 2) units.push(bytes[i] | (bytes[i + 1] << 8));
  let text = "";
  for (let start = 0; start < units.length; start += 4096) {
    text += String.fromCharCode.apply(null, units.slice(start, start + 4096));
  }
  return text;
}
