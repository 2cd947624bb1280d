//! The cache of bytecode, and what it does with entries that somebody touched.

use std::{
    fs,
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime},
};

use pi_extc::{Cache, CacheFault, Health, Module};

use super::house::{House, name};

fn module(source: &str) -> Module {
    Module { name: "pi:test".to_owned(), source: Arc::from(source) }
}

/// The files of the entries in the cache.
fn files(house: &House) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for shelf in fs::read_dir(house.cache_folder().join("entries")).expect("entries") {
        found.extend(
            fs::read_dir(shelf.expect("a shelf").path()).expect("a shelf").map(|it| it.expect("a file").path()),
        );
    }
    found.sort();
    found
}

#[test]
fn bytecode_is_compiled_once_and_read_back() {
    let house = House::new(&[]);
    let first = house.cache().bytecode(&module("import x from 'elsewhere'; export default x")).expect("bytecode");
    let written = fs::metadata(&files(&house)[0]).and_then(|it| it.modified()).expect("a time");
    let again = house.cache().bytecode(&module("import x from 'elsewhere'; export default x")).expect("bytecode");
    assert_eq!(first.as_bytes(), again.as_bytes());
    assert_eq!(fs::metadata(&files(&house)[0]).and_then(|it| it.modified()).expect("a time"), written);
    house.cache().bytecode(&module("export default 2")).expect("bytecode");
    assert_eq!(files(&house).len(), 2);
    let fault = house.cache().bytecode(&module("export default (")).expect_err("no program");
    assert!(matches!(fault, CacheFault::Syntax { .. }), "{fault}");
}

#[test]
fn modules_that_are_used_together_are_one_entry() {
    let house = House::new(&[]);
    let modules = ["export default 1", "export default 'two'"].map(module);
    let taken = || {
        let all = house.cache().bytecodes("both", &modules).expect("bytecode");
        all.iter().map(|it| it.as_bytes().to_vec()).collect::<Vec<_>>()
    };
    let alone = House::new(&[]);
    let expected = modules.each_ref().map(|it| alone.cache().bytecode(it).expect("bytecode").as_bytes().to_vec());
    assert_eq!(taken(), expected);
    let file = files(&house).remove(0);
    let bytes = fs::read(&file).expect("an entry");
    assert_eq!((taken().as_slice(), files(&house).len()), (expected.as_slice(), 1));
    let mut changed = bytes.clone();
    *changed.last_mut().expect("bytes") ^= 1;
    fs::write(&file, &changed).expect("an attack");
    assert_eq!(taken(), expected);
    assert_eq!(fs::read(&file).expect("an entry"), bytes, "it was made anew");
    // One of them alone is another entry, and so are the same in another order.
    house.cache().bytecode(&modules[0]).expect("bytecode");
    house.cache().bytecodes("one", &modules[..1]).expect("bytecode");
    let turned = [modules[1].clone(), modules[0].clone()];
    house.cache().bytecodes("turned", &turned).expect("bytecode");
    assert_eq!(files(&house).len(), 4);
}

#[test]
fn entry_that_was_changed_in_any_byte_is_removed_and_made_anew() {
    let house = House::new(&[]);
    let cache = house.cache();
    let good = cache.bytecode(&module("export default 1")).expect("bytecode");
    let file = files(&house).remove(0);
    let bytes = fs::read(&file).expect("an entry");
    for at in (0..bytes.len()).step_by(3) {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        fs::write(&file, &changed).expect("an attack");
        assert_eq!(cache.list().expect("a list")[0].health, Health::Broken, "byte {at}");
        assert_eq!(cache.bytecode(&module("export default 1")).expect("bytecode").as_bytes(), good.as_bytes());
        assert_eq!(fs::read(&file).expect("an entry"), bytes, "byte {at}: it was made anew");
    }
    for length in [0, 1, 16, 47, 48, 60, bytes.len() - 1] {
        fs::write(&file, &bytes[..length]).expect("an attack");
        assert_eq!(cache.bytecode(&module("export default 1")).expect("bytecode").as_bytes(), good.as_bytes());
        assert_eq!(fs::read(&file).expect("an entry"), bytes, "cut at {length}");
    }
}

#[test]
fn entry_of_another_machine_or_under_another_name_is_not_used() {
    let (house, stranger) = (House::new(&[]), House::new(&[]));
    let (cache, other) = (house.cache(), stranger.cache());
    let good = cache.bytecode(&module("export default 1")).expect("bytecode");
    other.bytecode(&module("export default 1")).expect("bytecode");
    let (file, foreign) = (files(&house).remove(0), files(&stranger).remove(0));
    let own = fs::read(&file).expect("an entry");
    assert_eq!(name(&file), name(&foreign), "they are named by what they are made from");
    fs::copy(&foreign, &file).expect("an attack");
    assert_eq!(cache.bytecode(&module("export default 1")).expect("bytecode").as_bytes(), good.as_bytes());
    assert_eq!(fs::read(&file).expect("an entry"), own);
    // A sound entry of this machine in the place of another one.
    cache.bytecode(&module("export default 'evil'")).expect("bytecode");
    let evil = files(&house).into_iter().find(|it| *it != file).expect("the other one");
    fs::copy(&evil, &file).expect("an attack");
    assert_eq!(cache.bytecode(&module("export default 1")).expect("bytecode").as_bytes(), good.as_bytes());
}

#[test]
fn whoever_only_looks_makes_nothing() {
    let house = House::new(&[]);
    let folder = house.cache_folder();
    let cache = Cache::open(&folder).expect("there is no key yet");
    assert_eq!(cache.list().expect("a list").len(), 0);
    assert!(!folder.exists());
    cache.bytecode(&module("export default 1")).expect("bytecode");
    assert!(folder.join("machine.key").exists());
    assert_eq!(cache.list().expect("a list").len(), 1);
    // What was sealed with a key that is gone is not believed, and nobody makes another to look at it.
    fs::remove_file(folder.join("machine.key")).expect("a loss");
    let list = Cache::open(&folder).expect("there is no key").list().expect("a list");
    assert!(list.len() == 1 && list[0].health != Health::Sound, "{list:?}");
    assert!(!folder.join("machine.key").exists());
}

#[test]
fn key_is_made_once_and_only_its_owner_reads_it() {
    let house = House::new(&[]);
    let folder = house.cache_folder();
    let sealed: Vec<Vec<u8>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| Cache::open(&folder).and_then(|it| it.bytecode(&module("export default 1")))))
            .collect();
        workers.into_iter().map(|it| it.join().expect("it ends").expect("bytecode").as_bytes().to_vec()).collect()
    });
    assert!(sealed.windows(2).all(|pair| pair[0] == pair[1]));
    assert!(house.cache().list().expect("a list").iter().all(|it| it.health == Health::Sound));
    let key = folder.join("machine.key");
    assert_eq!(fs::read(&key).expect("a key").len(), 32);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(fs::metadata(&key).expect("a key").permissions().mode() & 0o777, 0o600);
    }
    fs::write(&key, "short").expect("an attack");
    assert!(matches!(Cache::open(&folder), Err(CacheFault::BadKey { .. })));
}

#[test]
fn pruning_removes_what_is_broken_or_old() {
    let house = House::new(&[]);
    let cache = house.cache();
    for source in ["export default 1", "export default 2", "export default 3"] {
        cache.bytecode(&module(source)).expect("bytecode");
    }
    fs::write(&files(&house)[0], "nonsense").expect("an attack");
    let now = SystemTime::now();
    assert_eq!(cache.prune(None, now).expect("pruned").entries, 1);
    assert_eq!(cache.prune(Some(Duration::from_secs(3600)), now).expect("pruned").entries, 0);
    assert_eq!(
        cache.prune(Some(Duration::from_secs(3600)), now + Duration::from_secs(7200)).expect("pruned").entries,
        2
    );
    assert_eq!(cache.list().expect("a list").len(), 0);
}
