//! The kinds of cases: each asks the crate and answers in the words of the format.

mod capability;
mod credential;
mod failure;
mod loading;
mod operation;
mod request;
mod stream;
mod text_call;

use pi_provider::{
    CallError, Manifest,
    manifest::load::{self, Format},
};
use serde_json::{Map, Value, json};

use crate::runner::case::{Case, Folder};

/// What the crate said, in the words of the format.
pub(crate) struct Answer(pub Value);

/// Why there is no answer.
pub(crate) enum Trouble {
    /// There is no such kind.
    Unknown,
    /// The crate refuses what is asked, which may be what the case expects.
    Refused(String),
    /// The case cannot be run: a file is missing, a member has the wrong form.
    Case(String),
}

/// Asks the crate. Several answers are given where chance has a part; all must be as expected.
pub(crate) fn answer(folder: &Folder, case: &Case) -> Result<Vec<Answer>, Trouble> {
    let one = match case.kind() {
        "protocol_loading" => loading::load(folder, case)?,
        "error_classification" => failure::classify(folder, case)?,
        "fallback_decision" => failure::fall_back(case)?,
        "retry_decision" => return failure::retry(folder, case),
        "message_building" | "request_building" => request::build(folder, case)?,
        "parameter_mapping" => request::parameters(folder, case)?,
        "content_block_encode" => request::encode(folder, case)?,
        "stream_decode" => stream::decode(folder, case)?,
        "event_mapping" => stream::map(folder, case)?,
        "tool_accumulation" => stream::accumulate(folder, case)?,
        "response_parsing" => stream::parse(folder, case)?,
        "capability_guard" => capability::guard(folder, case)?,
        "capability_check" => capability::check(folder, case)?,
        "advanced_endpoint_mapping" => capability::endpoint(folder, case)?,
        "provider_mock_behavior" => operation::call(folder, case)?,
        "credential_resolution" => credential::resolve(folder, case)?,
        "auth_attachment" => credential::attach(folder, case)?,
        "text_tool_parse" => text_call::parse(folder, case)?,
        "text_tool_hybrid" => text_call::hybrid(folder, case)?,
        "text_tool_prompt" => text_call::prompt(folder, case)?,
        _ => return Err(Trouble::Unknown),
    };
    Ok(vec![one])
}

impl Answer {
    /// What the crate answered; that it did is part of it.
    fn valid(value: Value) -> Self {
        let mut members = Map::from_iter([("valid".to_owned(), json!(true)), ("errors".to_owned(), json!([]))]);
        if let Value::Object(value) = value {
            members.extend(value);
        }
        Self(Value::Object(members))
    }

    /// A refusal, for cases that expect one.
    pub(crate) fn refused(why: &str) -> Self {
        Self(json!({"valid": false, "error": why, "errors": [why], "expect_error": true}))
    }
}

impl From<CallError> for Trouble {
    fn from(error: CallError) -> Self {
        Self::Refused(format!("{} {error}", error.code().number()))
    }
}

/// The manifest that a case is about: in the case, in a file, or by the name of a fixture.
fn manifest(folder: &Folder, case: &Case) -> Result<Manifest, Trouble> {
    let (name, text) = manifest_text(folder, case)?;
    let loaded = load::load(&text, &name, Format::of_file(&name));
    let errors: Vec<String> = loaded.errors().map(ToString::to_string).collect();
    loaded.manifest.ok_or_else(|| Trouble::Case(format!("the manifest does not load: {}", errors.join("; "))))
}

/// Its name and its text.
fn manifest_text(folder: &Folder, case: &Case) -> Result<(String, String), Trouble> {
    match case.input.get("manifest") {
        Some(Value::String(text)) => return Ok(("manifest.yaml".to_owned(), text.clone())),
        Some(value) => return Ok(("manifest.json".to_owned(), value.to_string())),
        None => {}
    }
    let name = match (case.text("manifest_path"), case.text("provider")) {
        (Some(path), _) => path.to_owned(),
        (None, Some(provider)) => {
            let fixture = format!("fixtures/providers/{provider}.yaml");
            let is_there = folder.read(case, &fixture).is_ok();
            if is_there { fixture } else { format!("v2/providers/{provider}.yaml") }
        }
        (None, None) => return Err(Trouble::Case("the case names no manifest".to_owned())),
    };
    let text = folder.read(case, &name).map_err(Trouble::Case)?;
    Ok((name, text))
}

/// A member of the input in a form of ours.
fn member<T: serde::de::DeserializeOwned>(case: &Case, name: &str) -> Result<T, Trouble> {
    let value = case.input.get(name).cloned().unwrap_or(Value::Null);
    serde_json::from_value(value).map_err(|error| Trouble::Case(format!("input.{name}: {error}")))
}

/// As [`member`], with a default for one that is absent.
fn member_or_default<T: serde::de::DeserializeOwned + Default>(case: &Case, name: &str) -> Result<T, Trouble> {
    if case.input.get(name).is_none_or(Value::is_null) { Ok(T::default()) } else { member(case, name) }
}
