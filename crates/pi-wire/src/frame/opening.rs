//! The `id` of a frame that cannot be read, so that its sender learns which one was refused.
//!
//! Only the beginning is looked at: a client that writes `id` first gets it back, whatever is wrong with the rest.

use std::{cell::Cell, fmt};

use serde::de::{Deserializer as _, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

/// How far is looked, in bytes.
const LOOKED_AT: usize = 4096;

/// The `id` at the beginning of a frame; none if it stands there twice.
pub(crate) fn id(bytes: &[u8]) -> Option<Value> {
    let beginning = &bytes[..bytes.len().min(LOOKED_AT)];
    let found = Cell::new(None);
    // It ends in an error nearly always: what was found before it counts.
    drop(serde_json::Deserializer::from_slice(beginning).deserialize_map(Search { found: &found }));
    found.into_inner()
}

struct Search<'f> {
    found: &'f Cell<Option<Value>>,
}

impl<'de> Visitor<'de> for Search<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<(), A::Error> {
        let mut seen = false;
        while let Some(name) = access.next_key::<String>()? {
            if name == "id" {
                // The second of two takes the first away: which one is meant cannot be told.
                self.found.set(None);
                let id = access.next_value()?;
                self.found.set((!seen).then_some(id));
                seen = true;
            } else {
                access.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}
