//! How a guest fails, by its own account.

use std::fmt;

/// Why a guest did not do what it was asked to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GuestFault {
    /// The code of the extension threw. Its own fault, and it goes on.
    #[error("{message}")]
    Threw {
        message: String,
        /// In the words of the sources, where those are known.
        stack: Option<String>,
        at: Option<CodePlace>,
    },
    /// It was cancelled and stopped in time.
    #[error("cancelled")]
    Cancelled,
    /// It has no such tool, command, shortcut, renderer or provider (any more).
    #[error("the extension has no {what}")]
    NotOffered { what: String },
    /// What was typed behind its command cannot be used, and nothing was done. It is nobody's fault but the typist's.
    #[error("{message}")]
    Misused { message: String },
    /// What it answered cannot be read.
    #[error("the extension answered nonsense: {message}")]
    Nonsense { message: String },
    /// It went over a limit (memory, stack, depth) and this call was ended.
    #[error("the extension went over its limit of {limit}")]
    OverLimit { limit: String },
    /// It does not run any more: it was shut down, or failed too often.
    #[error("the extension does not run any more")]
    Gone,
}

/// Where in the sources of an extension something happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodePlace {
    pub file: String,
    /// From one on, as editors count.
    pub line: u32,
    pub column: u32,
    pub certainty: Certainty,
}

/// How a place is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    /// The engine named it, or what leads there.
    Named,
    /// The engine named none, and it is the only one that fits.
    Guessed,
}

impl fmt::Display for CodePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let perhaps = match self.certainty {
            Certainty::Named => "",
            Certainty::Guessed => "perhaps ",
        };
        write!(f, "{perhaps}{}:{}:{}", self.file, self.line, self.column)
    }
}

impl GuestFault {
    pub fn threw(message: impl Into<String>) -> Self {
        Self::Threw { message: message.into(), stack: None, at: None }
    }

    /// For whoever looks after the extension: what went wrong, and where in its sources. A model is told the first alone.
    pub fn told(&self) -> String {
        match self {
            Self::Threw { message, at: Some(at), .. } => format!("{message} ({at})"),
            Self::Threw { at: None, .. }
            | Self::Cancelled
            | Self::NotOffered { .. }
            | Self::Misused { .. }
            | Self::Nonsense { .. }
            | Self::OverLimit { .. }
            | Self::Gone => self.to_string(),
        }
    }

    pub fn not_offered(what: impl Into<String>) -> Self {
        Self::NotOffered { what: what.into() }
    }
}
