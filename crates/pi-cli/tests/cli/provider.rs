//! `pi provider`: what it says about manifests, and what it makes of old ones.

use std::path::Path;

use insta::assert_snapshot;
use serde_json::Value;

use crate::world::World;

/// A manifest of version 2 with everything that it must have.
const GOOD: &str = "id: acme
protocol_version: \"2.0\"
endpoint:
  base_url: https://acme.example/v1
  chat: /chat/completions
  auth: { type: bearer, token_env: ACME_KEY }
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
  auth: { type: bearer, token_env: ACME_KEY }
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
       |                   ^
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
      |     ^^^^
      = in id
      = help: 2 to 64 lower case letters, digits, - and _, beginning with a letter or digit

    error[ring1.chat]: endpoint.chat is missing
     --> bad.yaml:3:1
      |
    3 | endpoint:
      | ^^^^^^^^
      = in endpoint.chat
      = help: the path of a chat, such as /chat/completions

    error[ring1.error-name]: "nonsense" is not a standard error
     --> bad.yaml:7:52
      |
    7 |   by_http_status: { "400": invalid_request, "401": nonsense, "429": rate_limited, "500": server_error }
      |                                                    ^^^^^^^^
      = in error_classification.by_http_status.401
      = help: invalid_request, authentication, permission_denied, not_found, request_too_large, rate_limited, quota_exhausted, server_error, overloaded, timeout, conflict, cancelled, unknown

    invalid  bad.yaml  3 errors
    --- exit 1
    "#);
    assert_snapshot!(World::new().with("bad.json", "{\"id\": \"x\",,}").run("provider validate bad.json"), @r#"
    error[file.syntax]: a key in double quotes is expected
     --> bad.json:1:12
      |
    1 | {"id": "x",,}
      |            ^

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
    {"file":"acme.yaml","valid":true,"kind":"manifest","id":"acme","version":"2.0","models":0,"errors":[],"warnings":[],"ignored":[]}
    {"file":"bad.yaml","valid":false,"kind":"manifest","version":"2.0","errors":[{"rule":"ring1.id","line":1,"column":5,"path":"id","message":"\"Acme Corporation\" is not an id","hint":"2 to 64 lower case letters, digits, - and _, beginning with a letter or digit"},{"rule":"ring1.chat","line":3,"column":1,"path":"endpoint.chat","message":"endpoint.chat is missing","hint":"the path of a chat, such as /chat/completions"},{"rule":"ring1.error-name","line":7,"column":52,"path":"error_classification.by_http_status.401","message":"\"nonsense\" is not a standard error","hint":"invalid_request, authentication, permission_denied, not_found, request_too_large, rate_limited, quota_exhausted, server_error, overloaded, timeout, conflict, cancelled, unknown"}],"warnings":[],"ignored":[]}
    {"file":"gone.yaml","valid":false,"errors":[{"path":"","message":"cannot read gone.yaml: No such file or directory (os error 2)"}]}
    --- exit 1
    "#);
}

#[test]
fn two_manifests_of_one_provider_in_a_folder_are_an_error() {
    let world = World::new().with("all/a.yaml", GOOD).with("all/b.yml", GOOD).with("all/notes.txt", "not read");
    assert_snapshot!(world.run("provider validate all"), @r"
    valid    all/a.yaml  acme, version 2.0, 0 models
    error[catalog.duplicate-id]: acme is described in all/a.yaml too
     --> all/b.yml
      = in id
      = help: give one of them another id, or keep them in different sources: the later one wins

    invalid  all/b.yml  1 error
    2 files: 1 valid, 1 invalid
    --- exit 1
    ");
    assert_snapshot!(World::new().with("all/a.txt", "").run("provider validate all"), @r"
    --- on standard error
    error: all contains no .yaml, .yml or .json file
    hint: name the files, or a folder that holds some
    --- exit 1
    ");
}

#[test]
fn old_manifest_is_printed_in_the_form_of_version_2() {
    let world = World::new().with("oldie.yaml", OLD);
    assert_snapshot!(world.run("provider promote oldie.yaml"), @r#"
    id: oldie
    protocol_version: "2.0"
    status: stable
    endpoint:
      base_url: https://oldie.example/v1
      auth:
        type: custom_header
        header: api-key
        token_env: OLDIE_KEY
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
    retry_policy:
      strategy: exponential_backoff
      max_retries: 3
      min_delay_ms: 1000
      max_delay_ms: 30000
      jitter: full
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
    experimental:
      performance:
        circuit_breaker:
          failure_threshold: 0.5
          recovery_timeout_ms: 30000
          monitoring_window_ms: 60000
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
