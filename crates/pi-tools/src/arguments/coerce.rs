//! One value against one schema.

use serde_json::{Map, Number, Value};

use super::{
    Problem,
    pattern::{self, Match},
    synonym,
};

/// Where alternatives nest deeper than this nobody meant it; the value is taken as it is.
const DEEPEST: usize = 32;

/// The value as the object that the schema describes.
pub(super) fn object(schema: &Map<String, Value>, value: Value, path: &str, problems: &mut Vec<Problem>) -> Value {
    Coercion { problems, depth: 0 }.object(schema, value, path)
}

struct Coercion<'a> {
    problems: &'a mut Vec<Problem>,
    depth: usize,
}

impl Coercion<'_> {
    fn value(&mut self, schema: &Value, value: Value, path: &str) -> Value {
        let Value::Object(schema) = schema else { return value };
        if self.depth == DEEPEST {
            return value;
        }
        self.depth += 1;
        let value = match schema.get("anyOf").or_else(|| schema.get("oneOf")) {
            Some(Value::Array(forms)) => self.alternative(forms, value, path),
            Some(_) | None => self.typed(schema, value, path),
        };
        self.depth -= 1;
        self.check_choice(schema, &value, path);
        value
    }

    /// The first form that the value has already, or else the first that it can be given.
    fn alternative(&mut self, forms: &[Value], value: Value, path: &str) -> Value {
        let mut fitted = Vec::new();
        let mut nearest: Option<Vec<Problem>> = None;
        for form in forms {
            let mut problems = Vec::new();
            let mut attempt = Coercion { problems: &mut problems, depth: self.depth };
            let result = attempt.value(form, value.clone(), path);
            match problems.is_empty() {
                true if result == value => return result,
                true => fitted.push(result),
                // A problem deep inside says that the form was meant.
                false if nearest.as_ref().is_none_or(|known| depth(known) < depth(&problems)) => {
                    nearest = Some(problems);
                }
                false => {}
            }
        }
        match fitted.into_iter().next() {
            Some(result) => result,
            None => {
                self.problems.extend(nearest.unwrap_or_default());
                value
            }
        }
    }

    fn typed(&mut self, schema: &Map<String, Value>, value: Value, path: &str) -> Value {
        let names: Vec<&str> = match schema.get("type") {
            Some(Value::String(name)) => vec![name],
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            Some(_) | None if schema.contains_key("properties") => vec!["object"],
            Some(_) | None => return value,
        };
        if let Some(own) = names.iter().find(|name| is_of(name, &value)) {
            return self.of_type(own, schema, value, path);
        }
        let wanted = names.iter().copied().find(|name| *name != "null").unwrap_or("null");
        self.of_type(wanted, schema, value, path)
    }

    fn of_type(&mut self, name: &str, schema: &Map<String, Value>, value: Value, path: &str) -> Value {
        match name {
            "string" => self.text(schema, value, path),
            "number" | "integer" => self.number(name, schema, value, path),
            "boolean" => match as_flag(&value) {
                Some(flag) => Value::Bool(flag),
                None => self.expect("boolean", value, path),
            },
            "array" => self.array(schema, value, path),
            "object" => self.object(schema, value, path),
            "null" => self.expect("null", value, path),
            _ => value,
        }
    }

    fn text(&mut self, schema: &Map<String, Value>, value: Value, path: &str) -> Value {
        let value = match value {
            Value::Number(number) => Value::String(number.to_string()),
            Value::Bool(flag) => Value::String(flag.to_string()),
            value => self.expect("string", value, path),
        };
        if let (Some(wanted), Some(text)) = (schema.get("pattern").and_then(Value::as_str), value.as_str())
            && pattern::find(wanted, text) == Match::Differs
        {
            self.problem(path, format!("expected text like {wanted}"));
        }
        value
    }

    fn number(&mut self, name: &str, schema: &Map<String, Value>, value: Value, path: &str) -> Value {
        let Some(number) = as_number(&value) else { return self.expect("number", value, path) };
        let number = match (name, as_whole(&number)) {
            ("integer", None) => {
                self.problem(path, format!("expected a whole number, got {number}"));
                return value;
            }
            (_, Some(whole)) => whole,
            (_, None) => number,
        };
        for (keyword, word, fits) in [
            ("minimum", "at least", (|number, bound| number >= bound) as fn(f64, f64) -> bool),
            ("maximum", "at most", |number, bound| number <= bound),
            ("exclusiveMinimum", "more than", |number, bound| number > bound),
            ("exclusiveMaximum", "less than", |number, bound| number < bound),
        ] {
            let bound = schema.get(keyword).and_then(Value::as_f64);
            if let (Some(bound), Some(own)) = (bound, number.as_f64())
                && !fits(own, bound)
            {
                self.problem(path, format!("expected {word} {bound}, got {own}"));
            }
        }
        Value::Number(number)
    }

    fn array(&mut self, schema: &Map<String, Value>, value: Value, path: &str) -> Value {
        let items = match value {
            Value::Array(items) => items,
            Value::String(text) => match serde_json::from_str(&text) {
                Ok(Value::Array(items)) => items,
                Ok(value @ Value::Object(_)) if wants_objects(schema) => vec![value],
                Ok(_) | Err(_) => vec![Value::String(text)],
            },
            Value::Null => return self.expect("array", value, path),
            single => vec![single],
        };
        let fewest = schema.get("minItems").and_then(Value::as_u64).unwrap_or_default();
        if (items.len() as u64) < fewest {
            self.problem(path, format!("expected at least {fewest} items, got {}", items.len()));
        }
        let Some(form) = schema.get("items") else { return Value::Array(items) };
        let items = items.into_iter().enumerate();
        Value::Array(items.map(|(index, item)| self.value(form, item, &join(path, &index.to_string()))).collect())
    }

    fn object(&mut self, schema: &Map<String, Value>, value: Value, path: &str) -> Value {
        let mut members = match value {
            Value::Object(members) => members,
            Value::String(text) => match serde_json::from_str(&text) {
                Ok(Value::Object(members)) => members,
                Ok(_) | Err(_) => return self.expect("object", Value::String(text), path),
            },
            value => return self.expect("object", value, path),
        };
        let required: Vec<&str> = match schema.get("required") {
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            Some(_) | None => Vec::new(),
        };
        let nothing = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&nothing);
        synonym::rename(&mut members, |name| properties.contains_key(name));
        members.retain(|name, value| {
            let is_left_out = value.is_null() && properties.get(name).is_some_and(|form| !allows_null(form));
            !is_left_out
        });
        for name in required.iter().filter(|name| !members.contains_key(**name)) {
            self.problem(&join(path, name), "missing".to_owned());
        }
        for (name, member) in &mut members {
            let place = join(path, name);
            match (properties.get(name), schema.get("additionalProperties")) {
                (Some(form), _) => *member = self.value(form, member.take(), &place),
                (None, Some(Value::Bool(false))) => self.problem(&place, "unknown".to_owned()),
                (None, Some(form)) => *member = self.value(form, member.take(), &place),
                (None, None) => {}
            }
        }
        Value::Object(members)
    }

    fn check_choice(&mut self, schema: &Map<String, Value>, value: &Value, path: &str) {
        let choices = match (schema.get("enum"), schema.get("const")) {
            (Some(Value::Array(choices)), _) => choices.as_slice(),
            (_, Some(only)) => std::slice::from_ref(only),
            (Some(_) | None, None) => return,
        };
        if !choices.contains(value) {
            let known: Vec<String> = choices.iter().map(Value::to_string).collect();
            self.problem(path, format!("expected one of {}, got {value}", known.join(", ")));
        }
    }

    fn expect(&mut self, wanted: &str, value: Value, path: &str) -> Value {
        let found = type_of(&value);
        if found != wanted {
            self.problem(path, format!("expected {wanted}, got {found}"));
        }
        value
    }

    fn problem(&mut self, path: &str, message: String) {
        self.problems.push(Problem { path: path.to_owned(), message });
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn depth(problems: &[Problem]) -> usize {
    problems.iter().map(|problem| problem.path.split('.').count()).max().unwrap_or_default()
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn is_of(name: &str, value: &Value) -> bool {
    match (name, value) {
        ("integer", Value::Number(number)) => as_whole(number).is_some(),
        (name, value) => type_of(value) == name,
    }
}

fn allows_null(form: &Value) -> bool {
    let names_null = match form.get("type") {
        Some(Value::String(name)) => name == "null",
        Some(Value::Array(names)) => names.iter().any(|name| name == "null"),
        // Nothing is said about the type: `null` may be meant.
        Some(_) | None => form.get("properties").is_none() && form.get("anyOf").or(form.get("oneOf")).is_none(),
    };
    let forms = form.get("anyOf").or_else(|| form.get("oneOf")).and_then(Value::as_array);
    names_null || forms.is_some_and(|forms| forms.iter().any(allows_null))
}

fn wants_objects(schema: &Map<String, Value>) -> bool {
    let items = schema.get("items");
    items.is_some_and(|form| form.get("type").is_some_and(|name| name == "object") || form.get("properties").is_some())
}

fn as_flag(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::String(text) if text.trim().eq_ignore_ascii_case("true") => Some(true),
        Value::String(text) if text.trim().eq_ignore_ascii_case("false") => Some(false),
        Value::Number(number) => match number.as_f64() {
            Some(1.0) => Some(true),
            Some(0.0) => Some(false),
            Some(_) | None => None,
        },
        Value::String(_) | Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn as_number(value: &Value) -> Option<Number> {
    match value {
        Value::Number(number) => Some(number.clone()),
        Value::String(text) => {
            let text = text.trim();
            let text = text.strip_prefix('+').unwrap_or(text);
            serde_json::from_str(text).ok()
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The number without a fraction, if it has none: `10.0` is 10.
fn as_whole(number: &Number) -> Option<Number> {
    if number.is_i64() || number.is_u64() {
        return Some(number.clone());
    }
    let float = number.as_f64()?;
    // Beyond this not every whole number is a float, so nobody can tell which one was meant.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    (float.fract() == 0.0 && float.abs() <= EXACT).then(|| Number::from(float as i64))
}
