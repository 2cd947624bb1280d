//! How a model is told to write calls as text.

use pi_envelope::Tool;

use crate::manifest::capability::{FallbackFormat, PromptLevel, TextFallback};

/// The instructions for the tools at hand, to be put into the system text. How much is said depends on the manifest's
/// `prompt_level`: the form, then also what not to do, then also an example for each tool.
pub fn instructions<'a>(fallback: &TextFallback, tools: impl IntoIterator<Item = &'a Tool>) -> String {
    let example = call(fallback, "tool_name", r#"{"key": "value"}"#);
    let mut text = include_str!("../../prompts/text-call-form.txt").replace("{example}", &example);
    if fallback.prompt_level >= PromptLevel::L2 {
        let tags: Vec<String> = fallback.known_dialects.iter().map(|dialect| format!("<{}>", dialect.tag)).collect();
        let tags = if tags.is_empty() { "<shell>".to_owned() } else { tags.join(", ") };
        text.push_str(&include_str!("../../prompts/text-call-warning.txt").replace("{tags}", &tags));
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
                call(fallback, &definition.name, &sample(&definition.parameters))
            ));
        }
    }
    text
}

/// A call as the model should write it.
pub fn call(fallback: &TextFallback, name: &str, arguments: &str) -> String {
    let wrapper = &fallback.wrapper;
    let body = format!(r#"{{"name": {name:?}, {:?}: {arguments}}}"#, fallback.args_key);
    match fallback.format {
        FallbackFormat::XmlJson | FallbackFormat::Custom => format!("<{wrapper}>\n{body}\n</{wrapper}>"),
        FallbackFormat::MarkdownFence => format!("```{wrapper}\n{body}\n```"),
    }
}

/// Arguments that name every required member.
fn sample(schema: &serde_json::Value) -> String {
    let required = schema["required"].as_array().into_iter().flatten().filter_map(serde_json::Value::as_str);
    let members: Vec<String> = required.map(|name| format!("{name:?}: …")).collect();
    format!("{{{}}}", members.join(", "))
}
