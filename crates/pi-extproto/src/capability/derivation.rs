//! Which capability a call needs: decided by the host from method and parameters, never by what the caller claims.

use serde_json::Value;

use super::{Capability, Method};
use crate::Object;

/// How the capability of a method is found.
#[derive(Debug, PartialEq, Eq)]
pub enum Selector {
    /// Always this one.
    Fixed(Capability),
    /// The text of a member of `params` decides.
    Member { name: &'static str, words: &'static [(&'static str, Capability)], unlisted: Unlisted },
}

/// What a word that the table does not list means.
#[derive(Debug, PartialEq, Eq)]
pub enum Unlisted {
    Needs(Capability),
    Refused,
}

/// A line of the derivation table.
#[derive(Debug, PartialEq, Eq)]
pub struct Rule {
    pub method: Method,
    pub selector: Selector,
}

/// The derivation table of every tier and shim. A method without a line is its own capability.
///
/// File operations are divided into looking and changing, so that one grant of `read` means the same for `fs` and for
/// the `read` tool. An operation that the table does not list is refused rather than guessed.
pub static DERIVATION: &[Rule] = &[
    Rule {
        method: Method::Tool,
        selector: Selector::Member {
            name: "name",
            words: &[
                ("read", Capability::Read),
                ("grep", Capability::Read),
                ("find", Capability::Read),
                ("ls", Capability::Read),
                ("write", Capability::Write),
                ("edit", Capability::Write),
                ("bash", Capability::Exec),
            ],
            unlisted: Unlisted::Needs(Capability::Tool),
        },
    },
    Rule {
        method: Method::Fs,
        selector: Selector::Member {
            name: "op",
            words: &[
                ("read", Capability::Read),
                ("list", Capability::Read),
                ("stat", Capability::Read),
                ("resolve", Capability::Read),
                ("write", Capability::Write),
                ("append", Capability::Write),
                ("make_directory", Capability::Write),
                ("make_temporary", Capability::Write),
                ("remove", Capability::Write),
                ("rename", Capability::Write),
                ("set_mode", Capability::Write),
                ("set_times", Capability::Write),
            ],
            unlisted: Unlisted::Refused,
        },
    },
    Rule { method: Method::Mcp, selector: Selector::Fixed(Capability::Tool) },
];

/// The parameters do not say what the call would do. The caller's fault: `invalid_request`, not worth a retry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Underivable {
    #[error("a call of {method} needs the string params.{member}")]
    NoSelector { method: Method, member: &'static str },
    #[error("{method} has no operation {word:?}")]
    UnknownOperation { method: Method, word: String },
}

/// A call is not what it claims to be. The caller's fault: `invalid_request`, not worth a retry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    #[error(transparent)]
    Underivable(#[from] Underivable),
    #[error("the call claims {claimed} but needs {needed}")]
    Spoofed { claimed: Capability, needed: Capability },
}

/// The capability that a call of `method` with `params` needs.
pub fn derive(method: &Method, params: &Object) -> Result<Capability, Underivable> {
    match DERIVATION.iter().find(|rule| rule.method == *method).map(|rule| &rule.selector) {
        None => Ok(Capability::from(method.as_str())),
        Some(Selector::Fixed(capability)) => Ok(capability.clone()),
        Some(Selector::Member { name, words, unlisted }) => {
            let Some(Value::String(word)) = params.get(*name) else {
                return Err(Underivable::NoSelector { method: method.clone(), member: name });
            };
            match (words.iter().find(|(listed, _)| listed == word), unlisted) {
                (Some((_, capability)), _) | (None, Unlisted::Needs(capability)) => Ok(capability.clone()),
                (None, Unlisted::Refused) => {
                    Err(Underivable::UnknownOperation { method: method.clone(), word: word.clone() })
                }
            }
        }
    }
}

/// Refuses a call whose claimed capability is not the one that it needs.
///
/// Claiming more is refused as well as claiming less: the claim is what a person reads in the log and is asked about.
pub(crate) fn check_claim(claimed: &Capability, method: &Method, params: &Object) -> Result<Capability, Mismatch> {
    let needed = derive(method, params)?;
    if needed == *claimed { Ok(needed) } else { Err(Mismatch::Spoofed { claimed: claimed.clone(), needed }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(json: &str) -> Object {
        serde_json::from_str(json).expect("an object")
    }

    #[track_caller]
    fn check(method: &str, json: &str, expected: &str) {
        let found = match derive(&Method::from(method), &params(json)) {
            Ok(capability) => capability.to_string(),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected, "{method} {json}");
    }

    #[test]
    fn tools_are_derived_from_their_name() {
        for name in ["read", "grep", "find", "ls"] {
            check("tool", &format!(r#"{{"name":"{name}"}}"#), "read");
        }
        for name in ["write", "edit"] {
            check("tool", &format!(r#"{{"name":"{name}"}}"#), "write");
        }
        check("tool", r#"{"name":"bash"}"#, "exec");
        for name in ["", "Bash", "bash ", "read\\u0000", "deploy"] {
            check("tool", &format!(r#"{{"name":"{name}"}}"#), "tool");
        }
        check("tool", "{}", "a call of tool needs the string params.name");
        check("tool", r#"{"name":["bash"]}"#, "a call of tool needs the string params.name");
    }

    #[test]
    fn file_operations_look_or_change() {
        for op in ["read", "list", "stat", "resolve"] {
            check("fs", &format!(r#"{{"op":"{op}"}}"#), "read");
        }
        for op in ["write", "append", "make_directory", "make_temporary", "remove", "rename", "set_mode", "set_times"] {
            check("fs", &format!(r#"{{"op":"{op}"}}"#), "write");
        }
        check("fs", r#"{"op":"mount"}"#, r#"fs has no operation "mount""#);
        check("fs", r#"{"path":"a"}"#, "a call of fs needs the string params.op");
    }

    #[test]
    fn calls_of_mcp_servers_are_tools() {
        check("mcp", r#"{"server":"db","name":"read"}"#, "tool");
    }

    #[test]
    fn every_other_method_is_its_own_capability() {
        for method in ["exec", "http", "session", "ui", "events", "env", "log", "credentials", "teleport"] {
            check(method, r#"{"name":"read","op":"read"}"#, method);
        }
    }

    #[test]
    fn each_method_has_at_most_one_line_and_each_line_each_word_once() {
        for (index, rule) in DERIVATION.iter().enumerate() {
            assert!(DERIVATION[..index].iter().all(|earlier| earlier.method != rule.method), "{}", rule.method);
            if let Selector::Member { words, .. } = &rule.selector {
                for (index, (word, _)) in words.iter().enumerate() {
                    assert!(words[..index].iter().all(|(earlier, _)| earlier != word), "{} {word}", rule.method);
                }
            }
        }
    }

    #[test]
    fn claim_must_equal_need() {
        let bash = params(r#"{"name":"bash","input":{"command":"id"}}"#);
        let spoofed = check_claim(&Capability::Read, &Method::Tool, &bash);
        assert_eq!(spoofed, Err(Mismatch::Spoofed { claimed: Capability::Read, needed: Capability::Exec }));

        assert_eq!(check_claim(&Capability::Exec, &Method::Tool, &bash), Ok(Capability::Exec));

        let greedy = check_claim(&Capability::Write, &Method::Fs, &params(r#"{"op":"read"}"#));
        assert_eq!(greedy, Err(Mismatch::Spoofed { claimed: Capability::Write, needed: Capability::Read }));

        let vague = check_claim(&Capability::Tool, &Method::Tool, &Object::new());
        assert!(matches!(vague, Err(Mismatch::Underivable(Underivable::NoSelector { .. }))), "{vague:?}");
    }
}
