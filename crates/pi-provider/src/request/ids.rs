//! Ids of tool calls, rewritten where another provider's id is not accepted.

use std::borrow::Cow;

use crate::manifest::contract::IdRule;

/// Length of the part that tells rewritten ids apart.
const MARK: usize = 9;

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
