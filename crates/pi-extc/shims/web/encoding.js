// TextEncoder, TextDecoder and their streams. Encodings: UTF-8, UTF-16 and Latin-1, which is all that extensions name.
import host from "pi:host";
import { TransformStream } from "pi:shim/web/streams/transform";

export class TextEncoder {
  get encoding() { return "utf-8"; }
  encode(text = "") { return host.utf8Encode(String(text)); }
  encodeInto(text, target) {
    let [read, written] = [0, 0];
    for (const char of String(text)) {
      const bytes = host.utf8Encode(char);
      if (written + bytes.length > target.length) break;
      target.set(bytes, written);
      written += bytes.length;
      read += char.length;
    }
    return { read, written };
  }
  get [Symbol.toStringTag]() { return "TextEncoder"; }
}

const LABELS = {
  "utf-8": "utf-8", utf8: "utf-8", "unicode-1-1-utf-8": "utf-8", "utf-16le": "utf-16le", "utf-16": "utf-16le", ucs2: "utf-16le", "ucs-2": "utf-16le",
  unicode: "utf-16le", "utf-16be": "utf-16be", unicodefffe: "utf-16be", latin1: "windows-1252", "iso-8859-1": "windows-1252", ascii: "windows-1252", "us-ascii": "windows-1252", "windows-1252": "windows-1252", cp1252: "windows-1252",
};
// The half of windows-1252 that is not Latin-1.
const WINDOWS = "\u20ac\u0081\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\u008d\u017d\u008f\u0090\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\u009d\u017e\u0178";

export class TextDecoder {
  #name;
  #fatal;
  #keepsMark;
  #decoder;
  #rest = new Uint8Array(0);
  #isStart = true;
  constructor(label = "utf-8", { fatal = false, ignoreBOM = false } = {}) {
    this.#name = LABELS[String(label).trim().toLowerCase()];
    if (!this.#name) throw Object.assign(new RangeError(`The "${label}" encoding is not supported`), { code: "ERR_ENCODING_NOT_SUPPORTED" });
    this.#fatal = fatal;
    this.#keepsMark = ignoreBOM;
  }
  get encoding() { return this.#name; }
  get fatal() { return this.#fatal; }
  get ignoreBOM() { return this.#keepsMark; }
  decode(input, { stream = false } = {}) {
    const bytes = input === undefined ? new Uint8Array(0) : ArrayBuffer.isView(input) ? new Uint8Array(input.buffer, input.byteOffset, input.byteLength) : new Uint8Array(input);
    let text = this.#name === "windows-1252" ? Array.from(bytes, (byte) => (byte >= 0x80 && byte < 0xa0 ? WINDOWS[byte - 0x80] : String.fromCharCode(byte))).join("") : this.#decode(bytes, stream);
    if (this.#isStart && text !== "") {
      if (!this.#keepsMark && text.charCodeAt(0) === 0xfeff && this.#name !== "windows-1252") text = text.slice(1);
      this.#isStart = false;
    }
    if (!stream) this.#isStart = true;
    return text;
  }
  #decode(given, stream) {
    const bytes = this.#name === "utf-16be" ? this.#turned(given, stream) : given;
    if (!stream && !this.#decoder) return this.#whole(bytes);
    const { StringDecoder } = host.load("pi:shim/node/string_decoder");
    if (this.#fatal && this.#name === "utf-8") return this.#strictly(bytes, stream);
    this.#decoder ??= new StringDecoder(this.#name === "utf-8" ? "utf8" : "utf16le");
    const text = stream ? this.#decoder.write(bytes) : this.#decoder.end(bytes);
    if (!stream) this.#decoder = undefined;
    return text;
  }
  /** The bytes of each unit the other way round; one that stands alone waits for the next. */
  #turned(bytes, stream) {
    const all = new Uint8Array(this.#rest.length + bytes.length);
    all.set(this.#rest);
    all.set(bytes, this.#rest.length);
    const end = stream ? all.length & ~1 : all.length;
    this.#rest = all.slice(end);
    for (let at = 1; at < end; at += 2) [all[at - 1], all[at]] = [all[at], all[at - 1]];
    return all.subarray(0, end);
  }
  // Keeps an unfinished character back while more may come, and refuses what can never be one.
  #strictly(bytes, stream) {
    const all = new Uint8Array(this.#rest.length + bytes.length);
    all.set(this.#rest);
    all.set(bytes, this.#rest.length);
    let end = all.length;
    if (stream) for (let back = 1; back <= Math.min(3, all.length); back++) {
      const byte = all[all.length - back];
      if ((byte & 0xc0) === 0x80) continue;
      if (byte >= 0xc0 && (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) > back) end = all.length - back;
      break;
    }
    this.#rest = all.slice(end);
    return this.#whole(all.subarray(0, end));
  }
  #whole(bytes) {
    if (this.#name.startsWith("utf-16")) return host.load("pi:shim/node/buffer/encoding").decode(bytes, "utf16le");
    try {
      return host.utf8Decode(bytes, this.#fatal);
    } catch (fault) {
      throw Object.assign(new TypeError("The encoded data was not valid for encoding utf-8", { cause: fault }), { code: "ERR_ENCODING_INVALID_ENCODED_DATA" });
    }
  }
  get [Symbol.toStringTag]() { return "TextDecoder"; }
}

export class TextDecoderStream extends TransformStream {
  constructor(label, options) {
    const decoder = new TextDecoder(label, options);
    super({
      transform(chunk, controller) {
        const text = decoder.decode(chunk, { stream: true });
        if (text !== "") controller.enqueue(text);
      },
      flush(controller) {
        const text = decoder.decode();
        if (text !== "") controller.enqueue(text);
      },
    });
    this.encoding = decoder.encoding;
  }
}

export class TextEncoderStream extends TransformStream {
  constructor() {
    super({ transform: (chunk, controller) => controller.enqueue(host.utf8Encode(String(chunk))) });
    this.encoding = "utf-8";
  }
}
