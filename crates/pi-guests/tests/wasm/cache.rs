//! Machine code that was kept: only what this machine sealed for this engine is believed.

use std::{fs, path::PathBuf};

use pi_extc::{COMPONENT_ENGINE, Cache, Health, Kind};
use pi_guests::wasm::Code;

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
        Code::prepare(&MACHINE, &COMPONENT, "reference", Some(&self.cache)).expect("code");
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
    shelf.cache.keep_machine_code(b"component", "an older engine", "old", b"code").expect("it is kept");
    assert!(shelf.cache.machine_code(b"component", "an older engine").is_some());
    assert!(shelf.cache.machine_code(b"component", "this engine").is_none());
    assert!(shelf.cache.machine_code(b"another", "an older engine").is_none());
}

#[test]
fn sealed_nonsense_is_refused_by_the_engine_and_compiled_anew() {
    let shelf = Shelf::new();
    shelf.prepare();
    let identity = MACHINE.identity();
    shelf.cache.keep_machine_code(&COMPONENT, identity, "stale", b"not what the engine wrote").expect("it is kept");
    shelf.prepare();
    let kept = shelf.cache.machine_code(&COMPONENT, identity).expect("code");
    assert!(kept.as_bytes().len() > 1000);
}

#[test]
fn name_of_the_engine_is_that_of_the_release() {
    let lock = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock")).expect("a lock file");
    let (_, rest) = lock.split_once("name = \"wasmtime\"\nversion = \"").expect("the engine");
    let version = rest.split('"').next().expect("a version");
    assert_eq!(COMPONENT_ENGINE, format!("wasmtime {version}"));
}
