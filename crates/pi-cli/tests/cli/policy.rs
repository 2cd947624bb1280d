//! `pi policy explain`: decisions as text and as data, and every way to ask wrongly.

use insta::assert_snapshot;

use crate::world::World;

const SETTINGS: &str = r#"{"extensions":{"policy":{"mode":"prompt",
    "grants":{"git":[{"capability":"exec","scope":{"commands":["git log"]},"versions":"^1","expires":"2027-01-01T00:00:00Z"}]},
    "denies":{"*":[{"capability":"read","scope":{"paths":["secrets/**"]}}]}}}}"#;

const MANIFEST: &str = r#"{"name":"git","version":"1.2.0","api_version":"1.0","entry":"index.js",
    "capability_manifest":{"schema":"pi.ext.cap.v1","capabilities":[{"capability":"exec"}]}}"#;

const ASK: &str = "policy explain --config settings.json --extension git --project . --at 2026-06-01T00:00:00Z";

fn world() -> World {
    World::new()
        .with("settings.json", SETTINGS)
        .with("ext/extension.json", MANIFEST)
        .with("log.json", r#"{"capability":"exec","method":"exec","params":{"command":"git","args":["log"],"env":{},"stream":false}}"#)
        .with(
            "read.json",
            r#"{"capability":"read","method":"tool","params":{"name":"read","input":{"path":"secrets/a"}}}"#,
        )
        .with(
            "http.json",
            r#"{"capability":"http","method":"http","params":{"method":"GET","url":"http://10.0.0.1/","headers":[],"follow_redirects":false,"stream":false}}"#,
        )
}

#[test]
fn granted_call_is_explained() {
    assert_snapshot!(world().run(&format!("{ASK} --manifest ext/extension.json --call @log.json")), @r#"
    extension git 1.2.0 asks for exec through exec: git log
      1 trust              -      trusted to run
      2 extension deny     -      no deny of exec is written here
      3 global deny        -      no deny of exec is written here
      4 given              -      exec is not given to everybody
      5 declaration        -      exec is declared
          declaration, capabilities[0]: no scope
      6 extension grant    allow  exec is granted here
          extensions.policy.grants["git"][0]: commands git log matches git log
    allow: exec is granted here (rule 6, extension grant), until 2027-01-01T00:00:00Z
    to change it, deny it: pi ext deny git exec
    --- exit 0
    "#);
}

#[test]
fn version_outside_the_grant_is_denied() {
    assert_snapshot!(world().run(&format!("{ASK} --extension-version 2.0.0 --call @log.json")), @r#"
    extension git 2.0.0 asks for exec through exec: git log
      1 trust              -      trusted to run
      2 extension deny     -      no deny of exec is written here
      3 global deny        -      no deny of exec is written here
      4 given              -      exec is not given to everybody
      5 declaration        -      the extension declares nothing, so nothing is ruled out
      6 extension grant    -      no grant fits
          extensions.policy.grants["git"][0]: only for versions ^1
      7 default deny       deny   exec is denied by default
    deny: denied unless it is granted by name (rule 7, default deny)
    to change it, grant it: pi ext allow git exec --command 'git log'
    --- exit 0
    "#);
}

#[test]
fn declaration_bounds_what_is_granted() {
    assert_snapshot!(world().run(&format!("{ASK} --manifest ext/extension.json --call @http.json")), @r#"
    extension git 1.2.0 asks for http through http: 10.0.0.1
      1 trust              -      trusted to run
      2 extension deny     -      no deny of http is written here
      3 global deny        -      no deny of http is written here
      4 given              -      http is not given to everybody
      5 declaration        deny   not declared
    deny: not declared (rule 5, declaration)
    to change it, declare it: add {"capability":"http","methods":["http"]} to capability_manifest.capabilities in its extension.json
    --- exit 0
    "#);
}

#[test]
fn evidence_is_weighed_with_every_number() {
    assert_snapshot!(world().run(&format!("{ASK} --evidence findings=0.5 --evidence unsigned=0 --call @http.json")), @r"
    extension git 0.0.0 asks for http through http: 10.0.0.1
      1 trust              -      trusted to run
      2 extension deny     -      no deny of http is written here
      3 global deny        -      no deny of http is written here
      4 given              -      http is not given to everybody
      5 declaration        -      the extension declares nothing, so nothing is ruled out
      6 extension grant    -      no grant of http is written for it
      7 default deny       -      http is not denied by default
      8 default capability -      http does not lead to 10.0.0.1 by default
      9 mode               ask    denying is the smaller expected loss, so a person is asked
          prior              -5.00
          unscanned          +2.00 = 1.00 x 2.00
          findings           +2.00 = 0.50 x 4.00
          outside_reach      +2.50 = 1.00 x 2.50
          log-odds            1.50, malicious with p = 0.8176
          loss of granting  81.757 = 0.1824 x 0 + 0.8176 x 100
          loss of denying    1.182 = 0.1824 x 2 + 0.8176 x 1
          denying costs less
    ask: denying is the smaller expected loss, so a person is asked (rule 9, mode)
    to change it, grant it: pi ext allow git http --host 10.0.0.1
    --- exit 0
    ");
}

#[test]
fn mode_may_be_replaced() {
    let deny = world().run(&format!("{ASK} --mode strict --call @http.json"));
    assert!(deny.contains("\ndeny: ") && deny.ends_with("--- exit 0"), "{deny}");
    let ask = world().run(&format!("{ASK} --mode permissive --call @http.json"));
    assert!(ask.contains("\nask: ") && ask.ends_with("--- exit 0"), "no mode leads inside: {ask}");
}

#[test]
fn untrusted_project_gets_nothing() {
    assert_snapshot!(world().run(&format!("{ASK} --untrusted --call @log.json")), @r"
    extension git 0.0.0 asks for exec through exec: git log
      1 trust              deny   it comes with a project that is not trusted
    deny: the project that brings the extension is not trusted (rule 1, trust)
    to change it, trust the project first
    --- exit 0
    ");
}

#[test]
fn machine_reads_one_object() {
    assert_snapshot!(world().run(&format!("{ASK} --json --call @read.json")), @r#"
    {"subject":"extension git 0.0.0","capability":"read","method":"tool","target":"secrets/a","mode":"prompt","steps":[{"index":1,"rule":"trust","verdict":null,"note":"trusted to run"},{"index":2,"rule":"extension_deny","verdict":null,"note":"no deny of read is written here"},{"index":3,"rule":"global_deny","verdict":"deny","note":"read is denied here","checks":[{"source":"extensions.policy.denies[\"*\"][0]","fit":"fits","note":"paths secrets/** matches secrets/a"}]}],"verdict":"deny","rule":"global_deny","reason":"denied by extensions.policy.denies[\"*\"][0]","hint":{"text":"remove extensions.policy.denies[\"*\"][0] from the settings"}}
    --- exit 0
    "#);
}

#[test]
fn verdict_has_a_colour() {
    assert_snapshot!(world().run(&format!("{ASK} --color always --call @read.json")), @r#"
    ␛[1mextension git 0.0.0 asks for read through tool: secrets/a␛[0m
      1 trust              -      trusted to run
      2 extension deny     -      no deny of read is written here
      3 global deny        deny   read is denied here
    ␛[2m      extensions.policy.denies["*"][0]: paths secrets/** matches secrets/a␛[0m
    ␛[1;31mdeny: denied by extensions.policy.denies["*"][0] (rule 3, global deny)␛[0m
    ␛[36mto change it, remove extensions.policy.denies["*"][0] from the settings␛[0m
    --- exit 0
    "#);
}

#[test]
fn call_may_be_a_whole_message_or_standard_input() {
    let message = r#"{"id":"1","version":"1.0","type":"host_call","payload":{"call_id":"c","capability":"log","method":"log","params":{"level":"info","event":"note","message":"hello"}}}"#;
    assert_snapshot!(world().run_with_input(&format!("{ASK} --call @-"), message), @r"
    extension git 0.0.0 asks for log through log
      1 trust              -      trusted to run
      2 extension deny     -      no deny of log is written here
      3 global deny        -      no deny of log is written here
      4 given              allow  everybody has log
    allow: everybody has log (rule 4, given)
    to change it, deny it: pi ext deny git log
    --- exit 0
    ");
}

#[test]
fn calls_that_are_none_are_refused() {
    assert_snapshot!(world().run(&format!("{ASK} --call {{\"capability\":\"read\"}}")), @r#"
    --- on standard error
    error: the call is not a host call
      method: required member is missing
      params: required member is missing
    hint: write the payload of a host_call: {"capability": "read", "method": "tool", "params": {"name": "read", "input": {"path": "a"}}}
    --- exit 2
    "#);
    assert_snapshot!(world().run(&format!("{ASK} --call nonsense")), @r#"
    --- on standard error
    error: the call is not a host call
      not JSON: expected a value at line 1, column 2
    hint: write the payload of a host_call: {"capability": "read", "method": "tool", "params": {"name": "read", "input": {"path": "a"}}}
    --- exit 2
    "#);
    assert_snapshot!(world().run(&format!("{ASK} --call @gone.json")), @r"
    --- on standard error
    error: cannot read gone.json: No such file or directory (os error 2)
    hint: check the name; `@-` reads standard input
    --- exit 2
    ");
    assert_snapshot!(world().run(&format!("{ASK} --call {{\"capability\":\"read\",\"method\":\"exec\",\"params\":{{\"command\":\"ls\"}}}}")), @r"
    --- on standard error
    error: the call cannot be judged: the call claims read but needs exec
    hint: an extension would get this as `invalid_request`; correct the capability or the params
    --- exit 2
    ");
    assert_snapshot!(world().run(&format!("{ASK} --call {{\"capability\":\"exec\",\"method\":\"exec\",\"params\":{{\"command\":\"ls\",\"args\":[1],\"env\":{{}},\"shell\":true}}}}")), @r"
    --- on standard error
    error: the call cannot be judged: params.stream: required member is missing; params.args[0]: expected a string, found 1; params.shell: there is no such member
    hint: an extension would get this as `invalid_request`; correct the capability or the params
    --- exit 2
    ");
}

#[test]
fn settings_that_cannot_be_used_are_refused() {
    let world = world()
        .with(
            "wrong.json",
            r#"{"extensions":{"policy":{"mode":"loose","grants":{"a":[{"capability":"read","scope":{"pathz":[]}}]}}}}"#,
        )
        .with("odd.json", r#"{"extensions":{"policy":{"colour":"red"}}}"#);
    assert_snapshot!(world.run("policy explain --config wrong.json --extension git --call @log.json"), @r#"
    --- on standard error
    error: wrong.json is not a policy that can be used
      extensions.policy.mode: expected "strict", "prompt" or "permissive"
      extensions.policy.grants["a"][0].scope.pathz: unknown key
    hint: `pi schema policy` prints what is expected
    --- exit 2
    "#);
    assert_snapshot!(world.run("policy explain --config gone.json --extension git --call @log.json"), @r"
    --- on standard error
    error: cannot read gone.json: No such file or directory (os error 2)
    hint: check the name; `-` reads standard input
    --- exit 2
    ");
    assert_snapshot!(world.run("policy explain --config odd.json --extension git --project . --call @log.json"), @r"
    extension git 0.0.0 asks for exec through exec: git log
      1 trust              -      trusted to run
      2 extension deny     -      no deny of exec is written here
      3 global deny        -      no deny of exec is written here
      4 given              -      exec is not given to everybody
      5 declaration        -      the extension declares nothing, so nothing is ruled out
      6 extension grant    -      no grant of exec is written for it
      7 default deny       deny   exec is denied by default
    deny: denied unless it is granted by name (rule 7, default deny)
    to change it, grant it: pi ext allow git exec --command 'git log'
    --- on standard error
    note: odd.json: extensions.policy.colour: unknown key
    --- exit 0
    ");
}

#[test]
fn manifests_that_do_not_fit_are_refused() {
    let world = world().with("bad.json", r#"{"name":"git"}"#);
    assert_snapshot!(world.run(&format!("{ASK} --manifest bad.json --call @log.json")), @r"
    --- on standard error
    error: bad.json is not a valid extension manifest
      version: required member is missing
      api_version: required member is missing
      entry: required member is missing
    hint: `pi schema manifest` prints what is expected
    --- exit 2
    ");
    assert_snapshot!(world.run("policy explain --config settings.json --extension other --manifest ext/extension.json --call @log.json"), @r"
    --- on standard error
    note: the settings say nothing about other
    error: ext/extension.json describes the extension git, not other
    hint: give the manifest of other, or correct --extension
    --- exit 2
    ");
}

#[test]
fn arguments_that_do_not_fit_are_refused() {
    assert_snapshot!(world().run(&format!("{ASK} --evidence luck=1 --call @log.json")), @r"
    --- on standard error
    error: invalid value 'luck=1' for '--evidence <NAME=LEVEL>': the names are uses_fs, uses_exec, uses_network, uses_env, unsigned, unscanned, size_mb, findings, obfuscated, denials, traps, outside_reach

    For more information, try '--help'.
    --- exit 2
    ");
    assert_snapshot!(world().run("policy explain --config settings.json --extension git --at tomorrow --call @log.json"), @r"
    --- on standard error
    error: invalid value 'tomorrow' for '--at <TIME>': expected a date and time like 2026-12-31T00:00:00Z

    For more information, try '--help'.
    --- exit 2
    ");
}

#[test]
fn settings_without_a_policy_are_noted() {
    let ask = |config: &str| {
        let world = world()
            .with("envelope.json", crate::world::GOOD)
            .with("slip.json", r#"{"extensions":{"polcy":{"mode":"strict"}},"theme":"dark"}"#)
            .with("top.json", r#"{"extension":{"policy":{}},"policy":{}}"#);
        notes(&world.run(&format!("policy explain --config {config} --extension git --call @log.json")))
    };
    assert_snapshot!(ask("envelope.json"), @r"
    note: envelope.json holds no extensions.policy; the defaults decide
    --- exit 0
    ");
    assert_snapshot!(ask("slip.json"), @r"
    note: slip.json holds no extensions.policy; the defaults decide
    note: slip.json: extensions.polcy: unknown key; did you mean policy?
    --- exit 0
    ");
    assert_snapshot!(ask("top.json"), @r"
    note: top.json holds no extensions.policy; the defaults decide
    note: top.json: extension: unknown key; did you mean extensions?
    note: top.json: policy: unknown key; did you mean extensions.policy?
    --- exit 0
    ");
}

#[test]
fn names_that_nobody_knows_are_noted() {
    let other = |arguments: &str| notes(&world().run(&format!("policy explain --config settings.json {arguments}")));
    assert_snapshot!(other("--extension gti --call @log.json"), @r"
    note: the settings say nothing about gti; did you mean git?
    --- exit 0
    ");
    assert_snapshot!(other("--extension linter --call @log.json --project gone"), @r"
    note: the settings say nothing about linter
    note: --project gone is no folder here
    --- exit 0
    ");
    assert_snapshot!(other(r#"--extension git --call {"capability":"telepathy","method":"htp","params":{}}"#), @r"
    note: this version knows no capability telepathy
    note: this version knows no method htp; did you mean http?
    error: the call cannot be judged: the call claims telepathy but needs htp
    hint: an extension would get this as `invalid_request`; correct the capability or the params
    --- exit 2
    ");
}

/// What stands on standard error, and the exit code.
fn notes(shown: &str) -> String {
    shown.split_once("--- on standard error\n").map_or(shown, |(_, notes)| notes).to_owned()
}
