//! Reads what an extension puts before a person, and names the member that is to blame where it cannot.

use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::{Map, Value};

use super::{Announcement, Asked, Question, UiRequest};
use crate::json::shape::{Member, Shape, optional, problems, required};

const TITLE: Member = required("title", Shape::Text);
const TIMEOUT: Member = optional("timeout", Shape::Count);
const TEXTS: Shape = Shape::List { items: &Shape::Text, least: 0 };

const FIELD: Shape = Shape::Record(&[
    required("id", Shape::Text),
    required("type", Shape::Word(&["text", "select", "multi", "confirm"])),
    required("label", Shape::Text),
    optional("options", TEXTS),
    optional("required", Shape::Flag),
]);

/// The talkative twin of the types: only asked why they refused.
const REQUEST: Shape = Shape::Tagged {
    tag: "method",
    records: &[
        ("select", &[TITLE, required("options", TEXTS), TIMEOUT]),
        ("confirm", &[TITLE, required("message", Shape::Text), TIMEOUT]),
        ("input", &[TITLE, optional("placeholder", Shape::Text), TIMEOUT]),
        ("editor", &[TITLE, optional("prefill", Shape::Text), TIMEOUT]),
        (
            "interview",
            &[optional("title", Shape::Text), required("questions", Shape::List { items: &FIELD, least: 0 }), TIMEOUT],
        ),
        (
            "notify",
            &[required("message", Shape::Text), optional("notifyType", Shape::Word(&["info", "warning", "error"]))],
        ),
        ("setStatus", &[required("key", Shape::Text), optional("text", Shape::Text)]),
        (
            "setWidget",
            &[
                required("key", Shape::Text),
                optional("content", TEXTS),
                optional("placement", Shape::Word(&["aboveEditor", "belowEditor"])),
            ],
        ),
        ("setTitle", &[TITLE]),
        ("setWorkingMessage", &[optional("message", Shape::Text)]),
        ("setEditorText", &[required("text", Shape::Text), optional("inserted", Shape::Text)]),
        ("set_editor_text", &[required("text", Shape::Text), optional("inserted", Shape::Text)]),
    ],
};

/// By `method`, so that what is refused is refused for what it wanted to be.
impl<'de> Deserialize<'de> for UiRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let request = Value::Object(Map::deserialize(deserializer)?);
        let asks = request["method"].as_str().is_some_and(|method| Question::METHODS.contains(&method));
        let read = match asks {
            true => Asked::deserialize(&request).map(Self::Question),
            false => Announcement::deserialize(&request).map(Self::Announcement),
        };
        read.map_err(|error| match problems(&REQUEST, &request).first() {
            Some(problem) => D::Error::custom(problem),
            // A flaw of the whole, or a number that the shape takes and the type does not.
            None => D::Error::custom(error),
        })
    }
}
