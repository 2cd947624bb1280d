//! What tools cost in every request. One counter for all who show it: the one of the envelope.

use pi_envelope::{Origin, Prompt, Provenance, Purpose, Request, Tool, project, stats};
use pi_extproto::connector::tool::ToolDefinition;
use pi_provider::tokens;
use serde_json::Value;

/// Most models come near to its table; each has its own.
const MODEL: &str = "gpt-4o";

/// The tokens of tools that are sent together.
pub(crate) fn cost(tools: &[ToolDefinition]) -> u64 {
    let tool = |tool: &ToolDefinition| Tool {
        definition: pi_transcript::ToolDefinition {
            name: tool.name.clone(),
            description: tool.description.clone(),
            parameters: Value::Object(tool.parameters.clone()),
            extra: Default::default(),
        },
        provenance: Provenance::usual(Origin::BuiltIn),
    };
    let prompt = Prompt { tools: tools.iter().map(tool).collect(), ..Prompt::default() };
    let request =
        Request { id: String::new(), provider: "".into(), model: MODEL.into(), time: 0, purpose: Purpose::Turn };
    stats(&project(&prompt, &request, &tokens::counter(MODEL))).total.tokens
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cost_is_that_of_the_words_which_are_sent() {
        let tool = |name: &str| -> ToolDefinition {
            let parameters = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
            serde_json::from_value(json!({ "name": name, "description": "Says hello", "parameters": parameters }))
                .expect("a tool")
        };
        let schema = r#"{"type":"object","properties":{"name":{"type":"string"}}}"#;
        let sent = format!("helloSays hello{schema}hiSays hello{schema}");
        assert_eq!(cost(&[tool("hello"), tool("hi")]), tokens::counter(MODEL)(&sent).count);
        assert_eq!(cost(&[]), 0);
    }
}
