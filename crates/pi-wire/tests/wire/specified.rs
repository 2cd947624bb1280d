//! The registry and the events against the document: everything in it is here, and what is here and not in it is added
//! on purpose.
//!
//! The document lies outside the repository; where it is not there only the page about our additions is compared.

use std::{collections::BTreeSet, io::Write, sync::LazyLock};

use pi_wire::{
    COMMANDS, ServerEvent,
    registry::{Source, Target},
};
use serde_json::Value;

use crate::documented::PAGE;

type Names = BTreeSet<String>;

/// Commands that we have and the document has not.
const ADDED_COMMANDS: [&str; 23] = [
    "delete_stored_session",
    "disable_extension",
    "edit_queue",
    "enable_extension",
    "extension_ui_key",
    "get_command_history",
    "get_envelope",
    "get_queue",
    "get_startup_recovery",
    "get_strip",
    "get_tree",
    "list_context_sources",
    "list_extensions",
    "list_files",
    "list_requests",
    "navigate_tree",
    "reload_extensions",
    "set_active_tools",
    "set_context_source",
    "set_label",
    "set_lifecycle",
    "subscribe",
    "unsubscribe",
];

/// Events that we have and the document has not.
const ADDED_EVENTS: [&str; 20] = [
    "agent_settled",
    "bash_execution_update",
    "connection_closing",
    "entry_appended",
    "extension_error",
    "extension_ui_render",
    "extension_ui_resolved",
    "extensions_changed",
    "guardrail",
    "input_notice",
    "messages_unsaid",
    "offers_changed",
    "queue_update",
    "session_info_changed",
    "session_snapshot",
    "session_tree",
    "startup_recovery_summary",
    "storage_failed",
    "storage_recovered",
    "thinking_level_changed",
];

static DOCUMENT: LazyLock<Option<String>> = LazyLock::new(|| {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/spec/server-protocol.md");
    #[expect(clippy::disallowed_methods, reason = "the document is outside the repository")]
    let text = std::fs::read_to_string(path).ok();
    if text.is_none() {
        // Not a print macro: those are swallowed when the test passes.
        let notice = format!("SKIPPED: {path} is not there; commands and events are not compared with it\n");
        std::io::stderr().write_all(notice.as_bytes()).expect("stderr is open");
    }
    text
});

/// The sections of the document below `##` and `###`: number, rest of the heading, text.
fn sections(document: &str) -> Vec<(&str, &str, &str)> {
    let headed = document.split("\n#").filter_map(|part| {
        let (heading, text) = part.split_once('\n')?;
        let (number, title) = heading.trim_start_matches(['#', ' ']).split_once(' ')?;
        Some((number.trim_end_matches('.'), title, text))
    });
    headed.filter(|(number, ..)| number.starts_with(|first: char| first.is_ascii_digit())).collect()
}

/// The first text in backticks.
fn coded(text: &str) -> Option<&str> {
    text.split('`').nth(1)
}

/// What stands in the first column of the tables of a text.
fn first_column(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| line.starts_with("| `")).filter_map(coded)
}

fn set<'a>(names: impl IntoIterator<Item = &'a str>) -> Names {
    names.into_iter().map(str::to_owned).collect()
}

/// The commands of the document, each with the section that describes it.
fn specified_commands(document: &str) -> BTreeSet<(String, String)> {
    let named = |(number, title, text)| -> Vec<(String, String)> {
        let names: Vec<&str> = match number {
            "17.1" | "17.2" => first_column(text).collect(),
            "18.2" => coded(title).into_iter().collect(),
            _ => Vec::new(),
        };
        names.into_iter().map(|name| (name.to_owned(), str::to_owned(number))).collect()
    };
    sections(document).into_iter().flat_map(named).collect()
}

/// The events of the document: the families, the session events, and the question of an extension.
fn specified_events(document: &str) -> Names {
    fn named<'a>((number, title, text): (&'a str, &'a str, &'a str)) -> Vec<&'a str> {
        match number {
            "6" => text.lines().filter(|line| line.contains(". `")).filter_map(coded).collect(),
            "16.1" | "16.2" | "18.1" => coded(title).into_iter().collect(),
            number if number.starts_with("19.") => first_column(text).collect(),
            _ => Vec::new(),
        }
    }
    set(sections(document).into_iter().flat_map(named))
}

/// The names of all events that our types can say, from their schema.
fn our_events() -> Names {
    let schema = Value::from(schemars::schema_for!(ServerEvent));
    let kinds = |choices: &Value| -> Vec<String> {
        let all = choices.as_array().expect("a choice").iter();
        all.filter_map(|choice| choice.pointer("/properties/type/const")?.as_str()).map(str::to_owned).collect()
    };
    let agent = &schema["$defs"]["AgentEvent"];
    let agent = agent.get("oneOf").or_else(|| agent.get("anyOf")).expect("events of the agent");
    kinds(&schema["oneOf"]).into_iter().chain(kinds(agent)).collect()
}

/// What the table of the page names in one of its columns, counted from the left.
fn page_column(column: usize) -> Names {
    let rows = PAGE.lines().filter(|line| line.starts_with("| [")).filter_map(|line| line.split('|').nth(column));
    set(rows.flat_map(|cell| cell.split('`').skip(1).step_by(2)))
}

#[test]
fn every_command_of_the_document_is_in_the_registry_where_it_says() {
    let Some(document) = &*DOCUMENT else { return };
    let registered = COMMANDS.iter().filter_map(|spec| match spec.source {
        Source::Document { section } => Some((spec.name.to_owned(), section.to_owned())),
        Source::Addition { .. } => None,
    });
    let specified = specified_commands(document);
    assert_eq!(registered.collect::<BTreeSet<_>>(), specified);
    assert_eq!(specified.len(), 40, "the tables of §17 and the response of §18 were found");
    for (name, section) in &specified {
        let spec = COMMANDS.iter().find(|spec| spec.name == name).expect("compared above");
        assert_eq!(spec.target == Target::Server, section == "17.1", "{name}");
    }
}

#[test]
fn every_other_command_is_an_addition_of_the_page() {
    let added = COMMANDS.iter().filter(|spec| spec.feature().is_some()).map(|spec| spec.name);
    assert_eq!(set(added), set(ADDED_COMMANDS));
    assert_eq!(page_column(2), set(ADDED_COMMANDS));
}

#[test]
fn every_event_of_the_document_is_one_of_ours() {
    let Some(document) = &*DOCUMENT else { return };
    let specified = specified_events(document);
    assert_eq!(specified.len(), 23, "{specified:?}");
    let ours = our_events();
    assert_eq!(specified.difference(&ours).collect::<Vec<_>>(), [""; 0]);
    assert_eq!(ours.difference(&specified).cloned().collect::<Names>(), set(ADDED_EVENTS));
}

#[test]
fn every_other_event_is_an_addition_of_the_page() {
    // The column names members of frames as well.
    let named: Names = page_column(3).intersection(&our_events()).cloned().collect();
    assert_eq!(named, set(ADDED_EVENTS));
}
