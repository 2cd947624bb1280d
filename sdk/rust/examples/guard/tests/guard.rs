//! The guard at a host.

use guard::Guard;
use pi_extension::{
    ContentBlock, Event, Hook, Outcome,
    hooks::ToolResultEvent,
    outcomes::{ToolCallOutcome, ToolResultOutcome},
    testing::{Stage, TestHost},
};
use serde_json::json;

fn outcome(host: TestHost, line: &str) -> (ToolCallOutcome, Vec<String>) {
    let mut stage = Stage::<Guard>::new(host);
    match stage.judge("bash", &json!({ "command": line })) {
        Ok(Outcome::ToolCall(outcome)) => (outcome, stage.host.asked()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn it_hears_tools_and_offers_nothing() {
    let stage = Stage::<Guard>::new(TestHost::new());
    assert_eq!(stage.registered.event_hooks, Some(vec![Hook::ToolCall, Hook::ToolResult]));
    assert_eq!(stage.registered.tools, None);
}

#[test]
fn harmless_calls_pass_without_a_question() {
    assert_eq!(outcome(TestHost::new(), "ls"), (ToolCallOutcome::Continue, vec![]));
}

#[test]
fn dangerous_calls_need_somebody_who_says_yes() {
    let (blocked, asked) = outcome(TestHost::new(), "sudo ls");
    let ToolCallOutcome::Block(block) = blocked else { panic!("{blocked:?}") };
    assert_eq!(block.reason.as_deref(), Some("guard: it would act as another user: sudo ls"));
    assert_eq!(asked[0], "ui confirm Let the model do this?: it would act as another user: sudo ls");
    assert_eq!(outcome(TestHost::new().consents(), "sudo ls").0, ToolCallOutcome::Continue);
}

#[test]
fn guard_that_may_not_ask_blocks() {
    let (blocked, _) = outcome(TestHost::new().consents().denies("ui"), "sudo ls");
    assert!(matches!(blocked, ToolCallOutcome::Block(_)));
}

#[test]
fn search_is_shown_without_what_it_found_in_secrets() {
    let mut stage = Stage::<Guard>::new(TestHost::new());
    let mut shown = |tool: &str, found: &str| {
        let content = vec![ContentBlock::Text(found.to_owned())];
        let event = ToolResultEvent {
            tool_name: tool.to_owned(),
            tool_call_id: "test".to_owned(),
            input: "{}".to_owned(),
            content,
            details: None,
            is_error: false,
        };
        match stage.hear(Event::ToolResult(event)) {
            Ok(Outcome::ToolResult(ToolResultOutcome::Transform(patch))) => match patch.content.as_deref() {
                Some([ContentBlock::Text(text)]) => Some(text.clone()),
                other => panic!("{other:?}"),
            },
            Ok(Outcome::ToolResult(ToolResultOutcome::Continue)) => None,
            other => panic!("{other:?}"),
        }
    };
    let found = "a.rs:1: KEY\n.env:1: KEY=1";
    let open = "a.rs:1: KEY\n[guard: lines of files that may hold secrets are left out: 1]";
    assert_eq!(shown("grep", found).as_deref(), Some(open));
    assert_eq!(shown("grep", "a.rs:1: KEY"), None);
    assert_eq!(shown("read", found), None);
}
