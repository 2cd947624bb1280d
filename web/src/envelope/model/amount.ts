/** Numbers as people read them. */

export function grouped(count: number): string {
  return String(Math.trunc(count)).replace(/\B(?=(\d{3})+$)/g, ",");
}

export function signed(count: number): string {
  return count < 0 ? `−${grouped(-count)}` : count > 0 ? `+${grouped(count)}` : "0";
}

/** A count with its unit shortened: 812, 8.4k, 1.2M. */
export function short(count: number): string {
  if (count < 1000) {
    return String(Math.round(count));
  }
  const [value, unit] = count < 999_500 ? [count / 1000, "k"] : [count / 1_000_000, "M"];
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)}${unit}`;
}

export function percent(share: number): string {
  return share > 0 && share < 0.001 ? "<0.1%" : `${(share * 100).toFixed(share < 0.1 ? 1 : 0)}%`;
}

/** Whether a number that somebody wrote down can be how many there are of something. */
export function isCount(number: number): boolean {
  return number >= 1 && number <= Number.MAX_SAFE_INTEGER;
}

/** The furthest time that a date can tell. */
const LAST_MS = 8.64e15;

/** A time that can be told. Nothing was said in 1970, or when no calendar reaches: whoever wrote that did not know. */
export function moment(milliseconds: number): Date | undefined {
  return milliseconds >= 1 && milliseconds <= LAST_MS ? new Date(milliseconds) : undefined;
}

/** The time of day, and the day if it is not today: files come from any time. As it is written in a language. */
export function clock(milliseconds: number, locale: string, now = new Date()): string | undefined {
  const at = moment(milliseconds);
  const time = at?.toLocaleTimeString(locale, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  return at === undefined || at.toDateString() === now.toDateString() ? time : `${at.toLocaleDateString(locale)} ${time}`;
}

/** In thousands, as disks and networks are counted: 512 B, 1.4 kB, 23 MB. */
export function bytes(count: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let [value, unit] = [count, 0];
  // What would be rounded to a thousand is one of the next.
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 || value >= 9.95 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

export function dollars(amount: number): string {
  return amount >= 0.995 ? `$${amount.toFixed(2)}` : amount < 0.00005 ? "<$0.0001" : `$${amount.toPrecision(2).replace(/e.*$/, "")}`;
}
