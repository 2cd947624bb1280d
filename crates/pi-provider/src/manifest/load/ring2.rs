//! Ring 2: what the provider can do, and the sections that follow from it. A section is checked only where its capability
//! is declared.

use std::collections::BTreeSet;

use indexmap::IndexMap;

use super::{Report, parameter, words};
use crate::{
    manifest::{
        capability::{Capabilities, Capability, FeatureFlags, ToolCalling},
        diagnostic::{Rule, Severity},
        names,
        parameter::{Parameter, ParameterType},
        promote::Generation,
        streaming::Streaming,
        tree::{Member, Node, Position},
    },
    stream::framing::Form,
};

pub(super) struct Ring2 {
    pub capabilities: Capabilities,
    pub parameters: IndexMap<String, Parameter>,
    pub streaming: Option<Streaming>,
}

pub(super) fn read(root: &Node, generation: Generation, report: &mut Report<'_>) -> Ring2 {
    let capabilities = capabilities(root, generation, report);
    let streaming = streaming(root, &capabilities, report);
    Ring2 { parameters: parameters(root, report), capabilities, streaming }
}

fn capabilities(root: &Node, generation: Generation, report: &mut Report<'_>) -> Capabilities {
    const SECTION: &str = "capabilities";
    let mut capabilities = Capabilities::default();
    let Some(node) = root.get(SECTION) else {
        // The smallest manifest has a chat and nothing else.
        capabilities.required.insert(Capability::Text);
        return capabilities;
    };
    let Some(members) = node.as_map() else {
        let message = format!("an object with required and optional is expected, not {}", node.kind());
        report.error(Rule::CapabilitySection, node.at, SECTION, message);
        return capabilities;
    };
    for member in members {
        let path = format!("{SECTION}.{}", member.key);
        match member.key.as_str() {
            _ if member.node.is_null() => {}
            "required" => capabilities.required = set(&member.node, &path, report),
            "optional" => capabilities.optional = set(&member.node, &path, report),
            "feature_flags" => capabilities.feature_flags = flags(&member.node, &path, report),
            "tool_calling" => {}
            _ => report.ignore_member(member, path, &["required", "optional", "feature_flags", "tool_calling"]),
        }
    }
    if let Some(member) = node.member("tool_calling") {
        capabilities.tool_calling = tool_calling(member, &capabilities, report);
    }
    if root.find("endpoints.chat").is_some() {
        text(node.at, &mut capabilities, generation, report);
    }
    capabilities
}

fn text(at: Position, capabilities: &mut Capabilities, generation: Generation, report: &mut Report<'_>) {
    const PATH: &str = "capabilities.required";
    if capabilities.required.contains(&Capability::Text) {
        return;
    }
    if generation.is_promoted() {
        capabilities.required.insert(Capability::Text);
    } else if capabilities.optional.contains(&Capability::Text) {
        report.warning(Rule::TextCapability, at, PATH, "a provider with a chat must require text; it is optional here");
    } else {
        report.error(Rule::TextCapability, at, PATH, "a provider with a chat must declare text");
    }
}

fn set(node: &Node, path: &str, report: &mut Report<'_>) -> BTreeSet<Capability> {
    let Some(list) = node.as_list() else {
        report.error(Rule::CapabilitySection, node.at, path, format!("a list is expected, not {}", node.kind()));
        return BTreeSet::new();
    };
    let mut set = BTreeSet::new();
    for (index, item) in list.iter().enumerate() {
        let path = format!("{path}[{index}]");
        let Some(name) = report.read::<String>(Severity::Error, Rule::CapabilitySection, item, &path) else { continue };
        match Capability::from_name(&name) {
            Some(capability) => {
                set.insert(capability);
            }
            None => unknown_capability(&name, item, path, report),
        }
    }
    set
}

/// A name of others is ignored; one that is nearly a known one was meant as that.
fn unknown_capability(name: &str, item: &Node, path: String, report: &mut Report<'_>) {
    let known = Capability::ALL.map(Capability::name);
    let message = format!("{name:?} is not known and ignored");
    if let Some(standard) = names::capability_alias(name) {
        report.note(Rule::UnknownCapability, item.at, &path, message);
        report.hint(format!("the standard name is {standard}"));
    } else if words::slip(name, &known).is_some() {
        report.warning(Rule::UnknownCapability, item.at, &path, message);
        report.hint(words::advice(name, &known));
    } else {
        report.note(Rule::UnknownCapability, item.at, &path, message);
    }
    report.ignore(item.at, path);
}

/// The flags that have a meaning here.
const FLAGS: [&str; 6] = [
    "structured_output",
    "parallel_tool_calls",
    "extended_thinking",
    "streaming_usage",
    "system_messages",
    "image_generation",
];

/// Flags are switches; one that is something else is left out, and its neighbours stay.
fn flags(node: &Node, path: &str, report: &mut Report<'_>) -> FeatureFlags {
    let Some(members) = node.as_map() else {
        report.warning(Rule::FeatureFlags, node.at, path, format!("an object is expected, not {}", node.kind()));
        return FeatureFlags::default();
    };
    let mut flags = FeatureFlags::default();
    for member in members {
        let path = format!("{path}.{}", member.key);
        let Some(value) = member.node.as_bool() else {
            if !member.node.is_null() {
                let message = format!("true or false is expected, not {}", member.node.kind());
                report.warning(Rule::FeatureFlags, member.node.at, &path, message);
            }
            continue;
        };
        match member.key.as_str() {
            "structured_output" => flags.structured_output = Some(value),
            "parallel_tool_calls" => flags.parallel_tool_calls = Some(value),
            "extended_thinking" => flags.extended_thinking = Some(value),
            "streaming_usage" => flags.streaming_usage = Some(value),
            "system_messages" => flags.system_messages = Some(value),
            "image_generation" => flags.image_generation = Some(value),
            other => {
                if words::slip(other, &FLAGS).is_some() {
                    let message = format!("the flag {other:?} is not known and switches nothing");
                    report.warning(Rule::FeatureFlags, member.at, &path, message);
                    report.hint(words::advice(other, &FLAGS));
                }
                flags.others.insert(other.to_owned(), value);
            }
        }
    }
    flags
}

fn tool_calling(member: &Member, capabilities: &Capabilities, report: &mut Report<'_>) -> ToolCalling {
    let severity = severity_of(Capability::Tools, capabilities);
    let section = report.read(severity, Rule::ToolCalling, &member.node, "capabilities.tool_calling");
    section.unwrap_or_default()
}

/// A section whose capability is not declared does no harm.
fn severity_of(capability: Capability, declared: &Capabilities) -> Severity {
    if declared.has(capability) { Severity::Error } else { Severity::Note }
}

fn streaming(root: &Node, capabilities: &Capabilities, report: &mut Report<'_>) -> Option<Streaming> {
    const SECTION: &str = "streaming";
    let severity = severity_of(Capability::Streaming, capabilities);
    let Some(member) = root.member(SECTION) else {
        if capabilities.has(Capability::Streaming) {
            let message = "streaming is declared and not described; the usual stream of the dialect is assumed";
            let at = root.member("capabilities").map_or(root.at, |capabilities| capabilities.at);
            report.warning(Rule::StreamingSection, at, SECTION, message);
        }
        return None;
    };
    let node = &member.node;
    if node.as_map().is_some() && node.get("decoder").is_none() {
        let message = "streaming.decoder is missing".to_owned();
        report.push(severity, Rule::StreamDecoder, member.at, "streaming.decoder", message);
        return None;
    }
    let streaming: Streaming = report.read(severity, Rule::StreamingSection, node, SECTION)?;
    let format = streaming.decoder.format.as_deref();
    if let Some(format) = format.filter(|format| !Form::is_known(format)) {
        let at = node.find("decoder.format").map_or(node.at, |format| format.at);
        let message = format!("the format {format:?} is not known; the stream is read as server-sent events");
        report.push(severity.min(Severity::Warning), Rule::StreamDecoder, at, "streaming.decoder.format", message);
        report.hint(format!("write {}", Form::NAMES.join(", ")));
    }
    Some(streaming)
}

fn parameters(root: &Node, report: &mut Report<'_>) -> IndexMap<String, Parameter> {
    const SECTION: &str = "parameters";
    let Some(node) = root.get(SECTION) else { return IndexMap::new() };
    let Some(members) = node.as_map() else {
        report.error(Rule::ParameterSection, node.at, SECTION, format!("an object is expected, not {}", node.kind()));
        return IndexMap::new();
    };
    let mut parameters = IndexMap::new();
    for member in members {
        let path = format!("{SECTION}.{}", member.key);
        let parameter: Option<Parameter> = report.read(Severity::Error, Rule::ParameterSection, &member.node, &path);
        if let Some(parameter) = parameter {
            check_parameter(member, &path, &parameter, report);
            let (name, parameter) = parameter::named(member, &path, parameter, report);
            parameter::insert(member, &path, (name, parameter), &mut parameters, report);
        }
    }
    parameters
}

fn check_parameter(member: &Member, path: &str, parameter: &Parameter, report: &mut Report<'_>) {
    let low = parameter.range.map(|(low, _)| low).or(parameter.min);
    let high = parameter.range.map(|(_, high)| high).or(parameter.max);
    if let (Some(low), Some(high)) = (low, high)
        && low > high
    {
        report.error(Rule::ParameterSection, member.node.at, path, format!("nothing is between {low} and {high}"));
        return;
    }
    let Some(default) = &parameter.default else { return };
    let at = member.node.get("default").map_or(member.node.at, |node| node.at);
    let fits = match parameter.kind {
        ParameterType::Float => default.is_number(),
        ParameterType::Integer => default.is_i64() || default.is_u64(),
        ParameterType::Boolean => default.is_boolean(),
        ParameterType::String => default.is_string(),
        ParameterType::Array => default.is_array(),
        ParameterType::Object => default.is_object(),
        ParameterType::StringOrObject => default.is_string() || default.is_object(),
    };
    let within = default
        .as_f64()
        .is_none_or(|value| low.is_none_or(|low| value >= low) && high.is_none_or(|high| value <= high));
    let listed = parameter.values.as_ref().is_none_or(|values| values.contains(default));
    if !(fits && within && listed) {
        let message = format!("the default {default} is not a value that the parameter may have");
        report.error(Rule::ParameterSection, at, &format!("{path}.default"), message);
    }
}
