//! A script: what the conversation was before, and what is done to the extension in it.

use pi_exthost::port::{Control, Drawing, ForkPosition, Navigation};
use pi_extproto::Object;
use pi_transcript::{ContextUsage, Entry, Model};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Person;

/// What `pi ext rehearse` is given.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::command::ext) struct Script {
    /// What the ledger calls it; `live` if nobody gave it a name.
    pub(in crate::command::ext) scenario: Option<String>,
    pub(in crate::command::ext) scene: Scene,
    pub(in crate::command::ext) steps: Vec<Planned>,
}

/// How the conversation stands when it begins.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(in crate::command::ext) struct Scene {
    pub(super) entries: Vec<Entry>,
    pub(super) system_prompt: String,
    pub(super) model: Model,
    pub(super) context_usage: ContextUsage,
    /// What the model says, whatever it is asked.
    pub(super) completion: String,
    pub(super) tools: Vec<Prop>,
}

/// A tool that the session has of its own.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Prop {
    pub(super) name: String,
    pub(super) is_active: bool,
}

/// One thing that is done, and who is there meanwhile.
#[derive(Deserialize)]
pub(in crate::command::ext) struct Planned {
    #[serde(default)]
    pub(in crate::command::ext) person: Person,
    #[serde(flatten)]
    pub(in crate::command::ext) step: Step,
}

/// What is done.
#[derive(Deserialize)]
#[serde(untagged)]
pub(in crate::command::ext) enum Step {
    /// An event, to every handler of it in turn.
    Fire {
        fire: String,
        event: Object,
    },
    Tool {
        tool: String,
        input: Object,
    },
    Command {
        command: String,
        arguments: String,
    },
    Shortcut {
        shortcut: String,
    },
}

pub(super) fn drawn(drawing: &Drawing) -> Value {
    match drawing {
        Drawing::Editor => json!({ "kind": "editor" }),
        Drawing::Overlay => json!({ "kind": "overlay" }),
        Drawing::Widget { key, placement } => json!({ "kind": "widget", "key": key, "placement": placement }),
        Drawing::Header => json!({ "kind": "header" }),
        Drawing::Footer => json!({ "kind": "footer" }),
    }
}

pub(super) fn controlled(control: &Control) -> Value {
    match control {
        Control::WaitForIdle => json!({ "kind": "waitForIdle" }),
        Control::NewSession { parent } => json!({ "kind": "newSession", "parent": parent }),
        Control::Fork { entry, position } => {
            let position = match position {
                ForkPosition::Before => "before",
                ForkPosition::At => "at",
            };
            json!({ "kind": "fork", "entry": entry, "position": position })
        }
        Control::Navigate(Navigation { entry, summarize, instructions, replaces_instructions, label }) => {
            json!({ "kind": "navigateTree", "entry": entry, "summarize": summarize, "instructions": instructions,
                "replacesInstructions": replaces_instructions, "label": label })
        }
        Control::SwitchSession { path } => json!({ "kind": "switchSession", "path": path }),
        Control::Reload => json!({ "kind": "reload" }),
    }
}
