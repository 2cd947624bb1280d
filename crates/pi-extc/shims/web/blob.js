// Blob and File, in memory.
import host from "pi:host";
import { ReadableStream } from "pi:shim/web/streams/readable";

function bytesOf(part) {
  if (part instanceof Blob) return Blob.bytesOf(part);
  if (ArrayBuffer.isView(part)) return new Uint8Array(part.buffer, part.byteOffset, part.byteLength);
  if (part instanceof ArrayBuffer) return new Uint8Array(part);
  return host.utf8Encode(String(part));
}

export class Blob {
  #bytes;
  #type;
  constructor(parts = [], { type = "" } = {}) {
    const pieces = [...parts].map(bytesOf);
    this.#bytes = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
    let at = 0;
    for (const piece of pieces) {
      this.#bytes.set(piece, at);
      at += piece.length;
    }
    this.#type = /^[\x20-\x7e]*$/.test(type) ? String(type).toLowerCase() : "";
  }
  static bytesOf(blob) { return blob.#bytes; }
  get size() { return this.#bytes.length; }
  get type() { return this.#type; }
  async arrayBuffer() { return this.#bytes.slice().buffer; }
  async bytes() { return this.#bytes.slice(); }
  async text() { return host.utf8Decode(this.#bytes, false); }
  slice(start, end, type = "") { return new Blob([this.#bytes.slice(start, end)], { type }); }
  stream() {
    const bytes = this.#bytes;
    return new ReadableStream({
      start(controller) {
        for (let at = 0; at < bytes.length; at += 65536) controller.enqueue(bytes.slice(at, at + 65536));
        controller.close();
      },
    });
  }
  get [Symbol.toStringTag]() { return "Blob"; }
  [Symbol.for("nodejs.util.inspect.custom")]() { return `Blob { size: ${this.size}, type: '${this.type}' }`; }
}

export class File extends Blob {
  #name;
  #lastModified;
  constructor(parts, name, options = {}) {
    super(parts, options);
    this.#name = String(name);
    this.#lastModified = options.lastModified ?? host.now();
  }
  get name() { return this.#name; }
  get lastModified() { return this.#lastModified; }
  get webkitRelativePath() { return ""; }
  get [Symbol.toStringTag]() { return "File"; }
}
