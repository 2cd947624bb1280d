//! Explanations as people and programs read them.

use std::sync::Arc;

use pi_extproto::capability::{Capability, Declared, Method};
use pi_policy::{
    Action, Command, Explanation, Extension, Fit, Moment, Provenance, Request, Rule, Subject, Target, Verdict, explain,
};
use serde_json::json;

use crate::scenario::last;

#[track_caller]
fn check(scenario: &str, expected: &str) {
    let (policy, request) = last(scenario);
    let found = explain(&policy, &request).to_string();
    assert_eq!(found.trim(), expected.trim(), "\n{found}");
}

#[test]
fn granted_host() {
    check(
        "grant x http hosts=example.org,*.github.com expires=2026-12-31T00:00:00Z
         call x http https://api.github.com/repos",
        r#"
extension x 1.0.0 asks for http through http: api.github.com
  1 trust              -      trusted to run
  2 extension deny     -      no deny of http is written here
  3 global deny        -      no deny of http is written here
  4 given              -      http is not given to everybody
  5 declaration        -      the extension declares nothing, so nothing is ruled out
  6 extension grant    allow  http is granted here
      extensions.policy.grants["x"][0]: hosts *.github.com matches api.github.com
allow: http is granted here (rule 6, extension grant), until 2026-12-31T00:00:00Z
to change it, deny it: pi ext deny x http
"#,
    );
}

#[test]
fn question_shows_every_number() {
    check(
        "evidence unsigned=0.6 uses_fs=0.8 uses_exec=0.1 size_mb=0.2
         declares x tool
         call x tool deploy",
        r#"
extension x 1.0.0 asks for tool through tool: deploy
  1 trust              -      trusted to run
  2 extension deny     -      no deny of tool is written here
  3 global deny        -      no deny of tool is written here
  4 given              -      tool is not given to everybody
  5 declaration        -      tool is declared
      declaration, capabilities[0]: no scope
  6 extension grant    -      no grant of tool is written for it
  7 default deny       -      tool is not denied by default
  8 default capability -      tool is not a default capability
  9 mode               ask    denying is the smaller expected loss, so a person is asked
      prior              -5.00
      uses_fs            +0.40 = 0.80 x 0.50
      uses_exec          +0.15 = 0.10 x 1.50
      unsigned           +0.60 = 0.60 x 1.00
      size_mb            +0.10 = 0.20 x 0.50
      log-odds           -3.75, malicious with p = 0.0230
      loss of granting   2.298 = 0.9770 x 0 + 0.0230 x 100
      loss of denying    1.977 = 0.9770 x 2 + 0.0230 x 1
      denying costs less
ask: denying is the smaller expected loss, so a person is asked (rule 9, mode)
to change it, grant it: pi ext allow x tool
"#,
    );
}

#[test]
fn path_outside_the_project() {
    check(
        "mode strict
         grant x read paths=src/**
         grant x read expires=1970-01-01T00:00:00Z
         deny  x read paths=secrets/**
         call x read src/../../notes.txt",
        r#"
extension x 1.0.0 asks for read through tool: /home/u/notes.txt
  1 trust              -      trusted to run
  2 extension deny     -      no deny fits
      extensions.policy.denies["x"][0]: paths secrets/** and /home/u/notes.txt do not match
  3 global deny        -      no deny of read is written here
  4 given              -      read is not given to everybody
  5 declaration        -      the extension declares nothing, so nothing is ruled out
  6 extension grant    -      no grant fits
      extensions.policy.grants["x"][0]: paths src/** and /home/u/notes.txt do not match
      extensions.policy.grants["x"][1]: expired at 1970-01-01T00:00:00Z
  7 default deny       -      read is not denied by default
  8 default capability -      strict has no default capabilities
  9 mode               deny   strict denies what nothing allows
      prior              -5.00
      unsigned           +1.00 = 1.00 x 1.00
      unscanned          +2.00 = 1.00 x 2.00
      outside_reach      +2.50 = 1.00 x 2.50
      log-odds            0.50, malicious with p = 0.6225
      loss of granting  62.246 = 0.3775 x 0 + 0.6225 x 100
      loss of denying    1.378 = 0.3775 x 2 + 0.6225 x 1
      denying costs less
deny: nothing grants it, and the mode is strict (rule 9, mode)
to change it, grant it: pi ext allow x read --path /home/u/notes.txt
"#,
    );
}

#[test]
fn folder_with_withheld_parts() {
    check(
        "deny * read paths=**/.env
         call x grep .",
        r#"
extension x 1.0.0 asks for read through tool: ./
  1 trust              -      trusted to run
  2 extension deny     -      no deny of read is written here
  3 global deny        -      denied parts of the folder are withheld
      extensions.policy.denies["*"][0]: something below ./ is denied
  4 given              -      read is not given to everybody
  5 declaration        -      the extension declares nothing, so nothing is ruled out
  6 extension grant    -      no grant of read is written for it
  7 default deny       -      read is not denied by default
  8 default capability allow  read is a default capability
allow: read is a default capability (rule 8, default capability), without **/.env
to change it, deny it: pi ext deny x read
"#,
    );
}

#[test]
fn parts_that_another_rule_withholds_are_not_told_twice() {
    let (policy, request) = last("deny x read paths=src/secret/**\n deny * read paths=docs/**\n call x grep src");
    let notes: Vec<String> = explain(&policy, &request).steps[1..3].iter().map(|step| step.note.clone()).collect();
    assert_eq!(notes, ["denied parts of the folder are withheld", "no deny fits"]);
}

#[test]
fn pattern_that_may_not_lead_there_is_not_said_to_match() {
    let (policy, request) =
        last("in /home/u\n grant x write paths=**,/home/u/.pi/agent/x/**\n call x write .pi/agent/x/a");
    let check = &explain(&policy, &request).steps[5].checks[0];
    assert_eq!(check.note, "paths /home/u/.pi/agent/x/** matches .pi/agent/x/a");
}

#[test]
fn variables_that_a_command_brings_are_named() {
    #[track_caller]
    fn check(call: &str, expected: &str) {
        let (policy, request) = last(&format!("grant x exec commands=git\n call x {call}"));
        assert_eq!(explain(&policy, &request).steps[5].checks[0].note, expected, "{call}");
    }
    let odd = "commands git and git log do not match (the command brings variables of its own: ";
    check("exec git log", "commands git matches git log");
    check("exec+LD_PRELOAD git log", &format!("{odd}LD_PRELOAD)"));
    check("exec+A,B,C,D,E,F,G git log", &format!("{odd}A, B, C, D, E and 2 more)"));
    check(
        "bash git log > x",
        "commands git and git log > x do not match (the command is not plain enough to be judged)",
    );
}

#[test]
fn own_folder_of_an_extension_with_a_declared_scope() {
    let (policy, request) = last("declares x read paths=src/**\n call x read /tmp/pi-x/a");
    let step = &explain(&policy, &request).steps[4];
    assert_eq!(
        (step.note.as_str(), step.checks[0].note.as_str()),
        ("read is declared", "the extension need not name its own folders")
    );
}

#[test]
fn hints_say_what_would_change_the_decision() {
    #[track_caller]
    fn check(scenario: &str, expected: &str) {
        let (policy, request) = last(scenario);
        let hint = explain(&policy, &request).hint;
        assert_eq!(
            hint.command.map_or(hint.text.clone(), |command| format!("{}: {command}", hint.text)),
            expected,
            "{scenario}"
        );
    }
    check("call x read a", "deny it: pi ext deny x read");
    check("call x exec git log", "grant it: pi ext allow x exec --command 'git log'");
    check("call x bash git log > x", "grant the capability; no scope can name this target: pi ext allow x exec");
    check("call x env TOKEN", "grant it: pi ext allow x env --env TOKEN");
    check("call x http http://localhost:9/", "grant it: pi ext allow x http --host localhost:9");
    check("call x read /it's/here", r"grant it: pi ext allow x read --path '/it'\''s/here'");
    check("call x fs.rename a /b", "grant it: pi ext allow x write --path 'a/**' --path '/b/**'");
    check("untrusted x\n call x log", "trust the project first");
    check("deny_caps http\n call x http https://a.b/", "remove extensions.policy.deny_caps[0] from the settings");
    check(
        "declares x read\n call x write a",
        r#"declare it: add {"capability":"write","methods":["tool"]} to capability_manifest.capabilities in its extension.json"#,
    );
    check(
        "call agent read /a",
        r#"grant it: add {"capability":"read","methods":["tool"],"scope":{"paths":["/a"]}} to agent.policy.grants"#,
    );
    check("call agent read a", r#"deny it: add {"capability": "read"} to agent.policy.denies"#);
}

#[test]
fn explanation_is_data() {
    let (policy, request) = last("evidence clean\n grant x tool methods=mcp\n call x tool deploy");
    let found = serde_json::to_value(explain(&policy, &request)).expect("JSON");
    let step =
        |index: usize, rule: &str, note: &str| json!({ "index": index, "rule": rule, "verdict": null, "note": note });
    let mut grant = step(6, "extension_grant", "no grant fits");
    grant["checks"] = json!([{ "source": "extensions.policy.grants[\"x\"][0]", "fit": "other_method", "note": "not for the method tool" }]);
    let mut assessed = found["steps"][8].clone();
    let assessment = assessed["assessment"].take();
    assert_eq!(assessment["evidence"]["uses_exec"], json!({ "level": 0.0, "weight": 1.5, "product": 0.0 }));
    assert_eq!(
        assessment["losses"],
        json!({ "benign_grant": 0.0, "benign_deny": 2.0, "malicious_grant": 100.0, "malicious_deny": 1.0 })
    );
    assert_eq!(assessment["log_odds"], json!(-5.0));
    assert_eq!(assessment["choice"], "grant");
    let mut mode = step(9, "mode", "granting is the smaller expected loss");
    mode["verdict"] = json!("allow");
    mode["assessment"] = json!(null);
    assert_eq!(assessed, mode);
    let mut rest = found.clone();
    rest["steps"].as_array_mut().expect("steps").truncate(8);
    assert_eq!(
        rest,
        json!({
            "subject": "extension x 1.0.0",
            "capability": "tool",
            "method": "tool",
            "target": "deploy",
            "mode": "prompt",
            "steps": [
                step(1, "trust", "trusted to run"),
                step(2, "extension_deny", "no deny of tool is written here"),
                step(3, "global_deny", "no deny of tool is written here"),
                step(4, "given", "tool is not given to everybody"),
                step(5, "declaration", "the extension declares nothing, so nothing is ruled out"),
                grant,
                step(7, "default_deny", "tool is not denied by default"),
                step(8, "default_capability", "tool is not a default capability"),
            ],
            "verdict": "allow",
            "rule": "mode",
            "reason": "granting is the smaller expected loss",
            "hint": { "text": "deny it", "command": "pi ext deny x tool" },
        })
    );
}

/// An extension that comes from somewhere, and what is said of what it wants.
fn explained(settings: &str, name: &str, origin: &str, target: Target) -> Explanation {
    let policy = pi_policy::config::load(settings.as_bytes()).expect("settings").value;
    let declared = Declared::new(None, None);
    let extension = Extension::new(name, "1.0.0", Provenance::Trusted, &declared).coming_from(vec![origin.to_owned()]);
    let subject = Subject::Extension(Arc::new(extension));
    let action = Action { subject, capability: Capability::Env, method: Method::Env, target };
    explain(&policy, &Request::new(action, Moment::from_unix_millis(0)))
}

#[test]
fn grant_is_for_one_extension_of_a_name() {
    let settings = r#"{"extensions":{"policy":{"grants":{"spy":[{"capability":"env","origin":"/x/spy.ts"}]}}}}"#;
    let wanted = || Target::Variable("TOKEN".to_owned());
    assert_eq!(explained(settings, "spy", "/x/spy.ts", wanted()).verdict, Verdict::Allow);

    let other = explained(settings, "spy", "/y/spy.ts", wanted());
    assert_eq!((other.verdict, other.grantee.as_deref()), (Verdict::Deny, Some("/x/spy.ts")));
    assert_eq!(other.hint.command.as_deref(), Some("pi ext allow spy env --env TOKEN --from /y/spy.ts"));
    let grants = other.steps.iter().find(|step| step.rule == Rule::ExtensionGrant).expect("a rule");
    assert_eq!(grants.checks[0].fit, Fit::OtherOrigin);

    // What names no origin is for whoever has the name.
    let anybody = settings.replace(r#","origin":"/x/spy.ts""#, "");
    assert_eq!(explained(&anybody, "spy", "/y/spy.ts", wanted()).verdict, Verdict::Allow);
    let agent = r#"{"agent":{"policy":{"grants":[{"capability":"env","origin":"/x"}]}}}"#;
    let refused = pi_policy::config::load(agent.as_bytes()).expect_err("the agent has no origin").to_string();
    assert_eq!(refused, "agent.policy.grants[0].origin: the agent comes from nowhere else");
}

#[test]
fn targets_are_shown_in_one_line() {
    let shown = |name: &str| Target::Variable(name.to_owned()).in_one_line();
    assert_eq!(shown("/etc/hosts\n\n  Safe\u{1b}[2K\u{202e}"), "/etc/hosts␊␊  Safe␛[2K\\u{202e}");
    assert_eq!(shown(&"a".repeat(240)), "a".repeat(240));
    let long = format!("{}{}/.ssh/id_rsa", "a".repeat(120), "b".repeat(500));
    let expected = format!("{} [… 392 characters …] {}/.ssh/id_rsa", "a".repeat(120), "b".repeat(108));
    assert_eq!(shown(&long), expected);
}

#[test]
fn command_is_shown_as_it_would_be_run() {
    let shown = |line: &str| Target::Command(Command::shell(line)).as_written();
    let script = "set -e\n\techo one # not the end\necho \u{1b}[2Ktwo\r\n";
    assert_eq!(shown(script), "set -e\n\techo one # not the end\necho ␛[2Ktwo␍\n");
    let long = format!("echo {}; rm -r important", ".".repeat(100_000));
    assert_eq!(shown(&long), long);
    let endless = "x".repeat(128 * 1024 + 7);
    let expected = format!("{0} [… 7 characters …] {0}", "x".repeat(64 * 1024));
    assert_eq!(shown(&endless), expected);
    // What is no command has no lines that anybody wants to see.
    assert_eq!(Target::Variable("A\nB".to_owned()).as_written(), "A␊B");
}
