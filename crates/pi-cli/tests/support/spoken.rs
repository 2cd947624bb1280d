//! What a scripted model says and what is in files, as scenarios and conversations write it down.

use pi_testkit::{
    model::{self, Answer},
    server::Reply,
};
use serde::Deserialize;
use serde_json::{Value, json};

/// What is in a file.
#[derive(Deserialize)]
#[serde(untagged)]
pub(crate) enum Content {
    Text(String),
    /// A text several times; `$N` counts.
    Repeated {
        repeat: String,
        times: usize,
        #[serde(default = "one")]
        from: usize,
    },
}

impl Content {
    pub(crate) fn text(&self) -> String {
        match self {
            Content::Text(text) => text.clone(),
            Content::Repeated { repeat, times, from } => {
                (*from..from + times).map(|number| repeat.replace("$N", &number.to_string())).collect()
            }
        }
    }
}

/// One answer of the model.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Spoken {
    thinking: Option<String>,
    text: Option<String>,
    #[serde(default)]
    calls: Vec<Called>,
    /// Waits before it ends.
    #[serde(default)]
    pub(crate) hold: bool,
    /// The connection is cut before it ends.
    #[serde(default)]
    cut: bool,
    /// It is longer than the model may answer.
    #[serde(default)]
    too_long: bool,
    /// An error of the server instead of an answer.
    status: Option<u16>,
    /// What the error is called.
    #[serde(default = "scripted")]
    code: String,
    /// What the error says.
    #[serde(default = "no")]
    message: String,
    /// What it says that it consumed, in and out.
    #[serde(default = "little")]
    usage: (u64, u64),
    /// How it is sent.
    #[serde(default)]
    wire: Wire,
}

/// The wire format of an answer.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Wire {
    /// OpenAI's chat completions.
    #[default]
    Completions,
    /// Anthropic's messages.
    Messages,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Called {
    tool: String,
    #[serde(default)]
    with: Value,
    /// Arguments that are no JSON.
    words: Option<String>,
}

impl Spoken {
    pub(crate) fn reply(&self) -> Reply {
        if let Some(status) = self.status {
            return model::refusal(status, &self.code, &self.message);
        }
        match self.wire {
            Wire::Completions => self.in_completions(),
            Wire::Messages => self.in_messages(),
        }
    }

    fn in_completions(&self) -> Reply {
        let (input, output) = self.usage;
        let mut answer = Answer::new().usage(input, output);
        if let Some(thinking) = &self.thinking {
            answer = answer.thinking(thinking);
        }
        if let Some(text) = &self.text {
            answer = answer.text(text);
        }
        for (index, call) in self.calls.iter().enumerate() {
            let id = format!("call_{index}");
            answer = match &call.words {
                Some(words) => answer.call_in_words(&id, &call.tool, words),
                None => answer.call(&id, &call.tool, &call.with),
            };
        }
        if self.hold {
            answer = answer.hold();
        }
        if self.cut {
            answer = answer.cut();
        }
        if self.too_long {
            answer = answer.at_its_limit();
        }
        answer.reply()
    }

    /// Words and calls in the format of Anthropic's messages, which knows blocks.
    fn in_messages(&self) -> Reply {
        let (input, output) = self.usage;
        let usage = json!({ "input_tokens": input, "output_tokens": 1 });
        let message = json!({ "id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "scripted",
            "stop_reason": null, "usage": usage });
        let mut events = vec![json!({ "type": "message_start", "message": message })];
        let words = self
            .text
            .iter()
            .map(|text| (json!({ "type": "text", "text": "" }), json!({ "type": "text_delta", "text": text })));
        let calls = self.calls.iter().enumerate().map(|(index, call)| {
            let start = json!({ "type": "tool_use", "id": format!("toolu_{index}"), "name": call.tool, "input": {} });
            (start, json!({ "type": "input_json_delta", "partial_json": call.with.to_string() }))
        });
        for (index, (start, delta)) in words.chain(calls).enumerate() {
            events.push(json!({ "type": "content_block_start", "index": index, "content_block": start }));
            events.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
            events.push(json!({ "type": "content_block_stop", "index": index }));
        }
        let reason = if self.calls.is_empty() { "end_turn" } else { "tool_use" };
        let delta = json!({ "stop_reason": reason, "stop_sequence": null });
        events.push(json!({ "type": "message_delta", "delta": delta, "usage": { "output_tokens": output } }));
        events.push(json!({ "type": "message_stop" }));
        let piece = |event: &Value| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().expect("a type"));
        Reply::events(events.iter().map(piece))
    }
}

fn one() -> usize {
    1
}

fn no() -> String {
    "the model says no".to_owned()
}

fn scripted() -> String {
    "scripted".to_owned()
}

fn little() -> (u64, u64) {
    (100, 10)
}
