// URL and URLSearchParams.
import { encode, isSpecial, parse, PORTS, segments } from "pi:shim/web/url/parse";
import { parseHost } from "pi:shim/web/url/host";
import { URLSearchParams } from "pi:shim/web/url/params";

export { URLSearchParams };

const invalid = (input, base) => Object.assign(new TypeError("Invalid URL"), { code: "ERR_INVALID_URL", input, ...(base !== undefined && { base }) });

function pathText({ path, host }) {
  if (typeof path === "string") return path;
  // Without a host a path that begins with two slashes would read as one.
  const guard = host === null && path.length > 1 && path[0] === "" ? "/." : "";
  return guard + path.map((part) => `/${part}`).join("");
}

function print(parts, withFragment = true) {
  const user = parts.username !== "" || parts.password !== "" ? `${parts.username}${parts.password === "" ? "" : `:${parts.password}`}@` : "";
  const place = parts.host === null ? "" : `//${user}${parts.host}${parts.port === "" ? "" : `:${parts.port}`}`;
  return `${parts.protocol}${place}${pathText(parts)}${parts.query === null ? "" : `?${parts.query}`}${withFragment && parts.fragment !== null ? `#${parts.fragment}` : ""}`;
}

export class URL {
  #parts;
  #params;

  constructor(input, base) {
    if (arguments.length === 0) throw Object.assign(new TypeError('The "url" argument must be specified'), { code: "ERR_MISSING_ARGS" });
    const text = `${input}`;
    let basis;
    if (base !== undefined) {
      basis = parse(`${base}`);
      if (!basis) throw invalid(text, `${base}`);
    }
    this.#parts = parse(text, basis);
    if (!this.#parts) throw invalid(text, base === undefined ? undefined : `${base}`);
  }

  static canParse(input, base) {
    try {
      return new URL(input, base) !== undefined;
    } catch {
      return false;
    }
  }
  static parse(input, base) {
    try {
      return new URL(input, base);
    } catch {
      return null;
    }
  }
  static createObjectURL() { throw Object.assign(new Error("URL.createObjectURL is not available to an extension; pass the Blob itself"), { code: "ERR_NOT_AVAILABLE" }); }
  static revokeObjectURL() {}

  get href() { return print(this.#parts); }
  set href(value) {
    const parts = parse(`${value}`);
    if (!parts) throw invalid(`${value}`);
    this.#parts = parts;
    this.#refresh();
  }
  get origin() {
    const { protocol, host, port, path } = this.#parts;
    if (protocol === "blob:" && typeof path === "string" && URL.canParse(path)) return new URL(path).origin;
    return isSpecial(protocol) && protocol !== "file:" ? `${protocol}//${host}${port === "" ? "" : `:${port}`}` : "null";
  }
  get protocol() { return this.#parts.protocol; }
  set protocol(value) {
    const scheme = /^([a-zA-Z][a-zA-Z0-9+.-]*)(?::|$)/.exec(`${value}`);
    if (!scheme) return;
    const protocol = `${scheme[1].toLowerCase()}:`;
    if (isSpecial(protocol) !== isSpecial(this.#parts.protocol)) return;
    this.#parts.protocol = protocol;
    if (PORTS[protocol] === this.#parts.port) this.#parts.port = "";
  }
  get username() { return this.#parts.username; }
  set username(value) { if (this.#hasAuthority()) this.#parts.username = encode(`${value}`, "userinfo"); }
  get password() { return this.#parts.password; }
  set password(value) { if (this.#hasAuthority()) this.#parts.password = encode(`${value}`, "userinfo"); }
  #hasAuthority() { return !!this.#parts.host && this.#parts.protocol !== "file:"; }

  get host() { return this.#parts.host === null ? "" : `${this.#parts.host}${this.#parts.port === "" ? "" : `:${this.#parts.port}`}`; }
  set host(value) {
    const [, name, port] = /^(\[[^\]]*\]|[^:/?#\\]*)(?::(\d*))?/.exec(`${value}`) ?? [];
    if (!this.#setHost(name)) return;
    if (port) this.port = port;
  }
  get hostname() { return this.#parts.host ?? ""; }
  set hostname(value) { this.#setHost(/^(\[[^\]]*\]|[^:/?#\\]*)/.exec(`${value}`)?.[1]); }
  #setHost(name) {
    if (typeof this.#parts.path === "string" || name === undefined) return false;
    const special = isSpecial(this.#parts.protocol);
    if (name === "" && special && this.#parts.protocol !== "file:") return false;
    const host = name === "" ? "" : parseHost(name, special, (own) => encode(own, "control"));
    if (host === undefined) return false;
    this.#parts.host = host;
    return true;
  }
  get port() { return this.#parts.port; }
  set port(value) {
    if (!this.#hasAuthority()) return;
    const text = `${value}`;
    if (text === "") this.#parts.port = "";
    const digits = /^\d+/.exec(text)?.[0];
    if (digits === undefined || Number(digits) > 65535) return;
    const port = String(Number(digits));
    this.#parts.port = PORTS[this.#parts.protocol] === port ? "" : port;
  }
  get pathname() { return typeof this.#parts.path === "string" ? this.#parts.path : this.#parts.path.map((part) => `/${part}`).join(""); }
  set pathname(value) {
    if (typeof this.#parts.path === "string") return;
    const text = `${value}`;
    this.#parts.path = text === "" && !isSpecial(this.#parts.protocol) ? [] : segments(text, [], this.#parts.protocol);
  }
  get search() { return this.#parts.query ? `?${this.#parts.query}` : ""; }
  set search(value) {
    const text = `${value}`.replace(/^\?/, "");
    this.#parts.query = `${value}` === "" ? null : encode(text, isSpecial(this.#parts.protocol) ? "specialQuery" : "query");
    this.#refresh();
  }
  get searchParams() {
    if (!this.#params) {
      this.#params = new URLSearchParams();
      URLSearchParams.bind(this.#params, this.#parts.query ?? "", () => {
        const text = this.#params.toString();
        this.#parts.query = text === "" ? null : text;
      });
    }
    return this.#params;
  }
  #refresh() { if (this.#params) URLSearchParams.bind(this.#params, this.#parts.query ?? "", () => { this.#parts.query = this.#params.toString() || null; }); }
  get hash() { return this.#parts.fragment ? `#${this.#parts.fragment}` : ""; }
  set hash(value) {
    const text = `${value}`.replace(/^#/, "");
    this.#parts.fragment = `${value}` === "" ? null : encode(text, "fragment");
  }
  toString() { return this.href; }
  toJSON() { return this.href; }
  get [Symbol.toStringTag]() { return "URL"; }
  [Symbol.for("nodejs.util.inspect.custom")](depth, options, inspect) {
    if (depth < 0) return "URL {}";
    const { href, origin, protocol, username, password, host, hostname, port, pathname, search, searchParams, hash } = this;
    const shown = inspect({ href, origin, protocol, username, password, host, hostname, port, pathname, search, searchParams, hash }, options);
    return `URL ${shown}`;
  }
}
for (const name of ["href", "origin", "protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "searchParams", "hash", "toString", "toJSON"]) {
  Object.defineProperty(URL.prototype, name, { enumerable: true });
}
