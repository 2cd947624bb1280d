//! The same conversations with both programs: event by event the same, but for what is listed.

use std::collections::BTreeMap;

use pi_testkit::server::Script;
use serde::Deserialize;

use crate::{
    alignment::differences,
    event::{self, Event},
    listing,
    spoken::{Content, Spoken},
    stage::{Program, Stage, write},
};

/// One conversation.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Conversation {
    /// What happens in it.
    pub(crate) says: String,
    #[serde(default)]
    files: BTreeMap<String, Content>,
    /// Bytes as base64, in the project.
    #[serde(default)]
    binary: BTreeMap<String, String>,
    /// The settings of both.
    settings: Option<String>,
    #[serde(default)]
    arguments: Vec<String>,
    /// Each is said to a program of its own, which goes on with the session.
    messages: Vec<String>,
    model: Vec<Spoken>,
}

impl Conversation {
    pub(crate) fn read(text: &str) -> Self {
        serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{error}"))
    }
}

macro_rules! conversations {
    ($($name:ident),+ $(,)?) => {
        /// Names and texts.
        pub(crate) const ALL: &[(&str, &str)] =
            &[$((stringify!($name), include_str!(concat!("conversations/", stringify!($name), ".yaml")))),+];
        $(#[test]
        fn $name() {
            check(stringify!($name), include_str!(concat!("conversations/", stringify!($name), ".yaml")));
        })+
    };
}

conversations! {
    plain_text, thinking, several_turns, one_read, read_fails, image, write_and_edit, edit_fails, list,
    bash, bash_fails, bash_silent, bash_timeout, bash_long, parallel, parallel_refused, unknown_tool, bad_arguments,
    torn_arguments, too_long, refused, retry_helps, retry_in_vain, answer_cut, compaction, overflow,
}

fn check(name: &str, text: &str) {
    let conversation = Conversation::read(text);
    let Some(theirs) = conversation.hold(Program::Theirs) else { return };
    let ours = conversation.hold(Program::Ours).expect("Pi is there");
    listing::check(name, &differences(&theirs, &ours));
}

impl Conversation {
    /// What the program tells; nothing where Pi is not installed.
    fn hold(&self, program: Program) -> Option<Vec<Event>> {
        let script = self.model.iter().map(Spoken::reply).fold(Script::new(), Script::then);
        let stage = Stage::new(script)?;
        for (name, content) in &self.files {
            write(&stage.at("project").join(name), content.text().as_bytes());
        }
        for (name, content) in &self.binary {
            use base64::Engine as _;
            let bytes = base64::engine::general_purpose::STANDARD.decode(content.trim()).expect("base64");
            write(&stage.at("project").join(name), &bytes);
        }
        if let Some(settings) = &self.settings {
            write(&stage.at("agent/settings.json"), settings.as_bytes());
        }
        let root = stage.at("").display().to_string();
        let mut events = Vec::new();
        for (index, message) in self.messages.iter().enumerate() {
            let mut arguments = vec!["--mode", "json"];
            arguments.extend(self.arguments.iter().map(String::as_str));
            if index > 0 {
                arguments.push("-c");
            }
            arguments.push(message);
            let (stdout, _) = stage.run_to_any_end(program, &arguments);
            events.extend(event::parse(&stdout, root.trim_end_matches('/')));
        }
        Some(events)
    }
}

#[test]
fn every_file_is_a_conversation_that_is_held() {
    #[expect(clippy::disallowed_methods, reason = "the folder of conversations is compared with the list of tests")]
    let folder = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pi/conversations")).expect("a folder");
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.expect("listed").file_name().into_string();
    let mut files: Vec<String> = folder.map(|entry| name(entry).expect("a name")).collect();
    files.sort_unstable();
    let mut listed: Vec<String> = ALL.iter().map(|(name, _)| format!("{name}.yaml")).collect();
    listed.sort_unstable();
    assert_eq!(files, listed);
}
