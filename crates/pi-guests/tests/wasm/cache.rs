//! Machine code that was kept: only what this machine sealed for this engine is believed.

use std::{fs, path::PathBuf};

use pi_extc::{COMPONENT_ENGINE, Cache, Health, Kind};
use pi_extproto::artifact::Digest;
use pi_guests::wasm::{Code, Piece};

use crate::house::{COMPONENT, MACHINE};

struct Shelf {
    folder: tempfile::TempDir,
    cache: Cache,
}

impl Shelf {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::open(folder.path()).expect("a cache");
        Self { folder, cache }
    }

    fn prepare(&self) {
        Code::prepare(&MACHINE, Piece::bare("reference", &COMPONENT), Some(&self.cache)).expect("code");
    }

    /// The one entry.
    fn entry(&self) -> PathBuf {
        let shelves = fs::read_dir(self.folder.path().join("entries")).expect("entries");
        let mut files = shelves.flat_map(|shelf| fs::read_dir(shelf.expect("a shelf").path()).expect("files"));
        files.next().expect("an entry").expect("an entry").path()
    }

    fn health(&self) -> Vec<(Option<Kind>, Health)> {
        self.cache.list().expect("entries").iter().map(|entry| (entry.kind, entry.health)).collect()
    }
}

#[test]
fn machine_code_is_kept_and_used_again() {
    let shelf = Shelf::new();
    shelf.prepare();
    assert_eq!(shelf.health(), [(Some(Kind::MachineCode), Health::Sound)]);
    let (path, written) = (shelf.entry(), fs::read(shelf.entry()).expect("bytes"));
    let before = fs::metadata(&path).and_then(|it| it.modified()).expect("a time");
    shelf.prepare();
    assert_eq!(fs::read(&path).expect("bytes"), written);
    assert_eq!(fs::metadata(&path).and_then(|it| it.modified()).expect("a time"), before, "it was not written again");
}

#[test]
fn entry_that_was_changed_cut_or_forged_is_made_anew() {
    let shelf = Shelf::new();
    shelf.prepare();
    let (path, sound) = (shelf.entry(), fs::read(shelf.entry()).expect("bytes"));
    let mut changed = sound.clone();
    *changed.last_mut().expect("bytes") ^= 1;
    let mut forged = sound.clone();
    forged[20] ^= 1;
    for bad in [changed, sound[..sound.len() / 2].to_vec(), forged, b"machine code".to_vec(), Vec::new()] {
        fs::write(&path, &bad).expect("a write");
        assert_eq!(shelf.health()[0].1, Health::Broken);
        shelf.prepare();
        assert_eq!(shelf.health(), [(Some(Kind::MachineCode), Health::Sound)]);
        assert_eq!(fs::read(&path).expect("bytes").len(), sound.len());
    }
}

#[test]
fn entry_of_another_machine_is_not_believed() {
    let (ours, theirs) = (Shelf::new(), Shelf::new());
    ours.prepare();
    theirs.prepare();
    fs::copy(theirs.entry(), ours.entry()).expect("a copy");
    assert_eq!(ours.health()[0].1, Health::Broken);
}

#[test]
fn entry_for_another_engine_or_component_is_not_found() {
    let shelf = Shelf::new();
    let (component, another) = (Digest::of(b"component"), Digest::of(b"another"));
    shelf.cache.keep_machine_code(&component, "an older engine", "old", b"code").expect("it is kept");
    assert!(shelf.cache.machine_code(&component, "an older engine").is_some());
    assert!(shelf.cache.machine_code(&component, "this engine").is_none());
    assert!(shelf.cache.machine_code(&another, "an older engine").is_none());
}

#[test]
fn sealed_nonsense_is_refused_by_the_engine_and_compiled_anew() {
    let shelf = Shelf::new();
    shelf.prepare();
    let identity = MACHINE.identity();
    let hash = Digest::of(&COMPONENT);
    shelf.cache.keep_machine_code(&hash, identity, "stale", b"not what the engine wrote").expect("it is kept");
    shelf.prepare();
    let kept = shelf.cache.machine_code(&hash, identity).expect("code");
    assert!(kept.bytes().expect("bytes").len() > 1000);
}

/// What was checked is what runs: nobody can write to it, the file that it came from may become what it wants.
#[cfg(target_os = "linux")]
#[test]
fn code_that_was_checked_does_not_change_with_its_entry() {
    use std::io::Write as _;

    let shelf = Shelf::new();
    shelf.prepare();
    let kept = shelf.cache.machine_code(&Digest::of(&COMPONENT), MACHINE.identity()).expect("code");
    let (place, sound) = (kept.place().expect("a place to map it from"), kept.bytes().expect("bytes"));
    assert_eq!(fs::read(&place).expect("bytes"), *sound);
    fs::write(shelf.entry(), vec![0; fs::read(shelf.entry()).expect("bytes").len()]).expect("an attack");
    assert_eq!(fs::read(&place).expect("bytes"), *sound);
    let written = fs::OpenOptions::new().write(true).open(&place).and_then(|mut file| file.write_all(b"changed"));
    assert_eq!(written.expect_err("it is sealed").kind(), std::io::ErrorKind::PermissionDenied);
    let cut = fs::OpenOptions::new().write(true).open(&place).and_then(|file| file.set_len(1));
    assert_eq!(cut.expect_err("it is sealed").kind(), std::io::ErrorKind::PermissionDenied);
    assert_eq!(fs::read(&place).expect("bytes"), *sound);
}

#[test]
fn machine_code_has_no_tables_that_nobody_reads() {
    let shelf = Shelf::new();
    shelf.prepare();
    let entry = fs::read(shelf.entry()).expect("bytes");
    let has = |name: &str| entry.windows(name.len()).any(|it| it == name.as_bytes());
    assert!(has(".text"), "sections are known by their names");
    let unread = [".wasmtime.addrmap", ".eh_frame", "::function["];
    assert_eq!(unread.into_iter().filter(|name| has(name)).collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn name_of_the_engine_is_that_of_the_release() {
    let lock = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock")).expect("a lock file");
    let (_, rest) = lock.split_once("name = \"wasmtime\"\nversion = \"").expect("the engine");
    let version = rest.split('"').next().expect("a version");
    assert_eq!(COMPONENT_ENGINE, format!("wasmtime {version}"));
}
