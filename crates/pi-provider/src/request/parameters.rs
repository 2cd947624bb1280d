//! Standard parameters in the provider's names, checked against what the manifest declares.

use serde_json::{Map, Number, Value};

use super::{
    change::{Change, Changes},
    members::{at, place},
    rules::Rules,
};
use crate::{
    dialect::Dialect,
    error::CallError,
    manifest::{
        Manifest, ModelEntry,
        parameter::{Parameter, ParameterType},
    },
};

/// Standard parameters as this provider wants them: named as it names them, checked, with declared defaults filled in.
///
/// Members of dotted targets are nested. What a dialect nests by itself (Gemini's `generationConfig`) is not.
pub fn map_parameters(
    manifest: &Manifest,
    entry: Option<&ModelEntry>,
    parameters: &Map<String, Value>,
) -> Result<(Map<String, Value>, Vec<Change>), CallError> {
    let names = Names::of(manifest, entry);
    let mut changes = Changes::default();
    let mut mapped = Map::new();
    for (name, value) in checked(&names, parameters, &mut changes)? {
        place(&mut mapped, &names.target(&name), value);
    }
    Ok((mapped, changes.into_vec()))
}

/// What a provider calls the standard parameters, and which it knows.
pub(super) struct Names<'m> {
    manifest: &'m Manifest,
    entry: Option<&'m ModelEntry>,
    rules: &'static Rules,
    /// The model is asked in another dialect than the provider's own, whose members the manifest names.
    is_foreign: bool,
}

impl<'m> Names<'m> {
    pub(super) fn of(manifest: &'m Manifest, entry: Option<&'m ModelEntry>) -> Self {
        let dialect = Dialect::of(manifest, entry);
        Self { manifest, entry, rules: Rules::of(dialect), is_foreign: dialect != Dialect::of(manifest, None) }
    }

    /// The dotted member for a standard name: the model's word, the provider's if it speaks of this dialect, the
    /// dialect's.
    pub(super) fn target(&self, standard: &str) -> String {
        let of_provider = || self.of_contract(standard).or_else(|| self.aliased(standard).map(|(name, _)| name));
        let of_dialect = || self.rules.parameters.get(standard);
        let target = match self.of_model(standard) {
            None if self.is_foreign => of_dialect(),
            of_model => of_model.or_else(of_provider).or_else(of_dialect),
        };
        target.map_or(standard, String::as_str).to_owned()
    }

    fn of_model(&self, standard: &str) -> Option<&'m String> {
        let by_quirk = || {
            let quirks = self.manifest.quirks.as_deref().filter(|_| standard == "max_tokens")?;
            quirks.max_tokens_field.as_ref()
        };
        self.entry.and_then(|entry| entry.parameter_aliases.get(standard)).or_else(by_quirk)
    }

    fn of_contract(&self, standard: &str) -> Option<&'m String> {
        self.manifest.contract.request_mapping.parameter_aliases.get(standard)
    }

    /// The member of the body, where the dialect nests what has no dot of its own.
    pub(super) fn place_in_body(&self, standard: &str) -> String {
        let target = self.target(standard);
        match &self.rules.home {
            Some(home) if !target.contains('.') && !self.rules.outside.contains(&target) => format!("{home}.{target}"),
            Some(_) | None => target,
        }
    }

    /// What the manifest says about a standard name, under whichever name it says it.
    pub(super) fn declared(&self, standard: &str) -> Option<&'m Parameter> {
        let by_dialect = || self.rules.parameters.get(standard).and_then(|name| self.manifest.parameters.get(name));
        let by_alias = || self.aliased(standard).map(|(_, parameter)| parameter);
        self.manifest.parameters.get(standard).or_else(by_alias).or_else(by_dialect)
    }

    fn aliased(&self, standard: &str) -> Option<(&'m String, &'m Parameter)> {
        self.manifest.parameters.iter().find(|(_, parameter)| parameter.alias.as_deref() == Some(standard))
    }

    /// The standard name of a name that may be the provider's own.
    fn standard<'n>(&'n self, name: &'n str) -> &'n str {
        let alias = self.manifest.parameters.get(name).and_then(|parameter| parameter.alias.as_deref());
        alias.or_else(|| self.of_wire(name)).unwrap_or(name)
    }

    fn of_wire(&self, name: &str) -> Option<&str> {
        self.rules.parameters.iter().find(|(_, wire)| *wire == name).map(|(standard, _)| standard.as_str())
    }

    /// Why this parameter cannot be sent at all.
    fn obstacle(&self, standard: &str) -> Option<&'static str> {
        if self.entry.is_some_and(|entry| entry.unsupported_parameters.iter().any(|name| name == standard)) {
            return Some("the model refuses it");
        }
        if self.of_model(standard).is_some() {
            return None;
        }
        let is_declared = self.of_contract(standard).is_some() || self.declared(standard).is_some();
        if (self.is_foreign || !is_declared) && self.rules.unsupported.iter().any(|name| name == standard) {
            Some("the API has no member for it")
        } else if is_declared
            || self.manifest.parameters.is_empty()
            || (self.rules.max_tokens && standard == "max_tokens")
        {
            None
        } else {
            Some("the provider does not declare it")
        }
    }
}

/// The parameters that are sent, by their standard names.
pub(super) fn checked(
    names: &Names<'_>,
    parameters: &Map<String, Value>,
    changes: &mut Changes,
) -> Result<Vec<(String, Value)>, CallError> {
    let mut sent: Vec<(String, Value)> = Vec::new();
    for (name, value) in parameters {
        let standard = names.standard(name);
        if let Some(reason) = names.obstacle(standard) {
            changes.dropped(standard, reason);
            continue;
        }
        let value = match names.declared(standard) {
            Some(parameter) => {
                if parameter.deprecated {
                    changes.kept(standard, "the provider calls it deprecated");
                }
                check(standard, parameter, value)?
            }
            None => value.clone(),
        };
        let value = limited(names, standard, listed(names.rules, standard, value), changes);
        sent.push((standard.to_owned(), value));
    }
    fill(names, &mut sent, changes)?;
    Ok(sent)
}

/// Corrects what was told about parameters that are not sent as they were placed, because thinking has a word for the same
/// member or excludes them.
pub(super) fn tell_replaced(
    names: &Names<'_>,
    placed: &[(String, Value)],
    members: &Map<String, Value>,
    changes: &mut Changes,
) {
    for (name, value) in placed {
        match at(members, &names.place_in_body(name)) {
            Some(sent) if sent == value => {}
            sent => changes.replaced(name, value, sent),
        }
    }
}

/// Adds declared defaults, and what must not be missing.
fn fill(names: &Names<'_>, sent: &mut Vec<(String, Value)>, changes: &mut Changes) -> Result<(), CallError> {
    let has = |sent: &[(String, Value)], name: &str| sent.iter().any(|(sent, _)| sent == name);
    let groups = &names.manifest.contract.request_mapping.exclusive_parameters;
    let given = sent.len();
    // Most have neither, and it takes several lookups to tell what each is called here.
    let matters = |parameter: &Parameter| parameter.default.is_some() || parameter.required;
    for (name, parameter) in names.manifest.parameters.iter().filter(|(_, parameter)| matters(parameter)) {
        let standard = names.standard(name);
        if has(sent, standard) || names.obstacle(standard).is_some() {
            continue;
        }
        // What a person says comes before a default that excludes it.
        let excludes = |group: &&Vec<String>| group.iter().any(|name| has(&sent[..given], name));
        let is_in = |group: &Vec<String>| group.iter().any(|name| name == standard);
        if parameter.default.is_some() && groups.iter().filter(excludes).any(is_in) {
            continue;
        }
        if let Some(default) = &parameter.default {
            changes.added(standard, format!("{default} is the declared default"));
            sent.push((standard.to_owned(), default.clone()));
        } else if parameter.required && standard != "max_tokens" && !names.rules.reserved.contains(name) {
            let reason = "the provider requires it".to_owned();
            return Err(CallError::Option { option: standard.to_owned(), reason });
        }
    }
    let declared = names.declared("max_tokens");
    let is_required = names.rules.max_tokens || declared.is_some_and(|parameter| parameter.required);
    if is_required && !has(sent, "max_tokens") {
        let of_model = names.entry.and_then(|entry| entry.max_output_tokens).filter(|most| *most > 0);
        let most = of_model.unwrap_or(CAUTIOUS_MAX_TOKENS);
        changes.added("max_tokens", format!("{most}: the provider requires a limit"));
        sent.push(("max_tokens".to_owned(), most.into()));
    }
    Ok(())
}

/// How long an answer may be, in tokens, as far as these parameters say it and the model can.
pub fn longest_answer(manifest: &Manifest, entry: Option<&ModelEntry>, parameters: &Map<String, Value>) -> Option<u64> {
    const STANDARD: &str = "max_tokens";
    let names = Names::of(manifest, entry);
    let (_, wanted) = parameters.iter().find(|(name, _)| names.standard(name) == STANDARD)?;
    if names.obstacle(STANDARD).is_some() {
        return None;
    }
    limited(&names, STANDARD, wanted.clone(), &mut Changes::default()).as_u64()
}

/// The limit of an answer where one must be given and nothing is known about the model.
const CAUTIOUS_MAX_TOKENS: u64 = 4096;

/// No model answers with more than it can; a wish for more is a wish for as much as possible.
fn limited(names: &Names<'_>, standard: &str, value: Value, changes: &mut Changes) -> Value {
    let most = names.entry.and_then(|entry| entry.max_output_tokens).filter(|most| *most > 0);
    match (most, value.as_u64()) {
        (Some(most), Some(wanted)) if standard == "max_tokens" && wanted > most => {
            changes.changed("max_tokens", format!("{wanted} is more than the model's {most}"));
            most.into()
        }
        _ => value,
    }
}

fn listed(rules: &Rules, standard: &str, value: Value) -> Value {
    match value {
        value @ Value::String(_) if rules.lists.iter().any(|name| name == standard) => Value::Array(vec![value]),
        value => value,
    }
}

/// The value in the declared type, within the declared bounds.
fn check(name: &str, parameter: &Parameter, value: &Value) -> Result<Value, CallError> {
    let refuse = |reason: String| CallError::Option { option: name.to_owned(), reason };
    let value =
        coerce(parameter.kind, value).ok_or_else(|| refuse(format!("{value} is not {}", article(parameter.kind))))?;
    if let Some(number) = value.as_f64() {
        let (from, to) = parameter.range.map_or((parameter.min, parameter.max), |(from, to)| (Some(from), Some(to)));
        if from.is_some_and(|from| number < from) || to.is_some_and(|to| number > to) {
            let bound = match (from, to) {
                (Some(from), Some(to)) => format!("between {from} and {to}"),
                (Some(from), None) => format!("at least {from}"),
                (None, to) => format!("at most {}", to.unwrap_or_default()),
            };
            return Err(refuse(format!("{value} is not {bound}")));
        }
    }
    match &parameter.values {
        Some(values) if !values.contains(&value) => {
            let values = values.iter().map(Value::to_string).collect::<Vec<_>>().join(", ");
            Err(refuse(format!("{value} is not one of {values}")))
        }
        Some(_) | None => Ok(value),
    }
}

/// The value as a value of this type, if it can be read as one without loss.
fn coerce(kind: ParameterType, value: &Value) -> Option<Value> {
    let whole = |number: f64| (number.fract() == 0.0 && number.abs() < 9e15).then(|| Value::from(number as i64));
    Some(match (kind, value) {
        (ParameterType::Float, Value::Number(_)) => value.clone(),
        (ParameterType::Float, Value::String(text)) => Value::Number(Number::from_f64(text.trim().parse().ok()?)?),
        (ParameterType::Integer, Value::Number(number)) if number.is_f64() => whole(number.as_f64()?)?,
        (ParameterType::Integer, Value::Number(_)) => value.clone(),
        (ParameterType::Integer, Value::String(text)) => Value::from(text.trim().parse::<i64>().ok()?),
        (ParameterType::Boolean, Value::Bool(_)) => value.clone(),
        (ParameterType::Boolean, Value::String(text)) => Value::Bool(text.trim().parse().ok()?),
        (ParameterType::String, Value::String(_)) => value.clone(),
        (ParameterType::String, Value::Number(_) | Value::Bool(_)) => Value::String(value.to_string()),
        (ParameterType::Array, Value::Array(_)) => value.clone(),
        (ParameterType::Array, Value::String(_) | Value::Number(_)) => Value::Array(vec![value.clone()]),
        (ParameterType::Object, Value::Object(_)) => value.clone(),
        (ParameterType::StringOrObject, Value::String(_) | Value::Object(_)) => value.clone(),
        (
            ParameterType::Float
            | ParameterType::Integer
            | ParameterType::Boolean
            | ParameterType::String
            | ParameterType::Array
            | ParameterType::Object
            | ParameterType::StringOrObject,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_),
        ) => return None,
    })
}

const fn article(kind: ParameterType) -> &'static str {
    match kind {
        ParameterType::Float => "a number",
        ParameterType::Integer => "a whole number",
        ParameterType::Boolean => "true or false",
        ParameterType::String => "a text",
        ParameterType::Array => "a list",
        ParameterType::Object => "an object",
        ParameterType::StringOrObject => "a text or an object",
    }
}
