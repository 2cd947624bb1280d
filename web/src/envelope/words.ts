/** What the envelope view says, in the language of the page. */

import { currentLanguage } from "../texts";
import { fill } from "../texts/fill";
import type { Counted, Kind, Origin, Trust } from "./model/format";
import { originDetail } from "./model/ours";
import en from "./texts/en.json";
import zh from "./texts/zh.json";

export type Word = keyof typeof en;

/** The text of a key, filled with values. */
export function w(key: Word, values: Record<string, string | number> = {}): string {
  const texts: Partial<Record<string, string>> = currentLanguage() === "zh" ? zh : en;
  const text = texts[key] ?? en[key] ?? key;
  return fill(text, values);
}

export const kindName = (kind: Kind): string => w(`kind.${kind}`);
export const trustName = (trust: Trust): string => w(`trust.${trust}`);
export const howName = (how: Counted): string => w(`how.${how}`);

/** The same in the room of a margin: of a path the end is what tells. */
export function originShort(origin: Origin | undefined): string {
  if (origin?.from !== "file") {
    return originName(origin);
  }
  const parts = origin.path.split(/[\\/]/).filter((part) => part !== "");
  return parts.length <= 2 ? origin.path : `…/${parts.slice(-2).join("/")}`;
}

export function originName(origin: Origin | undefined): string {
  if (origin === undefined) {
    return w("origin.unknown");
  }
  return w(`origin.${origin.from}`, { detail: originDetail(origin) });
}
