//! Names that models give to arguments out of habit, as data.

use std::{collections::BTreeMap, sync::LazyLock};

use serde_json::{Map, Value};

static SYNONYMS: LazyLock<BTreeMap<&'static str, Vec<&'static str>>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../definitions/synonyms.json")).expect("synonyms.json is checked by a test")
});

/// Gives members the names that are known. One that is there stays, and so does a member whose name is known itself.
pub(crate) fn rename(members: &mut Map<String, Value>, is_known: impl Fn(&str) -> bool) {
    for (name, others) in SYNONYMS.iter().filter(|(name, _)| is_known(name)) {
        if members.get(*name).is_some_and(|value| !value.is_null()) {
            continue;
        }
        if let Some(other) = others.iter().find(|other| members.contains_key(**other) && !is_known(other))
            && let Some(value) = members.remove(*other)
        {
            members.insert((*name).to_owned(), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_synonym_stands_for_one_name_and_is_none() {
        let others: Vec<_> = SYNONYMS.values().flatten().collect();
        let mut once = others.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), others.len());
        assert!(others.iter().all(|other| !SYNONYMS.contains_key(**other)));
    }
}
