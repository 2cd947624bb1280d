//! What a line of code says about a name.

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
        let defined = places.iter().find_map(|at| {
            let before = line[..*at].trim_end();
            // `let mut name`, `static mut name`.
            let before = before.strip_suffix(" mut").unwrap_or(before);
            let word = before.rsplit(char::is_whitespace).next().unwrap_or(before);
            self.words().iter().find(|(known, _)| *known == word).map(|(_, kind)| *kind)
        });
        Some(defined.unwrap_or(Kind::Use))
    }
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
    fn lines_count_from_one() {
        let found = Language::Rust.find("a.rs", "\nfn name() {}\n\nname();", "name");
        assert_eq!(
            found.iter().map(|it| (it.line, it.kind)).collect::<Vec<_>>(),
            [(2, Kind::Function), (4, Kind::Use)]
        );
    }
}
