//! Whether and how tools are offered.

use std::{borrow::Cow, sync::LazyLock};

use pi_envelope::{Prompt, Tool};
use pi_transcript::{Block, Message};
use serde_json::{Map, Value, json};

use super::{Target, change::Changes, root, rules::Rules, schema};
use crate::{
    call::{Call, Options, ToolChoice},
    error::{CallError, Failure},
    manifest::{
        Capability, ModelEntry,
        capability::{Reliability, TextFallback},
    },
    text_call::{Grammar, Leniency, prompt},
};

/// How tools reach the model.
#[derive(Clone, Copy)]
pub(super) enum ToolsAs<'m> {
    /// In the members that the wire has for them.
    Native,
    /// As words in the system text, the answers and the user's messages.
    Text(&'m TextFallback),
}

/// The form of calls as text where a manifest says nothing about it.
static USUAL_FORM: LazyLock<TextFallback> = LazyLock::new(TextFallback::default);

/// A tool as the request defines it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Offer<'a> {
    pub(super) name: &'a str,
    pub(super) description: &'a str,
    /// Always a schema of an object.
    pub(super) parameters: Cow<'a, Value>,
}

/// How these tools, and the calls in the history of their prompt, are sent.
pub(super) fn tools_as<'m>(target: &Target<'m>, tools: &[Tool]) -> Result<ToolsAs<'m>, CallError> {
    let capabilities = &target.manifest.capabilities;
    let calling = &capabilities.tool_calling;
    let model_says = target.entry.and_then(|entry| entry.model_capabilities.tool_call);
    let native_says = calling.native.as_ref().map(|native| native.supported);
    let declared = capabilities.has(Capability::Tools) || native_says == Some(true) || model_says == Some(true);
    if declared && native_says != Some(false) && model_says != Some(false) {
        return Ok(ToolsAs::Native);
    }
    match &calling.text_fallback {
        Some(form) => Ok(ToolsAs::Text(form)),
        // Only the history has calls; they are told, and nobody asks for more.
        None if tools.is_empty() => Ok(ToolsAs::Text(&USUAL_FORM)),
        None => Err(CallError::Undeclared { provider: target.manifest.id.clone(), capability: Capability::Tools }),
    }
}

/// How calls in the text of the answer are read; `None` leaves its text alone. That is so without tools, without a form in
/// the manifest, and where the model's own calls can be relied on.
pub fn text_calls(target: &Target<'_>, tools: &[Tool]) -> Option<Grammar> {
    let calling = &target.manifest.capabilities.tool_calling;
    let fallback = calling.text_fallback.as_ref().filter(|_| !tools.is_empty())?;
    let is_relied_on = calling.native.as_ref().is_some_and(|native| native.reliability == Reliability::Full);
    match tools_as(target, tools).ok()? {
        ToolsAs::Native if is_relied_on => None,
        ToolsAs::Native | ToolsAs::Text(_) => Some(Grammar::of(fallback, Leniency::Lenient, tools)),
    }
}

/// Whether this is how a model, or its server, says that it takes no tools.
pub(crate) fn refuses_tools(error: &CallError) -> bool {
    error.failure().is_some_and(Failure::refuses_tools)
}

/// Whether these tools could be told of in words, where the model gets them otherwise.
pub(crate) fn has_words(target: &Target<'_>, tools: &[Tool]) -> bool {
    let has_form = target.manifest.capabilities.tool_calling.text_fallback.is_some();
    has_form && !tools.is_empty() && matches!(tools_as(target, tools), Ok(ToolsAs::Native))
}

/// The model as one that is told of its tools in words, where it would get them otherwise and the manifest has a form for
/// that.
pub(crate) fn in_words(target: &Target<'_>, tools: &[Tool]) -> Option<ModelEntry> {
    if !has_words(target, tools) {
        return None;
    }
    let mut entry = target.entry.cloned().unwrap_or_default();
    entry.model_capabilities.tool_call = Some(false);
    Some(entry)
}

/// The definitions that are sent natively.
pub(super) fn offers<'a>(
    target: &Target<'_>,
    prompt: &'a Prompt,
    rules: &Rules,
    changes: &mut Changes,
) -> Result<Vec<Offer<'a>>, CallError> {
    if let Some(most) = target.manifest.contract.capability_contracts.tools.max_tools
        && prompt.tools.len() as u64 > most
    {
        let reason = format!("{} are too many, at most {most} are accepted", prompt.tools.len());
        return Err(CallError::Option { option: "tools".to_owned(), reason });
    }
    if !prompt.tools.is_empty() || !rules.tools_for_calls {
        return Ok(prompt.tools.iter().map(|tool| offer(tool, rules, changes)).collect());
    }
    let mut named: Vec<&str> = calls(prompt).collect();
    named.sort_unstable();
    named.dedup();
    if !named.is_empty() {
        changes.added("tools", "the tools that the history names, without which it is refused");
    }
    let bare = |name| Offer { name, description: "", parameters: Cow::Owned(any_object()) };
    Ok(named.into_iter().map(bare).collect())
}

/// Tells a model that has no tools of its own of those at hand, and what is demanded of it, as words.
pub(super) fn tell(form: &TextFallback, call: Call<'_>, system: &mut String, changes: &mut Changes) {
    const NOT_ENFORCED: &str = "demanded in the system text, and nothing makes the model keep to it";
    let tools = &call.prompt.tools;
    if tools.is_empty() {
        return;
    }
    let demanded = match &call.options.tool_choice {
        ToolChoice::None => {
            changes.changed(
                "tool_choice",
                "the model is told of no tools, and what looks like a call in its text is text",
            );
            return;
        }
        ToolChoice::Auto => None,
        ToolChoice::Required => Some(prompt::demand(None)),
        ToolChoice::Tool(name) if tools.iter().any(|tool| tool.definition.name == *name) => {
            Some(prompt::demand(Some(name)))
        }
        ToolChoice::Tool(name) => {
            changes.dropped("tool_choice", format!("there is no tool {name}"));
            None
        }
    };
    changes.changed("tools", "described in the system text, because the model has none of its own");
    if !system.is_empty() {
        system.push_str("\n\n");
    }
    system.push_str(&prompt::instructions(form, tools));
    if let Some(demanded) = demanded {
        changes.changed("tool_choice", NOT_ENFORCED);
        system.push_str(&demanded);
    }
}

/// The choice that is sent, `None` where nothing is to be said, or where [`tell`] has said it.
pub(super) fn choice<'a>(
    target: &Target<'_>,
    options: &'a Options,
    prompt: &Prompt,
    offers: &[Offer<'_>],
    changes: &mut Changes,
) -> Option<&'a ToolChoice> {
    let tools = &target.manifest.contract.capability_contracts.tools;
    match &options.tool_choice {
        _ if offers.is_empty() && !prompt.tools.is_empty() => None,
        ToolChoice::Auto if prompt.tools.is_empty() && !offers.is_empty() => Some(&ToolChoice::None),
        ToolChoice::Auto => None,
        _ if offers.is_empty() => {
            changes.dropped("tool_choice", "there are no tools");
            None
        }
        ToolChoice::Required | ToolChoice::Tool(_) if model_refuses(target) => {
            changes.dropped("tool_choice", "the model cannot be made to call a tool");
            None
        }
        ToolChoice::Required | ToolChoice::Tool(_) if tools.supports_forced_tool == Some(false) => {
            changes.dropped("tool_choice", "the provider cannot be made to call a tool");
            None
        }
        ToolChoice::Tool(name) if !offers.iter().any(|offer| offer.name == name) => {
            changes.dropped("tool_choice", format!("there is no tool {name}"));
            None
        }
        choice => Some(choice),
    }
}

/// Whether this model of a provider that can be made to call tools cannot.
fn model_refuses(target: &Target<'_>) -> bool {
    target.entry.is_some_and(|entry| entry.unsupported_parameters.iter().any(|name| name == "tool_choice"))
}

/// The parameter that says what an option says, by the name of either: each API writes it in its own way.
pub(super) fn parallel_parameter(parameters: &Map<String, Value>) -> Result<Option<(&'static str, bool)>, CallError> {
    let names = ["parallel_tool_calls", "parallel_tools"];
    let Some((name, value)) = names.iter().find_map(|name| Some((*name, parameters.get(*name)?))) else {
        return Ok(None);
    };
    let refuse = || CallError::Option { option: name.to_owned(), reason: format!("{value} is not true or false") };
    value.as_bool().map(|wanted| Some((name, wanted))).ok_or_else(refuse)
}

/// Whether several calls at once are asked for or forbidden, `None` where nothing is to be said.
pub(super) fn parallel(
    target: &Target<'_>,
    wanted: Option<bool>,
    prompt: &Prompt,
    offers: &[Offer<'_>],
    changes: &mut Changes,
) -> Option<bool> {
    let wanted = wanted?;
    let capabilities = &target.manifest.capabilities;
    let declared = capabilities.has(Capability::ParallelTools)
        || capabilities.feature_flags.parallel_tool_calls == Some(true)
        || target.manifest.contract.capability_contracts.tools.supports_parallel == Some(true);
    if offers.is_empty() {
        let reason = if prompt.tools.is_empty() {
            "there are no tools"
        } else {
            "the model writes its calls as text, as it likes"
        };
        changes.dropped("parallel_tools", reason);
        return None;
    }
    if !declared {
        changes.dropped("parallel_tools", "the provider does not declare it");
        return None;
    }
    Some(wanted)
}

fn offer<'a>(tool: &'a Tool, rules: &Rules, changes: &mut Changes) -> Offer<'a> {
    let definition = &tool.definition;
    let given = Cow::Borrowed(&definition.parameters);
    let folded = if rules.parameters_one_object { root::folded(&given) } else { None };
    if folded.is_some() {
        let reason =
            format!("the parameters of {} are sent as one object, without the choice at their root", definition.name);
        changes.changed("tools", reason);
    }
    let parameters = complete(&definition.name, folded.map_or(given, Cow::Owned), changes);
    Offer { name: &definition.name, description: &definition.description, parameters }
}

/// The parameters of a tool with what every provider insists on.
fn complete<'a>(name: &str, given: Cow<'a, Value>, changes: &mut Changes) -> Cow<'a, Value> {
    match &*given {
        Value::Object(schema) if schema.keys().any(|name| name == "type") => {
            schema::completed(&given).map_or(given, Cow::Owned)
        }
        Value::Object(schema) if !schema.is_empty() => {
            changes.changed("tools", format!("the parameters of {name} are called an object"));
            let mut schema = schema.clone();
            schema.insert("type".to_owned(), json!("object"));
            let schema = Value::Object(schema);
            Cow::Owned(schema::completed(&schema).unwrap_or(schema))
        }
        Value::Object(_) | Value::Null => Cow::Owned(any_object()),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            changes.changed("tools", format!("the parameters of {name} are no schema and may be anything"));
            Cow::Owned(any_object())
        }
    }
}

fn any_object() -> Value {
    json!({"type": "object", "properties": {}})
}

fn calls(prompt: &Prompt) -> impl Iterator<Item = &str> {
    let blocks = prompt.messages.iter().flat_map(|said| match said.message() {
        Message::Assistant(assistant) => assistant.content.as_slice(),
        Message::User(_)
        | Message::ToolResult(_)
        | Message::BashExecution(_)
        | Message::Custom(_)
        | Message::BranchSummary(_)
        | Message::CompactionSummary(_)
        | Message::System(_)
        | Message::Other(_) => &[],
    });
    blocks.filter_map(|block| match block {
        Block::ToolCall(call) => Some(call.name.as_str()),
        Block::Text(_) | Block::Thinking(_) | Block::Image(_) | Block::Other(_) => None,
    })
}

/// A result as the user tells it, where the wire has no place for results.
pub(super) fn told(name: &str, text: &str) -> String {
    format!("Result of {name}:\n{text}")
}
