//! The terminal with a session that is played: `cargo run -p pi-terminal --example scripted`.
//!
//! What is said decides what is played: `tool` calls a tool, `ask` asks a question, `wait` works until it is stopped,
//! `panic` panics, and everything else is answered with some markdown. The tests of the terminal run it in a
//! pseudo-terminal.

use std::{sync::Arc, time::Duration};

use pi_session::{State, queue::Waiting};
use pi_terminal::{Action, App, Beginning, Colours, Device, Draft, Link, Report, Theme, drive, look::Thoughts};
use pi_transcript::{AgentEvent, Model, ThinkingLevel};
use serde_json::{Value, json};
use tokio::sync::mpsc;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let variable = |name: &str| std::env::var(name).ok();
    let mut device = Device::open(variable("TERM").as_deref())?;
    let mut app = App::new(beginning());
    let (actions, wanted) = mpsc::channel(64);
    let (reports, told) = mpsc::channel(1024);
    let playing = tokio::spawn(play(wanted, reports));
    let mut link = Link { actions, reports: told };
    let wish = drive(&mut app, &mut device, &mut link, Colours::of(&variable)).await?;
    playing.abort();
    drop(device);
    use std::io::Write as _;
    writeln!(std::io::stdout(), "left: {wish:?}")?;
    Ok(())
}

fn beginning() -> Beginning {
    let state = State {
        session: "0123".into(),
        name: None,
        leaf: None,
        model: Arc::new(model("one")),
        thinking: ThinkingLevel::Low,
        is_running: false,
        waiting: Waiting::default(),
        active_tools: Vec::new(),
        entries: 0,
        is_failing: false,
    };
    Beginning {
        missing: Vec::new(),
        undescribed: Vec::new(),
        why: "it is scripted".to_owned(),
        silence: None,
        colours: Colours::True,
        state,
        models: vec![model("one"), model("two")],
        scoped: 0,
        commands: Vec::new(),
        drawn_tools: Vec::new(),
        theme: Theme::dark(),
        thoughts: Thoughts::Shown,
        directory: "~/project".to_owned(),
        branch: Some("main".to_owned()),
        history: Vec::new(),
        is_trusted: false,
        is_unwritable: false,
    }
}

fn model(id: &str) -> Model {
    let cost = json!({ "input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0 });
    let model = json!({ "id": id, "name": format!("Model {id}"), "api": "played", "provider": "demo", "baseUrl": "",
        "reasoning": true, "input": ["text"], "cost": cost, "contextWindow": 100_000, "maxTokens": 1000 });
    serde_json::from_value(model).expect("a model")
}

/// Plays until nobody wants anything any more.
async fn play(mut wanted: mpsc::Receiver<Action>, reports: mpsc::Sender<Report>) {
    while let Some(action) = wanted.recv().await {
        match action {
            Action::Say { text, .. } => {
                tell(&reports, json!({ "type": "agent_start" })).await;
                tell(&reports, json!({ "type": "turn_start" })).await;
                let said = json!({ "role": "user", "content": text, "timestamp": 0 });
                tell(&reports, json!({ "type": "message_start", "message": said })).await;
                match text.trim() {
                    "panic" => panic!("as was asked for"),
                    "wait" => continue,
                    "tool" => tool(&reports).await,
                    "ask" => ask(&reports).await,
                    text => answer(&reports, text).await,
                }
                tell(&reports, json!({ "type": "agent_settled" })).await;
            }
            Action::Abort => {
                let texts = vec![Draft::typed("queued before".to_owned())];
                let _ = reports.send(Report::TakenBack(texts)).await;
                end(&reports, json!([{ "type": "text", "text": "half an answer" }]), "aborted").await;
                tell(&reports, json!({ "type": "agent_settled", "aborted": true })).await;
            }
            Action::SetModel { model: id, .. } | Action::CycleModel { model: id, .. } => {
                drop(reports.send(Report::Model(Box::new(model(id.as_str())))).await);
            }
            Action::SetThinking(level) => drop(reports.send(Report::Thinking(level)).await),
            Action::Answer { request, answer } => {
                tell(&reports, json!({ "type": "extension_ui_resolved", "requestId": request, "outcome": "answered" }))
                    .await;
                let _ = reports.send(Report::Told(format!("answered {answer:?}"))).await;
            }
            // No extension asks for it.
            Action::Wrote { .. } => {}
            other => drop(reports.send(Report::Told(format!("wanted {other:?}"))).await),
        }
    }
}

async fn answer(reports: &mpsc::Sender<Report>, text: &str) {
    let answer = format!("You said **{text}**.\n\n- one\n- 日本語\n\n```rust\nfn main() {{}}\n```\n");
    for letter in answer.chars() {
        let delta = json!({ "type": "text_delta", "contentIndex": 0, "delta": letter.to_string() });
        tell(reports, json!({ "type": "message_update", "assistantMessageEvent": delta })).await;
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    end(reports, json!([{ "type": "text", "text": answer }]), "stop").await;
}

async fn tool(reports: &mpsc::Sender<Report>) {
    let call = json!({ "type": "toolCall", "id": "c1", "name": "edit", "arguments": { "path": "src/main.rs" } });
    end(reports, json!([call]), "toolUse").await;
    let of = json!({ "toolCallId": "c1", "toolName": "edit", "args": { "path": "src/main.rs" } });
    let with = |mut event: Value| {
        let (Some(event_members), Some(members)) = (event.as_object_mut(), of.as_object()) else { return event };
        event_members.extend(members.clone());
        event
    };
    tell(reports, with(json!({ "type": "tool_execution_start" }))).await;
    tokio::time::sleep(Duration::from_millis(150)).await;
    let result = json!({ "content": [{ "type": "text", "text": "done" }], "details": { "diff": "-1 old\n+1 new" } });
    tell(reports, with(json!({ "type": "tool_execution_end", "result": result, "isError": false, "durationMs": 150 })))
        .await;
}

async fn ask(reports: &mpsc::Sender<Report>) {
    let question = json!({ "type": "extension_ui_request", "requestId": "q1", "method": "select", "title": "Which one?",
        "options": ["red", "blue"] });
    tell(reports, question).await;
}

async fn end(reports: &mpsc::Sender<Report>, content: Value, stop: &str) {
    let usage = json!({ "input": 1200, "output": 300, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 1500,
        "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0.5 } });
    let message = json!({ "role": "assistant", "content": content, "api": "played", "provider": "demo", "model": "one",
        "usage": usage, "stopReason": stop, "timestamp": 0 });
    tell(reports, json!({ "type": "message_end", "message": message })).await;
}

async fn tell(reports: &mpsc::Sender<Report>, event: Value) {
    let event: AgentEvent = serde_json::from_value(event).expect("an event");
    // The terminal may have been left.
    let _ = reports.send(Report::Event(Arc::new(event))).await;
}
