//! What well-known codes and words mean; the data is in `builtin.yaml`.

use std::{collections::HashMap, sync::LazyLock};

use regex::{Regex, RegexBuilder};
use serde::Deserialize;

use crate::error::ErrorCode;

static BUILTIN: LazyLock<Builtin> = LazyLock::new(Builtin::load);

/// The data, ready for use.
pub(super) struct Builtin {
    /// Codes in lower case.
    pub(super) codes: HashMap<String, ErrorCode>,
    /// Codes that stand above failures of any kind.
    pub(super) headings: Vec<String>,
    pub(super) messages: Vec<Words>,
    /// Words of servers that take no tools.
    pub(super) refused_tools: Vec<Regex>,
    pub(super) waits: Vec<Regex>,
    pub(super) places: Places,
}

/// Where refusals say what; `builtin.yaml` says what each member means.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Places {
    pub(super) request_id_headers: Vec<String>,
    pub(super) codes: Vec<String>,
    pub(super) reasons: Reasons,
    pub(super) kinds: Vec<String>,
    pub(super) outer_kind: String,
    pub(super) wrapper: String,
    pub(super) forwarded: Vec<String>,
    pub(super) messages: Vec<String>,
    pub(super) request_ids: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reasons {
    pub(super) list: String,
    pub(super) member: String,
}

/// Words that mean something in the message of some statuses.
pub(super) struct Words {
    pattern: Regex,
    maps_to: ErrorCode,
    statuses: Vec<u16>,
    /// They say more than any code does.
    pub(super) beats_codes: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    codes: HashMap<String, ErrorCode>,
    headings: Vec<String>,
    messages: Vec<WrittenWords>,
    refused_tools: Vec<String>,
    waits: Vec<String>,
    places: Places,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenWords {
    pattern: String,
    maps_to: ErrorCode,
    statuses: Vec<u16>,
    #[serde(default)]
    beats_codes: bool,
}

impl Builtin {
    pub(super) fn get() -> &'static Self {
        &BUILTIN
    }

    fn load() -> Self {
        let written: Written =
            serde_saphyr::from_str(include_str!("builtin.yaml")).expect("the built-in file is checked by the tests");
        let compile = |pattern: &str| without_case(pattern).expect("the built-in patterns are checked by the tests");
        Self {
            codes: written.codes,
            headings: written.headings,
            messages: (written.messages.into_iter())
                .map(|words| Words {
                    pattern: compile(&words.pattern),
                    maps_to: words.maps_to,
                    statuses: words.statuses,
                    beats_codes: words.beats_codes,
                })
                .collect(),
            refused_tools: written.refused_tools.iter().map(|pattern| compile(pattern)).collect(),
            waits: written.waits.iter().map(|pattern| compile(pattern)).collect(),
            places: written.places,
        }
    }
}

impl Words {
    /// The meaning, if the message has the words. Without a status any words count.
    pub(super) fn meaning(&self, status: Option<u16>, message: &str) -> Option<ErrorCode> {
        let fits = status.is_none_or(|status| self.statuses.contains(&status));
        (fits && self.pattern.is_match(message)).then_some(self.maps_to)
    }
}

/// A regular expression that does not mind case.
pub(super) fn without_case(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).case_insensitive(true).build()
}
