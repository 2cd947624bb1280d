//! Session files on a real disk.

#![expect(clippy::disallowed_methods, reason = "tests make the files that the product then reads")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use pi_policy::Moment;
use pi_session::{
    directory::{KeepError, delete_exactly, header_exactly},
    export::{self, ExportError},
    file::{self, Notice, OpenError, Opened, Record, Recorder, Report},
};
use pi_transcript::{Entry, Header, Message, entry::Base, entry::MessageEntry, json::Extra};

const NOW: Moment = Moment::from_unix_millis(1_794_787_200_000);

fn random() -> fastrand::Rng {
    fastrand::Rng::with_seed(5)
}

pub(crate) fn said(text: &str) -> impl FnOnce(Base) -> Entry {
    let message = Message::user(text, 1);
    |base| Entry::Message(Box::new(MessageEntry { base, message, extra: Extra::new() }))
}

fn open(path: &Path) -> Result<Opened, OpenError> {
    file::open(path, NOW, random())
}

fn folder_with(name: &str, bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    (folder, path)
}

/// A session as it stands in a file, from `id parent type` lines.
fn session(lines: &str) -> String {
    let header = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-11-16T00:00:00.000Z","cwd":"/w"}"#;
    let entries = crate::notation::entries(lines);
    let lines = entries.iter().map(|entry| serde_json::to_string(entry).unwrap() + "\n");
    format!("{header}\n{}", lines.collect::<String>())
}

fn ids(opened: &Opened) -> Vec<String> {
    opened.tree.places().map(|place| opened.tree.id(place).0).collect()
}

/// Appends what the user says, and waits until it is safe.
fn say(mut opened: Opened, text: &str) {
    let (tell, told) = std::sync::mpsc::channel();
    let appended = opened.tree.append(NOW, said(text));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let _entered = runtime.enter();
    let mut recorder = Recorder::start(opened.log, move |report| {
        if let Report::Synced { durable, then: () } = report {
            tell.send(durable).unwrap();
        }
    });
    let record = Record { lines: vec![appended.line], then: () };
    assert_eq!(recorder.record(record), file::Pressure::Free);
    assert_eq!(recorder.sync(()), file::Pressure::Free);
    told.recv().unwrap().unwrap();
    recorder.close();
}

#[test]
fn new_session_is_written_and_opens_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/deep/s.jsonl");
    let created = file::create(&path, Header::new("s".into(), "2026-11-16T00:00:00.000Z", "/w"), random());
    assert!(!path.exists(), "nothing was said yet");
    say(created, "hello");
    let opened = open(&path).unwrap();
    let place = opened.tree.leaf().unwrap();
    let stored = opened.reader.entry(opened.tree.span(place).unwrap()).unwrap();
    assert_eq!(opened.tree.held(place).unwrap().to_entry(), stored);
    assert_eq!((opened.tree.len(), &opened.notices[..], opened.header.id.as_str()), (1, &[][..], "s"));
    say(opened, "again");
    let opened = open(&path).unwrap();
    assert_eq!(opened.tree.path(opened.tree.leaf()).len(), 2);
}

#[cfg(unix)]
#[test]
fn files_and_folders_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/s.jsonl");
    say(file::create(&path, Header::new("s".into(), "t", "/w"), random()), "hello");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
}

#[test]
fn second_writer_is_refused_by_name_and_readers_are_not() {
    let (_folder, path) = folder_with("s.jsonl", session("a - user hi").as_bytes());
    let first = open(&path).unwrap();
    let error = open(&path).unwrap_err();
    let OpenError::InUse { holder, .. } = &error else { panic!("{error}") };
    if cfg!(target_os = "linux") {
        assert_eq!(holder.unwrap().process, std::process::id());
        assert!(error.to_string().ends_with(&format!("(process {})", std::process::id())), "{error}");
    }
    assert_eq!(file::view(&path, random()).unwrap().tree.len(), 1);
    drop(first);
    open(&path).unwrap();
}

#[test]
fn torn_end_is_cut_off_and_kept_beside() {
    let whole = session("a - user hi\nb a assistant yes");
    let torn = format!("{whole}{{\"type\":\"mess");
    let (_folder, path) = folder_with("s.jsonl", torn.as_bytes());
    let viewed = file::view(&path, random()).unwrap();
    assert_eq!(viewed.notices, [Notice::Torn { bytes: 13 }]);
    assert_eq!(fs::read_to_string(&path).unwrap(), torn, "who looks changes nothing");
    let opened = open(&path).unwrap();
    let kept = PathBuf::from(format!("{}.torn-1794787200000", path.display()));
    assert_eq!(opened.notices, [Notice::Trimmed { bytes: 13, kept: kept.clone() }]);
    assert_eq!(ids(&opened), ["a", "b"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), whole);
    assert_eq!(fs::read_to_string(kept).unwrap(), "{\"type\":\"mess");
}

/// Whatever a crash leaves of a file: it opens with the whole lines, or was never finished.
#[test]
fn torn_end_that_cannot_be_kept_stays_and_the_session_goes_on_in_memory() {
    let whole = session("a - user hi\nb a assistant yes");
    let torn = format!("{whole}{{\"type\":\"mess");
    let (_folder, path) = folder_with("s.jsonl", torn.as_bytes());
    let kept = path.with_file_name(format!("s.jsonl.torn-{}", NOW.unix_millis()));
    fs::create_dir(&kept).unwrap();
    assert!(matches!(open(&path), Err(OpenError::Io { .. })));

    let mut opened = file::go_on(&path, NOW, random()).unwrap();
    assert_eq!(ids(&opened), ["a", "b"]);
    let why = "the disk failed".to_owned();
    assert_eq!(opened.notices, [Notice::Torn { bytes: 13 }, Notice::Unwritable { why }]);
    let line = opened.tree.append(NOW, said("more")).line.text + "\n";
    opened.log.push(line.as_bytes());
    assert!(opened.log.sync().is_err() && opened.log.sync().is_err());
    assert_eq!(fs::read_to_string(&path).unwrap(), torn, "nothing is written over");

    // As soon as there is a place for the torn end, everything is written.
    fs::remove_dir(&kept).unwrap();
    opened.log.sync().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), format!("{whole}{line}"));
    assert_eq!(fs::read_to_string(&kept).unwrap(), "{\"type\":\"mess");
}

#[test]
fn what_somebody_else_wrote_is_never_cut_off() {
    let (_folder, path) = folder_with("s.jsonl", session("a - user hi").as_bytes());
    let mut opened = open(&path).unwrap();
    let foreign = session("a - user hi\nx a user mine");
    fs::write(&path, &foreign).unwrap();
    for text in ["one", "two", "three"] {
        let line = opened.tree.append(NOW, said(text)).line.text + "\n";
        opened.log.push(line.as_bytes());
        assert!(opened.log.sync().is_err());
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), foreign);
}

#[test]
fn file_cut_at_any_byte_opens() {
    let whole = session("a - user hé\nb a assistant yes");
    let header = whole.find('\n').unwrap();
    for cut in 0..=whole.len() {
        let bytes = &whole.as_bytes()[..cut];
        match file::scan(bytes, random()) {
            Ok(scanned) => {
                let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
                let unterminated = usize::from(scanned.tail == file::Tail::Unterminated);
                assert_eq!(scanned.tree.len(), lines + unterminated - 1, "cut at {cut}");
            }
            Err(file::ScanError::Unfinished) => assert!(cut < header, "cut at {cut}"),
            Err(error) => panic!("cut at {cut}: {error}"),
        }
    }
}

#[test]
fn last_line_without_a_line_end_counts_and_gets_one() {
    let text = session("a - user hi\nb a assistant yes");
    let (_folder, path) = folder_with("s.jsonl", text.trim_end().as_bytes());
    let opened = open(&path).unwrap();
    assert_eq!((ids(&opened), opened.notices.len()), (vec!["a".to_owned(), "b".to_owned()], 0));
    say(opened, "more");
    assert!(fs::read_to_string(&path).unwrap().starts_with(&text));
    assert_eq!(open(&path).unwrap().tree.len(), 3);
}

#[test]
fn broken_and_foreign_lines_stay_where_they_are() {
    let mut text = session("a - user hi");
    text.push_str("not json\n\n{\"type\":\"note\"}\n[1]\n");
    text.push_str(
        "{\"type\":\"new_thing\",\"id\":\"b\",\"parentId\":\"a\",\"timestamp\":\"t\",\"x\":1e400,\"y\":\"\\ud800\"}\n",
    );
    let (_folder, path) = folder_with("s.jsonl", text.as_bytes());
    let opened = open(&path).unwrap();
    assert_eq!(
        (ids(&opened), &opened.notices[..]),
        (vec!["a".to_owned(), "b".to_owned()], &[Notice::Unreadable { lines: 1 }][..])
    );
    say(opened, "more");
    assert!(fs::read_to_string(&path).unwrap().starts_with(&text));
}

#[test]
fn entries_that_a_glance_does_not_understand_are_read_whole() {
    let mut text = session("a - user hi");
    text.push_str("{\"type\":\"custom\",\"id\":\"b\",\"parentId\":\"a\",\"timestamp\":\"t\",\"customType\":\"c\",\"name\":{},\"label\":3}\n");
    text.push_str("{\"type\":\"label\",\"id\":\"c\",\"parentId\":\"b\",\"timestamp\":\"t\",\"targetId\":\"a\",\"label\":\"x\",\"name\":[]}\n");
    text.push_str(
        "{\"id\":\"z\",\"type\":\"custom\",\"id\":\"d\",\"parentId\":\"c\",\"timestamp\":\"t\",\"customType\":\"c\"}\n",
    );
    let scanned = file::scan(text.as_bytes(), random()).unwrap();
    let tree = scanned.tree;
    assert_eq!(tree.path(tree.leaf()).into_iter().map(|place| tree.id(place).0).collect::<String>(), "abcd");
    assert_eq!((tree.label_of(&"a".into()), tree.name()), (Some("x"), None));
}

#[test]
fn what_is_no_session_is_refused_and_not_touched() {
    for (bytes, expected) in [
        (&b"# a readme\n"[..], "is no session"),
        (b"{\"type\":\"message\"}\n", "is no session"),
        (b"{\"name\":\"package\"}", "is no session"),
        (b"", "was begun and never written"),
        (b"{\"type\":\"sess", "was begun and never written"),
        (b"\0\0\0\0", "was begun and never written"),
        (b"some text", "is no session"),
    ] {
        let (_folder, path) = folder_with("x.jsonl", bytes);
        let error = open(&path).unwrap_err().to_string();
        assert!(error.ends_with(expected), "{error}");
        assert_eq!(fs::read(&path).unwrap(), bytes);
        let mut log = file::create(&path, Header::new("s".into(), "t", "/w"), random()).log;
        assert_eq!(log.flush().is_ok(), bytes.is_empty(), "only an empty file is written over");
    }
    assert!(matches!(open(Path::new("/nowhere/s.jsonl")), Err(OpenError::NotFound { .. })));
}

#[test]
fn old_versions_are_rewritten_and_kept() {
    let old = "{\"type\":\"session\",\"id\":\"s\",\"timestamp\":\"t\",\"cwd\":\"/w\"}\n\
               {\"type\":\"message\",\"timestamp\":\"t\",\"message\":{\"role\":\"user\",\"content\":\"hi\",\"timestamp\":1}}\n\
               broken\n\
               {\"type\":\"message\",\"timestamp\":\"t\",\"message\":{\"role\":\"hookMessage\",\"customType\":\"c\",\"content\":\"x\",\"display\":true,\"timestamp\":1}}\n";
    let (_folder, path) = folder_with("s.jsonl", old.as_bytes());
    assert_eq!(file::view(&path, random()).unwrap().tree.entries().len(), 2);
    assert_eq!(fs::read_to_string(&path).unwrap(), old, "who looks changes nothing");
    let opened = open(&path).unwrap();
    let kept = PathBuf::from(format!("{}.v1", path.display()));
    assert_eq!(opened.notices[0], Notice::Migrated { version: 1, kept: kept.clone() });
    assert_eq!(fs::read_to_string(kept).unwrap(), old);
    let roles: Vec<_> = opened.tree.entries().iter().map(|kept| kept.to_entry().kind().to_owned()).collect();
    assert_eq!((roles, opened.header.version), (vec!["message".to_owned(); 2], Some(3)));
    assert_eq!(fs::read_to_string(&path).unwrap().lines().nth(2), Some("broken"));
    say(opened, "more");
    let opened = open(&path).unwrap();
    assert_eq!(opened.tree.path(opened.tree.leaf()).len(), 3);
    assert_eq!(opened.notices, [Notice::Unreadable { lines: 1 }]);
}

#[test]
fn deleted_folder_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/s.jsonl");
    let mut log = file::create(&path, Header::new("s".into(), "t", "/w"), random()).log;
    log.sync().unwrap();
    fs::remove_dir_all(path.parent().unwrap()).unwrap();
    log.push(b"more\n");
    assert!(matches!(log.sync(), Err(file::Fault::Deleted)));
}

/// A folder that cannot be written to: root may write anywhere, so the place of the folder is taken by a file.
#[test]
fn folder_that_cannot_be_made_is_a_fault_until_it_can() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("sessions");
    fs::write(&place, "").unwrap();
    let mut log = file::create(&place.join("s.jsonl"), Header::new("s".into(), "t", "/w"), random()).log;
    assert!(log.flush().is_err());
    fs::remove_file(&place).unwrap();
    log.sync().unwrap();
    assert_eq!(fs::read_to_string(place.join("s.jsonl")).unwrap().lines().count(), 1);
}

#[cfg(unix)]
#[test]
fn checked_path_that_leads_elsewhere_by_now_is_refused_and_nothing_is_touched() {
    let old = r#"{"type":"session","id":"s","timestamp":"2026-11-16T00:00:00.000Z","cwd":"/w"}"#.to_owned() + "\n";
    let torn = session("a - user hi") + "{\"type\":\"mess";
    for content in [old, torn] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (checked, outside) = (root.join("checked"), root.join("outside"));
        for place in [&checked, &outside] {
            fs::create_dir(place).unwrap();
            fs::write(place.join("s.jsonl"), &content).unwrap();
        }
        let path = checked.join("s.jsonl");
        // A folder on the way.
        fs::rename(&checked, root.join("away")).unwrap();
        std::os::unix::fs::symlink(&outside, &checked).unwrap();
        let refused = |path: &Path| {
            let opened = file::go_on_exactly(path, NOW, random());
            assert!(matches!(opened, Err(OpenError::Elsewhere { .. })), "{opened:?}");
            let deleted = delete_exactly(path, "s.jsonl", NOW);
            assert!(matches!(deleted, Err(KeepError::Open(OpenError::Elsewhere { .. }))), "{deleted:?}");
            let read = [
                header_exactly(path).err(),
                file::view_exactly(path, random()).err(),
                export::read_exactly(path).err().map(|error| match error {
                    ExportError::Open(error) => error,
                    other => panic!("{other}"),
                }),
            ];
            assert!(read.iter().all(|error| matches!(error, Some(OpenError::Elsewhere { .. }))), "{read:?}");
        };
        refused(&path);
        // The file itself.
        fs::remove_file(&checked).unwrap();
        fs::create_dir(&checked).unwrap();
        std::os::unix::fs::symlink(outside.join("s.jsonl"), &path).unwrap();
        refused(&path);
        let left: Vec<_> = fs::read_dir(&outside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["s.jsonl"], "nothing lies beside it");
        assert_eq!(fs::read_to_string(outside.join("s.jsonl")).unwrap(), content);
        // The same file at its own place is opened, told by its name, and goes away.
        let path = outside.join("s.jsonl");
        assert!(header_exactly(&path).unwrap().is_some_and(|header| header.id.as_str() == "s"));
        file::view_exactly(&path, random()).unwrap();
        export::read_exactly(&path).unwrap();
        let opened = file::go_on_exactly(&path, NOW, random()).unwrap();
        let kept = match &opened.notices[..] {
            [Notice::Migrated { kept, .. } | Notice::Trimmed { kept, .. }] => kept.clone(),
            other => panic!("{other:?}"),
        };
        assert!(kept.starts_with(&outside) && kept.exists(), "{kept:?}");
        drop(opened);
        delete_exactly(&path, "s.jsonl", NOW).unwrap();
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    }
}

#[cfg(unix)]
#[test]
fn link_in_the_place_of_a_file_beside_a_session_is_not_followed() {
    for word in ["results", "queue"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.jsonl");
        fs::write(&path, session("a - user hi")).unwrap();
        fs::write(folder.path().join("secret"), "[]").unwrap();
        std::os::unix::fs::symlink("secret", folder.path().join(format!("s.jsonl.{word}"))).unwrap();
        let opened = file::open(&path, NOW, random()).map(drop);
        assert!(matches!(opened, Err(OpenError::Elsewhere { .. })), "{word}: {opened:?}");
    }
}
