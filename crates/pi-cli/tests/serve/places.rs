//! Paths that clients name, and where they must not lead.

use std::{
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

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

/// Every session has a name by which it can be asked for and removed, whatever its file says.
#[test]
fn file_whose_id_nobody_could_name_gets_another() {
    let serving = Serving::start(Script::new());
    let (sessions, project) = (serving.room.at("project/.pi/sessions"), serving.room.project());
    serving.block_on(async {
        let mut client = serving.connect("").await;
        for (number, id) in ["", "../../evil", "x y", &"L".repeat(300)].into_iter().enumerate() {
            let file = sessions.join(format!("{number}.jsonl"));
            write(&file, &stored(id, &project));
            let loaded = load(&mut client, &format!("l{number}"), &file).await;
            check(&loaded, &json!({"success": true}));
            let name = &loaded["data"]["sessionId"];
            assert_ne!(name, id);
            let delete = json!({"type": "delete_session", "id": format!("d{number}"), "sessionId": name});
            check(&client.ask(&delete).await, &json!({"success": true}));
        }
    });
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
    let said = json!({"type": "message", "id": "e1", "parentId": null, "timestamp": "2026-11-16T00:00:00.000Z",
        "message": {"role": "user", "content": "A secret", "timestamp": 1}});
    let secret = [stored("a", &project), format!("{said}\n").into_bytes()].concat();
    write(&sessions.join("a.jsonl"), &stored("a", &project));
    write(&outside.join("a.jsonl"), &secret);
    serving.block_on(async {
        let mut client = serving.connect("").await;
        check(&load(&mut client, "1", &sessions.join("a.jsonl")).await, &json!({"success": true}));
    });
    serving.end(Signal::SIGTERM);
    put_link(&sessions, &outside);
    serving.start_again();
    serving.block_on(async {
        let mut client = serving.connect("").await;
        let listed = client.ask(&json!({"type": "list_sessions", "id": "l"})).await;
        check(&listed, &json!({"data": {"sessions": [{"sessionId": "a", "messageCount": 0}]}}));
        let refused = json!({"success": false, "code": "invalid_session_path",
            "error": "sessionPath must be under an allowed session directory"});
        check(&client.ask(&json!({"type": "prompt", "id": "2", "sessionId": "a", "message": "Hello"})).await, &refused);
        check(&load(&mut client, "3", &sessions.join("a.jsonl")).await, &refused);
        let delete = json!({"type": "delete_stored_session", "id": "4", "sessionPath": sessions.join("a.jsonl"),
            "fileName": "a.jsonl"});
        check(&client.ask(&delete).await, &refused);
    });
    assert_eq!(list(&outside), [outside.join("a.jsonl")]);
    assert_eq!(read(&outside.join("a.jsonl")).expect("it is there").into_bytes(), secret);
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
fn files_beside_a_session_stay_with_it_when_its_folder_becomes_a_link() {
    let mut serving = Serving::start(Script::new().then(answer()));
    let (sessions, outside) = (serving.room.at("project/.pi/sessions"), serving.room.at("elsewhere"));
    write(&sessions.join("a.jsonl"), &stored("a", &serving.room.project()));
    make_folder(&outside);
    serving.block_on(async {
        let mut client = serving.connect("").await;
        check(&load(&mut client, "1", &sessions.join("a.jsonl")).await, &json!({"success": true}));
        put_link(&sessions, &outside);
        let prompt = json!({"type": "prompt", "id": "2", "sessionId": "a", "message": "Hello"});
        check(&client.ask(&prompt).await, &json!({"success": true}));
    });
    serving.end(Signal::SIGTERM);
    assert!(list(&outside).is_empty(), "{:?}", list(&outside));
    assert!(sessions.with_extension("away").join("a.jsonl.envelopes").exists());
}

#[test]
fn prompt_attaches_files_of_the_project_and_reads_no_others() {
    let replies = (0..4).fold(Script::new(), |script, _| script.then(answer()));
    let serving = Serving::prepared(replies, &["--root", "."], |room| {
        write(&room.at("outside.txt"), b"far away");
        write(&room.at("project/inside.txt"), b"at hand");
        symlink(room.at("outside.txt"), room.at("project/link.txt")).expect("a link");
    });
    let (token, outside) = (serving.room.at("agent/server/token"), serving.room.at("outside.txt"));
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        let mentions = ["inside.txt", "link.txt", outside.to_str().unwrap(), token.to_str().unwrap()];
        for (number, name) in mentions.into_iter().enumerate() {
            let words = format!("See @{name}");
            let prompt = json!({"type": "prompt", "id": format!("p{number}"), "sessionId": "s", "message": words});
            check(&client.ask(&prompt).await, &json!({"success": true}));
            let asked = json!({"type": "get_messages", "id": format!("m{number}"), "sessionId": "s"});
            let messages = client.ask(&asked).await["data"]["messages"].clone();
            let mut users = messages.as_array().expect("a list").iter().filter(|message| message["role"] == "user");
            let said =
                users.next_back().expect("it was said")["content"][0]["text"].as_str().expect("a text").to_owned();
            match name {
                "inside.txt" => assert!(said.starts_with(&words) && said.contains("at hand"), "{said}"),
                _ => assert_eq!(said, words),
            }
        }
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

/// Asks for the file of session `s` in every way in which somebody could get it.
async fn take_away(client: &mut Client, round: &str, file: &Path) {
    let name = file.file_name().expect("a file").to_string_lossy().into_owned();
    let in_use = json!({"success": false, "code": "session_in_use", "error": "Session file is in use by session s"});
    for command in [
        json!({"type": "load_session", "id": format!("{round} load"), "sessionId": "l", "sessionPath": file}),
        json!({"type": "switch_session_file", "id": format!("{round} switch"), "sessionId": "t", "sessionPath": file}),
        json!({"type": "delete_stored_session", "id": format!("{round} delete"), "sessionPath": file, "fileName": name}),
    ] {
        check(&client.ask(&command).await, &in_use);
    }
}

/// The file of session `s`, as a list tells it: that wakes nobody.
async fn file_of(client: &mut Client, id: &str) -> PathBuf {
    let listed = client.ask(&json!({"type": "list_sessions", "id": id})).await;
    let sessions = listed["data"]["sessions"].as_array().expect("a list");
    let own = sessions.iter().find(|session| session["sessionId"] == "s").expect("it is known");
    PathBuf::from(own["sessionFile"].as_str().expect("it has a file"))
}

#[test]
fn file_of_a_session_behind_a_link_is_nobody_elses_under_any_name() {
    for link in ["agent", "agent/sessions"] {
        let before = |room: &crate::room::Room| {
            make_folder(&room.at("agent/sessions"));
            put_link(&room.at(link), &room.at(link).with_extension("away"));
        };
        let mut serving = Serving::prepared(Script::new().otherwise(answer()), &[], before);
        let say = |id: &str| json!({"type": "prompt", "id": id, "sessionId": "s", "message": "Hello"});
        let (named, real) = serving.block_on(async {
            let mut client = serving.with_session("").await;
            check(&create(&mut client, "t", &serving.room.project()).await, &json!({"success": true}));
            check(&client.ask(&say("1")).await, &json!({"success": true}));
            let named = file_of(&mut client, "f").await;
            let real = named.canonicalize().expect("it is there");
            assert_ne!(named, real, "it is behind a link");
            take_away(&mut client, "new, named", &named).await;
            take_away(&mut client, "new, real", &real).await;
            (named, real)
        });
        serving.restart(Signal::SIGTERM);
        serving.block_on(async {
            let mut client = serving.connect("").await;
            take_away(&mut client, "asleep, named", &named).await;
            take_away(&mut client, "asleep, real", &real).await;
            check(&client.ask(&say("2")).await, &json!({"success": true, "sessionVersion": 2}));
            take_away(&mut client, "awake, named", &named).await;
            take_away(&mut client, "awake, real", &real).await;
            // Whichever of its names the server tells, it can be given back.
            let told = file_of(&mut client, "f").await;
            for (number, path) in [told, named, real].iter().enumerate() {
                let delete = json!({"type": "delete_session", "id": format!("d{number}"), "sessionId": "s"});
                check(&client.ask(&delete).await, &json!({"success": true}));
                let load =
                    json!({"type": "load_session", "id": format!("l{number}"), "sessionId": "s", "sessionPath": path});
                check(&client.ask(&load).await, &json!({"success": true}));
            }
        });
    }
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
        for (id, folder) in
            [("a", "elsewhere"), ("b", "project/out"), ("c", "none"), ("d", ""), ("g", "project/out/none")]
        {
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
        check(&load(&mut client, "l3", &at("agent/sessions/--x--/z.jsonl")).await, &refused);
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
fn session_that_may_not_be_loaded_where_it_was_is_listed_as_one_outside() {
    let serving = Serving::start(Script::new());
    let at = |name: &str| serving.room.at(name);
    for (id, cwd) in [("in", at("project/gone")), ("out", at("elsewhere"))] {
        write(&at("project/.pi/sessions").join(format!("{id}.jsonl")), &stored(id, &cwd));
    }
    serving.block_on(async {
        let mut client = serving.connect("").await;
        for (id, expected) in [("in", Value::Null), ("out", json!(true))] {
            let listed = client.ask(&json!({"type": "list_stored_sessions", "id": format!("list-{id}")})).await;
            let sessions = listed["data"]["sessions"].as_array().expect("a list").clone();
            let session = sessions.into_iter().find(|session| session["sessionId"] == id).expect("it is listed");
            assert_eq!(session["outsideRoots"], expected, "{session}");
            let refused = if id == "out" { "outside_roots" } else { "folder_missing" };
            let path = at(&format!("project/.pi/sessions/{id}.jsonl"));
            check(&load(&mut client, id, &path).await, &json!({"code": refused}));
        }
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

#[test]
fn next_page_of_stored_sessions_is_found_although_the_last_of_the_one_before_is_deleted() {
    let serving = Serving::prepared(Script::new(), &[], |room| {
        for id in ["a", "b", "c", "d"] {
            write(&room.at("agent/sessions/--x--").join(format!("{id}.jsonl")), &stored(id, &room.project()));
        }
    });
    serving.block_on(async {
        let mut client = serving.connect("").await;
        let first = client.ask(&json!({"type": "list_stored_sessions", "id": "1", "limit": 2})).await;
        let sessions = first["data"]["sessions"].as_array().expect("a list");
        let seen: Vec<&str> = sessions.iter().filter_map(|session| session["sessionId"].as_str()).collect();
        let path = &sessions[1]["sessionPath"];
        let file = path.as_str().and_then(|path| path.rsplit('/').next()).expect("a file");
        let deleted = json!({"type": "delete_stored_session", "id": "2", "sessionPath": path, "fileName": file});
        check(&client.ask(&deleted).await, &json!({"success": true}));
        let cursor = &first["data"]["nextCursor"];
        let next = client.ask(&json!({"type": "list_stored_sessions", "id": "3", "limit": 2, "cursor": cursor})).await;
        let sessions = next["data"]["sessions"].as_array().expect("a list").iter();
        let mut all: Vec<&str> = sessions.filter_map(|it| it["sessionId"].as_str()).chain(seen).collect();
        all.sort_unstable();
        assert_eq!(all, ["a", "b", "c", "d"]);
    });
}

#[test]
fn session_whose_folder_is_gone_is_loaded_where_somebody_says_and_nowhere_else() {
    let mut serving = Serving::prepared(Script::new(), &[], |room| make_folder(&room.at("project/other")));
    let at = |name: &str| serving.room.at(name);
    let (gone, file) = (at("project/gone"), at("agent/sessions/--x--/a.jsonl"));
    write(&file, &stored("a", &gone));
    let missing = json!({"success": false, "code": "folder_missing", "field": "cwd",
        "error": format!("CWD must point to an existing directory: the session worked in {}", gone.display()),
        "hint": "make the folder again, or name another one: delete_session, then load_session with cwd"});
    serving.block_on(async {
        let mut client = serving.connect("").await;
        check(&load(&mut client, "1", &file).await, &missing);
        let there = |id: &str, cwd: &Path| json!({"type": "load_session", "id": id, "sessionPath": file, "cwd": cwd});
        let outside = json!({"success": false, "code": "outside_roots"});
        check(&client.ask(&there("2", &at("elsewhere"))).await, &outside);
        check(&client.ask(&there("3", &at("project/other"))).await, &json!({"success": true}));
        assert_eq!(folder_of(&mut client, "a").await, json!(at("project/other")));
    });
    // The same of one that the server has, while it is loaded and after a restart.
    std::fs::remove_dir(at("project/other")).expect("nothing is in it");
    let other = json!({"success": false, "code": "folder_missing",
        "error": format!("CWD must point to an existing directory: the session worked in {}", at("project/other").display())});
    serving.block_on(async {
        let mut client = serving.connect("").await;
        check(&client.ask(&json!({"type": "bash", "id": "4", "sessionId": "a", "command": "pwd"})).await, &other);
    });
    serving.restart(Signal::SIGTERM);
    serving.block_on(async {
        let mut client = serving.connect("").await;
        check(&client.ask(&json!({"type": "get_state", "id": "5", "sessionId": "a"})).await, &other);
    });
}

#[test]
fn commands_do_not_run_in_a_folder_that_became_a_link_out() {
    let serving = Serving::prepared(Script::new(), &[], |room| {
        make_folder(&room.at("project/part"));
        make_folder(&room.at("elsewhere"));
    });
    let at = |name: &str| serving.room.at(name);
    serving.block_on(async {
        let mut client = serving.connect("").await;
        check(&create(&mut client, "s", &at("project/part")).await, &json!({"success": true}));
        put_link(&at("project/part"), &at("elsewhere"));
        let refused = json!({"success": false, "code": "outside_roots", "field": "cwd"});
        let bash = json!({"type": "bash", "id": "1", "sessionId": "s", "command": "touch here"});
        check(&client.ask(&bash).await, &refused);
        let prompt = json!({"type": "prompt", "id": "2", "sessionId": "s", "message": "Hello"});
        check(&client.ask(&prompt).await, &refused);
    });
    assert!(list(&at("elsewhere")).is_empty());
    assert!(serving.room.server.requests().is_empty());
}

#[test]
fn session_does_not_go_on_in_a_file_of_a_folder_outside() {
    let serving = Serving::prepared(Script::new(), &[], |room| make_folder(&room.at("elsewhere")));
    let at = |name: &str| serving.room.at(name);
    let file = |id: &str| at(&format!("agent/sessions/--x--/{id}.jsonl"));
    for (id, cwd) in [("out", "elsewhere"), ("nowhere", "none"), ("gone", "project/gone"), ("in", "project")] {
        write(&file(id), &stored(id, &at(cwd)));
    }
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        let refused = json!({"success": false, "code": "outside_roots"});
        let done = json!({"success": true, "data": {"cancelled": false}});
        // Where a session works does not change with its file, so a folder inside that is gone does no harm.
        for (id, expected) in [("out", &refused), ("nowhere", &refused), ("gone", &done), ("in", &done)] {
            let to = json!({"type": "switch_session_file", "id": id, "sessionId": "s", "sessionPath": file(id)});
            check(&client.ask(&to).await, expected);
        }
        assert_eq!(folder_of(&mut client, "s").await, json!(at("project")));
    });
}

#[test]
fn page_replaces_no_file_but_an_earlier_page_unless_that_is_said() {
    let serving = Serving::start(Script::new().then(answer()));
    let at = |name: &str| serving.room.at("project").join(name);
    write(&at("notes.html"), b"mine");
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        let told = client.ask(&json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Hello"})).await;
        check(&told, &json!({"success": true}));
        let export = |id: &str, more: Value| {
            let mut command = json!({"type": "export_html", "id": id, "sessionId": "s"});
            command.as_object_mut().expect("a command").extend(more.as_object().expect("members").clone());
            command
        };
        let refused = json!({"success": false, "code": "file_exists", "field": "outputPath",
            "error": format!("A file is there already: {}", at("notes.html").display()),
            "hint": "name another outputPath, or say \"overwrite\": true"});
        check(&client.ask(&export("1", json!({"outputPath": "notes.html"}))).await, &refused);
        assert_eq!(read(&at("notes.html")).expect("it is there"), "mine");
        let done = json!({"success": true, "data": {"path": at("notes.html")}});
        check(&client.ask(&export("2", json!({"outputPath": "notes.html", "overwrite": true}))).await, &done);
        check(&client.ask(&export("3", json!({"outputPath": "notes.html"}))).await, &done);
        // A name of its own is free, or that of an earlier page of the same conversation.
        let own = client.ask(&export("4", json!({}))).await["data"]["path"].clone();
        assert_eq!(client.ask(&export("5", json!({}))).await["data"]["path"], own);
        write(Path::new(own.as_str().expect("a path")), b"mine");
        let next = own.as_str().expect("a path").replace(".html", "-2.html");
        check(&client.ask(&export("6", json!({}))).await, &json!({"data": {"path": next}}));
    });
}

#[test]
fn links_are_listed_as_what_they_lead_to_inside() {
    let serving = Serving::prepared(Script::new(), &[], |room| {
        write(&room.at("project/part/file.txt"), b"");
        make_folder(&room.at("elsewhere"));
        for (target, link) in [("project/part", "inner"), ("elsewhere", "outer"), ("project/part/file.txt", "name")] {
            symlink(room.at(target), room.at("project").join(link)).expect("a link");
        }
    });
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        let listed = client.ask(&json!({"type": "list_files", "id": "1", "sessionId": "s"})).await;
        let files = listed["data"]["files"].as_array().expect("a list").iter();
        let mut kinds: Vec<(String, String)> = files
            .map(|file| {
                (file["path"].as_str().expect("a path").to_owned(), file["kind"].as_str().expect("a kind").to_owned())
            })
            .collect();
        kinds.sort();
        let expected = [
            ("inner", "directory"),
            ("name", "file"),
            ("outer", "file"),
            ("part", "directory"),
            ("part/file.txt", "file"),
        ];
        assert_eq!(kinds, expected.map(|(path, kind)| (path.to_owned(), kind.to_owned())), "{listed}");
    });
}

#[test]
fn tool_that_is_named_twice_is_active_once() {
    let serving = Serving::start(Script::new());
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        let set =
            json!({"type": "set_active_tools", "id": "1", "sessionId": "s", "tools": ["ls", "read", "ls", "read"]});
        check(&client.ask(&set).await, &json!({"success": true, "data": {"tools": ["ls", "read"]}}));
    });
}

#[test]
fn files_of_both_endings_are_listed_and_links_that_lead_out_are_not() {
    let serving = Serving::prepared(Script::new(), &[], |room| {
        let (cwd, sessions) = (room.project(), room.at("agent/sessions/--x--"));
        write(&sessions.join("a.jsonl"), &stored("a", &cwd));
        write(&sessions.join("b.json"), &stored("b", &cwd));
        write(&room.at("elsewhere/c.jsonl"), &stored("c", &cwd));
        symlink(room.at("elsewhere/c.jsonl"), sessions.join("c.jsonl")).expect("a link");
        symlink(sessions.join("a.jsonl"), sessions.join("d.jsonl")).expect("a link");
        // The folder of another project, and one that only looks like it.
        write(&room.at("agent/sessions/--y--/e.jsonl"), &stored("e", &room.at("home/y")));
        write(&room.at("elsewhere/f.jsonl"), &stored("f", &room.at("home/z")));
        write(&room.at("home/z/.pi/sessions/g.jsonl"), &stored("g", &room.at("home/z")));
        symlink(room.at("elsewhere"), room.at("agent/sessions/--z--")).expect("a link");
    });
    serving.block_on(async {
        let mut client = serving.connect("").await;
        let listed = client.ask(&json!({"type": "list_stored_sessions", "id": "l"})).await;
        let sessions = listed["data"]["sessions"].as_array().expect("a list").clone();
        let name = |it: &Value| it["sessionPath"].as_str().and_then(|path| path.rsplit('/').next()).map(str::to_owned);
        let mut names: Vec<String> = sessions.iter().filter_map(name).collect();
        names.sort();
        assert_eq!(names, ["a.jsonl", "b.json", "d.jsonl", "e.jsonl"]);
    });
}

#[test]
fn another_name_of_a_file_that_a_session_has_is_in_use_by_that_session() {
    let mut serving = Serving::start(Script::new());
    let sessions = serving.room.at("project/.pi/sessions");
    write(&sessions.join("a.jsonl"), &stored("a", &serving.room.project()));
    std::fs::hard_link(sessions.join("a.jsonl"), sessions.join("b.jsonl")).expect("a second name");
    let in_use = json!({"success": false, "code": "session_in_use", "error": "Session file is in use by session a"});
    serving.block_on(async {
        let mut client = serving.connect("").await;
        check(&load(&mut client, "1", &sessions.join("a.jsonl")).await, &json!({"success": true}));
        check(&load(&mut client, "2", &sessions.join("b.jsonl")).await, &in_use);
    });
    serving.restart(Signal::SIGTERM);
    serving.block_on(async {
        let mut client = serving.connect("").await;
        // Nobody has opened it yet.
        check(&load(&mut client, "3", &sessions.join("b.jsonl")).await, &in_use);
    });
}
