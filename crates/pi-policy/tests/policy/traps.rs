//! Ways around a scope that were tried on others.

use std::sync::Arc;

use pi_extproto::{Object, capability::Declared};
use pi_policy::{
    Action, Decision, Extension, Extent, Mark, Marks, Moment, PathStyle, Places, Provenance, Request, Root, Subject,
    config, decide,
};

use crate::scenario::{check, last};

#[test]
fn paths_do_not_climb_out() {
    check(
        "mode  strict
         grant x read paths=src/**
         call  x read src/a.rs
         call  x read src/../src/a.rs
         call  x read src/../../etc/passwd
         call  x read src/../Cargo.toml
         call  x read /home/u/work/src/a.rs
         call  x read /etc/passwd
         call  x read ~/.ssh/id_rsa
         call  x read SRC/a.rs
         call  x read src
         call  x read src/a\\0.rs
         call  x read ./././src//a.rs",
        "allow: extension grant
         allow: extension grant
         deny read: nothing grants it, and the mode is strict
         deny read: nothing grants it, and the mode is strict
         allow: extension grant
         deny read: nothing grants it, and the mode is strict
         deny read: nothing grants it, and the mode is strict
         deny read: nothing grants it, and the mode is strict
         deny read: nothing grants it, and the mode is strict
         invalid: params.input.path: the path contains a NUL
         allow: extension grant",
    );
}

#[test]
fn unscoped_grant_is_not_the_whole_disk_or_the_private_network() {
    check(
        "mode  strict
         grant x read
         grant x write
         grant x http
         call  x read a
         call  x read /etc/passwd
         call  x write /home/u/.bashrc
         call  x http https://example.org/
         call  x http https://169.254.169.254/latest/meta-data
         call  x http https://[::ffff:127.0.0.1]/",
        "allow: extension grant
         deny read: nothing grants it, and the mode is strict
         deny write: nothing grants it, and the mode is strict
         allow: extension grant
         deny http: nothing grants it, and the mode is strict
         deny http: nothing grants it, and the mode is strict",
    );
}

#[test]
fn naming_a_target_reaches_beyond() {
    check(
        "mode  strict
         grant x read paths=/etc/hosts
         grant x http hosts=localhost:11434,10.0.0.1
         call  x read /etc/hosts
         call  x read /etc/passwd
         call  x http http://localhost:11434/api
         call  x http http://localhost/
         call  x http https://10.0.0.1/",
        "allow: extension grant
         deny read: nothing grants it, and the mode is strict
         allow: extension grant
         deny http: nothing grants it, and the mode is strict
         allow: extension grant",
    );
}

#[test]
fn empty_lists_leave_nothing() {
    check(
        "mode  strict
         grant x read paths=
         grant x http hosts=
         grant x exec commands=
         grant x write methods=
         call  x read a
         call  x http https://example.org/
         call  x exec ls
         call  x write a",
        "deny read: nothing grants it, and the mode is strict
         deny http: nothing grants it, and the mode is strict
         deny exec: denied unless it is granted by name
         deny write: nothing grants it, and the mode is strict",
    );
}

#[test]
fn double_star_is_the_project_and_not_more() {
    check(
        "mode  strict
         grant x write paths=**
         call  x write a/b/c
         call  x write ../a
         call  x write /home/u/.pi/agent/auth.json",
        "allow: extension grant
         deny write: nothing grants it, and the mode is strict
         deny write: what holds credentials or keys is denied unless its path is granted in full",
    );
}

#[test]
fn hosts_are_compared_as_names() {
    check(
        "mode  strict
         grant x http hosts=*.github.com
         call  x http https://api.github.com./
         call  x http https://API.GITHUB.COM:443/
         call  x http https://api.github.com:8443/
         call  x http https://github.com/
         call  x http https://evilgithub.com/
         call  x http https://github.com.evil.org/
         call  x http https://api.github.com@evil.org/
         call  x http https://api.github.com%2eevil.org/",
        "allow: extension grant
         allow: extension grant
         deny http: nothing grants it, and the mode is strict
         deny http: nothing grants it, and the mode is strict
         deny http: nothing grants it, and the mode is strict
         deny http: nothing grants it, and the mode is strict
         invalid: params.url: the URL contains a user name or a password
         invalid: params.url: the host name is not made of letters, digits, '-', '_' and single dots",
    );
}

#[test]
fn names_of_variables_have_case_for_grants_and_none_for_denies() {
    check(
        "grant x env env=API_URL
         deny  x env env=API_TOKEN
         call  x env API_URL
         call  x env api_url
         call  x env Api_Token
         call  x env",
        r#"allow: extension grant
           deny env: denied unless it is granted by name
           deny env: denied by extensions.policy.denies["x"][0]
           deny env: denied by extensions.policy.denies["x"][0]"#,
    );
}

#[test]
fn denies_ignore_case_and_cover_what_is_below() {
    check(
        "deny * read paths=secrets,**/.env
         call x read SECRETS/Key
         call x read secrets
         call x read a/b/.ENV
         call x read secretsauce",
        r#"deny read: denied by extensions.policy.denies["*"][0]
           deny read: denied by extensions.policy.denies["*"][0]
           deny read: denied by extensions.policy.denies["*"][0]
           allow: default capability"#,
    );
}

#[test]
fn search_of_a_folder_needs_the_whole_folder() {
    check(
        "mode  strict
         grant x read paths=src/**,README.md
         deny  x read paths=src/secret/**,**/*.pem
         call  x grep src
         call  x grep src/secret
         call  x grep src/secret/deeper
         call  x grep README.md
         call  x grep
         call  x ls /",
        r#"allow: extension grant without src/secret/** **/*.pem
           deny read: denied by extensions.policy.denies["x"][0]
           deny read: denied by extensions.policy.denies["x"][0]
           deny read: nothing grants it, and the mode is strict
           deny read: nothing grants it, and the mode is strict
           deny read: nothing grants it, and the mode is strict"#,
    );
}

#[test]
fn moving_needs_both_ends_and_carries_no_denied_file_along() {
    check(
        "mode  strict
         grant x write paths=src/**,out/**
         deny  x write paths=src/keep/**
         call  x fs.rename src/a out/a
         call  x fs.rename src/a ../a
         call  x fs.rename src out/src
         call  x fs.rename out/a src/keep/a",
        r#"allow: extension grant
           deny write: nothing grants it, and the mode is strict
           deny write: denied by extensions.policy.denies["x"][0]
           deny write: denied by extensions.policy.denies["x"][0]"#,
    );
}

#[test]
fn moving_a_folder_carries_nothing_out_of_or_into_the_agent_directory() {
    let secret = "deny write: what holds credentials or keys is denied unless its path is granted in full\n";
    check(
        "in    /home/u
         call  x fs.rename .pi x
         call  x fs.rename x .pi
         call  x fs.rename /home/u /tmp/pi-x/u
         call  x fs.rename / /tmp/pi-x/u
         call  x fs.rename x y
         call  agent fs.rename .pi x
         mode  permissive
         call  x fs.rename .pi x
         grant x write paths=**,/home/u/**,/home/u/.pi/**
         call  x fs.rename .pi x
         call  x fs.rename x .pi",
        format!("{}allow: default capability\n{}", secret.repeat(4), secret.repeat(4)).trim_end(),
    );
    check(
        "in    /home/u
         mode  strict
         grant x write paths=/home/u/.pi/**,/home/u/.pi/agent/auth.json,x/**
         call  x fs.rename .pi x
         grant x write paths=/home/u/.pi/**,/home/u/.pi/agent/auth.json,/home/u/.pi/agent/keys,/home/u/.pi/agent/cache/extensions/machine.key,/home/u/.pi/agent/models.json,/home/u/.pi/agent/mcp.json,/home/u/.pi/agent/npm/.npmrc,x/**
         call  x fs.rename .pi x",
        format!("{secret}allow: extension grant").as_str(),
    );
}

#[test]
fn moving_a_folder_does_not_replace_the_code_of_the_extension() {
    check(
        "own   /home/u/work/lib/x
         mode  strict
         grant x write
         grant x write paths=**
         call  x fs.rename lib y
         call  x fs.rename y lib
         call  x fs.rename lib/x y
         call  x fs.rename lib/themes y
         grant x write paths=/home/u/work/lib/**
         call  x fs.rename lib y",
        "deny write: nothing grants it, and the mode is strict
         deny write: nothing grants it, and the mode is strict
         deny write: nothing grants it, and the mode is strict
         allow: extension grant
         deny write: nothing grants it, and the mode is strict",
    );
    check(
        "own   /home/u/work/lib/x
         declares x write paths=**
         evidence clean
         call  x fs.rename lib y
         call  x fs.rename lib/themes y",
        "deny write: outside the declared scope
         allow: default capability",
    );
    check(
        "own   /home/u/work/lib/x
         grant x write paths=/home/u/work/lib/**,y/**
         call  x fs.rename lib y",
        "allow: extension grant",
    );
}

#[test]
fn nobody_changes_what_pi_loads_from_the_project_unasked() {
    check(
        "own   /home/u/work/.pi/extensions/x
         call  x write .pi/extensions/other/index.ts
         call  x write .pi/extensions/x/index.ts
         call  x write src/../.pi/settings.json
         call  x fs.make_directory .pi
         call  x fs.rename evil .pi
         call  x fs.rename evil .pi/extensions/other
         call  x fs.rename .pi old
         call  x fs.rename . /tmp/pi-x/work
         call  x fs.set_mode .pi/mcp.json
         call  x read .pi/extensions/other/index.ts
         call  x grep .pi
         call  x write .pid
         call  x write sub/.pi/x
         call  agent write .pi/settings.json
         call  agent edit /home/u/work/.pi/extensions/a.ts
         call  agent write a
         evidence clean
         call  x write .pi/settings.json
         mode  permissive
         call  x write .pi/settings.json
         mode  strict
         grant x write
         call  x write .pi/settings.json
         call  x write a",
        "ask: p=0.6225
         ask: p=0.6225
         ask: p=0.6225
         ask: p=0.6225
         ask: p=0.6225
         ask: p=0.6225
         ask: p=0.6225
         ask: p=0.6225
         ask: p=0.6225
         allow: default capability
         allow: default capability
         allow: default capability
         allow: default capability
         ask
         ask
         allow: default capability
         ask: p=0.0759
         allow: mode warning p=0.0759
         deny write: nothing grants it, and the mode is strict
         allow: extension grant",
    );
}

#[test]
fn what_pi_loads_is_granted_by_a_pattern_that_names_it() {
    check(
        "mode  strict
         grant vague write paths=**,*/settings.json,?pi/**,.p*/**,[.]pi/**
         grant named write paths=.pi/themes/**,.pi/settings.json
         grant whole write paths=.pi/**
         grant full  write paths=/home/u/work/.pi/*.json
         deny  whole write paths=.pi/extensions
         call  vague write .pi/settings.json
         call  vague write src/settings.json
         call  named write .pi/themes/dark.json
         call  named write .pi/settings.json
         call  named write .pi/extensions/a.ts
         call  whole write .pi/mcp.json
         call  whole write .PI/extensions/a.ts
         call  full  write .pi/mcp.json
         call  full  write .pi/providers/a.json",
        r#"deny write: nothing grants it, and the mode is strict
           allow: extension grant
           allow: extension grant
           allow: extension grant
           deny write: nothing grants it, and the mode is strict
           allow: extension grant
           deny write: denied by extensions.policy.denies["whole"][0]
           allow: extension grant
           deny write: nothing grants it, and the mode is strict"#,
    );
    check(
        "declares x write paths=.pi/todo/**
         declares y write paths=**
         grant    x write paths=.pi/todo/**
         grant    y write paths=.pi/todo/**
         call     x write .pi/todo/a
         call     x write .pi/settings.json
         call     y write .pi/todo/a",
        "allow: extension grant
         deny write: outside the declared scope
         deny write: outside the declared scope",
    );
}

#[test]
fn yes_for_writing_does_not_reach_what_pi_loads() {
    check(
        "default read
         call   x write a
         answer yes capability
         call   x write b
         call   x write .pi/settings.json
         answer yes target
         call   x write .pi/settings.json
         call   x write .pi/mcp.json",
        "ask: p=0.1192
         allow: mode
         ask: p=0.6225
         allow: mode
         ask: p=0.6225",
    );
}

#[test]
fn extension_does_not_write_what_other_programs_run_unasked() {
    check(
        "evidence clean
         call  x fs.append .git/config
         call  x fs.write .git/hooks/pre-commit
         call  x write sub/../.git/hooks/pre-commit
         call  x fs.write sub/.git
         call  x fs.set_mode .husky/pre-commit
         call  x fs.make_directory .git/hooks
         call  x fs.rename prepared .git
         call  x fs.rename prepared/config .git/config
         call  x fs.rename .git old
         call  x fs.remove .git
         call  x fs.write /tmp/pi-x/repository/.git/config
         call  x fs.write .mcp.json
         call  x read .git/config
         call  x grep .git
         call  x fs.write .gitignore
         call  x fs.write .github/workflows/ci.yml
         call  agent write .git/config
         mode  permissive
         call  x fs.write .git/config
         mode  strict
         grant x write
         call  x fs.write .git/config
         call  x fs.write a",
        "ask: p=0.0759
         ask: p=0.0759
         ask: p=0.0759
         ask: p=0.0759
         ask: p=0.0759
         ask: p=0.0759
         ask: p=0.0759
         ask: p=0.0759
         ask: p=0.0759
         ask: p=0.0759
         ask: p=0.0759
         ask: p=0.0759
         allow: default capability
         allow: default capability
         allow: default capability
         allow: default capability
         allow: default capability
         allow: mode warning p=0.0759
         deny write: nothing grants it, and the mode is strict
         allow: extension grant",
    );
}

#[test]
fn what_other_programs_run_is_granted_by_a_pattern_that_names_it() {
    check(
        "mode  strict
         grant vague write paths=**,**/.git/**,.gi*/**,/home/u/work/**,/home/u/**
         grant named write paths=.git/info/**,sub/.envrc
         grant full  write paths=/home/u/work/.husky/*
         call  vague fs.write .git/config
         call  vague fs.write src/config
         call  named fs.write .git/info/exclude
         call  named fs.write .git/config
         call  named fs.write sub/.envrc
         call  full  fs.write .husky/pre-commit
         mode  prompt
         evidence clean
         call  x fs.write .git/info/exclude
         answer yes target
         call  x fs.write .git/info/exclude
         call  x fs.write .git/config
         call  x fs.write a",
        "deny write: nothing grants it, and the mode is strict
         allow: extension grant
         allow: extension grant
         deny write: nothing grants it, and the mode is strict
         allow: extension grant
         allow: extension grant
         ask: p=0.0759
         allow: mode
         ask: p=0.0759
         allow: default capability",
    );
}

/// The place of a program is named by a grant that begins with it; nothing else leads there.
#[test]
fn program_of_a_project_is_written_by_name_only() {
    let marks = Marks::default();
    let mark = |path, extent| Mark::program(PathStyle::Unix, path, extent, Some("b")).expect("a path");
    marks.set([mark("/p/tools/b.ts", Extent::File), mark("/p/ext", Extent::Tree)]);
    let places = Places::new(PathStyle::Unix, "/p").expect("a folder").with_marks(marks);
    let check = |paths: &str, expected: [&str; 4]| {
        let grant = format!(r#"{{"capability":"write","scope":{{"paths":["{paths}"]}}}}"#);
        let settings = format!(
            r#"{{"extensions":{{"policy":{{"grants":{{"x":[{grant}]}}}}}},"agent":{{"policy":{{"grants":[{grant}]}}}}}}"#
        );
        let policy = config::load(settings.as_bytes()).expect("settings").value;
        let extension = Extension::new("x", "1.0.0", Provenance::Trusted, &Declared::new(None, None));
        let extension = (Subject::Extension(Arc::new(extension)), places.clone().for_extension().called("x"));
        let asked = [extension, (Subject::Agent, places.clone())].into_iter().flat_map(|(subject, places)| {
            ["tools/b.ts", "ext/new/a.ts"].map(|path| {
                let input = Object::from_iter([("path".to_owned(), path.into()), ("content".to_owned(), "".into())]);
                let action = Action::from_tool_use(subject.clone(), &places, "write", &input).expect("an action");
                match decide(&policy, &Request::new(action, Moment::from_unix_millis(0))) {
                    Decision::Allow(_) => "allow",
                    Decision::Ask(_) => "ask",
                    Decision::Deny(_) => "deny",
                }
            })
        });
        assert_eq!(asked.collect::<Vec<_>>(), expected, "{paths}");
    };
    check("src/**", ["ask", "ask", "ask", "ask"]);
    check("**", ["ask", "ask", "ask", "ask"]);
    check("tools/*.ts", ["ask", "ask", "ask", "ask"]);
    check("tools/b.ts", ["allow", "ask", "allow", "ask"]);
    check("/p/tools/b.ts", ["allow", "ask", "allow", "ask"]);
    check("/p/**", ["ask", "ask", "ask", "ask"]);
    check("ext/**", ["ask", "allow", "ask", "allow"]);
    check("/p/ext/new/*.ts", ["ask", "allow", "ask", "allow"]);
}

#[test]
fn configuration_with_keys_is_granted_by_its_whole_path() {
    check(
        "mode  permissive
         grant x read paths=/home/u/**
         grant y read paths=/home/u/.pi/agent/mcp.json
         grant z read paths=/home/u/.pi/agent/sessions/**
         call  x read ~/.pi/agent/mcp.json
         call  x read ~/.pi/agent/models.json
         call  y read ~/.pi/agent/mcp.json
         call  agent read ~/.pi/agent/mcp.json
         mode  prompt
         evidence clean
         call  w read ~/.pi/agent/sessions/p/a.jsonl
         call  z read ~/.pi/agent/sessions/p/a.jsonl
         call  w read ~/.pi/agent/settings.json",
        "deny read: what holds credentials or keys is denied unless its path is granted in full
         deny read: what holds credentials or keys is denied unless its path is granted in full
         allow: extension grant
         allow: default capability
         ask: p=0.0759
         allow: extension grant
         allow: default capability",
    );
}

#[test]
fn removing_a_folder_leaves_what_is_guarded_in_it() {
    let (policy, request) = last("in /home/u\n call x fs.remove .");
    let Decision::Allow(grant) = decide(&policy, &request) else { panic!("a folder of the project") };
    let places = Places::new(PathStyle::Unix, "/home/u").and_then(|it| it.with(Root::Agent, "/home/u/.pi/agent"));
    let places = places.expect("folders");
    let permits = |path| grant.permits(&places.locate(path, Extent::File).expect("a path"));
    let found = ["notes", ".pi", ".pi/extensions/a.ts", ".pi/agent", ".pi/agent/settings.json", ".pi/agent/auth.json"];
    assert_eq!(found.map(permits), [true, false, false, false, false, false]);
}

#[test]
fn credentials_file_is_denied_in_every_mode() {
    check(
        "mode  permissive
         grant x read
         grant x read paths=/home/u/**
         grant y read paths=/home/u/.pi/agent/auth.json
         call  x read ~/.pi/agent/auth.json
         call  x read /home/u/.pi/agent/x/../auth.json
         call  y read ~/.pi/agent/auth.json
         call  agent read ~/.pi/agent/auth.json",
        "deny read: what holds credentials or keys is denied unless its path is granted in full
         deny read: what holds credentials or keys is denied unless its path is granted in full
         allow: extension grant
         deny read: what holds credentials or keys is denied unless its path is granted in full",
    );
}

#[test]
fn commands_are_whole_words_and_shell_tricks_are_not_granted() {
    check(
        "grant x exec commands=git+log,git+diff
         call  x bash git log --oneline | git diff
         call  x bash git logout
         call  x bash git log; rm -rf .
         call  x bash git log $(rm -rf .)
         call  x bash git log > ~/.bashrc
         call  x bash PAGER=evil git log
         call  x exec git log
         call  x exec ./git log",
        "allow: extension grant
         deny exec: denied unless it is granted by name
         deny exec: denied unless it is granted by name
         deny exec: denied unless it is granted by name
         deny exec: denied unless it is granted by name
         deny exec: denied unless it is granted by name
         allow: extension grant
         deny exec: denied unless it is granted by name",
    );
}

#[test]
fn granted_command_runs_in_the_project_or_where_the_grant_says() {
    check(
        "grant x exec commands=make
         grant x exec commands=npm+test paths=web,/srv/web,/home/u/.pi/agent/extensions/x
         grant y exec
         deny  z exec commands=rm
         deny_caps env
         call  x exec make
         call  x exec@. make
         call  x exec@sub/.. make
         call  x exec@sub make
         call  x exec@/tmp/pi-x make
         call  x exec@/etc make
         call  x exec@~/.pi/agent/extensions/x make
         call  x exec npm test
         call  x exec@web npm test
         call  x exec@web/sub npm test
         call  x exec@/srv/web npm test
         call  x exec@~/.pi/agent/extensions/x npm test
         call  x exec@web make
         call  y exec@web make
         call  y exec@/etc make
         call  z exec@web make
         call  z exec make
         call  agent exec@web make
         call  agent exec@/etc make",
        r#"allow: extension grant
           allow: extension grant
           allow: extension grant
           ask: p=0.1192
           ask: p=0.1192
           ask: p=0.6225
           ask: p=0.6225
           allow: extension grant
           allow: extension grant
           ask: p=0.1192
           allow: extension grant
           allow: extension grant
           ask: p=0.1192
           allow: extension grant
           ask: p=0.6225
           deny exec: denied by extensions.policy.denies["z"][0]
           ask: p=0.1192
           allow: default capability
           ask"#,
    );
}

#[test]
fn deny_of_a_command_finds_it_in_the_script_of_a_shell() {
    check(
        "deny  agent exec commands=rm
         call  agent bash bash -c 'rm -rf x'
         call  agent bash sudo env sh -c 'rm -rf x'
         call  agent bash echo x | sh
         call  agent exec cmd /c del
         call  agent bash bash -c 'ls x'
         call  agent bash bash build.sh
         grant x exec commands=bash
         call  x bash bash -c 'rm x'
         call  x bash bash build.sh",
        "deny exec: denied by agent.policy.denies[0]
         deny exec: denied by agent.policy.denies[0]
         deny exec: denied by agent.policy.denies[0]
         deny exec: denied by agent.policy.denies[0]
         allow: default capability
         allow: default capability
         deny exec: denied unless it is granted by name
         allow: extension grant",
    );
}

#[test]
fn deny_of_a_command_is_not_passed_by_another_spelling() {
    let lines = [
        "bash +c 'git push'",
        "if true; then eval 'git push'; fi",
        "echo push | xargs git",
        "echo 'git push' | bash --rcfile /dev/null",
        "echo 'git push' | bash /dev/stdin",
        "echo 'git push' | su root",
        "env --s='git push'",
        "trap 'git push' EXIT",
        "git -C sub push",
        "git --no-pager push",
        "bash -c 'git push'",
        "/usr/bin/g''it pu\\sh",
        "git push <<EOF",
        "$(echo git) push",
        "`echo git` push",
        "git pus{h,h}",
        "busybox sh -c 'git push'",
    ];
    for line in lines {
        let scenario = format!("deny agent exec commands=git+push\n call agent bash {line}");
        check(&scenario, "deny exec: denied by agent.policy.denies[0]");
    }
}

#[test]
fn command_runs_in_the_project_whatever_else_the_project_is() {
    check(
        "in    /home/u/.pi/agent
         grant x exec commands=make
         call  x exec make
         call  x exec@. make
         call  x exec@sub make",
        "allow: extension grant
         allow: extension grant
         deny exec: denied unless it is granted by name",
    );
}

#[test]
fn claimed_capability_is_not_believed() {
    check(
        "call x claims read bash
         call x claims read deploy",
        "invalid: the call claims read but needs exec
         invalid: the call claims read but needs tool",
    );
}

#[test]
fn declared_patterns_that_mean_nothing_cover_nothing() {
    check(
        "declares x read paths=../**,~/x,src/**
         declares x http hosts=*
         call x read ../a
         call x read src/a
         call x http https://example.org/",
        "deny read: outside the declared scope
         allow: default capability
         deny http: outside the declared scope",
    );
}
