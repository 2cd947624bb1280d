//! The ids of a tree, in little memory.

use std::{collections::HashMap, sync::Arc};

use super::Place;

/// An id. Eight hexadecimal digits, as nearly all are, fit into a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    Short(u32),
    /// The index of a text.
    Long(u32),
}

/// Which entry an id names.
#[derive(Debug, Default)]
pub(super) struct Names {
    short: HashMap<u32, Place>,
    long: HashMap<Arc<str>, Place>,
    texts: Vec<Arc<str>>,
}

impl Names {
    /// Gives the id to `place`, whoever had it before.
    pub(super) fn insert(&mut self, id: &str, place: Place) -> Name {
        if let Some(number) = short(id) {
            self.short.insert(number, place);
            return Name::Short(number);
        }
        let text: Arc<str> = id.into();
        self.long.insert(Arc::clone(&text), place);
        self.texts.push(text);
        Name::Long(u32::try_from(self.texts.len() - 1).expect("there is a place for every text"))
    }

    pub(super) fn find(&self, id: &str) -> Option<Place> {
        match short(id) {
            Some(number) => self.short.get(&number).copied(),
            None => self.long.get(id).copied(),
        }
    }

    /// Whether `name` is written like this.
    pub(super) fn is(&self, name: Name, id: &str) -> bool {
        match name {
            Name::Short(number) => short(id) == Some(number),
            Name::Long(index) => &*self.texts[index as usize] == id,
        }
    }

    pub(super) fn text(&self, name: Name) -> String {
        match name {
            Name::Short(number) => format!("{number:08x}"),
            Name::Long(index) => self.texts[index as usize].to_string(),
        }
    }
}

/// The number of an id that is written as we write it: eight lower-case digits, and nothing else.
fn short(id: &str) -> Option<u32> {
    let fits = id.len() == 8 && id.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    fits.then(|| u32::from_str_radix(id, 16).ok()).flatten()
}
