// node:url: the URL of the web, conversions to paths, and the old parser on top of it.
import host from "pi:host";
import { stringify as stringifyQuery, parse as parseQuery } from "pi:shim/node/querystring";
import { URL, URLSearchParams } from "pi:shim/web/url";

export { URL, URLSearchParams };

const fault = (code, message, Kind = TypeError) => Object.assign(new Kind(message), { code });

export function fileURLToPath(value) {
  const url = typeof value === "string" ? new URL(value) : value;
  if (url === null || typeof url !== "object" || typeof url.href !== "string") {
    throw fault("ERR_INVALID_ARG_TYPE", `The "path" argument must be of type string or an instance of URL. Received ${value === null || value === undefined ? value : `type ${typeof value}`}`);
  }
  if (url.protocol !== "file:") throw fault("ERR_INVALID_URL_SCHEME", "The URL must be of scheme file");
  const isWindows = host.place.platform === "win32";
  if (/%2f/i.test(url.pathname) || (isWindows && /%5c/i.test(url.pathname))) throw fault("ERR_INVALID_FILE_URL_PATH", `File URL path must not include encoded ${isWindows ? "\\ or / characters" : "/ characters"}`);
  const path = decodeURIComponent(url.pathname);
  if (!isWindows) {
    if (url.hostname !== "") throw fault("ERR_INVALID_FILE_URL_HOST", `File URL host must be "localhost" or empty on ${host.place.platform}`);
    return path;
  }
  const local = path.replace(/\//g, "\\");
  if (url.hostname !== "") return `\\\\${url.hostname}${local}`;
  if (!/^\\[a-zA-Z]:/.test(local)) throw fault("ERR_INVALID_FILE_URL_PATH", "File URL path must be absolute");
  return local.slice(1);
}

export function pathToFileURL(path) {
  const { resolve, sep } = host.load("pi:shim/node/path");
  let full = resolve(path);
  if (/[/\\]$/.test(path) && !full.endsWith(sep)) full += sep;
  const url = new URL("file:///");
  url.pathname = full.replace(/%/g, "%25").replace(/\\/g, host.place.platform === "win32" ? "/" : "%5C").replace(/\n/g, "%0A").replace(/\r/g, "%0D").replace(/\t/g, "%09").replace(/\?/g, "%3F").replace(/#/g, "%23");
  return url;
}

export function urlToHttpOptions(url) {
  const options = {
    protocol: url.protocol, hostname: url.hostname.replace(/^\[|\]$/g, ""), hash: url.hash, search: url.search, pathname: url.pathname,
    path: `${url.pathname}${url.search}`, href: url.href,
  };
  if (url.port !== "") options.port = Number(url.port);
  if (url.username || url.password) options.auth = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return options;
}

export function Url() {
  for (const name of ["protocol", "slashes", "auth", "host", "port", "hostname", "hash", "search", "query", "pathname", "path", "href"]) this[name] = null;
}
Url.prototype.format = function () { return format(this); };
Url.prototype.resolve = function (to) { return resolve(this.format(), to); };

/** The old parser: never fails, and leaves out what is not there. */
export function parse(text, withQuery = false, slashesDenoteHost = false) {
  if (text instanceof Url) return text;
  if (typeof text !== "string") throw fault("ERR_INVALID_ARG_TYPE", `The "url" argument must be of type string. Received ${text === null || text === undefined ? text : `type ${typeof text}`}`);
  const result = new Url();
  let rest = text.trim().replace(/\\(?=[^?#]*)/g, (slash, at) => (text.slice(0, at).match(/[?#]/) ? slash : "/"));
  const take = (pattern) => {
    const found = pattern.exec(rest);
    if (found) rest = rest.slice(0, found.index);
    return found?.[0] ?? null;
  };
  result.hash = take(/#.*$/s);
  result.search = take(/\?.*$/s);
  const scheme = /^([a-z0-9.+-]+:)/i.exec(rest);
  if (scheme) {
    result.protocol = scheme[0].toLowerCase();
    rest = rest.slice(scheme[0].length);
  }
  const isWeb = /^(https?|ftp|wss?|file):$/.test(result.protocol ?? "");
  if (rest.startsWith("//") && (scheme || slashesDenoteHost || /^\/\/[^@/]+@[^@/]+/.test(rest)) && !/^javascript:$/.test(result.protocol ?? "")) {
    result.slashes = true;
    const [, authority, path] = /^\/\/([^/]*)(.*)$/s.exec(rest);
    const at = authority.lastIndexOf("@");
    if (at >= 0) result.auth = decodeURIComponent(authority.slice(0, at));
    const [, name, port] = /^(\[[^\]]*\]|[^:]*)(?::(\d*))?/.exec(authority.slice(at + 1));
    result.port = port || null;
    result.hostname = name.replace(/^\[|\]$/g, "").toLowerCase();
    result.host = `${name.toLowerCase()}${port ? `:${port}` : ""}`;
    rest = path;
  }
  result.pathname = rest !== "" ? rest.replace(/[ "<>`{}|^']/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`) : isWeb && result.hostname ? "/" : null;
  if (result.search !== null) result.search = result.search.replace(/[ "<>`{}|^']/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
  if (withQuery) {
    result.query = parseQuery(result.search?.slice(1) ?? "");
    result.search ??= "";
  } else result.query = result.search === null ? null : result.search.slice(1);
  result.path = result.pathname !== null || result.search ? `${result.pathname ?? ""}${result.search ?? ""}` : null;
  result.href = format(result);
  return result;
}

export function format(value, options) {
  if (typeof value === "string") value = parse(value);
  if (value instanceof URL) {
    const { auth = true, fragment = true, search = true } = options ?? {};
    const copy = new URL(value.href);
    if (!auth) copy.username = copy.password = "";
    if (!fragment) copy.hash = "";
    if (!search) copy.search = "";
    return copy.href;
  }
  const protocol = value.protocol ? (value.protocol.endsWith(":") ? value.protocol : `${value.protocol}:`) : "";
  const auth = value.auth ? `${encodeURIComponent(value.auth).replace(/%3A/i, ":")}@` : "";
  let place = "";
  if (value.host) place = auth + value.host;
  else if (value.hostname) place = `${auth}${value.hostname.includes(":") ? `[${value.hostname}]` : value.hostname}${value.port ? `:${value.port}` : ""}`;
  const isWeb = /^(https?|ftp|wss?|file|gopher):?$/.test(protocol);
  let path = value.pathname ?? "";
  const query = value.query !== null && typeof value.query === "object" && Object.keys(value.query).length > 0 ? stringifyQuery(value.query) : "";
  let search = value.search || (query ? `?${query}` : "");
  if (search && !search.startsWith("?")) search = `?${search}`;
  let hash = value.hash ?? "";
  if (hash && !hash.startsWith("#")) hash = `#${hash}`;
  if (value.slashes || ((!protocol || isWeb) && place !== "")) {
    place = `//${place}`;
    if (path && !path.startsWith("/")) path = `/${path}`;
  }
  return `${protocol}${place}${path.replace(/[?#]/g, encodeURIComponent)}${search.replace("#", "%23")}${hash}`;
}

export function resolve(from, to) {
  const base = new URL(from, "resolve://base");
  const url = new URL(to, base);
  if (url.protocol !== "resolve:") return url.href;
  const text = `${url.pathname}${url.search}${url.hash}`;
  return from.startsWith("/") || to.startsWith("/") ? text : text.slice(1);
}
export const resolveObject = (from, to) => parse(resolve(from, to));
export const domainToASCII = (domain) => {
  try {
    return new URL(`http://${domain}`).hostname;
  } catch {
    return "";
  }
};
export const domainToUnicode = (domain) => domain;

export default { URL, URLSearchParams, fileURLToPath, pathToFileURL, urlToHttpOptions, Url, parse, format, resolve, resolveObject, domainToASCII, domainToUnicode };
