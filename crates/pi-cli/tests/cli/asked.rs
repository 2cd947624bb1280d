//! Who is asked at an address, what is said to them, and what is told of an answer that is not as it should be.

use insta::assert_snapshot;
use pi_testkit::server::{Reply, Script};
use serde_json::{Value, json};

use crate::{
    server::{Running, frame, manifest, quiet_world, refusal, stream},
    world::{World, shown},
};

const SECRET: &str = "ghp_abcd1234567890ABCDEFGHIJKLMNOPQRSTUV";

/// Runs `pi` in a world with a provider `acme` that nothing answers for, and returns standard output and error.
fn run(running: &Running, arguments: &str, input: &str) -> (String, String) {
    let world = world().with("notes.txt", format!("token {SECRET} of a friend"));
    let mut command = world.command(arguments);
    command.env("PI_CODING_AGENT_DIR", "agent").env("ACME_KEY", "key-of-acme");
    let output = fed(&mut command, input);
    let text = |bytes: &[u8]| running.without_address(&String::from_utf8_lossy(bytes));
    (text(&output.stdout), text(&output.stderr))
}

fn fed(command: &mut std::process::Command, input: &str) -> std::process::Output {
    use std::{io::Write as _, process::Stdio};
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().expect("pi starts");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("pi reads its input");
    child.wait_with_output().expect("pi ends")
}

fn world() -> World {
    let named = format!("{}aliases: [acme-works]\n", manifest("acme", "http://127.0.0.1:9/v1"));
    quiet_world().with("agent/providers/acme.yaml", named)
}

/// The model and the credential of the only request.
fn sent(running: &Running) -> (Value, Option<String>) {
    let [request] = <[_; 1]>::try_from(running.server.requests()).expect("one request");
    (request.json()["model"].clone(), request.header("authorization").map(str::to_owned))
}

#[test]
fn known_provider_alone_or_in_front_of_a_model_is_used_at_the_address() {
    for (arguments, model, credential, reading) in [
        ("--model acme/other", "other", Some("Bearer key-of-acme"), "as the manifest of its provider says"),
        ("--provider acme --model other", "other", Some("Bearer key-of-acme"), "as the manifest of its provider says"),
        ("--provider acme", "small", Some("Bearer key-of-acme"), "as the manifest of its provider says"),
        ("--model nobody/other", "nobody/other", None, "as a server of the OpenAI kind"),
        ("--model acme", "small", Some("Bearer key-of-acme"), "as the manifest of its provider says"),
        ("--model acme-works", "small", Some("Bearer key-of-acme"), "as the manifest of its provider says"),
        ("--provider server --model acme", "acme", None, "as a server of the OpenAI kind"),
        ("--model demo", "demo", None, "as a server of the OpenAI kind"),
        ("--provider server --model acme/other", "acme/other", None, "as a server of the OpenAI kind"),
    ] {
        for command in ["ask Hi", "ask Hi --json", "-p Hi --no-session"] {
            let running = Running::new(Script::new().then(stream(&["ok"])));
            let line = format!("{command} {arguments} --base-url {}", running.base_url());
            let (out, error) = run(&running, &line, "");
            assert_eq!(sent(&running), (json!(model), credential.map(str::to_owned)), "{line}: {error}");
            assert!(error.contains(reading), "{line}: {error}");
            if command.ends_with("--json") {
                let last: Value = serde_json::from_str(out.lines().last().expect("a line")).expect("JSON");
                assert!(last["why"].as_str().is_some_and(|why| why.contains(reading)), "{last}");
            }
        }
    }
}

#[test]
fn level_is_sent_to_a_server_without_a_manifest() {
    for (arguments, level) in [
        ("--model m:high", json!("high")),
        ("--model m --thinking low", json!("low")),
        ("--model m:high --thinking low", json!("low")),
        ("--model m", Value::Null),
    ] {
        for command in ["ask Hi", "-p Hi --no-session"] {
            let running = Running::new(Script::new().then(stream(&["ok"])));
            let line = format!("{command} {arguments} --base-url {}", running.base_url());
            let (_, error) = run(&running, &line, "");
            let body = running.server.requests()[0].json();
            assert_eq!((&body["model"], &body["reasoning_effort"]), (&json!("m"), &level), "{line}: {error}");
        }
    }
}

#[test]
fn level_that_a_model_cannot_think_at_is_not_dropped_in_silence() {
    for command in ["ask Hi", "-p Hi --no-session"] {
        let running = Running::new(Script::new().then(stream(&["ok"])));
        let line = format!("{command} --model acme/small:high --base-url {}", running.base_url());
        let (_, error) = run(&running, &line, "");
        assert!(error.contains("does not think"), "{line}: {error}");
    }
}

#[test]
fn files_are_named_with_an_at_sign() {
    let running = Running::new(Script::new().otherwise(stream(&["ok"])));
    let url = running.base_url();
    let world = World::new().with("a.txt", "alpha").with("b.png", b"\x89PNG\r\n\x1a\n");
    let run = |arguments: &str| world.run(&format!("ask {arguments} --model m --base-url {url}"));
    run("@a.txt Why? @b.png");
    run("@a.txt");
    let asked: Vec<Value> =
        running.server.requests().iter().map(|it| it.json()["messages"][0]["content"].clone()).collect();
    assert_eq!(asked[0][0]["text"], "<file name=\"a.txt\">\nalpha\n</file>\n\nWhy?");
    assert_eq!(asked[0][1]["image_url"]["url"], "data:image/png;base64,iVBORw0KGgo=");
    assert_eq!(asked[1], "<file name=\"a.txt\">\nalpha\n</file>\n\n");
    assert_snapshot!(run("@gone.txt"), @r"
    --- on standard error
    error: cannot read gone.txt: No such file or directory (os error 2)
    hint: check the name; `-` reads standard input
    --- exit 2
    ");
}

#[test]
fn secrets_of_files_and_pipes_are_masked_and_counted() {
    let typed = SECRET.replace("abcd", "efgh");
    for (arguments, input, told) in [
        ("--file notes.txt", String::new(), "1 secret in what is attached or piped in"),
        ("@notes.txt", format!("also {SECRET}"), "2 secrets in what is attached or piped in"),
        ("", format!("only {SECRET}"), "1 secret in what is attached or piped in"),
    ] {
        let running = Running::new(Script::new().then(stream(&["ok"])));
        let line = format!("ask {arguments} {typed} --json --model m --base-url {}", running.base_url());
        let (out, error) = run(&running, &line, &input);
        let body = running.server.requests()[0].json().to_string();
        assert!(!body.contains(SECRET) && body.contains("[REDACTED]"), "{line}: {body}");
        assert!(body.contains(&typed), "what was typed is what was meant: {body}");
        assert!(error.contains(told) && !error.contains(SECRET), "{line}: {error}");
        let last: Value = serde_json::from_str(out.lines().last().expect("a line")).expect("JSON");
        assert_eq!(last["masked"], told[..1].parse::<u64>().expect("a digit"));
    }
    let running = Running::new(Script::new().then(stream(&["ok"])));
    run(&running, &format!("ask - --model m --base-url {}", running.base_url()), &format!("is {SECRET} a key?"));
    assert_eq!(running.server.requests()[0].json()["messages"][0]["content"], "is [REDACTED] a key?");
}

#[test]
fn empty_answer_is_told_and_has_a_code() {
    let end = |reason: &str| frame(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}));
    let thought = frame(&json!({"choices": [{"index": 0, "delta": {"reasoning_content": "Hm."}}]}));
    for (frames, told) in [
        (vec![end("stop")], "the answer is empty: the model said nothing (stop reason: stop)"),
        (vec![end("content_filter")], "the answer is empty: the model said nothing (stop reason: content_filter)"),
        (
            vec![thought, end("length")],
            "the answer is empty: the model thought, and said nothing before it reached its largest length (stop reason: length)",
        ),
    ] {
        let reply = Reply::events(frames.into_iter().chain(["data: [DONE]\n\n".to_owned()]));
        let running = Running::new(Script::new().otherwise(reply));
        let line = format!("ask Hi --model m --base-url {}", running.base_url());
        let shown = World::new().run(&line);
        assert!(shown.contains(&format!("note: {told}\n")) && shown.ends_with("--- exit 1"), "{shown}");
        let shown = World::new().run(&format!("{line} --json"));
        assert!(shown.contains("\"empty\":true") && shown.ends_with("--- exit 1"), "{shown}");
    }
}

#[test]
fn what_guardrails_find_is_told() {
    let rails = "guardrails:
  input_filters: [{ type: house_rules, action: warn, words: [moon] }]
  output_filters: [{ type: diary, action: log, words: [cheese] }]
";
    let running = Running::new(Script::new().otherwise(stream(&["It is cheese."])));
    let world = quiet_world()
        .with("agent/providers/acme.yaml", format!("{}{rails}", manifest("acme", &running.base_url())))
        .with(
            "agent/providers/open.yaml",
            format!(
                "{}{}",
                manifest("open", &running.base_url()),
                rails.replace("words: [moon]", "patterns: ['(']").replace("warn", "block")
            ),
        );
    let filter = |filter: &str| format!("guardrails: {{ input_filters: [{filter}] }}\n");
    let slip = filter("{ type: pii_detecton, action: mask }");
    let idle = filter("{ type: content_safety, action: block }");
    let world = world
        .with("agent/providers/slip.yaml", format!("{}{slip}", manifest("slip", &running.base_url())))
        .with("agent/providers/idle.yaml", format!("{}{idle}", manifest("idle", &running.base_url())));
    let run = |arguments: &str| {
        let mut command = world.command(arguments);
        command.env("PI_CODING_AGENT_DIR", "agent");
        command.envs(["ACME_KEY", "OPEN_KEY", "SLIP_KEY", "IDLE_KEY"].map(|name| (name, "k")));
        shown(&command.output().expect("pi runs"))
    };
    let found = "guardrail house_rules found something in a text of the prompt\n";
    let text = run("ask moon? --model acme/small");
    assert!(text.contains(&format!("note: {found}")), "{text}");
    assert!(text.contains("\nguardrail diary found something in a text of the answer\n"), "{text}");
    let text = run("-p moon? --model acme/small --no-session");
    assert!(text.contains(&format!("note: {found}")), "{text}");
    let text = run("ask moon? --model acme/small --json");
    let expected = r#""findings":[{"filter":"house_rules","action":"warn","side":"input","texts":1},{"filter":"diary","action":"log","side":"output","texts":1}]"#;
    assert!(text.contains(expected), "{text}");
    let before = running.server.requests().len();
    assert_snapshot!(run("ask moon? --model slip/small"), @r"
    --- on standard error
    error: guardrail pii_detecton of slip cannot be used: its type is not known, and it names neither patterns nor words, so it finds nothing
    hint: correct it in the provider's manifest under guardrails; until then nothing is sent past it
    --- exit 2
    ");
    for arguments in ["ask moon? --model idle/small", "-p moon? --no-session --model idle/small"] {
        let text = run(arguments);
        let told = "note: guardrail content_safety: it names neither patterns nor words, so it finds nothing and keeps nothing back (manifest of idle)\n";
        assert!(text.contains(told) && text.ends_with("exit 0"), "{text}");
    }
    let before = before + 2;
    assert_snapshot!(run("ask moon? --model open/small"), @r"
    --- on standard error
    error: guardrail house_rules of open cannot be used: ( is not a regular expression
    hint: correct it in the provider's manifest under guardrails; until then nothing is sent past it
    --- exit 2
    ");
    assert_eq!(running.server.requests().len(), before);
}

#[test]
fn dry_run_shows_what_guardrails_let_pass() {
    let rails = "guardrails:
  input_filters: [{ type: pii_detection, action: mask }, { type: secret_plan, action: block, words: [moonshot] }]
";
    let running = Running::new(Script::new().otherwise(stream(&["Done."])));
    let world =
        quiet_world().with("agent/providers/acme.yaml", format!("{}{rails}", manifest("acme", &running.base_url())));
    let run = |line: &str| {
        let mut command = world.command(line);
        shown(&command.env("PI_CODING_AGENT_DIR", "agent").env("ACME_KEY", "k").output().expect("pi runs"))
    };
    let line = "ask write:ann@models.example --model acme/small";
    let told = "note: guardrail pii_detection found something in a text of the prompt and masked it\n";
    run(line);
    let [sent] = <[_; 1]>::try_from(running.server.requests()).expect("one request");
    let dry = run(&format!("{line} --dry-run --json"));
    let shown: Value = serde_json::from_str(dry.lines().next().expect("a line")).expect("JSON");
    assert_eq!(shown["body"], sent.json());
    assert!(!shown["body"].to_string().contains("ann@"), "{shown}");
    assert!(!dry.contains("ann@") && dry.contains(told) && dry.ends_with("exit 0"), "{dry}");
    let findings = json!([{"filter": "pii_detection", "action": "mask", "side": "input", "texts": 1}]);
    assert_eq!(shown["findings"], findings);
    let dry = run(&format!("{line} --dry-run"));
    assert!(!dry.contains("ann@") && dry.contains(told) && dry.ends_with("exit 0"), "{dry}");
    let count = running.server.requests().len();
    for more in ["", " --json"] {
        let refused = run(&format!("ask moonshot --model acme/small{more}"));
        assert!(refused.contains("guardrail secret_plan blocked the prompt"), "{refused}");
        assert_eq!(run(&format!("ask moonshot --model acme/small --dry-run{more}")), refused);
    }
    assert_eq!(running.server.requests().len(), count);
}

#[test]
fn hints_name_the_address_where_there_is_no_provider() {
    let asked = |reply: Reply| {
        let running = Running::new(Script::new().otherwise(reply));
        run(&running, &format!("ask Hi --model m --base-url {}", running.base_url()), "").1
    };
    assert_snapshot!(asked(refusal(401, "invalid_api_key", "No.")), @r"
    asking server/m: at the address that was given, as a server of the OpenAI kind
    error: http://HOST/v1 answered: 401 authentication: No.
    hint: the server wants a credential, or another one: name the variable that holds it with --api-key-env
    ");
    assert_snapshot!(asked(refusal(404, "not_found", "No such model.")), @r"
    asking server/m: at the address that was given, as a server of the OpenAI kind
    error: http://HOST/v1 answered: 404 not_found: No such model.
    hint: check the address, which often ends in /v1, and the name of the model
    ");
}

#[test]
fn rejected_file_is_named_where_its_provider_is_missed() {
    let world = World::new().with("p/acme.yaml", "id: acme\nprotocol_version: \"2.0\"\n");
    assert_snapshot!(world.run("ask Hi --provider-dir p --model acme/small"), @r#"
    --- on standard error
    note: p/acme.yaml:1:1: error[ring1.endpoint]: endpoint is missing (endpoint)
    note: p/acme.yaml:1:1: error[ring1.error-classification]: error_classification is missing (error_classification)
    note: p/acme.yaml is rejected: no provider comes from it
    hint: `pi provider validate p/acme.yaml` shows what is wrong with it
    error: there is no provider "acme"; p/acme.yaml was rejected
    --- exit 2
    "#);
    let shown = world.run("provider test acme --provider-dir p");
    assert!(shown.contains("error: there is no provider acme; p/acme.yaml was rejected\n"), "{shown}");
}

/// What is wrong with two files of one name is to be seen in neither of them.
#[test]
fn clash_of_two_files_is_told_with_what_to_do() {
    let good = manifest("acme", "http://127.0.0.1:9/v1");
    let world = World::new().with("p/a.yaml", good.clone()).with("p/b.yaml", good);
    let shown = world.run("models acme --provider-dir p");
    assert!(shown.contains("note: p/b.yaml:"), "{shown}");
    assert!(shown.contains("hint: give one of them another id, or keep them in different sources"), "{shown}");
    assert!(!shown.contains("provider validate"), "{shown}");
}

#[test]
fn provider_is_tested_with_the_model_behind_its_name() {
    let running = Running::new(Script::new().otherwise(refusal(404, "not_found", "No such model.")));
    let world = World::new().with("p/acme.yaml", manifest("acme", &running.base_url()));
    let mut command = world.command("provider test acme/other --provider-dir p");
    let shown = shown(&command.env("ACME_KEY", "k").output().expect("pi runs"));
    assert!(shown.starts_with("acme/other\n") && shown.ends_with("--- exit 1"), "{shown}");
    let models: Vec<Value> = running.server.requests().iter().map(|it| it.json()["model"].clone()).collect();
    assert_eq!(models, ["other", "other", "other"]);
}

/// The words of a refusal are the answer, and the code says that it is none.
#[test]
fn refusal_is_shown_and_has_a_code() {
    let refused = || {
        let said = frame(&json!({"choices": [{"delta": {"refusal": "I will not."}}]}));
        let end = frame(&json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}));
        Reply::events([said, end, "data: [DONE]\n\n".to_owned()])
    };
    let running = Running::new(Script::new().otherwise(refused()));
    let world = world().with("agent/providers/acme.yaml", manifest("acme", &running.base_url()));
    let run = |arguments: &str| {
        let mut command = world.command(arguments);
        shown(&fed(command.env("PI_CODING_AGENT_DIR", "agent").env("ACME_KEY", "k"), ""))
    };
    assert_snapshot!(run("-p Hi -m acme/small --no-session"), @r"
    I will not.
    --- on standard error
    error: the provider refused to answer (refusal)
    --- exit 1
    ");
    let asked = run("ask Hi --model acme/small");
    assert!(asked.starts_with("I will not.\n"), "{asked}");
    assert!(asked.contains("note: the provider refused to answer (refusal)\n"), "{asked}");
    assert!(asked.ends_with("--- exit 1"), "{asked}");
    let lines = run("ask Hi --model acme/small --json");
    let last = lines.lines().rfind(|line| line.contains("exit_code")).expect("a last object");
    let last: Value = serde_json::from_str(last).expect("JSON");
    let told = (&last["refusal"], &last["exit_code"], &last["message"]["stopReason"]);
    assert_eq!(told, (&json!("the provider refused to answer (refusal)"), &json!(1), &json!("error")));
    assert!(lines.contains(r#""finish_reason":"refusal""#), "{lines}");
    assert_eq!(running.server.requests().len(), 3, "a refusal is not asked for again");
}

/// The list of models that a server tells.
fn list(models: &[&str]) -> Reply {
    let models: Vec<Value> = models.iter().map(|id| json!({"id": id})).collect();
    Reply::json(200, &json!({"data": models}))
}

#[test]
fn only_model_of_a_server_need_not_be_named() {
    let running = Running::new(Script::new().then(list(&["solo"])).then(stream(&["ok"])));
    let (out, error) = run(&running, &format!("ask Hi --base-url {}", running.base_url()), "");
    assert_eq!(out, "ok\n", "{error}");
    assert_eq!(running.server.requests()[1].json()["model"], "solo");

    let running = Running::new(Script::new().then(list(&["one", "two"])));
    let (_, error) = run(&running, &format!("ask Hi --base-url {}", running.base_url()), "");
    assert!(error.contains("the server has 2 models, and none was named"), "{error}");
    assert!(error.contains("name one with --model: one, two"), "{error}");
}

/// A server that has no manifest, and does not stream though it is asked to.
#[test]
fn server_is_tested_at_its_address() {
    let answer = json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": "pong"}, "finish_reason": "stop"}]});
    for line in ["provider test", "provider test server"] {
        let running = Running::new(Script::new().then(list(&["solo"])).otherwise(Reply::json(200, &answer)));
        let shown = World::new().run(&format!("{line} --base-url {}", running.base_url()));
        assert!(shown.starts_with("server/solo\n"), "{shown}");
        assert!(shown.contains("passed  question"), "{shown}");
        assert!(
            shown.contains("odd     stream") && shown.contains("not streamed, it came as a whole: pong"),
            "{shown}"
        );
    }
}

#[test]
fn words_without_quotes_are_one_question() {
    let running = Running::new(Script::new().then(stream(&["ok"])));
    run(&running, &format!("ask hello wide world --model m --base-url {}", running.base_url()), "");
    assert_eq!(running.server.requests()[0].json()["messages"][0]["content"], "hello wide world");
}

#[test]
fn password_in_an_address_is_refused_and_not_shown() {
    let running = Running::new(Script::new());
    let (out, error) = run(&running, "ask Hi --model m --base-url http://me:hunter2@127.0.0.1:9/v1", "");
    assert!(error.contains("--api-key-env") && !format!("{out}{error}").contains("hunter2"), "{error}");
}

#[test]
fn refusals_and_errors_are_told_apart() {
    let choice = |end: Value| Reply::json(200, &json!({"choices": [end]}));
    let filtered = json!({"message": {"content": "no"}, "finish_reason": "content_filter"});
    let running = Running::new(Script::new().then(choice(filtered)));
    let line = format!("ask Hi --json --no-stream --model m --base-url {}", running.base_url());
    let (out, _) = run(&running, &line, "");
    let last: Value = serde_json::from_str(out.lines().last().expect("a line")).expect("JSON");
    assert_eq!(
        (last["refusal"].as_str(), &last["error"]),
        (Some("the provider refused to answer (content_filter)"), &Value::Null)
    );

    let pieces =
        [json!({"choices": [{"delta": {"content": "Half"}}]}), json!({"choices": [{"finish_reason": "error"}]})];
    let frames: String = pieces.iter().map(frame).collect();
    let running = Running::new(Script::new().then(Reply::events([frames.as_bytes()])));
    let (out, error) = run(&running, &format!("ask Hi --json --model m --base-url {}", running.base_url()), "");
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let event = lines.iter().find(|line| line["event"] == "StreamError").expect("the failure is an event");
    assert_eq!((&event["error"]["retryable"], &event["error"]["fallbackable"]), (&json!(true), &json!(true)));
    let last = lines.last().expect("a line");
    assert_eq!(last["refusal"], Value::Null, "{error}");
    assert!(last["error"]["message"].as_str().is_some_and(|words| words.contains("did not say which")), "{last}");
}

/// Headers of a manifest may hold keys.
#[test]
fn headers_of_a_manifest_are_sent_and_shown_nowhere() {
    let running = Running::new(Script::new().then(stream(&["ok"])));
    let headers = "extra_headers: [{name: x-tenant, value: planted-tenant}, {name: x-key, value: 'Key ${ACME_KEY}'}]";
    let text = manifest("acme", &running.base_url());
    let text = text.replacen("token_env: ACME_KEY", &format!("token_env: ACME_KEY, {headers}"), 1);
    assert!(text.contains(headers), "{text}");
    let world = quiet_world().with("agent/providers/acme.yaml", text);
    for arguments in [
        "ask Hi --model acme --dry-run",
        "ask Hi --model acme --dry-run --json",
        "provider show acme --json",
        "provider show acme",
        "ask Hi --model acme",
    ] {
        let mut command = world.command(arguments);
        let output = fed(command.env("PI_CODING_AGENT_DIR", "agent").env("ACME_KEY", "key-of-acme"), "");
        let told = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(!told.contains("planted-tenant") && !told.contains("key-of-acme"), "{arguments}: {told}");
        assert!(told.contains("x-tenant") || arguments == "ask Hi --model acme", "{arguments}: {told}");
    }
    let request = &running.server.requests()[0];
    assert_eq!(request.header("x-tenant"), Some("planted-tenant"));
    assert_eq!(request.header("x-key"), Some("Key key-of-acme"));
}

#[test]
fn key_that_a_command_prints_is_sent() {
    let running = Running::new(Script::new().then(stream(&["ok"])));
    let models = json!({"providers": {"own": {"baseUrl": running.base_url(), "api": "openai-completions",
        "apiKey": "!printf 'key-of-%s\\n' command", "models": [{"id": "m"}]}}});
    let world = quiet_world().with("agent/models.json", models.to_string());
    let output = fed(world.command("ask Hi --model own/m").env("PI_CODING_AGENT_DIR", "agent"), "");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(running.server.requests()[0].header("authorization"), Some("Bearer key-of-command"));
}

/// Whoever asks: a single question, and a session.
#[test]
fn model_of_models_json_is_asked_at_its_address_with_its_headers() {
    for question in ["ask Hi", "-p Hi --no-session"] {
        let running = Running::new(Script::new().then(stream(&["ok"])));
        let models = json!({"providers": {"My Server": {"baseUrl": "http://127.0.0.1:9/v1", "api": "openai-completions",
            "apiKey": "key-of-mine", "headers": {"x-team": "of-all"}, "models": [{"id": "m", "baseUrl": running.base_url(),
            "headers": {"X-Team": "of-m", "x-model": "$MODEL_HEADER"}, "compat": {"supportsDeveloperRole": false}}]}}});
        let written = format!("// my own\n{models}");
        let world = quiet_world().with("agent/models.json", written);
        let mut command = world.command(question);
        command
            .arg("--model")
            .arg("my server/m")
            .env("PI_CODING_AGENT_DIR", "agent")
            .env("MODEL_HEADER", "from-outside");
        let output = fed(&mut command, "");
        assert!(output.status.success(), "{question}: {}", String::from_utf8_lossy(&output.stderr));
        let [request] = <[_; 1]>::try_from(running.server.requests()).expect("one request");
        let headers = ["authorization", "x-team", "x-model"].map(|name| request.header(name).map(str::to_owned));
        let expected = ["Bearer key-of-mine", "of-m", "from-outside"].map(|value| Some(value.to_owned()));
        assert_eq!(headers, expected, "{question}");
        let shown = fed(world.command("provider show").arg("My Server").env("PI_CODING_AGENT_DIR", "agent"), "");
        let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
        assert!(shown.contains("hidden_headers: X-Team, x-model") && !shown.contains("of-m"), "{shown}");
    }
}

/// The manifest has a price for all its models, or none.
#[test]
fn model_that_is_not_listed_costs_what_its_provider_asks() {
    let prices = "pricing: {input_per_1k_tokens: 0.01, output_per_1k_tokens: 0.1, currency: USD}\n";
    for (pricing, cost, told) in [
        (prices, json!(0.00031), "acme lists no model other; it is asked for it all the same\n"),
        (
            "",
            Value::Null,
            "acme lists no model other; it is asked for it all the same, and what it costs is not known\n",
        ),
    ] {
        let running = Running::new(Script::new().then(stream(&["ok"])));
        let written = format!("{}{pricing}", manifest("acme", &running.base_url()));
        let world = quiet_world().with("agent/providers/acme.yaml", written);
        let mut command = world.command("ask Hi --json --model acme/other");
        let output = fed(command.env("PI_CODING_AGENT_DIR", "agent").env("ACME_KEY", "key-of-acme"), "");
        let last = String::from_utf8_lossy(&output.stdout);
        let last: Value = serde_json::from_str(last.lines().last().expect("a line")).expect("JSON");
        assert_eq!(last["cost"]["total"], cost, "{last}");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(error.contains(told), "{error}");
    }
}

#[test]
fn letters_that_turn_text_around_are_escaped() {
    let running = Running::new(Script::new().then(stream(&["a\u{202e}b \u{2066}c"])));
    let (out, _) = run(&running, &format!("ask Hi --model m --base-url {}", running.base_url()), "");
    assert_eq!(out, "a\\u{202e}b \\u{2066}c\n");
}

/// The pieces of a stream end anywhere, also inside of a line end.
#[test]
fn line_ends_come_through_a_pipe_as_the_model_wrote_them() {
    let running = Running::new(Script::new().then(stream(&["a\r", "\nb\r\n", "c\rd\r\r", "\n\u{1b}[2J"])));
    let (out, _) = run(&running, &format!("ask Hi --model m --base-url {}", running.base_url()), "");
    assert_eq!(out, "a\r\nb\r\nc\rd\r\r\n\\u{1b}[2J\n");
}
