//! An extension in a file, in the real server, over a real socket.

use std::{collections::BTreeSet, path::Path, time::Duration};

use pi_testkit::{Client, Script, model::Answer};
use serde_json::{Value, json};

use crate::{
    room::{read, write},
    serving::{Serving, fits},
};

const CONCIERGE: &str = include_str!("../extensions/concierge.ts");

/// A server whose sessions have the extension, and whose model does what the script says.
fn serving(script: Script) -> Serving {
    Serving::prepared(script, &["-e", "concierge.ts"], |room| {
        write(&room.project().join("concierge.ts"), CONCIERGE.as_bytes());
    })
}

/// A model that calls a tool and then says something.
fn calling(tool: &str, arguments: &Value) -> Script {
    Script::new().then(Answer::new().call("c1", tool, arguments).reply()).otherwise(Answer::new().text("Done.").reply())
}

async fn client(serving: &Serving) -> Client {
    let mut client = serving.with_session("").await;
    let heard = client.ask(&json!({"type": "subscribe", "id": "hear", "sessionId": "s"})).await;
    assert_eq!(heard["success"], true, "{heard}");
    client
}

async fn prompt(client: &mut Client, message: &str) {
    client.send(&json!({"type": "prompt", "id": "p", "sessionId": "s", "message": message})).await;
}

/// The next event that is like this.
async fn event(client: &mut Client, shape: Value) -> Value {
    let what = shape.to_string();
    client.expect(&what, |frame| frame["type"] == "event" && fits(&frame["event"], &shape)).await["event"].clone()
}

/// Waits for a question like this and answers it.
async fn answer(client: &mut Client, question: Value, answer: &Value) {
    let asked = event(client, question).await;
    let response = json!({"type": "extension_ui_response", "id": asked["requestId"], "sessionId": "s",
        "requestId": asked["requestId"], "response": answer});
    let taken = client.ask(&response).await;
    assert_eq!(taken["success"], true, "{taken}");
}

/// What tools answered, in the last request.
fn results(serving: &Serving) -> Vec<String> {
    let requests = serving.room.server.requests();
    let last = requests.last().expect("the model was asked").json();
    let messages = last["messages"].as_array().cloned().unwrap_or_default();
    let text = |message: Value| match &message["content"] {
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        content => content.as_str().unwrap_or_default().to_owned(),
    };
    messages.into_iter().filter(|message| message["role"] == "tool").map(text).collect()
}

#[test]
fn tools_are_offered_and_called_and_hooks_change_what_is_said() {
    let script = Script::new()
        .then(
            Answer::new()
                .call("c1", "greet", &json!({"name": "Ada"}))
                .call("c2", "bash", &json!({"command": "touch ran.txt"}))
                .reply(),
        )
        .otherwise(Answer::new().text("Done.").reply());
    let serving = serving(script);
    serving.block_on(async {
        let mut client = client(&serving).await;
        prompt(&mut client, "wink").await;
        let ended = client.answer("p").await;
        assert_eq!(ended["success"], true, "{ended}");
    });
    let first = serving.room.server.requests()[0].json();
    let tools = first["tools"].as_array().cloned().unwrap_or_default();
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["function"]["name"].as_str()).collect();
    for tool in ["read", "greet", "ask", "pick", "show"] {
        assert!(names.contains(&tool), "{tool} is not in {names:?}");
    }
    let said = first["messages"].to_string();
    assert!(said.contains("The concierge is in.") && said.contains("The guest winks."), "{said}");
    let results = results(&serving);
    assert_eq!(results[0], "\"Hello, Ada\"!");
    assert!(results[1].contains("no shell today"), "{results:?}");
    assert!(!serving.room.project().join("ran.txt").exists());
}

#[test]
fn questions_are_answered_by_the_client_or_time_out() {
    let serving = serving(calling("ask", &json!({})));
    serving.block_on(async {
        let mut client = client(&serving).await;
        prompt(&mut client, "Ask me").await;
        let request =
            |method: &str, title: &str| json!({"type": "extension_ui_request", "method": method, "title": title});
        answer(&mut client, request("select", "Which?"), &json!({"method": "select", "value": "blue"})).await;
        answer(&mut client, request("confirm", "Sure?"), &json!({"method": "confirm", "confirmed": true})).await;
        answer(&mut client, request("input", "Name?"), &json!({"method": "input", "value": "me"})).await;
        answer(&mut client, request("editor", "Text?"), &json!({"method": "editor", "value": "a\nb\nc"})).await;
        for method in ["input", "confirm"] {
            let asked = event(&mut client, request(method, "Late?")).await;
            let outcome =
                json!({"type": "extension_ui_resolved", "requestId": asked["requestId"], "outcome": "timed_out"});
            event(&mut client, outcome).await;
        }
        assert_eq!(client.answer("p").await["success"], true);
    });
    assert_eq!(results(&serving), [json!(["blue", true, "me", "a\nb\nc", "nothing", false]).to_string()]);
}

#[test]
fn component_is_drawn_for_the_client_and_hears_its_keys() {
    let serving = serving(calling("pick", &json!({})));
    serving.block_on(async {
        let mut client = client(&serving).await;
        prompt(&mut client, "Let me pick").await;
        let frame = event(&mut client, json!({"type": "extension_ui_render"})).await;
        let lines = json!([[{"text": "> one", "style": {"bold": true}}], [{"text": "  two"}]]);
        assert_eq!(frame["lines"], lines, "{frame}");
        let key = |id: &str, key: &str| {
            json!({"type": "extension_ui_key", "id": id, "sessionId": "s", "requestId": frame["requestId"], "key": key})
        };
        assert_eq!(client.ask(&key("k1", "down")).await["success"], true);
        let lines = json!([[{"text": "  one"}], [{"text": "> two", "style": {"bold": true}}]]);
        event(&mut client, json!({"type": "extension_ui_render", "lines": lines})).await;
        assert_eq!(client.ask(&key("k2", "enter")).await["success"], true);
        let closed = json!({"type": "extension_ui_resolved", "requestId": frame["requestId"], "outcome": "closed"});
        event(&mut client, closed).await;
        assert_eq!(client.answer("p").await["success"], true);
    });
    assert_eq!(results(&serving), [r#"{"row":1}"#]);
}

#[test]
fn announcements_reach_the_client() {
    let serving = serving(calling("show", &json!({})));
    serving.block_on(async {
        let mut client = client(&serving).await;
        prompt(&mut client, "Show it").await;
        let request = |more: Value| {
            let mut shape = json!({"type": "extension_ui_request"});
            shape.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
            shape
        };
        event(&mut client, request(json!({"method": "notify", "message": "noted", "notifyType": "warning"}))).await;
        event(&mut client, request(json!({"method": "setStatus", "key": "concierge", "text": "at work"}))).await;
        let widget = json!({"method": "setWidget", "key": "concierge", "content": ["first line", "second line"],
            "placement": "belowEditor"});
        event(&mut client, request(widget)).await;
        assert_eq!(client.answer("p").await["success"], true);
    });
    assert_eq!(results(&serving), ["true"]);
}

#[test]
fn commands_are_listed_and_run_without_the_model() {
    let serving = serving(Script::new().otherwise(Answer::new().text("Done.").reply()));
    serving.block_on(async {
        let mut client = client(&serving).await;
        let listed = client.ask(&json!({"type": "get_commands", "id": "g", "sessionId": "s"})).await;
        let commands = listed["data"]["commands"].as_array().cloned().unwrap_or_default();
        let hello = json!({"name": "hello", "description": "Greets with a notice", "source": "extension"});
        assert!(commands.iter().any(|command| fits(command, &hello)), "{listed}");
        prompt(&mut client, "/hello big world").await;
        event(&mut client, json!({"type": "extension_ui_request", "method": "notify", "message": "Hello big world"}))
            .await;
        assert_eq!(client.answer("p").await["success"], true);
        // A command may ask while it runs.
        client.send(&json!({"type": "prompt", "id": "p2", "sessionId": "s", "message": "/choose"})).await;
        let question = json!({"type": "extension_ui_request", "method": "select", "title": "Which?"});
        answer(&mut client, question, &json!({"method": "select", "value": "red"})).await;
        event(&mut client, json!({"type": "extension_ui_request", "method": "notify", "message": "chosen: red"})).await;
        assert_eq!(client.answer("p2").await["success"], true);
    });
    assert!(serving.room.server.requests().is_empty(), "the model is not asked");
}

#[test]
fn extensions_are_listed_with_what_they_did() {
    let serving = serving(calling("greet", &json!({"name": "Ada"})));
    serving.block_on(async {
        let mut client = client(&serving).await;
        prompt(&mut client, "Greet Ada").await;
        assert_eq!(client.answer("p").await["success"], true);
        let listed = client.ask(&json!({"type": "list_extensions", "id": "l", "sessionId": "s"})).await;
        let extensions = listed["data"]["extensions"].as_array().cloned().unwrap_or_default();
        let [one] = extensions.as_slice() else { panic!("one extension: {listed}") };
        let expected = json!({"extensionId": "concierge", "tier": "js", "enabled": true, "state": "running",
            "tools": ["greet", "ask", "pick", "show"], "commands": ["hello", "choose"]});
        assert!(fits(one, &expected), "{one}");
        assert!(one["calls"].as_u64() > Some(0), "its tool was called: {one}");
        let everywhere = client.ask(&json!({"type": "list_extensions", "id": "l2"})).await;
        assert!(fits(&everywhere["data"]["extensions"][0], &expected), "{everywhere}");
    });
}

/// Its session begins afterwards, so a question would wait for itself.
#[test]
fn extension_that_would_have_to_ask_while_it_loads_is_refused_at_once() {
    const EARLY: &str = "import { readFileSync } from 'node:fs';
        export default async (pi) => {
            const tried = async (attempt) => { try { await attempt(); return 'done'; } catch (fault) { return fault.message; } };
            const told = [await tried(() => readFileSync('/etc/hostname')), await tried(() => pi.ui.notify('early'))];
            pi.registerTool({ name: 'early', description: 'd', parameters: {}, execute: async () => told.join(' / ') });
        };";
    let serving = Serving::prepared(calling("early", &json!({})), &["-e", "early.ts"], |room| {
        write(&room.project().join("early.ts"), EARLY.as_bytes());
    });
    serving.block_on(async {
        let began = tokio::time::Instant::now();
        let mut client = client(&serving).await;
        assert!(began.elapsed() < Duration::from_secs(20), "the session waits for its extension");
        prompt(&mut client, "What happened early?").await;
        assert_eq!(client.answer("p").await["success"], true);
    });
    let [told] = results(&serving).try_into().expect("one result");
    let (read, shown) = told.split_once(" / ").expect("two attempts");
    assert!(read.contains("Extension early wanted read: /etc/hostname and may not (nobody answered)"), "{told}");
    assert!(shown.starts_with("not while the extension loads"), "{told}");
}

/// Every kind of message is written, and every message fits our schema and the document's.
#[test]
fn trace_holds_all_ten_messages() {
    const CLUMSY: &str = "export default (pi) => pi.on('agent_start', () => { console.log('I drop things'); throw new Error('dropped'); });";
    let script = calling("greet", &json!({"name": "Ada"}));
    let arguments = ["-e", "concierge.ts", "-e", "clumsy.ts", "--trace-protocol", "trace.jsonl"];
    let serving = Serving::prepared(script, &arguments, |room| {
        write(&room.project().join("concierge.ts"), CONCIERGE.as_bytes());
        write(&room.project().join("clumsy.ts"), CLUMSY.as_bytes());
    });
    let traced = || -> Vec<Value> {
        let text = read(&serving.room.project().join("trace.jsonl")).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    };
    let kinds = |messages: &[Value]| -> BTreeSet<String> {
        messages.iter().filter_map(|message| message["type"].as_str().map(str::to_owned)).collect()
    };
    serving.block_on(async {
        let mut client = client(&serving).await;
        prompt(&mut client, "Greet Ada").await;
        assert_eq!(client.answer("p").await["success"], true);
        client.send(&json!({"type": "prompt", "id": "p2", "sessionId": "s", "message": "/hello"})).await;
        assert_eq!(client.answer("p2").await["success"], true);
        // What is said to a log is written beside what the guest does.
        for _ in 0..500 {
            if kinds(&traced()).len() == 10 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    let messages = traced();
    let all = pi_extproto::message::Payload::KINDS.iter().map(|kind| (*kind).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(kinds(&messages), all);
    let register = |name: &str| messages.iter().find(|it| it["type"] == "register" && it["payload"]["name"] == name);
    let tools = &register("concierge").expect("it registered")["payload"]["tools"];
    assert_eq!(tools.as_array().map(Vec::len), Some(4), "{tools}");
    let error = messages.iter().find(|message| message["type"] == "error").expect("one failed");
    assert_eq!(error["payload"]["code"], "threw");
    let message = error["payload"]["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("dropped (") && message.contains("clumsy.ts:1:"), "{error}");
    let ours = jsonschema::validator_for(&pi_extproto::schema::protocol()).expect("a schema");
    for message in &messages {
        assert!(ours.is_valid(message), "{message}");
    }
    let theirs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/spec/extension-protocol.schema.json");
    let Some(schema) = read(&theirs) else {
        eprintln!("SKIPPED: {} is not there; the trace was compared with our own schema only", theirs.display());
        return;
    };
    let schema: Value = serde_json::from_str(&schema).expect("a schema");
    let theirs = jsonschema::validator_for(&schema).expect("a schema");
    for message in &messages {
        assert!(theirs.is_valid(message), "{message}");
    }
}
