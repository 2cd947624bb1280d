//! A server's question to a person: from its schema to a form, and from the form back to an object of that schema.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use pi_extproto::{
    Object,
    connector::ui::{ChoiceField, FieldAnswer, FormField, OpenField},
};

/// Fields of one form; nobody answers more.
const MOST: usize = 32;

/// A form for this schema. Nothing if it asks for what no form can ask.
pub(super) fn form(schema: &Object) -> Option<Vec<FormField>> {
    let properties = schema.get("properties")?.as_object()?;
    let required = schema.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let field = |(id, property): (&String, &Value)| {
        let title = property["title"].as_str().unwrap_or(id);
        let label = match property["description"].as_str() {
            Some(about) if about != title => format!("{title}: {about}"),
            _ => title.to_owned(),
        };
        let is_required = required.iter().any(|name| name == id);
        let open = OpenField { id: id.clone(), label: label.clone(), required: is_required };
        let choice = |options| ChoiceField { id: id.clone(), label, options, required: is_required };
        match property["type"].as_str() {
            Some("string") => Some(match options(property) {
                Some(options) => FormField::Select(choice(options.into_iter().map(|(_, shown)| shown).collect())),
                None => FormField::Text(open),
            }),
            Some("number" | "integer") => Some(FormField::Text(open)),
            Some("boolean") => Some(FormField::Confirm(open)),
            Some("array") => {
                let options = options(&property["items"])?;
                Some(FormField::Multi(choice(options.into_iter().map(|(_, shown)| shown).collect())))
            }
            _ => None,
        }
    };
    let fields: Option<Vec<FormField>> = properties.iter().map(field).collect();
    fields.filter(|fields| fields.len() <= MOST)
}

/// What was answered, as the schema wants it. Says what does not fit.
pub(super) fn content(schema: &Object, answers: &BTreeMap<String, FieldAnswer>) -> Result<Object, String> {
    let mut content = Object::new();
    for (id, answer) in answers {
        let property = schema.get("properties").and_then(|all| all.get(id)).cloned().unwrap_or_default();
        let value = match answer {
            FieldAnswer::Flag(flag) => json!(flag),
            FieldAnswer::Choice(shown) => json!(value_of(&property, shown)),
            FieldAnswer::Choices(shown) => {
                let items = &property["items"];
                json!(shown.iter().map(|shown| value_of(items, shown)).collect::<Vec<_>>())
            }
            FieldAnswer::Text(text) => match property["type"].as_str() {
                Some("integer") => {
                    json!(text.trim().parse::<i64>().map_err(|_| format!("{id} is not a whole number"))?)
                }
                Some("number") => json!(text.trim().parse::<f64>().map_err(|_| format!("{id} is not a number"))?),
                _ => json!(text),
            },
        };
        content.insert(id.clone(), value);
    }
    Ok(content)
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

fn value_of(property: &Value, shown: &str) -> String {
    let found = options(property).and_then(|all| all.into_iter().find(|(_, known)| known == shown));
    found.map_or_else(|| shown.to_owned(), |(value, _)| value)
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
            { "type": "text", "id": "age", "label": "age", "required": false },
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
        assert_eq!(read, Err("n is not a number".to_owned()));
    }
}
