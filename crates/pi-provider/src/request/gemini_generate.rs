//! Generate Content: contents made of parts, calls and responses among them.

use serde::{
    Serialize, Serializer,
    ser::{SerializeMap, SerializeSeq},
};
use serde_json::{Map, Value, json};

use super::{
    plan::Plan,
    tools::Offer,
    turn::{Answer, Part, Turn},
};
use crate::call::ToolChoice;

pub(super) fn write<M: SerializeMap>(plan: &Plan<'_>, body: &mut M) -> Result<(), M::Error> {
    if !plan.system.is_empty() {
        body.serialize_entry("systemInstruction", &System { parts: [Text { text: &plan.system }] })?;
    }
    body.serialize_entry("contents", &Contents(plan))?;
    if !plan.tools.is_empty() {
        body.serialize_entry("tools", &[Declarations { function_declarations: Functions(&plan.tools) }])?;
    }
    Ok(())
}

/// Dotted members for the choice of tools.
pub(super) fn choice(choice: Option<&ToolChoice>) -> Map<String, Value> {
    let config = match choice {
        None => return Map::new(),
        Some(ToolChoice::Auto) => json!({"mode": "AUTO"}),
        Some(ToolChoice::None) => json!({"mode": "NONE"}),
        Some(ToolChoice::Required) => json!({"mode": "ANY"}),
        Some(ToolChoice::Tool(name)) => json!({"mode": "ANY", "allowedFunctionNames": [name]}),
    };
    Map::from_iter([("toolConfig.functionCallingConfig".to_owned(), config)])
}

#[derive(Serialize)]
struct System<'p> {
    parts: [Text<'p>; 1],
}

#[derive(Serialize)]
struct Text<'p> {
    text: &'p str,
}

struct Contents<'p>(&'p Plan<'p>);

impl Serialize for Contents<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let plan = self.0;
        let model = plan.contract.request_mapping.role_mapping.get("assistant").map_or("model", String::as_str);
        serializer.collect_seq(plan.groups().map(|group| {
            let role = if matches!(group[0], Turn::Assistant(_)) { model } else { plan.role("user") };
            Content { role, parts: Parts(group) }
        }))
    }
}

#[derive(Serialize)]
struct Content<'p> {
    role: &'p str,
    parts: Parts<'p>,
}

struct Parts<'p>(&'p [Turn<'p>]);

impl Serialize for Parts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for turn in self.0 {
            match turn {
                Turn::System(text) => list.serialize_element(&Text { text })?,
                Turn::User { parts, .. } | Turn::Assistant(parts) => {
                    for part in parts {
                        list.serialize_element(&Piece(part))?;
                    }
                }
                Turn::Results(answers) => {
                    for answer in answers {
                        list.serialize_element(&response(answer))?;
                    }
                }
            }
        }
        list.end()
    }
}

struct Piece<'p>(&'p Part<'p>);

impl Serialize for Piece<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut piece = serializer.serialize_map(None)?;
        let signature = match self.0 {
            Part::Text { text, signature } => {
                piece.serialize_entry("text", text)?;
                *signature
            }
            Part::Thinking { text, signature, .. } => {
                piece.serialize_entry("text", text)?;
                piece.serialize_entry("thought", &true)?;
                *signature
            }
            Part::Media(block) => {
                for (name, member) in block.as_object().into_iter().flatten() {
                    piece.serialize_entry(name, member)?;
                }
                None
            }
            Part::Call { name, arguments, signature, .. } => {
                piece.serialize_entry("functionCall", &FunctionCall { name, args: arguments })?;
                *signature
            }
        };
        if let Some(signature) = signature {
            piece.serialize_entry("thoughtSignature", signature)?;
        }
        piece.end()
    }
}

#[derive(Serialize)]
struct FunctionCall<'p> {
    name: &'p str,
    args: &'p Map<String, Value>,
}

#[derive(Serialize)]
struct Response<'p> {
    #[serde(rename = "functionResponse")]
    function_response: FunctionResponse<'p>,
}

#[derive(Serialize)]
struct FunctionResponse<'p> {
    name: &'p str,
    response: Outcome<'p>,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Outcome<'p> {
    Output(&'p str),
    Error(&'p str),
}

fn response<'p>(answer: &'p Answer<'p>) -> Response<'p> {
    let response = if answer.is_error { Outcome::Error(&answer.text) } else { Outcome::Output(&answer.text) };
    Response { function_response: FunctionResponse { name: answer.name, response } }
}

#[derive(Serialize)]
struct Declarations<'p> {
    #[serde(rename = "functionDeclarations")]
    function_declarations: Functions<'p>,
}

struct Functions<'p>(&'p [Offer<'p>]);

impl Serialize for Functions<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|offer| Declaration {
            name: offer.name,
            description: offer.description,
            parameters: &offer.parameters,
        }))
    }
}

#[derive(Serialize)]
struct Declaration<'p> {
    name: &'p str,
    description: &'p str,
    /// A whole JSON Schema; the member `parameters` takes only a part of the language.
    #[serde(rename = "parametersJsonSchema")]
    parameters: &'p Value,
}
