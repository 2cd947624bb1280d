// Hosts of URLs: names, IPv4 in all its spellings, IPv6; after the URL standard. Names are lower-cased and put into
// punycode, without the further mappings of Unicode's IDNA tables.
import host from "pi:host";

const FORBIDDEN = /[\u0000-\u0020\u007f#/:<>?@[\\\]^|%]/;
const FORBIDDEN_OPAQUE = /[\u0000\t\n\r #/:<>?@[\\\]^|]/;

/** The canonical host, or `undefined` for what is none. */
export function parseHost(text, isSpecial, encodeOpaque) {
  if (text.startsWith("[")) {
    if (!text.endsWith("]")) return undefined;
    const groups = parseIpv6(text.slice(1, -1));
    return groups && `[${printIpv6(groups)}]`;
  }
  if (!isSpecial) return FORBIDDEN_OPAQUE.test(text) ? undefined : encodeOpaque(text);
  const name = toAscii(percentDecode(text));
  if (name === undefined || name === "" || FORBIDDEN.test(name)) return undefined;
  const labels = name.split(".");
  if (labels.at(-1) === "" && labels.length > 1) labels.pop();
  const last = labels.at(-1);
  const isNumber = /^\d+$/.test(last) || /^0x[0-9a-f]*$/i.test(last);
  return isNumber ? parseIpv4(labels) : name;
}

function percentDecode(text) {
  if (!text.includes("%")) return text;
  const bytes = [];
  const source = host.utf8Encode(text);
  for (let i = 0; i < source.length; i++) {
    const pair = source[i] === 0x25 ? String.fromCharCode(source[i + 1] ?? 0, source[i + 2] ?? 0) : "";
    if (/^[0-9a-f]{2}$/i.test(pair)) {
      bytes.push(parseInt(pair, 16));
      i += 2;
    } else bytes.push(source[i]);
  }
  return host.utf8Decode(Uint8Array.from(bytes), false);
}

function toAscii(name) {
  const mapped = name.normalize("NFKC").toLowerCase().normalize("NFC").replace(/[\u3002\uff0e\uff61]/g, ".").replace(/\u00ad/g, "");
  if (mapped.includes("\ufffd")) return undefined;
  return mapped.split(".").map((label) => (/^[\x00-\x7f]*$/.test(label) ? label : `xn--${punycode(label)}`)).join(".");
}

// RFC 3492 with the parameters of IDNA.
function punycode(label) {
  const points = Array.from(label, (char) => char.codePointAt(0));
  let output = points.filter((point) => point < 128).map((point) => String.fromCodePoint(point)).join("");
  let [next, delta, bias, handled] = [128, 0, 72, output.length];
  const basics = handled;
  if (basics > 0) output += "-";
  while (handled < points.length) {
    const smallest = Math.min(...points.filter((point) => point >= next));
    delta += (smallest - next) * (handled + 1);
    next = smallest;
    for (const point of points) {
      if (point < next) delta++;
      if (point !== next) continue;
      let rest = delta;
      for (let k = 36; ; k += 36) {
        const limit = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
        if (rest < limit) break;
        output += digit(limit + ((rest - limit) % (36 - limit)));
        rest = Math.floor((rest - limit) / (36 - limit));
      }
      output += digit(rest);
      bias = adapt(delta, handled + 1, handled === basics);
      delta = 0;
      handled++;
    }
    delta++;
    next++;
  }
  return output;
}

const digit = (value) => String.fromCharCode(value < 26 ? value + 97 : value + 22);

function adapt(delta, count, isFirst) {
  let rest = isFirst ? Math.floor(delta / 700) : delta >> 1;
  rest += Math.floor(rest / count);
  let k = 0;
  for (; rest > 455; k += 36) rest = Math.floor(rest / 35);
  return k + Math.floor((36 * rest) / (rest + 38));
}

function parseIpv4(labels) {
  if (labels.length > 4) return undefined;
  const numbers = labels.map((label) => {
    if (/^0x[0-9a-f]*$/i.test(label)) return label.length === 2 ? 0 : parseInt(label, 16);
    if (/^0[0-7]+$/.test(label)) return parseInt(label, 8);
    return /^(0|[1-9]\d*)$/.test(label) ? Number(label) : NaN;
  });
  if (numbers.some(Number.isNaN) || numbers.slice(0, -1).some((number) => number > 255)) return undefined;
  const last = numbers.at(-1);
  if (last >= 256 ** (5 - numbers.length)) return undefined;
  let value = last;
  for (const [index, number] of numbers.slice(0, -1).entries()) value += number * 256 ** (3 - index);
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join(".");
}

function parseIpv6(text) {
  let body = text;
  const embedded = /^(.*:)(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text);
  if (embedded) {
    const bytes = embedded.slice(2).map(Number);
    if (bytes.some((byte) => byte > 255) || embedded.slice(2).some((part) => part.length > 1 && part.startsWith("0"))) return undefined;
    body = `${embedded[1]}${(bytes[0] * 256 + bytes[1]).toString(16)}:${(bytes[2] * 256 + bytes[3]).toString(16)}`;
  }
  const halves = body.split("::");
  if (halves.length > 2) return undefined;
  const groups = halves.map((half) => (half === "" ? [] : half.split(":")));
  if (groups.flat().some((group) => !/^[0-9a-f]{1,4}$/i.test(group))) return undefined;
  const count = groups.flat().length;
  if (halves.length === 1 ? count !== 8 : count > 7) return undefined;
  const filled = halves.length === 1 ? groups[0] : [...groups[0], ...Array(8 - count).fill("0"), ...groups[1]];
  return filled.map((group) => parseInt(group, 16));
}

function printIpv6(groups) {
  let best = { start: -1, length: 1 };
  for (let start = 0; start < 8; start++) {
    let length = 0;
    while (start + length < 8 && groups[start + length] === 0) length++;
    if (length > best.length) best = { start, length };
  }
  const hex = groups.map((group) => group.toString(16));
  if (best.start < 0) return hex.join(":");
  return `${hex.slice(0, best.start).join(":")}::${hex.slice(best.start + best.length).join(":")}`;
}
