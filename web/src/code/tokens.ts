/**
 * Colours of code: a scanner that knows strings, comments, numbers and the words of a language. It does not understand programs; it
 * makes them easier to read, in one pass and in little space.
 */

export type TokenKind = "plain" | "keyword" | "string" | "number" | "comment" | "title" | "type" | "added" | "removed" | "meta";

export interface Token {
  kind: TokenKind;
  text: string;
}

interface Grammar {
  pattern: RegExp;
  keywords: ReadonlySet<string>;
  /** Names that begin with a capital are types. */
  hasTypes: boolean;
}

/** More is shown in one colour: colouring it would be felt. */
const LARGEST = 60_000;

const C_COMMENT = String.raw`\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)`;
const HASH_COMMENT = String.raw`#[^\n]*`;
const DASH_COMMENT = String.raw`--[^\n]*`;
const DOUBLE = String.raw`"(?:\\[\s\S]|[^"\\\n])*(?:"|$|(?=\n))`;
const SINGLE = String.raw`'(?:\\[\s\S]|[^'\\\n])*(?:'|$|(?=\n))`;
const BACKTICK = "`(?:\\\\[\\s\\S]|[^`\\\\])*(?:`|$)";
const TRIPLE = String.raw`"""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)`;
/** A quoted character, and not the lifetime of Rust. */
const CHARACTER = String.raw`'(?:\\(?:[^u]|u\{[^}]*\})|[^'\\\n])'`;
const NUMBER = String.raw`\b(?:0[xX][\da-fA-F_]+|0[bB][01_]+|\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?)\w*`;
const WORD = String.raw`[A-Za-z_$][\w$]*`;

function grammar(comments: string[], strings: string[], words: string, hasTypes = true): Grammar {
  const parts = [comments.join("|"), strings.join("|"), NUMBER, WORD].map((part) => (part === "" ? "(?!)" : part));
  const pattern = new RegExp(parts.map((part) => `(${part})`).join("|"), "g");
  return { pattern, keywords: new Set(words.split(" ")), hasTypes };
}

const SCRIPT =
  "abstract any as asserts async await boolean break case catch class const constructor continue debugger declare default delete do else enum export extends false finally for from function get if implements import in infer instanceof interface is keyof let module namespace never new null number object of package private protected public readonly require return satisfies set static string super switch symbol this throw true try type typeof undefined unique unknown using var void while with yield";
const RUST =
  "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type union unsafe use where while i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64 bool char str";
const PYTHON =
  "and as assert async await break case class continue def del elif else except False finally for from global if import in is lambda match None nonlocal not or pass raise return True try while with yield self";
const C =
  "alignas alignof auto bool break case catch char class concept const constexpr continue co_await co_return co_yield decltype default delete do double else enum explicit export extern false final float for friend goto if inline int long mutable namespace new noexcept nullptr operator override private protected public register requires return short signed sizeof static static_assert static_cast struct switch template this thread_local throw true try typedef typename union unsigned using virtual void volatile while";
const JAVA =
  "abstract assert boolean break byte case catch char class const continue data default do double else enum extends false final finally float for fun if implements import in instanceof int interface internal is lateinit let long native new null object open override package private protected public record return sealed short static super suspend switch synchronized this throw throws trait transient true try typealias val var void volatile when while yield def func guard init inout lazy namespace nil operator protocol readonly self string struct subscript throws unowned using virtual weak where foreach base decimal delegate event get set params partial ref out sbyte uint ulong ushort";
const GO =
  "break case chan const continue default defer else fallthrough false for func go goto if import interface iota map nil package range return select struct switch true type var bool byte error float32 float64 int int8 int16 int32 int64 rune string uint uint8 uint16 uint32 uint64 uintptr any";
const SHELL =
  "case do done elif else esac export fi for function if in local readonly return select set shift source then trap unset until while cd echo exit printf read test true false";
const SQL =
  "add all alter and as asc begin between by case check column commit constraint create cross default delete desc distinct drop else end exists foreign from full group having if in index inner insert into is join key left like limit not null offset on or order outer primary references returning right rollback select set table then transaction union unique update using values view when where with";
const RUBY =
  "alias and begin break case class def defined do else elsif end ensure false for if in module next nil not or redo rescue retry return self super then true undef unless until when while yield require attr_accessor puts echo function foreach endif namespace use public private protected static new var array";

const SCRIPT_GRAMMAR = grammar([C_COMMENT], [DOUBLE, SINGLE, BACKTICK], SCRIPT);
const C_GRAMMAR = grammar([C_COMMENT, String.raw`^[ \t]*#[^\n]*`], [DOUBLE, SINGLE], C);
const JAVA_GRAMMAR = grammar([C_COMMENT], [TRIPLE, DOUBLE, SINGLE], JAVA);
const SHELL_GRAMMAR = grammar([String.raw`(?<![\w$&{])#[^\n]*`], [DOUBLE, String.raw`'[^']*(?:'|$)`], SHELL, false);
const DATA_GRAMMAR = grammar([C_COMMENT], [DOUBLE, SINGLE], "true false null", false);
const CONFIG_GRAMMAR = grammar([HASH_COMMENT], [TRIPLE, DOUBLE, SINGLE], "true false null yes no on off", false);
const MARKUP_GRAMMAR = grammar([String.raw`<!--[\s\S]*?(?:-->|$)`], [DOUBLE, SINGLE], "html head body div span script style link meta title template", false);
const STYLE_GRAMMAR = grammar([C_COMMENT], [DOUBLE, SINGLE], "and not only from to media supports import layer container keyframes font-face important inherit initial unset none auto", false);

const GRAMMARS: Record<string, Grammar> = {
  rust: grammar([C_COMMENT], [DOUBLE, CHARACTER], RUST),
  python: grammar([HASH_COMMENT], [TRIPLE, DOUBLE, SINGLE], PYTHON),
  go: grammar([C_COMMENT], [DOUBLE, SINGLE, BACKTICK], GO),
  sql: grammar([DASH_COMMENT, C_COMMENT], [DOUBLE, SINGLE], `${SQL} ${SQL.toUpperCase()}`, false),
  ruby: grammar([HASH_COMMENT, C_COMMENT], [DOUBLE, SINGLE], RUBY),
  lua: grammar([DASH_COMMENT], [DOUBLE, SINGLE], "and break do else elseif end false for function goto if in local nil not or repeat return then true until while"),
  javascript: SCRIPT_GRAMMAR,
  c: C_GRAMMAR,
  java: JAVA_GRAMMAR,
  shell: SHELL_GRAMMAR,
  json: DATA_GRAMMAR,
  yaml: CONFIG_GRAMMAR,
  html: MARKUP_GRAMMAR,
  css: STYLE_GRAMMAR,
};

const NAMES: Record<string, string> = {
  rs: "rust",
  py: "python",
  golang: "go",
  rb: "ruby",
  php: "ruby",
  js: "javascript",
  jsx: "javascript",
  mjs: "javascript",
  cjs: "javascript",
  ts: "javascript",
  tsx: "javascript",
  mts: "javascript",
  typescript: "javascript",
  svelte: "javascript",
  vue: "javascript",
  cpp: "c",
  "c++": "c",
  cc: "c",
  h: "c",
  hpp: "c",
  wit: "rust",
  zig: "rust",
  kotlin: "java",
  kt: "java",
  swift: "java",
  scala: "java",
  cs: "java",
  csharp: "java",
  dart: "java",
  sh: "shell",
  bash: "shell",
  zsh: "shell",
  console: "shell",
  dockerfile: "shell",
  makefile: "shell",
  jsonl: "json",
  jsonc: "json",
  json5: "json",
  yml: "yaml",
  toml: "yaml",
  ini: "yaml",
  conf: "yaml",
  properties: "yaml",
  xml: "html",
  svg: "html",
  scss: "css",
  less: "css",
  patch: "diff",
};

/** The code in pieces of one colour. Their texts together are the code, whatever the language. */
export function tokens(code: string, language: string): Token[] {
  const name = NAMES[language] ?? language;
  if (code.length > LARGEST) {
    return [{ kind: "plain", text: code }];
  }
  if (name === "diff") {
    return diffTokens(code);
  }
  const found = Object.hasOwn(GRAMMARS, name) ? GRAMMARS[name] : undefined;
  return found === undefined ? [{ kind: "plain", text: code }] : scan(code, found);
}

function scan(code: string, { pattern, keywords, hasTypes }: Grammar): Token[] {
  const result: Token[] = [];
  const push = (kind: TokenKind, text: string) => {
    const last = result.at(-1);
    if (last?.kind === kind) {
      last.text += text;
    } else if (text !== "") {
      result.push({ kind, text });
    }
  };
  pattern.lastIndex = 0;
  let at = 0;
  for (let found = pattern.exec(code); found !== null; found = pattern.exec(code)) {
    push("plain", code.slice(at, found.index));
    const [text, comment, string, number] = found;
    at = found.index + text.length;
    if (text === "") {
      pattern.lastIndex += 1;
    } else if (comment !== undefined) {
      push("comment", text);
    } else if (string !== undefined) {
      push("string", text);
    } else if (number !== undefined) {
      push("number", text);
    } else {
      push(wordKind(text, code[at], keywords, hasTypes), text);
    }
  }
  push("plain", code.slice(at));
  return result;
}

function wordKind(word: string, after: string | undefined, keywords: ReadonlySet<string>, hasTypes: boolean): TokenKind {
  if (keywords.has(word)) {
    return "keyword";
  }
  if (hasTypes && /^[A-Z]/.test(word)) {
    return "type";
  }
  return hasTypes && (after === "(" || after === "!") ? "title" : "plain";
}

function diffTokens(code: string): Token[] {
  return code.split(/(?<=\n)/).map((line) => {
    const kind: TokenKind = /^(\+\+\+|---|@@|diff |index )/.test(line)
      ? "meta"
      : line.startsWith("+")
        ? "added"
        : line.startsWith("-")
          ? "removed"
          : "plain";
    return { kind, text: line };
  });
}
