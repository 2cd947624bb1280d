// The little of DER and PEM that key files need.
import { Buffer } from "pi:shim/node/buffer/bytes";
import { libraryFault } from "pi:shim/node/crypto/arguments";

export const INTEGER = 0x02;
export const BITS = 0x03;
export const BYTES = 0x04;
export const NOTHING = 0x05;
export const NAME = 0x06;
export const LIST = 0x30;
export const OWN = 0xa0;

const wrong = () => libraryFault("068000A8", "wrong tag", "asn1 encoding routines");

/** The first element: what it is, what it holds, itself, and what follows. */
export function element(bytes) {
  let at = 2;
  let length = bytes[1];
  if (length > 0x80) {
    at += length & 0x7f;
    length = bytes.subarray(2, at).reduce((sum, byte) => sum * 256 + byte, 0);
  }
  if (bytes.length < 2 || bytes[1] === 0x80 || at + length > bytes.length) throw wrong();
  return { tag: bytes[0], body: bytes.subarray(at, at + length), whole: bytes.subarray(0, at + length), rest: bytes.subarray(at + length) };
}
export function take(bytes, tag) {
  const found = element(bytes);
  if (found.tag !== tag) throw wrong();
  return found;
}
/** What a list holds. */
export function items(body) {
  const found = [];
  for (let rest = body; rest.length > 0; rest = found.at(-1).rest) found.push(element(rest));
  return found;
}

export function wrap(tag, ...parts) {
  const body = Buffer.concat(parts);
  const size = [];
  for (let left = body.length; left > 0; left = Math.floor(left / 256)) size.unshift(left % 256);
  return Buffer.concat([Buffer.from(body.length < 0x80 ? [tag, body.length] : [tag, 0x80 | size.length, ...size]), body]);
}
/** A number that is not negative. */
export function integer(bytes) {
  let first = 0;
  while (first < bytes.length - 1 && bytes[first] === 0) first++;
  const plain = bytes.subarray(first);
  return wrap(INTEGER, plain[0] >= 0x80 ? Buffer.from([0]) : Buffer.alloc(0), plain);
}
/** The bytes of a number, without the one that keeps it from being negative. */
export const unsigned = (body) => (body.length > 1 && body[0] === 0 ? body.subarray(1) : body);

export function pem(label, der) {
  const lines = Buffer.from(der).toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join("\n")}\n-----END ${label}-----\n`;
}
/** What PEM holds, and what it says of it. */
export function unpem(text) {
  const found = /-----BEGIN ([A-Z0-9 ]+)-----([\s\S]+?)-----END \1-----/.exec(text);
  return found === null ? undefined : { label: found[1], der: Buffer.from(found[2].replace(/^[\w-]+:.*$/gm, ""), "base64") };
}
