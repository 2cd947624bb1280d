//! What a line of code says about a name. Nothing around the line is known, so what is defined over several lines, or by a
//! macro, may be taken for a use.

/// How definitions are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    Rust,
    Script,
    Python,
    Go,
    C,
}

/// What a place is. Definitions come before uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Type,
    Function,
    Value,
    Use,
}

/// A place where a name stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub file: String,
    /// Counts from one.
    pub line: usize,
    pub kind: Kind,
    /// The line, without space around it.
    pub text: String,
}

impl Kind {
    pub fn word(self) -> &'static str {
        match self {
            Self::Type => "type",
            Self::Function => "function",
            Self::Value => "value",
            Self::Use => "use",
        }
    }
}

/// Whether a letter can be part of a name.
pub fn is_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '$'
}

impl Language {
    /// By the ending of a file.
    pub fn of(path: &str) -> Option<Self> {
        let (_, end) = path.rsplit_once('.')?;
        match end {
            "rs" => Some(Self::Rust),
            "js" | "jsx" | "mjs" | "cjs" | "ts" | "tsx" | "mts" | "cts" => Some(Self::Script),
            "py" => Some(Self::Python),
            "go" => Some(Self::Go),
            "c" | "h" | "cc" | "cpp" | "hpp" | "java" | "cs" => Some(Self::C),
            _ => None,
        }
    }

    /// Words after which a name is defined.
    fn words(self) -> &'static [(&'static str, Kind)] {
        match self {
            Self::Rust => &[
                ("fn", Kind::Function),
                ("struct", Kind::Type),
                ("enum", Kind::Type),
                ("union", Kind::Type),
                ("trait", Kind::Type),
                ("type", Kind::Type),
                ("mod", Kind::Type),
                ("const", Kind::Value),
                ("static", Kind::Value),
                ("let", Kind::Value),
                ("macro_rules!", Kind::Function),
            ],
            Self::Script => &[
                ("function", Kind::Function),
                ("function*", Kind::Function),
                ("class", Kind::Type),
                ("interface", Kind::Type),
                ("type", Kind::Type),
                ("enum", Kind::Type),
                ("namespace", Kind::Type),
                ("const", Kind::Value),
                ("let", Kind::Value),
                ("var", Kind::Value),
            ],
            Self::Python => &[("def", Kind::Function), ("class", Kind::Type)],
            Self::Go => &[("func", Kind::Function), ("type", Kind::Type), ("var", Kind::Value), ("const", Kind::Value)],
            Self::C => &[
                ("struct", Kind::Type),
                ("class", Kind::Type),
                ("enum", Kind::Type),
                ("union", Kind::Type),
                ("interface", Kind::Type),
                ("record", Kind::Type),
                ("namespace", Kind::Type),
                ("#define", Kind::Value),
            ],
        }
    }

    /// Every line of a text on which a name stands as a whole.
    pub fn find(self, file: &str, text: &str, name: &str) -> Vec<Found> {
        let found = text.lines().enumerate().filter_map(|(index, line)| {
            let kind = self.kind(line, name)?;
            Some(Found { file: file.to_owned(), line: index + 1, kind, text: line.trim().to_owned() })
        });
        found.collect()
    }

    fn kind(self, line: &str, name: &str) -> Option<Kind> {
        let places: Vec<usize> =
            line.match_indices(name).map(|(at, _)| at).filter(|at| is_whole(line, *at, name)).collect();
        if places.is_empty() {
            return None;
        }
        if self.is_comment(line.trim_start()) {
            return Some(Kind::Use);
        }
        let defined = places.iter().find_map(|at| self.definition(&line[..*at], &line[at + name.len()..]));
        Some(defined.unwrap_or(Kind::Use))
    }

    /// What a name is that stands between these two parts of a line, if it is defined there.
    fn definition(self, before: &str, after: &str) -> Option<Kind> {
        let after = after.trim_start();
        let by_word = |before: &str| {
            let word = before.rsplit(char::is_whitespace).next().unwrap_or(before);
            self.words().iter().find(|(known, _)| *known == word).map(|(_, kind)| *kind)
        };
        // `let mut name`, `static mut name`.
        let bare = before.trim_end();
        let kind = by_word(bare.strip_suffix(" mut").unwrap_or(bare));
        match self {
            Self::Rust => kind,
            Self::Script => kind.or_else(|| is_method(before, after).then_some(Kind::Function)),
            Self::Python => kind.or_else(|| (bare.is_empty() && is_assigned(after)).then_some(Kind::Value)),
            Self::Go => kind.or_else(|| {
                let is_method = bare.starts_with("func (") && bare.ends_with(')') && after.starts_with(['(', '[']);
                let is_new = after.split_once(":=").is_some_and(|(others, _)| is_list(bare) && is_list(others));
                is_method.then_some(Kind::Function).or(is_new.then_some(Kind::Value))
            }),
            Self::C => match kind {
                // `struct name variable` only uses it.
                Some(Kind::Type) => is_body(after).then_some(Kind::Type),
                Some(kind @ (Kind::Function | Kind::Value | Kind::Use)) => Some(kind),
                None => declared(before, after),
            },
        }
    }

    /// Whether a line is only said to people.
    fn is_comment(self, line: &str) -> bool {
        match self {
            Self::Python => line.starts_with('#'),
            Self::Rust | Self::Script | Self::Go | Self::C => {
                ["//", "/*", "* "].iter().any(|sign| line.starts_with(sign))
            }
        }
    }
}

/// Words before a method of a class in JavaScript and TypeScript.
const MODIFIERS: [&str; 13] = [
    "async",
    "static",
    "public",
    "private",
    "protected",
    "readonly",
    "override",
    "abstract",
    "get",
    "set",
    "*",
    "#",
    "accessor",
];
/// Words after which a name in C and its relatives is used, whatever follows.
const STATEMENTS: [&str; 14] = [
    "return",
    "else",
    "new",
    "throw",
    "case",
    "goto",
    "delete",
    "sizeof",
    "await",
    "co_return",
    "co_await",
    "yield",
    "using",
    "import",
];

/// `name() {`, `async name(): Type`, `name = () =>`: a method, or a member that is a function.
fn is_method(before: &str, after: &str) -> bool {
    let modifiers: Vec<&str> = before.split_whitespace().collect();
    if !modifiers.iter().all(|word| MODIFIERS.contains(word)) {
        return false;
    }
    let after = behind_brackets(after, '<', '>').unwrap_or(after);
    if after.starts_with('(') {
        return match behind_brackets(after, '(', ')') {
            Some(behind) => behind.starts_with(['{', ':']) || !modifiers.is_empty(),
            // Its parameters stand on the next lines.
            None => !modifiers.is_empty(),
        };
    }
    let value = after.strip_prefix(['=', ':']).map(str::trim_start);
    value.is_some_and(|value| {
        let value = value.strip_prefix("async").map_or(value, str::trim_start);
        let is_arrow = value.starts_with('(') && value.contains("=>");
        is_arrow || value.starts_with("function")
    })
}

/// A function or variable of C and its relatives: a type stands before the name.
fn declared(before: &str, after: &str) -> Option<Kind> {
    let is_part = |sign: char| is_name(sign) || sign.is_whitespace() || "*&<>:,[]~@?".contains(sign);
    let words: Vec<&str> = before.split(|sign: char| !is_name(sign)).filter(|word| !word.is_empty()).collect();
    let is_typed = before.chars().all(is_part) && !words.iter().any(|word| STATEMENTS.contains(word));
    // `Type name`, `Type *name`, `Type Class::name`; not `Class::name`, which may be a call.
    let is_after_type = is_typed && words.len() > usize::from(before.trim_end().ends_with("::"));
    if after.starts_with('(') {
        let behind = behind_brackets(after, '(', ')');
        let has_body = is_typed && behind.is_some_and(|behind| behind.starts_with('{'));
        // The type of what it answers stands on the line before.
        let is_outermost = before.is_empty() && !after.trim_end().ends_with(';');
        return (is_after_type || has_body || is_outermost).then_some(Kind::Function);
    }
    let is_ended = after.starts_with(';');
    if is_ended && (before.trim() == "}" || words.first() == Some(&"typedef")) {
        return Some(Kind::Type);
    }
    let is_value = is_ended || after.starts_with([',', '[']) || is_assigned(after);
    // The words of `a < b, name` are not told from those of a type.
    (is_after_type && is_value && !before.contains(',')).then_some(Kind::Value)
}

/// Whether the body of a type follows, or nothing but its name is said.
fn is_body(after: &str) -> bool {
    let follows = ["{", ":", ";", "<", "(", "final", "extends", "implements"];
    after.is_empty() || follows.iter().any(|sign| after.starts_with(sign))
}

/// `= value` or `: Type = value`.
fn is_assigned(after: &str) -> bool {
    let is_set = |text: &str| text.starts_with('=') && !text.starts_with("==") && !text.starts_with("=>");
    is_set(after)
        || after.strip_prefix(':').and_then(|typed| typed.find('=').map(|at| &typed[at..])).is_some_and(is_set)
}

/// Whether it is nothing but names and commas, perhaps behind the word that begins a statement.
fn is_list(text: &str) -> bool {
    let text = ["if ", "for ", "switch "].iter().find_map(|word| text.trim_start().strip_prefix(word)).unwrap_or(text);
    text.chars().all(|sign| is_name(sign) || sign == ',' || sign.is_whitespace())
}

/// What stands behind the brackets with which a text begins, if they close.
fn behind_brackets(text: &str, open: char, close: char) -> Option<&str> {
    let mut depth = 0_usize;
    for (at, sign) in text.char_indices() {
        match sign {
            _ if sign == open => depth += 1,
            _ if depth == 0 => return None,
            _ if sign == close => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(text[at + close.len_utf8()..].trim_start());
        }
    }
    None
}

fn is_whole(line: &str, at: usize, name: &str) -> bool {
    let before = line[..at].chars().next_back().is_some_and(is_name);
    let after = line[at + name.len()..].chars().next().is_some_and(is_name);
    !before && !after
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(file: &str, line: &str, expected: Option<Kind>) {
        let language = Language::of(file).expect("a language");
        let found = language.find(file, line, "name");
        assert_eq!(found.first().map(|it| it.kind), expected, "{line}");
    }

    #[test]
    fn definitions_are_told_from_uses() {
        check("a.rs", "pub(crate) fn name<T>(x: T) {", Some(Kind::Function));
        check("a.rs", "    let mut name = 1;", Some(Kind::Value));
        check("a.rs", "struct name;", Some(Kind::Type));
        check("a.rs", "    self.name(1)", Some(Kind::Use));
        check("a.rs", "    rename(1); names", None);
        check("a.ts", "export async function name() {}", Some(Kind::Function));
        check("a.ts", "export const name = 1", Some(Kind::Value));
        check("a.py", "    def name(self):", Some(Kind::Function));
        check("a.go", "type name struct {", Some(Kind::Type));
        check("a.h", "#define name 1", Some(Kind::Value));
        check("a.c", "x = name + 1;", Some(Kind::Use));
        assert_eq!(Language::of("README.md"), None);
    }

    #[test]
    fn definitions_are_known_in_every_language() {
        for (file, line, expected) in [
            ("a.rs", "pub union name {", Kind::Type),
            ("a.rs", "// fn name is gone", Kind::Use),
            ("a.go", "func (s *Server) name(ctx context.Context) error {", Kind::Function),
            ("a.go", "func (l List[T]) name() {", Kind::Function),
            ("a.go", "func name() {", Kind::Function),
            ("a.go", "\tname, err := open()", Kind::Value),
            ("a.go", "\tx, name := open()", Kind::Value),
            ("a.go", "\tx := name(1)", Kind::Use),
            ("a.go", "\ts.name(1)", Kind::Use),
            ("a.ts", "  async name() {", Kind::Function),
            ("a.ts", "  name() {", Kind::Function),
            ("a.ts", "  name(): Promise<void> {", Kind::Function),
            ("a.ts", "  name<T>(x: T): T { return x }", Kind::Function),
            ("a.ts", "  private static async name(", Kind::Function),
            ("a.ts", "  get name() {", Kind::Function),
            ("a.ts", "  name = async (x) => {", Kind::Function),
            ("a.ts", "  name: (x) => x,", Kind::Function),
            ("a.ts", "  name();", Kind::Use),
            ("a.ts", "  await name();", Kind::Use),
            ("a.ts", "  this.name() ? 1 : 2", Kind::Use),
            ("a.ts", "  if (name()) {", Kind::Use),
            ("a.ts", "  name(", Kind::Use),
            ("a.py", "name = 3", Kind::Value),
            ("a.py", "name: int = 3", Kind::Value),
            ("a.py", "if name == 3:", Kind::Use),
            ("a.py", "name == 3", Kind::Use),
            ("a.py", "x = name", Kind::Use),
            ("a.py", "# def name():", Kind::Use),
            ("a.c", "int name(char *line) {", Kind::Function),
            ("a.h", "int name(char*);", Kind::Function),
            ("a.c", "static const char *name(void)", Kind::Function),
            ("a.c", "name(char *line)", Kind::Function),
            ("a.cpp", "std::vector<int> Parser::name(int x) {", Kind::Function),
            ("a.cpp", "Parser::name(int x) {", Kind::Function),
            ("a.cpp", "  Parser::name(1);", Kind::Use),
            ("a.java", "    public List<String> name(int x) {", Kind::Function),
            ("a.c", "    return name(1);", Kind::Use),
            ("a.c", "    int x = name(1);", Kind::Use),
            ("a.c", "    name(1);", Kind::Use),
            ("a.c", "    if (name(1)) {", Kind::Use),
            ("a.c", "static int name = 3;", Kind::Value),
            ("a.c", "char name[8];", Kind::Value),
            ("a.c", "struct name {", Kind::Type),
            ("a.c", "struct name *first;", Kind::Use),
            ("a.c", "} name;", Kind::Type),
            ("a.c", "typedef unsigned long name;", Kind::Type),
        ] {
            check(file, line, Some(expected));
        }
    }

    #[test]
    fn lines_count_from_one() {
        let found = Language::Rust.find("a.rs", "\nfn name() {}\n\nname();", "name");
        assert_eq!(
            found.iter().map(|it| (it.line, it.kind)).collect::<Vec<_>>(),
            [(2, Kind::Function), (4, Kind::Use)]
        );
    }
}
