//! The end of a list that is not complete: what is missing, in one line and in the details.

use serde_json::{Map, Value};

use crate::{
    tool::Output,
    truncate::{self, ANY_LINES, Extent, MAX_BYTES},
};

/// Sentences about what is missing.
#[derive(Debug, Default)]
pub(crate) struct Notices(Vec<String>);

impl Notices {
    pub(crate) fn add(&mut self, sentence: String) {
        self.0.push(sentence);
    }

    /// Cuts the text to what may be sent and puts the notices behind it.
    pub(crate) fn finish(mut self, text: &str, mut details: Map<String, Value>) -> Output {
        let cut = truncate::head(text, Extent::of(text), ANY_LINES, MAX_BYTES);
        if cut.truncated {
            // Before what else is missing, as in Pi.
            let place = self.0.len().min(1);
            self.0.insert(place, format!("{} limit reached", truncate::size(MAX_BYTES)));
            details.insert("truncation".to_owned(), cut.to_value());
        }
        let notice = match self.0.is_empty() {
            true => String::new(),
            false => format!("\n\n[{}]", self.0.join(". ")),
        };
        Output::text(format!("{}{notice}", cut.content)).with_details(details)
    }
}
