//! The guard at a host.

use guard::Guard;
use pi_extension::{
    Hook, Outcome,
    outcomes::ToolCallOutcome,
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
fn it_hears_tool_calls_and_offers_nothing() {
    let stage = Stage::<Guard>::new(TestHost::new());
    assert_eq!(stage.registered.event_hooks, Some(vec![Hook::ToolCall]));
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
