// node:querystring.

export function unescape(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text.replace(/%[0-9a-fA-F]{2}/g, (code) => String.fromCharCode(parseInt(code.slice(1), 16)));
  }
}

export function escape(value) {
  const text = typeof value === "string" ? value : typeof value === "object" ? String(value) : `${value}`;
  try {
    return encodeURIComponent(text);
  } catch {
    throw Object.assign(new URIError("URI malformed"), { code: "ERR_INVALID_URI" });
  }
}

const plain = (value) => (typeof value === "string" ? value : typeof value === "number" && Number.isFinite(value) ? `${value}` : typeof value === "bigint" || typeof value === "boolean" ? `${value}` : "");

export function stringify(object, separator = "&", equals = "=", options) {
  if (object === null || typeof object !== "object") return "";
  const encode = options?.encodeURIComponent ?? module.escape;
  const parts = [];
  for (const [key, value] of Object.entries(object)) {
    const name = encode(plain(key)) + (equals || "=");
    for (const item of Array.isArray(value) ? value : [value]) parts.push(name + encode(plain(item)));
  }
  return parts.join(separator || "&");
}

export function parse(text, separator = "&", equals = "=", options) {
  const result = Object.create(null);
  if (typeof text !== "string" || text === "") return result;
  const decode = options?.decodeURIComponent ?? module.unescape;
  const safely = (part) => {
    try {
      return decode(part);
    } catch {
      return unescape(part);
    }
  };
  const limit = options?.maxKeys ?? 1000;
  let parts = text.split(separator || "&");
  if (limit > 0) parts = parts.slice(0, limit);
  for (const part of parts) {
    if (part === "") continue;
    const spaced = part.replace(/\+/g, " ");
    const mark = equals || "=";
    const at = spaced.indexOf(mark);
    const key = safely(at < 0 ? spaced : spaced.slice(0, at));
    const value = at < 0 ? "" : safely(spaced.slice(at + mark.length));
    if (!(key in result)) result[key] = value;
    else if (Array.isArray(result[key])) result[key].push(value);
    else result[key] = [result[key], value];
  }
  return result;
}

export const encode = stringify;
export const decode = parse;
const module = { escape, unescape, stringify, parse, encode, decode };
export default module;
