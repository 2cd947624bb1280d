/** What the page says, in the language of the reader. */
import en from "./texts/en.json";
import { shownKeys, withoutKeys } from "./parts/keys";
import { fill } from "./texts/fill";

export type Language = "en" | "zh";
export type TextKey = keyof typeof en;
type Texts = Partial<Record<string, string>>;

const STORED = "pi.language";

/** A phone has no Alt. */
const isKeyless = typeof matchMedia === "function" && matchMedia("(hover: none) and (pointer: coarse)").matches;

let language: Language = "en";
let texts: Texts = en;

/**
 * The text of a key, filled with values. A key that has no text in the language is told in English,
 * and an unknown one as itself, so that a mistake can be seen.
 */
export function t(key: TextKey, values: Record<string, string | number> = {}): string {
  const text = texts[key] ?? (en as Texts)[key] ?? key;
  return fill(isKeyless ? withoutKeys(text) : shownKeys(text), values);
}

export function currentLanguage(): Language {
  return language;
}

/** How times are written in it. */
export function currentLocale(): string {
  return language === "zh" ? "zh-Hans" : "en";
}

/** Chooses the language that was chosen before, or the browser's. Called once, before anything is shown. */
export async function loadLanguage(): Promise<void> {
  const stored = readStored();
  const wanted = stored ?? (navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en");
  language = wanted;
  if (wanted === "zh") {
    // English is in the first load because it is the fallback; others come when they are wanted.
    texts = (await import("./texts/zh.json")).default;
  }
  document.documentElement.lang = wanted === "zh" ? "zh-Hans" : "en";
}

/** Remembers a language. The page is drawn anew, because texts are read while drawing. */
export function chooseLanguage(wanted: Language): void {
  localStorage.setItem(STORED, wanted);
  location.reload();
}

function readStored(): Language | undefined {
  try {
    const value = localStorage.getItem(STORED);
    return value === "en" || value === "zh" ? value : undefined;
  } catch {
    return undefined; // Storage is off: the browser's language will do.
  }
}
