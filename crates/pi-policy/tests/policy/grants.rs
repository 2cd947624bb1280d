//! What an executor can find out from a grant, and what becomes of a question.

use std::net::IpAddr;

use pi_policy::{Answer, Decision, Extent, Grant, Moment, Question, decide};

use crate::scenario::{last, places};

fn grant(scenario: &str) -> Grant {
    let (policy, request) = last(scenario);
    match decide(&policy, &request) {
        Decision::Allow(grant) => grant,
        other => panic!("{other:?}"),
    }
}

fn question(scenario: &str) -> Question {
    let (policy, request) = last(scenario);
    match decide(&policy, &request) {
        Decision::Ask(question) => question,
        other => panic!("{other:?}"),
    }
}

#[test]
fn grant_covers_the_action_it_was_made_for_until_it_ends() {
    let scenario = "grant x read expires=1970-01-01T00:00:10Z\n call x read src/a.rs";
    let (_, request) = last(scenario);
    let grant = grant(scenario);
    let at = Moment::from_unix_millis;
    assert!(grant.covers(&request.action, at(9_999)));
    assert!(!grant.covers(&request.action, at(10_000)));
    for other in ["call x read src/b.rs", "call x write src/a.rs", "call y read src/a.rs", "call x fs.read src/a.rs"] {
        assert!(!grant.covers(&last(other).1.action, at(0)), "{other}");
    }
    assert!(!grant.covers(&last("version x 2.0.0\n call x read src/a.rs").1.action, at(0)));
}

#[test]
fn grant_of_a_folder_withholds_what_is_denied_in_it() {
    let grant = grant("deny x read paths=**/.env,src/secret/**\n call x grep .");
    let permits = |path| grant.permits(&places("x").locate(path, Extent::File).expect("a path"));
    let found = ["src/a.rs", "src/.ENV", "src/secret/key", "src/secret", "../x", "src"].map(permits);
    assert_eq!(found, [true, false, false, false, false, true]);
}

#[test]
fn grant_of_a_folder_around_the_agent_directory_withholds_the_credentials() {
    let grant = grant("grant x read paths=/home/**\n call x grep /home/u");
    let permits = |path| grant.permits(&places("x").locate(path, Extent::File).expect("a path"));
    let found = ["~/notes.txt", "~/.pi/agent/settings.json", "~/.pi/agent/auth.json"].map(permits);
    assert_eq!(found, [true, true, false]);
}

#[test]
fn grant_says_from_which_folder_to_open() {
    #[track_caller]
    fn check(scenario: &str, path: &str, expected: Option<(&str, &str)>) {
        let file = places("x").locate(path, Extent::File).expect("a path");
        assert_eq!(grant(scenario).root(&file), expected, "{scenario} {path}");
    }
    check("call x grep .", "src/a", Some(("/home/u/work", "src/a")));
    check("call x grep .", "../a", None);
    check("call x write /tmp/pi-x/a/b", "/tmp/pi-x/a/b", Some(("/tmp/pi-x", "a/b")));
    check("grant x read paths=/etc/hosts\n call x read /etc/hosts", "/etc/hosts", Some(("/etc", "hosts")));
    check("grant x read paths=/hosts\n call x read /hosts", "/hosts", Some(("/", "hosts")));
    let nested = "grant x read paths=/**,/srv/*/b/**,/srv/**\n call x grep /srv/a/b";
    check(nested, "/srv/a/b/c", Some(("/srv", "a/b/c")));
    check("mode permissive\n call x read /srv/a", "/srv/a", Some(("/srv", "a")));
    check("mode permissive\n call x grep /srv/a", "/srv/a/b/c", Some(("/srv/a", "b/c")));
    check("grant x read paths=/home/**\n call x grep /home", "a", Some(("/home/u/work", "a")));
    check("grant x read paths=/home/**\n call x grep /home", "~/.pi/agent/auth.json", None);
}

#[test]
fn public_names_do_not_lead_into_the_private_network() {
    #[track_caller]
    fn check(scenario: &str, address: &str, expected: bool) {
        let address: IpAddr = address.parse().expect("an address");
        assert_eq!(grant(scenario).may_connect(address), expected, "{scenario} {address}");
    }
    let public = "call x http https://example.org/";
    check(public, "93.184.216.34", true);
    check(public, "127.0.0.1", false);
    check(public, "::ffff:10.0.0.1", false);
    check(public, "fd00::1", false);
    check("grant x http hosts=git.example.org\n call x http https://git.example.org/", "10.0.0.1", true);
    check("grant x http hosts=localhost\n call x http http://localhost/", "127.0.0.1", true);
    check("grant x http hosts=10.0.0.1\n call x http http://10.0.0.1/", "10.0.0.2", false);
    check("call x read a", "93.184.216.34", false);
}

#[test]
fn question_becomes_a_grant_or_a_denial() {
    let asked = || question("call x read /etc/hosts");
    let granted = asked().answer(Answer::Yes).expect("a grant");
    assert!(granted.covers(&last("call x read /etc/hosts").1.action, Moment::from_unix_millis(0)));
    assert_eq!(asked().answer(Answer::No).expect_err("a denial").to_string(), "deny read: a person said no");
    assert_eq!(
        asked().answer(Answer::Dismissed).expect_err("a denial").to_string(),
        "deny read: a person dismissed the question"
    );
    assert_eq!(asked().answer(Answer::Nobody).expect_err("a denial").to_string(), "deny read: nobody answered");
}

#[test]
fn what_is_remembered_names_the_target_and_nothing_else() {
    #[track_caller]
    fn check(scenario: &str, expected: &str) {
        let entry = question(scenario).remember();
        let found = entry.map_or("nothing".to_owned(), |entry| serde_json::to_string(&entry).expect("JSON"));
        assert_eq!(found, expected, "{scenario}");
    }
    check("call x read /etc/hosts", r#"{"capability":"read","methods":["tool"],"scope":{"paths":["/etc/hosts"]}}"#);
    check("call x grep /etc/[x]", r#"{"capability":"read","methods":["tool"],"scope":{"paths":["/etc/[[]x]/**"]}}"#);
    check(
        "call x http http://localhost:9/",
        r#"{"capability":"http","methods":["http"],"scope":{"hosts":["localhost:9"]}}"#,
    );
    check("call x tool deploy", r#"{"capability":"tool","methods":["tool"]}"#);
    let exec = |line| format!("deny_caps env\n call x bash {line}");
    let git = r#"{"capability":"exec","methods":["tool"],"scope":{"commands":["git log"]}}"#;
    check(&exec("git log"), git);
    check(&exec("git log > x"), "nothing");
    check("call x read /a\\b", "nothing");
}

#[test]
fn denial_is_a_host_error() {
    let (policy, request) = last("call x exec ls");
    let Decision::Deny(denial) = decide(&policy, &request) else { panic!("exec is denied") };
    let error = serde_json::to_value(denial.to_host_error()).expect("JSON");
    assert_eq!(
        error,
        serde_json::json!({
            "code": "denied",
            "message": "deny exec: denied unless it is granted by name",
            "details": { "capability": "exec", "rule": "default deny" },
            "retryable": false,
        })
    );
}
