//! An entry as people see it before they agree to it: as it was written, without the secrets in it.
//!
//! Values count: a variable such as `LD_PRELOAD` decides what runs as much as the program does. What is hidden, or cannot be
//! told from what stood there before, is still known to have changed: every member has a digest.

use std::{borrow::Cow, collections::BTreeMap, sync::LazyLock};

use serde_json::Value;

use pi_extproto::Object;
use pi_redact::{Evidence, MARK, Options, Personal, Redactor, is_secret_key, is_withheld_variable};
use pi_transcript::json::canonical;

use super::entry::Route;

static REDACTOR: LazyLock<Redactor> = LazyLock::new(|| {
    Redactor::new(Options { secrets: Vec::new(), evidence: Evidence::Literals, personal: Personal::Keep })
});

/// The members that decide which program speaks to us: all that a route is read from. Filters and time limits are not among
/// them.
pub(super) const DECISIVE: [&str; 9] =
    ["command", "args", "env", "cwd", "type", "transport", "url", "httpUrl", "headers"];

/// Whether a member only says by which way a server is spoken to. That follows from what else an entry says: one that says it
/// otherwise leads to the same program, or is refused.
pub(super) fn only_names_the_way(member: &str) -> bool {
    matches!(member, "type" | "transport")
}

/// What is started, or where it is.
pub(super) fn route(route: &Route) -> String {
    match route {
        Route::Process(process) => {
            let mut words = vec![plain(&process.command).into_owned()];
            let mut before: &str = "";
            for word in &process.arguments {
                words.push(argument(before, word));
                before = word;
            }
            words.join(" ")
        }
        Route::Http(http) => address(&http.url),
    }
}

/// In which folder it runs, and what it is given, each part behind a word of ours.
pub(super) fn given(route: &Route) -> Vec<String> {
    let (what, values, folder) = match route {
        Route::Process(process) => ("environment", &process.variables, process.folder.as_deref()),
        Route::Http(http) => ("headers", &http.headers, None),
    };
    let values: Vec<String> = values.iter().map(|(name, value)| format!("{name}={}", named(name, value))).collect();
    let folder = folder.map(|folder| format!("folder: {}", plain(folder)));
    folder.into_iter().chain((!values.is_empty()).then(|| format!("{what}: {}", values.join(", ")))).collect()
}

/// A digest of each decisive member by its name; of those in `env` and `headers` one by one.
pub(super) fn digests(members: &Object) -> BTreeMap<String, String> {
    let mut digests = BTreeMap::new();
    for name in DECISIVE {
        let mut add = |place: String, value: &Value| digests.insert(place, canonical::digest(value).to_string());
        match members.get(name) {
            None => {}
            Some(Value::Object(parts)) => {
                parts.iter().for_each(|(part, value)| drop(add(format!("{name}.{part}"), value)))
            }
            Some(value) => drop(add(name.to_owned(), value)),
        }
    }
    digests
}

/// The names of those that came, went, or are others.
pub(super) fn changed(before: &BTreeMap<String, String>, now: &BTreeMap<String, String>) -> Vec<String> {
    let gone = before.keys().filter(|name| !now.contains_key(*name));
    let other = now.iter().filter(|(name, digest)| before.get(*name) != Some(*digest)).map(|(name, _)| name);
    gone.chain(other).cloned().collect()
}

/// A value behind a name that may say that it is secret.
fn named<'a>(name: &str, value: &'a str) -> Cow<'a, str> {
    match is_withheld_variable(name, value) && !is_of_variables(value) {
        true => Cow::Borrowed(MARK),
        false => plain(value),
    }
}

/// A word of a command line, which may be the value of the option before it, or have one behind a `=`.
fn argument(before: &str, word: &str) -> String {
    let is_option = |word: &str| word.starts_with('-') && !word.contains('=');
    if let (Some((name, value)), true) = (word.split_once('='), word.starts_with('-')) {
        return format!("{name}={}", named(name.trim_start_matches('-'), value));
    }
    match is_option(before) && !word.starts_with('-') {
        true => named(before.trim_start_matches('-'), word).into_owned(),
        false => address(word),
    }
}

/// A text that may be an address: what stands in its query under the name of a secret is hidden.
fn address(text: &str) -> String {
    let Some((before, query)) = text.split_once('?').filter(|(before, _)| before.contains("://")) else {
        return plain(text).into_owned();
    };
    let shown = query.split('&').map(|part| match part.split_once('=') {
        Some((name, value)) if is_secret_key(name) && !is_of_variables(value) => format!("{name}={MARK}"),
        Some(_) | None => plain(part).into_owned(),
    });
    format!("{}?{}", plain(before), shown.collect::<Vec<_>>().join("&"))
}

/// A text that nothing is known of. Variables stay: their names are no secrets.
fn plain(text: &str) -> Cow<'_, str> {
    if is_of_variables(text) { Cow::Borrowed(text) } else { REDACTOR.redact_text(text) }
}

/// Whether a text has its value from variables, with at most the name of a scheme beside them (`Bearer ${KEY}`).
fn is_of_variables(text: &str) -> bool {
    const SCHEMES: [&str; 5] = ["", "Bearer", "Basic", "Token", "ApiKey"];
    let (mut rest, mut literal, mut variables) = (text, String::new(), 0);
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, behind)) = after.split_once('}') else { return false };
        // What stands there if there is no variable is written by whoever wrote the entry.
        if name.contains(":-") {
            return false;
        }
        literal.push_str(before);
        variables += 1;
        rest = behind;
    }
    literal.push_str(rest);
    variables > 0 && SCHEMES.iter().any(|scheme| scheme.eq_ignore_ascii_case(literal.trim()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::mcp::entry::{Origin, Server};

    fn shown(written: &Value) -> String {
        let read = Server::read("a", written, (Origin::Project, "f".into()), &|_| Some("a value".to_owned()));
        read.expect("an entry").0.shown_whole()
    }

    #[test]
    fn values_are_shown_as_they_are_written() {
        let process = json!({ "command": "x", "args": ["-v", "${A:-b}"], "cwd": "sub",
            "env": { "LD_PRELOAD": "/tmp/one.so", "GITHUB_TOKEN": "${GITHUB_TOKEN}" } });
        let expected = "x -v ${A:-b} (folder: sub; environment: GITHUB_TOKEN=${GITHUB_TOKEN}, LD_PRELOAD=/tmp/one.so; \
                        reads: A, GITHUB_TOKEN)";
        assert_eq!(shown(&process), expected);
        let http = json!({ "url": "https://h", "headers": { "Authorization": "Bearer ${env:KEY}", "X-Mode": "fast" } });
        assert_eq!(shown(&http), "https://h (headers: Authorization=Bearer ${env:KEY}, X-Mode=fast; reads: KEY)");
    }

    #[test]
    fn secrets_are_not_shown_wherever_they_stand() {
        for (entry, expected) in [
            (json!({ "command": "x", "env": { "API_KEY": "hunter2hunter2" } }), "x (environment: API_KEY=[REDACTED])"),
            (
                json!({ "command": "x", "env": { "TOKEN": "${T:-hunter2}" } }),
                "x (environment: TOKEN=[REDACTED]; reads: T)",
            ),
            (json!({ "command": "x", "args": ["--token", "hunter2"] }), "x --token [REDACTED]"),
            (
                json!({ "command": "x", "args": ["--api-key=hunter2", "--token", "${T}"] }),
                "x --api-key=[REDACTED] --token ${T} (reads: T)",
            ),
            (json!({ "url": "https://h/a?token=abc&page=2" }), "https://h/a?token=[REDACTED]&page=2"),
            (json!({ "url": "https://h/a?token=${T}" }), "https://h/a?token=${T} (reads: T)"),
            (json!({ "command": "x", "args": ["https://h/a?api_key=abc"] }), "x https://h/a?api_key=[REDACTED]"),
            (
                json!({ "url": "https://h", "headers": { "Authorization": "Bearer hunter2" } }),
                "https://h (headers: Authorization=[REDACTED])",
            ),
        ] {
            assert_eq!(shown(&entry), expected);
        }
    }

    #[test]
    fn changed_members_are_named() {
        let of = |value: Value| digests(value.as_object().expect("an object"));
        let before = of(json!({ "command": "x", "env": { "A": "1", "B": "1" }, "timeout": 1 }));
        let now = of(json!({ "command": "x", "args": ["y"], "env": { "A": "2" }, "timeout": 2 }));
        assert_eq!(changed(&before, &now), ["env.B", "args", "env.A"]);
    }
}
