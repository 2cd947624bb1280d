// Keys: what a terminal sends, as names such as `ctrl+shift+p`, in the old encoding and in Kitty's.

const NAMED = {
  "\x1b[A": "up", "\x1b[B": "down", "\x1b[C": "right", "\x1b[D": "left", "\x1bOA": "up", "\x1bOB": "down", "\x1bOC": "right", "\x1bOD": "left", "\x1b[H": "home", "\x1b[F": "end",
  "\x1bOH": "home", "\x1bOF": "end", "\x1b[1~": "home", "\x1b[4~": "end", "\x1b[7~": "home", "\x1b[8~": "end", "\x1b[2~": "insert", "\x1b[3~": "delete", "\x1b[5~": "pageUp", "\x1b[6~": "pageDown",
  "\x1bOP": "f1", "\x1bOQ": "f2", "\x1bOR": "f3", "\x1bOS": "f4", "\x1b[11~": "f1", "\x1b[12~": "f2", "\x1b[13~": "f3", "\x1b[14~": "f4", "\x1b[15~": "f5", "\x1b[17~": "f6", "\x1b[18~": "f7",
  "\x1b[19~": "f8", "\x1b[20~": "f9", "\x1b[21~": "f10", "\x1b[23~": "f11", "\x1b[24~": "f12", "\x1b[Z": "shift+tab", "\x1b[E": "clear", "\x1b[a": "shift+up", "\x1b[b": "shift+down", "\x1b[c": "shift+right",
  "\x1b[d": "shift+left", "\x1bOa": "ctrl+up", "\x1bOb": "ctrl+down", "\x1bOc": "ctrl+right", "\x1bOd": "ctrl+left", "\r": "enter", "\n": "enter", "\t": "tab", "\x1b": "escape", "\x7f": "backspace",
  "\b": "backspace", " ": "space", "\x00": "ctrl+space", "\x1b\r": "alt+enter", "\x1b\x7f": "alt+backspace", "\x1b\b": "alt+backspace", "\x1b ": "alt+space", "\x1b\x1b": "ctrl+alt+[",
  "\x1bb": "alt+left", "\x1bf": "alt+right", "\x1bp": "alt+up", "\x1bn": "alt+down", "\x1c": "ctrl+\\", "\x1d": "ctrl+]", "\x1f": "ctrl+-", "\x1bOM": "enter",
};
const LETTERS = { A: "up", B: "down", C: "right", D: "left", H: "home", F: "end", P: "f1", Q: "f2", R: "f3", S: "f4", E: "clear", Z: "tab" };
const NUMBERS = { 1: "home", 2: "insert", 3: "delete", 4: "end", 5: "pageUp", 6: "pageDown", 7: "home", 8: "end", 11: "f1", 12: "f2", 13: "f3", 14: "f4", 15: "f5", 17: "f6", 18: "f7", 19: "f8", 20: "f9", 21: "f10", 23: "f11", 24: "f12" };
const CODES = {
  27: "escape", 13: "enter", 9: "tab", 32: "space", 127: "backspace", 57414: "enter", 57417: "left", 57418: "right", 57419: "up", 57420: "down", 57421: "pageUp", 57422: "pageDown", 57423: "home", 57424: "end",
  57425: "insert", 57426: "delete",
};
for (let i = 0; i < 10; i++) CODES[57399 + i] = String(i);
Object.assign(CODES, { 57409: ".", 57410: "/", 57411: "*", 57412: "-", 57413: "+", 57415: "=" });
const SAME = { esc: "escape", return: "enter", pageup: "pageUp", pagedown: "pageDown" };

let isKitty = false;
export const setKittyProtocolActive = (isOn) => { isKitty = isOn; };
export const isKittyProtocolActive = () => isKitty;

const isPaste = (data) => data.includes("\x1b[200~");
const eventOf = (data, number) => !isPaste(data) && new RegExp(`^\\x1b\\[[\\d;:]*:${number}(?:;[\\d:]*)?[u~A-Za-z]$`).test(data);
export const isKeyRelease = (data) => eventOf(data, 3);
export const isKeyRepeat = (data) => eventOf(data, 2);

/** Modifiers in Kitty's bits, in the order of names: shift, ctrl, alt, super. Locks do not count. */
function modifiersOf(bits) {
  const names = [];
  if (bits & 1) names.push("shift");
  if (bits & 4) names.push("ctrl");
  if (bits & 2) names.push("alt");
  if (bits & 8) names.push("super");
  return names;
}

/** `ESC [ code : shifted : base ; modifiers : event u`, and the older shapes with modifiers. */
function parseExtended(data) {
  const kitty = /^\x1b\[(\d+)(?::(\d*))?(?::(\d+))?(?:;(\d+)(?::\d+)?)?(?:;[\d:]*)?u$/.exec(data);
  if (kitty) {
    const bits = (Number(kitty[4] ?? 1) - 1) & ~(64 + 128);
    return { key: keyOf(Number(kitty[1]), kitty[3] === undefined ? undefined : Number(kitty[3])), bits };
  }
  const letter = /^\x1b\[(?:1)?;(\d+)(?::\d+)?([A-HP-SZ])$/.exec(data);
  if (letter) return { key: LETTERS[letter[2]], bits: (Number(letter[1]) - 1) & 15 };
  const number = /^\x1b\[(\d+);(\d+)(?::\d+)?~$/.exec(data);
  if (number) return { key: NUMBERS[number[1]], bits: (Number(number[2]) - 1) & 15 };
  const modified = /^\x1b\[27;(\d+);(\d+)~$/.exec(data);
  if (modified) return { key: keyOf(Number(modified[2])), bits: (Number(modified[1]) - 1) & 15 };
  return undefined;
}

function keyOf(code, base) {
  if (CODES[code]) return CODES[code];
  const char = String.fromCodePoint(code);
  // On other keyboards the place of the key counts, unless it is a Latin letter or a sign by itself.
  if (base !== undefined && !/^[a-z0-9!-/:-@[-`{-~]$/i.test(char)) return CODES[base] ?? String.fromCodePoint(base).toLowerCase();
  return char.toLowerCase();
}

/** The name of a key, or `undefined` for what is none (a paste, for instance). A capital letter is its own name. */
export function parseKey(data) {
  return /^[A-Z]$/.test(data) ? data : /^[^\x00-\x7f]+$/.test(data) ? undefined : nameOf(data);
}

function nameOf(data) {
  const extended = parseExtended(data);
  if (extended) return extended.key === undefined ? undefined : [...modifiersOf(extended.bits), extended.key].join("+");
  if (isKitty && data === "\n") return "shift+enter";
  if (NAMED[data] !== undefined) return NAMED[data];
  if (data.length === 1) {
    const code = data.charCodeAt(0);
    if (code >= 1 && code <= 26) return `ctrl+${String.fromCharCode(code + 96)}`;
    if (/[A-Z]/.test(data)) return `shift+${data.toLowerCase()}`;
    return code >= 32 && code !== 127 ? data : undefined;
  }
  if (/^\x1b[\x01-\x1a]$/.test(data)) return `ctrl+alt+${String.fromCharCode(data.charCodeAt(1) + 96)}`;
  if (/^\x1b[a-z0-9!-/:-@[-`{-~]$/i.test(data)) return /[A-Z]/.test(data[1]) ? `shift+alt+${data[1].toLowerCase()}` : `alt+${data[1]}`;
  return [...data].length === 1 ? data : undefined;
}

/** A name in one spelling: modifiers sorted, aliases resolved. */
function canonical(name) {
  const parts = name === "+" ? ["+"] : name.endsWith("++") ? [...name.slice(0, -2).split("+"), "+"] : name.split("+");
  const key = parts.pop();
  return [...parts.map((part) => part.toLowerCase()).sort(), SAME[key.toLowerCase()] ?? (key.length === 1 ? key.toLowerCase() : key)].join("+");
}

// One thing sent by the terminal may mean several keys: control letters and keys that are control letters themselves.
const ALSO = {
  "\t": ["tab", "ctrl+i"], "\r": ["enter", "ctrl+m"], "\n": ["enter", "ctrl+j"], "\x1b": ["escape", "ctrl+["], "\x1bb": ["alt+left", "alt+b"], "\x1bf": ["alt+right", "alt+f"], "\x1bp": ["alt+up", "alt+p"],
  "\x1bn": ["alt+down", "alt+n"], "\x1f": ["ctrl+-", "ctrl+_"], "\b": ["backspace", "ctrl+h"], "\x00": ["ctrl+space", "ctrl+@"], "\x1b\x1b": ["ctrl+alt+["],
};

export function matchesKey(data, name) {
  const wanted = canonical(name);
  if (ALSO[data] && !(isKitty && data === "\n")) return ALSO[data].some((own) => canonical(own) === wanted);
  const own = nameOf(data);
  return own !== undefined && canonical(own) === wanted;
}

/** The character of a key press in Kitty's encoding, if it types one. */
export function decodeKittyPrintable(data) {
  const found = /^\x1b\[(\d+)(?::(\d*))?(?::\d+)?(?:;(\d+)(?::\d+)?)?(?:;([\d:]*))?u$/.exec(data);
  if (!found || isKeyRelease(data)) return undefined;
  const bits = (Number(found[3] ?? 1) - 1) & ~(64 + 128);
  if (bits & ~1) return undefined;
  const code = bits & 1 && found[2] ? Number(found[2]) : Number(found[1]);
  return code >= 32 && code !== 127 && !(code >= 57344 && code <= 63743) ? String.fromCodePoint(code) : undefined;
}

const SIGNS = {
  backtick: "`", hyphen: "-", equals: "=", leftbracket: "[", rightbracket: "]", backslash: "\\", semicolon: ";", quote: "'", comma: ",", period: ".", slash: "/", exclamation: "!", at: "@", hash: "#", dollar: "$",
  percent: "%", caret: "^", ampersand: "&", asterisk: "*", leftparen: "(", rightparen: ")", underscore: "_", plus: "+", pipe: "|", tilde: "~", leftbrace: "{", rightbrace: "}", colon: ":", lessthan: "<", greaterthan: ">",
  question: "?",
};
const SPECIAL = ["escape", "esc", "enter", "return", "tab", "space", "backspace", "delete", "insert", "clear", "home", "end", "pageUp", "pageDown", "up", "down", "left", "right", ...Array.from({ length: 12 }, (_, at) => `f${at + 1}`)];
const COMBINATIONS = ["ctrl", "shift", "alt", "super", "ctrl+shift", "shift+ctrl", "ctrl+alt", "alt+ctrl", "shift+alt", "alt+shift", "ctrl+super", "super+ctrl", "shift+super", "super+shift", "alt+super", "super+alt", "ctrl+shift+alt", "ctrl+shift+super"];

/** Names of keys: `Key.enter`, `Key.ctrl("c")`. */
export const Key = {
  ...Object.fromEntries(SPECIAL.map((name) => [name, name])), ...SIGNS,
  ...Object.fromEntries(COMBINATIONS.map((names) => [names.replace(/\+(.)/g, (_, char) => char.toUpperCase()), (key) => `${names}+${key}`])),
};
