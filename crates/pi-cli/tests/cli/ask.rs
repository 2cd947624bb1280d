//! `pi ask` against the demo and against servers on loopback: what is shown, what is sent, and how it ends.

use std::{process::Stdio, time::Duration};

use insta::assert_snapshot;
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use pi_testkit::server::{Framing, Reply, Script, Step};
use serde_json::{Value, json};

use crate::{
    server::{Running, frame, manifest, quiet_world, refusal, rich_stream, stream},
    world::{World, shown},
};

/// Runs `pi ask` with these arguments, and returns what is seen without what differs from run to run.
fn ask(world: &World, running: &Running, arguments: &[&str]) -> String {
    let mut command = world.command("ask");
    let output = command.args(arguments).output().expect("pi runs");
    without_times(&running.without_address(&shown(&output)))
}

/// Seconds and milliseconds differ.
fn without_times(text: &str) -> String {
    let is_time = |part: &str| part.ends_with(" s") && part[..part.len() - 2].parse::<f64>().is_ok();
    let line = |line: &str| {
        let parts: Vec<&str> = line.split(" · ").map(|part| if is_time(part) { "TIME" } else { part }).collect();
        parts.join(" · ")
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn answer_of_a_server_without_a_manifest_is_streamed() {
    let running = Running::new(Script::new().then(stream(&["Hello", ", ", "world!"])));
    let url = running.base_url();
    assert_snapshot!(ask(&World::new(), &running, &["Hi", "--base-url", &url, "--model", "any/name"]), @r"
    Hello, world!
    --- on standard error
    asking server/any/name: at the address that was given, as a server of the OpenAI kind
    server/any/name · 11 tokens in, 2 out · TIME
    --- exit 0
    ");
    let [request] = <[_; 1]>::try_from(running.server.requests()).expect("one request");
    assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", "/v1/chat/completions"));
    assert_eq!(request.header("authorization"), None);
    assert_eq!(request.json()["model"], "any/name");
    assert_eq!(request.json()["stream"], true);
}

#[test]
fn thinking_is_apart_and_tool_calls_are_shown() {
    let running = Running::new(Script::new().then(rich_stream()));
    let world = World::new().with("tool.json", r#"{"name": "get_time", "description": "Tells the time."}"#);
    let url = running.base_url();
    let arguments = ["Time?", "--base-url", &url, "--model", "m", "--tool", "tool.json", "--tool-choice", "required"];
    assert_snapshot!(ask(&world, &running, &arguments), @r#"
    I ask.
    → get_time {"city":"Paris"}
    --- on standard error
    asking server/m: at the address that was given, as a server of the OpenAI kind
    Let me look. Yes.
    server/m · tokens were not counted · TIME
    --- exit 0
    "#);
    let body = running.server.requests()[0].json();
    assert_eq!((&body["tool_choice"], &body["tools"][0]["function"]["name"]), (&json!("required"), &json!("get_time")));
}

#[test]
fn machine_reads_events_and_a_last_object() {
    let running = Running::new(Script::new().then(stream(&["Hello"])));
    let world = World::new().with("agent/providers/acme.yaml", manifest("acme", &running.base_url()));
    let mut command = world.command("ask Hi --model acme/small --json");
    let output = command.env("PI_CODING_AGENT_DIR", "agent").env("ACME_KEY", "k").output().expect("pi runs");
    let lines: Vec<Value> = String::from_utf8(output.stdout)
        .expect("text")
        .lines()
        .map(|line| serde_json::from_str(line).expect("every line is JSON"))
        .collect();
    let (last, events) = lines.split_last().expect("some lines");
    let names: Vec<_> = events.iter().filter_map(|event| event["event"].as_str()).collect();
    assert_eq!(names, ["PartialContentDelta", "FinalCandidate", "Metadata", "StreamEnd"]);
    assert_eq!(last["message"]["content"], json!([{"type": "text", "text": "Hello"}]));
    assert_eq!(last["model"], "acme/small");
    assert_eq!((&last["usage"]["input"], &last["usage"]["output"]), (&json!(11), &json!(2)));
    let total = last["cost"]["total"].as_f64().expect("a number");
    assert!((total - 0.000015).abs() < 1e-12, "{total}");
}

#[test]
fn whole_answer_is_asked_for_without_a_stream() {
    let body = json!({
        "id": "r1", "model": "m-1", "choices": [{"index": 0, "finish_reason": "length",
            "message": {"role": "assistant", "content": "Half an answ"}}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
    });
    let running = Running::new(Script::new().then(Reply::json(200, &body)));
    let url = running.base_url();
    let arguments = ["Hi", "--base-url", &url, "--model", "m", "--no-stream", "--max-tokens", "4", "--param", "seed=7"];
    assert_snapshot!(ask(&World::new(), &running, &arguments), @r"
    Half an answ
    --- on standard error
    asking server/m: at the address that was given, as a server of the OpenAI kind
    note: the answer was cut: it reached its largest length
    server/m · 3 tokens in, 4 out · TIME
    --- exit 0
    ");
    let body = running.server.requests()[0].json();
    assert_eq!((&body["max_tokens"], &body["seed"], body.get("stream")), (&json!(4), &json!(7), None));
}

#[test]
fn pictures_files_and_standard_input_are_sent() {
    let running = Running::new(Script::new().then(stream(&["ok"])));
    let world = World::new().with("a.png", b"\x89PNG\r\n\x1a\n").with("notes.txt", "some notes");
    let url = running.base_url();
    let arguments = format!("ask Why? --system Short. --image a.png --file notes.txt --model m --base-url {url}");
    let shown = world.run_with_input(&arguments, "piped text\n");
    assert!(shown.starts_with("ok\n"), "{shown}");
    let messages = running.server.requests()[0].json()["messages"].clone();
    assert_eq!(messages[0], json!({"role": "system", "content": "Short."}));
    let text = "<file name=\"notes.txt\">\nsome notes\n</file>\n\npiped text\n\nWhy?";
    assert_eq!(messages[1]["content"][0], json!({"type": "text", "text": text}));
    assert_eq!(messages[1]["content"][1]["image_url"]["url"], "data:image/png;base64,iVBORw0KGgo=");
}

#[test]
fn question_may_be_standard_input() {
    let running = Running::new(Script::new().otherwise(stream(&["ok"])));
    let url = running.base_url();
    for arguments in [format!("ask - --model m --base-url {url}"), format!("ask --model m --base-url {url}")] {
        World::new().run_with_input(&arguments, "From a pipe?");
    }
    let asked: Vec<Value> =
        running.server.requests().iter().map(|it| it.json()["messages"][0]["content"].clone()).collect();
    assert_eq!(asked, ["From a pipe?", "From a pipe?"]);
    assert_snapshot!(World::new().run("ask --model demo"), @r"
    --- on standard error
    error: there is no question
    hint: write it: pi ask 'What is a monad?'; `-` reads standard input
    --- exit 2
    ");
}

#[test]
fn refusals_say_what_to_do_and_have_their_codes() {
    let world = |running: &Running| World::new().with("p/acme.yaml", manifest("acme", &running.base_url()));
    let asked = |reply: Reply, more: &str| {
        let running = Running::new(Script::new().otherwise(reply));
        let world = world(&running);
        let mut command = world.command(&format!("ask Hi --provider-dir p --model acme/small {more}"));
        let output = command.env("ACME_KEY", "sk-wrong").output().expect("pi runs");
        running.without_address(&shown(&output))
    };
    assert_snapshot!(asked(refusal(401, "invalid_api_key", "Incorrect API key provided: sk-wrong."), ""), @r"
    --- on standard error
    error: acme answered: 401 authentication: Incorrect API key provided: [REDACTED].
    hint: the credential is not accepted; `pi provider show acme` says where it comes from
    --- exit 2
    ");
    assert_snapshot!(asked(refusal(401, "invalid_api_key", "Incorrect API key provided: sk-wrong."), "--json"), @r#"
    {"error":{"message":"acme answered: 401 authentication: Incorrect API key provided: [REDACTED].","hint":"the credential is not accepted; `pi provider show acme` says where it comes from","code":"E1002","name":"authentication","retryable":false,"fallbackable":true,"status":401,"provider_code":"invalid_api_key","exit_code":2}}
    --- on standard error
    error: acme answered: 401 authentication: Incorrect API key provided: [REDACTED].
    hint: the credential is not accepted; `pi provider show acme` says where it comes from
    --- exit 2
    "#);
    let limited = refusal(429, "rate_limit_exceeded", "Slow down.")
        .header("retry-after", "7")
        .header("x-request-id", "req_7")
        .header("x-ratelimit-limit-requests", "60")
        .header("x-ratelimit-remaining-requests", "0")
        .header("x-ratelimit-reset-requests", "11.5s");
    assert_snapshot!(asked(limited.clone(), ""), @r"
    --- on standard error
    error: acme answered: 429 rate_limited: Slow down. (request id req_7; 0 of 60 requests left, resets in 12 s)
    hint: wait 7 s and ask again
    --- exit 75
    ");
    assert_snapshot!(asked(limited, "--json"), @r#"
    {"error":{"message":"acme answered: 429 rate_limited: Slow down. (request id req_7; 0 of 60 requests left, resets in 12 s)","hint":"wait 7 s and ask again","code":"E2001","name":"rate_limited","retryable":true,"fallbackable":true,"retry_after_ms":7000,"status":429,"provider_code":"rate_limit_exceeded","request_id":"req_7","limits":{"requests":{"limit":60,"remaining":0,"reset_ms":11500},"tokens":{"limit":null,"remaining":null,"reset_ms":null}},"exit_code":75}}
    --- on standard error
    error: acme answered: 429 rate_limited: Slow down. (request id req_7; 0 of 60 requests left, resets in 12 s)
    hint: wait 7 s and ask again
    --- exit 75
    "#);
    assert_snapshot!(asked(refusal(429, "insufficient_quota", "No money."), ""), @r"
    --- on standard error
    error: acme answered: 429 quota_exhausted: No money.
    hint: there is no money or quota left there; ask another provider
    --- exit 2
    ");
    assert_snapshot!(asked(refusal(500, "server_error", "Oops."), "--no-stream"), @r"
    --- on standard error
    error: acme answered: 500 server_error: Oops.
    hint: ask again
    --- exit 75
    ");
}

#[test]
fn closed_port_is_told_as_such() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port on loopback");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let world = World::new().with("p/acme.yaml", manifest("acme", &format!("http://{address}/v1")));
    let mut command = world.command("ask Hi --provider-dir p --model acme");
    let output = command.env("ACME_KEY", "k").output().expect("pi runs");
    assert_snapshot!(shown(&output).replace(&address.to_string(), "HOST"), @r"
    --- on standard error
    error: nothing answers at http://HOST
    hint: start the server, or say where it is with --base-url URL; `pi models --available` shows what can be asked now
    --- exit 75
    ");
}

#[test]
fn stream_that_breaks_off_is_an_error_after_what_came() {
    let head = Step::Head {
        status: 200,
        headers: vec![("content-type".to_owned(), "text/event-stream".to_owned())],
        framing: Framing::Chunked,
    };
    let piece = frame(&json!({"choices": [{"index": 0, "delta": {"content": "Half of"}}]}));
    let running =
        Running::new(Script::new().then(Reply { steps: vec![head, Step::Bytes(piece.into_bytes()), Step::Cut] }));
    let url = running.base_url();
    assert_snapshot!(ask(&World::new(), &running, &["Hi", "--base-url", &url, "--model", "m"]), @r"
    Half of
    --- on standard error
    asking server/m: at the address that was given, as a server of the OpenAI kind
    error: the answer of http://HOST/v1 ended in the middle
    hint: ask again; if it stays so, the server is not of the OpenAI kind: --provider takes the manifest of another
    --- exit 75
    ");
}

/// The lines of standard output as JSON, and the code.
fn lines(world: &World, running: &Running, arguments: &str) -> (Vec<Value>, Option<i32>) {
    let output = world.command(&format!("ask {arguments} --json")).output().expect("pi runs");
    let text = running.without_address(&String::from_utf8(output.stdout).expect("text"));
    (text.lines().map(|line| serde_json::from_str(line).expect("every line is JSON")).collect(), output.status.code())
}

#[test]
fn machine_reads_how_an_answer_broke_off_and_what_had_come() {
    let beginning = |more: Vec<Step>| {
        let head = Step::Head {
            status: 200,
            headers: vec![("content-type".to_owned(), "text/event-stream".to_owned())],
            framing: Framing::Chunked,
        };
        let piece = frame(&json!({"choices": [{"index": 0, "delta": {"content": "Half of"}}]}));
        Reply { steps: [vec![head, Step::Bytes(piece.into_bytes())], more].concat() }
    };
    let busy = frame(&json!({"error": {"message": "Too much.", "type": "overloaded_error", "code": "overloaded"}}));
    for (reply, code, message, exit) in [
        (beginning(vec![Step::Cut]), "E3001", "the answer of http://HOST/v1 ended in the middle", 75),
        (
            beginning(vec![Step::Bytes(busy.into_bytes())]),
            "E3002",
            "http://HOST/v1 answered: overloaded: Too much.",
            75,
        ),
    ] {
        let running = Running::new(Script::new().then(reply));
        let (lines, ended) = lines(&World::new(), &running, &format!("Hi --model m --base-url {}", running.base_url()));
        let [delta, broken, last] = &lines[..] else { panic!("{lines:?}") };
        assert_eq!(delta, &json!({"event": "PartialContentDelta", "content": "Half of"}));
        assert_eq!((&broken["event"], &broken["error"]["code"]), (&json!("StreamError"), &json!(code)));
        assert_eq!(last["message"]["content"], json!([{"type": "text", "text": "Half of"}]));
        assert_eq!(last["message"]["stopReason"], "error");
        assert_eq!((&last["error"]["code"], &last["error"]["message"]), (&json!(code), &json!(message)));
        assert_eq!((&last["exit_code"], &last["error"]["exit_code"], ended), (&json!(exit), &json!(exit), Some(exit)));
    }
}

#[test]
fn last_line_has_the_code_whatever_happens() {
    let running =
        Running::new(Script::new().then(stream(&["ok"])).then(stream(&[""])).otherwise(refusal(401, "no", "No.")));
    let arguments = format!("Hi --model m --base-url {}", running.base_url());
    for expected in [0, 1] {
        let (lines, code) = lines(&World::new(), &running, &arguments);
        assert_eq!((&lines.last().expect("a line")["exit_code"], code), (&json!(expected), Some(expected)));
    }
    let refused = |arguments: &str| {
        let (lines, code) = lines(&World::new(), &running, arguments);
        assert_eq!((&lines.last().expect("a line")["error"]["exit_code"], code), (&json!(2), Some(2)), "{arguments}");
    };
    refused(&arguments);
    // Before anybody is asked: wrong arguments, and what is attached and not there.
    refused(&format!("{arguments} --loud"));
    refused(&format!("{arguments} --file gone.txt"));
    refused(&format!("{arguments} --thinking much"));
}

#[test]
fn interrupt_closes_the_connection() {
    let head = Step::Head {
        status: 200,
        headers: vec![("content-type".to_owned(), "text/event-stream".to_owned())],
        framing: Framing::Chunked,
    };
    let piece = frame(&json!({"choices": [{"index": 0, "delta": {"content": "It begins"}}]}));
    let steps = vec![head, Step::Bytes(piece.into_bytes()), Step::Hang];
    let running = Running::new(Script::new().then(Reply { steps }));
    let arguments = format!("ask Hi --model m --base-url {}", running.base_url());
    let world = World::new();
    let mut command = world.command(&arguments);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("pi starts");
    let mut beginning = [0; 9];
    std::io::Read::read_exact(child.stdout.as_mut().expect("a pipe"), &mut beginning).expect("the answer begins");
    assert_eq!(&beginning, b"It begins");
    kill(Pid::from_raw(child.id().try_into().expect("a process id")), Signal::SIGINT).expect("pi runs");
    let output = child.wait_with_output().expect("pi ends");
    assert_eq!(output.status.code(), Some(130));
    assert_snapshot!(String::from_utf8_lossy(&output.stderr), @r"
    asking server/m: at the address that was given, as a server of the OpenAI kind
    error: the call was cancelled
    hint: the connection was closed; ask again
    ");
    running.wait(async {
        tokio::time::timeout(Duration::from_secs(5), running.server.abandoned(1))
            .await
            .expect("the connection is closed");
    });
}

#[test]
fn dry_run_shows_the_request_and_what_is_changed() {
    let world = World::new().with("p/acme.yaml", manifest("acme", "http://127.0.0.1:9/v1"));
    let command = |more: &str| {
        let mut command = world.command(&format!("ask Hi --provider-dir p --model acme/small --dry-run {more}"));
        shown(&command.env("ACME_KEY", "sk-planted").output().expect("pi runs"))
    };
    assert_snapshot!(command("--thinking high --param temperature=0.5"), @r#"
    POST http://127.0.0.1:9/v1/chat/completions
    content-type: application/json
    accept: text/event-stream

    {
      "model": "small",
      "messages": [
        {
          "role": "user",
          "content": "Hi"
        }
      ],
      "temperature": 0.5,
      "stream": true,
      "stream_options": {
        "include_usage": true
      }
    }

    dropped thinking: the model does not think
    --- on standard error
    the credential comes from ACME_KEY
    sent with it and not shown: the header authorization: ***
    --- exit 0
    "#);
    assert_snapshot!(command("--json --max-tokens 9"), @r#"
    {"model":"acme/small","why":"as asked for","method":"POST","url":"http://127.0.0.1:9/v1/chat/completions","headers":{"content-type":"application/json","accept":"text/event-stream"},"body":{"model":"small","messages":[{"role":"user","content":"Hi"}],"max_tokens":9,"stream":true,"stream_options":{"include_usage":true}},"credential":{"available":true,"source":"manifest_env","name":"ACME_KEY","looked_in":["ACME_KEY"]},"hidden":[{"header":"authorization"}],"changes":[],"findings":[],"shortage":null}
    --- exit 0
    "#);
    assert_snapshot!(World::new().run("ask Hi --model groq --dry-run --json"), @r#"
    {"model":"groq/openai/gpt-oss-120b","why":"as asked for","method":"POST","url":"https://api.groq.com/openai/v1/chat/completions","headers":{"content-type":"application/json","accept":"text/event-stream"},"body":{"model":"openai/gpt-oss-120b","messages":[{"role":"user","content":"Hi"}],"reasoning_effort":"low","stream":true,"stream_options":{"include_usage":true}},"credential":{"available":false,"source":"none","looked_in":["GROQ_API_KEY","/home/me/.pi/agent/auth.json"]},"hidden":[],"changes":[{"kind":"changed","option":"thinking","reason":"off is not a level of this model, low is"}],"findings":[],"shortage":null}
    --- exit 0
    "#);
}

#[test]
fn dry_run_says_how_the_credential_travels() {
    let header = "sent with it and not shown: the header";
    for (auth, more, from, place) in [
        ("type: bearer, token_env: ACME_KEY", "", "ACME_KEY", format!("{header} authorization: ***")),
        ("type: custom_header, header: x-key, token_env: ACME_KEY", "", "ACME_KEY", format!("{header} x-key: ***")),
        (
            "type: query_param, param_name: key, token_env: ACME_KEY",
            "",
            "ACME_KEY",
            "sent with it and not shown: key=*** in the address".to_owned(),
        ),
        ("type: none", "--api-key-env MINE", "MINE", format!("{header} authorization: ***")),
    ] {
        let written = manifest("acme", "http://127.0.0.1:9/v1").replace("type: bearer, token_env: ACME_KEY", auth);
        let world = World::new().with("p/acme.yaml", written);
        let line = format!("ask Hi --provider-dir p --model acme/small --dry-run {more}");
        let text = shown_with(&world, &line, &[("ACME_KEY", "sk-planted"), ("MINE", "sk-planted")]);
        let told = format!("the credential comes from {from}\n{place}\n");
        assert!(text.contains(&told) && !text.contains("sk-planted"), "{text}");
    }
}

#[test]
fn folder_of_manifests_that_is_not_there_is_an_error() {
    for line in ["ask Hi --model demo", "models", "provider list", "provider show demo", "-p Hi --no-session"] {
        let told = "--- on standard error
error: no manifests can be read from nowhere: No such file or directory (os error 2)
hint: correct --provider-dir: it names a folder of manifests, or one file
--- exit 2";
        assert_eq!(World::new().run(&format!("{line} --provider-dir nowhere")), told, "{line}");
    }
}

#[test]
fn model_is_chosen_in_order_and_the_reason_is_told() {
    let running = Running::new(Script::new().otherwise(stream(&["ok"])));
    let world = || {
        quiet_world()
            .with("agent/providers/zeta.yaml", manifest("zeta", &running.base_url()))
            .with("agent/providers/beta.yaml", manifest("beta", &running.base_url()))
    };
    let asked = |world: &World, variables: &[(&str, &str)]| {
        let mut command = world.command("ask Hi");
        let output = command.env("PI_CODING_AGENT_DIR", "agent").envs(variables.iter().copied()).output();
        String::from_utf8(output.expect("pi runs").stderr)
            .expect("text")
            .lines()
            .find(|it| it.starts_with("asking"))
            .unwrap_or_default()
            .to_owned()
    };
    let settings = r#"{"defaultProvider": "zeta", "defaultModel": "small"}"#;
    assert_snapshot!(asked(&world().with("agent/settings.json", settings), &[("ZETA_KEY", "k"), ("BETA_KEY", "k")]), @"asking zeta/small: the default in settings.json");
    assert_snapshot!(asked(&world(), &[("ZETA_KEY", "k"), ("BETA_KEY", "k")]), @"asking beta/small: its credential is found in BETA_KEY, and of 2 providers with one its usual model costs least; --model names another");
    assert_snapshot!(asked(&world(), &[("ZETA_API_KEY", "k")]), @"asking zeta/small: its credential is found in ZETA_API_KEY");
    let auth = r#"{"beta": {"type": "api_key", "key": "k"}}"#;
    assert_snapshot!(asked(&world().with("agent/auth.json", auth), &[]), @"asking beta/small: its credential is found in auth.json");
    assert_snapshot!(asked(&world(), &[]), @"asking demo/demo: there is no credential and no server on this machine");
}

#[test]
fn local_server_is_found_and_asked() {
    let script = Script::new()
        .always("/api/version", Reply::json(200, &json!({"version": "0.12.0"})))
        .always("/api/tags", Reply::json(200, &json!({"models": [{"name": "tiny:1b", "details": {"family": "tiny"}}]})))
        .otherwise(stream(&["from here"]));
    let running = Running::new(script);
    let host = running.server.address().to_string();
    let world = World::new();
    let run = |arguments: &str| {
        let output = world.command(arguments).env("OLLAMA_HOST", &host).output().expect("pi runs");
        without_times(&running.without_address(&shown(&output)))
    };
    assert_snapshot!(run("ask Hi --model ollama"), @r"
    from here
    --- on standard error
    ollama/tiny:1b · 11 tokens in, 2 out · TIME
    --- exit 0
    ");
    assert_snapshot!(run("ask Hi --model tiny:1b"), @r"
    from here
    --- on standard error
    ollama/tiny:1b · 11 tokens in, 2 out · TIME
    --- exit 0
    ");
    assert!(run("models ollama/").contains("ollama    tiny:1b"), "{}", run("models ollama/"));
}

/// Whoever names an address does not mean another server, whether or not anybody answers there.
#[test]
fn only_the_server_that_a_variable_names_is_asked() {
    let usual = Running::new(Script::new().otherwise(stream(&["from the usual address"])));
    let manifest = include_str!("../../../pi-provider/manifests/ollama.yaml");
    let manifest = manifest.replace("http://127.0.0.1:11434", &usual.server.url());
    assert!(manifest.contains(&usual.server.url()), "the manifest has another address by now");
    let world = World::new().with("agent/providers/ollama.yaml", manifest);
    let run = |arguments: &str, host: &str| {
        let mut command = world.command(arguments);
        shown(&command.env("PI_CODING_AGENT_DIR", "agent").env("OLLAMA_HOST", host).output().expect("pi runs"))
    };
    for arguments in ["ask Hi --model ollama/x", "-p Hi --model ollama/x", "ask Hi --model ollama"] {
        let told = run(arguments, "127.0.0.1:9");
        assert!(told.contains("nothing answers at http://127.0.0.1:9, which OLLAMA_HOST names"), "{arguments}: {told}");
        assert!(!told.ends_with("--- exit 0\n"), "{arguments}: {told}");
    }
    let dry = run("ask Hi --model ollama/x --dry-run", "127.0.0.1:9");
    assert!(dry.contains("POST http://127.0.0.1:9/v1/chat/completions"), "{dry}");
    for arguments in ["ask Hi --model ollama/x", "ask Hi --model ollama"] {
        let told = run(arguments, "two words");
        assert!(told.contains("OLLAMA_HOST does not hold an address") && !told.contains("two words"), "{told}");
    }
    let chats = |server: &Running| server.server.requests().iter().filter(|it| it.method == "POST").count();
    assert_eq!(chats(&usual), 0);
    // One that takes its time is asked, where it is.
    let slow = Running::new(Script::new().always("/v1/chat/completions", stream(&["slowly"])).otherwise(Reply::hang()));
    let told = run("ask Hi --model ollama/x", &slow.server.address().to_string());
    assert!(told.starts_with("slowly"), "{told}");
}

/// What looks like the id of a model is that of no other, and what stands for one is told.
#[test]
fn name_that_may_be_an_id_is_asked_for_as_it_is_written() {
    let told = |world: &World, arguments: &str| {
        let mut command = world.command(&format!("ask Hi --dry-run --json {arguments}"));
        let output = command.env("PI_CODING_AGENT_DIR", "agent").output().expect("pi runs");
        let line: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let is_about_names = |line: &&str| line.contains("lists no model") || line.starts_with("note: asking");
        let notes: Vec<&str> = text.lines().filter(is_about_names).collect();
        format!("{} {}", line["model"].as_str().unwrap_or(&text), notes.join(" "))
    };
    let named = |name: &str| told(&World::new(), &format!("--model {name}"));
    for name in
        ["openai/gpt-4o", "openai/gpt-4", "cohere/command-r", "anthropic/claude-opus-4", "mistral/mistral-large"]
    {
        let told = named(name);
        assert!(told.starts_with(&format!("{name} ")) && told.contains("lists no model"), "{told}");
    }
    assert_eq!(named("openai/gpt-4o-mini"), "openai/gpt-4o-mini ");
    assert_eq!(
        named("anthropic/opus"),
        "anthropic/claude-opus-5-5 note: asking anthropic/claude-opus-5-5 for \"anthropic/opus\""
    );
    let keyed = |name: &str| {
        let world = World::new().with("agent/auth.json", r#"{"anthropic": {"type": "api_key", "key": "k"}}"#);
        told(&world, &format!("--model {name}"))
    };
    for (name, model) in
        [("sonnet", "claude-sonnet-5-5"), ("haiku", "claude-haiku-5-5"), ("opus:high", "claude-opus-5-5")]
    {
        let word = name.split(':').next().unwrap_or(name);
        assert_eq!(keyed(name), format!("anthropic/{model} note: asking anthropic/{model} for {word:?}"));
    }
    let settings = r#"{"defaultProvider": "openai", "defaultModel": "gpt-4o"}"#;
    let by_default = told(&World::new().with("agent/settings.json", settings), "");
    assert!(by_default.starts_with("openai/gpt-4o ") && by_default.contains("lists no model"), "{by_default}");
}

#[test]
fn what_is_not_there_is_told_with_what_may_be_meant() {
    assert_snapshot!(World::new().run("ask Hi --model anthropik/claude"), @r#"
    --- on standard error
    error: there is no provider "anthropik"; did you mean anthropic?
    hint: `pi models` shows all; PROVIDER/MODEL asks for one that is not listed
    --- exit 2
    "#);
    assert_snapshot!(World::new().run("ask Hi --model demo --image Cargo.toml"), @r"
    --- on standard error
    error: cannot read Cargo.toml: No such file or directory (os error 2)
    hint: check the name; `-` reads standard input
    --- exit 2
    ");
    assert_snapshot!(World::new().run("ask Hi --base-url 127.0.0.1:80 --model m"), @r"
    --- on standard error
    error: 127.0.0.1:80 is not an address
    hint: relative URL without a base; write it like http://127.0.0.1:8080/v1
    --- exit 2
    ");
    assert_snapshot!(World::new().run("ask Hi --base-url http://127.0.0.1:80"), @r"
    --- on standard error
    error: which model the server is to use is not said
    hint: name it: --model NAME; many servers take any name
    --- exit 2
    ");
    assert_snapshot!(World::new().run("ask Hi --model openai --api-key-env NOT_SET"), @r"
    --- on standard error
    error: NOT_SET is not set
    hint: set it: export NOT_SET=…
    --- exit 2
    ");
    assert_snapshot!(World::new().run("ask Hi --model openai"), @r"
    --- on standard error
    error: there is no credential for openai
    hint: set one of them: OPENAI_API_KEY, /home/me/.pi/agent/auth.json; `pi ask --model demo` needs none
    --- exit 2
    ");
    assert_snapshot!(World::new().run("ask Hi --model openai --json"), @r#"
    {"error":{"message":"there is no credential for openai","hint":"set one of them: OPENAI_API_KEY, /home/me/.pi/agent/auth.json; `pi ask --model demo` needs none","code":"E1002","name":"authentication","retryable":false,"fallbackable":true,"exit_code":2}}
    --- on standard error
    error: there is no credential for openai
    hint: set one of them: OPENAI_API_KEY, /home/me/.pi/agent/auth.json; `pi ask --model demo` needs none
    --- exit 2
    "#);
    assert_snapshot!(World::new().run("ask Hi --thinking very"), @r"
    --- on standard error
    error: invalid value 'very' for '--thinking <LEVEL>': the levels are off, minimal, low, medium, high, xhigh, max

    For more information, try '--help'.
    --- exit 2
    ");
}

#[test]
fn demo_says_that_it_is_one_and_calls_tools() {
    let world = quiet_world().with("tool.json", r#"{"name": "read", "description": "Reads a file.", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}"#);
    let mut command = world.command("ask --tool tool.json --tool-choice required");
    let output = command.arg("Read README.md").env("PI_CODING_AGENT_DIR", "agent").output().expect("pi runs");
    assert_snapshot!(without_times(&shown(&output)), @r#"
    → read {"path":"README.md"}
    --- on standard error
    asking demo/demo: there is no credential and no server on this machine
    this is the demo: it knows pi and little else, and no real model is behind it
    demo/demo · 28 tokens in, 5 out · TIME
    --- exit 0
    "#);
}

#[test]
fn tool_that_is_offered_twice_is_refused() {
    let world = quiet_world().with("a.json", r#"{"name": "read"}"#).with("b.json", r#"{"name": "read"}"#);
    assert_snapshot!(shown_with(&world, "ask Hi --model demo --tool a.json --tool b.json", &[]), @r"
    --- on standard error
    error: the tool read is offered twice
    hint: name each tool once with --tool FILE; a model tells them apart by name
    --- exit 2
    ");
}

/// What `pi ask` shows in a world with these variables.
fn shown_with(world: &World, arguments: &str, variables: &[(&str, &str)]) -> String {
    let mut command = world.command(arguments);
    let output = command.env("PI_CODING_AGENT_DIR", "agent").envs(variables.iter().copied()).output().expect("pi runs");
    without_times(&shown(&output))
}

#[test]
fn settings_that_cannot_be_used_are_told() {
    let broken = quiet_world().with("agent/settings.json", "{\n  oops");
    let text = shown_with(&broken, "ask Hi", &[]);
    assert!(
        text.contains("note: agent/settings.json is ignored: it is not JSON: ") && text.contains("line 2"),
        "{text}"
    );
    let unknown = quiet_world().with("agent/settings.json", r#"{"defaultProvider": "nobody-has-this"}"#);
    let text = shown_with(&unknown, "ask Hi", &[]);
    let expected = "error: nobody-has-this, the default in agent/settings.json, cannot be asked: ";
    assert!(text.contains(expected) && text.ends_with("exit 2"), "{text}");
}

#[test]
fn own_provider_without_a_credential_comes_before_the_demo() {
    let running = Running::new(Script::new().then(stream(&["Hello"])));
    let keyless =
        manifest("mine", &running.base_url()).replace("{ type: bearer, token_env: MINE_KEY }", "{ type: none }");
    let text = shown_with(&quiet_world().with("agent/providers/mine.yaml", keyless), "ask Hi", &[]);
    assert!(text.contains("asking mine/small: a provider of your own that needs no credential"), "{text}");
}

#[test]
fn part_of_a_name_is_the_one_model_that_can_be_asked() {
    let world = quiet_world();
    let text = shown_with(&world, "ask Hi --model gpt-5.5 --dry-run", &[("OPENAI_API_KEY", "k")]);
    assert!(text.contains("https://api.openai.com/"), "{text}");
    let text = shown_with(&world, "ask Hi --model e --dry-run", &[]);
    assert!(text.contains(" more\nhint: write one of them in full\n--- exit 2"), "{text}");
}

#[test]
fn credential_that_travels_in_the_clear_is_told_before_anything_is_sent() {
    // On Linux this address leads to this machine, and it is none of those that are near. Nobody listens there.
    let world = quiet_world().with("p/acme.yaml", manifest("acme", "http://127.0.0.1:9/v1"));
    let note = "note: the credential goes over http to a server elsewhere";
    for line in ["ask Hi --model acme/small", "ask Hi --model acme/small --json", "provider test acme"] {
        let line = format!("{line} --provider-dir p --base-url http://0.0.0.0:9/v1");
        let text = shown_with(&world, &line, &[("ACME_KEY", "sk-planted")]);
        assert_eq!(text.matches("goes over http").count(), 1, "{line}: {text}");
        assert!(text.contains(note) && !text.contains("sk-planted"), "{line}: {text}");
        let keyless = shown_with(&world, &line, &[]);
        assert!(!keyless.contains(note), "{line}: {keyless}");
    }
}

/// A server that asks for nothing is sent a key that is set all the same, so everybody is told: whoever asks once, whoever
/// talks, and whoever only looks.
#[test]
fn key_for_a_server_that_asks_for_none_is_told_where_it_travels_in_the_clear() {
    let running = Running::new(Script::new().otherwise(stream(&["Hello"])));
    let elsewhere = running.base_url().replace("127.0.0.1", "0.0.0.0");
    let keyless = manifest("acme", "http://127.0.0.1:9/v1").replace("type: bearer", "type: none");
    let keyless = keyless.replace("tools]\n", "tools]\n  optional: [batch]\n");
    let world = quiet_world().with("p/acme.yaml", keyless);
    for line in ["ask Hi", "ask Hi --dry-run", "-p Hi --no-session", "provider call batch status b1 --dry-run"] {
        let line = format!("{line} --model acme/small --provider-dir p --base-url {elsewhere}");
        let text = shown_with(&world, &line, &[("ACME_KEY", "sk-planted")]);
        assert_eq!(text.matches("goes over http").count(), 1, "{line}: {text}");
        let without = shown_with(&world, &line, &[]);
        assert!(!without.contains("goes over http"), "{line}: {without}");
    }
}

#[test]
fn broken_entry_of_auth_json_is_told_by_a_dry_run() {
    let world = quiet_world()
        .with("agent/providers/acme.yaml", manifest("acme", "http://127.0.0.1:9/v1"))
        .with("agent/auth.json", r#"{"zeta": 1, "acme": {"type": "api_key"}, "beta": 2}"#);
    let text = shown_with(&world, "ask Hi --model acme/small --dry-run", &[]);
    let told: Vec<&str> = text.lines().filter(|line| line.starts_with("note: the entry")).collect();
    let of = |name: &str| told.iter().position(|line| line.contains(name));
    assert!(of("acme").is_some() && of("zeta") < of("beta"), "{text}");
    assert_eq!(shown_with(&world, "ask Hi --model acme/small --dry-run", &[]), text);
}

#[test]
fn what_nobody_asked_for_is_no_note() {
    let running = Running::new(Script::new().then(Reply::json(
        200,
        &json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}]}),
    )));
    let whole = manifest("acme", &running.base_url()).replace("required: [text, streaming, tools]", "required: [text]");
    let world = quiet_world().with("agent/providers/acme.yaml", whole);
    let text = shown_with(&world, "ask Hi --model acme/small --thinking high", &[("ACME_KEY", "k")]);
    assert!(!text.contains("stream") && text.contains("note: dropped thinking: the model does not think"), "{text}");
}

#[test]
fn mistakes_are_refused_before_anything_is_sent() {
    for (arguments, expected) in [
        ("--tool-choice get_time", "error: no tool get_time is offered\n"),
        (
            "--model demo --tool t.json",
            "error: \"get time!\" is no name for a tool: providers take letters, digits, _ and -, at most 64 of them\n",
        ),
        ("--tool-choice required", "error: a tool must be called and none is offered\n"),
        ("--api-key-env sk-123", "error: what follows --api-key-env is not the name of a variable that is set\n"),
        ("--model openai/text-embedding-3-small", "error: openai/text-embedding-3-small does not answer questions"),
    ] {
        let world = quiet_world().with("t.json", r#"{"name": "get time!"}"#);
        let text = shown_with(&world, &format!("ask Hi {arguments}"), &[]);
        assert!(text.contains(expected) && text.ends_with("exit 2") && !text.contains("sk-123"), "{text}");
    }
}

/// Gemini writes the arguments of a call as an object, and leaves them out where there are none.
#[test]
fn call_without_arguments_is_shown_with_none() {
    let part = |call: Value| {
        let candidate = json!({"index": 0, "content": {"role": "model", "parts": [{"functionCall": call}]}, "finishReason": "STOP"});
        Reply::events([frame(&json!({"candidates": [candidate]}))])
    };
    for call in [json!({"name": "g", "args": {}}), json!({"name": "g"})] {
        let running = Running::new(Script::new().then(part(call)));
        let world = World::new().with("tool.json", r#"{"name": "g", "description": "Tells."}"#);
        let url = running.server.url();
        let mut command = world.command("ask Hi --model gemini/gemini-2.5-flash --tool tool.json");
        let output = command.args(["--base-url", &url]).env("GEMINI_API_KEY", "k").output().expect("pi runs");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "→ g {}\n", "{}", shown(&output));
    }
}

#[test]
fn picture_in_an_answer_is_told() {
    let parts = json!([{"text": "Here:"}, {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}]);
    let candidate = json!({"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"});
    let running = Running::new(Script::new().then(Reply::events([frame(&json!({"candidates": [candidate]}))])));
    let world = World::new();
    let mut command = world.command("ask Draw --model gemini/gemini-2.5-flash");
    let url = running.server.url();
    let told = shown(&command.args(["--base-url", &url]).env("GEMINI_API_KEY", "k").output().expect("pi runs"));
    assert!(told.starts_with("Here:\n"), "{told}");
    assert!(told.contains("note: the answer holds image/png, which is not shown here; --json prints it"), "{told}");
}

/// Its 499 says that somebody closed a connection, and that was not the person here.
#[test]
fn server_that_says_cancelled_is_no_interrupt() {
    let running = Running::new(Script::new().otherwise(refusal(499, "cancelled", "The client went away.")));
    let arguments = format!("ask Hi --model m --base-url {}", running.base_url());
    assert!(World::new().run(&arguments).ends_with("--- exit 2"));
}

#[test]
fn error_in_the_place_of_an_answer_is_tried_again() {
    let busy = Reply::events([frame(&json!({"error": {"type": "overloaded_error", "message": "busy"}}))]);
    let running = Running::new(Script::new().then(busy).otherwise(stream(&["Hello"])));
    let policy =
        "retry_policy: { strategy: fixed_delay, min_delay_ms: 1, max_delay_ms: 1, max_retries: 2, jitter: none }";
    let written = manifest("acme", &running.base_url()).replace("retry_policy: { strategy: none }", policy);
    let world = World::new().with("p/acme.yaml", written);
    let mut command = world.command("ask Hi --provider-dir p --model acme/small");
    let output = command.env("ACME_KEY", "k").output().expect("pi runs");
    assert_snapshot!(without_times(&running.without_address(&shown(&output))), @r"
    Hello
    --- on standard error
    retrying 1 of 2 in 0.0 s: acme answered: overloaded: busy
    acme/small · 11 tokens in, 2 out · $0.000015 · TIME · 2 attempts
    --- exit 0
    ");
}

#[test]
fn answer_in_an_encoding_that_nobody_asked_for_is_told_at_once() {
    let reply = Reply::whole(200, "text/event-stream", b"\x8b\x03").header("content-encoding", "br");
    let running = Running::new(Script::new().otherwise(reply));
    let url = running.base_url();
    assert_snapshot!(ask(&World::new(), &running, &["Hi", "--base-url", &url, "--model", "m"]), @r"
    --- on standard error
    asking server/m: at the address that was given, as a server of the OpenAI kind
    error: the answer of http://HOST/v1 cannot be read: it is compressed as br, which nobody asked for and is not understood here
    hint: have the server, or the proxy before it, send answers as they are; pi asks for no compression
    --- exit 2
    ");
    assert_eq!(running.server.requests().len(), 1);
}

#[test]
fn wait_that_is_not_of_whole_seconds_is_told_as_it_is() {
    let limited = refusal(429, "rate_limit_exceeded", "Slow down.").header("retry-after-ms", "1500");
    let running = Running::new(Script::new().otherwise(limited));
    let world = World::new().with("p/acme.yaml", manifest("acme", &running.base_url()));
    let mut command = world.command("ask Hi --provider-dir p --model acme/small");
    let told = shown(&command.env("ACME_KEY", "k").output().expect("pi runs"));
    assert!(told.contains("hint: wait 1.5 s and ask again"), "{told}");
}

#[test]
fn choice_of_tools_for_a_model_without_them_is_told_in_words() {
    let forced = "tool_calling: { native: { supported: false }, text_fallback: {} }";
    let written = manifest("acme", "http://127.0.0.1:9/v1")
        .replace("required: [text, streaming, tools]", &format!("required: [text, streaming]\n  {forced}"))
        .replace("tool_call: true", "tool_call: false");
    let world = World::new().with("p/acme.yaml", written).with("t.json", r#"{"name": "t", "description": "Tells."}"#);
    let asked = |choice: &str| {
        let line =
            format!("ask Hi --provider-dir p --model acme/small --dry-run --json --tool t.json --tool-choice {choice}");
        let output = world.command(&line).env("ACME_KEY", "k").output().expect("pi runs");
        let line: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", shown(&output)));
        let changes: Vec<String> = line["changes"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|change| {
                format!(
                    "{}: {}",
                    change["option"].as_str().unwrap_or_default(),
                    change["reason"].as_str().unwrap_or_default()
                )
            })
            .collect();
        (line["body"]["messages"].to_string(), changes)
    };
    let (messages, changes) = asked("t");
    assert!(messages.contains("MUST call the tool t"), "{messages}");
    assert!(changes.iter().any(|it| it.starts_with("tool_choice: demanded in the system text")), "{changes:?}");
    let (messages, changes) = asked("none");
    assert!(!messages.contains("Tells."), "{messages}");
    assert!(changes.iter().any(|it| it.starts_with("tool_choice: the model is told of no tools")), "{changes:?}");
}

/// A machine on which only Ollama runs, with these models.
fn with_ollama(models: &Value, answer: Reply) -> (World, Running) {
    let script = Script::new()
        .always("/api/version", Reply::json(200, &json!({"version": "0.12.0"})))
        .always("/api/tags", Reply::json(200, &json!({ "models": models })))
        .always("/api/show", Reply::json(404, &json!({"error": "unknown"})))
        .always("/v1/chat/completions", answer)
        .otherwise(Reply::json(404, &json!({"error": "not found"})));
    let world = quiet_world();
    world.remove("agent/providers/ollama.yaml");
    (world, Running::new(script))
}

fn at_ollama(world: &World, running: &Running, arguments: &str) -> String {
    let host = running.server.address().to_string();
    let mut command = world.command(arguments);
    let output = command.env("PI_CODING_AGENT_DIR", "agent").env("OLLAMA_HOST", host).output().expect("pi runs");
    without_times(&running.without_address(&shown(&output)))
}

#[test]
fn model_that_embeds_is_not_asked_by_itself() {
    let (world, running) = with_ollama(&json!([{"name": "nomic-embed-text"}, {"name": "tiny:1b"}]), stream(&["ok"]));
    let told = at_ollama(&world, &running, "ask Hi");
    assert!(told.contains("asking ollama/tiny:1b: it runs on this machine"), "{told}");
    for (models, why) in [
        (
            json!([{"name": "nomic-embed-text"}]),
            "the only model of ollama on this machine, nomic-embed-text, answers no questions",
        ),
        (json!([]), "ollama on this machine has no model"),
    ] {
        let (world, running) = with_ollama(&models, stream(&["ok"]));
        let told = at_ollama(&world, &running, "ask Hi");
        assert!(told.contains(&format!("asking demo/demo: there is no credential, and {why}")), "{told}");
    }
}

/// A key that is wrong is not a key that is missing, and who asks for one is there.
#[test]
fn server_that_refuses_is_told_where_the_demo_is_asked_in_its_place() {
    let running = Running::new(Script::new().otherwise(Reply::json(401, &json!({"error": {"message": "no"}}))));
    let world = quiet_world();
    world.remove("agent/providers/ollama.yaml");
    let run = |key: Option<&str>| {
        let mut command = world.command("ask Hi");
        command.env("PI_CODING_AGENT_DIR", "agent").env("OLLAMA_HOST", running.server.address().to_string());
        key.map(|key| command.env("OLLAMA_API_KEY", key));
        running.without_address(&shown(&command.output().expect("pi runs")))
    };
    let server = "the server at http://HOST, where ollama is looked for (401),";
    let told = run(None);
    assert!(told.contains(&format!("asking demo/demo: there is no credential, and {server} wants one")), "{told}");
    let told = run(Some("wrong-key-1"));
    let expected = format!("asking demo/demo: {server} wants another credential than the one that is set");
    assert!(told.contains(&expected) && !told.contains("wrong-key-1"), "{told}");
}

/// Ollama says only when it is asked that a model takes no tools.
#[test]
fn model_without_tools_is_told_of_them_in_words() {
    let refused = || refusal(400, "api_error", "registry.ollama.ai/library/tiny:1b does not support tools");
    let script = || Script::new().then(refused()).then(stream(&["no tools"])).otherwise(refused());
    let world = World::new().with("tool.json", r#"{"name": "get_time", "description": "Tells the time."}"#);
    let running = Running::new(script());
    let url = running.base_url();
    let told = ask(&world, &running, &["Hi", "--base-url", &url, "--model", "m", "--tool", "tool.json"]);
    assert!(told.starts_with("no tools\n") && told.contains("described in the system text"), "{told}");
    let running = Running::new(Script::new().otherwise(refused()));
    let world = quiet_world()
        .with("agent/providers/acme.yaml", manifest("acme", &running.base_url()))
        .with("tool.json", r#"{"name": "get_time", "description": "Tells the time."}"#);
    let told = shown_with(&world, "ask Hi --model acme/small --tool tool.json", &[("ACME_KEY", "k")]);
    assert!(told.contains("hint: offer no tools (leave --tool out, or --no-tools)"), "{told}");
}

/// Whoever names a variable means all that is asked there, the list of models too.
#[test]
fn list_of_models_is_asked_for_with_the_credential_that_was_named() {
    let list = Reply::json(200, &json!({"data": [{"id": "only"}]}));
    let script = Script::new()
        .when(
            |request| request.header("authorization") == Some("Bearer sk-planted-4711") && request.method == "GET",
            list,
        )
        .always("/v1/chat/completions", stream(&["ok"]))
        .otherwise(refusal(401, "invalid_api_key", "who are you?"));
    let running = Running::new(script);
    // People copy the address of a chat, and put what the server wants to know behind it.
    let copied = format!("ask Hi --base-url {}/chat/completions?tenant=1 --api-key-env MY_KEY", running.base_url());
    let line = format!("ask Hi --base-url {}", running.base_url());
    let run = |line: &str| running.without_address(&shown_with(&quiet_world(), line, &[("MY_KEY", "sk-planted-4711")]));
    let told = run(&format!("{line} --api-key-env MY_KEY"));
    assert!(told.contains("asking server/only: "), "{told}");
    run(&copied);
    let asked: Vec<String> = running.server.requests().iter().map(|request| request.target.clone()).collect();
    assert!(asked.contains(&"/v1/models?tenant=1".to_owned()), "{asked:?}");
    assert_snapshot!(run(&line), @"
    --- on standard error
    error: http://HOST/v1 does not tell its models: it answered 401
    hint: it wants a credential, or another one: name the variable that holds it with --api-key-env, or name the model with --model
    --- exit 2
    ");
}

#[test]
fn address_of_another_api_is_told_before_anything_is_sent() {
    let running = Running::new(Script::new().otherwise(stream(&["ok"])));
    let url = format!("{}/messages", running.base_url());
    let told = ask(&World::new(), &running, &["Hi", "--base-url", &url, "--model", "m"]);
    assert!(told.contains("it ends with /messages, where another API is spoken (anthropic)"), "{told}");
    assert_eq!(running.server.requests().len(), 0);
}
