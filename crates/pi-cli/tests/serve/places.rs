//! Paths that clients name, and where they must not lead.

use std::{os::unix::fs::symlink, path::Path};

use nix::sys::signal::Signal;
use pi_testkit::{Client, Script};
use serde_json::{Value, json};

use crate::{
    room::{list, make_folder, read, write},
    serving::{Serving, fits},
};

#[track_caller]
fn check(answer: &Value, shape: &Value) {
    assert!(fits(answer, shape), "{answer:#}\nis not like {shape:#}");
}

/// A session file of a folder.
fn stored(id: &str, cwd: &Path) -> Vec<u8> {
    let header =
        json!({"type": "session", "version": 3, "id": id, "timestamp": "2026-11-16T00:00:00.000Z", "cwd": cwd});
    format!("{header}\n").into_bytes()
}

async fn load(client: &mut Client, id: &str, path: &Path) -> Value {
    client.ask(&json!({"type": "load_session", "id": id, "sessionPath": path})).await
}

fn put_link(place: &Path, target: &Path) {
    std::fs::rename(place, place.with_extension("away")).expect("it can be moved");
    symlink(target, place).expect("a link");
}

#[test]
fn session_file_whose_folder_became_a_link_is_not_opened_again() {
    let mut serving = Serving::start(Script::new());
    let (sessions, outside) = (serving.room.at("project/.pi/sessions"), serving.room.at("elsewhere"));
    let project = serving.room.project();
    for folder in [&sessions, &outside] {
        write(&folder.join("a.jsonl"), &stored("a", &project));
    }
    serving.block_on(async {
        let mut client = serving.connect("").await;
        check(&load(&mut client, "1", &sessions.join("a.jsonl")).await, &json!({"success": true}));
    });
    serving.end(Signal::SIGTERM);
    put_link(&sessions, &outside);
    serving.start_again();
    serving.block_on(async {
        let mut client = serving.connect("").await;
        let refused = json!({"success": false, "code": "invalid_session_path",
            "error": "sessionPath must be under an allowed session directory"});
        check(&client.ask(&json!({"type": "prompt", "id": "2", "sessionId": "a", "message": "Hello"})).await, &refused);
        check(&load(&mut client, "3", &sessions.join("a.jsonl")).await, &refused);
        let delete = json!({"type": "delete_stored_session", "id": "4", "sessionPath": sessions.join("a.jsonl"),
            "fileName": "a.jsonl"});
        check(&client.ask(&delete).await, &refused);
    });
    assert_eq!(list(&outside), [outside.join("a.jsonl")]);
    assert_eq!(read(&outside.join("a.jsonl")).expect("it is there").into_bytes(), stored("a", &project));
}

#[test]
fn session_file_whose_folder_became_a_link_is_neither_exported_nor_forked() {
    let serving = Serving::start(Script::new());
    let (sessions, outside) = (serving.room.at("project/.pi/sessions"), serving.room.at("elsewhere"));
    for folder in [&sessions, &outside] {
        write(&folder.join("a.jsonl"), &stored("a", &serving.room.project()));
    }
    serving.block_on(async {
        let mut client = serving.connect("").await;
        check(&load(&mut client, "1", &sessions.join("a.jsonl")).await, &json!({"success": true}));
        let export = |id: &str| json!({"type": "export_html", "id": id, "sessionId": "a"});
        check(&client.ask(&export("2")).await, &json!({"success": true}));
        put_link(&sessions, &outside);
        let refused = json!({"success": false, "code": "invalid_session_path"});
        check(&client.ask(&export("3")).await, &refused);
        let fork = json!({"type": "fork", "id": "4", "sessionId": "a", "entryId": "x"});
        check(&client.ask(&fork).await, &refused);
    });
}

#[test]
fn sessions_behind_a_link_that_the_operator_made_go_on_after_a_restart() {
    let before = |room: &crate::room::Room| {
        make_folder(&room.at("agent"));
        make_folder(&room.at("disk"));
        symlink(room.at("disk"), room.at("agent/sessions")).expect("a link");
    };
    let reply = || pi_testkit::model::Answer::new().text("Hi.").reply();
    let mut serving = Serving::prepared(Script::new().then(reply()).then(reply()), &[], before);
    let say = |id: &str| json!({"type": "prompt", "id": id, "sessionId": "s", "message": "Hello"});
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        check(&client.ask(&say("1")).await, &json!({"success": true}));
    });
    serving.restart(Signal::SIGTERM);
    serving.block_on(async {
        let mut client = serving.connect("").await;
        check(&client.ask(&say("2")).await, &json!({"success": true, "sessionVersion": 2}));
    });
}

/// Asks for a session of this folder.
async fn create(client: &mut Client, id: &str, cwd: &Path) -> Value {
    client.ask(&json!({"type": "create_session", "id": id, "sessionId": id, "cwd": cwd})).await
}

/// The folder in which a session works.
async fn folder_of(client: &mut Client, id: &str) -> Value {
    let listed = client.ask(&json!({"type": "list_sessions", "id": format!("folder-{id}")})).await;
    let sessions = listed["data"]["sessions"].as_array().expect("a list");
    sessions.iter().find(|session| session["sessionId"] == id).expect("it is known")["cwd"].clone()
}

#[test]
fn agent_works_below_the_folder_of_the_start_and_the_home_and_nowhere_else() {
    let serving = Serving::prepared(Script::new(), &[], |room| {
        for folder in ["project/part", "home/other", "elsewhere"] {
            make_folder(&room.at(folder));
        }
        symlink(room.at("elsewhere"), room.at("project/out")).expect("a link");
    });
    let at = |name: &str| serving.room.at(name);
    let roots = format!("{}, {}", at("project").display(), at("home").display());
    let refused = json!({"success": false, "code": "outside_roots", "field": "cwd",
        "error": format!("CWD must be inside an allowed root: {roots}"),
        "hint": "name a folder inside, or start the server with every folder that is allowed: `pi serve --root DIR --root DIR`, PI_SERVER_ROOTS or server.roots of settings.json"});
    write(&at("agent/sessions/--x--/x.jsonl"), &stored("x", &at("elsewhere")));
    write(&at("agent/sessions/--x--/y.jsonl"), &stored("y", &at("home/other")));
    write(&at("agent/sessions/--x--/z.jsonl"), &stored("z", &at("gone")));
    serving.block_on(async {
        let mut client = serving.connect("").await;
        for (id, folder) in [("one", "project/part"), ("two", "home/other"), ("three", "project")] {
            check(&create(&mut client, id, &at(folder)).await, &json!({"success": true}));
            assert_eq!(folder_of(&mut client, id).await, json!(at(folder)));
        }
        for (id, folder) in [("a", "elsewhere"), ("b", "project/out"), ("c", "none"), ("d", "")] {
            check(&create(&mut client, id, &at(folder)).await, &refused);
        }
        check(&create(&mut client, "e", Path::new("/")).await, &refused);
        check(
            &create(&mut client, "f", &at("project/none")).await,
            &json!({"success": false, "code": "validation_failed", "error": "CWD must point to an existing directory"}),
        );
        // What the header of a file says is no more than what a client says.
        check(&load(&mut client, "l1", &at("agent/sessions/--x--/x.jsonl")).await, &refused);
        check(&load(&mut client, "l2", &at("agent/sessions/--x--/y.jsonl")).await, &json!({"success": true}));
        check(&load(&mut client, "l3", &at("agent/sessions/--x--/z.jsonl")).await, &json!({"success": true}));
        assert_eq!(folder_of(&mut client, "z").await, json!(at("project")), "where it worked is gone");
    });
}

#[test]
fn folder_that_became_a_link_out_is_neither_listed_nor_written_to() {
    let serving = Serving::prepared(Script::new().then(answer()), &[], |room| {
        make_folder(&room.at("project/part"));
        write(&room.at("elsewhere/secret.txt"), b"");
    });
    let at = |name: &str| serving.room.at(name);
    serving.block_on(async {
        let mut client = serving.connect("").await;
        check(&create(&mut client, "s", &at("project/part")).await, &json!({"success": true}));
        let told = client.ask(&json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Hello"})).await;
        check(&told, &json!({"success": true}));
        put_link(&at("project/part"), &at("elsewhere"));
        for (id, kind) in [("1", "list_files"), ("2", "export_html"), ("3", "new_session")] {
            let answer = client.ask(&json!({"type": kind, "id": id, "sessionId": "s"})).await;
            check(&answer, &json!({"success": false, "code": "outside_roots"}));
        }
    });
    assert_eq!(list(&at("elsewhere")), [at("elsewhere/secret.txt")]);
}

#[test]
fn roots_that_are_named_replace_the_usual_ones_and_hold_after_a_restart() {
    let mut serving = Serving::prepared(Script::new(), &["--root", "../one", "--root", "../two"], |room| {
        for folder in ["one/part", "two"] {
            make_folder(&room.at(folder));
        }
    });
    let room = |name: &str| serving.room.at(name);
    let (part, two, one, project) = (room("one/part"), room("two"), room("one"), room("project"));
    serving.block_on(async {
        let mut client = serving.connect("").await;
        check(&create(&mut client, "a", &part).await, &json!({"success": true}));
        check(&create(&mut client, "b", &two).await, &json!({"success": true}));
        let refused = json!({"success": false, "code": "outside_roots",
            "error": format!("CWD must be inside an allowed root: {}, {}", one.display(), two.display())});
        check(&create(&mut client, "c", &project).await, &refused);
        let made = client.ask(&json!({"type": "create_session", "id": "d", "sessionId": "d"})).await;
        check(&made, &json!({"success": true}));
        assert_eq!(folder_of(&mut client, "d").await, json!(one), "the first root, as the start is outside");
    });
    // With the usual roots, what was made elsewhere is known and not loaded.
    serving.restart(Signal::SIGTERM);
    serving.block_on(async {
        let mut client = serving.connect("").await;
        let told = client.ask(&json!({"type": "get_state", "id": "1", "sessionId": "b"})).await;
        check(&told, &json!({"success": false, "code": "outside_roots"}));
        assert_eq!(folder_of(&mut client, "b").await, json!(two));
    });
}

#[test]
fn root_that_is_not_there_is_told_at_the_start() {
    let serving = Serving::start(Script::new());
    let mut other = serving.room.pi_to(&["serve", "--listen", "127.0.0.1:0", "--root", "none"]);
    let ended = other.output().expect("it starts");
    let told = String::from_utf8_lossy(&ended.stderr);
    let named = format!("server.roots names {}, which cannot be used", serving.room.at("project/none").display());
    assert!(told.contains(&named) && told.contains("make the folder, or name another one with --root"), "{told}");
    assert_eq!(ended.status.code(), Some(2));
}

fn answer() -> pi_testkit::server::Reply {
    pi_testkit::model::Answer::new().text("Hi.").reply()
}

#[test]
fn sessions_that_a_project_keeps_itself_are_listed() {
    let serving = Serving::prepared(Script::new(), &[], |room| {
        let cwd = room.project();
        write(&room.at("project/.pi/sessions/own.jsonl"), &stored("own", &cwd));
        write(&room.at("home/one/.pi/sessions/one.jsonl"), &stored("one", &room.at("home/one")));
        write(&room.at("agent/sessions/--x--/two.jsonl"), &stored("two", &room.at("home/two")));
        // What a project links to is not its own.
        write(&room.at("elsewhere/other.jsonl"), &stored("other", &cwd));
        make_folder(&room.at("home/two/.pi"));
        symlink(room.at("elsewhere"), room.at("home/two/.pi/sessions")).expect("a link");
    });
    let at = |name: &str| serving.room.at(name);
    serving.block_on(async {
        let mut client = serving.connect("").await;
        let list = |id: &str| json!({"type": "list_stored_sessions", "id": id});
        let ids = |listed: &Value| {
            let sessions = listed["data"]["sessions"].as_array().expect("a list").iter();
            let mut ids: Vec<String> =
                sessions.map(|it| it["sessionId"].as_str().expect("a name").to_owned()).collect();
            ids.sort();
            ids
        };
        assert_eq!(ids(&client.ask(&list("1")).await), ["own", "two"]);
        check(&create(&mut client, "s", &at("home/one")).await, &json!({"success": true}));
        assert_eq!(ids(&client.ask(&list("2")).await), ["one", "own", "two"], "somebody works there by now");
        check(&load(&mut client, "3", &at("project/.pi/sessions/own.jsonl")).await, &json!({"success": true}));
        let files = client.ask(&json!({"type": "list_session_files", "id": "4", "sessionId": "s"})).await;
        check(&files, &json!({"data": {"files": [{"path": at("home/one/.pi/sessions/one.jsonl")}]}}));
    });
}
