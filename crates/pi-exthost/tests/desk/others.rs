//! The connectors that reach the conversation.

use std::collections::BTreeSet;

use pi_exthost::{Terms, port::Drawing};
use serde_json::json;

use crate::stage::{Plan, Stage, check};

#[test]
fn conversation_is_asked_in_the_name_of_the_guest() {
    check(
        Plan::default(),
        r#"session {"op":"append_entry","custom_type":"mine","data":{"n":1}}
           session {"op":"get_entries","selection":"all"}
           session {"op":"get_system_prompt"}
           session {"op":"set_thinking_level","level":"high"}
           session {"op":"set_name","name":"n"}
           session {"op":"fork","entry_id":"00000001","position":"at"}
           session {"op":"complete","messages":[{"role":"user","content":"say it","timestamp":0}]}
           session {"op":"complete","messages":[7]}
           session {"op":"quit"}"#,
        r#"ok {"entry_id":"00000001"}
           ok {"entries":[{"type":"custom","id":"00000001","parentId":null,"timestamp":"t","customType":"mine","data":{"n":1}}]}
           ok {"text":"You are a double."}
           ok {"level":"high"}
           ok {}
           invalid_request only a slash command may leave or replace the session
           ok {"message":{"role":"assistant","content":[{"type":"text","text":"say it"}],"api":"double","provider":"double","model":"echo","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":0}}
           invalid_request params.messages[0]: data did not match any variant of untagged enum Message
           ok {}
           9 calls, 0 unfinished, 0 denied, 2 failed"#,
    );
}

#[test]
fn tools_of_the_host_run_within_the_scope_of_the_guest() {
    check(
        Plan::default(),
        r#"file project/f line
           tool {"name":"read","input":{"path":"f"}}
           tool {"name":"write","input":{"path":"g","content":"x"}}
           tool {"name":"read","input":{}}
           show project/g"#,
        r#"ok {"content":[{"type":"text","text":"line"}],"is_error":false}
           ok {"content":[{"type":"text","text":"Successfully wrote 1 bytes to g"}],"is_error":false}
           invalid_request params.input.path: required member is missing
           project/g: x
           3 calls, 0 unfinished, 0 denied, 1 failed"#,
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn subscriptions_and_news_of_tools_belong_to_the_guest() {
    let stage = Stage::new(Plan::default());
    stage.ask("events", json!({ "op": "subscribe", "channel": "c" })).await;
    assert_eq!(stage.desk.channels_unless(&BTreeSet::new()).into_iter().flatten().collect::<Vec<_>>(), ["c"]);
    let news = || stage.told("events", json!({ "op": "tool_update", "call_id": "t", "content": [] }));
    assert_eq!(news().await, "invalid_request no call t of a tool of this extension is running");
    let (updates, mut heard) = tokio::sync::mpsc::channel(1);
    let hosting = stage.desk.host_tool_call("t".into(), updates);
    assert_eq!(news().await, "ok {}");
    assert!(heard.try_recv().is_ok());
    drop(hosting);
    assert_eq!(news().await, "invalid_request no call t of a tool of this extension is running");
}

#[tokio::test(flavor = "multi_thread")]
async fn drawing_is_recorded_as_a_call() {
    let stage = Stage::new(Plan::default());
    let canvas = stage.desk.draw(Drawing::Overlay, Terms::background()).await.expect("it may");
    assert!(canvas.is_none(), "the double shows nothing");
    assert_eq!(stage.ledger().await, "1 calls, 0 unfinished, 0 denied, 0 failed");
}

#[tokio::test(flavor = "multi_thread")]
async fn connector_that_does_not_exist_is_said_so() {
    let stage = Stage::new(Plan { policy: json!({ "mode": "permissive" }), ..Plan::default() });
    assert_eq!(stage.told("teleport", json!({})).await, "invalid_request there is no connector teleport");
    let mcp = stage.told("mcp", json!({ "server": "db", "name": "drop", "input": {} })).await;
    assert_eq!(mcp, "invalid_request no MCP server db is connected");
}
