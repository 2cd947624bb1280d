// URLSearchParams.
import host from "pi:host";

function decode(text) {
  const spaced = text.replace(/\+/g, " ");
  if (!spaced.includes("%")) return spaced.toWellFormed?.() ?? spaced;
  const source = host.utf8Encode(spaced);
  const bytes = [];
  for (let i = 0; i < source.length; i++) {
    const pair = source[i] === 0x25 && i + 2 < source.length ? String.fromCharCode(source[i + 1], source[i + 2]) : "";
    if (/^[0-9a-f]{2}$/i.test(pair)) {
      bytes.push(parseInt(pair, 16));
      i += 2;
    } else bytes.push(source[i]);
  }
  return host.utf8Decode(Uint8Array.from(bytes), false);
}

function encode(text) {
  let result = "";
  for (const byte of host.utf8Encode(text)) {
    const char = String.fromCharCode(byte);
    if (byte < 128 && /[A-Za-z0-9*\-._]/.test(char)) result += char;
    else result += char === " " ? "+" : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return result;
}

const wellFormed = (value) => String(value).toWellFormed?.() ?? String(value);

export class URLSearchParams {
  #pairs = [];
  #changed;
  constructor(init) {
    if (init === undefined || init === null) return;
    if (typeof init !== "object" && typeof init !== "function") this.#read(String(init));
    else if (typeof init[Symbol.iterator] === "function") {
      for (const pair of init) {
        const [name, value, ...more] = [...pair];
        if (value === undefined || more.length > 0) throw Object.assign(new TypeError("Each query pair must be an iterable [name, value] tuple"), { code: "ERR_INVALID_TUPLE" });
        this.#pairs.push([wellFormed(name), wellFormed(value)]);
      }
    } else for (const name of Object.keys(init)) this.#pairs.push([wellFormed(name), wellFormed(init[name])]);
  }
  #read(text) {
    this.#pairs = text.replace(/^\?/, "").split("&").filter((part) => part !== "").map((part) => {
      const at = part.indexOf("=");
      return at < 0 ? [decode(part), ""] : [decode(part.slice(0, at)), decode(part.slice(at + 1))];
    });
  }
  /** For URL: reads a query without telling of a change, and tells of later changes. */
  static bind(params, text, changed) {
    params.#read(text);
    params.#changed = changed;
  }
  get size() { return this.#pairs.length; }
  append(name, value) { this.#pairs.push([wellFormed(name), wellFormed(value)]); this.#changed?.(); }
  delete(name, value) {
    this.#pairs = this.#pairs.filter(([own, its]) => own !== String(name) || (value !== undefined && its !== String(value)));
    this.#changed?.();
  }
  get(name) { return this.#pairs.find(([own]) => own === String(name))?.[1] ?? null; }
  getAll(name) { return this.#pairs.filter(([own]) => own === String(name)).map(([, value]) => value); }
  has(name, value) { return this.#pairs.some(([own, its]) => own === String(name) && (value === undefined || its === String(value))); }
  set(name, value) {
    const at = this.#pairs.findIndex(([own]) => own === String(name));
    if (at < 0) this.#pairs.push([wellFormed(name), wellFormed(value)]);
    else this.#pairs = this.#pairs.filter(([own], index) => index <= at || own !== String(name)).map((pair, index) => (index === at ? [pair[0], wellFormed(value)] : pair));
    this.#changed?.();
  }
  sort() {
    this.#pairs.sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0));
    this.#changed?.();
  }
  forEach(visit, self) { for (let i = 0; i < this.#pairs.length; i++) visit.call(self, this.#pairs[i][1], this.#pairs[i][0], this); }
  *entries() { for (let i = 0; i < this.#pairs.length; i++) yield [...this.#pairs[i]]; }
  // None asks another: what a class made of this one has in their place may ask each of them.
  *keys() { for (let i = 0; i < this.#pairs.length; i++) yield this.#pairs[i][0]; }
  *values() { for (let i = 0; i < this.#pairs.length; i++) yield this.#pairs[i][1]; }
  *[Symbol.iterator]() { for (let i = 0; i < this.#pairs.length; i++) yield [...this.#pairs[i]]; }
  toString() { return this.#pairs.map(([name, value]) => `${encode(name)}=${encode(value)}`).join("&"); }
  get [Symbol.toStringTag]() { return "URLSearchParams"; }
  [Symbol.for("nodejs.util.inspect.custom")](depth, options, inspect) {
    if (this.#pairs.length === 0) return "URLSearchParams {}";
    return `URLSearchParams { ${this.#pairs.map(([name, value]) => `${inspect(name, options)} => ${inspect(value, options)}`).join(", ")} }`;
  }
}
