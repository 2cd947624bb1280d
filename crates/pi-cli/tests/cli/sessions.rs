//! `pi sessions`, `pi export` and `pi context`: what is kept of conversations, on narrow and wide terminals.

use insta::assert_snapshot;
use pi_testkit::server::Script;
use serde_json::{Value, json};

use crate::{
    server::{Running, manifest, quiet_world, stream},
    terminal,
    world::{World, shown},
};

const FIRST: &str = "01a00000-0000-7000-8000-000000000001";
const SECOND: &str = "01b00000-0000-7000-8000-000000000002";

/// So far in the future that nobody sees an age.
const SPOKEN: u64 = 4_102_444_800_000;

/// A session of the world's folder, in which these were said in turn by a person and a model.
fn session(world: World, id: &str, said: &[&str]) -> World {
    let cwd = world.path().canonicalize().expect("it is there").display().to_string();
    let folder = format!("--{}--", cwd.trim_start_matches('/').replace('/', "-"));
    let time = "2026-01-01T00:00:00.000Z";
    let mut text = format!("{}\n", json!({"type": "session", "version": 3, "id": id, "timestamp": time, "cwd": cwd}));
    let mut parent = Value::Null;
    for (index, words) in said.iter().enumerate() {
        let message = if index % 2 == 0 {
            json!({"role": "user", "content": words, "timestamp": SPOKEN})
        } else {
            let cost = json!({"input": 0.01, "output": 0.02, "cacheRead": 0, "cacheWrite": 0, "total": 0.03});
            let usage =
                json!({"input": 10, "output": 2, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 12, "cost": cost});
            json!({"role": "assistant", "content": [{"type": "text", "text": words}], "api": "a", "provider": "acme",
                "model": "small", "stopReason": "stop", "timestamp": SPOKEN, "usage": usage})
        };
        let entry_id = format!("{index:08}");
        let entry =
            json!({"type": "message", "id": entry_id, "parentId": parent, "timestamp": time, "message": message});
        text.push_str(&format!("{entry}\n"));
        parent = entry_id.into();
    }
    world.with(&format!("agent/sessions/{folder}/2026-01-01T00-00-00-000Z_{id}.jsonl"), text)
}

fn two() -> World {
    let world = session(World::new(), FIRST, &["Where is the kumquat?", "In the *basket*."]);
    let attached =
        "<file name=\"/p/a.rs\">\nfn main() {}\n</file>\nExplain this, please, and do not leave anything out";
    session(world, SECOND, &[attached, "It does nothing.", "Really?", "Really."])
}

/// A world in which a conversation was led, so that envelopes are kept.
fn led() -> (World, Running) {
    let running = Running::new(Script::new().otherwise(stream(&["Fine, ", "thanks."])));
    let world = quiet_world()
        .with("agent/providers/acme.yaml", manifest("acme", &running.base_url()))
        .with("AGENTS.md", "Speak in short sentences.");
    for said in ["-p Hello -m acme/small", "-p -c Again"] {
        assert!(run(&world, said).starts_with("Fine, thanks.\n"));
    }
    (world, running)
}

fn run(world: &World, arguments: &str) -> String {
    let mut command = world.command(arguments);
    command.env("PI_CODING_AGENT_DIR", "agent").env("ACME_KEY", "k");
    let path = world.path().canonicalize().expect("it is there").display().to_string();
    shown(&command.output().expect("pi runs")).replace(&path, "$WORLD")
}

#[test]
fn sessions_are_listed_by_what_was_said() {
    assert_snapshot!(run(&two(), "sessions"), @r"
    ID                                    AGE  MESSAGES     COST  SAID FIRST
    01b00000-0000-7000-8000-000000000002  0 s         4  $0.0600  Explain this, please, and do not leave anything out
    01a00000-0000-7000-8000-000000000001  0 s         2  $0.0300  Where is the kumquat?
    --- exit 0
    ");
}

#[test]
fn machine_reads_one_object_per_session() {
    let shown = run(&two(), "sessions --json kumquat");
    let line: Value = serde_json::from_str(shown.lines().next().expect("a line")).expect("JSON");
    let expected = json!({"id": FIRST, "file": line["file"], "cwd": "$WORLD", "name": null,
        "created": "2026-01-01T00:00:00.000Z", "modified": SPOKEN, "messages": 2, "cost": 0.03,
        "costIsAtLeast": false, "firstMessage": "Where is the kumquat?", "parentSession": null});
    assert_eq!(line, expected);
}

#[test]
fn search_is_a_question() {
    let world = two();
    let found = run(&world, "sessions BASKET");
    assert!(found.contains(FIRST) && !found.contains(SECOND) && found.ends_with("--- exit 0"), "{found}");
    assert_eq!(run(&world, "sessions zebra --json"), "--- exit 1");
    assert_snapshot!(run(&world, "sessions zebra"), @r"
    --- on standard error
    there are no such sessions in this folder; --all looks everywhere
    --- exit 1
    ");
    assert_snapshot!(run(&World::new(), "sessions"), @r"
    --- on standard error
    there are no sessions in this folder yet; --all looks everywhere
    --- exit 0
    ");
}

#[test]
fn session_is_deleted_only_if_somebody_says_so() {
    let world = two();
    assert_snapshot!(run(&world, "session delete 01a"), @r"
    --- on standard error
    error: nobody is here who could say whether 1 session is to be deleted
    hint: --yes says so
    --- exit 2
    ");
    let deleted = run(&world, "session delete 01a 01a --yes");
    assert!(deleted.contains("deleted agent/sessions/") && deleted.ends_with("--- exit 0"), "{deleted}");
    assert_eq!(deleted.matches("deleted").count(), 1, "{deleted}");
    let listed = run(&world, "sessions");
    assert!(!listed.contains(FIRST) && listed.contains(SECOND), "{listed}");
    assert!(run(&world, "session delete 01a --yes").ends_with("--- exit 2"));
    let deleted = run(&two(), "session delete 01a --yes --json");
    assert!(deleted.starts_with(r#"{"file":"#) && deleted.contains(r#""deleted":true}"#), "{deleted}");
    assert!(!deleted.contains("standard error") && deleted.ends_with("--- exit 0"), "{deleted}");
}

#[test]
fn page_can_go_to_standard_output() {
    let page = run(&two(), "export 01a -o -");
    assert!(page.starts_with("<!doctype html>") && page.contains("<em>basket</em>"), "{page}");
    assert!(run(&two(), "export 01a --md -o -").starts_with("# Where is the kumquat"));
}

#[test]
fn page_needs_nothing_else_and_is_not_written_over() {
    let world = two();
    assert_snapshot!(run(&world, "export 01a -o page.html"), @r"
    --- on standard error
    written to page.html as a page
    --- exit 0
    ");
    let page = world.read("page.html");
    assert!(page.starts_with("<!doctype html>") && page.contains("kumquat"), "{page}");
    for part in ["<script", "http://", "https://", "src=\"//", "@import", "url(", "<link"] {
        assert!(!page.contains(part), "{part}: {page}");
    }
    assert_snapshot!(run(&world, "export 01b -o page.html"), @r"
    --- on standard error
    error: page.html exists already
    hint: choose another name, or write over it with --force
    --- exit 2
    ");
    assert_eq!(world.read("page.html"), page);
    assert!(run(&world, "export 01b -o page.html --force").ends_with("--- exit 0"));
    assert!(world.read("page.html").contains("Explain this, please"));
}

#[test]
fn ending_of_a_file_decides_what_is_written() {
    let world = two();
    for name in ["a.md", "a.txt"] {
        assert!(run(&world, &format!("export 01a -o {name}")).contains(" as Markdown\n"));
        assert!(world.read(name).starts_with("# Where is the kumquat?\n"), "{}", world.read(name));
    }
    let printed = run(&world, "export 01a --md");
    assert!(
        printed.starts_with("# Where is the kumquat?\n") && printed.ends_with("In the *basket*.\n--- exit 0"),
        "{printed}"
    );
    assert!(run(&world, "export 01a").starts_with("<!doctype html>"));
}

#[test]
fn ending_that_promises_nothing_is_refused_with_those_that_do() {
    let world = two();
    for name in ["a.pdf", "a"] {
        let shown = run(&world, &format!("export 01a -o {name}"));
        assert!(shown.contains("hint: end the name with .html (a page), .md or .txt (Markdown), .json"), "{shown}");
        assert!(shown.ends_with("--- exit 2") && !world.path().join(name).exists(), "{shown}");
    }
    assert!(run(&world, "export 01a -o a.pdf --html").ends_with("--- exit 0"), "what is spelled out counts");
    assert!(run(&world, "export 01a -o a.jsonl").contains(" as a session file\n"));
    let [first, _] = <[_; 2]>::try_from(world.sessions()).expect("two sessions");
    assert_eq!(world.read("a.jsonl"), world.read(first));
}

#[cfg(unix)]
#[test]
#[expect(clippy::disallowed_methods, reason = "this test looks at what is left behind")]
fn file_that_is_written_over_is_replaced_as_a_whole() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
    let world = two().with("real.md", "before");
    let at = |name: &str| world.path().join(name);
    symlink("real.md", at("link.md")).expect("a link");
    std::fs::set_permissions(at("real.md"), std::fs::Permissions::from_mode(0o600)).expect("it is ours");
    let before = at("real.md").metadata().expect("a file");
    assert!(run(&world, "export 01a -o link.md --force").ends_with("--- exit 0"));
    let after = at("real.md").metadata().expect("a file");
    assert!(at("link.md").is_symlink() && world.read("real.md").starts_with("# Where is the kumquat?"));
    assert_ne!(before.ino(), after.ino(), "nobody ever sees half of it");
    assert_eq!(after.permissions().mode() & 0o777, 0o600);
    let left: Vec<_> =
        std::fs::read_dir(world.path()).expect("a folder").map(|it| it.expect("listed").file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().ends_with(".tmp")), "{left:?}");
}

#[test]
fn folder_of_sessions_is_named_in_what_is_said_about_it() {
    let world = two().with("file", "");
    assert_snapshot!(run(&world, "sessions --session-dir elsewhere"), @r"
    --- on standard error
    there are no sessions of this folder below elsewhere yet; --all lists those of others
    --- exit 0
    ");
    assert_snapshot!(run(&world, "sessions --all --session-dir file"), @r"
    --- on standard error
    error: cannot read the folder of sessions $WORLD/file: Not a directory (os error 20)
    hint: check the folder and who may read it; --session-dir names another, and sessionDir in settings.json too
    --- exit 2
    ");
}

#[test]
fn session_without_envelopes_says_so() {
    let world = two();
    assert_snapshot!(run(&world, "export 01a --envelope"), @r"
    --- on standard error
    error: no envelope is kept with this session
    hint: sessions that Pi made, and those of which nobody kept envelopes, have none
    --- exit 2
    ");
    assert_snapshot!(run(&world, "context 01a"), @r"
    --- on standard error
    error: no envelope is kept with this session
    hint: sessions that Pi made, and those of which nobody kept envelopes, have none
    --- exit 2
    ");
    assert_snapshot!(run(&World::new(), "context"), @r"
    --- on standard error
    error: there is no session in this folder yet
    hint: begin one with `pi -p`; `pi sessions --all` lists those of other folders
    --- exit 2
    ");
    assert_snapshot!(run(&world, "export 01"), @r#"
    --- on standard error
    error: 2 sessions begin with "01"
    hint: write more of the id:
      01b00000-0000  Explain this, please, and do not leave anything out
      01a00000-0000  Where is the kumquat?
    --- exit 2
    "#);
}

#[test]
fn envelope_of_every_request_is_valid() {
    let (world, _running) = led();
    let listed = run(&world, "export --envelope --list --json");
    let requests: Vec<Value> =
        listed.lines().filter_map(|line| serde_json::from_str(line).ok()).filter(Value::is_object).collect();
    assert_eq!(requests.len(), 2, "{listed}");
    for (index, request) in requests.iter().enumerate() {
        let (whole, name) = (request["request"].as_str().expect("an id"), format!("{index}.json"));
        let end = whole.rsplitn(3, '-').take(2).collect::<Vec<_>>();
        let written = run(&world, &format!("export --envelope --request {}-{} -o {name}", end[1], end[0]));
        assert!(written.ends_with("--- exit 0"), "{written}");
        assert!(run(&world, &format!("envelope validate {name}")).ends_with("--- exit 0"));
    }
    assert!(!world.read("0.json").contains("Again") && world.read("1.json").contains("Again"));
    assert!(run(&world, "export --envelope --all -o all.json").ends_with("--- exit 0"));
    let all: Vec<Value> = serde_json::from_str(&world.read("all.json")).expect("a list");
    let each = ["0.json", "1.json"].map(|name| serde_json::from_str::<Value>(&world.read(name)).expect("an envelope"));
    assert_eq!(all, each);
    assert!(run(&world, "envelope view all.json -o all.html").ends_with("--- exit 0"));
    let table = run(&world, "export --list");
    assert!(table.starts_with("REQUEST ") && table.lines().count() == 4, "{table}");
}

#[test]
fn context_fits_and_explains_its_bar() {
    let (world, _running) = led();
    for columns in [40, 60, 80, 120] {
        let plain = terminal::run(&world, "context", columns, &[("NO_COLOR", "1")]);
        let widest = plain.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(widest <= columns.into(), "{widest} of {columns}: {plain}");
        let bar = plain.lines().find(|line| line.starts_with("TT")).expect("a bar");
        assert_eq!(bar.chars().count(), usize::from(columns), "{plain}");
        assert!(columns < 120 || plain.contains("read · Read"), "name and description are apart: {plain}");
        for part in ["T tool_overview", "S system_prompt", "M memory", "X text"] {
            assert!(plain.contains(part), "{part}: {plain}");
        }
        let coloured = terminal::run(&world, "context", columns, &[]);
        assert!(!plain.contains('\u{1b}') && coloured.contains("\u{1b}[38;5;208m█"), "{coloured}");
        assert_eq!(terminal::without_colours(&coloured).lines().count(), plain.lines().count());
    }
}

#[test]
fn lists_fit_into_a_narrow_terminal() {
    let world = two();
    let narrow = |arguments| terminal::run(&world, arguments, 40, &[("NO_COLOR", "1")]);
    assert_snapshot!(narrow("sessions"), @r"
    ID             AGE  SAID FIRST
    01b00000-0000  0 s  Explain this, pleas…
    01a00000-0000  0 s  Where is the kumqua…
    ");
    let everywhere = narrow("sessions --all");
    assert!(everywhere.lines().all(|line| line.chars().count() <= 40), "{everywhere}");
}

#[test]
fn explanations_in_the_help_fit_into_a_narrow_terminal() {
    for arguments in ["--help", "help export", "help sessions"] {
        let shown = terminal::run(&World::new(), arguments, 40, &[("NO_COLOR", "1")]);
        // Names, and lines that are to be copied, stay whole and stand further left.
        let explained: Vec<&str> = shown.lines().filter(|line| line.starts_with("      ")).collect();
        assert!(explained.len() > 5, "{shown}");
        let too_long: Vec<&&str> = explained.iter().filter(|line| line.chars().count() > 40).collect();
        assert_eq!(too_long, Vec::<&&str>::new(), "{shown}");
    }
}

#[test]
fn terminal_shows_markdown_and_not_the_text_of_a_page() {
    let shown = terminal::run(&two(), "export 01a", 80, &[("NO_COLOR", "1")]);
    assert!(shown.starts_with("# Where is the kumquat?\n"), "{shown}");
}
