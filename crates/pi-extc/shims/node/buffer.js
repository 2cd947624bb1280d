// node:buffer. Blob, File, atob and btoa are those of the web.
import host from "pi:host";
import { Buffer } from "pi:shim/node/buffer/bytes";
import { decode, demand, encode } from "pi:shim/node/buffer/encoding";

export { Buffer };
export const kMaxLength = 2 ** 32;
export const kStringMaxLength = 2 ** 29 - 24;
export const INSPECT_MAX_BYTES = 50;
export const constants = { MAX_LENGTH: kMaxLength, MAX_STRING_LENGTH: kStringMaxLength };
export const SlowBuffer = Buffer;

export const atob = (text) => host.load("pi:shim/web/base64").atob(text);
export const btoa = (text) => host.load("pi:shim/web/base64").btoa(text);

export function transcode(source, from, to) {
  return Buffer.from(encode(decode(source, demand(from)), demand(to)));
}

export function isUtf8(bytes) {
  try {
    host.utf8Decode(new Uint8Array(bytes.buffer ?? bytes), true);
    return true;
  } catch {
    return false;
  }
}
export const isAscii = (bytes) => new Uint8Array(bytes.buffer ?? bytes).every((byte) => byte < 128);

const module = {
  Buffer, SlowBuffer, kMaxLength, kStringMaxLength, INSPECT_MAX_BYTES, constants, atob, btoa, transcode, isUtf8, isAscii,
  get Blob() { return host.load("pi:shim/web/blob").Blob; },
  get File() { return host.load("pi:shim/web/blob").File; },
};
export default module;
