//! Building at first load, and again when sources change.

use pi_extc::{BuildFault, Compilers, Loaded, Origin, Workshop, load, sources, write_container};
use pi_extproto::artifact::Digest;

use super::house::{House, said};

async fn loaded(house: &House) -> Loaded {
    load(&house.root(), &house.workshop(), &house.cache()).await.expect("it is built").remove(0)
}

#[tokio::test]
async fn sources_are_built_once_and_again_when_they_change() {
    let house = House::new(&[
        ("index.ts", "import { a } from './a'; import gone from 'gone'; export default pi => pi.say(a, gone)"),
        ("a.ts", "export const a = 1"),
        ("package.json", r#"{"name":"x","version":"1.0.0","main":"index.ts"}"#),
    ]);
    let first = loaded(&house).await;
    assert_eq!(first.origin, Origin::Built);
    let second = loaded(&house).await;
    assert_eq!((second.origin, second.artifact.hash()), (Origin::Cached, first.artifact.hash()));
    assert_eq!(second.artifact.descriptor, first.artifact.descriptor);
    assert!(!second.is_stale());
    house.write("a.ts", "export const a = 2");
    assert!(second.is_stale() && first.is_stale());
    let third = loaded(&house).await;
    assert_eq!(third.origin, Origin::Built);
    // Written anew with the same words: touched, not changed.
    house.write("a.ts", "export const a = 2");
    assert!(!third.is_stale());
    assert_eq!(loaded(&house).await.origin, Origin::Cached);
    // What was missing is there now.
    house.write("node_modules/gone/package.json", r#"{"name":"gone","main":"i.js"}"#);
    house.write("node_modules/gone/i.js", "module.exports = 'found'");
    assert!(third.is_stale());
    let fourth = loaded(&house).await;
    assert_eq!((fourth.origin, said(fourth.artifact.bundle()).as_str()), (Origin::Built, "2 found"));
    house.write("package.json", r#"{"name":"x","version":"2.0.0","main":"index.ts"}"#);
    assert!(fourth.is_stale());
    assert_eq!(loaded(&house).await.artifact.descriptor.version, "2.0.0");
    std::fs::remove_file(house.path("a.ts")).expect("removed");
    assert!(fourth.is_stale());
}

#[tokio::test]
async fn built_extension_that_was_changed_in_the_cache_is_built_anew() {
    let house = House::new(&[("index.ts", "export default pi => pi.say('good')")]);
    loaded(&house).await;
    for shelf in std::fs::read_dir(house.cache_folder().join("entries")).expect("entries") {
        for file in std::fs::read_dir(shelf.expect("a shelf").path()).expect("a shelf") {
            let path = file.expect("a file").path();
            let text = std::fs::read(&path).expect("an entry");
            let at = text.windows(4).rposition(|it| it == b"good").expect("the bundle");
            let mut evil = text.clone();
            evil[at..at + 4].copy_from_slice(b"evil");
            std::fs::write(&path, evil).expect("an attack");
        }
    }
    let again = loaded(&house).await;
    assert_eq!((again.origin, said(again.artifact.bundle()).as_str()), (Origin::Built, "good"));
}

#[tokio::test]
async fn extension_that_is_called_otherwise_is_not_taken_from_the_cache() {
    let house = House::new(&[("sub/index.ts", "export default pi => pi.say('a')")]);
    let called = |at: &'static str| {
        let path = house.path(at);
        let (workshop, cache) = (house.workshop(), house.cache());
        async move { load(&path, &workshop, &cache).await.expect("it is built").remove(0).artifact.name().to_owned() }
    };
    assert_eq!(called("sub").await, "sub");
    // The same file, and now a description says what it is called.
    house.write("package.json", r#"{"name":"named","pi":{"extensions":["./sub"]}}"#);
    assert_eq!(called("sub/index.ts").await, "named");
    std::fs::remove_file(house.path("package.json")).expect("removed");
    assert_eq!(called("sub/index.ts").await, "sub");
}

/// The smallest component that there is.
const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";
/// Behind it: the type of an instance without members, and an import of one by the name of `x`, which no host has.
const IMPORTING: &[u8] = b"\x07\x03\x01\x42\0\x0a\x06\x01\0\x01x\x05\0";

#[tokio::test]
async fn component_comes_from_the_cache_with_what_was_found_in_it() {
    let manifest = r#"{"name":"own","version":"1.0.0","api_version":"1.0","entry":"own.wasm"}"#;
    let house = House::new(&[("extension.json", manifest)]);
    std::fs::write(house.path("own.wasm"), COMPONENT).expect("a component");
    let first = loaded(&house).await;
    let second = loaded(&house).await;
    assert_eq!((first.origin, second.origin), (Origin::Built, Origin::Cached));
    assert_eq!(first.scan, second.scan);
    assert_eq!(first.artifact.descriptor, second.artifact.descriptor);
    assert_eq!(second.artifact.code.as_bytes(), COMPONENT);
    std::fs::write(house.path("own.wasm"), [COMPONENT, IMPORTING].concat()).expect("a component");
    let (third, fourth) = (loaded(&house).await, loaded(&house).await);
    assert_eq!((third.origin, fourth.origin), (Origin::Built, Origin::Cached));
    let rules = |loaded: &Loaded| loaded.scan.findings().iter().map(|it| it.rule.clone()).collect::<Vec<_>>();
    assert_eq!(rules(&third), ["component.export", "component.import"]);
    assert_eq!(rules(&fourth), rules(&third));
}

#[tokio::test]
async fn component_that_was_built_from_other_sources_says_so() {
    let cargo = "[package]\nname = \"own-one\"\nversion = \"1.2.3\"\ndescription = \"Does nothing.\"\n";
    let house = House::new(&[("Cargo.toml", cargo), ("src/lib.rs", "fn first() {}")]);
    std::fs::write(house.path("x.wasm"), COMPONENT).expect("a file");
    let mut artifact = house.build("x.wasm").await.unwrap_or_else(|fault| panic!("{fault}"));
    std::fs::remove_file(house.path("x.wasm")).expect("it was there");
    let source = serde_json::json!([{ "path": "src/lib.rs", "digest": Digest::of(b"fn first() {}"), "size": 13 }]);
    artifact.descriptor.sources = serde_json::from_value(source).expect("a list of files");
    artifact.descriptor.sizes.sources = 13;
    std::fs::create_dir(house.path("dist")).expect("a folder");
    std::fs::write(house.path("dist/extension.artifact"), write_container(&artifact)).expect("a file");

    let built = loaded(&house).await;
    assert!(!built.is_outdated());
    // What cargo knows of it needs no second description.
    let manifest = &sources(&house.root()).expect("a source")[0].manifest;
    assert_eq!((manifest.name.as_str(), manifest.version.as_str()), ("own-one", "1.2.3"));
    assert_eq!(manifest.description.as_deref(), Some("Does nothing."));
    house.write("src/lib.rs", "fn second() {}");
    assert!(built.is_outdated());
    assert!(loaded(&house).await.is_outdated(), "also where it was kept");
}

/// A script that is made a component by a program that stands in for the package: it writes the component that lies beside it.
#[tokio::test]
async fn compiler_is_asked_whenever_somebody_wants_it() {
    if !is_there("node") {
        eprintln!("SKIPPED: Node is not installed; no compiler was asked");
        return;
    }
    let program = "node_modules/componentize-qjs/bin/componentize-qjs";
    let copies = "const { copyFileSync } = require('node:fs'); const { argv } = process;\n\
                  copyFileSync(`${__dirname}/x.wasm`, argv[argv.indexOf('-o') + 1]);";
    let manifest = r#"{"name":"own","version":"1.0.0","api_version":"1.0","entry":"index.ts","engine":"wasm"}"#;
    let guest = |init: &str| format!("export const guest = {{ init: () => {init} }};");
    let house = House::new(&[("extension.json", manifest), ("index.ts", &guest("1")), (program, copies)]);
    std::fs::write(house.path("node_modules/componentize-qjs/bin/x.wasm"), COMPONENT).expect("a component");
    let build = async || {
        let workshop = Workshop { compilers: Compilers::Run, ..house.workshop() };
        let built = load(&house.root(), &workshop, &house.cache()).await.expect("it is built").remove(0);
        std::fs::create_dir_all(house.path("dist")).expect("a folder");
        std::fs::write(house.path("dist/extension.artifact"), write_container(&built.artifact)).expect("a file");
        (built.origin, built.artifact.descriptor)
    };
    let (_, first) = build().await;
    house.write("index.ts", &guest("2"));
    // Whoever uses the folder in between takes what lies there, and hears that it is older.
    let used = loaded(&house).await;
    assert_eq!((used.origin, used.is_outdated(), &used.artifact.descriptor), (Origin::Cached, true, &first));
    let (origin, second) = build().await;
    assert_eq!(origin, Origin::Built);
    assert_ne!(second.sources, first.sources);
    let used = loaded(&house).await;
    assert_eq!((used.is_outdated(), used.artifact.descriptor), (false, second));
}

/// A crate without dependencies, with the real compiler.
#[tokio::test]
async fn files_outside_a_crate_that_cargo_names_are_sources() {
    let cargo =
        "[package]\nname = \"pi-extc-outside\"\nversion = \"1.0.0\"\n[lib]\ncrate-type = [\"cdylib\"]\n[workspace]\n";
    let code =
        "#[unsafe(no_mangle)] pub extern \"C\" fn size() -> usize { include_str!(\"../../greeting.txt\").len() }";
    let house = House::new(&[("Cargo.toml", cargo), ("src/lib.rs", code), ("../greeting.txt", "Hello")]);
    let workshop = Workshop { compilers: Compilers::Run, ..house.workshop() };
    let built = match load(&house.root(), &workshop, &house.cache()).await {
        Ok(mut built) => built.remove(0),
        Err(BuildFault::NoCargo(_) | BuildFault::NoTarget { .. }) => {
            eprintln!("SKIPPED: there is no compiler for components");
            return;
        }
        Err(fault) => panic!("{fault}"),
    };
    let descriptor = &built.artifact.descriptor;
    let names: Vec<&str> = descriptor.sources.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(names, ["Cargo.lock", "Cargo.toml", "src/lib.rs"]);
    assert_eq!(descriptor.extra["outside"], serde_json::json!({ "../greeting.txt": Digest::of(b"Hello") }));
    assert!(!built.is_outdated());
    house.write("../greeting.txt", "Howdy, all");
    assert!(built.is_outdated());
    let again = load(&house.root(), &workshop, &house.cache()).await.expect("it is built").remove(0);
    assert_ne!(again.artifact.hash(), built.artifact.hash());
    // What did not come along did not change.
    std::fs::remove_file(house.path("../greeting.txt")).expect("it was there");
    assert!(!built.is_outdated());
}

fn is_there(program: &str) -> bool {
    std::process::Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}
