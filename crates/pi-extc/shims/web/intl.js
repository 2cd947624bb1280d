// Intl in English words; the engine has none of its own. Good enough for dates, numbers, lists and sorting in messages to a
// person. Plain numbers and dates in digits are written as some other locales write them; other languages and calendars are not there.
import host from "pi:host";
import { DateTimeFormat, localDate } from "pi:shim/web/intl/date";
import { NumberFormat } from "pi:shim/web/intl/number";

export { localDate };

const LOCALE = "en-US";
const supported = (locales) => [locales ?? []].flat().filter((locale) => /^en\b/.test(locale));

class Collator {
  #options;
  constructor(locales, options = {}) {
    this.#options = { numeric: false, sensitivity: "variant", usage: "sort", caseFirst: "false", ...options };
    this.compare = this.compare.bind(this);
  }
  static supportedLocalesOf = supported;
  resolvedOptions() { return { locale: LOCALE, ignorePunctuation: false, collation: "default", ...this.#options }; }
  compare(one, other) {
    const { numeric, sensitivity } = this.#options;
    const bare = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
    const first = numeric ? byNumbers(bare(one), bare(other)) : byLetters(bare(one), bare(other));
    if (first !== 0 || sensitivity === "base") return first;
    const marks = byLetters(one.normalize("NFD").toLowerCase(), other.normalize("NFD").toLowerCase());
    if (marks !== 0 && sensitivity !== "case") return marks;
    if (sensitivity === "accent") return 0;
    // Small letters come before capitals.
    for (let i = 0; i < Math.min(one.length, other.length); i++) {
      if (one[i] === other[i]) continue;
      return one[i] === one[i].toLowerCase() ? -1 : 1;
    }
    return Math.sign(one.length - other.length);
  }
}

// Spaces and signs come before digits, digits before letters.
const rank = (char) => (/\s/.test(char) ? 0 : char === "_" ? 1 : char === "-" ? 2 : /\d/.test(char) ? 8 : /\p{L}/u.test(char) ? 9 : 5);
const PUNCTUATION = ",;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";

function byLetters(one, other) {
  const [a, b] = [Array.from(one), Array.from(other)];
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    if (a[i] === b[i]) continue;
    const [x, y] = [rank(a[i]), rank(b[i])];
    if (x !== y) return x < y ? -1 : 1;
    if (x === 5) {
      const [p, q] = [PUNCTUATION.indexOf(a[i]), PUNCTUATION.indexOf(b[i])];
      if (p !== q && p >= 0 && q >= 0) return p < q ? -1 : 1;
    }
    return a[i] < b[i] ? -1 : 1;
  }
  return Math.sign(a.length - b.length);
}

function byNumbers(one, other) {
  const split = (text) => text.match(/\d+|\D+/g) ?? [];
  const [a, b] = [split(one), split(other)];
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const areNumbers = /^\d/.test(a[i]) && /^\d/.test(b[i]);
    const difference = areNumbers ? Math.sign(Number(a[i]) - Number(b[i])) : byLetters(a[i], b[i]);
    if (difference !== 0) return difference;
  }
  return Math.sign(a.length - b.length);
}

class PluralRules {
  #type;
  constructor(locales, { type = "cardinal" } = {}) { this.#type = type; }
  static supportedLocalesOf = supported;
  resolvedOptions() { return { locale: LOCALE, type: this.#type, pluralCategories: this.#type === "ordinal" ? ["few", "one", "two", "other"] : ["one", "other"] }; }
  select(number) {
    if (this.#type !== "ordinal") return Math.abs(number) === 1 ? "one" : "other";
    const [ten, hundred] = [number % 10, number % 100];
    if (ten === 1 && hundred !== 11) return "one";
    if (ten === 2 && hundred !== 12) return "two";
    return ten === 3 && hundred !== 13 ? "few" : "other";
  }
}

class ListFormat {
  #options;
  constructor(locales, options = {}) { this.#options = { type: "conjunction", style: "long", ...options }; }
  static supportedLocalesOf = supported;
  resolvedOptions() { return { locale: LOCALE, ...this.#options }; }
  format(list) {
    const items = [...list];
    const { type, style } = this.#options;
    const word = type === "unit" ? "" : type === "disjunction" ? "or" : style === "long" ? "and" : style === "short" ? "&" : "";
    if (items.length < 2) return items.join("");
    const glue = type === "unit" && style === "narrow" ? " " : ", ";
    if (items.length === 2) return word === "" ? items.join(glue) : items.join(` ${word} `);
    return items.slice(0, -1).join(glue) + (word === "" ? glue : `, ${word} `) + items.at(-1);
  }
  formatToParts(list) { return [...list].flatMap((value, at, all) => [{ type: "element", value }, ...(at < all.length - 1 ? [{ type: "literal", value: ", " }] : [])]); }
}

const NAMED = { day: { "-1": "yesterday", 0: "today", 1: "tomorrow" }, year: { "-1": "last year", 0: "this year", 1: "next year" }, month: { "-1": "last month", 0: "this month", 1: "next month" }, week: { "-1": "last week", 0: "this week", 1: "next week" }, hour: { 0: "this hour" }, minute: { 0: "this minute" }, second: { 0: "now" }, quarter: { "-1": "last quarter", 0: "this quarter", 1: "next quarter" } };
const SHORT = { year: "yr.", quarter: "qtr.", month: "mo.", week: "wk.", day: "day", hour: "hr.", minute: "min.", second: "sec." };
const NARROW = { year: "y", quarter: "q", month: "mo", week: "w", day: "d", hour: "h", minute: "min", second: "s" };

class RelativeTimeFormat {
  #options;
  constructor(locales, options = {}) { this.#options = { numeric: "always", style: "long", ...options }; }
  static supportedLocalesOf = supported;
  resolvedOptions() { return { locale: LOCALE, numberingSystem: "latn", ...this.#options }; }
  format(value, given) {
    const unit = String(given).replace(/s$/, "");
    if (!(unit in SHORT)) throw new RangeError(`Invalid unit argument for format() '${given}'`);
    const named = this.#options.numeric === "auto" ? NAMED[unit]?.[value] : undefined;
    if (named) return named;
    const amount = Math.abs(value);
    const isPast = value < 0 || Object.is(value, -0);
    const number = new NumberFormat(LOCALE).format(amount);
    const plural = amount === 1 ? "" : "s";
    const label = this.#options.style === "narrow" ? `${number}${NARROW[unit]}` : `${number} ${this.#options.style === "short" ? (unit === "day" || unit === "quarter" ? (unit === "day" ? `day${plural}` : amount === 1 ? "qtr." : "qtrs.") : SHORT[unit]) : `${unit}${plural}`}`;
    return isPast ? `${label} ago` : `in ${label}`;
  }
  formatToParts(value, unit) { return [{ type: "literal", value: this.format(value, unit) }]; }
}

class Segmenter {
  #granularity;
  constructor(locales, { granularity = "grapheme" } = {}) { this.#granularity = granularity; }
  static supportedLocalesOf = supported;
  resolvedOptions() { return { locale: LOCALE, granularity: this.#granularity }; }
  segment(input) {
    const text = String(input);
    const granularity = this.#granularity;
    const list = () => {
      const parts = granularity === "grapheme" ? host.graphemes(text) : granularity === "word" ? (text.match(/[\p{L}\p{N}_]+(?:['’.][\p{L}\p{N}_]+)*|\r\n|\p{Zs}+|[^]/gu) ?? []) : (text.match(/[^.!?\n]*(?:[.!?]+["')\]]*\s*|\n+|$)/g) ?? []).filter((part) => part !== "");
      let index = 0;
      return parts.map((segment) => {
        const item = { segment, index, input: text };
        index += segment.length;
        if (granularity === "word") item.isWordLike = /[\p{L}\p{N}]/u.test(segment);
        return item;
      });
    };
    return { containing: (at = 0) => list().findLast((item) => item.index <= at), [Symbol.iterator]: () => list()[Symbol.iterator]() };
  }
}

class DisplayNames {
  static supportedLocalesOf = supported;
  of(code) { return code; }
}

class Locale {
  constructor(tag) {
    const [language, region] = String(tag).split("-");
    Object.assign(this, { baseName: String(tag), language, region });
  }
  toString() { return this.baseName; }
  maximize() { return this; }
  minimize() { return this; }
}

// NumberFormat, DateTimeFormat and Collator may also be called without `new`.
const callable = (Class) => {
  const own = new Proxy(Class, { apply: (_, self, args) => new Class(...args) });
  Object.defineProperty(Class.prototype, "constructor", { value: own, writable: true, enumerable: false, configurable: true });
  return own;
};

export default {
  NumberFormat: callable(NumberFormat), DateTimeFormat: callable(DateTimeFormat), Collator: callable(Collator), PluralRules, ListFormat, RelativeTimeFormat, Segmenter, DisplayNames, Locale,
  getCanonicalLocales: (locales) => [locales ?? []].flat().map(String),
  supportedValuesOf: () => [],
  [Symbol.toStringTag]: "Intl",
};
