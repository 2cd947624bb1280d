//! Ids of tool calls, rewritten where another provider's id is not accepted.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use crate::manifest::contract::IdRule;

/// Length of the part that tells rewritten ids apart.
const MARK: usize = 9;

/// The ids of the calls of one conversation. Some servers begin to count anew in every turn, or give two calls of one turn
/// the same id; others refuse a conversation in which an id comes twice.
#[derive(Debug, Default)]
pub(super) struct Ids<'a> {
    given: HashSet<Cow<'a, str>>,
    /// How often an id was used that was used more than once.
    uses: HashMap<&'a str, u64>,
}

/// The id under which a call and its result are sent.
pub(super) struct CallId<'a> {
    pub(super) id: Cow<'a, str>,
    /// A call before this one has the id that was written.
    pub(super) is_repeated: bool,
}

impl<'a> Ids<'a> {
    /// For about so many calls.
    pub(super) fn expecting(calls: usize) -> Self {
        Self { given: HashSet::with_capacity(calls), uses: HashMap::new() }
    }

    /// The next call's id as the rule wants it, and another one where a call before has it. It depends on nothing but the calls
    /// before, so that it is the same in every request of a conversation that grows, which caches of prompts rely on.
    pub(super) fn next(&mut self, id: &'a str, rule: &IdRule) -> CallId<'a> {
        let fitted = fit(id, rule);
        if self.given.insert(fitted.clone()) {
            return CallId { id: fitted, is_repeated: false };
        }
        let uses = self.uses.entry(id).or_insert(1);
        loop {
            *uses += 1;
            // A space is in no id, so that what comes of it is none that could be written.
            let other: Cow<'a, str> = Cow::Owned(fit(&format!("{id} {uses}"), rule).into_owned());
            if self.given.insert(other.clone()) {
                return CallId { id: other, is_repeated: true };
            }
        }
    }
}

/// `id` as the rule wants it. The same id always becomes the same, and two ids do not become one.
pub(super) fn fit<'a>(id: &'a str, rule: &IdRule) -> Cow<'a, str> {
    if let Some(length) = rule.exact_length {
        if id.len() == length && id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return id.into();
        }
        return digits(id, length).into();
    }
    let max = rule.max_length.unwrap_or(64);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !id.is_empty() && id.len() <= max && id.chars().all(is_plain) {
        return id.into();
    }
    let kept = id.chars().map(|c| if is_plain(c) { c } else { '_' }).take(max.saturating_sub(MARK + 1));
    let mut fitted: String = kept.collect();
    fitted.push('_');
    fitted.push_str(&digits(id, MARK));
    fitted.into()
}

/// The id of a call, and that of its item where the API of the call has items: `call_1|fc_1`, as our streams write it.
pub(super) fn split(id: &str) -> (&str, Option<&str>) {
    match id.rsplit_once('|') {
        Some((call, item)) if item.starts_with("fc_") && !call.is_empty() => (call, Some(item)),
        Some(_) | None => (id, None),
    }
}

/// `length` letters and digits that depend on all of `id`.
fn digits(id: &str, length: usize) -> String {
    const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    // FNV-1a: it must be the same in every process and every version, and need not resist anybody.
    let mut hash = id
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let mut text = String::with_capacity(length);
    for index in 0..length {
        if index > 0 && index % 10 == 0 {
            hash = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (index as u64);
        }
        text.push(char::from(ALPHABET[(hash % 62) as usize]));
        hash /= 62;
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn max(length: usize) -> IdRule {
        IdRule { max_length: Some(length), exact_length: None }
    }

    #[test]
    fn an_id_that_fits_is_not_touched() {
        assert_eq!(fit("call_abc-1", &max(40)), "call_abc-1");
        assert_eq!(fit("Abc123xyZ", &IdRule { max_length: None, exact_length: Some(9) }), "Abc123xyZ");
    }

    /// The ids under which calls with these are sent.
    fn sent(ids: &[&str], rule: &IdRule) -> Vec<String> {
        let mut all = Ids::default();
        ids.iter().map(|id| all.next(id, rule).id.into_owned()).collect()
    }

    #[test]
    fn an_id_that_is_used_again_becomes_another_and_stays_it() {
        for rule in [max(40), max(64), IdRule { max_length: None, exact_length: Some(9) }] {
            let ids = ["c0", "c0", "c1", "functions.bash:0", "c0", "functions.bash:0", "c0_2_x", ""];
            let all = sent(&ids, &rule);
            assert_eq!(all.iter().collect::<HashSet<_>>().len(), ids.len(), "{all:?}");
            for id in &all {
                assert_eq!(fit(id, &rule), *id, "it is one that is accepted");
            }
            for end in 0..ids.len() {
                assert_eq!(sent(&ids[..end], &rule), all[..end], "what follows changes nothing");
            }
        }
        let first = sent(&["c0", "c1"], &max(40));
        assert_eq!(first, ["c0", "c1"]);
    }

    #[test]
    fn an_id_that_is_like_another_one_made_fit_is_told_apart() {
        let made = sent(&["c0", "c0"], &max(40))[1].clone();
        let all = sent(&["c0", "c0", &made], &max(40));
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), 3, "{all:?}");
    }

    #[test]
    fn only_the_id_of_an_item_is_cut_off() {
        assert_eq!(split("call_1|fc_1"), ("call_1", Some("fc_1")));
        for id in ["call_1", "a|b", "|fc_1", ""] {
            assert_eq!(split(id), (id, None));
        }
    }

    #[test]
    fn ids_that_do_not_fit_stay_different_and_fit_afterwards() {
        let long = "x".repeat(200);
        let ids = ["call|item", "call_item", "call.item", "", "ü", &long, &long[..199]];
        for rule in [max(40), max(64), IdRule { max_length: None, exact_length: Some(9) }] {
            let fitted: HashSet<_> = ids.iter().map(|id| fit(id, &rule)).collect();
            assert_eq!(fitted.len(), ids.len(), "{rule:?}");
            for id in fitted {
                let limit = rule.exact_length.or(rule.max_length).unwrap();
                assert!((1..=limit).contains(&id.len()), "{id}");
                assert_eq!(fit(&id, &rule), id, "fitting again changes nothing");
            }
        }
    }
}
