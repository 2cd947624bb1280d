// How the locales that extensions ask for write numbers, and dates in digits; words are English everywhere. A letter twice means two digits.

const RULES = {
  "en-US": { date: "m/d/y", between: ", ", isHalf: true, hour: 1, group: ",", decimal: ".", periods: ["AM", "PM"] },
  "en-CA": { date: "y-mm-dd", between: ", ", isHalf: true, hour: 1, group: ",", decimal: ".", periods: ["a.m.", "p.m."] },
  "en-GB": { date: "dd/mm/y", between: ", ", hour: 2, group: ",", decimal: "." },
  de: { date: "d.m.y", between: ", ", hour: 2, group: ".", decimal: "," },
  es: { date: "d/m/y", between: ", ", hour: 1, group: ".", decimal: ",", least: 2 },
  fr: { date: "dd/mm/y", between: " ", hour: 2, group: "\u202f", decimal: "," },
  it: { date: "dd/mm/y", between: ", ", hour: 2, group: ".", decimal: ",", least: 2 },
  ja: { date: "y/m/d", between: " ", hour: 1, group: ",", decimal: "." },
  nl: { date: "d-m-y", between: ", ", hour: 2, group: ".", decimal: "," },
  pt: { date: "dd/mm/y", between: ", ", hour: 2, group: ".", decimal: "," },
  sv: { date: "y-mm-dd", between: " ", hour: 2, group: "\u00a0", decimal: ",", minus: "\u2212" },
  zh: { date: "y/m/d", between: " ", hour: 2, group: ",", decimal: "." },
};
const USUAL = "en-US";

// The first that is known, by its whole name or by its language; of English only those three differ.
const known = (locale) => {
  const tag = String(locale);
  if (Object.hasOwn(RULES, tag)) return tag;
  const [language] = tag.split("-");
  // Regions of these write otherwise.
  if (/^(?:de-(?:AT|CH|LI)|es-(?!ES)|fr-(?:CA|CH)|it-CH|nl-BE|pt-(?!BR)|zh-(?!CN|Hans))/.test(tag)) return undefined;
  return Object.hasOwn(RULES, language) ? language : language === "en" ? USUAL : undefined;
};

/** What is asked for, as far as it is known, and how it is written. */
export function chosen(locales) {
  for (const locale of [locales ?? []].flat()) {
    const name = known(locale);
    if (name !== undefined) return { locale: name === USUAL && !/^en-US$/.test(String(locale)) ? USUAL : String(locale), rules: RULES[name] };
  }
  return { locale: USUAL, rules: RULES[USUAL] };
}
export const supported = (locales) => [locales ?? []].flat().map(String).filter((locale) => known(locale) !== undefined);
