// Headers.

const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

function checkName(name) {
  const text = String(name);
  if (!NAME.test(text)) throw new TypeError(`Headers: ${text} is an invalid header name.`);
  return text.toLowerCase();
}

function checkValue(value) {
  const text = String(value).replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, "");
  if (/[\0\n\r]|[^\u0000-\u00ff]/.test(text)) throw new TypeError(`Headers: "${text}" is an invalid header value.`);
  return text;
}

export class Headers {
  #list = [];
  constructor(init) {
    if (init === undefined || init === null) return;
    if (typeof init !== "object") throw new TypeError("Headers: the first argument must be a sequence or a record.");
    if (typeof init[Symbol.iterator] === "function") {
      for (const pair of init) {
        const [name, value, ...more] = [...pair];
        if (value === undefined || more.length > 0) throw new TypeError("Headers: expected name/value pair to be length 2.");
        this.append(name, value);
      }
    } else for (const name of Reflect.ownKeys(init)) this.append(name, init[name]);
  }
  append(name, value) { this.#list.push([checkName(name), checkValue(value)]); }
  set(name, value) {
    const [key, text] = [checkName(name), checkValue(value)];
    const at = this.#list.findIndex(([own]) => own === key);
    if (at < 0) this.#list.push([key, text]);
    else this.#list = this.#list.filter(([own], index) => index <= at || own !== key).map((own, index) => (index === at ? [key, text] : own));
  }
  delete(name) { const key = checkName(name); this.#list = this.#list.filter(([own]) => own !== key); }
  get(name) {
    const key = checkName(name);
    const found = this.#list.filter(([own]) => own === key).map(([, value]) => value);
    return found.length === 0 ? null : found.join(key === "cookie" ? "; " : ", ");
  }
  has(name) { const key = checkName(name); return this.#list.some(([own]) => own === key); }
  getSetCookie() { return this.#list.filter(([own]) => own === "set-cookie").map(([, value]) => value); }
  forEach(visit, self) { for (const [name, value] of this) visit.call(self, value, name, this); }
  *entries() {
    const names = [...new Set(this.#list.map(([name]) => name))].sort();
    for (const name of names) {
      if (name === "set-cookie") for (const value of this.getSetCookie()) yield [name, value];
      else yield [name, this.get(name)];
    }
  }
  *keys() { for (const [name] of this) yield name; }
  *values() { for (const [, value] of this) yield value; }
  [Symbol.iterator]() { return this.entries(); }
  get [Symbol.toStringTag]() { return "Headers"; }
  [Symbol.for("nodejs.util.inspect.custom")](depth, options, inspect) { return `Headers ${inspect(Object.fromEntries(this), options)}`; }
}
