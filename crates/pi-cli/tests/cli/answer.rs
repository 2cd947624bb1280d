//! What `pi ask` says beside the answer: retries, a prompt that is too large, the form of the answer, and what was not
//! counted.

use insta::assert_snapshot;
use pi_testkit::server::{Reply, Script};
use serde_json::{Value, json};

use crate::{
    server::{Running, manifest, refusal, stream},
    world::{World, shown},
};

/// A world with one provider at this server, whose manifest is changed by replacing one text by another.
fn world(running: &Running, changes: &[(&str, &str)]) -> World {
    let written = manifest("acme", &running.base_url());
    let written = changes.iter().fold(written, |text, (old, new)| {
        assert!(text.contains(old), "{old}");
        text.replace(old, new)
    });
    World::new().with("p/acme.yaml", written)
}

fn ask(world: &World, running: &Running, arguments: &str) -> String {
    let mut command = world.command(&format!("ask --provider-dir p --model acme/small {arguments}"));
    let output = command.env("ACME_KEY", "k").output().expect("pi runs");
    let text = running.without_address(&shown(&output));
    let line = |line: &str| match line.split_once(" out · ") {
        Some((beginning, _)) => format!("{beginning} out · REST"),
        None => line.to_owned(),
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn retries_are_told_while_they_happen() {
    let busy = || refusal(500, "server_error", "Oops.");
    let policy = "retry_policy: { strategy: fixed_delay, max_retries: 2, min_delay_ms: 100, jitter: none }";
    let changes = [("retry_policy: { strategy: none }", policy)];
    let running = Running::new(Script::new().then(busy()).then(busy()).then(stream(&["Hello"])));
    assert_snapshot!(ask(&world(&running, &changes), &running, "Hi"), @r"
    Hello
    --- on standard error
    retrying 1 of 2 in 0.1 s: acme answered: 500 server_error: Oops.
    retrying 2 of 2 in 0.1 s: acme answered: 500 server_error: Oops.
    acme/small · 11 tokens in, 2 out · REST
    --- exit 0
    ");
    let running = Running::new(Script::new().otherwise(busy()));
    assert_snapshot!(ask(&world(&running, &changes), &running, "Hi --no-stream"), @r"
    --- on standard error
    retrying 1 of 2 in 0.1 s: acme answered: 500 server_error: Oops.
    retrying 2 of 2 in 0.1 s: acme answered: 500 server_error: Oops.
    error: acme answered: 500 server_error: Oops.
    hint: ask again
    --- exit 75
    ");
}

#[test]
fn closed_port_on_this_machine_is_tried_again_once() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port on loopback");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let output = World::new().command(&format!("ask Hi --model m --base-url http://{address}/v1")).output();
    assert_snapshot!(shown(&output.expect("pi runs")).replace(&address.to_string(), "HOST"), @r"
    --- on standard error
    asking server/m: at the address that was given, as a server of the OpenAI kind
    retrying 1 of 1 in 0.2 s: nothing answers at http://HOST
    error: nothing answers at http://HOST
    hint: start the server, or correct the address; `pi models --available` shows what can be asked now
    --- exit 75
    ");
}

#[test]
fn prompt_that_is_larger_than_the_window_is_told_before_it_is_sent() {
    let running = Running::new(Script::new().otherwise(stream(&["ok"])));
    let small = world(&running, &[("context_window: 8192", "context_window: 20")]);
    let small = small.with("long.txt", "word ".repeat(100));
    assert_snapshot!(ask(&small, &running, "Why? --file long.txt"), @r"
    ok
    --- on standard error
    note: the prompt has about 114 tokens; the window of acme/small has 20, so it may be refused or cut
    acme/small · 11 tokens in, 2 out · REST
    --- exit 0
    ");
    assert_snapshot!(ask(&small, &running, "Hi --max-tokens 20"), @r"
    ok
    --- on standard error
    note: the prompt has about 1 token and the answer may have 20; the window of acme/small has 20, so it may be refused or cut
    acme/small · 11 tokens in, 2 out · REST
    --- exit 0
    ");
    let fits = ask(&small, &running, "Hi");
    assert!(!fits.contains("window"), "{fits}");
    // Not what was wished for counts, but what is sent: the model says at most 1,024.
    let wide = world(&running, &[("context_window: 8192", "context_window: 2000")]);
    let sent = ask(&wide, &running, "Hi --max-tokens 3000");
    assert!(sent.contains("3000 is more than the model's 1024") && !sent.contains("window"), "{sent}");
    let dry: Value = serde_json::from_str(
        ask(&small, &running, "Why? --file long.txt --dry-run --json").lines().next().expect("a line"),
    )
    .expect("JSON");
    assert_eq!(
        dry["shortage"],
        "the prompt has about 114 tokens; the window of acme/small has 20, so it may be refused or cut"
    );
}

/// Makes the provider declare that it can be held to a form.
const FORMS: [(&str, &str); 1] = [(
    "model_capabilities: { tool_call: true, reasoning: false }",
    "model_capabilities: { tool_call: true, reasoning: false, structured_output: true }",
)];

#[test]
fn answer_that_is_not_json_as_asked_ends_with_a_note_and_1() {
    let check = |answer: &str, arguments: &str| {
        let running = Running::new(Script::new().then(stream(&[answer])));
        let world = world(&running, &FORMS).with("schema.json", r#"{"type": "object"}"#);
        ask(&world, &running, &format!("Hi {arguments}"))
    };
    assert_snapshot!(check("Sure, here it is", "--json-object"), @r"
    Sure, here it is
    --- on standard error
    acme/small · 11 tokens in, 2 out · REST
    note: the answer is not what was asked for: not JSON: expected a value at line 1, column 1
    --- exit 1
    ");
    assert_snapshot!(check("```json\n{}\n```", "--json-schema schema.json"), @r"
    ```json
    {}
    ```
    --- on standard error
    acme/small · 11 tokens in, 2 out · REST
    note: the answer is not what was asked for: not JSON: expected a value at line 1, column 1; it stands in a code fence
    --- exit 1
    ");
    assert_snapshot!(check("[1]", "--json-object"), @r"
    [1]
    --- on standard error
    acme/small · 11 tokens in, 2 out · REST
    note: the answer is not what was asked for: JSON, but not an object
    --- exit 1
    ");
    for (answer, arguments) in [("{\"a\": 1}", "--json-object"), ("{}", "--json-schema schema.json"), ("no JSON", "")] {
        let shown = check(answer, arguments);
        assert!(shown.ends_with("exit 0") && !shown.contains("note:"), "{shown}");
    }
    let machine = check("Nothing", "--json-object --json");
    let last: Value = machine
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .find(|it| it.get("message").is_some())
        .expect("a last line");
    assert_eq!(last["form_fault"], "not JSON: expected a value at line 1, column 1");
    assert!(machine.ends_with("exit 1"), "{machine}");
}

#[test]
fn answer_is_checked_against_the_schema() {
    let schema = r#"{"type": "object", "properties": {"age": {"type": "integer", "minimum": 0}, "name": {"type": "string"}}, "required": ["name"]}"#;
    let check = |answer: &str, more: &str| {
        let running = Running::new(Script::new().then(stream(&[answer])));
        let world = world(&running, &FORMS).with("schema.json", schema);
        ask(&world, &running, &format!("Hi --json-schema schema.json {more}"))
    };
    assert_snapshot!(check(r#"{"name": "Ada", "age": "old"}"#, ""), @r#"
    {"name": "Ada", "age": "old"}
    --- on standard error
    acme/small · 11 tokens in, 2 out · REST
    note: the answer is not what was asked for: JSON that does not fit the schema at /age: "old" is not of type "integer"
    --- exit 1
    "#);
    let several = check(r#"{"age": "old"}"#, "");
    assert!(several.contains("the schema: \"name\" is a required property (and 1 more)\n"), "{several}");
    let fits = check(r#"{"name": "Ada", "age": 36}"#, "");
    assert!(fits.ends_with("exit 0") && !fits.contains("note:"), "{fits}");
    let machine = check("[]", "--json");
    let last = machine.lines().rfind(|line| line.starts_with('{')).expect("a line");
    let last: Value = serde_json::from_str(last).expect("JSON");
    assert_eq!(last["form_fault"], "JSON that does not fit the schema: [] is not of type \"object\"");
    assert_eq!((&last["exit_code"], machine.ends_with("exit 1")), (&json!(1), true), "{machine}");
}

#[test]
fn schema_that_is_none_is_refused_before_anything_is_sent() {
    let running = Running::new(Script::new());
    let world = world(&running, &[]).with("schema.json", r#"{"type": "objet"}"#);
    let shown = ask(&world, &running, "Hi --json-schema schema.json");
    assert!(shown.contains("error: schema.json is not a schema\n") && shown.ends_with("exit 2"), "{shown}");
    assert_eq!(running.server.requests().len(), 0);
}

#[test]
fn what_was_changed_in_the_request_is_told_before_the_answer() {
    let thinks =
        "model_capabilities: { tool_call: true, reasoning: true }\n      thinking_levels: { \"off\": null, low: low }";
    let changes = [("model_capabilities: { tool_call: true, reasoning: false }", thinks)];
    let running = Running::new(Script::new().otherwise(stream(&["Hello"])));
    let world = world(&running, &changes);
    let run = |arguments: &str| {
        let mut command = world.command(&format!("ask Hi --provider-dir p --model acme/small {arguments}"));
        let both = "exec \"$0\" \"$@\" 2>&1";
        let mut merged = merged(both, &mut command);
        let output = merged.env("ACME_KEY", "k").output().expect("pi runs");
        String::from_utf8(output.stdout).expect("text")
    };
    for (arguments, expected) in [
        ("", "it thinks without being asked to: off is not a level of this model, low is\nHello\n"),
        ("--thinking high", "note: changed thinking: high is not a level of this model, low is\nHello\n"),
    ] {
        let shown = run(arguments);
        assert!(shown.starts_with(expected), "{shown}");
    }
}

/// The same command with both streams in one, so that their order is seen.
#[expect(clippy::disallowed_methods, reason = "a shell joins the streams")]
fn merged(script: &str, command: &mut std::process::Command) -> std::process::Command {
    let mut shell = std::process::Command::new("/bin/sh");
    shell.arg("-c").arg(script).arg(command.get_program()).args(command.get_args());
    shell.current_dir(command.get_current_dir().expect("a folder")).env_clear().stdin(std::process::Stdio::null());
    shell
}

#[test]
fn what_nobody_counted_is_null() {
    let silent = Reply::events([
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\n",
        "data: [DONE]\n\n",
    ]);
    let running = Running::new(Script::new().then(silent));
    let shown = ask(&world(&running, &[]), &running, "Hi --json");
    let last: Value =
        serde_json::from_str(shown.lines().rfind(|it| it.starts_with('{')).expect("a line")).expect("JSON");
    assert_eq!(
        (&last["counted"], &last["usage"], &last["cost"]),
        (&json!(false), &Value::Null, &Value::Null),
        "{last}"
    );
}
