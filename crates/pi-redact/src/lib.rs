//! What must not be written: secrets and personal data, found by key, by shape and by exact value.
//!
//! Pure functions over JSON values and text: no files, no clock, no async, no workspace crate. It does not decide *where*
//! redaction happens (log sinks, exports and tool results do), it keeps no way back to what it hid, and it does not look
//! into images or archives.
//!
//! Start with [`Redactor`]; [`is_secret_key`] is the rule for keys, [`variable_secrets`] that for variables, and
//! `docs/adr/0070-secret-keys-by-words.md` argues for them. [`Evidence`] says when keys count, and [`Stream`] is for text
//! that arrives in pieces.
//!
//! Everything runs in time linear in its input. What was hidden stays hidden: a mark is never taken for a secret. Hiding
//! one thing can lay bare another, so a text is searched until nothing is found, but four times at most; redacting twice is
//! therefore redacting once except for texts built to need a fifth round, where the second time may hide more.

mod encoding;
mod exact;
mod key;
mod personal;
mod stream;
mod text;
mod value;
mod variable;

use std::{borrow::Cow, fmt};

use serde_json::Value;

use self::{exact::ExactValues, text::Scanner};

pub use self::{
    exact::{SHORTEST_SECRET, SHORTEST_WORD},
    key::is_secret_key,
    stream::Stream,
    variable::{is_secret_variable, is_withheld_variable, variable_secrets},
};

/// What stands where a secret stood.
pub const MARK: &str = "[REDACTED]";

/// What happens to mail addresses, phone numbers, postal addresses, and numbers of payment cards, bank accounts (IBAN) and
/// US social security.
#[derive(Clone)]
pub enum Personal {
    /// Leave them as they are.
    Keep,
    /// Keep just enough to recognise one's own: `j***@e***.com`, and of a number its end, `***67`.
    Mask,
    /// Replace them with a keyed digest, so that equal ones stay equal: `email:`, `phone:`, `card:`, `account:` or `ssn:` and 12
    /// hexadecimal digits.
    Hash {
        /// Whoever holds the key can test a guess, so it is a secret of its own.
        key: Vec<u8>,
    },
}

/// What counts as evidence that something is a secret. Exact values always do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Keys and shapes: for logs, traces and exports, which nobody runs. `token: String` in a line of source code is
    /// hidden too, because a password cannot be told from it.
    KeysAndShapes,
    /// Shapes only: for text that a model or a file will use, such as source code and tool results. Names of keys and
    /// members mean nothing, so personal data is found only where it is written out, and a PEM block is hidden only
    /// when it is a private key with something in it.
    Shapes,
    /// Shapes, and behind the name of a secret what can only be a value: for what is kept of answers and is read by people.
    /// `password=hunter2` is hidden, `password = input()` and `password: String` stay.
    Literals,
}

/// What a [`Redactor`] is built from.
pub struct Options {
    /// Values known to be secret, hidden wherever they appear and also where they appear JSON-escaped, percent-encoded
    /// or in base64 (see `src/encoding.rs` for the dialects). Those shorter than [`SHORTEST_SECRET`] are left out, see [`Redactor::ignored_secrets`].
    pub secrets: Vec<String>,
    /// Whether the names of keys count.
    pub evidence: Evidence,
    /// The treatment of personal data.
    pub personal: Personal,
}

/// Hides secrets and personal data. Build it once; it is immutable and may be shared between threads.
pub struct Redactor {
    exact: ExactValues,
    evidence: Evidence,
    personal: Personal,
    scanner: &'static Scanner,
}

impl Redactor {
    /// Prepares the search. The first of its kind in a process takes about a millisecond, the others what their secrets take.
    pub fn new(options: Options) -> Self {
        let Options { secrets, evidence, personal } = options;
        Redactor { exact: ExactValues::new(secrets), evidence, personal, scanner: Scanner::of(evidence) }
    }

    /// Hides these too where they stand alone, as words, although they are shorter than [`SHORTEST_SECRET`]: for words about
    /// one of them, such as the error of a server that was sent it. Those shorter than [`SHORTEST_WORD`] are left out.
    #[must_use]
    pub fn hiding_words(mut self, words: impl IntoIterator<Item = String>) -> Self {
        self.exact.add_words(words);
        self
    }

    /// How many of the secrets handed in are not looked for, because they are shorter than [`SHORTEST_SECRET`] or part
    /// of the mark itself. A caller may want to warn about them.
    pub fn ignored_secrets(&self) -> usize {
        self.exact.ignored()
    }

    /// Hides what must not be written in a piece of text. Borrows when nothing was found.
    pub fn redact_text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        text::redact(self, text)
    }

    /// Begins a text that arrives in pieces. `bound` is the length of the longest secret that may be cut, with its key and
    /// what stands between them, in bytes; 8192 covers the PEM block of any usual private key. It is raised to what the
    /// detectors and the known values need.
    pub fn stream(&self, bound: usize) -> Stream<'_> {
        Stream::new(self, bound)
    }

    /// The beginning of a text that still grows, without an end that may turn out to be a part of a secret: the last word if
    /// it may go on, and what a known value begins with. For text that somebody watches being written; whoever shows it
    /// redacts it first.
    pub fn settled<'a>(&self, text: &'a str) -> &'a str {
        let text = &text[..text.len() - self.exact.begun_at_the_end_of(text)];
        let word = text.rfind(char::is_whitespace).map_or(0, |at| text.ceil_char_boundary(at + 1));
        // Signs alone, such as the dots of a progress, are never a secret.
        let may_go_on = text[word..].contains(char::is_alphanumeric);
        if may_go_on { &text[..word] } else { text }
    }

    /// Hides what must not be written in a JSON value, in member names too.
    ///
    /// A member with a [secret key](is_secret_key) is replaced as a whole, unless it is `null`, a boolean or empty, and so
    /// is one under the plural `tokens` unless it holds nothing but counts. Strings are treated as
    /// [`redact_text`](Self::redact_text) does; header lists (`[["Authorization", "…"]]`, `[{"name": …, "value": …}]`),
    /// `rawHeaders` and command lines (`["--token", "…"]`) are understood.
    pub fn redact_value(&self, value: &mut Value) {
        value::redact(self, value);
    }
}

impl Default for Redactor {
    /// For logs: looks for keys and shapes, knows no exact values and masks personal data.
    fn default() -> Self {
        Redactor::new(Options { secrets: Vec::new(), evidence: Evidence::KeysAndShapes, personal: Personal::Mask })
    }
}

impl Personal {
    fn is_kept(&self) -> bool {
        matches!(self, Personal::Keep)
    }
}

impl fmt::Debug for Redactor {
    /// Shows that it exists and nothing it knows.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Redactor").finish_non_exhaustive()
    }
}

impl fmt::Debug for Personal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Personal::Keep => "Keep",
            Personal::Mask => "Mask",
            Personal::Hash { .. } => "Hash",
        })
    }
}
