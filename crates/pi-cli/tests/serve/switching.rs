//! Extensions that are switched on and off and loaded anew while sessions run, over real sockets: scripts and MCP servers.

use std::time::Duration;

use pi_testkit::{Client, Script, model::Answer};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use crate::{
    room::{Room, read, write},
    serving::{Serving, fits},
};

/// Says in its tool, its command and before each run that it is there.
fn porter(word: &str) -> String {
    format!(
        r#"export default function (pi: any) {{
          pi.registerTool({{ name: "greet", description: "Greets", parameters: {{ type: "object", properties: {{}} }},
            execute: async () => ({{ content: [{{ type: "text", text: "{word}" }}], details: {{}} }}) }});
          pi.registerTool({{ name: "wait", description: "Waits", parameters: {{ type: "object", properties: {{}} }},
            execute: async (id: string, params: any, signal: any, update: any, ctx: any) => {{ await ctx.ui.confirm("Wait?", ""); return {{ content: [], details: {{}} }}; }} }});
          pi.registerCommand("porter", {{ description: "d", handler: async (args: string, ctx: any) => ctx.ui.notify("{word}") }});
          pi.on("before_agent_start", (event: any) => ({{ systemPrompt: event.systemPrompt + "\n{word} hooked" }}));
        }}"#
    )
}

/// A server whose sessions have a script and an MCP server.
fn serving(script: Script) -> Serving {
    Serving::prepared(script, &[], furnish)
}

fn furnish(room: &Room) {
    write(&room.at("agent/extensions/porter.ts"), porter("first").as_bytes());
    write(&room.project().join("server.py"), pi_testkit::GREETER.as_bytes());
    let servers = json!({ "mcpServers": { "hi": { "command": "python3", "args": ["server.py"] } } });
    write(&room.at("agent/mcp.json"), servers.to_string().as_bytes());
}

/// The same, where nothing is loaded anew unless somebody says so.
fn unwatched(script: Script) -> Serving {
    Serving::prepared(script, &[], |room| {
        furnish(room);
        write(&room.at("agent/settings.json"), br#"{"watchExtensions": false}"#);
    })
}

fn talking() -> Script {
    Script::new().otherwise(Answer::new().text("Done.").reply())
}

async fn ask(client: &mut Client, id: &str, mut command: Value) -> Value {
    command["id"] = json!(id);
    let answer = client.ask(&command).await;
    assert_eq!(answer["success"], true, "{answer}");
    answer["data"].clone()
}

/// The names of the tools that the session has.
async fn tools(client: &mut Client, id: &str) -> Vec<String> {
    let listed = ask(client, id, json!({"type": "get_tools", "sessionId": "s"})).await;
    let tools = listed["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().filter_map(|tool| tool["name"].as_str()).map(str::to_owned).collect()
}

/// The same as soon as this one is among them: servers are started beside their sessions.
async fn tools_with(client: &mut Client, name: &str) -> Vec<String> {
    for round in 0..600 {
        let offered = tools(client, &format!("{name}-{round}")).await;
        if offered.iter().any(|offered| offered == name) {
            return offered;
        }
        sleep(Duration::from_millis(100)).await;
    }
    panic!("{name} does not come");
}

async fn has_command(client: &mut Client, id: &str) -> bool {
    let listed = ask(client, id, json!({"type": "get_commands", "sessionId": "s"})).await;
    listed["commands"].to_string().contains(r#""name":"porter""#)
}

/// What everybody is told of an extension that was switched or loaded anew.
async fn news(client: &mut Client, shape: Value) {
    let what = shape.to_string();
    let is_it = |frame: &Value| {
        let extensions = frame["data"]["extensions"].as_array();
        frame["type"] == "extensions_changed" && extensions.is_some_and(|all| all.iter().any(|one| fits(one, &shape)))
    };
    client.expect(&what, is_it).await;
}

async fn say(client: &mut Client, id: &str, message: &str) {
    ask(client, id, json!({"type": "prompt", "sessionId": "s", "message": message})).await;
}

#[test]
fn slow_server_comes_into_a_session_that_has_begun() {
    let gate = |room: &Room| room.at("agent/gate");
    let serving = Serving::prepared(talking(), &[], |room| {
        write(&room.project().join("server.py"), pi_testkit::GREETER.as_bytes());
        let server = json!({ "command": "python3", "args": ["server.py"], "env": { "GATE": gate(room) } });
        write(&room.at("agent/mcp.json"), json!({ "mcpServers": { "hi": server } }).to_string().as_bytes());
    });
    serving.block_on(async {
        let began = Instant::now();
        let mut client = serving.with_session("").await;
        assert!(began.elapsed() < Duration::from_secs(9), "a session waits for its servers: {:?}", began.elapsed());
        ask(&mut client, "hear", json!({"type": "subscribe", "sessionId": "s"})).await;
        let offered = tools(&mut client, "t1").await;
        assert!(!offered.contains(&"mcp__hi__hello".to_owned()), "{offered:?}");
        let listed = ask(&mut client, "l1", json!({"type": "list_extensions", "sessionId": "s"})).await;
        let starting = json!({"extensionId": "mcp:hi", "state": "idle", "enabled": true});
        assert!(
            listed["extensions"].as_array().is_some_and(|all| all.iter().any(|one| fits(one, &starting))),
            "{listed}"
        );
        write(&gate(&serving.room), b"");
        let is_ready = |frame: &Value| frame["event"].to_string().contains("MCP server hi is ready; tools: 1");
        let told = client.expect("that it is ready", is_ready).await;
        assert_eq!(told["event"]["asker"], json!({"by": "pi", "extensionId": "mcp:hi"}), "pi says it, not the server");
        tools_with(&mut client, "mcp__hi__hello").await;
        say(&mut client, "p1", "hi").await;
    });
    assert!(serving.room.server.requests()[0].json().to_string().contains("mcp__hi__hello"));
}

#[test]
fn first_prompt_waits_for_servers_that_are_starting() {
    let gate = |room: &Room| room.at("agent/gate");
    let serving = Serving::prepared(talking(), &[], |room| {
        write(&room.project().join("server.py"), pi_testkit::GREETER.as_bytes());
        let server = json!({ "command": "python3", "args": ["server.py"], "env": { "GATE": gate(room) } });
        write(&room.at("agent/mcp.json"), json!({ "mcpServers": { "hi": server } }).to_string().as_bytes());
    });
    let says = |words: &'static str| move |frame: &Value| frame["event"].to_string().contains(words);
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        ask(&mut client, "hear", json!({"type": "subscribe", "sessionId": "s"})).await;
        // It was told before anybody listened.
        client.expect("that it starts", says("MCP server hi is still starting")).await;
        client.send(&json!({"type": "prompt", "id": "p1", "sessionId": "s", "message": "hi"})).await;
        client.expect("that it is waited for", says("waiting up to 10s for the MCP server hi to start")).await;
        write(&gate(&serving.room), b"");
        client.expect("an end", |frame| frame["event"]["type"] == "agent_settled").await;
    });
    assert!(serving.room.server.requests()[0].json().to_string().contains("mcp__hi__hello"));
}

#[test]
fn prompt_that_waits_for_servers_is_aborted() {
    let serving = Serving::prepared(talking(), &[], |room| {
        write(&room.project().join("server.py"), pi_testkit::GREETER.as_bytes());
        let server = json!({ "command": "python3", "args": ["server.py"], "env": { "GATE": room.at("agent/never") } });
        write(&room.at("agent/mcp.json"), json!({ "mcpServers": { "hi": server } }).to_string().as_bytes());
        write(&room.at("agent/settings.json"), br#"{"mcpStartWaitMs": 600000}"#);
    });
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        ask(&mut client, "hear", json!({"type": "subscribe", "sessionId": "s"})).await;
        client.send(&json!({"type": "prompt", "id": "p1", "sessionId": "s", "message": "hi"})).await;
        let is_waiting = |frame: &Value| frame["event"].to_string().contains("waiting up to 600s");
        client.expect("that it is waited for", is_waiting).await;
        ask(&mut client, "stop", json!({"type": "abort", "sessionId": "s"})).await;
        let ended = client.expect("an end", |frame| frame["event"]["type"] == "agent_settled").await;
        assert_eq!(ended["event"]["aborted"], true);
        // Nothing was sent, so that the next one is the first, and waits as well.
        client.send(&json!({"type": "prompt", "id": "p2", "sessionId": "s", "message": "hi"})).await;
        client.expect("that it is waited for once more", is_waiting).await;
        ask(&mut client, "stop2", json!({"type": "abort", "sessionId": "s"})).await;
        client.expect("an end", |frame| frame["event"]["type"] == "agent_settled").await;
    });
    assert_eq!(serving.room.server.requests().len(), 0);
}

#[test]
fn extension_is_switched_off_in_running_sessions_and_stays_off() {
    let mut serving = serving(talking());
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        let mut other = serving.connect("?clientId=other").await;
        let off = ask(&mut client, "off", json!({"type": "disable_extension", "extensionId": "porter"})).await;
        let shape = json!({"extensionId": "porter", "tier": "js", "enabled": false, "state": "disabled", "tools": []});
        assert!(fits(&off["extension"], &shape), "{off}");
        news(&mut other, shape).await;
        let offered = tools_with(&mut client, "mcp__hi__hello").await;
        assert!(!offered.contains(&"greet".to_owned()), "{offered:?}");
        assert!(!has_command(&mut client, "c1").await);
        say(&mut client, "p1", "hi").await;
        let servers = ask(&mut client, "off2", json!({"type": "disable_extension", "extensionId": "mcp:hi"})).await;
        assert!(fits(&servers["extension"], &json!({"name": "hi", "tier": "mcp", "state": "disabled"})), "{servers}");
        let offered = tools(&mut client, "t2").await;
        assert!(!offered.iter().any(|name| name.starts_with("mcp__")), "{offered:?}");
    });
    assert!(!serving.room.server.requests()[0].json().to_string().contains("hooked"), "its hook is gone");
    let settings: Value =
        serde_json::from_str(&read(&serving.room.at("agent/settings.json")).expect("written")).expect("JSON");
    assert_eq!(settings, json!({"disabledExtensions": ["porter", "mcp:hi"]}));
    serving.restart(nix::sys::signal::Signal::SIGTERM);
    serving.block_on(async {
        let mut client = serving.connect("").await;
        let offered = tools(&mut client, "t3").await;
        assert!(
            !offered.contains(&"greet".to_owned()) && !offered.contains(&"mcp__hi__hello".to_owned()),
            "{offered:?}"
        );
        for (id, extension) in [("on1", "porter"), ("on2", "mcp:hi")] {
            let on = ask(&mut client, id, json!({"type": "enable_extension", "extensionId": extension})).await;
            assert!(fits(&on["extension"], &json!({"enabled": true, "state": "running"})), "{on}");
        }
        let offered = tools(&mut client, "t4").await;
        assert!(offered.contains(&"greet".to_owned()) && offered.contains(&"mcp__hi__hello".to_owned()), "{offered:?}");
        // A command of an extension is a command of the session at once.
        assert!(has_command(&mut client, "c2").await);
        say(&mut client, "p2", "hi").await;
        say(&mut client, "p3", "/porter").await;
        // What it did in the session is not forgotten: it heard a prompt and ran a command.
        for (id, switch) in [("off3", "disable_extension"), ("on3", "enable_extension")] {
            let told = ask(&mut client, id, json!({"type": switch, "extensionId": "porter"})).await;
            assert_eq!(told["extension"]["calls"], 2, "{told}");
        }
    });
    assert_eq!(serving.room.server.requests().len(), 2, "the command is none for the model");
    assert!(serving.room.server.requests()[1].json().to_string().contains("first hooked"));
    let settings: Value =
        serde_json::from_str(&read(&serving.room.at("agent/settings.json")).expect("written")).expect("JSON");
    assert_eq!(settings, json!({}));
}

#[test]
fn extension_that_is_at_work_is_switched_off_at_once() {
    let script = Script::new()
        .then(Answer::new().call("c1", "wait", &json!({})).reply())
        .otherwise(Answer::new().text("Done.").reply());
    let serving = serving(script);
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        tools_with(&mut client, "mcp__hi__hello").await;
        ask(&mut client, "hear", json!({"type": "subscribe", "sessionId": "s"})).await;
        client.send(&json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Wait"})).await;
        client
            .expect("the question", |frame| {
                frame["event"]["type"] == "extension_ui_request" && frame["event"]["method"] == "confirm"
            })
            .await;
        let off = ask(&mut client, "off", json!({"type": "disable_extension", "extensionId": "porter"})).await;
        assert_eq!(off["extension"]["state"], "disabled");
        // The run goes on: its tool has failed, and the model reads why.
        let ended = client.answer("p").await;
        assert_eq!(ended["success"], true, "{ended}");
    });
    let last = serving.room.server.requests()[1].json();
    let tools = last["tools"].to_string();
    assert!(!tools.contains("greet") && tools.contains("mcp__hi__hello"), "{tools}");
}

#[test]
fn extensions_are_loaded_anew_with_what_is_on_the_disk() {
    let serving = unwatched(talking());
    let file = serving.room.at("agent/extensions/porter.ts");
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        let mut other = serving.connect("?clientId=other").await;
        write(&file, porter("second").as_bytes());
        let one = json!({"type": "reload_extensions", "extensionId": "porter"});
        let anew = ask(&mut client, "r1", one.clone()).await;
        assert!(fits(&anew["extensions"], &json!([{"extensionId": "porter", "state": "running"}])), "{anew}");
        news(&mut other, json!({"extensionId": "porter", "state": "running"})).await;
        say(&mut client, "p1", "hi").await;
        // What cannot be built says so, and what ran goes on.
        write(&file, b"export default function (pi) { this is no JavaScript");
        let broken = ask(&mut client, "r2", one).await;
        let told = &broken["extensions"][0];
        assert!(fits(told, &json!({"extensionId": "porter", "state": "running"})), "{told}");
        assert!(told["error"].as_str().is_some_and(|error| error.contains("porter.ts")), "{told}");
        say(&mut client, "p2", "hi").await;
        // So does what throws when it is started: it says where, and what ran goes on.
        write(&file, b"export default function (pi) {\n  throw new Error('not today');\n}");
        let throws = ask(&mut client, "r3", json!({"type": "reload_extensions", "extensionId": "porter"})).await;
        let told = &throws["extensions"][0];
        assert!(fits(told, &json!({"state": "running", "tools": ["greet", "wait"]})), "{told}");
        let error = told["error"].as_str().unwrap_or_default();
        assert!(error.contains("not today") && error.contains("porter.ts:2:"), "{told}");
        say(&mut client, "p3", "hi").await;
        // Also where all of them are loaded anew, and then everybody is told.
        let heard = json!({"type": "subscribe", "sessionId": "s"});
        ask(&mut other, "hear", heard).await;
        let all = ask(&mut client, "r3a", json!({"type": "reload_extensions"})).await;
        let running = json!({"extensionId": "porter", "state": "running"});
        assert!(all["extensions"].as_array().is_some_and(|all| all.iter().any(|one| fits(one, &running))), "{all}");
        let is_it = |frame: &Value| frame["event"]["message"].as_str().is_some_and(|it| it.contains("porter.ts:2:"));
        let notice = other.expect("what is wrong", is_it).await;
        assert!(fits(&notice["event"], &json!({"notifyType": "warning", "asker": {"by": "pi"}})), "{notice}");
        say(&mut client, "p4", "hi").await;
        // All of them: one that is new, one that is gone, and a server that was added.
        write(&serving.room.at("agent/extensions/usher.ts"), porter("usher").replace("greet", "bow").as_bytes());
        write(&file, porter("third").as_bytes());
        let servers = json!({ "mcpServers": { "ho": { "command": "python3", "args": ["server.py"] } } });
        write(&serving.room.at("agent/mcp.json"), servers.to_string().as_bytes());
        let all = ask(&mut client, "r4", json!({"type": "reload_extensions"})).await;
        let ids: Vec<&str> = all["extensions"]
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|one| one["extensionId"].as_str())
            .collect();
        assert_eq!(ids, ["mcp:ho", "porter", "usher"]);
        let offered = tools(&mut client, "t").await;
        for (tool, is_there) in [("greet", true), ("bow", true), ("mcp__ho__hello", true), ("mcp__hi__hello", false)] {
            assert_eq!(offered.contains(&tool.to_owned()), is_there, "{tool} in {offered:?}");
        }
    });
    let requests = serving.room.server.requests();
    for request in &requests[..4] {
        assert!(request.json().to_string().contains("second hooked"), "{}", request.json());
    }
}

/// Blocks every shell command, and asks before it goes.
const GUARD: &str = r#"export default function (pi: any) {
  pi.on("session_shutdown", async (event: any, ctx: any) => { await ctx.ui.confirm("Leave?", ""); });
  pi.on("tool_call", (event: any) => event.toolName === "bash" ? { block: true, reason: "guarded" } : undefined);
}"#;

#[test]
fn guard_is_not_missing_while_all_are_loaded_anew_beside_a_run() {
    let command = json!({ "command": "touch made" });
    let script = Script::new()
        .then(Answer::new().call("c1", "bash", &command).reply())
        .otherwise(Answer::new().text("Done.").reply());
    let serving = Serving::prepared(script, &[], |room| {
        write(&room.at("agent/extensions/guard.ts"), GUARD.as_bytes());
        write(&room.at("agent/settings.json"), br#"{"watchExtensions": false}"#);
    });
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        ask(&mut client, "hear", json!({"type": "subscribe", "sessionId": "s"})).await;
        client.send(&json!({"type": "reload_extensions", "id": "r"})).await;
        let question = client.expect("the question", |frame| frame["event"]["method"] == "confirm").await;
        client.send(&json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Do it"})).await;
        client.expect("the call", |frame| frame["event"]["type"] == "tool_execution_start").await;
        let answer = json!({"type": "extension_ui_response", "id": "a", "sessionId": "s",
            "requestId": question["event"]["requestId"], "response": {"method": "confirm", "confirmed": true}});
        let taken = client.ask(&answer).await;
        assert_eq!(taken["success"], true, "{taken}");
        let anew = client.answer("r").await;
        assert!(fits(&anew["data"]["extensions"], &json!([{"extensionId": "guard", "state": "running"}])), "{anew}");
        let ended = client.answer("p").await;
        assert_eq!(ended["success"], true, "{ended}");
    });
    assert!(!serving.room.project().join("made").exists(), "nobody judged the call");
    let messages = serving.room.server.requests()[1].json()["messages"].to_string();
    // Or it was not there in time, and the call is refused for that.
    assert!(messages.contains("guarded") || messages.contains("extension guard failed"), "{messages}");
}

#[test]
fn what_the_old_code_showed_is_gone_before_the_new_shows_its_own() {
    let shows = |key: &str| {
        let start = format!(r#"(event: any, ctx: any) => ctx.ui.setStatus("{key}", "shown")"#);
        format!(r#"export default function (pi: any) {{ pi.on("session_start", async {start}); }}"#)
    };
    let serving = Serving::prepared(talking(), &[], |room| {
        write(&room.at("agent/extensions/sign.ts"), shows("first").as_bytes());
        write(&room.at("agent/settings.json"), br#"{"watchExtensions": false}"#);
    });
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        ask(&mut client, "hear", json!({"type": "subscribe", "sessionId": "s"})).await;
        let commands = [
            ("second", json!({"type": "reload_extensions", "extensionId": "sign"})),
            ("third", json!({"type": "reload_extensions"})),
        ];
        let mut before = "first";
        for (key, command) in commands {
            write(&serving.room.at("agent/extensions/sign.ts"), shows(key).as_bytes());
            ask(&mut client, key, command).await;
            let mut told = Vec::new();
            // What old ones showed when they began may come late.
            let is_news = |event: &Value| event["key"] == key || event["text"].is_null();
            for _ in 0..2 {
                let is_status = |frame: &Value| frame["event"]["method"] == "setStatus" && is_news(&frame["event"]);
                let status = client.expect("a status", is_status).await;
                told.push((status["event"]["key"].clone(), status["event"]["text"].clone()));
            }
            assert_eq!(told, [(json!(before), Value::Null), (json!(key), json!("shown"))]);
            before = key;
        }
    });
}

#[test]
fn what_others_switched_off_or_nobody_has_is_not_switched_on() {
    let serving = Serving::prepared(talking(), &[], |room| {
        write(&room.at("agent/extensions/porter.ts"), porter("first").as_bytes());
        let servers = json!({ "mcpServers": { "hi": { "command": "no-such-program", "disabled": true } } });
        write(&room.at("agent/mcp.json"), servers.to_string().as_bytes());
        write(&room.at("agent/settings.json"), br#"{"defaultProjectTrust": "always"}"#);
        write(&room.project().join(".pi/settings.json"), br#"{"disabledExtensions": ["porter"]}"#);
    });
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        let refused = [
            ("porter", "refused", "Refused: porter stays off: the project's settings switch it off"),
            ("mcp:hi", "refused", "Refused: mcp:hi stays off: its entry in "),
            ("nobody", "not_found", "Extension nobody not found"),
        ];
        for (id, code, error) in refused {
            let answer = client.ask(&json!({"type": "enable_extension", "id": id, "extensionId": id})).await;
            assert_eq!((answer["success"].clone(), answer["code"].as_str()), (json!(false), Some(code)), "{answer}");
            assert!(answer["error"].as_str().is_some_and(|told| told.starts_with(error)), "{answer}");
        }
        let listed = ask(&mut client, "l", json!({"type": "list_extensions"})).await;
        assert!(
            fits(
                &listed["extensions"],
                &json!([{"extensionId": "mcp:hi", "state": "disabled"}, {"extensionId": "porter", "state": "disabled"}])
            ),
            "{listed}"
        );
        let missing = client.ask(&json!({"type": "reload_extensions", "id": "r", "extensionId": "nobody"})).await;
        assert_eq!(missing["code"], "not_found", "{missing}");
    });
}

/// What a person is told beside the conversation.
async fn told(client: &mut Client, words: &str) -> Value {
    let is_it = |frame: &Value| {
        let event = &frame["event"];
        event["method"] == "notify" && event["message"].as_str().is_some_and(|message| message.contains(words))
    };
    client.expect(words, is_it).await["event"].clone()
}

#[test]
fn extension_is_loaded_anew_when_its_file_changes() {
    let serving = serving(talking());
    let file = serving.room.at("agent/extensions/porter.ts");
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        ask(&mut client, "hear", json!({"type": "subscribe", "sessionId": "s"})).await;
        write(&file, porter("second").as_bytes());
        told(&mut client, "porter was loaded anew").await;
        say(&mut client, "p1", "hi").await;
        // What cannot be built is told with its place, and what ran goes on.
        write(&file, b"// porter\nexport default function (pi) { this is no JavaScript");
        let broken = told(&mut client, "porter goes on as it was").await;
        assert_eq!(broken["notifyType"], "error");
        assert!(broken["message"].as_str().is_some_and(|message| message.contains("porter.ts:2:")), "{broken}");
        say(&mut client, "p2", "hi").await;
        // What throws when it is started as well.
        write(&file, b"// porter\nexport default function (pi) {\n  throw new Error('not today');\n}");
        let throws = told(&mut client, "porter goes on as it was").await;
        assert!(
            fits(&throws, &json!({"notifyType": "error", "asker": {"by": "pi", "extensionId": "porter"}})),
            "{throws}"
        );
        let message = throws["message"].as_str().unwrap_or_default();
        assert!(message.contains("not today") && message.contains("porter.ts:3:"), "{message}");
        say(&mut client, "p2a", "hi").await;
        // It imports what is not there yet; it is loaded as soon as it is.
        let imports = format!("import {{ word }} from './word.ts';\n{}", porter("${word}").replace('"', "`"));
        write(&file, imports.as_bytes());
        told(&mut client, "word.ts").await;
        write(&serving.room.at("agent/extensions/word.ts"), b"export const word = 'third';");
        told(&mut client, "porter was loaded anew").await;
        say(&mut client, "p3", "hi").await;
        write(&serving.room.at("agent/extensions/word.ts"), b"export const word = 'fourth';");
        told(&mut client, "porter was loaded anew").await;
        say(&mut client, "p4", "hi").await;
    });
    let requests = serving.room.server.requests();
    for (request, word) in requests.iter().zip(["second", "second", "second", "third", "fourth"]) {
        assert!(request.json().to_string().contains(&format!("{word} hooked")), "{word}");
    }
}

/// Blocks shell commands that have this word in them.
fn guarding(word: &str) -> String {
    format!(
        r#"export default function (pi: any) {{
          pi.on("tool_call", (event: any) => event.input.command?.includes("{word}") ? {{ block: true, reason: "guarded" }} : undefined);
        }}"#
    )
}

#[test]
fn guard_whose_file_changes_judges_on_until_somebody_says_otherwise() {
    let command = json!({ "command": "touch made" });
    let script = Script::new()
        .then(Answer::new().call("c1", "bash", &command).reply())
        .then(Answer::new().text("Done.").reply())
        .then(Answer::new().call("c2", "bash", &command).reply())
        .otherwise(Answer::new().text("Done.").reply());
    let file = "agent/extensions/guard.ts";
    let serving = Serving::prepared(script, &[], |room| write(&room.at(file), guarding("made").as_bytes()));
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        ask(&mut client, "hear", json!({"type": "subscribe", "sessionId": "s"})).await;
        // The model it judges could have written this.
        write(&serving.room.at(file), guarding("nothing").as_bytes());
        let held = told(&mut client, "guard goes on as it was").await;
        let shape = json!({"notifyType": "warning", "asker": {"by": "pi", "extensionId": "guard"}});
        assert!(fits(&held, &shape) && held["message"].to_string().contains("/reload"), "{held}");
        say(&mut client, "p1", "Do it").await;
        assert!(!serving.room.project().join("made").exists(), "the guard that was there judges");
        ask(&mut client, "r", json!({"type": "reload_extensions"})).await;
        say(&mut client, "p2", "Do it").await;
        assert!(serving.room.project().join("made").exists(), "somebody said that the other one judges");
    });
}

#[test]
fn command_of_an_extension_may_load_all_of_them_anew() {
    let file = "agent/extensions/again.ts";
    let again = r#"export default (pi: any) =>
      pi.registerCommand("again", { handler: async (args: string, ctx: any) => { await ctx.reload(); } });"#;
    let heard = r#"export default (pi: any) =>
      pi.on("session_start", (event: any, ctx: any) => ctx.ui.notify(`heard ${event.reason}`));"#;
    let serving = Serving::prepared(talking(), &[], |room| {
        write(&room.at(file), again.as_bytes());
        write(&room.at("agent/settings.json"), br#"{"watchExtensions": false}"#);
    });
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        ask(&mut client, "hear", json!({"type": "subscribe", "sessionId": "s"})).await;
        write(&serving.room.at(file), heard.as_bytes());
        say(&mut client, "p", "/again").await;
        told(&mut client, "heard reload").await;
    });
}

#[test]
fn what_loading_anew_leaves_out_is_told() {
    let serving = unwatched(talking());
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        ask(&mut client, "hear", json!({"type": "subscribe", "sessionId": "s"})).await;
        let settings = json!({"watchExtensions": false, "extensions": ["/nowhere/gone.ts"]});
        write(&serving.room.at("agent/settings.json"), settings.to_string().as_bytes());
        ask(&mut client, "r", json!({"type": "reload_extensions"})).await;
        let left_out = told(&mut client, "/nowhere/gone.ts").await;
        assert!(fits(&left_out, &json!({"notifyType": "warning", "asker": {"by": "pi"}})), "{left_out}");
    });
}

#[test]
fn package_that_is_not_installed_is_told_when_an_extension_is_loaded() {
    let serving = serving(talking());
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        ask(&mut client, "hear", json!({"type": "subscribe", "sessionId": "s"})).await;
        let imports =
            format!("import pad from 'pad-that-nobody-has';\n{}\nexport const padded = () => pad();", porter("second"));
        write(&serving.room.at("agent/extensions/porter.ts"), imports.as_bytes());
        let lacks = told(&mut client, "pad-that-nobody-has").await;
        assert!(fits(&lacks, &json!({"notifyType": "warning", "asker": {"by": "pi"}})), "{lacks}");
        assert!(lacks["message"].as_str().is_some_and(|message| message.contains("npm install")), "{lacks}");
        say(&mut client, "p", "hi").await;
    });
    assert!(serving.room.server.requests()[0].json().to_string().contains("second hooked"), "it runs all the same");
}

#[test]
fn extension_that_is_at_work_is_loaded_anew_when_it_has_ended() {
    let script = Script::new()
        .then(Answer::new().call("c1", "wait", &json!({})).reply())
        .otherwise(Answer::new().text("Done.").reply());
    let file = "agent/extensions/porter.ts";
    let serving = Serving::prepared_and_logged(script, |room| write(&room.at(file), porter("first").as_bytes()));
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        ask(&mut client, "hear", json!({"type": "subscribe", "sessionId": "s"})).await;
        client.send(&json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Wait"})).await;
        let is_question = |frame: &Value| frame["event"]["method"] == "confirm";
        let question = client.expect("the question", is_question).await;
        write(&serving.room.at(file), porter("second").as_bytes());
        let seen = async {
            let mut looks = 0;
            while !serving.log().contains("it is at work and loaded anew later") {
                looks += 1;
                ask(&mut client, &format!("look{looks}"), json!({"type": "list_extensions"})).await;
            }
        };
        timeout(Duration::from_secs(120), seen).await.expect("somebody sees that its file changed");
        let answer = json!({"type": "extension_ui_response", "id": "a", "sessionId": "s",
            "requestId": question["event"]["requestId"], "response": {"method": "confirm", "confirmed": true}});
        let taken = client.ask(&answer).await;
        assert_eq!(taken["success"], true, "{taken}");
        let ended = client.answer("p").await;
        assert_eq!(ended["success"], true, "{ended}");
        told(&mut client, "porter was loaded anew").await;
    });
    let last = serving.room.server.requests()[1].json()["messages"].to_string();
    assert!(!last.contains("gone") && !last.contains("failed"), "its call came to its end: {last}");
}

#[test]
fn extensions_are_not_watched_where_the_settings_say_so() {
    for (settings, is_watched) in [("{}", true), (r#"{"watchExtensions": false}"#, false)] {
        let serving = Serving::prepared_and_logged(talking(), |room| {
            write(&room.at("agent/extensions/porter.ts"), porter("first").as_bytes());
            write(&room.at("agent/settings.json"), settings.as_bytes());
        });
        serving.block_on(async { drop(serving.with_session("").await) });
        assert_eq!(serving.log().contains("the files of its extensions are watched"), is_watched, "{settings}");
    }
}

#[test]
fn reload_reads_what_running_sessions_are_told_from_files() {
    let serving = Serving::prepared(talking(), &[], |room| {
        write(&room.at("agent/AGENTS.md"), b"Speak in rhymes.");
        write(&room.at("agent/prompts/greet.md"), b"Say hello to $1.");
    });
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        say(&mut client, "p1", "hi").await;
        write(&serving.room.at("agent/AGENTS.md"), b"Speak in riddles.");
        write(&serving.room.at("agent/prompts/greet.md"), b"Say goodbye to $1.");
        ask(&mut client, "r", json!({"type": "reload_extensions"})).await;
        say(&mut client, "p2", "/greet Ada").await;
    });
    let requests = serving.room.server.requests();
    let said = |place: usize| requests[place].json()["messages"].to_string();
    assert!(said(0).contains("Speak in rhymes."), "{}", said(0));
    let last = said(requests.len() - 1);
    assert!(last.contains("Speak in riddles.") && last.contains("Say goodbye to Ada."), "{last}");
    assert!(!last.contains("rhymes"), "{last}");
}
