//! What a person said is remembered for the session, and overrides no rule.

use pi_policy::{Answer, Breadth, Decision, Term, decide, explain};

use crate::scenario::{check, last};

#[test]
fn yes_for_a_capability_is_asked_once() {
    check(
        "call   x tool deploy
         answer yes capability
         call   x tool deploy
         call   x tool publish
         call   x mcp
         call   y tool deploy
         call   x teleport
         version x 2.0.0
         call   x tool deploy",
        "ask: p=0.1192
         allow: mode
         allow: mode
         allow: mode
         ask: p=0.1192
         ask: p=0.1192
         ask: p=0.1192",
    );
}

#[test]
fn yes_for_a_capability_leads_no_further_than_the_capability() {
    check(
        "default
         call   x read src/a
         answer yes capability
         call   x read src/b
         call   x read /etc/hosts
         answer yes capability
         call   x read /etc/hosts
         call   x read /etc/passwd
         call   x fs.read /etc/hosts
         call   x read ~/.pi/agent/auth.json
         call   x write src/a",
        "ask: p=0.1192
         allow: mode
         ask: p=0.6225
         allow: mode
         ask: p=0.6225
         ask: p=0.6225
         deny read: what holds credentials or keys is denied unless its path is granted in full
         ask: p=0.1192",
    );
}

#[test]
fn yes_for_a_target_is_for_nothing_else() {
    check(
        "call   agent read /etc/hosts
         answer yes target
         call   agent read /etc/hosts
         call   agent grep /etc/hosts
         call   agent read /etc/x/../hosts
         call   agent read /etc/passwd
         call   agent write /etc/hosts
         call   extension:agent read /etc/hosts",
        "ask
         allow: mode
         ask
         allow: mode
         ask
         ask
         ask: p=0.6225",
    );
}

#[test]
fn no_is_remembered_and_outweighs_a_yes() {
    check(
        "call   x tool deploy
         answer no target
         call   x tool publish
         answer yes capability
         call   x tool deploy
         call   x tool publish
         mode   permissive
         call   x tool deploy
         mode   prompt
         call   x read /etc/hosts
         answer no capability
         call   x read /etc/passwd
         call   x read src/a
         evidence clean
         call   x tool deploy",
        "ask: p=0.1192
         ask: p=0.1192
         deny tool: a person said no
         allow: mode
         deny tool: a person said no
         ask: p=0.6225
         deny read: a person said no
         allow: default capability
         deny tool: a person said no",
    );
}

#[test]
fn answers_override_no_rule_and_no_stricter_mode() {
    check(
        "call    x tool deploy
         answer  yes capability
         deny    x tool methods=mcp
         call    x mcp
         call    x tool deploy
         project mode strict
         call    x tool deploy",
        r#"ask: p=0.1192
           deny tool: denied by extensions.policy.denies["x"][0]
           allow: mode
           deny tool: nothing grants it, and the mode is strict"#,
    );
    check(
        "call    x tool deploy
         answer  no capability
         grant   x tool
         call    x tool deploy",
        "ask: p=0.1192
         allow: extension grant",
    );
}

#[test]
fn yes_may_end_before_the_session() {
    check(
        "call   x tool deploy
         answer yes target 2026-01-01T00:00:00Z
         call   x tool deploy
         now    2025-12-31T23:59:59Z
         call   x tool deploy
         now    2026-01-01T00:00:00Z
         call   x tool deploy",
        "ask: p=0.1192
         allow: mode until 2026-01-01T00:00:00Z
         allow: mode until 2026-01-01T00:00:00Z
         ask: p=0.1192",
    );
}

#[test]
fn command_that_nobody_understands_is_not_remembered_by_itself() {
    let (policy, request) = last("deny_caps env\n call x bash git log > x");
    let Decision::Ask(question) = decide(&policy, &request) else { panic!("a question") };
    assert_eq!(question.keep(Answer::Yes, Breadth::Target, Term::Session), None);
    assert_eq!(question.keep(Answer::Nobody, Breadth::Capability, Term::Session), None);
    let kept = question.keep(Answer::Yes, Breadth::Capability, Term::Session).expect("the capability is plain");
    let note = explain(&policy.with_answer(kept), &request).reason;
    assert_eq!(note, "a person said yes in this session");
}

#[test]
fn command_with_input_is_not_remembered_by_itself() {
    let (policy, request) = last("deny_caps env\n call x exec! python3 -");
    let Decision::Ask(question) = decide(&policy, &request) else { panic!("a question") };
    assert_eq!(question.keep(Answer::Yes, Breadth::Target, Term::Session), None);
    check(
        "deny_caps env
         call   x exec python3 -
         answer yes target
         call   x exec python3 -
         call   x exec! python3 -",
        "ask: p=0.1192
         allow: mode
         ask: p=0.1192",
    );
}
