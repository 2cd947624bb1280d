/** Money and times in words. */
import { currentLanguage, t } from "../texts";

/** $0.0042, $0.42, $12.30: never rounded to nothing. */
export function money(dollars: number): string {
  if (dollars === 0) {
    return "$0";
  }
  const digits = dollars >= 0.1 ? 2 : dollars >= 0.001 ? 4 : 6;
  return `$${dollars.toFixed(digits)}`;
}

function locale(): string {
  return currentLanguage() === "zh" ? "zh-Hans" : "en";
}

/** The time of a day, with the day if it was another one. */
export function time(at: number): string {
  const date = new Date(at);
  const isToday = date.toDateString() === new Date().toDateString();
  return new Intl.DateTimeFormat(locale(), {
    hour: "2-digit",
    minute: "2-digit",
    ...(isToday ? {} : { month: "short", day: "numeric" }),
  }).format(date);
}

/** How long ago: now, 5 min, 3 h, 2 d. */
export function ago(at: number, now: number): string {
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
