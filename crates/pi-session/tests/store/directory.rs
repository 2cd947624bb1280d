//! The folder of sessions.

#![expect(clippy::disallowed_methods, reason = "tests make the files that the product then reads")]

use std::{fs, path::PathBuf};

use pi_envelope::Purpose;
use pi_policy::Moment;
use pi_session::{
    directory::{self, FindError, ForkPoint, KeepError, Project},
    file::{self, OpenError, Opened},
    sidecar::{self, Sidecar},
};

use crate::{
    files::said,
    notation,
    sidecars::{envelope, summary},
};

const NOW: Moment = Moment::from_unix_millis(1_794_787_200_123);

fn random() -> fastrand::Rng {
    fastrand::Rng::with_seed(9)
}

fn project() -> (tempfile::TempDir, Project) {
    let agent = tempfile::tempdir().unwrap();
    let project = Project::new(agent.path(), "/home/ada/my:project");
    (agent, project)
}

/// Puts a session of such lines into a project.
fn store(project: &Project, id: &str, time: &str, lines: &str) -> PathBuf {
    let header = format!(
        r#"{{"type":"session","version":3,"id":"{id}","timestamp":"2026-11-16T00:00:0{time}.000Z","cwd":"/home/ada/my:project"}}"#
    );
    let entries = notation::entries(lines);
    let lines: String = entries.iter().map(|entry| serde_json::to_string(entry).unwrap() + "\n").collect();
    fs::create_dir_all(project.folder()).unwrap();
    let path = project.folder().join(format!("2026-11-16T00-00-0{time}-000Z_{id}.jsonl"));
    fs::write(&path, format!("{header}\n{lines}")).unwrap();
    path
}

/// Appends what the user says, and syncs.
fn say(opened: &mut Opened, text: &str) {
    let line = opened.tree.append(NOW, said(text)).line;
    opened.log.push(format!("{}\n", line.text).as_bytes());
    opened.log.sync().unwrap();
}

fn ids(opened: &Opened) -> String {
    opened.tree.places().map(|place| opened.tree.id(place).0).collect::<Vec<_>>().join(" ")
}

#[test]
fn files_lie_where_pi_puts_them() {
    let (agent, project) = project();
    let mut opened = project.create(NOW, random());
    say(&mut opened, "hello");
    let id = opened.header.id.as_str();
    let expected = agent.path().join(format!("sessions/--home-ada-my-project--/2026-11-16T00-00-00-123Z_{id}.jsonl"));
    assert_eq!(opened.reader.path(), expected);
    assert!(expected.is_file());
    assert_eq!((id.len(), &id[..13], &id[14..15]), (36, "01a1e1a7-4c7b", "7"));
    assert_eq!(opened.header.timestamp, "2026-11-16T00:00:00.123Z");
}

#[test]
fn list_tells_what_matters_and_the_last_used_comes_first() {
    let (_agent, project) = project();
    let old = store(&project, "old", "1", "a - user first words\nb a assistant yes\nc b name a title\nd c user more");
    let empty = store(&project, "empty", "2", "m - model p m");
    fs::write(project.folder().join("notes.jsonl"), "{}\n").unwrap();
    fs::write(project.folder().join("half.jsonl"), "{\"type\":\"ses").unwrap();
    fs::write(project.folder().join("other.txt"), "").unwrap();
    let listed = directory::list(&project).unwrap();
    let told: Vec<_> = listed
        .iter()
        .map(|stored| {
            (stored.path.clone(), stored.name.as_deref(), stored.message_count, stored.first_message.as_str())
        })
        .collect();
    assert_eq!(told, [(empty, None, 0, ""), (old.clone(), Some("a title"), 3, "first words")]);
    assert_eq!((listed[0].modified, listed[1].modified), (1_794_787_202_000, 1));
    assert_eq!(
        (listed[1].cwd.as_str(), listed[1].created.as_str()),
        ("/home/ada/my:project", "2026-11-16T00:00:01.000Z")
    );
    assert_eq!(directory::list_all(&project).unwrap(), listed);
    assert_eq!(directory::search_text(&old).unwrap(), "first words yes more");
}

#[test]
fn folder_that_is_not_there_has_no_sessions() {
    let (_agent, project) = project();
    assert_eq!(directory::list_all(&project).unwrap(), directory::list(&project).unwrap());
    assert_eq!(project.most_recent().unwrap(), None);
}

#[test]
fn session_is_found_by_path_and_by_the_beginning_of_its_id() {
    let (agent, project) = project();
    let one = store(&project, "abc1", "1", "a - user hi");
    let two = store(&project, "abc2", "2", "a - user hi");
    let elsewhere = Project::new(agent.path(), "/other");
    let three = store(&elsewhere, "xyz", "3", "a - user hi");
    assert_eq!(project.find("abc1").unwrap(), one);
    assert_eq!(project.find("xy").unwrap(), three);
    assert_eq!(project.find(&two.display().to_string()).unwrap(), two);
    let Err(FindError::Ambiguous { paths, .. }) = project.find("abc") else { panic!("two begin so") };
    assert_eq!(paths, [one, two]);
    for word in ["nobody", "no/file.jsonl"] {
        assert!(matches!(project.find(word), Err(FindError::NotFound { .. })), "{word}");
    }
}

#[test]
fn last_written_session_is_continued() {
    let (_agent, project) = project();
    store(&project, "one", "1", "a - user hi");
    let two = store(&project, "two", "2", "a - user hi");
    let later = fs::metadata(&two).unwrap().modified().unwrap() + std::time::Duration::from_secs(5);
    fs::File::options().append(true).open(&two).unwrap().set_modified(later).unwrap();
    fs::write(project.folder().join("z.jsonl"), "no session").unwrap();
    fs::File::options()
        .append(true)
        .open(project.folder().join("z.jsonl"))
        .unwrap()
        .set_modified(later + std::time::Duration::from_secs(5))
        .unwrap();
    assert_eq!(project.most_recent().unwrap(), Some(two));
}

#[test]
fn fork_takes_its_path_its_labels_and_its_envelopes_along() {
    let (_agent, project) = project();
    let lines =
        "m - model p m\na m user one\nb a assistant two\nc b user three\nx b user other\ny x label a mark\nz y name n";
    let path = store(&project, "src", "1", lines);
    let mut envelopes = Sidecar::open(&path).unwrap();
    // What is asked beside the conversation stands at no entry of it. The last entry that is kept is of the time `written`.
    let written = 1_794_787_200_001;
    for (entry, made) in [
        ("a", envelope("r1", &["one", "r1"])),
        ("", summary("kept", written)),
        ("x", envelope("r2", &["one", "r2"])),
        ("", summary("elsewhere", written)),
        ("c", envelope("r3", &["one", "r3"])),
        ("", summary("before-the-end", written)),
        ("", summary("behind-the-end", written + 1)),
    ] {
        envelopes.record(&entry.into(), &made).unwrap();
    }
    envelopes.settle("r1", &pi_transcript::Usage { input: 7, ..Default::default() }, Some(3)).unwrap();
    let source = file::open(&path, NOW, random()).unwrap();
    let forked =
        directory::fork(&source.tree, &source.reader, &ForkPoint::At("c".into()), &project, NOW, random()).unwrap();
    let opened = forked.opened;
    let target = opened.reader.path().to_owned();
    assert!(ids(&opened).starts_with("m a b c "), "{}", ids(&opened));
    assert_eq!((opened.tree.len(), opened.tree.label_of(&"a".into()), opened.tree.name()), (5, Some("mark"), None));
    assert_eq!(opened.header.parent_session, Some(path.display().to_string()));
    assert_eq!(forked.text, None);
    drop(opened);
    let again = file::view(&target, random()).unwrap();
    assert_eq!((again.tree.len(), again.tree.label_of(&"a".into())), (5, Some("mark")));
    let copied: Vec<&str> = fs::read_to_string(&target).unwrap().leak().lines().skip(1).take(4).collect();
    let original: Vec<&str> = fs::read_to_string(&path).unwrap().leak().lines().skip(1).take(4).collect();
    assert_eq!(copied, original);
    let kept = Sidecar::open(&target).unwrap();
    let listed: Vec<_> = kept.list().iter().map(|listed| (listed.request.as_str(), listed.residual)).collect();
    assert_eq!(listed, [("r1", Some(3)), ("kept", None), ("r3", None), ("before-the-end", None)]);
    assert_eq!(kept.list()[1].purpose(), Purpose::Compaction);
    for request in ["r1", "kept", "r3"] {
        assert_eq!(kept.get(request).unwrap(), envelopes.get(request).unwrap());
    }
}

#[test]
fn fork_before_a_message_gives_its_text_back_and_waits_for_another() {
    let (_agent, project) = project();
    let path = store(&project, "src", "1", "m - model p m\na m user one\nb a assistant two\nc b user three");
    let source = file::open(&path, NOW, random()).unwrap();
    let before = |id: &str| {
        directory::fork(&source.tree, &source.reader, &ForkPoint::Before(id.into()), &project, NOW, random()).unwrap()
    };
    let later = before("c");
    assert_eq!((later.text.as_deref(), ids(&later.opened).as_str()), (Some("three"), "m a b"));
    drop(later);
    let mut first = directory::fork(
        &source.tree,
        &source.reader,
        &ForkPoint::Before("a".into()),
        &project,
        Moment::from_unix_millis(5),
        random(),
    )
    .unwrap();
    let target = first.opened.reader.path().to_owned();
    assert_eq!((first.text.as_deref(), ids(&first.opened).as_str(), target.exists()), (Some("one"), "m", false));
    say(&mut first.opened, "another");
    drop(first);
    assert_eq!(file::open(&target, NOW, random()).unwrap().tree.len(), 2);
    let none = directory::fork(&source.tree, &source.reader, &ForkPoint::At("q".into()), &project, NOW, random());
    assert_eq!(none.unwrap_err().to_string(), "there is no entry q");
}

#[test]
fn delete_wants_the_name_and_takes_everything_beside_along() {
    let (_agent, project) = project();
    let path = store(&project, "gone", "1", "a - user hi");
    let name = path.file_name().unwrap().to_str().unwrap();
    fs::write(sidecar::path_of(&path), "").unwrap();
    fs::write(format!("{}.torn-5", path.display()), "").unwrap();
    let other = store(&project, "stays", "2", "a - user hi");
    assert!(matches!(directory::delete(&path, "gone", NOW), Err(KeepError::OtherName { .. })));
    let held = file::open(&path, NOW, random()).unwrap();
    assert!(matches!(directory::delete(&path, name, NOW), Err(KeepError::Open(OpenError::InUse { .. }))));
    drop(held);
    directory::delete(&path, name, NOW).unwrap();
    let left: Vec<_> = fs::read_dir(project.folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(left, [other]);
    let foreign = project.folder().join("readme.jsonl");
    fs::write(&foreign, "text\n").unwrap();
    assert!(directory::delete(&foreign, "readme.jsonl", NOW).is_err() && foreign.exists());
}

#[test]
fn session_is_renamed_exported_and_brought_in() {
    let (agent, project) = project();
    let path = store(&project, "s", "1", "a - user hi\nb - user another root");
    directory::rename(&path, " new name ", NOW, random()).unwrap();
    assert_eq!(directory::list(&project).unwrap()[0].name.as_deref(), Some("new name"));
    let out = agent.path().join("out.jsonl");
    directory::export(&path, &out).unwrap();
    assert_eq!(fs::read(&out).unwrap(), fs::read(&path).unwrap());
    assert!(matches!(directory::export(&path, &out), Err(KeepError::Exists { .. })));
    let elsewhere = Project::new(agent.path(), "/other");
    let brought = directory::import(&out, &elsewhere).unwrap();
    assert_eq!(brought, elsewhere.folder().join("2026-11-16T00-00-01-000Z_s.jsonl"));
    assert_eq!(fs::read(&brought).unwrap(), fs::read(&out).unwrap());
    let hostile = agent.path().join("hostile.jsonl");
    fs::write(&hostile, r#"{"type":"session","version":3,"id":"../../x","timestamp":"t"}"#).unwrap();
    let brought = directory::import(&hostile, &elsewhere).unwrap();
    assert_eq!(brought.parent(), Some(&*elsewhere.folder()));
    fs::write(&hostile, "text").unwrap();
    assert!(directory::import(&hostile, &elsewhere).is_err());
}
