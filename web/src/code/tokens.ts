/**
 * Colours of code: a scanner that knows strings, comments, numbers and the words of a language. It does not understand programs; it
 * makes them easier to read, in one pass and in little space. It goes line by line, and carries over what is still open at the end of one.
 */
import type { Bundles } from "../parts/bundles";

export type TokenKind = "plain" | "keyword" | "string" | "number" | "comment" | "title" | "type" | "added" | "removed" | "meta";

export interface Token {
  kind: TokenKind;
  text: string;
}

/** What may go on over several lines. */
interface Span {
  kind: "comment" | "string";
  start: string;
  /** What follows its start. The group is its end, without which it goes on behind the line. */
  rest: RegExp;
}

interface Grammar {
  pattern: RegExp;
  spans: readonly Span[];
  keywords: ReadonlySet<string>;
  /** Names that begin with a capital are types. */
  hasTypes: boolean;
}

/** The lines behind so much are shown in one colour: colouring them would be felt. */
const LARGEST = 60_000;

const C_COMMENT: Span = { kind: "comment", start: "/*", rest: /[\s\S]*?(\*\/)|[\s\S]*/y };
const MARKUP_COMMENT: Span = { kind: "comment", start: "<!--", rest: /[\s\S]*?(-->)|[\s\S]*/y };
const BACKTICK: Span = { kind: "string", start: "`", rest: /(?:\\[\s\S]|[^`\\])*(`)?/y };
const TRIPLE: readonly Span[] = [
  { kind: "string", start: '"""', rest: /[\s\S]*?(""")|[\s\S]*/y },
  { kind: "string", start: "'''", rest: /[\s\S]*?(''')|[\s\S]*/y },
];
/** These go on behind a line only where its end is escaped. */
const DOUBLE: Span = { kind: "string", start: '"', rest: /(?:\\[\s\S]|[^"\\\n])*(")?/y };
const SINGLE: Span = { kind: "string", start: "'", rest: /(?:\\[\s\S]|[^'\\\n])*(')?/y };
const RAW_SINGLE: Span = { kind: "string", start: "'", rest: /[^']*(')?/y };

const SLASH_COMMENT = String.raw`\/\/[^\n]*`;
const HASH_COMMENT = String.raw`#[^\n]*`;
const DASH_COMMENT = String.raw`--[^\n]*`;
/** A quoted character, and not the lifetime of Rust. */
const CHARACTER = String.raw`'(?:\\(?:[^u\n]|u\{[^}\n]*\})|[^'\\\n])'`;
const NUMBER = String.raw`\b(?:0[xX][\da-fA-F_]+|0[bB][01_]+|\d[\d_]*(?:\.\d[\d_]*)?(?:[eE][+-]?\d+)?)\w*`;
const WORD = String.raw`[A-Za-z_$][\w$]*`;
const NONE = "(?!)";

/** Comments that end with their line, what may go on behind it, and words. A quoted character, where there is one, is no such span. */
function grammar(comments: readonly string[], spans: readonly Span[], words: string, { hasTypes = true, character = NONE } = {}): Grammar {
  const starts = spans.map(({ start }) => start.replace(/[*/]/g, String.raw`\$&`));
  const parts = [comments.join("|") || NONE, starts.join("|"), character, NUMBER, WORD];
  return { pattern: new RegExp(parts.map((part) => `(${part})`).join("|"), "g"), spans, keywords: new Set(words.split(" ")), hasTypes };
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

const NO_TYPES = { hasTypes: false };
const QUOTED: readonly Span[] = [DOUBLE, SINGLE];

const SCRIPT_GRAMMAR = grammar([SLASH_COMMENT], [C_COMMENT, ...QUOTED, BACKTICK], SCRIPT);
const C_GRAMMAR = grammar([SLASH_COMMENT, String.raw`^[ \t]*#[^\n]*`], [C_COMMENT, ...QUOTED], C);
const JAVA_GRAMMAR = grammar([SLASH_COMMENT], [C_COMMENT, ...TRIPLE, ...QUOTED], JAVA);
const SHELL_GRAMMAR = grammar([String.raw`(?<![\w$&{])#[^\n]*`], [DOUBLE, RAW_SINGLE], SHELL, NO_TYPES);
const DATA_GRAMMAR = grammar([SLASH_COMMENT], [C_COMMENT, ...QUOTED], "true false null", NO_TYPES);
const CONFIG_GRAMMAR = grammar([HASH_COMMENT], [...TRIPLE, ...QUOTED], "true false null yes no on off", NO_TYPES);
const MARKUP_GRAMMAR = grammar([], [MARKUP_COMMENT, ...QUOTED], "html head body div span script style link meta title template", NO_TYPES);
const STYLE_GRAMMAR = grammar([SLASH_COMMENT], [C_COMMENT, ...QUOTED], "and not only from to media supports import layer container keyframes font-face important inherit initial unset none auto", NO_TYPES);

const GRAMMARS: Record<string, Grammar> = {
  rust: grammar([SLASH_COMMENT], [C_COMMENT, DOUBLE], RUST, { character: CHARACTER }),
  python: grammar([HASH_COMMENT], [...TRIPLE, ...QUOTED], PYTHON),
  go: grammar([SLASH_COMMENT], [C_COMMENT, ...QUOTED, BACKTICK], GO),
  sql: grammar([DASH_COMMENT, SLASH_COMMENT], [C_COMMENT, ...QUOTED], `${SQL} ${SQL.toUpperCase()}`, NO_TYPES),
  ruby: grammar([HASH_COMMENT, SLASH_COMMENT], [C_COMMENT, ...QUOTED], RUBY),
  lua: grammar([DASH_COMMENT], QUOTED, "and break do else elseif end false for function goto if in local nil not or repeat return then true until while"),
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

/** How far the lines before one have come. */
interface Progress {
  /** What was begun and goes on. */
  open: Span | undefined;
  length: number;
}

interface Painted {
  lines: readonly string[];
  isLast: boolean;
  before: Progress;
  tokens: readonly Token[];
  after: Progress;
}

const BEGINNING: Progress = { open: undefined, length: 0 };

/** Colours code that may grow: bundles of lines that are what they were keep their tokens. */
export class Painter {
  private readonly scan: (line: string, open: Span | undefined, push: Push) => Span | undefined;
  private painted: Painted[] = [];

  constructor(language: string) {
    const name = NAMES[language] ?? language;
    const found = Object.hasOwn(GRAMMARS, name) ? GRAMMARS[name] : undefined;
    this.scan = name === "diff" ? scanDiff : found === undefined ? scanNothing : (line, open, push) => scan(line, open, push, found);
  }

  /** The code in pieces of one colour, for each bundle of lines. Their texts together are the code, whatever the language. */
  paint(code: Bundles<string>): Bundles<Token> {
    let before = BEGINNING;
    this.painted = code.map((lines, index) => {
      const isLast = index === code.length - 1;
      const known = this.painted[index];
      const isSame = known !== undefined && known.lines === lines && known.isLast === isLast && known.before === before;
      const painted = isSame ? known : this.paintBundle(lines, isLast, before);
      before = painted.after;
      return painted;
    });
    return this.painted.map(({ tokens }) => tokens);
  }

  private paintBundle(lines: readonly string[], isLast: boolean, before: Progress): Painted {
    const tokens: Token[] = [];
    const push: Push = (kind, text) => {
      const last = tokens.at(-1);
      if (last?.kind === kind) {
        last.text += text;
      } else if (text !== "") {
        tokens.push({ kind, text });
      }
    };
    let { open, length } = before;
    for (const [index, line] of lines.entries()) {
      const text = isLast && index === lines.length - 1 ? line : `${line}\n`;
      length += text.length;
      if (length > LARGEST) {
        push("plain", text);
      } else {
        open = this.scan(text, open, push);
      }
    }
    return { lines, isLast, before, tokens, after: { open, length } };
  }
}

type Push = (kind: TokenKind, text: string) => void;

/** Scans a line. The answer is what goes on behind it. */
function scan(line: string, begun: Span | undefined, push: Push, { pattern, spans, keywords, hasTypes }: Grammar): Span | undefined {
  let open = begun;
  let at = 0;
  const goOn = (span: Span) => {
    span.rest.lastIndex = at;
    const found = span.rest.exec(line);
    const end = at + (found?.[0].length ?? 0);
    push(span.kind, line.slice(at, end));
    at = end;
    open = found?.[1] === undefined && end === line.length ? span : undefined;
  };
  if (open !== undefined) {
    goOn(open);
  }
  while (open === undefined) {
    pattern.lastIndex = at;
    const found = pattern.exec(line);
    if (found === null) {
      break;
    }
    push("plain", line.slice(at, found.index));
    const [text, comment, start, character, number] = found;
    at = found.index + text.length;
    const span = start === undefined ? undefined : spans.find((one) => one.start === start);
    if (span !== undefined) {
      push(span.kind, text);
      goOn(span);
    } else if (comment !== undefined) {
      push("comment", text);
    } else if (character !== undefined) {
      push("string", text);
    } else if (number !== undefined) {
      push("number", text);
    } else {
      push(wordKind(text, line[at], keywords, hasTypes), text);
    }
  }
  push("plain", line.slice(at));
  return open;
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

function scanDiff(line: string, _: Span | undefined, push: Push): undefined {
  push(/^(\+\+\+|---|@@|diff |index )/.test(line) ? "meta" : line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "plain", line);
}

function scanNothing(line: string, _: Span | undefined, push: Push): undefined {
  push("plain", line);
}
