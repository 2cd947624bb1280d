// Sizes of pictures, and what a terminal can show: nothing but text, because the one who draws may be no terminal.
import host from "pi:host";

const bytesOf = (base64) => host.load("pi:shim/node/buffer/bytes").Buffer.from(base64, "base64");
const size = (widthPx, heightPx) => ({ widthPx, heightPx });

export function getPngDimensions(base64) {
  const bytes = bytesOf(base64);
  return bytes.length >= 24 && bytes.readUInt32BE(0) === 0x89504e47 ? size(bytes.readUInt32BE(16), bytes.readUInt32BE(20)) : null;
}
export function getGifDimensions(base64) {
  const bytes = bytesOf(base64);
  return bytes.length >= 10 && bytes.toString("latin1", 0, 3) === "GIF" ? size(bytes.readUInt16LE(6), bytes.readUInt16LE(8)) : null;
}
/** Walks the segments to the one that begins the frame. */
export function getJpegDimensions(base64) {
  const bytes = bytesOf(base64);
  if (bytes.length < 4 || bytes.readUInt16BE(0) !== 0xffd8) return null;
  let at = 2;
  while (at + 9 < bytes.length) {
    if (bytes[at] !== 0xff) {
      at++;
      continue;
    }
    const marker = bytes[at + 1];
    if (marker >= 0xc0 && marker <= 0xc2) return size(bytes.readUInt16BE(at + 7), bytes.readUInt16BE(at + 5));
    const length = bytes.readUInt16BE(at + 2);
    if (length < 2) return null;
    at += 2 + length;
  }
  return null;
}
export function getWebpDimensions(base64) {
  const bytes = bytesOf(base64);
  if (bytes.length < 30 || bytes.toString("latin1", 0, 4) !== "RIFF" || bytes.toString("latin1", 8, 12) !== "WEBP") return null;
  switch (bytes.toString("latin1", 12, 16)) {
    case "VP8 ": return size(bytes.readUInt16LE(26) & 0x3fff, bytes.readUInt16LE(28) & 0x3fff);
    case "VP8L": {
      const bits = bytes.readUInt32LE(21);
      return size((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1);
    }
    case "VP8X": return size(bytes.readUIntLE(24, 3) + 1, bytes.readUIntLE(27, 3) + 1);
    default: return null;
  }
}
const READERS = { "image/png": getPngDimensions, "image/jpeg": getJpegDimensions, "image/gif": getGifDimensions, "image/webp": getWebpDimensions };
export const getImageDimensions = (base64, mimeType) => READERS[mimeType]?.(base64) ?? null;

let cell = size(9, 18);
export const getCellDimensions = () => cell;
export const setCellDimensions = (dimensions) => { cell = dimensions; };
export const calculateImageRows = (image, columns, own = cell) => Math.max(1, Math.ceil((image.heightPx * ((columns * own.widthPx) / image.widthPx)) / own.heightPx));

const NOTHING = { images: null, trueColor: true, hyperlinks: false };
let capabilities = NOTHING;
export const detectCapabilities = () => NOTHING;
export const getCapabilities = () => capabilities;
export const setCapabilities = (own) => { capabilities = own; };
export const resetCapabilitiesCache = () => { capabilities = NOTHING; };
export const hyperlink = (text, url) => `\x1b]8;;${url}\x1b\\${text}\x1b]8;;\x1b\\`;
