// Intl.NumberFormat in English; plain numbers with the signs of some other locales.
import { chosen, supported } from "pi:shim/web/intl/locale";

const SYMBOLS = { USD: "$", EUR: "€", GBP: "£", JPY: "¥", INR: "₹", CNY: "CN¥", KRW: "₩", BRL: "R$", CAD: "CA$", AUD: "A$", MXN: "MX$", ILS: "₪", VND: "₫", NZD: "NZ$", TWD: "NT$", PHP: "₱", HKD: "HK$", XAF: "FCFA" };
const UNITS = {
  byte: ["byte", "byte", "B"], kilobyte: ["kilobyte", "kB", "kB"], megabyte: ["megabyte", "MB", "MB"], gigabyte: ["gigabyte", "GB", "GB"], terabyte: ["terabyte", "TB", "TB"],
  second: ["second", "sec", "s"], millisecond: ["millisecond", "ms", "ms"], minute: ["minute", "min", "m"], hour: ["hour", "hr", "h"], day: ["day", "day", "d"], week: ["week", "wk", "w"], month: ["month", "mth", "m"], year: ["year", "yr", "y"],
  percent: ["percent", "%", "%"], meter: ["meter", "m", "m"], kilometer: ["kilometer", "km", "km"], celsius: ["degree Celsius", "°C", "°C"], kilogram: ["kilogram", "kg", "kg"],
};
const COMPACT = [["T", 1e12, "trillion"], ["B", 1e9, "billion"], ["M", 1e6, "million"], ["K", 1e3, "thousand"]];

export class NumberFormat {
  #options;
  #locale;
  #rules;
  constructor(locales, options = {}) {
    const { locale, rules } = chosen(locales);
    this.#locale = locale;
    this.#rules = rules;
    const style = options.style ?? "decimal";
    if (style === "currency" && !options.currency) throw new TypeError("Currency code is required with currency style.");
    const digits = style === "currency" ? (["JPY", "KRW", "VND"].includes(options.currency) ? 0 : 2) : 0;
    const isCompact = options.notation === "compact";
    const least = options.minimumFractionDigits ?? (style === "currency" && !isCompact ? Math.min(digits, options.maximumFractionDigits ?? digits) : 0);
    const most = options.maximumFractionDigits ?? Math.max(least, style === "currency" ? digits : style === "percent" ? 0 : 3);
    if (most < least || least < 0 || most > 100) throw new RangeError("maximumFractionDigits value is out of range.");
    this.#options = { ...options, style, minimumFractionDigits: least, maximumFractionDigits: most, useGrouping: options.useGrouping ?? (isCompact ? "min2" : "auto") };
    this.format = this.format.bind(this);
  }
  static supportedLocalesOf(locales) { return supported(locales); }
  resolvedOptions() { return { locale: this.#locale, numberingSystem: "latn", notation: "standard", signDisplay: "auto", roundingMode: "halfExpand", ...this.#options }; }

  format(value) {
    const { style, notation } = this.#options;
    const { group, decimal, least = 1, minus = "-" } = this.#rules;
    const text = this.#english(value);
    // Signs around a number stand elsewhere in each language: only plain ones are written as there.
    if (style !== "decimal" || (notation ?? "standard") !== "standard") return text;
    const grouped = least > 1 ? text.replace(/^([^\d]*\d),(\d{3})(?!,)/, "$1$2") : text;
    return grouped.replace(/[.,-]/g, (sign) => ({ ",": group, ".": decimal, "-": minus })[sign]);
  }
  #english(value) {
    const { style, notation, compactDisplay, signDisplay = "auto", currencySign } = this.#options;
    const number = typeof value === "bigint" ? value : Number(value);
    if (Number.isNaN(number)) return (signDisplay === "always" ? "+" : "") + this.#dress("NaN", false);
    const isNegative = number < 0 || Object.is(number, -0);
    let size = typeof number === "bigint" ? (number < 0n ? -number : number) : style === "percent" ? Number((Math.abs(number) * 100).toPrecision(15)) : Math.abs(number);
    let suffix = "";
    if (size === Infinity) size = "∞";
    else if (notation === "compact") [size, suffix] = this.#compact(Number(size), compactDisplay);
    else if (notation === "scientific" || notation === "engineering") return this.#scientific(Number(value));
    else size = this.#digits(size);
    const isZero = /^[0.,]*$/.test(size);
    const sign = signDisplay === "never" ? "" : isNegative && !(isZero && (signDisplay === "exceptZero" || signDisplay === "negative")) ? "-" : signDisplay === "always" || (signDisplay === "exceptZero" && !isZero) ? "+" : "";
    const text = this.#dress(size + suffix, Number(size.replace(/,/g, "")) === 1 && suffix === "");
    return sign === "-" && currencySign === "accounting" ? `(${text})` : sign + text;
  }
  formatToParts(value) {
    const text = this.#english(value);
    return (text.match(/\d+|,|\.|[^\d,.]+/g) ?? []).map((part, at, all) => ({ type: /^\d/.test(part) ? (all[at - 1] === "." ? "fraction" : "integer") : part === "," ? "group" : part === "." ? "decimal" : part === "-" ? "minusSign" : part === "%" ? "percentSign" : this.#options.style === "currency" ? "currency" : "literal", value: part }));
  }
  formatRange(from, to) { return `${this.format(from)}–${this.format(to)}`; }

  #digits(size) {
    const { minimumFractionDigits: least, maximumFractionDigits: most, minimumIntegerDigits = 1, maximumSignificantDigits, minimumSignificantDigits = 1 } = this.#options;
    let text;
    if (maximumSignificantDigits !== undefined || this.#options.minimumSignificantDigits !== undefined) {
      const own = Number(size);
      const places = Math.max(0, (maximumSignificantDigits ?? 21) - 1 - (own === 0 ? 0 : Math.floor(Math.log10(own))));
      text = plain(Number(places > 0 ? rounded(own, places) : own.toPrecision(maximumSignificantDigits ?? 21)));
      const count = text === "0" ? 1 : text.replace(/^0\.?0*|\./g, "").length;
      if (count < minimumSignificantDigits) text += `${text.includes(".") ? "" : "."}${"0".repeat(minimumSignificantDigits - count)}`;
    } else if (typeof size === "bigint") text = String(size) + (least > 0 ? `.${"0".repeat(least)}` : "");
    else {
      text = rounded(size, most);
      const [digits, rest = ""] = text.split(".");
      const kept = rest.replace(/0+$/, "").padEnd(least, "0");
      text = kept === "" ? digits : `${digits}.${kept}`;
    }
    let [whole, fraction] = text.split(".");
    whole = whole.padStart(minimumIntegerDigits, "0");
    const { useGrouping } = this.#options;
    if (useGrouping !== false && useGrouping !== "false" && (useGrouping !== "min2" || whole.length > 4)) whole = whole.replace(/\B(?=(\d{3})+$)/g, ",");
    return fraction === undefined ? whole : `${whole}.${fraction}`;
  }

  #compact(size, display) {
    const { maximumFractionDigits, minimumFractionDigits, maximumSignificantDigits } = this.#options;
    const isOwn = maximumSignificantDigits !== undefined || minimumFractionDigits > 0 || (maximumFractionDigits !== 3 && maximumFractionDigits !== 2 && this.#options.style !== "percent" && maximumFractionDigits !== undefined);
    for (const [letter, unit, word] of COMPACT) {
      const scaled = size / unit;
      // What would be rounded to a thousand is one of the next.
      if (scaled < 0.9995) continue;
      const shown = isOwn ? this.#digits(scaled) : scaled < 100 ? plain(Number(scaled.toPrecision(2))) : String(Math.round(scaled));
      return [shown, display === "long" ? ` ${word}` : letter];
    }
    return [isOwn ? this.#digits(size) : size < 100 ? plain(Number(size.toPrecision(2))) : String(Math.round(size)), ""];
  }

  #scientific(value) {
    const [mantissa, exponent] = value.toExponential().split("e");
    return `${new NumberFormat("en-US", { maximumFractionDigits: 3 }).format(Number(mantissa))}E${Number(exponent)}`;
  }

  #dress(text, isOne) {
    const { style, currency, currencyDisplay = "symbol", unit, unitDisplay = "short" } = this.#options;
    if (style === "percent") return `${text}%`;
    if (style === "currency") {
      if (currencyDisplay === "name") return `${text} ${currency}`;
      const symbol = currencyDisplay === "code" ? currency : (SYMBOLS[currency] ?? currency);
      return symbol.length > 2 && !/[^A-Z]/.test(symbol) ? `${symbol}\u00a0${text}` : symbol + text;
    }
    if (style === "unit") {
      const [long, short, narrow] = UNITS[unit] ?? [unit, unit, unit];
      if (unitDisplay === "long") return `${text} ${long}${isOne || long === "percent" ? "" : "s"}`;
      if (unitDisplay === "narrow" || short === "%" || short === "°C") return text + narrow;
      const plural = ["day", "wk", "mth", "yr"].includes(short) && !isOne ? "s" : "";
      return `${text} ${short}${plural}`;
    }
    return text;
  }
}

/** Without an exponent. */
function plain(number) {
  const text = String(number);
  return text.includes("e") ? number.toFixed(20).replace(/\.?0+$/, "") : text;
}

// `toFixed` rounds the binary number; people expect the decimal one.
function rounded(size, digits) {
  if (size >= 1e21) return BigInt(Math.round(size)).toString();
  const text = plain(size);
  const [whole, fraction = ""] = text.split(".");
  if (fraction.length <= digits) return text;
  const scaled = BigInt(whole + fraction.slice(0, digits)) + (fraction[digits] >= "5" ? 1n : 0n);
  const all = String(scaled).padStart(digits + 1, "0");
  return digits === 0 ? all : `${all.slice(0, -digits)}.${all.slice(-digits)}`;
}
