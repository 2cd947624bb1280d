//! A value that may have its text beside it.

use std::ops::Deref;

use serde::Serialize;

/// A value and, where the value does not hold all that was written, the text that it was read from.
///
/// The text is there for a number with more digits than a 64-bit integer or a double has, a member that stands twice in
/// one object, and half a character. The value then has the nearest number, the last of the members, and U+FFFD. Both
/// are read, never changed: who wants another value takes this one out, and the text goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exact<T> {
    value: T,
    text: Option<String>,
}

impl<T> Exact<T> {
    /// The text that says more than the value.
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// The value alone, for change; what only the text said is lost.
    pub fn into_value(self) -> T {
        self.value
    }

    pub(super) fn with_text(self, text: &str) -> Self {
        Self { text: Some(text.to_owned()), ..self }
    }
}

impl<T: Serialize> Exact<T> {
    /// The text if there is one, and otherwise the value as JSON.
    pub(super) fn write(&self) -> String {
        match &self.text {
            Some(text) => text.clone(),
            None => {
                serde_json::to_string(&self.value).expect("every key is a string, and writing to memory does not fail")
            }
        }
    }
}

/// A value that says everything itself.
impl<T> From<T> for Exact<T> {
    fn from(value: T) -> Self {
        Self { value, text: None }
    }
}

impl<T> Deref for Exact<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}
