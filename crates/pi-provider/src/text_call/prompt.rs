//! How a model is told to write calls as text.

use pi_envelope::Tool;
use serde_json::{Map, Value};

use crate::manifest::capability::{FallbackBody, FallbackFormat, NameLocation, PromptLevel, TextFallback};

/// The instructions for the tools at hand, to be put into the system text. How much is said depends on the manifest's
/// `prompt_level`: the form, then also what not to do, then also an example for each tool.
pub fn instructions<'a>(fallback: &TextFallback, tools: impl IntoIterator<Item = &'a Tool>) -> String {
    let example = call(fallback, "tool_name", r#"{"key": "value"}"#);
    let mut text = include_str!("../../prompts/text-call-form.txt").replace("{example}", &example);
    if fallback.prompt_level >= PromptLevel::L2 {
        let tags: Vec<String> = fallback.known_dialects.iter().map(|dialect| format!("<{}>", dialect.tag)).collect();
        let tags = if tags.is_empty() { "<shell>".to_owned() } else { tags.join(", ") };
        let inside = match fallback.body {
            FallbackBody::Json => "one valid JSON object",
            FallbackBody::Yaml => "one valid YAML mapping",
            FallbackBody::Plain => "the tool's one argument as it is, or a JSON object of all its arguments",
        };
        let warning = include_str!("../../prompts/text-call-warning.txt");
        text.push_str(&warning.replace("{tags}", &tags).replace("{inside}", inside));
    }
    text.push_str("\nTools:\n");
    for Tool { definition, .. } in tools {
        text.push_str(&format!(
            "- {}: {}\n  arguments: {}\n",
            definition.name, definition.description, definition.parameters
        ));
        if fallback.prompt_level == PromptLevel::L3 {
            text.push_str(&format!(
                "  for example:\n{}\n",
                call(fallback, &definition.name, &sample(fallback, &definition.parameters))
            ));
        }
    }
    text
}

/// What is said behind the instructions where a call is demanded. Nothing makes the model keep to it.
pub fn demand(tool: Option<&str>) -> String {
    let tool = tool.map_or_else(|| "at least one of these tools".to_owned(), |name| format!("the tool {name}"));
    include_str!("../../prompts/text-call-demand.txt").replace("{tool}", &tool)
}

/// A call as the model should write it.
pub fn call(fallback: &TextFallback, name: &str, arguments: &str) -> String {
    let wrapper = &fallback.wrapper;
    let in_tag = fallback.name_location == NameLocation::Attribute || fallback.body == FallbackBody::Plain;
    let label = if in_tag { format!("{wrapper} name={name:?}") } else { wrapper.clone() };
    let body = body(fallback, Some(name).filter(|_| !in_tag), arguments);
    match fallback.format {
        FallbackFormat::XmlJson | FallbackFormat::Custom => format!("<{label}>\n{body}\n</{wrapper}>"),
        FallbackFormat::MarkdownFence => format!("```{label}\n{body}\n```"),
    }
}

/// What is inside of a call, with the tool's name unless that is outside. Arguments that are no JSON show where something
/// is to be filled in, and stay as they are.
fn body(fallback: &TextFallback, name: Option<&str>, arguments: &str) -> String {
    let key = &fallback.args_key;
    let value: Option<Value> = serde_json::from_str(arguments).ok();
    match (fallback.body, value) {
        (FallbackBody::Yaml, Some(value)) => {
            let named = name.map(|name| ("name".to_owned(), Value::from(name)));
            let members: Map<String, Value> = named.into_iter().chain([(key.clone(), value)]).collect();
            let text = serde_saphyr::to_string(&members).expect("a document with text keys can be written");
            text.trim_end().to_owned()
        }
        (FallbackBody::Yaml, None) => {
            let name = name.map(|name| format!("name: {name:?}\n")).unwrap_or_default();
            format!("{name}{key}: {arguments}")
        }
        (FallbackBody::Plain, Some(Value::Object(members))) => match members.values().next() {
            Some(Value::String(only)) if members.len() == 1 => only.clone(),
            Some(_) | None => arguments.to_owned(),
        },
        (FallbackBody::Plain, _) => arguments.to_owned(),
        (FallbackBody::Json, _) => {
            let name = name.map(|name| format!(r#""name": {name:?}, "#)).unwrap_or_default();
            format!("{{{name}{key:?}: {arguments}}}")
        }
    }
}

/// Arguments that name every required member.
fn sample(fallback: &TextFallback, schema: &Value) -> String {
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    match fallback.body {
        FallbackBody::Json => {
            let members: Vec<String> = required.map(|name| format!("{name:?}: …")).collect();
            format!("{{{}}}", members.join(", "))
        }
        FallbackBody::Yaml | FallbackBody::Plain => {
            let members: Map<String, Value> = required.map(|name| (name.to_owned(), Value::from("…"))).collect();
            Value::Object(members).to_string()
        }
    }
}
