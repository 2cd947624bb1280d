//! `${NAME}` and `${NAME:-otherwise}` in what people write about servers.

/// The variables of whoever started us.
#[derive(Clone, Copy)]
pub struct Variables<'a> {
    pub lookup: &'a dyn Fn(&str) -> Option<String>,
    /// Whether one holds a credential, by its name and its value, that nobody passes on to programs: the entry of a project may
    /// not read it.
    pub is_withheld: &'a dyn Fn(&str, &str) -> bool,
}

/// Why a text has no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpansionFault {
    #[error("the variable {0} is not set; set it, or write ${{{0}:-a value}}")]
    Unset(String),
    #[error("${{{0}}} is what an editor asks for; set a variable, and write ${{ITS_NAME}}")]
    Editors(String),
    #[error("'${{' is not closed in {0:?}")]
    Open(String),
}

/// Puts the values of variables in their places. A `$` without a brace stands for itself.
pub(super) fn expand(text: &str, lookup: &dyn Fn(&str) -> Option<String>) -> Result<String, ExpansionFault> {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (inside, behind) = after.split_once('}').ok_or_else(|| ExpansionFault::Open(text.to_owned()))?;
        let (name, otherwise) = match inside.split_once(":-") {
            Some((name, otherwise)) => (name, Some(otherwise)),
            None => (inside, None),
        };
        // Some programs write where a variable comes from.
        let name = name.strip_prefix("env:").unwrap_or(name);
        let value = lookup(name).filter(|value| !value.is_empty() || otherwise.is_none());
        let value = value.or_else(|| otherwise.map(str::to_owned));
        expanded.push_str(before);
        // A variable has no such sign in its name.
        let fault = if name.contains(':') { ExpansionFault::Editors } else { ExpansionFault::Unset };
        expanded.push_str(&value.ok_or_else(|| fault(name.to_owned()))?);
        rest = behind;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let lookup = |name: &str| match name {
            "A" => Some("1".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        let expanded = expand(text, &lookup).unwrap_or_else(|fault| format!("! {fault}"));
        assert_eq!(expanded, expected, "{text}");
    }

    #[test]
    fn variables_have_their_values() {
        check("plain $A $", "plain $A $");
        check("${A}/${A}", "1/1");
        check("${env:A}", "1");
        check("${B:-two}${B:-}", "two");
        check("[${EMPTY}][${EMPTY:-x}]", "[][x]");
        check("a ${B}", "! the variable B is not set; set it, or write ${B:-a value}");
        check("${input:key}", "! ${input:key} is what an editor asks for; set a variable, and write ${ITS_NAME}");
        check("${A", "! '${' is not closed in \"${A\"");
    }
}
