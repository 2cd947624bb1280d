//! The order of the rules, one scenario per step and per pair of steps that could be confused.

use crate::scenario::check;

#[test]
fn untrusted_project_gets_nothing_at_all() {
    check(
        "mode  permissive
         grant x read
         untrusted x
         call  x read src/a.rs
         call  x log
         call  x env HOME",
        "deny read: the project that brings the extension is not trusted
         deny log: the project that brings the extension is not trusted
         deny env: the project that brings the extension is not trusted",
    );
}

#[test]
fn deny_for_the_extension_comes_before_its_grant() {
    check(
        "grant x read
         deny  x read paths=secrets/**
         call  x read secrets/key
         call  x read src/a.rs
         call  y read secrets/key",
        r#"deny read: denied by extensions.policy.denies["x"][0]
           allow: extension grant
           allow: default capability"#,
    );
}

#[test]
fn written_deny_list_comes_before_any_grant() {
    check(
        "deny_caps exec
         grant x exec
         grant x env
         call  x exec git log
         call  x env TOKEN",
        "deny exec: denied by extensions.policy.deny_caps[0]
         allow: extension grant",
    );
}

#[test]
fn written_deny_list_replaces_the_default_one_but_for_credentials() {
    check(
        "deny_caps http
         evidence clean
         call x http https://example.org/
         call x exec git log
         call x credentials",
        "deny http: denied by extensions.policy.deny_caps[0]
         allow: mode
         deny credentials: denied unless it is granted by name",
    );
}

#[test]
fn default_deny_list_yields_to_a_grant_and_to_nothing_else() {
    check(
        "mode    permissive
         default exec,env,credentials
         grant   x exec
         call    x exec git log
         call    y exec git log
         call    y env TOKEN
         call    y credentials",
        "allow: extension grant
         deny exec: denied unless it is granted by name
         deny env: denied unless it is granted by name
         deny credentials: denied unless it is granted by name",
    );
}

#[test]
fn given_things_need_neither_grant_nor_declaration() {
    check(
        "mode strict
         declares x read
         call x log
         call x events
         call x ui
         call x session
         call x env HOME
         call x env TMPDIR
         call x env home
         call x env",
        "allow: given
         allow: given
         allow: given
         allow: given
         allow: given
         allow: given
         deny env: not declared
         deny env: not declared",
    );
}

#[test]
fn given_things_can_be_denied_explicitly() {
    check(
        "deny_caps env,ui
         deny x log
         deny * session
         call x env PATH
         call x ui
         call x log
         call y log
         call y session
         call y events",
        r#"deny env: denied by extensions.policy.deny_caps[0]
           deny ui: denied by extensions.policy.deny_caps[1]
           deny log: denied by extensions.policy.denies["x"][0]
           allow: given
           deny session: denied by extensions.policy.denies["*"][0]
           allow: given"#,
    );
}

#[test]
fn default_denial_of_env_leaves_the_safe_names() {
    check(
        "call x env LANG
         call x env AWS_SECRET_ACCESS_KEY",
        "allow: given
         deny env: denied unless it is granted by name",
    );
}

#[test]
fn what_was_not_declared_is_denied_even_if_granted() {
    check(
        "mode     permissive
         grant    x write
         grant    x http
         grant    x read
         declares x read methods=tool paths=src/**
         declares x http hosts=api.github.com
         call     x write src/a.rs
         call     x read src/a.rs
         call     x read docs/a.md
         call     x fs.read src/a.rs
         call     x http https://api.github.com/
         call     x http https://example.org/",
        "deny write: not declared
         allow: extension grant
         deny read: outside the declared scope
         deny read: not declared for this method
         allow: extension grant
         deny http: outside the declared scope",
    );
}

#[test]
fn what_an_extension_says_itself_narrows_what_it_declared_and_never_widens_it() {
    check(
        "mode     permissive
         declares x read paths=src/**,docs/**
         declares x http
         says     x read paths=src/**
         says     x write
         says     y read methods=tool
         grant    y http
         call     x read src/a.rs
         call     x read docs/a.md
         call     x http https://example.org/
         call     x write src/a.rs
         call     x read /tmp/pi-x/a
         call     y read src/a.rs
         call     y fs.read src/a.rs
         call     y http https://example.org/
         call     y env HOME",
        "allow: default capability
         deny read: the extension said itself that it does not need it
         deny http: the extension said itself that it does not need it
         deny write: not declared
         allow: default capability
         allow: default capability
         deny read: the extension said itself that it does not need it
         deny http: the extension said itself that it does not need it
         allow: given",
    );
}

#[test]
fn flat_list_is_coarse_and_an_empty_one_declares_nothing() {
    check(
        "lists x read
         lists y
         call  x read docs/a.md
         call  x http https://example.org/
         call  y read docs/a.md
         call  z read docs/a.md",
        "allow: default capability
         deny http: not declared
         deny read: not declared
         allow: default capability",
    );
}

#[test]
fn declared_scope_need_not_name_the_extensions_own_folders() {
    check(
        "declares x read paths=src/**
         declares x write paths=
         call x read /home/u/.pi/agent/extensions/x/index.js
         call x write /home/u/.pi/agent/data/x/state.json
         call x write /home/u/.pi/agent/extensions/x/index.js
         call x read /home/u/.pi/agent/extensions/y/index.js
         call x write src/a.rs",
        "allow: default capability
         allow: default capability
         ask: p=0.6225
         deny read: outside the declared scope
         deny write: outside the declared scope",
    );
}

#[test]
fn default_capabilities_reach_the_default_places_only() {
    check(
        "evidence clean
         call x read src/a.rs
         call x read /home/u/.pi/agent/settings.json
         call x write /home/u/.pi/agent/settings.json
         call x read /etc/passwd
         call x write /tmp/pi-x/a
         call x write /tmp/pi-y/a
         call x http https://example.org/
         call x http http://127.0.0.1:8080/",
        "allow: default capability
         allow: default capability
         ask: p=0.0759
         ask: p=0.0759
         allow: default capability
         ask: p=0.0759
         allow: default capability
         ask: p=0.0759",
    );
}

#[test]
fn strict_has_no_default_capabilities_even_if_written() {
    check(
        "mode    strict
         default read
         grant   x read paths=src/**
         evidence clean
         call    x read src/a.rs
         call    x read Cargo.toml",
        "allow: extension grant
         deny read: nothing grants it, and the mode is strict",
    );
}

#[test]
fn evidence_decides_in_prompt_mode_and_only_warns_in_permissive() {
    check(
        "evidence clean
         call x tool deploy
         evidence findings=0.5
         call x tool deploy",
        "allow: mode
         ask: p=0.0474",
    );
    check(
        "mode permissive
         evidence findings=1 obfuscated=1 traps=1
         call x tool deploy",
        "allow: mode warning p=0.9707",
    );
    check(
        "mode strict
         evidence clean
         call x tool deploy",
        "deny tool: nothing grants it, and the mode is strict",
    );
}

#[test]
fn permissive_does_not_lead_inside() {
    check(
        "mode permissive
         evidence clean
         call x http https://example.org/
         call x http http://127.0.0.1:8080/
         call x http http://localhost/
         call x http http://169.254.169.254/latest
         call x http http://10.0.0.1/
         call x http http://[::ffff:192.168.0.1]/
         call x http http://[fe80::1]/
         grant x http hosts=127.0.0.1:8080
         call x http http://127.0.0.1:8080/
         call x http http://127.0.0.1:9090/",
        "allow: default capability
         ask: p=0.0759
         ask: p=0.0759
         ask: p=0.0759
         ask: p=0.0759
         ask: p=0.0759
         ask: p=0.0759
         allow: extension grant
         ask: p=0.0759",
    );
}

#[test]
fn evidence_never_overrides_a_rule() {
    check(
        "grant x exec commands=git
         evidence findings=1 obfuscated=1 denials=1 traps=1
         call x exec git log
         call x read src/a.rs
         evidence clean
         call x exec rm x",
        "allow: extension grant
         allow: default capability
         deny exec: denied unless it is granted by name",
    );
}

#[test]
fn agent_reads_writes_and_executes_in_its_project() {
    check(
        "deny_caps exec,read,write
         call agent read src/a.rs
         call agent edit src/a.rs
         call agent bash cargo test 2>&1 | tail
         call agent read ~/.ssh/id_rsa
         call agent http https://example.org/
         call agent credentials",
        "allow: default capability
         allow: default capability
         allow: default capability
         ask
         ask
         deny credentials: denied unless it is granted by name",
    );
}

#[test]
fn agent_has_rules_of_its_own() {
    check(
        "agent_mode strict
         agent_deny_caps http
         grant agent read paths=src/**
         grant agent exec commands=cargo
         deny  agent exec commands=cargo+publish
         grant x     read paths=docs/**
         call  agent read src/a.rs
         call  agent read docs/a.md
         call  agent bash cargo test
         call  agent bash cargo publish
         call  agent http https://example.org/",
        "allow: extension grant
         deny read: nothing grants it, and the mode is strict
         allow: extension grant
         deny exec: denied by agent.policy.denies[0]
         deny http: denied by agent.policy.deny_caps[0]",
    );
}

#[test]
fn extension_that_calls_itself_agent_is_an_extension() {
    check(
        "grant agent exec
         call  agent exec git log
         call  extension:agent exec git log",
        "allow: extension grant
         deny exec: denied unless it is granted by name",
    );
}

#[test]
fn grants_end_and_hold_for_named_versions_only() {
    check(
        "mode    strict
         grant   x read expires=2026-06-01T00:00:00Z
         grant   x http versions=^1.2
         deny    x ui versions=<2
         version x 1.3.0
         now     2026-05-31T23:59:59Z
         call    x read a
         call    x http https://example.org/
         call    x ui
         now     2026-06-01T00:00:00Z
         call    x read a
         version x 2.0.0
         call    x http https://example.org/
         call    x ui
         version x 1.9.0-beta
         call    x http https://example.org/
         call    x ui
         version x nightly
         call    x http https://example.org/
         call    x ui",
        r#"allow: extension grant until 2026-06-01T00:00:00Z
           allow: extension grant
           deny ui: denied by extensions.policy.denies["x"][0]
           deny read: nothing grants it, and the mode is strict
           deny http: nothing grants it, and the mode is strict
           allow: given
           deny http: nothing grants it, and the mode is strict
           deny ui: denied by extensions.policy.denies["x"][0]
           deny http: nothing grants it, and the mode is strict
           deny ui: denied by extensions.policy.denies["x"][0]"#,
    );
}

#[test]
fn deny_of_everything_is_a_deny_of_given_things_too() {
    check(
        "deny x *
         call x log
         call x read a
         call y log",
        r#"deny log: denied by extensions.policy.denies["x"][0]
           deny read: denied by extensions.policy.denies["x"][0]
           allow: given"#,
    );
}

#[test]
fn project_may_restrict_but_not_widen() {
    check(
        "grant   x exec
         project mode permissive
         project default read,exec
         project deny_caps read
         project grant x credentials
         project deny x exec commands=rm
         evidence clean
         call    x read a
         call    x write a
         call    x http https://example.org/
         call    x exec git log
         call    x exec rm a
         call    y exec git log
         call    x credentials",
        r#"deny read: denied by extensions.policy.deny_caps[0]
           allow: mode
           allow: mode
           allow: extension grant
           deny exec: denied by extensions.policy.denies["x"][0]
           deny exec: denied unless it is granted by name
           deny credentials: denied unless it is granted by name"#,
    );
}

#[test]
fn project_may_make_the_mode_stricter() {
    check(
        "project mode strict
         call x read a",
        "deny read: nothing grants it, and the mode is strict",
    );
}
