// What Request and Response have in common: a body that can be read once, as a stream or as a whole.
import host from "pi:host";
import { Blob } from "pi:shim/web/blob";
import { decodeForm, encodeForm, FormData } from "pi:shim/web/form";
import { isDisturbed, ReadableStream } from "pi:shim/web/streams/readable";
import { URLSearchParams } from "pi:shim/web/url/params";

/** What was handed over as a body: its bytes or its stream, and the type that follows from it. */
export function readBody(body) {
  if (body === undefined || body === null) return {};
  if (body instanceof ReadableStream) return { stream: body };
  if (body instanceof Blob) return { bytes: Blob.bytesOf(body), type: body.type || undefined };
  if (body instanceof FormData) {
    const { body: bytes, type } = encodeForm(body);
    return { bytes, type };
  }
  if (body instanceof URLSearchParams) return { bytes: host.utf8Encode(body.toString()), type: "application/x-www-form-urlencoded;charset=UTF-8" };
  if (ArrayBuffer.isView(body)) return { bytes: new Uint8Array(body.buffer.slice(body.byteOffset, body.byteOffset + body.byteLength)) };
  if (body instanceof ArrayBuffer) return { bytes: new Uint8Array(body.slice(0)) };
  if (typeof body?.[Symbol.asyncIterator] === "function" || body?._readableState) return { stream: ReadableStream.from(body) };
  return { bytes: host.utf8Encode(String(body)), type: "text/plain;charset=UTF-8" };
}

export async function collect(stream) {
  const chunks = [];
  let size = 0;
  for await (const chunk of stream) {
    const bytes = typeof chunk === "string" ? host.utf8Encode(chunk) : chunk;
    if (!(bytes instanceof Uint8Array)) throw new TypeError("Received non-Uint8Array chunk");
    chunks.push(bytes);
    size += bytes.length;
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

export class Body {
  #bytes;
  #stream;
  #isUsed = false;
  constructor({ bytes, stream } = {}) {
    this.#bytes = bytes;
    this.#stream = stream;
  }
  get body() {
    if (!this.#stream && this.#bytes) {
      const bytes = this.#bytes;
      this.#stream = new ReadableStream({ start(controller) { if (bytes.length > 0) controller.enqueue(bytes); controller.close(); } });
    }
    return this.#stream ?? null;
  }
  get bodyUsed() { return this.#isUsed || (this.#stream ? isDisturbed(this.#stream) : false); }
  async bytes() {
    if (this.bodyUsed || this.#stream?.locked) throw new TypeError("Body is unusable: Body has already been read");
    this.#isUsed = this.#bytes !== undefined || this.#stream !== undefined;
    if (this.#bytes && !this.#stream) return this.#bytes;
    return this.#stream ? collect(this.#stream) : new Uint8Array(0);
  }
  async arrayBuffer() {
    const bytes = await this.bytes();
    return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  }
  async text() { return host.utf8Decode(await this.bytes(), false).replace(/^\ufeff/, ""); }
  async json() { return JSON.parse(await this.text()); }
  async blob() { return new Blob([await this.bytes()], { type: this.headers.get("content-type") ?? "" }); }
  async formData() { return decodeForm(await this.bytes(), this.headers.get("content-type") ?? ""); }

  /** The parts of a copy; a stream is split between the two. */
  static split(own) {
    if (own.bodyUsed || own.#stream?.locked) throw new TypeError("Response.clone: Body has already been consumed.");
    if (!own.#stream) return { bytes: own.#bytes };
    const [mine, other] = own.#stream.tee();
    own.#stream = mine;
    return { stream: other };
  }
  static contentOf(own) { return { bytes: own.#bytes, stream: own.#stream }; }
}
