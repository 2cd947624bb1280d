// Texts to the parts of a URL, after the URL standard.
import host from "pi:host";
import { parseHost } from "pi:shim/web/url/host";

export const PORTS = { "ftp:": "21", "http:": "80", "https:": "443", "ws:": "80", "wss:": "443", "file:": "" };
export const isSpecial = (protocol) => protocol in PORTS;

const CONTROL = "\u0000-\u001f\u007f-\u{10ffff}";
const SETS = {
  control: new RegExp(`[${CONTROL}]`, "u"),
  fragment: new RegExp(`[${CONTROL} "<>\`]`, "u"),
  query: new RegExp(`[${CONTROL} "#<>]`, "u"),
  specialQuery: new RegExp(`[${CONTROL} "#<>']`, "u"),
  path: new RegExp(`[${CONTROL} "#<>?\`{}^]`, "u"),
  userinfo: new RegExp(`[${CONTROL} "#<>?\`{}/:;=@[\\\\\\]^|]`, "u"),
};

/** Percent-encodes what a part of a URL may not contain. */
export function encode(text, set) {
  const pattern = SETS[set];
  let result = "";
  for (const char of text) {
    if (!pattern.test(char)) {
      result += char;
      continue;
    }
    for (const byte of host.utf8Encode(char)) result += `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return result;
}

const DRIVE = /^[a-zA-Z][:|]$/;
const STARTS_WITH_DRIVE = /^[a-zA-Z][:|](?:[/\\?#]|$)/;
const isDot = (part) => /^(?:\.|%2e)$/i.test(part);
const isDoubleDot = (part) => /^(?:\.|%2e)(?:\.|%2e)$/i.test(part);

/**
 * @typedef {{protocol: string, username: string, password: string, host: string|null, port: string, path: string[]|string,
 *   query: string|null, fragment: string|null}} Parts `path` is a text if the URL has no hierarchy
 */

/** @returns {Parts|undefined} */
export function parse(input, base) {
  const text = input.replace(/^[\u0000- ]+|[\u0000- ]+$/g, "").replace(/[\t\n\r]/g, "");
  const hash = text.indexOf("#");
  const fragment = hash < 0 ? null : encode(text.slice(hash + 1), "fragment");
  const body = hash < 0 ? text : text.slice(0, hash);
  const scheme = /^([a-zA-Z][a-zA-Z0-9+.-]*):/.exec(body);
  if (scheme) {
    const protocol = scheme[0].toLowerCase();
    const rest = body.slice(scheme[0].length);
    // "https:path" is relative to a base of the same scheme.
    const isRelative = isSpecial(protocol) && base?.protocol === protocol && !/^[/\\]{2}/.test(rest) && protocol !== "file:";
    return isRelative ? relative(rest, base, fragment) : absolute(protocol, rest, fragment, base);
  }
  if (!base) return undefined;
  if (typeof base.path === "string") return body === "" && hash >= 0 ? { ...base, fragment } : undefined;
  return relative(body, base, fragment);
}

function splitQuery(text, protocol) {
  const at = text.indexOf("?");
  if (at < 0) return [text, null];
  return [text.slice(0, at), encode(text.slice(at + 1), isSpecial(protocol) ? "specialQuery" : "query")];
}

function absolute(protocol, rest, fragment, base) {
  const special = isSpecial(protocol);
  const parts = { protocol, username: "", password: "", host: null, port: "", path: [], query: null, fragment };
  if (protocol === "file:") return fileUrl(rest, parts, base);
  if (special || rest.startsWith("//")) {
    const behind = special ? rest.replace(/^[/\\]+/, "") : rest.slice(2);
    return withAuthority(behind, parts, special);
  }
  const [path, query] = splitQuery(rest, protocol);
  parts.query = query;
  if (path.startsWith("/")) parts.path = segments(path, [], protocol);
  else parts.path = encode(path, "control");
  return parts;
}

function withAuthority(text, parts, special) {
  const end = text.search(special ? /[/\\?]/ : /[/?]/);
  const authority = end < 0 ? text : text.slice(0, end);
  const rest = end < 0 ? "" : text.slice(end);
  const at = authority.lastIndexOf("@");
  const place = authority.slice(at + 1);
  if (at >= 0) {
    const [, name, password] = /^([^:]*)(?::([\s\S]*))?$/.exec(authority.slice(0, at));
    parts.username = encode(name, "userinfo");
    parts.password = encode(password ?? "", "userinfo");
    if (place === "") return undefined;
  }
  const [, name, port] = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/s.exec(place) ?? [];
  if (name === undefined || (special && name === "")) return undefined;
  if (name === "" && port !== undefined) return undefined;
  parts.host = name === "" ? "" : parseHost(name, special, (own) => encode(own, "control"));
  if (parts.host === undefined) return undefined;
  if (port !== undefined) {
    if (!/^\d*$/.test(port) || Number(port) > 65535) return undefined;
    parts.port = port === "" || PORTS[parts.protocol] === String(Number(port)) ? "" : String(Number(port));
  }
  const [path, query] = splitQuery(rest, parts.protocol);
  parts.query = query;
  parts.path = path === "" ? (special ? [""] : []) : segments(path, [], parts.protocol);
  return parts;
}

function fileUrl(rest, parts, base) {
  const own = base?.protocol === "file:" ? base : undefined;
  parts.host = "";
  const [text, query] = splitQuery(rest, "file:");
  parts.query = query;
  if (/^[/\\]{2}/.test(text)) {
    const behind = text.slice(2);
    if (STARTS_WITH_DRIVE.test(behind)) return { ...parts, path: segments(behind, [], "file:") };
    const [, name, path] = /^([^/\\]*)([\s\S]*)$/.exec(behind);
    const host = name === "" ? "" : parseHost(name, true);
    if (host === undefined) return undefined;
    return { ...parts, host: host === "localhost" ? "" : host, path: segments(path, [], "file:") };
  }
  if (/^[/\\]/.test(text)) {
    const drive = own && !STARTS_WITH_DRIVE.test(text.slice(1)) && /^[a-zA-Z]:$/.test(own.path[0] ?? "") ? [own.path[0]] : [];
    return { ...parts, host: own?.host ?? "", path: segments(text, drive, "file:") };
  }
  if (!own) return { ...parts, path: segments(text, [], "file:") };
  if (text === "") return { ...parts, host: own.host, path: own.path.slice(), query: query ?? (rest.includes("?") ? query : own.query) };
  const start = STARTS_WITH_DRIVE.test(text) ? [] : own.path.slice(0, -1);
  return { ...parts, host: own.host, path: segments(text, start, "file:") };
}

function relative(text, base, fragment) {
  const { protocol } = base;
  const special = isSpecial(protocol);
  if (protocol === "file:") return fileUrl(text, { protocol, username: "", password: "", host: "", port: "", path: [], query: null, fragment }, base);
  const slashes = special ? /^[/\\]{2}/ : /^\/\//;
  if (slashes.test(text)) return withAuthority(special ? text.replace(/^[/\\]+/, "") : text.slice(2), { protocol, username: "", password: "", host: null, port: "", path: [], query: null, fragment }, special);
  const [path, query] = splitQuery(text, protocol);
  if (path === "") return { ...base, path: base.path.slice(), query: text.includes("?") ? query : base.query, fragment };
  const isRooted = special ? /^[/\\]/.test(path) : path.startsWith("/");
  return { ...base, path: segments(path, isRooted ? [] : base.path.slice(0, -1), protocol), query, fragment };
}

/** Adds the parts of a path to those before it, with `.` and `..` taken out. */
export function segments(text, before, protocol) {
  const special = isSpecial(protocol);
  const path = before.slice();
  const parts = (special ? text.replace(/\\/g, "/") : text).split("/");
  if (parts[0] === "" && parts.length > 1) parts.shift();
  for (const [index, part] of parts.entries()) {
    const isLast = index === parts.length - 1;
    if (isDoubleDot(part)) {
      if (!(protocol === "file:" && path.length === 1 && /^[a-zA-Z]:$/.test(path[0]))) path.pop();
      if (isLast) path.push("");
    } else if (isDot(part)) {
      if (isLast) path.push("");
    } else if (protocol === "file:" && path.length === 0 && DRIVE.test(part)) path.push(`${part[0]}:`);
    else path.push(encode(part, "path"));
  }
  return path;
}
