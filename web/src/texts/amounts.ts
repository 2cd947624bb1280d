/** Money and times in words. */
import { moment } from "../envelope/model/amount";
import { currentLocale, t } from "../texts";

/** $0.0042, $0.42, $12.30: never rounded to nothing. */
export function money(dollars: number): string {
  if (dollars === 0) {
    return "$0";
  }
  const digits = dollars >= 0.1 ? 2 : dollars >= 0.001 ? 4 : 6;
  return `$${dollars.toFixed(digits)}`;
}

/** The same of what may have been more. */
export function moneyAtLeast(dollars: number, isLeast: boolean): string {
  return `${isLeast ? "≥ " : ""}${money(dollars)}`;
}

/** The time of a day, with the day if it was another one, and the year if that was. */
export function time(at: Date): string {
  const now = new Date();
  const isToday = at.toDateString() === now.toDateString();
  return new Intl.DateTimeFormat(currentLocale(), {
    hour: "2-digit",
    minute: "2-digit",
    ...(isToday ? {} : { month: "short", day: "numeric" }),
    ...(at.getFullYear() === now.getFullYear() ? {} : { year: "numeric" }),
  }).format(at);
}

/** How long ago: now, 5 min, 3 h, 2 d; a dash if nobody knows. */
export function ago(at: number, now: number): string {
  if (moment(at) === undefined) {
    return "—";
  }
  const minutes = Math.floor((now - at) / 60_000);
  if (minutes < 1) {
    return t("ago.now");
  }
  if (minutes < 60) {
    return t("ago.minutes", { count: minutes });
  }
  const hours = Math.floor(minutes / 60);
  return hours < 24 ? t("ago.hours", { count: hours }) : t("ago.days", { count: Math.floor(hours / 24) });
}
