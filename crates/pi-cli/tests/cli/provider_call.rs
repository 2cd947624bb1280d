//! `pi provider call`: what models do beside talking, against a server on loopback.

use std::{io::Write as _, process::Stdio};

use insta::assert_snapshot;
use pi_testkit::server::{Reply, Script};
use serde_json::{Value, json};

use crate::{
    server::{Running, manifest, quiet_world, refusal},
    world::{World, shown},
};

/// A server of the OpenAI kind that can do everything.
fn running() -> Running {
    let embeddings = json!({"model": "e", "usage": {"prompt_tokens": 4, "total_tokens": 4}, "data": [
        {"index": 0, "embedding": [0.1, -0.25, 3.0, 4.5, 5.0]}, {"index": 1, "embedding": [1, 2, 3, 4, 5]}]});
    let ranking = json!({"results": [{"index": 0, "relevance_score": 0.125}, {"index": 1, "relevance_score": 0.975}]});
    let picture = json!({"data": [{"b64_json": "iVBORw0KGgo="}, {"b64_json": "iVBORw0KGgo="}]});
    let batch = |status: &str| {
        json!({"id": "batch_7", "status": status, "output_file_id": "file_2",
        "request_counts": {"total": 2, "completed": 1, "failed": 1}})
    };
    let answer = json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": "Because."}, "finish_reason": "stop"}]});
    let results = [
        json!({"custom_id": "line-1", "response": {"status_code": 200, "body": answer}}),
        json!({"custom_id": "b", "response": {"status_code": 429, "body": {"error": {"message": "slow down", "code": "rate_limit_exceeded"}}}}),
    ];
    let results = results.map(|line| format!("{line}\n")).concat();
    let script = Script::new()
        .always("/v1/embeddings", Reply::json(200, &embeddings))
        .always("/v1/rerank", Reply::json(200, &ranking))
        .always("/v1/images/generations", Reply::json(200, &picture))
        .always("/v1/audio/transcriptions", Reply::json(200, &json!({"text": "Hello there."})))
        .always("/v1/audio/speech", Reply::whole(200, "audio/mpeg", b"ID3-sound"))
        .always("/v1/files", Reply::json(200, &json!({"id": "file_1"})))
        .always("/v1/files/file_2/content", Reply::whole(200, "application/jsonl", results.as_bytes()))
        .always("/v1/batches", Reply::json(200, &batch("validating")))
        .always("/v1/batches/batch_7", Reply::json(200, &batch("completed")))
        .always("/v1/batches/batch_7/cancel", Reply::json(200, &batch("cancelling")))
        .otherwise(refusal(404, "not_found", "no such path"));
    Running::new(script)
}

/// The provider `acme` with models for everything, on that server.
fn world(running: &Running) -> World {
    let capabilities =
        "required: [text, streaming, tools]\n  optional: [embeddings, rerank, image_generation, stt, tts, batch]";
    let models = r"metadata:
  models:
    vectors:
      pricing: { input_per_1m: 1000.0, output_per_1m: 0.0 }
      modalities: { input: [text], output: [embedding] }
    order: { modalities: { input: [text], output: [ranking] } }
    brush: { modalities: { input: [text], output: [image] } }
    ear: { modalities: { input: [audio], output: [text] } }
    voice: { modalities: { input: [text], output: [audio] } }";
    let text = manifest("acme", &running.base_url())
        .replace("required: [text, streaming, tools]", capabilities)
        .replace("metadata:\n  models:", models);
    quiet_world()
        .with("agent/providers/acme.yaml", text)
        .with("said.mp3", b"ID3-recording")
        .with("texts.txt", "first\n\nsecond\n")
        .with("questions.txt", "Why?\n{\"id\": \"b\", \"question\": \"How?\"}\n")
}

fn call(world: &World, running: &Running, arguments: &[&str]) -> String {
    let mut command = world.command("provider call");
    command.args(arguments).env("PI_CODING_AGENT_DIR", "agent").env("ACME_KEY", "sk-planted-0815");
    let output = command.output().expect("pi runs");
    let told = running.without_address(&shown(&output));
    assert!(!told.contains("sk-planted"), "{told}");
    told
}

fn line(world: &World, running: &Running, arguments: &[&str]) -> Value {
    let told = call(world, running, arguments);
    serde_json::from_str(told.lines().next().unwrap_or_default()).unwrap_or_else(|_| panic!("{told}"))
}

#[test]
fn texts_become_vectors() {
    let running = running();
    let world = world(&running);
    assert_snapshot!(call(&world, &running, &["embed", "first", "second"]), @"
    first: 5 numbers, 0.1, -0.25, 3, 4.5, …
    second: 5 numbers, 1, 2, 3, 4, …
    --- on standard error
    asking acme/vectors: the first model that can do this and can be asked now; --model names another
    acme/vectors · 4 tokens in, 0 out · $0.004000
    --- exit 0
    ");
    let asked = &running.server.requests()[0];
    assert_eq!(asked.json(), json!({"model": "vectors", "input": ["first", "second"]}));
    assert_eq!(asked.header("authorization"), Some("Bearer sk-planted-0815"));
    let machine = line(&world, &running, &["embed", "--file", "texts.txt", "--json"]);
    assert_eq!(machine["result"]["vectors"][0], json!([0.1, -0.25, 3.0, 4.5, 5.0]));
    assert_eq!((&machine["operation"], &machine["model"]), (&json!("embed"), &json!("acme/vectors")));
    assert_eq!(machine["cost"]["total"], json!(0.004));
    let told = call(&world, &running, &["embed", "first", "second", "-o", "out/vectors.jsonl"]);
    assert!(told.contains("the folder out was not there; it was made"), "{told}");
    let first = world.read("out/vectors.jsonl").lines().next().unwrap_or_default().to_owned();
    assert_eq!(first, r#"{"text":"first","vector":[0.1,-0.25,3.0,4.5,5.0]}"#);
}

#[test]
fn provider_that_is_named_alone_is_asked_for_a_model_that_can() {
    let running = running();
    let world = world(&running);
    for (words, model) in [(["embed", "first"], "vectors"), (["rerank", "Which?"], "order")] {
        let named = [&words[..], &["one", "two", "--model", "acme", "--dry-run", "--json"]].concat();
        let shown = line(&world, &running, &named);
        assert_eq!(shown["body"]["model"], json!(model), "{words:?}");
    }
    let base = running.base_url();
    let there = ["embed", "first", "--model", "acme", "--base-url", &base, "--dry-run", "--json"];
    assert_eq!(line(&world, &running, &there)["body"]["model"], json!("vectors"), "wherever it is");
    let told = call(&world, &running, &["embed", "first", "--model", "acme/order", "--dry-run"]);
    assert!(told.contains("acme/order is not known to do this"), "{told}");
    let told = call(&world, &running, &["embed", "first", "--model", "acme/vectors", "--dry-run"]);
    assert!(!told.contains("is not known"), "{told}");
    assert!(running.server.requests().is_empty());
}

/// Its usual model talks, and nobody asked for that.
#[test]
fn provider_without_a_model_that_can_is_asked_for_one() {
    let running = running();
    let world = world(&running);
    let text = world.read("agent/providers/acme.yaml");
    let talks = text.lines().filter(|line| !line.contains("[embedding]")).collect::<Vec<_>>().join("\n") + "\n";
    let world = world.with(
        "agent/providers/acme.yaml",
        talks.replace("    vectors:\n", "    vectors:\n      modalities: { input: [text], output: [text] }\n"),
    );
    let base = running.base_url();
    for more in [&[][..], &["--base-url", &base]] {
        let told = call(&world, &running, &[&["embed", "first", "--model", "acme"], more].concat());
        assert!(told.contains("error: acme lists no model that embeds\nhint: name one: --model acme/MODEL"), "{told}");
    }
    assert!(running.server.requests().is_empty());
}

#[test]
fn texts_come_from_a_pipe() {
    let running = running();
    let world = world(&running);
    let mut command = world.command("provider call embed - --dry-run --json");
    command.env("PI_CODING_AGENT_DIR", "agent").env("ACME_KEY", "sk-planted-0815");
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().expect("pi starts");
    child.stdin.take().expect("a pipe").write_all(b"first\n\nsecond\n").expect("pi reads its input");
    let told = shown(&child.wait_with_output().expect("pi runs"));
    let shown: Value =
        serde_json::from_str(told.lines().next().unwrap_or_default()).unwrap_or_else(|_| panic!("{told}"));
    assert_eq!(shown["body"]["input"], json!(["first", "second"]));
}

#[test]
fn texts_are_put_in_order() {
    let running = running();
    let told = call(&world(&running), &running, &["rerank", "Which?", "one", "two"]);
    assert!(told.starts_with("0.9750  two\n0.1250  one\n"), "{told}");
}

#[test]
fn pictures_and_speech_go_to_files_that_are_new() {
    let running = running();
    let world = world(&running);
    let told = call(&world, &running, &["draw", "a cat", "-o", "cat.png", "--count", "2", "--size", "64x64"]);
    assert!(told.contains("written to cat.png · written to cat-2.png"), "{told}");
    assert_eq!(
        running.server.requests()[0].json(),
        json!({"model": "brush", "prompt": "a cat", "n": 2, "size": "64x64"})
    );
    let told = call(&world, &running, &["speak", "Hello", "--voice", "alloy", "-o", "hello.mp3"]);
    assert!(told.starts_with("audio/mpeg of 9 bytes\n"), "{told}");
    assert_eq!(world.read("hello.mp3"), "ID3-sound");
    assert_eq!(running.server.requests()[1].json()["response_format"], "mp3");
    let before = running.server.requests().len();
    let told = call(&world, &running, &["draw", "a dog", "-o", "new.png", "--count", "2", "--model", "acme/brush"]);
    assert!(told.ends_with("exit 0"), "{told}");
    let told = call(&world, &running, &["speak", "Hello", "--voice", "alloy", "-o", "hello.mp3"]);
    assert!(told.contains("error: cannot write hello.mp3") && told.ends_with("exit 2"), "{told}");
    assert_eq!(running.server.requests().len(), before + 1, "nothing is paid for that cannot be kept");
}

#[test]
fn recordings_become_text() {
    let running = running();
    let told = call(&world(&running), &running, &["transcribe", "said.mp3", "--language", "en"]);
    assert!(told.starts_with("Hello there.\n"), "{told}");
    let sent = String::from_utf8_lossy(&running.server.requests()[0].body).into_owned();
    assert!(sent.contains("ID3-recording") && sent.contains("said.mp3"), "{sent}");
}

#[test]
fn batch_is_put_up_looked_at_fetched_and_ended() {
    let running = running();
    let world = world(&running);
    let batch = |arguments: &[&str]| {
        let all: Vec<&str> = ["batch"].iter().chain(arguments).chain(&["--model", "acme/small"]).copied().collect();
        call(&world, &running, &all)
    };
    let told = batch(&["submit", "questions.txt", "--max-tokens", "50"]);
    assert!(told.starts_with("batch_7  waiting · 2 questions · 1 answered · 1 failed\n"), "{told}");
    let sent = String::from_utf8_lossy(&running.server.requests()[0].body).into_owned();
    assert!(sent.contains(r#""custom_id":"line-1""#) && sent.contains(r#""custom_id":"b""#), "{sent}");
    assert!(batch(&["status", "batch_7"]).starts_with("batch_7  completed"));
    assert_snapshot!(batch(&["fetch", "batch_7"]), @r#"
    {"id":"line-1","text":"Because."}
    {"id":"b","error":{"message":"acme answered: 429 rate_limited: slow down","code":"E2001","name":"rate_limited"}}
    --- exit 1
    "#);
    assert!(batch(&["cancel", "batch_7"]).starts_with("batch_7  cancelling"));
}

#[test]
fn request_is_shown_instead_of_sent() {
    let running = running();
    let world = world(&running);
    let told = call(&world, &running, &["embed", "first", "--dry-run", "--dimensions", "3"]);
    assert!(told.contains("POST http://HOST/v1/embeddings") && told.contains(r#""dimensions": 3"#), "{told}");
    let told = call(&world, &running, &["transcribe", "said.mp3", "--dry-run"]);
    assert!(told.contains("bytes and is not shown") && !told.contains("ID3-recording"), "{told}");
    let told = call(&world, &running, &["batch", "submit", "questions.txt", "--model", "acme/small", "--dry-run"]);
    assert!(told.contains(r#""custom_id":"line-1""#) && told.contains("POST http://HOST/v1/batches"), "{told}");
    assert!(told.contains(r#""input_file_id": "FILE_ID""#), "{told}");
    let machine = line(&world, &running, &["speak", "Hi", "--voice", "v", "-o", "a.mp3", "--dry-run", "--json"]);
    assert_eq!(machine["body"]["input"], "Hi");
    assert_eq!(running.server.requests().len(), 0);
}

#[test]
fn nobody_who_can_is_told_with_what_to_do() {
    let running = running();
    let output = quiet_world().command("provider call embed Hi").env("PI_CODING_AGENT_DIR", "agent").output();
    assert_snapshot!(shown(&output.expect("pi runs")), @"
    --- on standard error
    error: no model that can be asked now embeds
    hint: `pi models --can embeds` shows which could; set a credential of one, or name one with --model
    --- exit 2
    ");
    let told = call(&world(&running), &running, &["embed", "Hi", "--model", "demo"]);
    assert!(told.contains("demo does not declare embeddings"), "{told}");
    let world = world(&running).with("bad.txt", "Hi\n{\"id\": 1}\n");
    let told = call(&world, &running, &["batch", "submit", "bad.txt", "--model", "acme/small"]);
    assert!(told.contains("error: line 2 of bad.txt is no question"), "{told}");
}

/// A batch as its provider describes it, on a server that knows nothing else but these results.
fn batch_server(description: &Value, results: &[Value]) -> Running {
    let lines: String = results.iter().map(|line| format!("{line}\n")).collect();
    let script = Script::new()
        .always("/v1/batches/batch_7", Reply::json(200, description))
        .always("/v1/files/file_2/content", Reply::whole(200, "application/jsonl", lines.as_bytes()))
        .otherwise(refusal(404, "not_found", "no such path"));
    Running::new(script)
}

fn answered(id: &str, message: &Value, finish: &str) -> Value {
    let body = json!({"choices": [{"index": 0, "message": message, "finish_reason": finish}],
                      "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}});
    json!({"custom_id": id, "response": {"status_code": 200, "body": body}})
}

#[test]
fn batch_goes_to_the_usual_model_and_repeats_no_secret() {
    let running = running();
    let world = world(&running);
    let told = call(&world, &running, &["batch", "submit", "questions.txt"]);
    assert!(told.contains("asking acme/small: the usual model of the first provider"), "{told}");
    let address = format!("{}?key=abcsecret", running.base_url());
    let told = call(&world, &running, &["batch", "status", "batch_7", "--model", "acme/small", "--base-url", &address]);
    assert!(told.contains("--base-url URL`") && !told.contains("abcsecret"), "{told}");
}

#[test]
fn batch_that_ended_badly_is_told_and_not_offered() {
    let errors = json!({"data": [{"message": "line 2 is no question"}]});
    let description = json!({"id": "batch_7", "status": "failed", "errors": errors});
    let running = batch_server(&description, &[]);
    let world = world(&running);
    let fetch = ["batch", "fetch", "batch_7", "--model", "acme/small"];
    assert_snapshot!(call(&world, &running, &fetch), @"
    --- on standard error
    note: the batch has failed: line 2 is no question, and there is nothing to fetch
    --- exit 1
    ");
    let machine = line(&world, &running, &["batch", "fetch", "batch_7", "--model", "acme/small", "--json"]);
    assert_eq!((&machine["state"], &machine["problem"]), (&json!("failed"), &json!("line 2 is no question")));
    assert_snapshot!(call(&world, &running, &["batch", "status", "batch_7", "--model", "acme/small"]), @"
    batch_7  failed · line 2 is no question
    --- exit 1
    ");
}

#[test]
fn answers_that_are_missing_from_a_batch_are_told() {
    let counts = json!({"total": 3, "completed": 3, "failed": 0});
    let batch =
        |state: &str| json!({"id": "batch_7", "status": state, "output_file_id": "file_2", "request_counts": counts});
    let said = json!({"role": "assistant", "content": "Because."});
    for (state, told) in [("completed", ""), ("expired", "the batch has expired")] {
        let running = batch_server(&batch(state), &[answered("a", &said, "stop"), answered("b", &said, "stop")]);
        let shown = call(&world(&running), &running, &["batch", "fetch", "batch_7", "--model", "acme/small"]);
        assert!(shown.starts_with("{\"id\":\"a\",\"text\":\"Because.\"}\n{\"id\":\"b\""), "{shown}");
        assert!(shown.contains("1 of 3 questions came back with neither an answer nor an error"), "{shown}");
        assert!(shown.contains(told) && shown.ends_with("exit 1"), "{shown}");
    }
}

#[test]
fn answers_of_a_batch_say_how_they_ended() {
    let description = json!({"id": "batch_7", "status": "completed", "output_file_id": "file_2"});
    let tool = json!({"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{\"x\":1}"}});
    let results = [
        answered("a", &json!({"role": "assistant", "content": "Beca"}), "length"),
        answered("b", &json!({"role": "assistant", "content": "", "tool_calls": [tool]}), "tool_calls"),
    ];
    let running = batch_server(&description, &results);
    let world = world(&running);
    assert_snapshot!(call(&world, &running, &["batch", "fetch", "batch_7", "--model", "acme/small"]), @r#"
    {"id":"a","text":"Beca"}
    {"id":"b","text":""}
    --- on standard error
    note: a: the answer was cut: it reached its largest length
    --- exit 0
    "#);
    let machine = call(&world, &running, &["batch", "fetch", "batch_7", "--model", "acme/small", "--json"]);
    let lines: Vec<Value> = machine.lines().take(2).map(|line| serde_json::from_str(line).expect(line)).collect();
    assert_eq!((&lines[0]["stop_reason"], &lines[0]["usage"]["input"]), (&json!("length"), &json!(10)));
    assert_eq!(lines[0]["cost"], Value::Null, "the usual price is not that of a batch");
    assert!(machine.contains("note: what the answers cost is not known"), "{machine}");
    let priced =
        world.read("agent/providers/acme.yaml") + "endpoints: { batch: { path: /batches, price_factor: 0.5 } }\n";
    let world = world.with("agent/providers/acme.yaml", priced);
    let half = line(&world, &running, &["batch", "fetch", "batch_7", "--model", "acme/small", "--json"]);
    assert_eq!(half["cost"]["total"], json!(0.00001));
    assert_eq!(lines[1]["tool_calls"], json!([{"id": "c1", "name": "f", "arguments": {"x": 1}}]));
}

#[test]
fn next_step_of_a_batch_repeats_where_it_is() {
    let running = running();
    let base = running.base_url();
    let told = call(
        &world(&running),
        &running,
        &[
            "batch",
            "submit",
            "questions.txt",
            "--model",
            "acme/small",
            "--base-url",
            &base,
            "--api-key-env",
            "ACME_KEY",
        ],
    );
    let next = "`pi provider call batch status batch_7 --model acme/small --base-url http://HOST/v1 \
                --api-key-env ACME_KEY` goes on";
    assert!(told.contains(next), "{told}");
}

#[test]
fn next_step_of_a_batch_names_the_folders_of_manifests() {
    let running = running();
    let text = world(&running).read("agent/providers/acme.yaml");
    let world = quiet_world().with("more/acme.yaml", &text).with("with space/acme.yaml", &text);
    let folders = ["--provider-dir", "more", "--provider-dir", "with space"];
    let told =
        call(&world, &running, &[&["batch", "status", "batch_7", "--model", "acme/small"], &folders[..]].concat());
    let next =
        "`pi provider call batch fetch batch_7 --model acme/small --provider-dir more --provider-dir 'with space'`";
    assert!(told.contains(next), "{told}");
}

/// The cheapest provider with a credential may be one that takes no batches.
#[test]
fn batch_goes_to_the_first_provider_that_takes_one() {
    let running = running();
    let cheap = manifest("aaa", &running.base_url()).replace("output_per_1m: 2.0", "output_per_1m: 0.1");
    let world = world(&running).with("agent/providers/aaa.yaml", cheap);
    let submit = |keys: &[&str]| {
        let mut command = world.command("provider call batch submit questions.txt");
        command.env("PI_CODING_AGENT_DIR", "agent").envs(keys.iter().map(|name| (*name, "sk-planted-0815")));
        running.without_address(&shown(&command.output().expect("pi runs")))
    };
    let told = submit(&["AAA_KEY", "ACME_KEY"]);
    assert!(told.starts_with("batch_7  waiting") && told.contains("asking acme/small: "), "{told}");
    let told = submit(&["AAA_KEY"]);
    assert!(told.contains("error: no provider that can be asked now takes batches"), "{told}");
    assert!(told.contains("hint: set a credential of one that does (acme, anthropic, "), "{told}");
}

#[test]
fn picture_that_is_only_an_address_is_no_file() {
    let answer = json!({"data": [{"url": "https://pictures.example/1.png"}]});
    let running = Running::new(Script::new().otherwise(Reply::json(200, &answer)));
    let world = world(&running);
    assert_snapshot!(call(&world, &running, &["draw", "a cat", "-o", "cat.png"]), @"
    to be fetched for a while at https://pictures.example/1.png
    --- on standard error
    asking acme/brush: the first model that can do this and can be asked now; --model names another
    acme/brush
    note: the provider answered with an address instead of a picture, so no file was written for it
    --- exit 1
    ");
}

#[test]
fn what_guardrails_find_beside_a_chat_is_told() {
    let running = running();
    let rails = "guardrails:
  input_filters: [{ type: house_rules, action: warn, words: [moon] }]
  output_filters: [{ type: greeting, action: mask, words: [Hello] }, { type: diary, action: log, words: [there] }]
";
    let world = world(&running);
    let text = format!("{}{rails}", world.read("agent/providers/acme.yaml"));
    let world = world.with("agent/providers/acme.yaml", text);
    assert_snapshot!(call(&world, &running, &["transcribe", "said.mp3", "--prompt", "about the moon"]), @"
    [REDACTED] there.
    --- on standard error
    asking acme/ear: the first model that can do this and can be asked now; --model names another
    note: guardrail house_rules found something in a text of the prompt
    note: guardrail greeting found something in a text of the answer and masked it
    guardrail diary found something in a text of the answer
    acme/ear
    --- exit 0
    ");
    let found = "note: guardrail house_rules found something in a text of the prompt\n";
    let told = call(&world, &running, &["transcribe", "said.mp3", "--prompt", "about the moon", "--dry-run"]);
    assert_eq!(told.matches(found).count(), 1, "{told}");
    let moons = world.with("moons.txt", "What is a moon?\nAnd another moon?\n");
    let told = call(&moons, &running, &["batch", "submit", "moons.txt", "--model", "acme/small", "--dry-run"]);
    assert!(told.contains("guardrail house_rules found something in texts of the prompt"), "{told}");
    let world = moons;
    let told = call(&world, &running, &["embed", "moon", "sun", "--dry-run"]);
    assert!(told.contains("guardrail house_rules found something in a text of the prompt"), "{told}");
    let machine = line(&world, &running, &["transcribe", "said.mp3", "--json"]);
    assert_eq!(machine["findings"].as_array().map(Vec::len), Some(2), "{machine}");
    // What would be refused is refused by a dry run too.
    let strict = world.read("agent/providers/acme.yaml").replace("action: warn", "action: block");
    let world = world.with("agent/providers/acme.yaml", strict);
    for words in [&["transcribe", "said.mp3", "--prompt", "moon"][..], &["batch", "submit", "moons.txt"]] {
        let told = call(&world, &running, &[words, &["--model", "acme", "--dry-run"]].concat());
        assert!(told.contains("error: guardrail house_rules blocked the prompt"), "{told}");
    }
}
