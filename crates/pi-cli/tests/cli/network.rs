//! What people read when the way to a model server, its time, its answer or its price is not what it should be.

use insta::assert_snapshot;
use pi_testkit::server::{Reply, Script, Step};
use serde_json::{Value, json};

use crate::{
    server::{Running, frame, manifest, stream},
    world::{World, shown},
};

/// Runs `pi ask` with these variables; times and addresses are taken out.
fn ask(world: &World, running: &Running, arguments: &str, variables: &[(&str, &str)]) -> String {
    let mut command = world.command(arguments);
    command.env("PI_CODING_AGENT_DIR", "agent").envs(variables.iter().copied());
    let shown = running.without_address(&shown(&command.output().expect("pi runs")));
    let line = |line: &str| match line.rsplit_once(" · ") {
        Some((before, time)) if time.ends_with(" s") => format!("{before} · TIME"),
        Some(_) | None => line.to_owned(),
    };
    shown.lines().map(line).collect::<Vec<_>>().join("\n")
}

const BROKEN: [(&str, &str); 3] =
    [("SSL_CERT_FILE", "absent.pem"), ("SSL_CERT_DIR", "absent"), ("ALL_PROXY", "gopher://planted")];

#[test]
fn what_is_broken_does_not_stop_the_demo_nor_a_server_on_this_machine() {
    let running = Running::new(Script::new().otherwise(stream(&["Hello"])));
    let world = World::new().with("agent/auth.json", "{\n  \"openai\": sk-planted");
    let note = "note: agent/auth.json is not a table of credentials (line 2, column 13), so no credential comes from it; \
                correct the file, or move it away";
    let demo = ask(&world, &running, "ask Hello --model demo", &BROKEN);
    assert!(demo.contains(note) && demo.ends_with("--- exit 0"), "{demo}");
    let url = running.base_url();
    let near = ask(&world, &running, &format!("ask Hi --model m --base-url {url}"), &BROKEN);
    assert!(near.starts_with("Hello\n") && near.contains(note) && near.ends_with("--- exit 0"), "{near}");
    assert!(!format!("{demo}{near}").contains("planted"));
}

#[test]
fn what_is_broken_is_told_where_it_is_needed() {
    let running = Running::new(Script::new());
    let world = World::new().with("agent/auth.json", "[]");
    assert_snapshot!(ask(&world, &running, "ask Hi --model openai", &[]), @r"
    --- on standard error
    note: agent/auth.json can be read by others (mode 0644); run chmod 600 on it
    note: agent/auth.json is not a table of credentials (line 1, column 0), so no credential comes from it; correct the file, or move it away
    error: there is no credential for openai: agent/auth.json is not a table of credentials (line 1, column 0)
    hint: correct the file, or move it away; it is looked for in OPENAI_API_KEY, agent/auth.json
    --- exit 2
    ");
    let world = World::new();
    let key = ("GROQ_API_KEY", "k");
    assert_snapshot!(ask(&world, &running, "ask Hi --model groq/openai/gpt-oss-20b", &[key, BROKEN[0]]), @"
    --- on standard error
    error: groq cannot be asked from here: SSL_CERT_FILE: absent.pem cannot be read: No such file or directory (os error 2)
    hint: correct SSL_CERT_FILE, make the file readable, or unset it
    --- exit 2
    ");
    assert_snapshot!(ask(&world, &running, "ask Hi --model groq/openai/gpt-oss-20b", &[key, BROKEN[2]]), @"
    --- on standard error
    error: groq cannot be asked from here: ALL_PROXY is not the address of a proxy that can be used
    hint: write ALL_PROXY like http://host:port or socks5://host:port, or unset it
    --- exit 2
    ");
}

/// Anthropic refuses such logins from other programs with words that help nobody.
#[test]
fn login_of_a_subscription_is_told_instead_of_sent() {
    let running = Running::new(Script::new());
    let login = json!({"anthropic": {"type": "oauth", "access": "planted", "refresh": "planted", "expires": 4e12}});
    let world = World::new().with("agent/auth.json", login.to_string());
    let shown = ask(&world, &running, "ask Hi --model anthropic/claude-haiku-5-5", &[]);
    let told = "error: there is no credential for anthropic: the login of anthropic cannot be used here: Anthropic takes \
                the logins of its subscriptions from its own programs only\nhint: use a key; it is looked for in";
    assert!(shown.contains(told) && !shown.contains("planted"), "{shown}");
}

#[test]
fn check_of_a_server_that_hangs_ends_in_time_and_says_so() {
    let begun = Reply::events([frame(&json!({"choices": [{"index": 0, "delta": {"content": "Hel"}}]}))]);
    let running = Running::new(Script::new().otherwise(begun.and(Step::Hang)));
    let world = World::new().with("agent/providers/acme.yaml", manifest("acme", &running.base_url()));
    let shown = ask(&world, &running, "provider test acme --model small --timeout 0.3", &[("ACME_KEY", "k")]);
    assert_eq!(shown.matches("acme did not answer in time (in all, 300 ms)").count(), 3, "{shown}");
    assert!(shown.starts_with("acme/small\n"), "{shown}");
}

#[test]
fn time_is_limited_by_option_and_by_settings_and_the_limit_is_named() {
    let begun = || Reply::events([frame(&json!({"choices": [{"index": 0, "delta": {"content": "Hel"}}]}))]);
    let running = Running::new(Script::new().otherwise(begun().and(Step::Hang)));
    let url = running.base_url();
    let arguments = format!("ask Hi --model m --base-url {url}");
    assert_snapshot!(ask(&World::new(), &running, &format!("{arguments} --timeout 0.3"), &[]), @r"
    Hel
    --- on standard error
    asking server/m: at the address that was given, as a server of the OpenAI kind
    error: http://HOST/v1 did not answer in time (in all, 300 ms)
    hint: give more time with --timeout SECONDS, or httpTotalTimeoutMs in settings.json (milliseconds)
    --- exit 75
    ");
    let total = World::new().with("agent/settings.json", r#"{"httpTotalTimeoutMs": 300}"#);
    let shown = ask(&total, &running, &arguments, &[]);
    assert!(shown.contains("did not answer in time (in all, 300 ms)"), "{shown}");
    let idle = World::new().with("agent/settings.json", r#"{"httpIdleTimeoutMs": 300}"#);
    let shown = ask(&idle, &running, &arguments, &[]);
    assert!(shown.contains("did not answer in time (waiting for the next piece, 300 ms)"), "{shown}");
    assert!(shown.contains("raise httpIdleTimeoutMs in settings.json"), "{shown}");
}

#[test]
fn limit_of_a_manifest_is_named_with_its_place() {
    let running = Running::new(Script::new().otherwise(Reply::hang()));
    let text = manifest("acme", &running.base_url()).replace("  chat: /chat", "  timeout_ms: 300\n  chat: /chat");
    let world = World::new().with("agent/providers/acme.yaml", text);
    assert_snapshot!(ask(&world, &running, "ask Hi --model acme/small", &[("ACME_KEY", "k")]), @"
    --- on standard error
    error: acme did not answer in time (waiting for the first byte, 300 ms, the timeout_ms of its manifest)
    hint: ask again, or raise endpoint.timeout_ms in the manifest of acme; httpIdleTimeoutMs in settings.json beats it
    --- exit 75
    ");
}

#[test]
fn web_page_and_redirect_are_told_with_what_to_do() {
    let page = Reply::whole(200, "text/html", b"<!doctype html><title>Hello</title>");
    let running = Running::new(Script::new().otherwise(page));
    let arguments = format!("ask Hi --model m --base-url {}", running.server.url());
    assert_snapshot!(ask(&World::new(), &running, &arguments, &[]), @"
    --- on standard error
    asking server/m: at the address that was given, as a server of the OpenAI kind
    error: the server at http://HOST answered with a web page
    hint: is the base URL right? that of a model server often ends in /v1; if a login page of the network is in the way, log in with a browser first
    --- exit 2
    ");
    assert_eq!(running.server.requests().len(), 1, "it is not asked for again");
    let away = Reply::text(308, "").header("location", "https://models.example/v1/chat/completions?key=planted");
    let running = Running::new(Script::new().otherwise(away));
    let arguments = format!("ask Hi --model m --base-url {}", running.server.url());
    assert_snapshot!(ask(&World::new(), &running, &arguments, &[]), @"
    --- on standard error
    asking server/m: at the address that was given, as a server of the OpenAI kind
    error: http://HOST sends the request elsewhere (308 to https://models.example/v1/chat/completions), where it is not followed
    hint: if https://models.example/v1/chat/completions is right, write it, without the path of the operation, as base_url or with --base-url
    --- exit 2
    ");
}

/// A stream with a call whose arguments stop in the middle, though the provider says that all is well.
fn cut_call() -> Reply {
    let call = json!({"index": 0, "id": "call-1", "function": {"name": "write", "arguments": "{\"text\": \"half"}});
    let frames = [
        json!({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
    ];
    Reply::events(frames.iter().map(frame).chain(["data: [DONE]\n\n".to_owned()]))
}

#[test]
fn cut_calls_and_calls_that_were_not_made_are_told() {
    let world = || World::new().with("tool.json", r#"{"name": "write", "description": "Writes."}"#);
    let cut = Running::new(Script::new().otherwise(cut_call()));
    let arguments = |running: &Running| format!("ask Hi --model m --tool tool.json --base-url {}", running.base_url());
    let shown = ask(&world(), &cut, &arguments(&cut), &[]);
    assert!(shown.contains("note: call call-1 ends in the middle of its arguments: it must not be run"), "{shown}");
    assert!(shown.ends_with("--- exit 1"), "{shown}");
    let last = last_object(&world(), &format!("{} --json", arguments(&cut)));
    assert_eq!(last["exit_code"], 1);
    assert_eq!((&last["unfinished_calls"], &last["missing_call"]), (&json!(["call-1"]), &Value::Null));
    let diagnostic = &last["message"]["diagnostics"][0];
    assert_eq!(
        (&diagnostic["type"], &diagnostic["details"]),
        (&json!("unfinished_tool_call"), &json!({"toolCallId": "call-1"}))
    );
    let words = Running::new(Script::new().otherwise(stream(&["I would rather not."])));
    for (choice, expected) in [
        ("required", "a call of a tool was demanded, and the model made none"),
        ("write", "a call of write was demanded, and the model made none"),
    ] {
        let arguments = format!("{} --tool-choice {choice}", arguments(&words));
        let shown = ask(&world(), &words, &arguments, &[]);
        assert!(shown.contains(&format!("note: {expected}\n")) && shown.ends_with("--- exit 1"), "{choice}: {shown}");
        assert_eq!(last_object(&world(), &format!("{arguments} --json"))["missing_call"], expected);
    }
}

fn last_object(world: &World, arguments: &str) -> Value {
    let output = world.command(arguments).env("ACME_KEY", "k").env("PI_CODING_AGENT_DIR", "agent").output();
    let text = String::from_utf8(output.expect("pi runs").stdout).expect("text");
    serde_json::from_str(text.lines().last().expect("a line")).expect("an object")
}

/// An answer to a prompt of so many tokens, some of them from a cache.
fn counted(prompt: u64, cached: u64) -> Reply {
    let usage = json!({"prompt_tokens": prompt, "completion_tokens": 1000, "total_tokens": prompt + 1000,
        "prompt_tokens_details": {"cached_tokens": cached}});
    let frames = [
        json!({"choices": [{"index": 0, "delta": {"content": "Hi"}}]}),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
        json!({"choices": [], "usage": usage}),
    ];
    Reply::events(frames.iter().map(frame).chain(["data: [DONE]\n\n".to_owned()]))
}

#[test]
fn cost_is_a_range_where_the_price_of_the_cache_is_not_known_and_goes_by_the_length_of_the_prompt() {
    let script = || Script::new().then(counted(5000, 4000)).then(counted(5000, 4000)).then(counted(150_000, 0));
    let running = Running::new(script());
    let tiers = "output_per_1m: 2.0, tiers: [{ above_prompt_tokens: 100000, input_per_1m: 3.0, output_per_1m: 4.0 }]";
    let text = manifest("acme", &running.base_url()).replace("output_per_1m: 2.0", tiers);
    let world = World::new().with("agent/providers/acme.yaml", text);
    let key = [("ACME_KEY", "k")];
    let range = ask(&world, &running, "ask Hi --model acme/small", &key);
    let told = "acme/small · 5,000 tokens in (4,000 cached), 1,000 out · $0.003000–0.007000 · TIME";
    assert!(range.contains(told), "{range}");
    let last = last_object(&world, "ask Hi --model acme/small --json");
    assert_eq!((&last["cost"]["atLeast"], &last["cost"]["totalAtMost"]), (&json!(true), &json!(0.007)));
    let long = ask(&world, &running, "ask Hi --model acme/small", &key);
    assert!(long.contains("150,000 tokens in, 1,000 out · $0.454000 · TIME"), "{long}");

    let listed = world.command("models acme --json").env("PI_CODING_AGENT_DIR", "agent").output().expect("pi runs");
    let listed: Value = serde_json::from_slice(&listed.stdout).expect("an object");
    assert_eq!(listed["cache_price_known"], false);
    assert_eq!(listed["pricing"]["tiers"][0]["above_prompt_tokens"], 100_000);
    let table = ask(&world, &running, "models acme", &[]);
    assert!(table.contains("1.00+~  2.00+"), "{table}");
    let outline = ask(&world, &running, "provider show acme", &[]);
    assert!(outline.contains("above_prompt_tokens: 100000, input_per_1m: 3, output_per_1m: 4 }"), "{outline}");
}
