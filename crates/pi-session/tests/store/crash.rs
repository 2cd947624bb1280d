//! Processes that are killed, and disks that are really full.

#![expect(clippy::disallowed_methods, reason = "a process that can be killed must be started, and files be looked at")]

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Command, Stdio},
};

use pi_policy::Moment;
use pi_session::file::{self, OpenError, Pressure, Record, Recorder, Report};
use pi_transcript::Header;

use crate::files::said;

const NOW: Moment = Moment::from_unix_millis(1_794_787_200_000);
/// Names the file that the child writes; without it the child has nothing to do.
const FILE: &str = "PI_TEST_SESSION_FILE";

/// The child: writes entries without end, and says of each that is safe which one it is.
#[test]
fn child_that_writes() {
    let Some(path) = std::env::var_os(FILE) else { return };
    let path = Path::new(&path);
    let random = fastrand::Rng::new();
    let mut opened = match file::open(path, NOW, random.clone()) {
        Ok(opened) => opened,
        Err(OpenError::NotFound { .. } | OpenError::Unfinished { .. }) => {
            fs::write(path, "").unwrap();
            file::create(path, Header::new("s".into(), "2026-11-16T00:00:00.000Z", "/w"), random)
        }
        Err(error) => panic!("{error}"),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let _entered = runtime.enter();
    let mut recorder = Recorder::start(opened.log, |report| match report {
        Report::Synced { durable, then } => {
            durable.unwrap();
            let mut out = std::io::stdout();
            if writeln!(out, "safe {then}").and_then(|()| out.flush()).is_err() {
                // Nobody listens any more: the parent was ended before it could end us.
                std::process::exit(1);
            }
        }
        Report::Written { .. } => {}
        Report::Failed(fault) => panic!("{fault}"),
        Report::Recovered => {}
    });
    loop {
        let number = opened.tree.len();
        let appended = opened.tree.append(NOW, said(&format!("{number} {}", "x".repeat(number * 37 % 9_000))));
        let id = opened.tree.id(appended.place);
        let _ = recorder.record(Record { lines: vec![appended.line], then: id.clone() });
        if number % 3 == 0 {
            let _ = recorder.sync(id);
        }
        loop {
            match recorder.pressure() {
                Pressure::Free => break,
                Pressure::Full => std::thread::yield_now(),
                // Whoever listened is gone, and was killed itself: nobody would end this process.
                Pressure::Closed => return,
            }
        }
    }
}

#[test]
fn killed_process_loses_nothing_that_it_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    let mut random = fastrand::Rng::with_seed(11);
    let mut acknowledged: Vec<String> = Vec::new();
    let rounds = crate::deaths(5);
    for round in 0..rounds {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["crash::child_that_writes", "--exact", "--nocapture", "--test-threads=1"])
            .env(FILE, &path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let safe = lines.map_while(Result::ok).filter_map(|line| line.split_once("safe ").map(|(_, id)| id.to_owned()));
        acknowledged.extend(safe.take(random.usize(1..20)));
        child.kill().unwrap();
        child.wait().unwrap();
        // What was torn off is kept under the name of the moment.
        let moment = Moment::from_unix_millis(NOW.unix_millis() + 1 + round as u64);
        let opened = file::open(&path, moment, random.fork()).unwrap();
        let path_to_leaf = opened.tree.path(opened.tree.leaf());
        assert_eq!(path_to_leaf.len(), opened.tree.len(), "one line of entries, none missing in between");
        for id in &acknowledged {
            opened.tree.find(&id.as_str().into()).unwrap();
        }
    }
    assert!(acknowledged.len() >= rounds as usize);
}

#[cfg(target_os = "linux")]
#[test]
fn full_disk_is_survived() {
    let folder = tempfile::tempdir().unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=64k", "tmpfs"])
        .arg(folder.path())
        .stderr(Stdio::null())
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        eprintln!("SKIPPED: a disk that is really full needs the right to mount one");
        return;
    }
    let result = std::panic::catch_unwind(|| fill(folder.path()));
    assert!(Command::new("umount").arg(folder.path()).status().unwrap().success());
    result.unwrap();
}

#[cfg(target_os = "linux")]
fn fill(folder: &Path) {
    let path = folder.join("s.jsonl");
    let ballast = folder.join("ballast");
    fs::write(&ballast, vec![0; 32 << 10]).unwrap();
    let mut opened = file::create(&path, Header::new("s".into(), "t", "/w"), fastrand::Rng::with_seed(1));
    let mut faults = 0;
    for number in 0..20 {
        let line = opened.tree.append(NOW, said(&format!("{number} {}", "x".repeat(2000)))).line;
        opened.log.push(format!("{}\n", line.text).as_bytes());
        match opened.log.sync() {
            Ok(()) => assert_eq!(faults, 0, "it was full and is not any more"),
            Err(file::Fault::Full) => faults += 1,
            Err(fault) => panic!("{fault}"),
        }
    }
    assert!(faults > 0, "the disk was never full");
    fs::remove_file(&ballast).unwrap();
    opened.log.sync().unwrap();
    drop(opened);
    let again = file::open(&path, NOW, fastrand::Rng::with_seed(1)).unwrap();
    assert_eq!((again.tree.path(again.tree.leaf()).len(), again.notices.len()), (20, 0));
}
