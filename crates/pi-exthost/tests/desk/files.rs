//! `fs`: what persists, how it fails, and how far it reaches.

use serde_json::json;

use crate::stage::{Plan, check};

#[test]
fn files_are_made_changed_and_removed_for_good() {
    check(
        Plan::default(),
        r#"fs {"op":"make_directory","path":"a/b","parents":true}
           fs {"op":"write","path":"a/b/f","content":{"text":"one"},"mode":"replace"}
           fs {"op":"append","path":"a/b/f","content":{"text":" two"}}
           show project/a/b/f
           fs {"op":"read","path":"a/b/f"}
           fs {"op":"read","path":"a/b/f","offset":4,"limit":2}
           fs {"op":"rename","from":"a/b/f","to":"a/g"}
           fs {"op":"list","path":"a"}
           fs {"op":"stat","path":"a/none","follow_links":true}
           fs {"op":"resolve","path":"a/b/.."}
           fs {"op":"remove","path":"a","recursive":true}
           show project/a"#,
        r#"ok {}
           ok {}
           ok {}
           project/a/b/f: one two
           ok {"content":{"text":"one two"}}
           ok {"content":{"text":"tw"}}
           ok {}
           ok {"entries":[{"name":"b","kind":"directory"},{"name":"g","kind":"file"}]}
           ok {}
           ok {"path":"ROOT/project/a"}
           ok {}
           project/a: nothing
           10 calls, 0 unfinished, 0 denied, 0 failed"#,
    );
}

#[test]
fn failures_carry_the_name_that_the_system_gives_them() {
    check(
        Plan::default(),
        r#"file project/f x
           folder project/d/e
           fs {"op":"read","path":"none"}
           fs {"op":"read","path":"d"}
           fs {"op":"read","path":"f/x"}
           fs {"op":"write","path":"f","content":{"text":"y"},"mode":"create_new"}
           fs {"op":"write","path":"none/f","content":{"text":"y"},"mode":"replace"}
           fs {"op":"make_directory","path":"d","parents":false}
           fs {"op":"remove","path":"d","recursive":false}
           fs {"op":"list","path":"f"}
           show project/f"#,
        r#"io ENOENT: none: File not found: none
           io EISDIR: d: d is a folder, not a file
           io ENOTDIR: f/x: f/x: a folder on the way is a file
           io EEXIST: f: File exists (os error 17)
           io ENOENT: none/f: File not found: none/f
           io EEXIST: d: File exists (os error 17)
           io ENOTEMPTY: d: Directory not empty (os error 39)
           io ENOTDIR: f/: f is not a folder
           project/f: x
           8 calls, 0 unfinished, 0 denied, 8 failed"#,
    );
}

#[test]
fn default_scope_is_the_project_and_its_own_folders() {
    let denied = |capability: &str, path: &str| {
        format!(
            "denied Extension g1 wanted {capability}: {path} and may not (a person dismissed the question). To allow it: pi ext allow g1 \
             {capability} --path {path}"
        )
    };
    let expected = [
        r#"ok {"content":{"text":"code"}}"#.to_owned(),
        denied("write", "ROOT/agent/extensions/g1/index.js"),
        "ok {}".to_owned(),
        r#"ok {"content":{"text":"kept"}}"#.to_owned(),
        "denied Extension g1 wanted read: ROOT/agent/auth.json and may not (what holds credentials or keys is denied unless its \
         path is granted in full). To allow it: pi ext allow g1 read --path ROOT/agent/auth.json"
            .to_owned(),
        denied("read", "ROOT/home/.ssh/id_rsa"),
        r#"ok {"content":{"text":"{}"}}"#.to_owned(),
        "7 calls, 0 unfinished, 3 denied, 0 failed".to_owned(),
    ];
    check(
        // The person of the session double dismisses every question.
        Plan::default(),
        r#"file agent/settings.json {}
           fs {"op":"read","path":"ROOT/agent/extensions/g1/index.js"}
           fs {"op":"write","path":"ROOT/agent/extensions/g1/index.js","content":{"text":"evil"},"mode":"replace"}
           fs {"op":"write","path":"ROOT/agent/data/g1/state","content":{"text":"kept"},"mode":"replace"}
           fs {"op":"read","path":"ROOT/agent/data/g1/state"}
           fs {"op":"read","path":"ROOT/agent/auth.json"}
           fs {"op":"read","path":"~/.ssh/id_rsa"}
           fs {"op":"read","path":"ROOT/agent/settings.json"}"#,
        &expected.join("\n"),
    );
}

#[test]
fn temporary_folder_is_its_own() {
    check(
        Plan {
            policy: json!({ "mode": "strict", "grants": { "g1": [{ "capability": "write" }] } }),
            ..Plan::default()
        },
        r#"fs {"op":"make_temporary","prefix":"../x"}
           fs {"op":"set_mode","path":"ROOT/tmp/g1","mode":448}"#,
        r#"io EINVAL: ROOT/tmp/g1: the prefix of a temporary folder is a plain name
           ok {}
           2 calls, 0 unfinished, 0 denied, 1 failed"#,
    );
}

#[cfg(unix)]
#[test]
fn links_are_judged_by_where_they_lead() {
    check(
        Plan {
            policy: json!({ "mode": "strict", "grants": { "g1": [{ "capability": "read" }, { "capability": "write" }] } }),
            ..Plan::default()
        },
        r#"file project/real here
           link project/inside -> real
           link project/outside -> ROOT/home/.ssh/id_rsa
           link project/gone -> nowhere
           fs {"op":"read","path":"inside"}
           fs {"op":"read","path":"outside"}
           fs {"op":"resolve","path":"inside"}
           fs {"op":"write","path":"gone","content":{"text":"x"},"mode":"replace"}
           fs {"op":"remove","path":"outside","recursive":false}
           show project/outside
           show home/.ssh/id_rsa"#,
        r#"ok {"content":{"text":"here"}}
           denied Extension g1 wanted read: ROOT/home/.ssh/id_rsa and may not (nothing grants it, and the mode is strict). To allow it: pi ext allow g1 read --path ROOT/home/.ssh/id_rsa
           ok {"path":"ROOT/project/real"}
           io ELOOP: gone: Too many levels of symbolic links (os error 40)
           ok {}
           project/outside: nothing
           home/.ssh/id_rsa: PRIVATE
           5 calls, 0 unfinished, 1 denied, 1 failed"#,
    );
}

#[test]
fn denied_parts_of_a_folder_are_neither_seen_nor_removed() {
    let policy = json!({ "denies": { "*": [{ "capability": "read", "scope": { "paths": ["d/secret"] } },
                                           { "capability": "write", "scope": { "paths": ["d/secret"] } }] } });
    check(
        Plan { policy, ..Plan::default() },
        r#"file project/d/secret s
           file project/d/open o
           fs {"op":"list","path":"d"}
           fs {"op":"remove","path":"d","recursive":true}
           show project/d/secret"#,
        r#"ok {"entries":[{"name":"open","kind":"file"}]}
           io EACCES: d/: ROOT/project/d/secret is outside of what was granted
           project/d/secret: s
           2 calls, 0 unfinished, 0 denied, 1 failed"#,
    );
}

#[cfg(unix)]
#[test]
fn file_is_made_with_its_permissions_and_told_its_times() {
    check(
        Plan::default(),
        r#"fs {"op":"write","path":"f","content":{"text":"x"},"mode":"replace","permissions":384}
           fs {"op":"set_times","path":"f","accessed_ms":1000,"modified_ms":1234567890123,"follow_links":true}
           fs {"op":"stat","path":"f","follow_links":true}
           fs {"op":"write","path":"g","content":{"text":"x"},"mode":"create_new","permissions":2496}
           fs {"op":"set_times","path":"g","accessed_ms":0,"modified_ms":1000,"follow_links":false}
           fs {"op":"stat","path":"g","follow_links":true}
           fs {"op":"set_times","path":"none","accessed_ms":0,"modified_ms":0,"follow_links":true}"#,
        r#"ok {}
           ok {}
           ok {"info":{"kind":"file","size":1,"modified_ms":1234567890123,"mode":33152}}
           ok {}
           ok {}
           ok {"info":{"kind":"file","size":1,"modified_ms":1000,"mode":33216}}
           io ENOENT: none: No such file or directory (os error 2)
           7 calls, 0 unfinished, 0 denied, 1 failed"#,
    );
}
