//! What is wrong with a file, and where.

mod masked;
mod render;
mod rule;

use std::fmt;

pub(crate) use self::masked::hide_member;
pub use self::{
    masked::masked,
    render::{Frame, Style, render, render_frame},
    rule::Rule,
};

/// How much a diagnostic matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Something that may be of interest, such as a name that is ignored.
    Note,
    /// A part of the file was left out or replaced by its default.
    Warning,
    /// The file is rejected, or a name in it that belongs to another file.
    Error,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    pub severity: Severity,
    /// The rule that was broken; `docs/manifest-rules.md` lists them.
    pub rule: Rule,
    pub file: String,
    /// Counted from 1; 0 where the finding is about the file as a whole.
    pub line: u32,
    /// Counted in characters from 1; 0 where the finding is about the file as a whole.
    pub column: u32,
    /// How many characters of the line it is about; 0 where nobody knows, and then a word is marked.
    pub length: u32,
    /// The member, from the root of the document: `endpoint.auth.type`.
    pub path: String,
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

/// How a hint says that no call passes before something is corrected.
pub(crate) const REFUSED_UNTIL_THEN: &str = "calls are refused until then";

impl Diagnostic {
    /// Whether every call of the provider is refused because of it.
    pub fn refuses_calls(&self) -> bool {
        self.hint.contains(REFUSED_UNTIL_THEN)
    }
}

impl Severity {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl Diagnostic {
    /// A finding with the usual advice.
    pub fn new(severity: Severity, rule: Rule, file: impl Into<String>, message: impl Into<String>) -> Self {
        let (file, message, hint) = (file.into(), message.into(), rule.hint().to_owned());
        Self { severity, rule, file, line: 0, column: 0, length: 0, path: String::new(), message, hint }
    }
}

/// One line: `file:line:column: error[rule]: message (path)`.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if self.line > 0 {
            write!(f, ":{}:{}", self.line, self.column)?;
        }
        write!(f, ": {}[{}]: {}", self.severity.word(), self.rule, self.message)?;
        if !self.path.is_empty() {
            write!(f, " ({})", self.path)?;
        }
        Ok(())
    }
}
