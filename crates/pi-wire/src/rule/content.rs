//! Images and answers: nouns of `pi-transcript` that clients send.

use pi_transcript::{Block, content::ImageBlock, question::Answer};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use super::{Blank, Characters, Flag, Refused, Report, Rule, Text, Word};
use crate::{
    command::Extended,
    fault::{Fault, Wanted},
    fields::Fields,
    limits,
    reject::shortened,
    schema::typescript::Types,
};

/// An image block with its data; always a [`Block::Image`].
#[derive(Debug)]
pub(crate) struct Image;

const IMAGE_TYPE: Word<()> = Word(&[("image", ())]);
const MIME_TYPE: &str = "^image/[A-Za-z0-9.+-]+$";
const BASE64: &str = "^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$";

impl Rule for Image {
    type Output = Block;

    fn wanted(&self) -> Wanted {
        Wanted::Object
    }

    fn read(&self, value: Value, report: &mut Report) -> Result<Block, Refused> {
        let Value::Object(map) = value else { return Err(Refused::Mistyped) };
        let mut fields = Fields::new(map.into(), std::mem::take(report));
        let tag = fields.required("type", &IMAGE_TYPE);
        let data = fields.required("data", &Encoded::Base64);
        let mime_type = fields.required("mimeType", &Encoded::MimeType);
        let (extra, after) = fields.finish();
        *report = after;
        let image = tag.and_then(|()| Some(ImageBlock { data: data?, mime_type: mime_type?, extra }));
        image.map(Block::Image).ok_or(Refused::Reported)
    }

    fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "required": ["type", "data", "mimeType"],
            "properties": {
                "type": { "const": "image" },
                "data": Encoded::Base64.schema(generator),
                "mimeType": Encoded::MimeType.schema(generator),
            }
        })
    }

    fn typescript(&self, types: &mut Types) -> String {
        format!("{{ type: \"image\" }} & {}", types.name::<ImageBlock>())
    }
}

/// Text in a fixed notation.
enum Encoded {
    Base64,
    MimeType,
}

impl Rule for Encoded {
    type Output = String;

    fn wanted(&self) -> Wanted {
        Wanted::NonEmptyString
    }

    fn read(&self, value: Value, report: &mut Report) -> Result<String, Refused> {
        let Value::String(text) = value else { return Err(Refused::Mistyped) };
        if text.is_empty() {
            return Err(Refused::Mistyped);
        }
        match self {
            Self::Base64 if !is_base64(text.as_bytes()) => Err(report.fault(Fault::NotBase64)),
            Self::MimeType if !is_image_type(&text) => Err(report.fault(Fault::NotAnImageType)),
            Self::Base64 | Self::MimeType => Ok(text),
        }
    }

    fn schema(&self, _: &mut SchemaGenerator) -> Schema {
        let pattern = match self {
            Self::Base64 => BASE64,
            Self::MimeType => MIME_TYPE,
        };
        json_schema!({ "type": "string", "minLength": 1, "pattern": pattern })
    }

    fn typescript(&self, _: &mut Types) -> String {
        "string".to_owned()
    }
}

/// Standard alphabet, padded.
fn is_base64(text: &[u8]) -> bool {
    let padding = text.iter().rev().take(2).take_while(|byte| **byte == b'=').count();
    let digit = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    text.len().is_multiple_of(4) && text[..text.len() - padding].iter().all(digit)
}

fn is_image_type(text: &str) -> bool {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b".+-".contains(&byte);
    text.strip_prefix("image/").is_some_and(|subtype| !subtype.is_empty() && subtype.bytes().all(good))
}

/// What a person answered. Whether it fits the question is for the server to see, which knows the question.
#[derive(Debug)]
pub(crate) struct AnswerRule;

#[derive(Debug, Clone, Copy)]
enum Method {
    Select,
    Confirm,
    Input,
    Editor,
    Interview,
    Cancelled,
}

const METHOD: Word<Method> = Word(&[
    ("select", Method::Select),
    ("confirm", Method::Confirm),
    ("input", Method::Input),
    ("editor", Method::Editor),
    ("interview", Method::Interview),
    ("cancelled", Method::Cancelled),
]);

const VALUE: Text = Text::new(limits::ANSWER, Blank::Allowed, Characters::Any);

impl AnswerRule {
    fn answer(fields: &mut Fields<'_>) -> Option<Answer> {
        Some(match fields.required("method", &METHOD)? {
            Method::Select => Answer::Select { value: fields.required("value", &VALUE)? },
            Method::Confirm => Answer::Confirm { confirmed: fields.required("confirmed", &Flag)? },
            Method::Input => Answer::Input { value: fields.required("value", &VALUE)? },
            Method::Editor => Answer::Editor { value: fields.required("value", &VALUE)? },
            Method::Interview => Answer::Interview { responses: fields.required("responses", &Responses)? },
            Method::Cancelled => Answer::Cancelled,
        })
    }

    fn variant(method: &str, member: Option<(&str, Schema)>) -> Schema {
        let mut properties = Map::new();
        properties.insert("method".to_owned(), json!({ "const": method }));
        let mut required = vec!["method".to_owned()];
        if let Some((name, schema)) = member {
            properties.insert(name.to_owned(), schema.to_value());
            required.push(name.to_owned());
        }
        json_schema!({ "type": "object", "required": required, "properties": properties })
    }
}

impl Rule for AnswerRule {
    type Output = Extended<Answer>;

    fn wanted(&self) -> Wanted {
        Wanted::Object
    }

    fn read(&self, value: Value, report: &mut Report) -> Result<Self::Output, Refused> {
        let Value::Object(map) = value else { return Err(Refused::Mistyped) };
        let mut fields = Fields::new(map.into(), std::mem::take(report));
        let known = Self::answer(&mut fields);
        let (extra, after) = fields.finish();
        *report = after;
        known.map(|known| Extended { known, extra }).ok_or(Refused::Reported)
    }

    fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        let value = || Some(("value", VALUE.describe()));
        json_schema!({ "oneOf": [
            Self::variant("select", value()),
            Self::variant("confirm", Some(("confirmed", Flag.schema(generator)))),
            Self::variant("input", value()),
            Self::variant("editor", value()),
            Self::variant("interview", Some(("responses", Responses.schema(generator)))),
            Self::variant("cancelled", None),
        ]})
    }

    fn typescript(&self, types: &mut Types) -> String {
        types.name::<Answer>()
    }
}

/// The answers of an interview by the id of the question.
struct Responses;

/// The id of a question in an interview; extensions choose it.
const QUESTION_ID: Text = Text::new(limits::NAME, Blank::Allowed, Characters::Any);
/// The definition of one answer, which may hold others.
const RESPONSE: &str = "InterviewResponse";

impl Rule for Responses {
    type Output = Map<String, Value>;

    fn wanted(&self) -> Wanted {
        Wanted::Object
    }

    fn read(&self, value: Value, report: &mut Report) -> Result<Self::Output, Refused> {
        let Value::Object(map) = value else { return Err(Refused::Mistyped) };
        check_members(&map, report)?;
        Ok(map)
    }

    fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        let one = json!({ "$ref": format!("#/$defs/{RESPONSE}") });
        let members = json!({
            "type": "object",
            "maxProperties": limits::ANSWERS,
            "propertyNames": QUESTION_ID.describe(),
            "additionalProperties": one,
        });
        let response = json!({
            "description": "An answer in an interview. Whether it fits its question is checked against the question.",
            "anyOf": [
                VALUE.describe(),
                { "type": ["number", "boolean"] },
                { "type": "null" },
                { "type": "array", "maxItems": limits::ANSWERS, "items": one },
                members,
            ]
        });
        generator.definitions_mut().insert(RESPONSE.to_owned(), response);
        Schema::try_from(members).expect("it is written as an object")
    }

    fn typescript(&self, _: &mut Types) -> String {
        "Record<string, JsonValue>".to_owned()
    }
}

/// The document lets an answer be any JSON. Every text in it keeps the rules of text; depth ends with the frame's.
fn check_response(value: &Value, report: &mut Report) -> Result<(), Refused> {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
        Value::String(text) => VALUE.check(text, report),
        Value::Array(list) => {
            check_count(list.len(), report)?;
            let items = list.iter().enumerate();
            items
                .map(|(index, item)| report.within_item(index, |report| check_response(item, report)))
                .fold(Ok(()), Result::and)
        }
        Value::Object(map) => check_members(map, report),
    }
}

fn check_members(map: &Map<String, Value>, report: &mut Report) -> Result<(), Refused> {
    check_count(map.len(), report)?;
    let check = |(id, value): (&String, &Value)| {
        report.within_member(&shortened(id), |report| QUESTION_ID.check(id, report).and(check_response(value, report)))
    };
    // All are checked before the first refusal counts, so that every fault is reported.
    map.iter().map(check).fold(Ok(()), Result::and)
}

fn check_count(count: usize, report: &mut Report) -> Result<(), Refused> {
    if count > limits::ANSWERS {
        return Err(report.fault(Fault::TooManyItems { max: limits::ANSWERS }));
    }
    Ok(())
}
