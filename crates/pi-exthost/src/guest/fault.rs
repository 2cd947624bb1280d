//! How a guest fails, by its own account.

/// Why a guest did not do what it was asked to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GuestFault {
    /// The code of the extension threw. Its own fault, and it goes on.
    #[error("{message}")]
    Threw { message: String, stack: Option<String> },
    /// It was cancelled and stopped in time.
    #[error("cancelled")]
    Cancelled,
    /// It has no such tool, command, shortcut, renderer or provider (any more).
    #[error("the extension has no {what}")]
    NotOffered { what: String },
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

impl GuestFault {
    pub fn threw(message: impl Into<String>) -> Self {
        Self::Threw { message: message.into(), stack: None }
    }

    pub fn not_offered(what: impl Into<String>) -> Self {
        Self::NotOffered { what: what.into() }
    }
}
