// FormData, and its form on the wire.
import host from "pi:host";
import { Blob, File } from "pi:shim/web/blob";

export class FormData {
  #entries = [];
  #make(name, value, filename) {
    if (!(value instanceof Blob)) return [String(name), String(value)];
    const file = value instanceof File && filename === undefined ? value : new File([value], filename ?? value.name ?? "blob", { type: value.type });
    return [String(name), file];
  }
  append(name, value, filename) { this.#entries.push(this.#make(name, value, filename)); }
  set(name, value, filename) {
    const entry = this.#make(name, value, filename);
    const at = this.#entries.findIndex(([own]) => own === entry[0]);
    if (at < 0) this.#entries.push(entry);
    else this.#entries = this.#entries.filter(([own], index) => index <= at || own !== entry[0]).map((own, index) => (index === at ? entry : own));
  }
  delete(name) { this.#entries = this.#entries.filter(([own]) => own !== String(name)); }
  get(name) { return this.#entries.find(([own]) => own === String(name))?.[1] ?? null; }
  getAll(name) { return this.#entries.filter(([own]) => own === String(name)).map(([, value]) => value); }
  has(name) { return this.#entries.some(([own]) => own === String(name)); }
  forEach(visit, self) { for (const [name, value] of this) visit.call(self, value, name, this); }
  *entries() { yield* this.#entries.map((entry) => [...entry]); }
  *keys() { for (const [name] of this.#entries) yield name; }
  *values() { for (const [, value] of this.#entries) yield value; }
  [Symbol.iterator]() { return this.entries(); }
  get [Symbol.toStringTag]() { return "FormData"; }
}

const quoted = (text) => text.replace(/\n/g, "%0A").replace(/\r/g, "%0D").replace(/"/g, "%22");

/** multipart/form-data: the bytes and their type. */
export function encodeForm(form) {
  const boundary = `----formdata-pi-${Array.from(host.unique(12), (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
  const parts = [];
  for (const [name, value] of form) {
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(name)}"`;
    if (typeof value === "string") parts.push(`${head}\r\n\r\n${value.replace(/\r?\n|\r/g, "\r\n")}\r\n`);
    else parts.push(`${head}; filename="${quoted(value.name)}"\r\nContent-Type: ${value.type || "application/octet-stream"}\r\n\r\n`, value, "\r\n");
  }
  parts.push(`--${boundary}--\r\n`);
  return { body: Blob.bytesOf(new Blob(parts)), type: `multipart/form-data; boundary=${boundary}` };
}

/** The way back, for `response.formData()`. */
export function decodeForm(bytes, type) {
  const form = new FormData();
  if (/^application\/x-www-form-urlencoded/i.test(type)) {
    const { URLSearchParams } = host.load("pi:shim/web/url");
    for (const [name, value] of new URLSearchParams(host.utf8Decode(bytes, false))) form.append(name, value);
    return form;
  }
  const boundary = /boundary="?([^";]+)"?/i.exec(type)?.[1];
  if (!/^multipart\/form-data/i.test(type) || !boundary) throw new TypeError(`Content-Type was not one of "multipart/form-data" or "application/x-www-form-urlencoded".`);
  const { Buffer } = host.load("pi:shim/node/buffer/bytes");
  const text = Buffer.from(bytes).toString("latin1");
  for (const part of text.split(`--${boundary}`).slice(1, -1)) {
    const at = part.indexOf("\r\n\r\n");
    const head = Buffer.from(part.slice(0, at), "latin1").toString();
    const content = Buffer.from(part.slice(at + 4, -2), "latin1");
    const name = /name="([^"]*)"/i.exec(head)?.[1] ?? "";
    const filename = /filename="([^"]*)"/i.exec(head)?.[1];
    if (filename === undefined) form.append(name, content.toString());
    else form.append(name, new File([content], filename, { type: /content-type:\s*(\S+)/i.exec(head)?.[1] ?? "" }));
  }
  return form;
}
