// Colours for code: comments, strings, numbers and keywords of the usual languages, by patterns. It is a help to the eye, not a parser.

const LANGUAGES = {
  ts: "typescript", tsx: "typescript", mts: "typescript", cts: "typescript", js: "javascript", jsx: "javascript", mjs: "javascript", cjs: "javascript", py: "python", rb: "ruby", rs: "rust", go: "go", java: "java", kt: "kotlin",
  swift: "swift", c: "c", h: "c", cpp: "cpp", cc: "cpp", cxx: "cpp", hpp: "cpp", cs: "csharp", php: "php", sh: "bash", bash: "bash", zsh: "bash", fish: "fish", ps1: "powershell", sql: "sql", html: "html", htm: "html", css: "css",
  scss: "scss", sass: "sass", less: "less", json: "json", yaml: "yaml", yml: "yaml", toml: "toml", xml: "xml", md: "markdown", markdown: "markdown", dockerfile: "dockerfile", makefile: "makefile", cmake: "cmake", lua: "lua", perl: "perl",
  r: "r", scala: "scala", clj: "clojure", ex: "elixir", exs: "elixir", erl: "erlang", hs: "haskell", ml: "ocaml", vim: "vim", graphql: "graphql", proto: "protobuf", tf: "hcl", hcl: "hcl",
};
export const getLanguageFromPath = (path) => LANGUAGES[path.split(".").at(-1)?.toLowerCase()];

const KEYWORDS = new Set((
  "abstract as async await break case catch class const continue def default defer delete do elif else enum except export extends false finally fn for from func function go if impl implements import in interface is lambda let loop match mod "
  + "module mut new nil None null of package pass private protected pub public raise return select self static struct super switch then this throw trait true True False try type typeof undefined use var void where while with yield fi done esac local echo"
).split(" "));
const HASH = new Set(["python", "ruby", "bash", "fish", "yaml", "toml", "perl", "r", "dockerfile", "makefile", "cmake", "elixir", "powershell", "hcl"]);
const WORDLESS = new Set(["json", "yaml", "toml", "markdown", "html", "xml", "css"]);

/** One line after another; unknown languages stay as they are, in one colour. */
export function highlight(text, language, theme) {
  const name = LANGUAGES[language?.toLowerCase()] ?? language?.toLowerCase();
  const known = Object.values(LANGUAGES).includes(name);
  return text.split("\n").map((line) => (known ? paint(line, name, theme) : theme.fg("mdCodeBlock", line)));
}

function paint(line, language, theme) {
  const comment = HASH.has(language) ? "#.*" : language === "sql" || language === "lua" || language === "haskell" ? "--.*" : "\\/\\/.*|\\/\\*.*?(?:\\*\\/|$)";
  const parts = new RegExp(`(${comment})|("(?:\\\\.|[^"\\\\])*"?|'(?:\\\\.|[^'\\\\])*'?|\`(?:\\\\.|[^\`\\\\])*\`?)|(\\b\\d[\\d_.a-fxA-FX]*\\b)|([A-Za-z_][\\w$]*)`, "g");
  return line.replace(parts, (own, isComment, isText, isNumber, word) => {
    if (isComment) return theme.fg("syntaxComment", own);
    if (isText) return theme.fg("syntaxString", own);
    if (isNumber) return theme.fg("syntaxNumber", own);
    return word && KEYWORDS.has(word) && !WORDLESS.has(language) ? theme.fg("syntaxKeyword", own) : own;
  });
}
