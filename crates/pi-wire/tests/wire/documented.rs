//! The page about our additions shows frames that are as it says.

use pi_transcript::{AgentEvent, question::Question};
use pi_wire::{COMMANDS, Feature, Limits, Response, ServerEvent, parse};
use serde_json::Value;

pub(crate) const PAGE: &str = include_str!("../../../../docs/protocol-additions.md");

const CLIENT_GUIDE: &str = include_str!("../../../../docs/client-guide.md");

const COMMANDS_PAGE: &str = include_str!("../../../../docs/commands.md");

/// Every JSON example of the page.
fn examples() -> Vec<&'static str> {
    examples_in(PAGE).collect()
}

fn examples_in(page: &str) -> impl Iterator<Item = &str> {
    page.split("```json\n").skip(1).filter_map(|rest| rest.split_once("\n```")).map(|(example, _)| example)
}

fn is_unknown(event: &ServerEvent) -> bool {
    let ServerEvent::Event(numbered) = event else { return false };
    matches!(*numbered.event, AgentEvent::Other(_))
}

#[test]
fn every_example_of_the_page_is_read_and_written_unchanged() {
    for example in examples() {
        let value: Value = serde_json::from_str(example).unwrap();
        let written = match value["type"].as_str().unwrap() {
            "response" => {
                let raw: Response<Value> = serde_json::from_value(value.clone()).unwrap();
                serde_json::to_value(raw.typed().unwrap()).unwrap()
            }
            name if COMMANDS.iter().any(|spec| spec.name == name) => {
                let frame = parse(example.as_bytes(), &Limits::default()).unwrap();
                assert!(frame.extra.is_empty(), "{example}");
                serde_json::to_value(frame).unwrap()
            }
            _ => {
                let event: ServerEvent = serde_json::from_value(value.clone()).unwrap();
                // What nobody understands is written back unchanged as well.
                assert!(!is_unknown(&event), "{example}");
                serde_json::to_value(event).unwrap()
            }
        };
        assert_eq!(written, value);
    }
}

#[test]
fn the_guide_answers_every_kind_of_question() {
    let answers = CLIENT_GUIDE.lines().filter(|line| line.starts_with(r#"{"type":"extension_ui_response""#));
    let mut answered = Vec::new();
    for answer in answers {
        let frame = parse(answer.as_bytes(), &Limits::default()).unwrap();
        assert!(frame.extra.is_empty(), "{answer}");
        let value: Value = serde_json::from_str(answer).unwrap();
        assert_eq!(serde_json::to_value(frame).unwrap(), value);
        answered.push(value["response"]["method"].as_str().unwrap().to_owned());
    }
    answered.sort();
    let mut known: Vec<&str> = Question::METHODS.into_iter().chain(["cancelled"]).collect();
    known.sort_unstable();
    assert_eq!(answered, known);
}

#[test]
fn the_page_of_all_commands_shows_each_with_an_answer_of_its_type() {
    let sections: Vec<&str> = COMMANDS_PAGE.split("\n### ").skip(1).collect();
    let names: Vec<&str> = sections.iter().filter_map(|section| section.lines().next()).collect();
    assert_eq!(names, COMMANDS.iter().map(|spec| spec.name).collect::<Vec<_>>());
    for (name, section) in names.into_iter().zip(sections) {
        let blocks: Vec<Value> = examples_in(section).map(|text| serde_json::from_str(text).unwrap()).collect();
        let [command, answer] = &blocks[..] else { panic!("{name} has {} examples", blocks.len()) };
        assert_eq!((&command["type"], &answer["command"]), (&name.into(), &name.into()));
        let raw: Response<Value> = serde_json::from_value(answer.clone()).unwrap();
        let typed = raw.typed().unwrap_or_else(|error| panic!("{answer}: {error:?}"));
        assert_eq!(serde_json::to_value(typed).unwrap(), *answer);
    }
}

#[test]
fn the_page_shows_every_command_that_we_add() {
    for spec in COMMANDS.iter().filter(|spec| spec.feature().is_some()) {
        let shown = format!("{{\"type\":\"{}\"", spec.name);
        assert!(examples().iter().any(|example| example.starts_with(&shown)), "{} has no example", spec.name);
    }
}

#[test]
fn the_page_names_every_feature() {
    for feature in Feature::ALL {
        let name = serde_json::to_value(feature).unwrap();
        assert!(PAGE.contains(&format!("`{}`", name.as_str().unwrap())), "{name} is not explained");
    }
}

#[test]
fn the_page_states_the_limits_in_force() {
    assert_eq!(Limits::default(), Limits { bytes: 10 << 20, depth: 64, values: 65_536 });
    assert!(PAGE.contains("larger than 10 MiB, nested deeper than 64 levels, holds more than 65 536"));
}
