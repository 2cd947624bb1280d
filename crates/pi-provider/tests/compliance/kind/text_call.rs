//! Tool calls that a model writes as text.

use pi_envelope::{Origin, Provenance, Tool};
use pi_provider::{
    StreamEvent,
    manifest::capability::TextFallback,
    text_call::{self, Grammar, Leniency, filter::Filter, prompt},
};
use pi_transcript::message::ToolDefinition;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Answer, Trouble, manifest, member, member_or_default};
use crate::runner::case::{Case, Folder};

#[derive(Deserialize, Default)]
#[serde(default)]
struct Config {
    lenient_parsing: bool,
    prompt_level: Option<pi_provider::manifest::capability::PromptLevel>,
}

#[derive(Deserialize)]
struct NativeCall {
    id: String,
    name: String,
    arguments: Map<String, Value>,
}

pub(super) fn parse(folder: &Folder, case: &Case) -> Result<Answer, Trouble> {
    let text: String = member(case, "response_text")?;
    let parsed = text_call::parse(grammar(folder, case)?, &text);
    let calls: Vec<Value> =
        parsed.calls.iter().map(|call| json!({"name": call.name, "arguments": call.arguments})).collect();
    Ok(Answer::valid(json!({"remaining_text": parsed.remaining_text, "tool_calls": calls})))
}

/// Text and native calls of one answer go through the filter that stands in every stream.
pub(super) fn hybrid(folder: &Folder, case: &Case) -> Result<Answer, Trouble> {
    let text: String = member(case, "content")?;
    let native: Vec<NativeCall> = member_or_default(case, "native_tool_calls")?;
    let mut filter = Filter::new(grammar(folder, case)?);
    let mut out = Vec::new();
    // A provider may send its calls before its text or behind it; whole answers have them beside it.
    for (index, call) in (0..).zip(native) {
        let index = Some(index);
        let started = StreamEvent::ToolCallStarted {
            candidate: 0,
            index,
            tool_call_id: call.id.clone(),
            tool_name: call.name,
            signature: None,
        };
        let arguments = Value::Object(call.arguments).to_string();
        filter.apply(started, &mut out);
        let piece = StreamEvent::PartialToolCall { candidate: 0, index, tool_call_id: call.id.clone(), arguments };
        filter.apply(piece, &mut out);
        filter.apply(StreamEvent::ToolCallEnded { candidate: 0, index, tool_call_id: call.id }, &mut out);
    }
    filter.apply(
        StreamEvent::PartialContentDelta { candidate: 0, block: None, content: text, signature: None },
        &mut out,
    );
    filter.flush(&mut out);
    let (mut remaining, mut calls) = (String::new(), Vec::<(String, String)>::new());
    for event in out {
        match event {
            StreamEvent::PartialContentDelta { content, .. } => remaining.push_str(&content),
            StreamEvent::ToolCallStarted { tool_name, .. } => calls.push((tool_name, String::new())),
            StreamEvent::PartialToolCall { arguments, .. } => {
                calls.last_mut().ok_or_else(|| Trouble::Refused("a call has no beginning".to_owned()))?.1 += &arguments;
            }
            _ => {}
        }
    }
    let call = |(name, arguments): &(String, String)| json!({"name": name, "arguments": serde_json::from_str::<Value>(arguments).unwrap_or_default()});
    let calls: Vec<Value> = calls.iter().map(call).collect();
    Ok(Answer::valid(json!({"remaining_text": remaining, "tool_calls": calls})))
}

pub(super) fn prompt(folder: &Folder, case: &Case) -> Result<Answer, Trouble> {
    #[derive(Deserialize)]
    struct Named {
        name: String,
        #[serde(default)]
        description: String,
        #[serde(default)]
        parameters: Value,
    }
    let config: Config = member_or_default(case, "config")?;
    let mut fallback = fallback(folder, case)?;
    fallback.prompt_level = config.prompt_level.unwrap_or(fallback.prompt_level);
    let tools = member::<Vec<Named>>(case, "tools")?.into_iter().map(|Named { name, description, parameters }| Tool {
        definition: ToolDefinition { name, description, parameters, extra: Map::new() },
        provenance: Provenance::usual(Origin::BuiltIn),
    });
    let tools: Vec<Tool> = tools.collect();
    Ok(Answer::valid(json!({"prompt": prompt::instructions(&fallback, &tools)})))
}

fn grammar(folder: &Folder, case: &Case) -> Result<Grammar, Trouble> {
    let config: Config = member_or_default(case, "config")?;
    let leniency = if config.lenient_parsing { Leniency::Lenient } else { Leniency::Strict };
    let mut grammar = Grammar::usual(leniency);
    if case.text("manifest_path").is_some() {
        grammar.fallback = fallback(folder, case)?;
    }
    Ok(grammar)
}

/// The manifest's, where the case names one that has it.
fn fallback(folder: &Folder, case: &Case) -> Result<TextFallback, Trouble> {
    let written = match case.text("manifest_path") {
        Some(_) => manifest(folder, case)?.capabilities.tool_calling.text_fallback,
        None => None,
    };
    Ok(written.unwrap_or_else(|| Grammar::usual(Leniency::Strict).fallback))
}
