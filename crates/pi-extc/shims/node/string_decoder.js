// node:string_decoder: bytes in pieces to text, never cutting a character.
import { Buffer } from "pi:shim/node/buffer/bytes";
import { demand } from "pi:shim/node/buffer/encoding";

export function StringDecoder(encoding) {
  this.encoding = demand(encoding);
  this._rest = Buffer.alloc(0);
}

/** How many bytes at the end belong to a character that is not complete. */
function incomplete(bytes, encoding) {
  if (encoding === "utf16le") {
    const odd = bytes.length % 2;
    const last = bytes.length - odd;
    return last >= 2 && bytes[last - 1] >= 0xd8 && bytes[last - 1] <= 0xdb ? odd + 2 : odd;
  }
  if (encoding === "base64" || encoding === "base64url") return bytes.length % 3;
  if (encoding !== "utf8") return 0;
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back];
    if ((byte & 0xc0) === 0x80) continue;
    const needs = byte >= 0xf0 && byte <= 0xf4 ? 4 : byte >= 0xe0 && byte < 0xf0 ? 3 : byte >= 0xc2 && byte < 0xe0 ? 2 : 1;
    return needs > back && canContinue(byte, bytes[bytes.length - back + 1], back) ? back : 0;
  }
  return 0;
}

// Some first bytes allow only part of the second ones; what can no longer become a character is not worth waiting for.
function canContinue(first, second, back) {
  if (back < 2) return true;
  if (first === 0xe0) return second >= 0xa0;
  if (first === 0xed) return second <= 0x9f;
  if (first === 0xf0) return second >= 0x90;
  if (first === 0xf4) return second <= 0x8f;
  return true;
}

Object.assign(StringDecoder.prototype, {
  write(chunk) {
    if (typeof chunk === "string") return chunk;
    if (!ArrayBuffer.isView(chunk)) throw Object.assign(new TypeError('The "buf" argument must be an instance of Buffer, TypedArray, or DataView.'), { code: "ERR_INVALID_ARG_TYPE" });
    const piece = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const bytes = this._rest.length > 0 ? Buffer.concat([this._rest, piece]) : piece;
    const kept = incomplete(bytes, this.encoding);
    this._rest = Buffer.from(bytes.subarray(bytes.length - kept));
    return bytes.subarray(0, bytes.length - kept).toString(this.encoding);
  },
  end(chunk) {
    const text = chunk === undefined ? "" : this.write(chunk);
    const rest = this._rest;
    this._rest = Buffer.alloc(0);
    return rest.length > 0 ? text + rest.toString(this.encoding) : text;
  },
});
Object.defineProperties(StringDecoder.prototype, {
  lastNeed: { get() { return this._rest.length > 0 ? 1 : 0; } },
});

export default { StringDecoder };
