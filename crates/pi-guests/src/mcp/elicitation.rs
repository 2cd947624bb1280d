//! A server's question to a person: from its schema to a form, and from the form back to an object of that schema.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use pi_extproto::{
    Object,
    connector::ui::{ChoiceField, FieldAnswer, FormField, OpenField},
};
use pi_tools::arguments::pattern::{self, Match};

/// Fields of one form; nobody answers more.
const MOST: usize = 32;

/// A form for this schema: each question says what may be answered. Nothing if it asks for what no form can ask.
pub(super) fn form(schema: &Object) -> Option<Vec<FormField>> {
    let properties = schema.get("properties")?.as_object()?;
    let field = |(id, property): (&String, &Value)| {
        let title = property["title"].as_str().unwrap_or(id);
        let about = match property["description"].as_str() {
            Some(about) if about != title => format!("{title}: {about}"),
            _ => title.to_owned(),
        };
        let rules = rules(property);
        let label = if rules.is_empty() { about } else { format!("{about} ({})", rules.join(", ")) };
        let required = is_required(schema, id);
        let open = OpenField { id: id.clone(), label: label.clone(), required };
        let choice = |options: Vec<(String, String)>| {
            let options = options.into_iter().map(|(_, shown)| shown).collect();
            ChoiceField { id: id.clone(), label, options, required }
        };
        match property["type"].as_str() {
            Some("string") => Some(match options(property) {
                Some(options) => FormField::Select(choice(options)),
                None => FormField::Text(open),
            }),
            Some("number" | "integer") => Some(FormField::Text(open)),
            Some("boolean") => Some(FormField::Confirm(open)),
            Some("array") => Some(FormField::Multi(choice(options(&property["items"])?))),
            _ => None,
        }
    };
    let fields: Option<Vec<FormField>> = properties.iter().map(field).collect();
    fields.filter(|fields| fields.len() <= MOST)
}

/// What was answered, as the schema wants it. Says what does not fit: a server is sent nothing that it did not ask for.
pub(super) fn content(schema: &Object, answers: &BTreeMap<String, FieldAnswer>) -> Result<Object, String> {
    let mut content = Object::new();
    let properties = schema.get("properties").and_then(Value::as_object);
    for (id, property) in properties.into_iter().flatten() {
        let usual = property.get("default").filter(|usual| !usual.is_null());
        match (value(property, answers.get(id)).map_err(|why| format!("{id}: {why}"))?, usual) {
            (Some(value), _) => drop(content.insert(id.clone(), value)),
            (None, Some(usual)) => drop(content.insert(id.clone(), usual.clone())),
            (None, None) if is_required(schema, id) => return Err(format!("{id}: an answer is needed")),
            (None, None) => {}
        }
    }
    Ok(content)
}

fn is_required(schema: &Object, id: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|names| names.iter().any(|name| name == id))
}

/// What may be answered, in words.
fn rules(property: &Value) -> Vec<String> {
    let between = |least: &str, most: &str, what: &str| {
        let bound = |name: &str| property.get(name).filter(|bound| bound.is_number());
        match (bound(least), bound(most)) {
            (Some(least), Some(most)) => Some(format!("{least} to {most}{what}")),
            (Some(least), None) => Some(format!("at least {least}{what}")),
            (None, Some(most)) => Some(format!("at most {most}{what}")),
            (None, None) => None,
        }
    };
    let kind = match (property["type"].as_str(), property["format"].as_str()) {
        (Some("integer"), _) => Some("a whole number".to_owned()),
        (Some("number"), _) => Some("a number".to_owned()),
        (Some("string"), Some("email")) => Some("an e-mail address".to_owned()),
        (Some("string"), Some("uri")) => Some("an address such as https://…".to_owned()),
        (Some("string"), Some("date")) => Some("a date such as 2026-01-31".to_owned()),
        (Some("string"), Some("date-time")) => Some("a time such as 2026-01-31T12:00:00Z".to_owned()),
        _ => None,
    };
    let bounds = match property["type"].as_str() {
        Some("integer" | "number") => between("minimum", "maximum", ""),
        Some("string") => between("minLength", "maxLength", " letters"),
        Some("array") => between("minItems", "maxItems", " of them"),
        _ => None,
    };
    let pattern = property["pattern"].as_str().map(|pattern| format!("like {pattern}"));
    let usual = property.get("default").filter(|usual| !usual.is_null()).map(|usual| format!("otherwise {usual}"));
    kind.into_iter().chain(bounds).chain(pattern).chain(usual).collect()
}

/// One answer as its property wants it; nothing if it was left out.
fn value(property: &Value, answer: Option<&FieldAnswer>) -> Result<Option<Value>, String> {
    let kind = property["type"].as_str();
    let value = match answer {
        None => return Ok(None),
        Some(FieldAnswer::Text(text)) if text.trim().is_empty() => return Ok(None),
        Some(FieldAnswer::Flag(flag)) if kind == Some("boolean") => json!(flag),
        Some(FieldAnswer::Choice(shown)) if kind == Some("string") => json!(value_of(property, shown)?),
        Some(FieldAnswer::Choices(shown)) if kind == Some("array") => {
            within(property, "minItems", "maxItems", shown.len() as f64, " of them")?;
            let values = shown.iter().map(|shown| value_of(&property["items"], shown));
            json!(values.collect::<Result<Vec<_>, _>>()?)
        }
        Some(FieldAnswer::Text(text)) => match kind {
            Some("integer") => {
                let number = text.trim().parse::<i64>().map_err(|_| "expected a whole number".to_owned())?;
                within(property, "minimum", "maximum", number as f64, "")?;
                json!(number)
            }
            Some("number") => {
                let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
                let number = number.ok_or("expected a number")?;
                within(property, "minimum", "maximum", number, "")?;
                json!(number)
            }
            Some("string") if options(property).is_some() => json!(value_of(property, text)?),
            Some("string") => {
                within(property, "minLength", "maxLength", text.chars().count() as f64, " letters")?;
                let format = property["format"].as_str().unwrap_or_default();
                if !is_of(format, text) {
                    return Err(format!("expected {}", rules(property).remove(0)));
                }
                match property["pattern"].as_str() {
                    Some(wanted) if pattern::find(wanted, text) == Match::Differs => {
                        return Err(format!("expected text like {wanted}"));
                    }
                    Some(_) | None => json!(text),
                }
            }
            _ => return Err("it cannot be answered so".to_owned()),
        },
        Some(FieldAnswer::Flag(_) | FieldAnswer::Choice(_) | FieldAnswer::Choices(_)) => {
            return Err("it cannot be answered so".to_owned());
        }
    };
    Ok(Some(value))
}

fn within(property: &Value, least: &str, most: &str, number: f64, what: &str) -> Result<(), String> {
    let bound = |name: &str| property.get(name).and_then(Value::as_f64);
    match (bound(least), bound(most)) {
        (Some(least), _) if number < least => Err(format!("expected at least {least}{what}")),
        (_, Some(most)) if number > most => Err(format!("expected at most {most}{what}")),
        _ => Ok(()),
    }
}

/// Whether a text has the form that a format names. Of formats that nobody knows every text is one.
fn is_of(format: &str, text: &str) -> bool {
    let is_word = |word: &str| !word.is_empty() && !word.chars().any(char::is_whitespace);
    match format {
        "email" => text.split_once('@').is_some_and(|(who, host)| {
            is_word(who) && is_word(host) && !host.contains('@') && !host.starts_with('.') && !host.ends_with('.')
        }),
        "uri" => text.split_once(':').is_some_and(|(scheme, rest)| {
            let is_scheme = |sign: char| sign.is_ascii_alphanumeric() || "+-.".contains(sign);
            scheme.starts_with(|sign: char| sign.is_ascii_alphabetic())
                && scheme.chars().all(is_scheme)
                && is_word(rest)
        }),
        "date" => is_date(text),
        "date-time" => text.split_once(['T', 't']).is_some_and(|(date, time)| is_date(date) && is_time(time)),
        _ => true,
    }
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts.as_slice() else { return false };
    let (Some(year), Some(month), Some(day)) = (number(year, 4), number(month, 2), number(day, 2)) else {
        return false;
    };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// `12:00:00`, with a fraction or not, and with a zone behind it.
fn is_time(text: &str) -> bool {
    let Some(at) = text.find(['Z', 'z', '+', '-']) else { return false };
    let (time, zone) = text.split_at(at);
    let is_clock = |parts: &[&str], limits: &[u32]| {
        let fits = |(part, limit): (&&str, &u32)| number(part, 2).is_some_and(|number| number <= *limit);
        parts.len() == limits.len() && parts.iter().zip(limits).all(fits)
    };
    let (whole, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let is_zone = match zone {
        "Z" | "z" => true,
        offset => is_clock(&offset[1..].split(':').collect::<Vec<_>>(), &[23, 59]),
    };
    let is_fraction = !fraction.is_empty() && fraction.bytes().all(|sign| sign.is_ascii_digit());
    is_zone && is_fraction && is_clock(&whole.split(':').collect::<Vec<_>>(), &[23, 59, 60])
}

fn number(digits: &str, length: usize) -> Option<u32> {
    (digits.len() == length && digits.bytes().all(|sign| sign.is_ascii_digit())).then(|| digits.parse().ok())?
}

/// The values of a choice and how they are shown.
fn options(property: &Value) -> Option<Vec<(String, String)>> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    if let Some(values) = property["enum"].as_array() {
        let names = property["enumNames"].as_array();
        let option = |(at, value): (usize, &Value)| {
            let value = text(value)?;
            let shown = names.and_then(|names| names.get(at)).and_then(text).unwrap_or_else(|| value.clone());
            Some((value, shown))
        };
        return values.iter().enumerate().map(option).collect();
    }
    let titled = property["oneOf"].as_array().or(property["anyOf"].as_array())?;
    let option = |option: &Value| {
        let value = text(&option["const"])?;
        Some((value.clone(), text(&option["title"]).unwrap_or(value)))
    };
    titled.iter().map(option).collect()
}

/// The value behind an option that was shown.
fn value_of(property: &Value, shown: &str) -> Result<String, String> {
    let found = options(property).and_then(|all| all.into_iter().find(|(_, known)| known == shown));
    found.map(|(value, _)| value).ok_or_else(|| format!("{shown:?} is none of the options"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn form_asks_what_the_schema_wants_and_answers_fit_it() {
        let schema = json!({ "type": "object", "required": ["name"], "properties": {
            "name": { "type": "string", "title": "Name", "description": "yours" },
            "age": { "type": "integer" },
            "ok": { "type": "boolean" },
            "pet": { "type": "string", "enum": ["c", "d"], "enumNames": ["Cat", "Dog"] },
            "many": { "type": "array", "items": { "anyOf": [{ "const": "x", "title": "X!" }, { "const": "y" }] } },
        } });
        let schema = schema.as_object().expect("an object");
        let form = form(schema).expect("a form");
        let expected = json!([
            { "type": "text", "id": "name", "label": "Name: yours", "required": true },
            { "type": "text", "id": "age", "label": "age (a whole number)", "required": false },
            { "type": "confirm", "id": "ok", "label": "ok", "required": false },
            { "type": "select", "id": "pet", "label": "pet", "options": ["Cat", "Dog"], "required": false },
            { "type": "multi", "id": "many", "label": "many", "options": ["X!", "y"], "required": false },
        ]);
        assert_eq!(json!(form), expected);
        let answers = BTreeMap::from([
            ("name".to_owned(), FieldAnswer::Text("Ada".into())),
            ("age".to_owned(), FieldAnswer::Text(" 36".into())),
            ("ok".to_owned(), FieldAnswer::Flag(true)),
            ("pet".to_owned(), FieldAnswer::Choice("Dog".into())),
            ("many".to_owned(), FieldAnswer::Choices(vec!["X!".into(), "y".into()])),
        ]);
        let content = json!(content(schema, &answers).expect("an object"));
        assert_eq!(content, json!({ "name": "Ada", "age": 36, "ok": true, "pet": "d", "many": ["x", "y"] }));
    }

    #[test]
    fn what_no_form_can_ask_is_not_asked() {
        let nested = json!({ "properties": { "a": { "type": "object" } } });
        assert_eq!(form(nested.as_object().expect("an object")), None);
        let number = json!({ "properties": { "n": { "type": "number" } } });
        let answers = BTreeMap::from([("n".to_owned(), FieldAnswer::Text("many".into()))]);
        let read = content(number.as_object().expect("an object"), &answers);
        assert_eq!(read, Err("n: expected a number".to_owned()));
    }

    /// What the question says, and what is sent for an answer or why nothing is.
    #[track_caller]
    fn check(property: &Value, answer: FieldAnswer, label: &str, expected: &str) {
        let schema = json!({ "properties": { "x": property }, "required": ["x"] });
        let schema = schema.as_object().expect("an object");
        let form = json!(form(schema).expect("a form"));
        assert_eq!(form[0]["label"], label, "{schema:?}");
        let sent = match content(schema, &BTreeMap::from([("x".to_owned(), answer)])) {
            Ok(content) => content["x"].to_string(),
            Err(why) => why,
        };
        assert_eq!(sent, expected, "{schema:?}");
    }

    #[test]
    fn answers_keep_to_what_the_server_said() {
        let text = |text: &str| FieldAnswer::Text(text.to_owned());
        let age = json!({ "type": "integer", "minimum": 0, "maximum": 150 });
        let label = "x (a whole number, 0 to 150)";
        check(&age, text("36"), label, "36");
        check(&age, text("-1"), label, "x: expected at least 0");
        check(&age, text("151"), label, "x: expected at most 150");
        check(&age, text("3.5"), label, "x: expected a whole number");
        check(&age, text(" "), label, "x: an answer is needed");
        check(&age, FieldAnswer::Flag(true), label, "x: it cannot be answered so");
        check(&json!({ "type": "number" }), text("NaN"), "x (a number)", "x: expected a number");
        let short = json!({ "type": "string", "minLength": 2, "maxLength": 3 });
        check(&short, text("äö"), "x (2 to 3 letters)", "\"äö\"");
        check(&short, text("a"), "x (2 to 3 letters)", "x: expected at least 2 letters");
        check(&short, text("abcd"), "x (2 to 3 letters)", "x: expected at most 3 letters");
        let code = json!({ "type": "string", "pattern": "^[a-z]{2}[0-9]$" });
        let label = "x (like ^[a-z]{2}[0-9]$)";
        check(&code, text("ab1"), label, "\"ab1\"");
        check(&code, text("ab"), label, "x: expected text like ^[a-z]{2}[0-9]$");
        let pet = json!({ "type": "string", "enum": ["c", "d"], "default": "d" });
        check(&pet, FieldAnswer::Choice("c".into()), "x (otherwise \"d\")", "\"c\"");
        check(&pet, FieldAnswer::Choice("e".into()), "x (otherwise \"d\")", "x: \"e\" is none of the options");
        check(&pet, text(""), "x (otherwise \"d\")", "\"d\"");
        let many = json!({ "type": "array", "minItems": 2, "items": { "enum": ["a", "b"] } });
        let label = "x (at least 2 of them)";
        check(&many, FieldAnswer::Choices(vec!["a".into()]), label, "x: expected at least 2 of them");
        check(&many, FieldAnswer::Choices(vec!["a".into(), "b".into()]), label, r#"["a","b"]"#);
    }

    #[test]
    fn formats_are_those_that_they_are_called() {
        for (format, good, bad) in [
            ("email", "a@b.org", "a@b@c a @b a@ a@.b a"),
            ("uri", "https://x/y mailto:a@b urn:x:y", "x /a/b :a 1:a a:"),
            ("date", "2024-02-29 1999-12-31", "2023-02-29 2024-13-01 24-1-1 2024-04-31 2024-02"),
            (
                "date-time",
                "2024-02-29T12:00:00Z 2024-02-29t12:00:60.5+01:30",
                "2024-02-29 2024-02-29T24:00:00Z 2024-02-29T12:00:00 2024-02-29T12:00Z 2024-02-29T12:00:00+1",
            ),
        ] {
            good.split(' ').for_each(|text| assert!(is_of(format, text), "{format} {text}"));
            bad.split(' ').for_each(|text| assert!(!is_of(format, text), "{format} {text}"));
        }
    }
}
