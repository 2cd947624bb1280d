// Intl.DateTimeFormat in English words, dates in digits also in the order of some other locales; and the `toLocale…String` methods of dates.
import host from "pi:host";
import { chosen, supported } from "pi:shim/web/intl/locale";

const MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];
const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const STYLES = {
  full: { weekday: "long", year: "numeric", month: "long", day: "numeric" }, long: { year: "numeric", month: "long", day: "numeric" },
  medium: { year: "numeric", month: "short", day: "numeric" }, short: { year: "2-digit", month: "numeric", day: "numeric" },
};
const CLOCKS = {
  full: { hour: "numeric", minute: "2-digit", second: "2-digit", timeZoneName: "short" }, long: { hour: "numeric", minute: "2-digit", second: "2-digit", timeZoneName: "short" },
  medium: { hour: "numeric", minute: "2-digit", second: "2-digit" }, short: { hour: "numeric", minute: "2-digit" },
};
const DATE_PARTS = ["weekday", "year", "month", "day", "era"];
const TIME_PARTS = ["hour", "minute", "second", "fractionalSecondDigits", "dayPeriod"];

const two = (number) => String(number).padStart(2, "0");

export class DateTimeFormat {
  #options;
  #asked;
  #locale;
  #rules;
  constructor(locales, options = {}, fallback = "date") {
    const { locale, rules } = chosen(locales);
    this.#locale = locale;
    this.#rules = rules;
    this.#asked = { ...options };
    if (options?.timeZone !== undefined) this.#asked.timeZone = zoneOf(String(options.timeZone));
    const given = { ...this.#asked };
    if (given.dateStyle) Object.assign(given, STYLES[given.dateStyle]);
    if (given.timeStyle) Object.assign(given, CLOCKS[given.timeStyle]);
    const has = (names) => names.some((name) => given[name] !== undefined);
    if (!has(DATE_PARTS) && !has(TIME_PARTS)) {
      if (fallback !== "time") Object.assign(given, { year: "numeric", month: "numeric", day: "numeric" });
      if (fallback === "all" || fallback === "time") Object.assign(given, { hour: "numeric", minute: "2-digit", second: "2-digit" });
    } else if (fallback === "time" && !has(TIME_PARTS)) Object.assign(given, { hour: "numeric", minute: "2-digit", second: "2-digit" });
    else if (fallback === "date-only" && !has(DATE_PARTS)) Object.assign(given, { year: "numeric", month: "numeric", day: "numeric" });
    this.#options = given;
    this.format = this.format.bind(this);
  }
  static supportedLocalesOf(locales) { return supported(locales); }
  resolvedOptions() { return { locale: this.#locale, calendar: "gregory", numberingSystem: "latn", timeZone: this.#asked.timeZone ?? ownZone(), ...this.#asked }; }
  format(value) { return this.formatToParts(value).map((part) => part.value).join(""); }
  formatRange(from, to) { return `${this.format(from)} – ${this.format(to)}`; }

  formatToParts(value) {
    const date = value === undefined ? new Date() : new Date(value);
    if (Number.isNaN(date.getTime())) throw new RangeError("Invalid time value");
    const fields = fieldsOf(date, this.#options.timeZone);
    const inDigits = this.#inDigits(fields);
    const day = inDigits ?? this.#date(fields);
    const time = this.#time(fields, date);
    const isLong = this.#options.month === "long";
    const glue = day.length > 0 && time.length > 0 ? [{ type: "literal", value: inDigits ? this.#rules.between : isLong ? " at " : day.length === 1 && day[0].type === "weekday" ? " " : ", " }] : [];
    return [...day, ...glue, ...time];
  }

  // A whole date in digits, in the order of the locale.
  #inDigits({ year, month, day }) {
    const { year: y, month: m, day: d, weekday, dateStyle } = this.#options;
    const isWhole = y !== undefined && d !== undefined && (m === "numeric" || m === "2-digit");
    if (!isWhole || weekday !== undefined || dateStyle !== undefined) return undefined;
    return this.#rules.date.match(/y|m+|d+|[^ymd]/g).map((part) => {
      const padded = (number, asked) => (asked === "2-digit" || part.length === 2 ? two(number) : String(number));
      if (part === "y") return { type: "year", value: y === "2-digit" ? two(year % 100) : String(year) };
      if (part[0] === "m") return { type: "month", value: padded(month + 1, m) };
      return part[0] === "d" ? { type: "day", value: padded(day, d) } : { type: "literal", value: part };
    });
  }

  #date({ year, month, day, weekday }) {
    const { year: y, month: m, day: d, weekday: w } = this.#options;
    const parts = [];
    const add = (type, value, before) => {
      if (parts.length > 0) parts.push({ type: "literal", value: before });
      parts.push({ type, value });
    };
    if (w) add("weekday", w === "long" ? DAYS[weekday] : w === "narrow" ? DAYS[weekday][0] : DAYS[weekday].slice(0, 3), "");
    const years = y === "2-digit" ? two(year % 100) : String(year);
    const isNamed = ["long", "short", "narrow"].includes(m);
    const days = d === "2-digit" ? two(day) : String(day);
    if (isNamed) {
      add("month", m === "long" ? MONTHS[month] : m === "short" ? MONTHS[month].slice(0, 3) : MONTHS[month][0], ", ");
      if (d) add("day", days, " ");
      if (y) add("year", years, d ? ", " : " ");
      return parts;
    }
    if (m) add("month", m === "2-digit" ? two(month + 1) : String(month + 1), ", ");
    if (d) add("day", days, m ? "/" : w ? " " : "");
    if (y) add("year", years, m || d ? "/" : ", ");
    return parts;
  }

  #time({ hour, minute, second, ms }, date) {
    const { hour: h, minute: m, second: s, fractionalSecondDigits, hour12, hourCycle, timeZoneName, timeZone } = this.#options;
    const parts = [];
    const { isHalf: isHalfHere = false, hour: digits, periods = ["AM", "PM"] } = this.#rules;
    const isHalf = hour12 ?? (hourCycle ? hourCycle === "h12" || hourCycle === "h11" : isHalfHere);
    const add = (type, value) => {
      if (parts.length > 0) parts.push({ type: "literal", value: ":" });
      parts.push({ type, value });
    };
    if (h) {
      const shown = isHalf ? hour % 12 || 12 : hourCycle === "h24" || (isHalfHere && hour12 === false && hour === 0 && !hourCycle) ? hour || 24 : hour;
      add("hour", h === "2-digit" || (!isHalf && (digits === 2 || isHalfHere)) ? two(shown) : String(shown));
    }
    if (m) add("minute", parts.length > 0 || s || m === "2-digit" && s ? two(minute) : String(minute));
    if (s) add("second", parts.length > 0 ? two(second) : String(second));
    if (fractionalSecondDigits) parts.push({ type: "literal", value: "." }, { type: "fractionalSecond", value: String(ms).padStart(3, "0").slice(0, fractionalSecondDigits) });
    if (h && isHalf) parts.push({ type: "literal", value: " " }, { type: "dayPeriod", value: periods[hour < 12 ? 0 : 1] });
    if (timeZoneName) parts.push({ type: "literal", value: parts.length > 0 ? " " : ", " }, { type: "timeZoneName", value: zoneName(timeZone, date) });
    return parts;
  }
}

const isUtc = (zone) => /^(UTC|GMT|Etc\/UTC|Etc\/GMT)$/i.test(zone);

/** A zone as it is usually written. */
function zoneOf(zone) {
  const name = isUtc(zone) ? "UTC" : host.zoneName(zone);
  if (name === undefined || name === null) throw new RangeError(`Invalid time zone specified: ${zone}`);
  return name;
}

/** How many minutes a zone is ahead of UTC at some time. */
function minutesAhead(zone, date) {
  if (zone === undefined) return -date.getTimezoneOffset();
  if (isUtc(zone)) return 0;
  return (host.zoneOffset(zone, date.getTime()) ?? 0) / 60;
}

function fieldsOf(date, zone) {
  const there = zone === undefined ? date : new Date(date.getTime() + minutesAhead(zone, date) * 60000);
  const read = (name) => there[`get${zone === undefined ? "" : "UTC"}${name}`]();
  return { year: read("FullYear"), month: read("Month"), day: read("Date"), weekday: read("Day"), hour: read("Hours"), minute: read("Minutes"), second: read("Seconds"), ms: read("Milliseconds") };
}

const ownZone = () => host.timeZone() ?? (new Date().getTimezoneOffset() === 0 ? "UTC" : "Etc/Unknown");

// Zones that people in the United States call by letters; all others are so many hours from Greenwich.
const LETTERS = { "America/New_York": "E", "America/Detroit": "E", "America/Chicago": "C", "America/Denver": "M", "America/Phoenix": "M", "America/Los_Angeles": "P" };

function zoneName(zone, date) {
  const name = zone ?? ownZone();
  const offset = Math.trunc(minutesAhead(zone, date));
  if (isUtc(name)) return "UTC";
  if (Object.hasOwn(LETTERS, name)) return `${LETTERS[name]}${host.isSummer(name, date.getTime()) ? "D" : "S"}T`;
  if (offset === 0) return "GMT";
  const [hours, minutes] = [Math.floor(Math.abs(offset) / 60), Math.abs(offset) % 60];
  return `GMT${offset < 0 ? "-" : "+"}${hours}${minutes ? `:${two(minutes)}` : ""}`;
}

export function localDate(date, locale, options, part) {
  if (Number.isNaN(date.getTime())) return "Invalid Date";
  return new DateTimeFormat(locale, options, part === "all" ? "all" : part === "time" ? "time" : "date-only").format(date);
}
