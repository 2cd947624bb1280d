//! `pi provider`: what it says about manifests, and what it makes of old ones.

use std::path::Path;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::{server::manifest, world::World};

/// A manifest of version 2 with everything that it must have.
const GOOD: &str = "id: acme
protocol_version: \"2.0\"
endpoint:
  base_url: https://acme.example/v1
  chat: /chat/completions
  auth: { type: bearer, header: Authorization, token_env: ACME_KEY }
error_classification:
  by_http_status: { \"400\": invalid_request, \"401\": authentication, \"429\": rate_limited, \"500\": server_error }
capabilities:
  required: [text]
";

/// Wrong in ring 1 (the id, an error name) and in ring 3 (the strategy).
const BAD: &str = "id: Acme Corporation
protocol_version: \"2.0\"
endpoint:
  base_url: https://acme.example/v1
  auth: { type: bearer, header: Authorization, token_env: ACME_KEY }
error_classification:
  by_http_status: { \"400\": invalid_request, \"401\": nonsense, \"429\": rate_limited, \"500\": server_error }
retry_policy: { strategy: sometimes }
";

/// The first generation, with models of its own shape.
const OLD: &str = "id: oldie
protocol_version: \"1.5\"
endpoint: { base_url: https://oldie.example/v1 }
endpoints: { chat: { path: /chat/completions } }
auth: { type: api_key, header_name: api-key, key_env: OLDIE_KEY }
availability: { required: true, regions: [global], check: { method: GET, path: /models } }
capabilities: { streaming: true, tools: true, vision: false }
parameter_mappings: { temperature: temperature, max_tokens: generation.max_output }
streaming:
  decoder: { format: sse, strategy: openai_chat }
  event_map:
    - { match: \"exists($.choices[0].delta.content)\", emit: PartialContentDelta, fields: { content: \"$.choices[0].delta.content\" } }
error_classification:
  by_http_status: { \"429\": rate_limited }
  by_error_status: { overloaded: overloaded }
";

#[test]
fn valid_manifest_is_told_with_its_version() {
    let world = World::new().with("acme.yaml", GOOD).with("oldie.yaml", OLD);
    assert_snapshot!(world.run("provider validate acme.yaml oldie.yaml"), @r#"
    valid    acme.yaml  acme, version 2.0, 0 models
    warning[ring1.least-statuses]: 400, 401, 500 must be mapped too; the usual meaning is assumed
      --> oldie.yaml:14:19
       |
    14 |   by_http_status: { "429": rate_limited }
       |                   ^^^^^^^^^^^^^^^^^^^^^^^
       = in error_classification.by_http_status
       = help: map at least 400, 401, 429 and 500 to standard names

    valid    oldie.yaml  oldie, version 1.5, promoted to 2.0, 0 models
    2 files: 2 valid, 1 warning
    --- exit 0
    "#);
    assert_snapshot!(world.run("provider validate --quiet acme.yaml"), @"--- exit 0");
    assert_snapshot!(world.run_with_input("provider validate -", GOOD), @r"
    valid    -  acme, version 2.0, 0 models
    --- exit 0
    ");
}

#[test]
fn faults_are_shown_with_their_place() {
    assert_snapshot!(World::new().with("bad.yaml", BAD).run("provider validate bad.yaml"), @r#"
    error[ring1.id]: "Acme Corporation" is not an id
     --> bad.yaml:1:5
      |
    1 | id: Acme Corporation
      |     ^^^^^^^^^^^^^^^^
      = in id
      = help: 2 to 64 lower case letters, digits, - and _, beginning with a letter or digit

    error[ring1.chat]: endpoint.chat is missing
     --> bad.yaml:3:1
      |
    3 | endpoint:
      | ^^^^^^^^
      = in endpoint.chat
      = help: write the path of a chat, such as /chat/completions

    error[ring1.error-name]: "nonsense" is not a standard error
     --> bad.yaml:7:52
      |
    7 |   by_http_status: { "400": invalid_request, "401": nonsense, "429": rate_limited, "500": server_error }
      |                                                    ^^^^^^^^
      = in error_classification.by_http_status.401
      = help: write invalid_request, authentication, permission_denied, not_found, request_too_large, rate_limited, quota_exhausted, server_error, overloaded, timeout, conflict, cancelled or unknown

    warning[ring3.retry-policy]: "sometimes" is not one of none, exponential_backoff, linear_backoff, fixed_delay
     --> bad.yaml:8:27
      |
    8 | retry_policy: { strategy: sometimes }
      |                           ^^^^^^^^^
      = in retry_policy.strategy
      = help: write none, exponential_backoff, linear_backoff or fixed_delay

    invalid  bad.yaml  3 errors
    --- exit 1
    "#);
    assert_snapshot!(World::new().with("bad.json", "{\"id\": \"x\",,}").run("provider validate bad.json"), @r#"
    error[file.syntax]: a key in double quotes is expected
     --> bad.json:1:12
      |
    1 | {"id": "x",,}
      |            ^
      = help: look at this place and the line above it: indentation, quotes, brackets and colons

    invalid  bad.json  1 error
    --- exit 1
    "#);
    let coloured = World::new().with("bad.yaml", BAD).run("provider validate bad.yaml --color always");
    assert!(coloured.contains("␛[1;31merror[ring1.id]␛[0m"), "{coloured}");
}

#[test]
fn machine_gets_one_object_per_file() {
    let world = World::new().with("acme.yaml", GOOD).with("bad.yaml", BAD);
    assert_snapshot!(world.run("provider validate --json acme.yaml bad.yaml gone.yaml"), @r#"
    {"file":"acme.yaml","valid":true,"kind":"manifest","id":"acme","version":"2.0","models":0,"errors":[],"warnings":[],"notes":[],"ignored":[]}
    {"file":"bad.yaml","valid":false,"kind":"manifest","version":"2.0","errors":[{"rule":"ring1.id","line":1,"column":5,"length":16,"path":"id","message":"\"Acme Corporation\" is not an id","hint":"2 to 64 lower case letters, digits, - and _, beginning with a letter or digit"},{"rule":"ring1.chat","line":3,"column":1,"length":8,"path":"endpoint.chat","message":"endpoint.chat is missing","hint":"write the path of a chat, such as /chat/completions"},{"rule":"ring1.error-name","line":7,"column":52,"length":8,"path":"error_classification.by_http_status.401","message":"\"nonsense\" is not a standard error","hint":"write invalid_request, authentication, permission_denied, not_found, request_too_large, rate_limited, quota_exhausted, server_error, overloaded, timeout, conflict, cancelled or unknown"}],"warnings":[{"rule":"ring3.retry-policy","line":8,"column":27,"length":9,"path":"retry_policy.strategy","message":"\"sometimes\" is not one of none, exponential_backoff, linear_backoff, fixed_delay","hint":"write none, exponential_backoff, linear_backoff or fixed_delay"}],"notes":[],"ignored":[]}
    {"file":"gone.yaml","valid":false,"errors":[{"path":"","message":"cannot read gone.yaml: No such file or directory (os error 2)"}]}
    --- exit 1
    "#);
}

#[test]
fn what_is_assumed_is_told_unless_only_errors_are_wanted() {
    let text = GOOD.replace("header: Authorization, ", "");
    let world = World::new().with("acme.yaml", text);
    assert_snapshot!(world.run("provider validate acme.yaml"), @r"
    note[ring1.auth-header]: Authorization is assumed
     --> acme.yaml:6:9
      |
    6 |   auth: { type: bearer, token_env: ACME_KEY }
      |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      = in endpoint.auth.header
      = help: write the name of the header that carries the credential, such as header: Authorization

    valid    acme.yaml  acme, version 2.0, 0 models
    --- exit 0
    ");
    assert_snapshot!(world.run("provider validate --json acme.yaml"), @r#"
    {"file":"acme.yaml","valid":true,"kind":"manifest","id":"acme","version":"2.0","models":0,"errors":[],"warnings":[],"notes":[{"rule":"ring1.auth-header","line":6,"column":9,"length":0,"path":"endpoint.auth.header","message":"Authorization is assumed","hint":"write the name of the header that carries the credential, such as header: Authorization"}],"ignored":[]}
    --- exit 0
    "#);
    assert_snapshot!(world.run("provider validate --quiet acme.yaml"), @"--- exit 0");
}

#[test]
fn expressions_are_compiled() {
    let stream = "streaming:\n  decoder: { format: sse }\n  stop_condition: \"$.type ==\"\n";
    let declared = GOOD.replace("[text]", "[text, streaming]");
    let world = World::new().with("stream.yaml", declared + stream).with(
        "contract.yaml",
        format!("{GOOD}provider_contract: {{ response_mapping: {{ content_path: \"$.a[\" }} }}\n"),
    );
    assert_snapshot!(world.run("provider validate stream.yaml"), @r#"
    error[expression.condition]: a value is expected at column 10 of "$.type =="
      --> stream.yaml:13:19
       |
    13 |   stop_condition: "$.type =="
       |                   ^^^^^^^^^^^
       = in streaming.stop_condition
       = help: write a path ($.error), a comparison ($.type == 'error', $.a in ['x', 'y'], $.name =~ 'get_*'), or several with &&, || and !

    invalid  stream.yaml  1 error
    --- exit 1
    "#);
    assert_snapshot!(world.run("provider validate contract.yaml"), @r#"
    warning[expression.path]: a number, *, a quoted name or a filter is expected at column 5 of "$.a["
      --> contract.yaml:11:56
       |
    11 | provider_contract: { response_mapping: { content_path: "$.a[" } }
       |                                                        ^^^^^^
       = in provider_contract.response_mapping.content_path
       = help: write steps from the root, such as $.choices[0].delta.content, content[*].text or $.parts[?(@.type=='text')].text

    valid    contract.yaml  acme, version 2.0, 0 models
    --- exit 0
    "#);
}

#[test]
fn a_name_belongs_to_one_manifest_of_a_folder() {
    let named = |id: &str, aliases: &str| GOOD.replacen("id: acme", &format!("id: {id}\naliases: [{aliases}]"), 1);
    let world = World::new()
        .with("all/a.yaml", named("alpha", "handy, gamma"))
        .with("all/b.yaml", named("beta", "handy"))
        .with("all/c.yaml", named("gamma", ""));
    assert_snapshot!(world.run("provider validate all"), @r#"
    valid    all/a.yaml  alpha, version 2.0, 0 models
    error[catalog.duplicate-alias]: "handy" is an alias of alpha in all/a.yaml:2:11, which counts
     --> all/b.yaml:2:11
      |
    2 | aliases: [handy]
      |           ^^^^^
      = in aliases[0]
      = help: take the name out of one of the two; an id beats an alias, and an earlier file a later one

    invalid  all/b.yaml  1 error
    warning[catalog.alias]: the id "gamma" is an alias of alpha in all/a.yaml:2:18; the id counts
     --> all/c.yaml:1:5
      |
    1 | id: gamma
      |     ^^^^^
      = in id
      = help: take the alias out; the provider is found under its id and its other aliases

    valid    all/c.yaml  gamma, version 2.0, 0 models
    3 files: 2 valid, 1 invalid, 1 warning
    --- exit 1
    "#);
}

#[test]
fn two_manifests_of_one_provider_in_a_folder_are_an_error() {
    let world = World::new().with("all/a.yaml", GOOD).with("all/b.yml", GOOD).with("all/notes.txt", "not read");
    assert_snapshot!(world.run("provider validate all"), @r#"
    valid    all/a.yaml  acme, version 2.0, 0 models
    error[catalog.duplicate-id]: the id "acme" stands in all/a.yaml:1:5 too; this file is left out
     --> all/b.yml:1:5
      |
    1 | id: acme
      |     ^^^^
      = in id
      = help: give one of them another id, or keep them in different sources: the later source wins

    invalid  all/b.yml  1 error
    2 files: 1 valid, 1 invalid
    --- exit 1
    "#);
    assert_snapshot!(World::new().with("all/a.txt", "").run("provider validate all"), @r"
    --- on standard error
    error: all contains no .yaml, .yml or .json file
    hint: name the files, or a folder that holds some
    --- exit 1
    ");
}

#[test]
fn each_argument_is_a_source_and_the_later_one_counts() {
    let other = GOOD.replace("id: acme", "id: other\naliases: [acme, handy]");
    let world = World::new().with("one/a.yaml", GOOD).with("two/a.yaml", GOOD).with("two/b.yaml", other);
    assert_snapshot!(world.run("provider validate one two"), @r#"
    valid    one/a.yaml  acme, version 2.0, 0 models
    note[catalog.replaced]: the id "acme" stands in one/a.yaml:1:5 too, an earlier source; this file replaces it
     --> two/a.yaml:1:5
      |
    1 | id: acme
      |     ^^^^
      = in id
      = help: each argument is a source; of several sources the later counts, of two files in one folder only one may have an id

    valid    two/a.yaml  acme, version 2.0, 0 models
    warning[catalog.alias]: "acme" is the id of acme in two/a.yaml:1:5, which counts
     --> two/b.yaml:2:11
      |
    2 | aliases: [acme, handy]
      |           ^^^^
      = in aliases[0]
      = help: take the alias out; the provider is found under its id and its other aliases

    valid    two/b.yaml  other, version 2.0, 0 models
    3 files: 3 valid, 1 warning
    --- exit 0
    "#);
    let shown = world.run("provider validate two one");
    let told = "the id \"acme\" stands in two/a.yaml:1:5 too, an earlier source; this file replaces it";
    assert!(shown.contains(told) && shown.ends_with("exit 0"), "{shown}");
    let shown = world.run("provider validate two/b.yaml one");
    let told = "warning[catalog.alias]: the id \"acme\" is an alias of other in two/b.yaml:2:11; the id counts";
    assert!(shown.contains(told) && shown.ends_with("exit 0"), "{shown}");
}

#[test]
fn old_manifest_is_printed_in_the_form_of_version_2() {
    let world = World::new().with("oldie.yaml", OLD);
    assert_snapshot!(world.run("provider promote oldie.yaml"), @r#"
    id: oldie
    protocol_version: "2.0"
    endpoint:
      base_url: https://oldie.example/v1
      auth:
        type: custom_header
        header: api-key
        token_env: OLDIE_KEY
      chat: /chat/completions
    error_classification:
      by_http_status:
        "429": rate_limited
        "400": invalid_request
        "401": authentication
        "500": server_error
      by_error_code:
        overloaded: overloaded
    capabilities:
      required:
      - text
      - streaming
      - tools
    streaming:
      decoder:
        format: sse
        strategy: openai_chat
      event_map:
      - match: exists($.choices[0].delta.content)
        emit: PartialContentDelta
        extract:
          content: $.choices[0].delta.content
    endpoints:
      chat:
        path: /chat/completions
        method: POST
    provider_contract:
      request_mapping:
        parameter_aliases:
          temperature: temperature
          max_tokens: generation.max_output
    availability:
      required: true
      regions:
      - global
      check:
        method: GET
        path: /models
        timeout_ms: 3000
    --- on standard error
    note: oldie.yaml:14:19: warning[ring1.least-statuses]: 400, 401, 500 must be mapped too; the usual meaning is assumed (error_classification.by_http_status)
    --- exit 0
    "#);
    assert_snapshot!(World::new().with("bad.yaml", BAD).run("provider promote bad.yaml"), @r#"
    --- on standard error
    error: bad.yaml is not a manifest that can be used
      bad.yaml:1:5: error[ring1.id]: "Acme Corporation" is not an id (id)
      bad.yaml:3:1: error[ring1.chat]: endpoint.chat is missing (endpoint.chat)
      bad.yaml:7:52: error[ring1.error-name]: "nonsense" is not a standard error (error_classification.by_http_status.401)
    hint: `pi provider validate bad.yaml` shows what is wrong
    --- exit 2
    "#);
}

#[test]
fn promotion_says_which_unknown_members_it_keeps() {
    let old = GOOD.replacen("endpoint:\n", "x_custom: { colour: blue }\nendpoint:\n  x_inner: 1\n", 1);
    assert!(old.contains("x_inner"), "{old}");
    let shown = World::new().with("old.yaml", &old).run("provider promote old.yaml");
    assert!(shown.contains("\nx_custom:\n  colour: blue\n") && !shown.contains("x_inner: 1"), "{shown}");
    assert!(shown.contains("note: 1 unknown member kept as written: x_custom\n"), "{shown}");
    assert!(shown.contains("note: 1 unknown member left out: endpoint.x_inner\n"), "{shown}");
}

#[test]
fn promoted_manifest_is_a_fixed_point() {
    for format in ["yaml", "json"] {
        check_promotion(OLD, format, "oldie");
    }
}

#[test]
fn old_manifests_of_the_world_promote_to_valid_ones() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/ai-protocol/v1/providers"));
    #[expect(clippy::disallowed_methods, reason = "the data stands beside the project")]
    let Ok(files) = std::fs::read_dir(folder) else {
        return eprintln!("SKIPPED: {} is not there", folder.display());
    };
    let mut count = 0;
    for file in files {
        let path = file.expect("the folder can be listed").path();
        #[expect(clippy::disallowed_methods, reason = "the data stands beside the project")]
        let text = std::fs::read_to_string(&path).expect("a manifest");
        check_promotion(&text, "yaml", &path.file_stem().unwrap_or_default().to_string_lossy());
        count += 1;
    }
    assert!(count > 5, "only {count} manifests were found");
}

/// Promotes a manifest, and what comes out once more: it is the same, and nothing is wrong with it.
fn check_promotion(manifest: &str, format: &str, name: &str) {
    let world = World::new().with("old.yaml", manifest);
    let promoted = output(&world, &format!("provider promote --format {format} old.yaml"));
    let world = world.with("new.yaml", &promoted);
    assert_eq!(output(&world, &format!("provider promote --format {format} new.yaml")), promoted, "{name}");
    let verdict: Value = serde_json::from_str(&output(&world, "provider validate --json new.yaml")).expect("JSON");
    assert_eq!((&verdict["valid"], &verdict["version"]), (&true.into(), &"2.0".into()), "{name}: {verdict}");
    assert_eq!((&verdict["errors"], &verdict["ignored"]), (&Value::Array(vec![]), &Value::Array(vec![])), "{name}");
}

fn output(world: &World, arguments: &str) -> String {
    String::from_utf8(world.command(arguments).output().expect("pi runs").stdout).expect("text")
}

#[test]
fn new_manifest_is_valid_and_never_overwrites() {
    let world = World::new();
    assert_snapshot!(world.run("provider new workshop --base-url http://127.0.0.1:8080/v1 --output w.yaml"), @r"
    --- on standard error
    written to w.yaml; `pi provider validate w.yaml` checks it once you have changed it
    --- exit 0
    ");
    assert_snapshot!(world.run("provider validate w.yaml"), @r"
    valid    w.yaml  workshop, version 2.0, 1 model
    --- exit 0
    ");
    assert_snapshot!(world.run("provider new workshop --output w.yaml"), @r"
    --- on standard error
    error: cannot write w.yaml: File exists (os error 17)
    hint: nothing is overwritten; choose another name, or move that file away
    --- exit 2
    ");
    let printed = output(&world, "provider new workshop");
    assert!(printed.starts_with("# A provider for pi") && printed.contains("token_env: WORKSHOP_API_KEY"), "{printed}");
    assert_eq!(world.run_with_input("provider validate -", &printed).lines().last(), Some("--- exit 0"));
    assert_snapshot!(world.run("provider new Work_Shop!"), @r"
    --- on standard error
    error: Work_Shop! is not an id of a provider
    hint: 2 to 64 lower case letters, digits, - and _, beginning with a letter or digit
    --- exit 2
    ");
    let shorter = ["anthropic", "gemini", "cohere"];
    for dialect in pi_provider::Dialect::STRATEGIES.into_iter().chain(shorter) {
        let printed = output(
            &world,
            &format!("provider new workshop --dialect {dialect} --model lathe:2 --base-url http://127.0.0.1:9"),
        );
        assert_eq!(world.run_with_input("provider validate --quiet -", &printed), "--- exit 0", "{printed}");
        let world = World::new().with("p/workshop.yaml", &printed);
        let dry = world.run("ask Hi --provider-dir p --model workshop/lathe:2 --dry-run");
        assert!(dry.starts_with("POST http://127.0.0.1:9/") && dry.ends_with("exit 0"), "{dry}");
    }
    let made = world.run("provider new workshop --base-url https://models.example/v1 --output deep/er/w.yaml");
    assert!(made.ends_with("--- exit 0"), "{made}");
    assert!(
        world.read(world.path().join("deep/er/w.yaml")).contains("type: bearer "),
        "a server elsewhere wants a key"
    );
    assert!(world.read(world.path().join("w.yaml")).contains("type: none "), "one on this machine usually does not");
    let unknown = world.run("provider new workshop --dialect klingon");
    assert!(unknown.contains("[possible values: openai_chat, ") && unknown.ends_with("exit 2"), "{unknown}");
    let built_in = world.run("provider new openai");
    assert!(built_in.contains("note: openai comes with pi; this file would replace it"), "{built_in}");
}

#[test]
fn source_of_a_manifest_is_printed_as_it_is_written() {
    let commented = format!("# Ours.\n{GOOD}");
    let world = World::new().with("p/acme.yaml", &commented);
    assert_eq!(output(&world, "provider show acme --provider-dir p --source"), commented);
    let copied = output(&world, "provider show anthropic --source");
    assert_eq!(copied, include_str!("../../../pi-provider/manifests/anthropic.yaml"));
    let keys = r#"{"providers": {"other": {"baseUrl": "http://pi.example/v1", "api": "openai-completions", "apiKey": "sk-planted", "models": [{"id": "m1"}]}}}"#;
    let world = World::new().with("agent/models.json", keys);
    let mut command = world.command("provider show other --source");
    let shown = crate::world::shown(&command.env("PI_CODING_AGENT_DIR", "agent").output().expect("pi runs"));
    assert_snapshot!(shown, @r"
    --- on standard error
    error: the text of other is not shown: it stands in agent/models.json, which may hold keys
    hint: `pi provider show other` shows what it says without them
    --- exit 2
    ");
}

#[test]
fn models_of_an_old_manifest_are_taken_over_and_that_is_told() {
    let old = format!("{OLD}models:\n  - id: one\n    context_window: 8000\n  - two\n");
    let world = World::new().with("old.yaml", &old);
    let shown = world.run("provider promote old.yaml");
    assert!(shown.contains("\nmetadata:\n  models:\n    one:\n      context_window: 8000\n    two: {}\n"), "{shown}");
    let note = "note: old.yaml:16:1: note[promote.models]: its models (2) are taken over as metadata.models (models)\n";
    assert!(shown.contains(note), "{shown}");
    check_promotion(&old, "yaml", "oldie");
}

#[test]
fn files_that_cannot_be_read_as_text_say_why() {
    let utf16: Vec<u8> = "\u{feff}id: acme\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let mut bomb = "a: &a [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for (name, earlier) in ["b", "c", "d", "e", "f"].iter().zip(["a", "b", "c", "d", "e"]) {
        bomb.push_str(&format!("{name}: &{name} [{}]\n", vec![format!("*{earlier}"); 10].join(",")));
    }
    let world = World::new().with("u.yaml", utf16).with("bomb.yaml", bomb);
    assert_snapshot!(world.run("provider validate u.yaml"), @r#"
    --- on standard error
    error: u.yaml is UTF-16, and only UTF-8 is read
    hint: save it as UTF-8: most editors ask for the encoding under "save as"
    --- exit 1
    "#);
    let listed = world.run("provider list --provider-dir u.yaml");
    assert!(listed.contains("u.yaml: error[catalog.unreadable]: it is UTF-16; save it as UTF-8"), "{listed}");
    let shown = world.run("provider validate bomb.yaml");
    let expected = "error[file.budget]: the document repeats its anchors (&name, *name) until it is far larger than it looks; write it out\n";
    assert!(shown.starts_with(expected), "{shown}");
}

#[test]
fn shown_provider_has_no_raw_line_ends_and_says_from_what_it_was_promoted() {
    let old = OLD.replace(
        "{ format: sse, strategy: openai_chat }",
        r#"{ format: sse, strategy: openai_chat, delimiter: "\n\n" }"#,
    );
    let world = World::new().with("p/oldie.yaml", old).with("p/acme.yaml", GOOD);
    let shown = world.run("provider show oldie --provider-dir p");
    assert!(shown.contains("\npromoted_from: 1.5\n"), "{shown}");
    assert!(shown.contains(r#"delimiter: "\n\n""#), "{shown}");
    assert!(!shown.contains("\n\n"), "{shown}");
    let shown = world.run("provider show acme --provider-dir p");
    assert!(!shown.contains("promoted_from"), "{shown}");
}

#[test]
fn file_that_is_no_text_has_advice_for_manifests() {
    assert_snapshot!(World::new().with("b.yaml", [0x80, 0x81, 0, 1]).run("provider validate b.yaml"), @r"
    --- on standard error
    error: b.yaml is not text
    hint: name a text in UTF-8; `file b.yaml` says what this one is
    --- exit 1
    ");
}

#[test]
fn unknown_provider_has_a_code_for_machines() {
    for line in ["provider show nobody", "provider test nobody", "ask Hi --provider nobody --model m"] {
        let shown = World::new().run(&format!("{line} --json"));
        let object: Value = serde_json::from_str(shown.lines().next().expect("a line")).expect("JSON");
        let error = &object["error"];
        let known = json!([error["code"], error["name"], error["retryable"], error["exit_code"]]);
        assert_eq!(known, json!(["E1004", "not_found", false, 2]), "{line}: {shown}");
    }
}

#[test]
fn provider_that_cannot_be_tested_says_why() {
    let world = World::new().with(".pi/providers/acme.yaml", GOOD);
    assert_snapshot!(world.run("provider test acme"), @r"
    --- on standard error
    note: this project brings manifests (.pi/providers) and nobody has trusted it: they are not asked, get no credentials and replace nothing; `pi trust` changes that
    error: acme comes from a project that nobody has trusted, and is not asked
    hint: read .pi/providers/acme.yaml; if you trust this project, `pi trust` says so
    --- exit 2
    ");
    let elsewhere = World::new();
    let mut command = elsewhere.command("provider test ollama");
    let output = command.env("OLLAMA_HOST", "127.0.0.1:9").output().expect("pi runs");
    assert_snapshot!(crate::world::shown(&output), @r"
    --- on standard error
    error: nothing answers at http://127.0.0.1:9, which OLLAMA_HOST names
    hint: start the server, or correct OLLAMA_HOST; without it the usual address is asked
    --- exit 75
    ");
}

/// A key that was pasted into any member of a manifest is shown by no command.
#[test]
fn a_pasted_key_is_shown_nowhere() {
    let shaped = "sk-proj-PLANTED1234567890abcdef";
    let auth = |member: &str| GOOD.replace("header: Authorization", &format!("header: Authorization, {member}"));
    for text in [
        GOOD.replace("type: bearer", &format!("type: {shaped}")),
        GOOD.replace("header: Authorization", &format!("header: \"{shaped} x\"")),
        auth(&format!("prefix: Bearer {shaped}")),
        auth("prefix: hunter2PLANTED"),
        auth("extra_headers: [{ name: X-Gateway-Key, value: PLANTED4455 }]"),
        auth("extra_headers: { X-Gateway-Key: PLANTED4455 }"),
        format!("{GOOD}services:\n  list_models:\n    path: /models\n    headers:\n      x-gate: PLANTED7788\n"),
        format!("{GOOD}metadata: {{ api_key: {shaped} }}\n"),
        format!("{GOOD}zzz:\n  api_key: PLANTED12345\n  more: {{ secrets: [PLANTED6] }}\n"),
    ] {
        let world = World::new().with("acme.yaml", &*text);
        for line in [
            "provider validate acme.yaml",
            "provider validate acme.yaml --json",
            "provider show acme --provider-dir acme.yaml",
            "provider show acme --json --provider-dir acme.yaml",
            "provider show acme --source --provider-dir acme.yaml",
            "provider list --provider-dir acme.yaml",
        ] {
            let shown = world.run(line);
            assert!(!shown.contains("PLANTED"), "{line}\n{text}\n{shown}");
        }
    }
}

#[test]
fn unknown_members_are_named_with_their_place() {
    let slips = format!("{GOOD}guardrail: {{}}\nretry_policy: {{ max_retry: 3 }}\n");
    let shown = World::new().with("acme.yaml", slips).run("provider validate acme.yaml");
    for told in [
        "error[ring3.guardrails]: guardrail is not known; guardrails is\n",
        "invalid  acme.yaml  1 error\n--- exit 1",
        "retry_policy.max_retry is not known and ignored; did you mean max_retries?",
    ] {
        assert!(shown.contains(told), "{shown}");
    }
    let world = World::new().with("acme.yaml", format!("{GOOD}colour: blue\n"));
    assert_snapshot!(world.run("provider validate acme.yaml"), @r"
    note: acme.yaml:11:1: colour is not known and ignored
    valid    acme.yaml  acme, version 2.0, 0 models, 1 unknown member ignored
    --- exit 0
    ");
    assert_snapshot!(world.run("provider validate acme.yaml --json"), @r#"
    {"file":"acme.yaml","valid":true,"kind":"manifest","id":"acme","version":"2.0","models":0,"errors":[],"warnings":[],"notes":[],"ignored":[{"path":"colour","line":11,"column":1}]}
    --- exit 0
    "#);
}

#[test]
fn slips_are_told_at_every_level() {
    let written = manifest("acme", "http://127.0.0.1:9/v1")
        .replace("  base_url", "  embedings: /e\n  base_url")
        .replace("context_window", "context_widnow")
        .replace("{ tool_call: true, reasoning: false }", "{ tool_calls: true, temperature: true }")
        .replace("capabilities:\n  required", "capabilities:\n  optinal: [vision]\n  required")
        .replace("error_classification:", "error_classification:\n  by_eror_code: {}")
        + "termination: { maping: {} }\nguardrails: { input_filter: [] }\nexperimental: { performence: {} }\n";
    let shown = World::new().with("a.yaml", written).run("provider validate a.yaml");
    for (path, meant) in [
        ("endpoint.embedings", "embeddings"),
        ("error_classification.by_eror_code", "by_error_code"),
        ("capabilities.optinal", "optional"),
        ("metadata.models.small.context_widnow", "context_window"),
        ("termination.maping", "mapping"),
        ("experimental.performence", "performance"),
    ] {
        assert!(shown.contains(&format!("{path} is not known and ignored; did you mean {meant}?")), "{path}: {shown}");
    }
    let told = "error[ring3.guardrails]: input_filter is not known; input_filters is\n";
    assert!(shown.contains(told), "{shown}");
    // Others may say more of a model than we read: of those nothing is told.
    let told = "warning[ring3.models]: \"tool_calls\" is not known and says nothing\n";
    assert!(shown.contains(told) && shown.contains("help: did you mean tool_call?"), "{shown}");
    assert!(!shown.contains("\"temperature\""), "{shown}");
}

#[test]
fn slip_in_a_member_that_must_be_there_is_told_with_what_is_missing() {
    for (from, to) in [
        ("by_http_status", "by_htp_status"),
        ("base_url", "base_ulr"),
        ("chat:", "chta:"),
        ("endpoint:", "endpont:"),
        ("protocol_version", "protocol_verison"),
    ] {
        let written = manifest("acme", "http://127.0.0.1:9/v1").replacen(from, to, 1);
        let shown = World::new().with("a.yaml", written).run("provider validate a.yaml");
        let (from, to) = (from.trim_end_matches(':'), to.trim_end_matches(':'));
        assert!(shown.contains(&format!("help: {to} is not known; did you mean {from}?")), "{shown}");
    }
}

#[test]
fn member_without_a_name_is_told_in_a_sentence() {
    let written = format!("{}~: 3\n", manifest("acme", "http://127.0.0.1:9/v1"));
    let shown = World::new().with("a.yaml", written).run("provider validate a.yaml");
    assert!(shown.contains("a name is missing before the colon, or it is null (~, null), which is no name"), "{shown}");
    assert!(!shown.contains("deserialize"), "{shown}");
}

#[test]
fn file_that_takes_a_name_of_a_built_in_provider_is_told_so() {
    let check = |id: &str, aliases: &str, told: &str| {
        let written = format!("{}aliases: [{aliases}]\n", manifest(id, "http://127.0.0.1:9/v1"));
        let shown = World::new().with("a.yaml", written).run("provider validate a.yaml");
        assert!(shown.contains(told) && shown.ends_with("exit 0"), "{shown}");
    };
    let replaced = "the id \"openai\" stands in <built in>/openai.yaml too, an earlier source; this file replaces it";
    check("openai", "", replaced);
    check("google", "", "the id \"google\" is an alias of gemini in <built in>/gemini.yaml; the id counts");
    check("acme", "openai", "\"openai\" is the id of openai in <built in>/openai.yaml, which counts");
    let shown = World::new().with("a.yaml", manifest("acme", "http://127.0.0.1:9/v1")).run("provider validate a.yaml");
    assert!(!shown.contains("built in"), "{shown}");
}

#[test]
fn provider_of_models_json_that_lacks_something_is_told_with_its_place() {
    let written = r#"{"providers": {
        "my": {"models": [{"id": "x"}]},
        "his": {"baseUrl": "http://127.0.0.1:9", "models": [{"id": "y"}]},
        "openai": {"baseUrl": "http://127.0.0.1:9"}
    }}"#;
    let shown = World::new().with("models.json", written).run("provider validate models.json");
    for (told, place) in [("baseUrl of my is missing", "models.json:2:9"), ("api of his is missing", "models.json:3:9")]
    {
        assert!(shown.contains(&format!("warning[models-json.provider]: {told}\n --> {place}\n")), "{shown}");
    }
    assert!(!shown.contains("openai"), "the program brings it: {shown}");
    let only = r#"{"providers": {"my": {"models": [{"id": "x"}]}}}"#;
    let shown = World::new().with("models.json", only).run("provider validate models.json");
    assert!(shown.contains("error[models-json.provider]: baseUrl of my is missing\n"), "{shown}");
    assert!(shown.ends_with("invalid  models.json  1 error\n--- exit 1"), "{shown}");
}

/// A key may stand in the query of an address under any name, and in headers of any name.
#[test]
fn keys_in_the_address_of_one_model_are_shown_nowhere() {
    let models = json!({ "providers": { "gw": { "baseUrl": "https://gw.example/v1", "api": "openai-completions", "apiKey": "k",
        "models": [{ "id": "m", "baseUrl": "https://other.example/v1?tenant=planted-7" }] } } });
    let world = World::new().with("agent/models.json", models.to_string());
    let run = |line: &str| {
        let output = world.command(line).env("PI_CODING_AGENT_DIR", "agent").output();
        crate::world::shown(&output.expect("pi runs"))
    };
    for line in ["provider show gw", "provider show gw --json", "ask Hi --model gw/m --dry-run", "models gw --json"] {
        let shown = run(line);
        assert!(!shown.contains("planted"), "{line}: {shown}");
    }
    let shown = run("provider show gw --json");
    assert!(shown.contains("other.example/v1?tenant=***"), "{shown}");
}

#[test]
fn keys_in_addresses_and_headers_are_shown_nowhere() {
    let written = GOOD
        .replace("https://acme.example/v1", "\"https://acme.example/v1?tenant=planted-1&v=${V}\"")
        .replace("chat: /chat/completions", "chat: /chat/completions?token=planted-7")
        .replace("auth: { type", "auth: { key: planted-8, type")
        + "provider_contract: { request_mapping: { required_headers: [{ name: x-org, value: planted-2 }, { name: x-who, value: \"${WHO}\" }] } }
services: { list_models: { path: \"/models?key=planted-9\", headers: { x-org: planted-3, x-who: \"${WHO}\" }, query_params: { key: planted-4, limit: \"5\" } } }
";
    let world = World::new().with("p/acme.yaml", written);
    let run = |line: &str| {
        let output = world.command(line).env("ACME_KEY", "k").env("V", "planted-5").env("WHO", "planted-6").output();
        crate::world::shown(&output.expect("pi runs"))
    };
    let shown = run("provider show acme --provider-dir p --json");
    let value: Value = serde_json::from_str(shown.lines().next().unwrap_or_default()).expect("an object");
    assert_eq!(value["endpoint"]["base_url"], "https://acme.example/v1?tenant=***&v=${V}");
    assert_eq!(
        value["provider_contract"]["request_mapping"]["required_headers"],
        json!([{"name": "x-org", "value": "***"}, {"name": "x-who", "value": "${WHO}"}]),
        "{value}"
    );
    assert_eq!(value["services"]["list_models"]["headers"], json!({"x-org": "***", "x-who": "${WHO}"}));
    assert_eq!(value["services"]["list_models"]["query_params"], json!({"key": "***", "limit": "5"}));
    let request = run("ask Hi --provider-dir p --model acme/m --dry-run");
    assert_eq!(value["services"]["list_models"]["path"], "/models?key=***");
    assert_eq!(value["endpoints"]["chat"]["path"], "/chat/completions?token=***");
    assert!(
        request.contains("POST https://acme.example/v1/chat/completions?token=***&tenant=***&v=***\n"),
        "{request}"
    );
    assert!(request.contains("\nx-org: ***\nx-who: ***\n"), "{request}");
    let machine = run("ask Hi --provider-dir p --model acme/m --dry-run --json");
    let hidden = r#""hidden":[{"header":"x-org"},{"header":"x-who"},{"header":"authorization"}]"#;
    assert!(machine.contains(hidden), "{machine}");
    for line in [
        "provider list --provider-dir p",
        "provider list --provider-dir p --json",
        "provider show acme --provider-dir p",
    ] {
        let shown = run(line);
        assert!(shown.contains("acme.example") && !shown.contains("planted"), "{line}: {shown}");
    }
    for shown in [request, machine, shown] {
        assert!(!shown.contains("planted"), "{shown}");
    }
    let source = run("provider show acme --provider-dir p --source");
    assert!(!source.contains("planted"), "{source}");
}

#[test]
fn list_of_models_is_not_promoted() {
    let world = World::new().with("list.yaml", "models:\n  small: { provider: acme, model_id: small }\n");
    assert_snapshot!(world.run("provider promote list.yaml"), @"
    --- on standard error
    error: list.yaml is a list of models and no manifest
    hint: it needs no other form; `pi provider validate list.yaml` says whether it is well
    --- exit 2
    ");
}
