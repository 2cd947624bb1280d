/** Colours that an extension names: `#rrggbb`, or one of the sixteen of a terminal, in shades that can be read on our ground. */

const NAMED: Record<string, string> = {
  black: "light-dark(#1d1d1b, #8d9099)",
  red: "var(--bad)",
  green: "var(--good)",
  yellow: "var(--warn)",
  blue: "var(--accent)",
  magenta: "var(--code-keyword)",
  cyan: "var(--code-type)",
  white: "var(--ink-soft)",
  brightblack: "var(--ink-faint)",
  gray: "var(--ink-faint)",
  grey: "var(--ink-faint)",
  brightred: "var(--bad)",
  brightgreen: "var(--good)",
  brightyellow: "var(--warn)",
  brightblue: "var(--accent)",
  brightmagenta: "var(--code-keyword)",
  brightcyan: "var(--code-type)",
  brightwhite: "var(--ink)",
};

export function colourOf(name: string | undefined, otherwise?: string): string | undefined {
  if (name === undefined) {
    return otherwise;
  }
  if (/^#[0-9a-f]{6}$/i.test(name)) {
    return name;
  }
  const known = name.toLowerCase();
  return Object.hasOwn(NAMED, known) ? NAMED[known] : otherwise;
}
