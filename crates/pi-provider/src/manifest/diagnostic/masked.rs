//! The text of a file as it may be shown beside a finding: what may be a secret is behind stars, and everything else stands
//! in the line and column where it was written.
//!
//! In a log, `max_tokens: { type: integer }` may be a secret of many words. In a manifest it is none: what is under a name
//! that is not that of a secret is hidden only if it looks like one, and the members of flow collections are looked at one
//! by one.

use std::{ops::Range, sync::LazyLock};

use pi_redact::{Evidence, Options, Personal, Redactor, is_secret_key};

use serde_json::Value;

use crate::{
    manifest::endpoint::{is_harmless, is_key, is_scheme, is_variable, is_variable_name},
    secret::HIDDEN,
};

static REDACTOR: LazyLock<Redactor> = LazyLock::new(|| {
    Redactor::new(Options { secrets: Vec::new(), evidence: Evidence::KeysAndShapes, personal: Personal::Keep })
});

/// The text with stars for what may be a secret, as many as it has characters.
pub fn masked(source: &str) -> String {
    let mut reader = Reader::default();
    let mut shown = String::with_capacity(source.len());
    for line in source.split_inclusive('\n') {
        let text = line.trim_end_matches(['\n', '\r']);
        shown.push_str(&reader.line(text));
        shown.push_str(&line[text.len()..]);
    }
    shown
}

/// Hides what may be a secret in a member of a document, by its name or its shape.
pub(crate) fn hide_member(name: &str, value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| hide_member(name, item)),
        Value::Object(members) => {
            for (key, value) in members.iter_mut() {
                hide_member(if is_secret(name) { name } else { key }, value);
            }
        }
        Value::String(_) | Value::Number(_) => {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let part = format!("{name}: {text}");
            if (is_secret(name) && hide(&part) != part) || hide(&text) != text {
                *value = Value::from(HIDDEN);
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

/// What earlier lines say about the next one.
#[derive(Default)]
struct Reader {
    /// The collections that are open.
    open: Vec<Collection>,
    /// Inside a block of a key or a certificate.
    in_pem: bool,
    /// Indentation of a member that names a secret, whose value is in the lines below it.
    secret_above: Option<usize>,
    /// Indentation of a member that holds headers or parameters of a query, which are in the lines below it.
    headers_above: Option<usize>,
    /// The header of which the next value is, where it is known that the value may be shown.
    is_harmless: bool,
}

/// What the members of a collection are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Collection {
    Plain,
    /// Whatever is in it is hidden.
    Secret,
    /// Headers or parameters of a query: names may be read, values may not.
    Headers,
}

/// Members that hold headers or parameters of a query, as a list of names and values or as a map.
const HEADERS: [&str; 4] = ["extra_headers", "required_headers", "headers", "query_params"];
/// What stands beside the value of a header, and says nothing secret.
const BESIDE_VALUES: [&str; 2] = ["name", "condition"];

impl Reader {
    fn line(&mut self, line: &str) -> String {
        let was_in_pem = self.in_pem;
        if line.contains("-----BEGIN") {
            self.in_pem = true;
        }
        if line.contains("-----END") {
            self.in_pem = false;
        }
        if was_in_pem || self.in_pem {
            return stars(line);
        }
        let indentation = line.len() - line.trim_start().len();
        if let Some(above) = self.secret_above {
            let is_member = line.contains(": ") || line.trim_end().ends_with(':');
            if line.trim().is_empty() || (indentation > above && !is_member) {
                return stars(line);
            }
            self.secret_above = None;
        }
        let is_item = line.trim_start().starts_with("- ");
        let is_beneath = |above: usize| indentation > above || (indentation == above && is_item);
        if !line.trim().is_empty() && self.headers_above.is_some_and(|above| !is_beneath(above)) {
            self.headers_above = None;
        }
        if is_item {
            self.is_harmless = false;
        }
        let mut shown = String::with_capacity(line.len());
        let mut done = 0;
        for mark in structure(line, self.open.len()) {
            let part = &line[done..mark.start];
            shown.push_str(&self.part(part));
            match &line[mark.clone()] {
                "{" | "[" => {
                    self.open.push(self.collection(part));
                    self.is_harmless = false;
                }
                "}" | "]" => {
                    self.open.pop();
                }
                _ => {}
            }
            shown.push_str(&line[mark.clone()]);
            done = mark.end;
        }
        let rest = &line[done..];
        shown.push_str(&self.part(rest));
        let ends_open = ["", "|", ">", "|-", ">-", "|+", ">+"];
        self.secret_above = rest
            .rsplit_once(':')
            .filter(|(key, value)| {
                ends_open.contains(&value.trim()) && (is_secret(name(key)) || VARIABLES.contains(&name(key)))
            })
            .map(|_| indentation);
        let holds_headers = rest.trim_end().strip_suffix(':').is_some_and(|key| HEADERS.contains(&name(key)));
        if holds_headers && self.open.is_empty() {
            self.headers_above = Some(indentation);
            self.is_harmless = false;
        }
        shown
    }

    /// What lies between two signs of a collection, or outside of all.
    fn part(&mut self, part: &str) -> String {
        match self.open.last() {
            Some(Collection::Secret) => stars(part),
            Some(Collection::Headers) => self.header(part),
            None if self.headers_above.is_some() => self.header(part),
            Some(Collection::Plain) | None => match part.split_once(':') {
                Some((key, value)) if name(key) == "prefix" && !is_scheme(bare(value)) => {
                    let comment = value.find(" #").unwrap_or(value.len());
                    format!("{key}:{}{}", stars(&value[..comment]), &value[comment..])
                }
                // A key that was pasted where the name of its variable belongs.
                Some((key, value)) if VARIABLES.contains(&name(key)) && !is_variable_name(bare(value)) => {
                    let comment = value.find(" #").unwrap_or(value.len());
                    format!("{key}:{}{}", stars(&value[..comment]), &value[comment..])
                }
                // No part of the format is called so; people who write it mean the credential.
                Some((key, value)) if name(key) == "key" && !matches!(bare(value), "" | "null") => {
                    let comment = value.find(" #").unwrap_or(value.len());
                    let shown =
                        if is_variable(bare(value)) { value[..comment].to_owned() } else { stars(&value[..comment]) };
                    format!("{key}:{shown}{}", &value[comment..])
                }
                Some((key, value)) if ADDRESSES.contains(&name(key)) => {
                    format!("{}:{}", hide(key), hide_query(&hide(value), |_| true))
                }
                Some((key, value)) if !is_secret(name(key)) => {
                    format!("{}:{}", hide(key), hide_query(&hide(value), is_key))
                }
                Some((key, value)) if hide(part) != part => {
                    let comment = value.find(" #").unwrap_or(value.len());
                    format!("{key}:{}{}", stars(&value[..comment]), &value[comment..])
                }
                Some(_) | None => hide(part),
            },
        }
    }

    /// A piece of headers or of parameters of a query.
    fn header(&mut self, part: &str) -> String {
        let Some((key, value)) = part.split_once(':') else {
            // The sign of an item of a list stays.
            return match part.split_once("- ") {
                Some((before, rest)) if before.trim().is_empty() => format!("{before}- {}", stars(rest)),
                Some(_) | None if matches!(part.trim(), "" | "-") => part.to_owned(),
                Some(_) | None => stars(part),
            };
        };
        let text = bare(value);
        if BESIDE_VALUES.contains(&name(key)) {
            self.is_harmless = name(key) == "name" && is_harmless(text, "");
            return format!("{}:{}", hide(key), hide(value));
        }
        let is_known = (self.is_harmless && name(key) == "value") || is_harmless(name(key), "");
        if text.is_empty() || is_variable(text) || is_known {
            return format!("{}:{}", hide(key), hide(value));
        }
        let comment = value.find(" #").unwrap_or(value.len());
        format!("{}:{}{}", hide(key), stars(&value[..comment]), &value[comment..])
    }

    /// What opens behind this text.
    fn collection(&self, before: &str) -> Collection {
        let key = before.trim_end().strip_suffix(':').map(name).unwrap_or_default();
        match self.open.last() {
            Some(collection @ (Collection::Secret | Collection::Headers)) => *collection,
            None if self.headers_above.is_some() => Collection::Headers,
            Some(Collection::Plain) | None if HEADERS.contains(&key) => Collection::Headers,
            Some(Collection::Plain) | None if is_secret(key) || VARIABLES.contains(&key) => Collection::Secret,
            Some(Collection::Plain) | None => Collection::Plain,
        }
    }
}

/// Members that name the variable with the credential.
const VARIABLES: [&str; 3] = ["token_env", "key_env", "api_key_env"];

/// Members that hold the address of a provider, in whose query people put keys under any name.
const ADDRESSES: [&str; 3] = ["base_url", "base_url_template", "baseUrl"];

/// Stars for the values in the query of an address whose names are such; names of variables stay.
fn hide_query(value: &str, is_hidden: impl Fn(&str) -> bool) -> String {
    let Some(begin) = value.find('?').map(|at| at + 1) else { return value.to_owned() };
    let end = value[begin..].find(|letter: char| letter.is_whitespace() || "\"'".contains(letter));
    let end = end.map_or(value.len(), |length| begin + length);
    let pair = |pair: &str| match pair.split_once('=') {
        Some((name, value)) if is_hidden(name) && !is_variable(value) => format!("{name}={}", stars(value)),
        Some(_) | None => pair.to_owned(),
    };
    let query: Vec<String> = value[begin..end].split('&').map(pair).collect();
    format!("{}{}{}", &value[..begin], query.join("&"), &value[end..])
}

/// Whether what stands under this name is a secret. The format has names of its own that sound like it, and so have errors.
fn is_secret(name: &str) -> bool {
    let is_error = || ["invalid", "incorrect", "error"].iter().any(|word| name.to_ascii_lowercase().contains(word));
    is_secret_key(name) && name != "token_usage_fields" && !is_error()
}

/// The value of a member without quotes, and without a comment behind it.
fn bare(value: &str) -> &str {
    let value = value.split_once(" #").map_or(value, |(value, _)| value);
    value.trim().trim_matches(['"', '\''])
}

/// The name of a member, without what stands before it.
fn name(key: &str) -> &str {
    let key = key.trim().trim_matches(['"', '\'']);
    key.rsplit([' ', '"', '\'']).next().unwrap_or(key)
}

/// Where collections begin, end, and go on in a line, of which so many are open: a sign in quotes, or in a text that is not
/// in quotes, is none.
fn structure(line: &str, open: usize) -> Vec<Range<usize>> {
    let mut marks: Vec<Range<usize>> = Vec::new();
    let mut depth = open;
    let mut quote = None;
    let mut before = None;
    for (at, letter) in line.char_indices() {
        let begins = match before {
            None | Some(':' | '-') => true,
            Some('{' | '[' | ',') => depth > 0,
            Some(_) => false,
        };
        match (quote, letter) {
            (Some(open), _) if open == letter && !line[..at].ends_with('\\') => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') if begins => quote = Some(letter),
            (None, '#') if line[..at].ends_with([' ', '\t']) || at == 0 => break,
            (None, '{' | '[') if begins => {
                depth += 1;
                marks.push(at..at + 1);
            }
            (None, '}' | ']') if depth > 0 => {
                depth -= 1;
                marks.push(at..at + 1);
            }
            (None, ',') if depth > 0 => marks.push(at..at + 1),
            (None, _) => {}
        }
        if !letter.is_whitespace() {
            before = Some(letter);
        }
    }
    marks
}

/// Stars for what may be a secret, from the first to the last.
fn hide(written: &str) -> String {
    let redacted = REDACTOR.redact_text(written);
    if written == redacted {
        return written.to_owned();
    }
    let [from, to]: [Vec<char>; 2] = [written, redacted.as_ref()].map(|text| text.chars().collect());
    let before = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let most = from.len().min(to.len()) - before;
    let behind = from.iter().rev().zip(to.iter().rev()).take(most).take_while(|(a, b)| a == b).count();
    let hidden = from.len() - before - behind;
    from[..before].iter().chain(std::iter::repeat_n(&'*', hidden)).chain(&from[from.len() - behind..]).collect()
}

fn stars(text: &str) -> String {
    text.chars().map(|letter| if letter.is_whitespace() { letter } else { '*' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_secret_stays_as_it_is_written() {
        for text in [
            "  max_tokens: { type: integer, range: [1, 4096] }\n",
            "parameters: { max_tokens: { type: integr }, top_p: { type: float } }\n",
            "max_tokens: {\n  type: integer,\n  default: 5 }\nid: acme\n",
            "{\"parameters\": {\"max_tokens\": {\"type\": \"integer\", \"aliases\": [\"a\"]}}}",
            "auth: { type: bearer, token_env: ACME_TOKEN, header: Authorization, prefix: Bearer }\n",
            "token_usage_fields: { prompt_tokens: $.usage.in, completion_tokens: $.usage.out }\r\n",
            "parameter_aliases: { max_tokens: max_completion_tokens }\n",
            "max_tokens: many\n",
            "  by_error_code: { invalid_api_key: authentication, API_KEY_INVALID: authentication }\n",
            "api_key: null\n",
            "a: {\n  b: {c: {\n    d: 1 }}}\nid: acme\n",
            "extra_headers:\n  - name: anthropic-version\n    value: \"2023-06-01\"\nid: acme\n",
            "extra_headers: [{ name: user-agent, value: pi }]\nheaders: { x-title: pi, x-key: \"${X_KEY}\" }\nid: acme\n",
            "headers:\n  x-key: ${X_KEY} # why\nid: acme\nprefix: Token\n",
            "  key: ${X_KEY} # why\n  chat: /chat?alt=sse&key=${X_KEY}\n",
        ] {
            assert_eq!(masked(text), text);
        }
    }

    #[test]
    fn secrets_are_hidden_in_their_place() {
        for (text, expected) in [
            ("api_key: opensesame\nid: acme\n", "api_key: **********\nid: acme\n"),
            (
                "{ max_tokens: { type: x }, api_key: opensesame, id: acme }",
                "{ max_tokens: { type: x }, api_key: **********, id: acme }",
            ),
            ("password: \"open,{sesame\" # why", "password: ************** # why"),
            ("password: open,[sesame", "password: ************"),
            ("api_key: { one: opensesame, two: [x] }\nid: acme", "api_key: { **** **********, **** [*] }\nid: acme"),
            ("url: https://acme.example/?password=opensesame", "url: https://acme.example/?password=**********"),
            (
                "  base_url: \"https://acme.example/v1?tenant=open&x=${X}\" # ?a=b",
                "  base_url: \"https://acme.example/v1?tenant=****&x=${X}\" # ?a=b",
            ),
            (
                "list_models: { path: /models?key=open&limit=9, method: GET } # ?key=b",
                "list_models: { path: /models?key=****&limit=9, method: GET } # ?key=b",
            ),
            ("  chat: \"/chat?token=open&v=${V}\"", "  chat: \"/chat?token=****&v=${V}\""),
            ("auth: { type: bearer, key: open, token_env: K }", "auth: { type: bearer, key: ****, token_env: K }"),
            ("auth: { token_env: open-sesame, type: bearer }", "auth: { token_env: ***********, type: bearer }"),
            ("  token_env: \"open sesame\" # why\n  id: a\n", "  token_env: ***** ******* # why\n  id: a\n"),
            ("  token_env:\n    open-sesame\n  id: a\n", "  token_env:\n    ***********\n  id: a\n"),
            ("{\"key_env\": \"open-sesame\", \"id\": 1}", "{\"key_env\": *************, \"id\": 1}"),
            ("api_key:\n  opensesame\nid: acme\n", "api_key:\n  **********\nid: acme\n"),
            ("api_key: |\n  open\n  sesame\nid: acme\n", "api_key: |\n  ****\n  ******\nid: acme\n"),
            (
                "extra_headers:\n- name: X-Gateway\n  value: open sesame # why\nid: acme\n",
                "extra_headers:\n- name: X-Gateway\n  value: **** ****** # why\nid: acme\n",
            ),
            (
                "  extra_headers:\n    - value: open\n      name: anthropic-version\n    - value: >\n        open\n  id: acme\n",
                "  extra_headers:\n    - value: ****\n      name: anthropic-version\n    - value: *\n        ****\n  id: acme\n",
            ),
            (
                "services:\n  list:\n    headers:\n      x-gate: open\n    query_params: { gate: sesame }\n    path: /m\n",
                "services:\n  list:\n    headers:\n      x-gate: ****\n    query_params: { gate: ****** }\n    path: /m\n",
            ),
            (
                "{\"extra_headers\": [\n  {\"name\": \"X-Gate\", \"value\": \"open\"}], \"id\": \"acme\"}",
                "{\"extra_headers\": [\n  {\"name\": \"X-Gate\", \"value\": ******}], \"id\": \"acme\"}",
            ),
            ("extra_headers:\n  X-Gate: open\n", "extra_headers:\n  X-Gate: ****\n"),
            ("prefix: hunter2 # why", "prefix: ******* # why"),
            ("\"api_key\":\n  \"opensesame\",\n\"id\": 1", "\"api_key\":\n  *************\n\"id\": 1"),
        ] {
            assert_eq!(masked(text), expected);
        }
        let key = "base_url: https://acme.example?key=sk-proj-0123456789abcdefghijklmnopqrstuvwxyz012345";
        assert!(!masked(key).contains("6789abcdef"), "{}", masked(key));
        let pem = "a: |\n  -----BEGIN PRIVATE KEY-----\n  MIIEvQ\n  -----END PRIVATE KEY-----\nid: acme\n";
        assert!(!masked(pem).contains("MIIEvQ") && masked(pem).ends_with("\nid: acme\n"), "{}", masked(pem));
    }

    #[test]
    fn places_do_not_move() {
        let text = "a: { api_key: opensesame, type: integr } # [\n'b]': {\"token\": 'x{y', c: [1, {d: 2}]}\n";
        let shown = masked(text);
        let widths = |text: &str| text.lines().map(|line| line.chars().count()).collect::<Vec<_>>();
        assert_eq!(widths(&shown), widths(text), "{shown}");
        assert!(shown.contains("type: integr"), "{shown}");
    }
}
