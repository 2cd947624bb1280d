//! Whatever mixture of faulty guests there is: what may fail open is as if they were not there, guards close.

use pi_exthost::verdict::{BashVerdict, ToolCallVerdict, Verdict};
use pi_extproto::hook::{Failure, Hook};
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::house::House;

/// An event, and answers of guests that work.
struct Case {
    name: &'static str,
    data: Value,
    outcomes: Vec<Value>,
}

fn cases() -> Vec<Case> {
    let user = |text: &str| json!({ "role": "user", "content": text, "timestamp": 1 });
    let case = |name, data, family: &str, outcomes: &[Value]| Case {
        name,
        data,
        outcomes: outcomes.iter().map(|outcome| json!({ "family": family, "outcome": outcome })).collect(),
    };
    vec![
        case(
            "input",
            json!({ "text": "hi", "source": "rpc" }),
            "input",
            &[
                json!({ "action": "transform", "content": [{ "type": "text", "text": "a" }] }),
                json!({ "action": "handled" }),
                json!({ "action": "continue" }),
            ],
        ),
        case(
            "before_agent_start",
            json!({ "prompt": "p", "systemPrompt": "s" }),
            "start",
            &[json!({ "system_prompt": "one" }), json!({ "system_prompt": "two" })],
        ),
        case(
            "context",
            json!({ "messages": [] }),
            "context",
            &[json!({ "action": "replace", "messages": [user("a")] }), json!({ "action": "continue" })],
        ),
        case(
            "tool_result",
            json!({ "toolName": "t", "toolCallId": "c", "input": {}, "content": [], "isError": false }),
            "tool_result",
            &[json!({ "action": "transform", "is_error": true }), json!({ "action": "transform", "details": 1 })],
        ),
        case("session_before_switch", json!({ "reason": "new" }), "session", &[json!({ "action": "cancel" })]),
        case(
            "project_trust",
            json!({ "cwd": "/p" }),
            "trust",
            &[json!({ "trusted": "yes", "remember": false }), json!({ "trusted": "no", "remember": true })],
        ),
        case(
            "tool_call",
            json!({ "toolName": "t", "toolCallId": "c", "input": {} }),
            "tool_call",
            &[json!({ "action": "transform", "input": { "n": 1 } }), json!({ "action": "continue" })],
        ),
        case(
            "user_bash",
            json!({ "command": "ls", "excludeFromContext": false, "cwd": "/p" }),
            "bash",
            &[json!({ "action": "continue" })],
        ),
        Case { name: "agent_start", data: Value::Null, outcomes: Vec::new() },
    ]
}

const FAULTS: [&str; 6] = [
    "throw no",
    "panic boom",
    "hang",
    "gone",
    r#"outcome {"family":"warming","outcome":{"action":"warm"}}"#,
    "wait 20000",
];

/// A guest: it works and gives the answer of that number, or has the fault of that number.
#[derive(Debug, Clone)]
enum Kind {
    Works(usize),
    Fails(&'static str),
}

fn kinds() -> impl Strategy<Value = Vec<Kind>> {
    let kind = prop_oneof![(0..4_usize).prop_map(Kind::Works), select(&FAULTS[..]).prop_map(Kind::Fails)];
    vec(kind, 0..6)
}

/// The verdict on the event of the case, with the guests that are not left out. Those keep their place, and so their ids.
async fn judge(case: &Case, kinds: &[Kind], with_faulty: bool) -> (Verdict, usize) {
    let script = |kind: &Kind| match kind {
        Kind::Works(number) => match case.outcomes.get(*number) {
            Some(outcome) => format!("on {}\noutcome {outcome}", case.name),
            None => format!("on {}", case.name),
        },
        Kind::Fails(fault) if with_faulty => format!("on {}\n{fault}", case.name),
        Kind::Fails(_) => String::new(),
    };
    let scripts: Vec<_> = kinds.iter().map(script).collect();
    let house = House::new(&scripts.iter().map(String::as_str).collect::<Vec<_>>());
    let (verdict, _) = house.fire(case.name, &case.data, &CancellationToken::new()).await;
    (verdict, house.incidents().len())
}

fn is_blocked(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::ToolCall(ToolCallVerdict::Blocked { .. }) | Verdict::Bash(BashVerdict::Blocked { .. }))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn faulty_guests_change_nothing_or_close_the_gate(kinds in kinds()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()
            .expect("a runtime");
        for case in cases() {
            let (verdict, incidents) = runtime.block_on(judge(&case, &kinds, true));
            let (expected, without) = runtime.block_on(judge(&case, &kinds, false));
            prop_assert_eq!(without, 0);
            let faulty = kinds.iter().any(|kind| matches!(kind, Kind::Fails(_)));
            let hook = Hook::find(case.name).expect("a hook");
            match hook.family().on_failure() {
                Failure::Skip => prop_assert_eq!(verdict, expected, "{}", case.name),
                Failure::Block if faulty => {
                    prop_assert!(is_blocked(&verdict), "{} {:?}", case.name, verdict);
                    prop_assert_eq!(incidents, 1);
                }
                Failure::Block => prop_assert_eq!(verdict, expected, "{}", case.name),
            }
        }
    }
}
