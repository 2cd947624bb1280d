//! Commands and what they answer.

use nix::sys::signal::Signal;
use pi_testkit::{Client, Script, model::Answer};
use serde_json::{Value, json};

use crate::{
    room::{Room, read, write},
    serving::{Serving, fits},
};

#[track_caller]
fn check(answer: &Value, shape: &Value) {
    assert!(fits(answer, shape), "{answer:#}\nis not like {shape:#}");
}

#[test]
fn sessions_are_made_listed_and_unloaded() {
    let serving = Serving::start(Script::new());
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        let mut other = serving.connect("?clientId=other").await;
        check(
            &client.ask(&json!({"type": "create_session", "id": "2", "sessionId": "s"})).await,
            &json!({"success": false, "code": "session_exists", "error": "Session s already exists"}),
        );
        check(
            &client.ask(&json!({"type": "list_sessions", "id": "3"})).await,
            &json!({"data": {"sessions": [{"sessionId": "s", "isStreaming": false, "messageCount": 0}]}}),
        );
        check(
            &client.ask(&json!({"type": "delete_session", "id": "4", "sessionId": "s"})).await,
            &json!({"success": true, "data": {"deleted": true}}),
        );
        other.expect("session_deleted", |frame| frame["type"] == "session_deleted").await;
        check(
            &client.ask(&json!({"type": "get_state", "id": "5", "sessionId": "s"})).await,
            &json!({"success": false, "error": "Session s not found"}),
        );
    });
}

#[test]
fn frames_that_are_no_commands_are_answered_and_do_no_harm() {
    let serving = Serving::start(Script::new());
    serving.block_on(async {
        let mut client = serving.connect("").await;
        for (text, code) in [
            ("", "invalid_json"),
            ("{", "invalid_json"),
            ("null", "not_an_object"),
            ("[]", "not_an_object"),
            (r#"{"id":"x"}"#, "validation_failed"),
            (r#"{"type":"helth_check"}"#, "unknown_command"),
            (r#"{"type":"get_state"}"#, "validation_failed"),
        ] {
            client.send_text(text).await;
            let answer = client.expect("a response", |frame| frame["type"] == "response").await;
            assert!(fits(&answer, &json!({"success": false, "code": code})), "{text}: {answer}");
        }
        client.send_bytes(br#"{"type":"health_check","id":"h"}"#.to_vec()).await;
        check(&client.answer("h").await, &json!({"success": true, "data": {"healthy": true}}));
        let rest = client.rest(std::time::Duration::from_millis(50)).await;
        let kinds: Vec<&str> = rest.iter().filter_map(|frame| frame["type"].as_str()).collect();
        assert_eq!(kinds, ["command_accepted", "command_started", "command_finished"]);
    });
}

#[test]
fn every_read_of_a_session_is_answered() {
    let serving = Serving::start(Script::new().then(Answer::new().text("Hi.").usage(10, 2).reply()));
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        client.ask(&json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Hello"})).await;
        for (name, shape) in [
            ("get_commands", json!({"commands": []})),
            ("get_skills", json!({"skills": []})),
            ("get_state", json!({"messageCount": 2, "thinkingLevel": "medium"})),
            ("get_messages", json!({"messages": [{"role": "user"}, {"role": "assistant"}]})),
            ("get_session_stats", json!({"userMessages": 1, "assistantMessages": 1, "tokens": {"total": 12}})),
            ("get_fork_messages", json!({"messages": [{"text": "Hello"}]})),
            ("get_last_assistant_text", json!({"text": "Hi."})),
            ("get_context_usage", json!({"contextWindow": 20000})),
            ("get_queue", json!({"items": []})),
            ("list_requests", json!({"requests": [{"provider": "scripted", "model": "model"}], "hasMore": false})),
            ("list_files", json!({"files": [], "truncated": false})),
            ("list_session_files", json!({"files": [{}]})),
        ] {
            let answer = client.ask(&json!({"type": name, "id": name, "sessionId": "s"})).await;
            check(&answer, &json!({"success": true, "sessionVersion": 1, "data": shape}));
        }
        let models = client.ask(&json!({"type": "get_available_models", "id": "m", "sessionId": "s"})).await;
        let names = models["data"]["models"].as_array().expect("a list").iter();
        let names: Vec<String> = names.map(|model| format!("{}/{}", model["provider"], model["id"])).collect();
        for name in [r#""demo"/"demo""#, r#""scripted"/"model""#, r#""scripted"/"other""#] {
            assert!(names.iter().any(|known| known == name), "{name} is not among {names:?}");
        }
        let requests = client.ask(&json!({"type": "list_requests", "id": "r", "sessionId": "s"})).await;
        let request = &requests["data"]["requests"][0]["requestId"];
        let envelope =
            client.ask(&json!({"type": "get_envelope", "id": "e", "sessionId": "s", "requestId": request})).await;
        check(&envelope, &json!({"success": true, "data": {"requestId": request}}));
        let strip =
            client.ask(&json!({"type": "get_strip", "id": "strip", "sessionId": "s", "requestId": request})).await;
        let told = strip["data"]["strip"]["segments"].as_array().expect("segments").len();
        let messages = envelope["data"]["envelope"]["messages"].as_array().expect("messages").iter();
        let kept: usize = messages.filter_map(|message| Some(message["segments"].as_array()?.len())).sum();
        assert_eq!(told, kept, "every segment is in the strip");
        assert!(strip.to_string().len() * 4 < envelope.to_string().len(), "and nothing of what it says: {strip}");
        let nowhere =
            client.ask(&json!({"type": "get_strip", "id": "none", "sessionId": "s", "requestId": "r-none"})).await;
        check(&nowhere, &json!({"success": false, "code": "not_found"}));
        let tools = client.ask(&json!({"type": "get_tools", "id": "t", "sessionId": "s"})).await;
        let names: Vec<&str> = tools["data"]["tools"]
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|tool| tool["name"].as_str())
            .collect();
        assert!(
            ["read", "write", "edit", "bash", "grep", "find", "ls"].iter().all(|name| names.contains(name)),
            "{names:?}"
        );
    });
}

#[test]
fn tool_that_is_not_there_takes_no_others_away() {
    let serving = Serving::start(Script::new());
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        check(
            &client
                .ask(&json!({"type": "set_active_tools", "id": "1", "sessionId": "s", "tools": ["raed", "bash"]}))
                .await,
            &json!({"success": false, "code": "not_found", "error": "Tool raed not found"}),
        );
        check(
            &client.ask(&json!({"type": "set_active_tools", "id": "2", "sessionId": "s", "tools": ["read"]})).await,
            &json!({"success": true, "data": {"tools": ["read"]}}),
        );
    });
}

#[test]
fn lists_tell_what_sessions_cost_loaded_or_not() {
    let mut serving = Serving::start(Script::new().then(Answer::new().text("Hi.").usage(1000, 0).reply()));
    let manifest = read(&serving.room.at("providers/scripted.yaml")).expect("the room made it");
    let priced = manifest.replace("id: scripted", "id: priced");
    let priced = priced.replace("name: Other", "name: Other\n      pricing: { input_per_1m: 2500, output_per_1m: 0 }");
    write(&serving.room.at("providers/priced.yaml"), priced.as_bytes());
    let before = serving.block_on(async {
        let mut client = serving.with_session("").await;
        client.ask(&json!({"type": "set_session_name", "id": "n", "sessionId": "s", "name": "Greeting"})).await;
        client
            .ask(&json!({"type": "set_model", "id": "m", "sessionId": "s", "provider": "priced", "modelId": "other"}))
            .await;
        client.ask(&json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Hello"})).await;
        listed(&mut client).await
    });
    for told in &before {
        check(told, &json!({"sessionName": "Greeting", "messageCount": 2, "cost": 2.5}));
        assert!(told["updatedAt"].as_str().is_some_and(|at| at.ends_with('Z')), "{told}");
    }
    serving.restart(Signal::SIGTERM);
    let after = serving.block_on(async { listed(&mut serving.connect("").await).await });
    for (before, after) in before.iter().zip(&after) {
        for member in ["sessionName", "messageCount", "cost", "updatedAt", "createdAt"] {
            assert_eq!(before[member], after[member], "{member} of {after}");
        }
    }
}

#[test]
fn pages_of_messages_go_on_above_the_summary_of_a_compaction() {
    let answer = |text: &str| Answer::new().text(text).usage(10, 2).reply();
    let long = "Words and more words. ".repeat(80);
    let [one, two] = ["One.", "Two."].map(|said| answer(&format!("{said} {long}")));
    let script = Script::new().then(one).then(two).then(answer("Three.")).then(answer("They counted."));
    let mut serving = Serving::prepared(script, &[], |room| {
        write(&room.at("agent/settings.json"), br#"{"compaction": {"keepRecentTokens": 3, "reserveTokens": 100}}"#);
    });
    let page = |id: &str, before: Option<&Value>| {
        let mut wanted = json!({"type": "get_messages", "id": id, "sessionId": "s", "limit": 3});
        if let Some(before) = before {
            wanted["before"] = before.clone();
        }
        wanted
    };
    let roles = |answer: &Value| -> Vec<String> {
        let messages = answer["data"]["messages"].as_array().expect("messages").iter();
        messages.map(|message| message["role"].as_str().unwrap_or_default().to_owned()).collect()
    };
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        for question in ["first", "second", "third"] {
            check(
                &client.ask(&json!({"type": "prompt", "id": question, "sessionId": "s", "message": question})).await,
                &json!({"success": true}),
            );
        }
        let compacted = client.ask(&json!({"type": "compact", "id": "c", "sessionId": "s"})).await;
        check(&compacted, &json!({"success": true}));
    });
    // Also what is read from disk by a server that has not seen it.
    serving.restart(Signal::SIGTERM);
    serving.block_on(async {
        let mut client = serving.connect("").await;
        let shown = client.ask(&json!({"type": "get_messages", "id": "all", "sessionId": "s"})).await;
        assert_eq!(roles(&shown), ["compactionSummary", "user", "assistant"], "what the model is shown: {shown}");
        let last = client.ask(&page("1", None)).await;
        assert_eq!(roles(&last), ["compactionSummary", "user", "assistant"], "{last}");
        check(&last, &json!({"data": {"hasMore": true}}));
        let above = client.ask(&page("2", Some(&last["data"]["entryIds"][0]))).await;
        assert_eq!(roles(&above), ["assistant", "user", "assistant"], "{above}");
        check(&above, &json!({"data": {"hasMore": true}}));
        let first = client.ask(&page("3", Some(&above["data"]["entryIds"][0]))).await;
        assert_eq!(roles(&first), ["user"], "{first}");
        check(&first, &json!({"data": {"messages": [{"content": [{"text": "first"}]}], "hasMore": false}}));
        // And down again, across the summary.
        let after = json!({"type": "get_messages", "id": "down", "sessionId": "s", "limit": 4, "after": above["data"]["entryIds"][0]});
        let down = client.ask(&after).await;
        assert_eq!(roles(&down), ["user", "assistant", "compactionSummary", "user"], "{down}");
        check(&down, &json!({"data": {"hasMore": true}}));
        let nowhere = client.ask(&page("4", Some(&json!("ffffffff")))).await;
        check(&nowhere, &json!({"success": false, "field": "before"}));
    });
}

#[test]
fn sessions_are_found_by_what_was_said_first_loaded_or_not() {
    let mut serving = Serving::start(Script::new().then(Answer::new().text("Hi.").usage(10, 2).reply()));
    let found = |id: &str, search: &str| json!({"type": "list_sessions", "id": id, "search": search});
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        client.ask(&json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Paint the FENCE"})).await;
        check(&client.ask(&found("1", "the fence")).await, &json!({"data": {"sessions": [{"sessionId": "s"}]}}));
        check(&client.ask(&found("2", "the gate")).await, &json!({"data": {"sessions": []}}));
        // Nobody has a price for the scripted model.
        check(
            &client.ask(&json!({"type": "get_session_stats", "id": "3", "sessionId": "s"})).await,
            &json!({"data": {"cost": 0, "costAtLeast": true}}),
        );
    });
    serving.restart(Signal::SIGTERM);
    serving.block_on(async {
        let mut client = serving.connect("").await;
        check(&client.ask(&found("1", "the fence")).await, &json!({"data": {"sessions": [{"sessionId": "s"}]}}));
        check(&client.ask(&found("2", "the gate")).await, &json!({"data": {"sessions": []}}));
    });
}

#[test]
fn compaction_leaves_the_opening_of_a_session_its_length_and_where_it_can_be_forked() {
    let mut script = Script::new();
    for answer in ["One.", "Two.", "Three.", "In short: much was said."] {
        script = script.then(Answer::new().text(answer).usage(10, 2).reply());
    }
    let mut serving = Serving::prepared(script, &[], |room| {
        write(&room.at("agent/settings.json"), br#"{"compaction": {"keepRecentTokens": 3, "reserveTokens": 100}}"#);
    });
    let told = json!({"firstMessage": "first", "messageCount": 6});
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        for question in ["first", "second", "third"] {
            let said = json!({"type": "prompt", "id": question, "sessionId": "s", "message": question});
            check(&client.ask(&said).await, &json!({"success": true}));
        }
        listed(&mut client).await.iter().for_each(|session| check(session, &told));
        let compacted = client.ask(&json!({"type": "compact", "id": "c", "sessionId": "s"})).await;
        check(&compacted, &json!({"success": true}));
        listed(&mut client).await.iter().for_each(|session| check(session, &told));
        let found = client.ask(&json!({"type": "list_sessions", "id": "found", "search": "FIRST"})).await;
        check(&found, &json!({"data": {"sessions": [{"sessionId": "s"}]}}));
    });
    // Also of one that is read from disk, with a summary in the place of how it began.
    serving.restart(Signal::SIGTERM);
    serving.block_on(async {
        let mut client = serving.connect("").await;
        let forks = client.ask(&json!({"type": "get_fork_messages", "id": "f", "sessionId": "s"})).await;
        check(&forks, &json!({"data": {"messages": [{"text": "first"}, {"text": "second"}, {"text": "third"}]}}));
        listed(&mut client).await.iter().for_each(|session| check(session, &told));
    });
}

#[test]
fn both_lists_tell_what_was_said_first_without_the_files_before_it() {
    let mut serving = Serving::start(Script::new().then(Answer::new().text("A fence.").usage(10, 2).reply()));
    let message = format!("<file name=\"/p/fence.txt\">\n{}\n</file>\n\nWhat is\nin it?", "wood ".repeat(1000));
    let told = json!({"firstMessage": "What is in it?"});
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        client.ask(&json!({"type": "prompt", "id": "p", "sessionId": "s", "message": message})).await;
        listed(&mut client).await.iter().for_each(|session| check(session, &told));
    });
    // Nor is it forgotten when nobody has loaded it yet.
    serving.restart(Signal::SIGTERM);
    serving.block_on(async {
        let mut client = serving.connect("").await;
        listed(&mut client).await.iter().for_each(|session| check(session, &told));
    });
}

/// The only session, as the list of loaded ones and that of stored ones have it.
async fn listed(client: &mut Client) -> [Value; 2] {
    let listed = client.ask(&json!({"type": "list_sessions", "id": "listed"})).await;
    let stored = client.ask(&json!({"type": "list_stored_sessions", "id": "stored"})).await;
    [listed["data"]["sessions"][0].clone(), stored["data"]["sessions"][0].clone()]
}

#[test]
fn model_without_a_key_is_told_with_the_variable_to_set() {
    let own = r#"{"providers": {"acme": {"baseUrl": "https://acme.example/v1", "api": "openai-completions",
        "apiKey": "$MY_ACME_KEY", "models": [{"id": "m"}]}}}"#;
    let serving = Serving::prepared(Script::new(), &[], |room| write(&room.at("agent/models.json"), own.as_bytes()));
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        let set = |id: &str, provider: &str, model: &str| json!({"type": "set_model", "id": id, "sessionId": "s", "provider": provider, "modelId": model});
        check(
            &client.ask(&set("0", "acme", "m")).await,
            &json!({"success": false, "code": "model_not_found", "field": "provider",
                "error": "Model acme/m has no credential: set MY_ACME_KEY or ACME_API_KEY"}),
        );
        check(
            &client.ask(&set("1", "openai", "gpt-5.5")).await,
            &json!({"success": false, "code": "model_not_found", "field": "provider",
                "error": "Model openai/gpt-5.5 has no credential: set OPENAI_API_KEY"}),
        );
        // Its provider may have it: the answer says what to do then.
        let unlisted = client.ask(&set("2", "scripted", "nobody")).await;
        check(
            &unlisted,
            &json!({"success": false, "code": "model_not_found", "field": "modelId", "error": "Model not found: scripted/nobody"}),
        );
        let hint = unlisted["hint"].as_str().unwrap_or_default();
        assert!(hint.contains("metadata.models") && hint.contains("--model"), "{unlisted}");
        let unknown = client.ask(&set("4", "nobody", "m")).await;
        check(&unknown, &json!({"success": false, "code": "model_not_found", "error": "Model not found: nobody/m"}));
        assert_eq!(unknown["field"], Value::Null, "{unknown}");
        check(&client.ask(&set("3", "scripted", "other")).await, &json!({"success": true}));
        let told = client.ask(&json!({"type": "get_available_models", "id": "5", "sessionId": "s"})).await;
        let lacking = told["data"]["lacking"].as_array().expect("a list");
        let expected = json!({"provider": "openai", "id": "gpt-5.5", "needs": ["OPENAI_API_KEY"]});
        assert!(lacking.contains(&expected), "{lacking:?}");
        assert!(lacking.iter().all(|model| model["provider"] != "scripted"), "{lacking:?}");
    });
}

#[test]
fn models_that_one_cannot_talk_to_are_not_offered() {
    let keys = r#"{"openai": {"type": "api_key", "key": "sk-planted"}}"#;
    let serving = Serving::prepared(Script::new(), &[], |room| write(&room.at("agent/auth.json"), keys.as_bytes()));
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        let told = client.ask(&json!({"type": "get_available_models", "id": "1", "sessionId": "s"})).await;
        let names = |list: &str| -> Vec<String> {
            let models = told["data"][list].as_array().expect("a list").iter();
            models.map(|it| format!("{}/{}", it["provider"].as_str().unwrap(), it["id"].as_str().unwrap())).collect()
        };
        let (offered, lacking) = (names("models"), names("lacking"));
        assert!(offered.contains(&"openai/gpt-5.5".to_owned()), "{offered:?}");
        assert!(lacking.iter().any(|name| name.starts_with("cohere/command")), "{lacking:?}");
        let is_mute =
            |name: &&String| ["embed", "rerank", "whisper", "tts-", "gpt-image"].iter().any(|it| name.contains(it));
        let mute: Vec<&String> = offered.iter().chain(&lacking).filter(is_mute).collect();
        assert!(mute.is_empty(), "{mute:?}");
    });
}

#[test]
fn model_whose_key_travels_in_the_clear_is_told_when_it_is_chosen() {
    // On Linux this address leads to this machine, and it is none of those that are near.
    let own = r#"{"providers": {"acme": {"baseUrl": "http://0.0.0.0:9/v1", "api": "openai-completions",
        "apiKey": "sk-planted", "models": [{"id": "m"}]}}}"#;
    let serving = Serving::prepared(Script::new(), &[], |room| write(&room.at("agent/models.json"), own.as_bytes()));
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        client.ask(&json!({"type": "subscribe", "id": "hear", "sessionId": "s"})).await;
        client
            .send(&json!({"type": "set_model", "id": "m", "sessionId": "s", "provider": "acme", "modelId": "m"}))
            .await;
        let told = client.expect("a notice", |frame: &Value| frame["event"]["type"] == "input_notice").await;
        let message = told["event"]["message"].as_str().unwrap_or_default();
        assert!(message.starts_with("acme: the credential goes over http to a server elsewhere"), "{told}");
        assert!(!told.to_string().contains("sk-planted"), "{told}");
    });
}

#[test]
fn output_of_a_command_says_to_which_it_belongs() {
    let serving = Serving::start(Script::new());
    serving.block_on(async {
        let mut own = serving.with_session("?clientId=own").await;
        let mut other = serving.connect("?clientId=other").await;
        for client in [&mut own, &mut other] {
            let heard = client.ask(&json!({"type": "subscribe", "id": "hear", "sessionId": "s"})).await;
            assert_eq!(heard["success"], true, "{heard}");
        }
        for id in ["first", "second"] {
            own.send(&json!({"type": "bash", "id": id, "sessionId": "s", "command": format!("echo {id}")})).await;
        }
        for id in ["first", "second"] {
            let is_update = |frame: &Value| frame["event"]["type"] == "bash_execution_update";
            let told = own.expect("output", is_update).await["event"].clone();
            let expected = json!({"type": "bash_execution_update", "id": id, "delta": format!("{id}\n")});
            assert_eq!(told, expected);
            // To others it has the name that lifecycle events tell them.
            let is_begun = |frame: &Value| frame["type"] == "command_started" && frame["data"]["commandType"] == "bash";
            let name = other.expect("its begin", is_begun).await["data"]["commandId"].clone();
            let told = other.expect("output", is_update).await["event"]["id"].clone();
            assert!(name.as_str().is_some_and(|name| name.starts_with("other:")), "{name}");
            assert_eq!(told, name);
        }
    });
}

#[test]
fn model_at_an_address_of_its_own_can_be_chosen_again() {
    for (more, provider, model) in
        [(&[][..], "scripted", "model"), (&["--provider", "server"], "server", "scripted/model")]
    {
        let elsewhere = Room::new(Script::new().otherwise(Answer::new().text("From elsewhere.").reply()));
        let url = elsewhere.server.url();
        let arguments: Vec<&str> = ["--base-url", &url].into_iter().chain(more.iter().copied()).collect();
        let here = Script::new().otherwise(Answer::new().text("From here.").reply());
        let serving = Serving::with(here, &arguments);
        serving.block_on(async {
            let mut client = serving.with_session("").await;
            let listed = client.ask(&json!({"type": "get_available_models", "id": "l", "sessionId": "s"})).await;
            let models = listed["data"]["models"].as_array().expect("a list");
            let found: Vec<&Value> =
                models.iter().filter(|it| it["provider"] == provider && it["id"] == model).collect();
            assert!(matches!(found[..], [one] if one["baseUrl"].as_str().is_some_and(|at| at.starts_with(&url))), "{found:#?}");
            for (id, provider, model, said) in
                [("1", "scripted", "other", "From here."), ("2", provider, model, "From elsewhere.")]
            {
                let set = json!({"type": "set_model", "id": format!("s{id}"), "sessionId": "s", "provider": provider, "modelId": model});
                let set = client.ask(&set).await;
                assert_eq!(set["success"], true, "{set}");
                client.ask(&json!({"type": "prompt", "id": id, "sessionId": "s", "message": "Where?"})).await;
                let last = json!({"type": "get_last_assistant_text", "id": format!("t{id}"), "sessionId": "s"});
                assert_eq!(client.ask(&last).await["data"]["text"], said);
            }
        });
    }
}

#[test]
fn extensions_are_announced_where_they_can_run() {
    for (arguments, expected) in [(&[][..], true), (&["--no-extensions"][..], false)] {
        let serving = Serving::with(Script::new(), arguments);
        serving.block_on(async {
            let mut client = serving.open("?lifecycle=none").await;
            let ready = client.next().await.expect("it comes first");
            let features = ready["data"]["features"].clone();
            let is_there = features.as_array().expect("a list").contains(&json!("extensions"));
            assert_eq!(is_there, expected, "{arguments:?} {features}");
        });
    }
}

#[test]
fn history_tells_of_commands_of_others_what_everybody_hears_of_them() {
    let serving = Serving::start(Script::new());
    serving.block_on(async {
        let mut one = serving.with_session("?clientId=one&lifecycle=none").await;
        let mut other = serving.connect("?clientId=other&lifecycle=none").await;
        let named = json!({"type": "set_session_name", "id": "mine", "sessionId": "s", "name": "A", "idempotencyKey": "k",
            "dependsOn": []});
        assert_eq!(one.ask(&named).await["success"], true);
        let failed = json!({"type": "set_session_name", "id": "failed", "sessionId": "none", "name": "A"});
        assert_eq!(one.ask(&failed).await["success"], false);
        let history = json!({"type": "get_command_history", "id": "h"});
        let entries = |answer: Value| answer["data"]["entries"].as_array().expect("a list").clone();
        let own = entries(one.ask(&history).await);
        assert!(own.iter().any(|entry| entry["commandId"] == "mine" && entry["idempotencyKey"] == "k"), "{own:#?}");
        assert!(own.iter().any(|entry| entry["error"].is_string()), "{own:#?}");
        let told = entries(other.ask(&history).await);
        assert_eq!(told.len(), own.len());
        for entry in &told {
            assert!(entry["commandId"].as_str().is_some_and(|id| id.starts_with("other:")), "{entry}");
            assert!(entry.get("idempotencyKey").is_none() && entry.get("error").is_none(), "{entry}");
            assert_eq!(entry["fingerprint"], "", "{entry}");
        }
        let sought = json!({"type": "get_command_history", "id": "h2", "commandId": "mine"});
        assert_eq!(entries(other.ask(&sought).await), Vec::<Value>::new());
        assert!(!entries(one.ask(&sought).await).is_empty());
    });
}
