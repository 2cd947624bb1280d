//! The differences that are known, why they are, and the page that tells people of them.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::{
    alignment::{ABSENT, Difference},
    compared::{ALL, Conversation},
    stage::VERSION,
};

const LISTED: &str = include_str!("differences.yaml");
const PAGE: &str = include_str!("../../../../docs/compared-with-pi.md");

/// Something that Pi does otherwise.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    /// What it is about.
    what: String,
    /// What Pi does.
    pi: String,
    /// What this program does.
    here: String,
    why: String,
    /// Where it is seen. Each is seen in all its conversations, and nowhere else.
    places: Vec<Place>,
}

/// Where a difference is seen, in patterns: `*` is any text, `|` stands between alternatives.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Place {
    event: String,
    #[serde(default)]
    path: String,
    pi: String,
    here: String,
    #[serde(rename = "in")]
    conversations: Conversations,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase", untagged)]
enum Conversations {
    All(All),
    Some(BTreeSet<String>),
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum All {
    All,
}

impl Conversations {
    fn names(&self) -> BTreeSet<&str> {
        match self {
            Conversations::All(All::All) => ALL.iter().map(|(name, _)| *name).collect(),
            Conversations::Some(names) => names.iter().map(String::as_str).collect(),
        }
    }
}

impl Place {
    fn is_of(&self, difference: &Difference) -> bool {
        let Difference { event, path, pi, here } = difference;
        fits(&self.event, event) && fits(&self.path, path) && says(&self.pi, pi) && says(&self.here, here)
    }
}

/// What a place says of a value: `absent`, `present` for any that is not, or the value.
fn says(written: &str, value: &str) -> bool {
    match written {
        "present" => value != ABSENT,
        written => written == value,
    }
}

fn fits(pattern: &str, text: &str) -> bool {
    pattern.split('|').any(|pattern| {
        let mut parts = pattern.split('*');
        let first = parts.next().unwrap_or_default();
        let Some(mut rest) = text.strip_prefix(first) else { return false };
        let parts: Vec<&str> = parts.collect();
        let Some((last, between)) = parts.split_last() else { return rest.is_empty() };
        for part in between {
            match rest.find(part) {
                Some(at) => rest = &rest[at + part.len()..],
                None => return false,
            }
        }
        rest.ends_with(last)
    })
}

fn known() -> Vec<Known> {
    serde_saphyr::from_str(LISTED).unwrap_or_else(|error| panic!("{error}"))
}

/// Every difference of a conversation is listed in one place, and every place that is listed for it is seen.
pub(crate) fn check(name: &str, found: &BTreeSet<Difference>) {
    let known = known();
    let places: Vec<&Place> = known.iter().flat_map(|known| &known.places).collect();
    let places: Vec<&Place> = places.into_iter().filter(|place| place.conversations.names().contains(name)).collect();
    let mut wrong = Vec::new();
    for difference in found {
        let count = places.iter().filter(|place| place.is_of(difference)).count();
        if count != 1 {
            wrong.push(format!("listed {count} times: {difference:#?}"));
        }
    }
    for place in places.iter().filter(|place| !found.iter().any(|difference| place.is_of(difference))) {
        let Place { event, path, pi, here, .. } = place;
        wrong.push(format!("listed and not seen: {event} · {path} · {pi} · {here}"));
    }
    assert!(wrong.is_empty(), "{name}: tests/pi/differences.yaml is out of date\n{}", wrong.join("\n"));
}

#[test]
fn conversations_that_are_listed_are_there() {
    let there: BTreeSet<&str> = ALL.iter().map(|(name, _)| *name).collect();
    for place in known().iter().flat_map(|known| &known.places) {
        let listed = place.conversations.names();
        assert!(!listed.is_empty() && listed.is_subset(&there), "{} {}: {listed:?}", place.event, place.path);
    }
}

/// `UPDATE=1 cargo test -p pi-cli --test pi page` writes the page anew.
#[test]
fn page_says_what_is_listed() {
    let page = page();
    if std::env::var_os("UPDATE").is_some() {
        #[expect(clippy::disallowed_methods, reason = "this test is the writer of the page")]
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/compared-with-pi.md"), page)
            .expect("the page can be written");
        return;
    }
    assert_eq!(page, PAGE, "docs/compared-with-pi.md is out of date: UPDATE=1 cargo test -p pi-cli --test pi page");
}

fn page() -> String {
    let mut page = format!(
        "# Compared with Pi\n\n\
         `{}` from npm, version {VERSION}, and this program talk to the same scripted model, each in its JSON mode. Every event of both is\n\
         compared: its type, its place, and every member. Only what is made up anew in every run is not: ids, times, durations, folders.\n\
         What is left is in this list; the tests fail when something differs that is not in it, and when something in it differs no more.\n\
         The page is written from [differences.yaml](../crates/pi-cli/tests/pi/differences.yaml), where every place is named.\n\n\
         ## Conversations\n\n| name | what happens |\n|---|---|\n",
        "@mariozechner/pi-coding-agent"
    );
    for (name, text) in ALL {
        page.push_str(&format!("| {name} | {} |\n", cell(&Conversation::read(text).says)));
    }
    page.push_str("\n## Differences\n\n| | Pi | here | why | seen in |\n|---|---|---|---|---|\n");
    for known in known() {
        let Known { what, pi, here, why, places } = known;
        let seen: BTreeSet<&str> = places.iter().flat_map(|place| place.conversations.names()).collect();
        let seen =
            if seen.len() == ALL.len() { "all".to_owned() } else { seen.into_iter().collect::<Vec<_>>().join(", ") };
        let cells = [what, pi, here, why, seen].map(|text| cell(&text));
        page.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    page.push_str(
        "\nWhat a run leaves behind is compared by going on with it: [exchange.rs](../crates/pi-cli/tests/pi/exchange.rs) lets each program go on with\n\
         and fork the sessions of the other. Steering is not compared, because nobody can steer Pi in its JSON mode; `grep` and `find` are\n\
         not, because Pi downloads helpers for them.\n",
    );
    page
}

fn cell(text: &str) -> String {
    text.trim().replace('|', "\\|").replace('\n', " ")
}

#[test]
fn patterns_fit_what_they_say() {
    for (pattern, text, expected) in [
        ("agent_end", "agent_end", true),
        ("agent_end", "agent_ended", false),
        ("message_* assistant", "message_end assistant", true),
        ("message_* assistant", "message_end user", false),
        ("a|b*", "bc", true),
        ("*usage", "messages[].usage", true),
        ("", "", true),
        ("", "path", false),
    ] {
        assert_eq!(fits(pattern, text), expected, "{pattern:?} {text:?}");
    }
}
