//! From a file to a guest: a component as it is, an artifact, and what is neither.

use std::{collections::BTreeMap, fs, path::Path, sync::Arc};

use pi_extc::{Cache, Workshop, load, write_container};
use pi_exthost::{
    Guest,
    launcher::{LaunchFault, Launcher, Provenance, Source},
};
use pi_extproto::artifact::Digest;
use pi_guests::{
    Screening, Stock, Surroundings, Tiers, js,
    launcher::{PreparedGuest, Program},
    wasm,
};
use serde_json::json;

use crate::house::{COMPONENT, House, OPEN, invocation, never, told};

fn around(folder: &Path) -> Surroundings {
    Surroundings {
        cwd: folder.join("project"),
        agent: folder.join("agent"),
        home: folder.to_owned(),
        temporary: folder.join("tmp"),
        program: "pi".into(),
        hostname: "here".to_owned(),
        version: "0".to_owned(),
        flags: BTreeMap::new(),
        screening: Screening::Tell,
        limits: js::Limits { memory: 64 << 20, ..js::Limits::default() },
    }
}

fn tiers(folder: &Path) -> Tiers {
    Tiers::new(around(folder)).expect("a cache")
}

async fn launch(house: &House, path: &Path) -> Result<Arc<dyn Guest>, LaunchFault> {
    let source = Source { path: path.to_owned(), provenance: Provenance::Trusted };
    let prepared = tiers(&house.folder).prepare(source).await?;
    let desk = house.dispatcher.desk(prepared.identity).expect("a desk");
    (prepared.launch)(desk).await
}

async fn answers(house: &House, path: &Path) -> String {
    let guest = launch(house, path).await.unwrap_or_else(|fault| panic!("{fault}"));
    let guests = house.attend(guest);
    let answer = guests.tool("answer").expect("a tool").call(invocation("answer", json!({ "a": 1 })), &never()).await;
    told(&Ok(answer.expect("an answer")))
}

#[tokio::test(flavor = "multi_thread")]
async fn component_and_artifact_are_launched_alike() {
    let house = House::new(OPEN);
    let path = house.folder.join("own/odd-name.wasm");
    fs::write(&path, &*COMPONENT).expect("a file");
    assert_eq!(answers(&house, &path).await, r#"{"a":1}"#);

    let cache = Cache::open(&house.folder.join("cache")).expect("a cache");
    let built = load(&path, &Workshop::new(house.folder.join("cache")), &cache).await.expect("an artifact");
    let artifact = &built[0].artifact;
    assert_eq!((artifact.name(), artifact.descriptor.engine.version.as_str()), ("odd-name", pi_extc::COMPONENT_ENGINE));
    let needs: Vec<&str> = artifact.descriptor.capabilities.inferred.iter().map(|it| it.as_str()).collect();
    // Events have a type of `session`, so everybody imports it; whoever takes nothing but types does not need it.
    assert_eq!(needs, ["read", "write", "exec", "tool", "ui", "events", "log"]);
    let other = House::new(OPEN);
    let path = other.folder.join("own/extension.artifact");
    fs::write(&path, write_container(artifact)).expect("a file");
    assert_eq!(answers(&other, &path).await, r#"{"a":1}"#);
}

#[tokio::test(flavor = "multi_thread")]
async fn person_hears_that_what_runs_was_built_from_older_sources() {
    let house = House::new(OPEN);
    let path = house.folder.join("own/greeter.wasm");
    fs::write(&path, &*COMPONENT).expect("a file");
    let cache = Cache::open(&house.folder.join("cache")).expect("a cache");
    let built = load(&path, &Workshop::new(house.folder.join("cache")), &cache).await.expect("an artifact");
    let mut artifact = built[0].artifact.clone();
    let sources = json!([{ "path": "src/lib.rs", "digest": Digest::of(b"older"), "size": 5 }]);
    artifact.descriptor.sources = serde_json::from_value(sources).expect("a list of files");
    let root = house.folder.canonicalize().expect("it is there").join("own/greeter");
    for folder in ["src", "dist"] {
        fs::create_dir_all(root.join(folder)).expect("a folder");
    }
    fs::write(root.join("Cargo.toml"), "[package]\nname = \"greeter\"\n").expect("a file");
    fs::write(root.join("src/lib.rs"), "newer").expect("a file");
    fs::write(root.join("dist/extension.artifact"), write_container(&artifact)).expect("a file");
    // Whoever watches its files learns of it when they are saved, and not only at the start.
    let source = Source { path: root.clone(), provenance: Provenance::Trusted };
    let prepared = tiers(&house.folder).prepare(source).await.unwrap_or_else(|fault| panic!("{fault}"));
    let again = format!("`pi ext build {}` builds it from those that are there", root.display());
    assert_eq!(prepared.outdated, Some(format!("it was built from older sources; {again}")));
    assert!(prepared.sources.contains(&root.join("src/lib.rs")), "{:?}", prepared.sources);
    let _guest = launch(&house, &root).await.unwrap_or_else(|fault| panic!("{fault}"));
    let told = format!(
        "Extension greeter: it was built from older sources; `pi ext build {}` builds it from those that are there",
        root.display()
    );
    assert_eq!(house.announced().await, told);
}

/// A component at its path, for a session of many.
async fn prepared(stock: &Stock, house: &House, path: &Path) -> wasm::Program {
    let source = Source { path: path.to_owned(), provenance: Provenance::Trusted };
    let prepared = Tiers::sharing(stock.clone(), around(&house.folder)).prepare_guest(source).await;
    match prepared.unwrap_or_else(|fault| panic!("{fault}")) {
        PreparedGuest { program: Program::Wasm(program), .. } => *program,
        PreparedGuest { program: Program::Js(_), .. } => panic!("a component"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_share_engines_and_code() {
    let house = House::new(OPEN);
    let (path, other) = (house.folder.join("own/one.wasm"), house.folder.join("own/two.wasm"));
    for path in [&path, &other] {
        fs::write(path, &*COMPONENT).expect("a file");
    }
    let stock = Stock::open(&house.folder.join("agent")).expect("a cache");
    let (first, second) = (prepared(&stock, &house, &path).await, prepared(&stock, &house, &path).await);
    assert_eq!((&first.machine, &first.code), (&second.machine, &second.code));
    let other = prepared(&stock, &house, &other).await;
    assert_eq!(first.machine, other.machine);
    assert_ne!(first.code, other.code, "another extension");

    let mut guests = Vec::new();
    while prepared(&stock, &house, &path).await.machine == first.machine {
        assert!(guests.len() < 200, "an engine has no room for more");
        guests.push(wasm::WasmGuest::start(first.clone(), house.desk()).await.expect("a guest"));
    }
    let beside = prepared(&stock, &house, &path).await;
    guests.push(wasm::WasmGuest::start(beside, house.desk()).await.expect("a guest"));
    drop(guests);
    assert_eq!(prepared(&stock, &house, &path).await.machine, first.machine, "there is room again");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_compiled_for_the_first_time_is_named_meanwhile() {
    let house = House::new(OPEN);
    let path = house.folder.join("own/slow.wasm");
    fs::write(&path, &*COMPONENT).expect("a file");
    let stock = Stock::open(&house.folder.join("agent")).expect("a cache");
    let seen = |stock: &Stock| stock.compiling().into_iter().map(|one| (one.name, one.path)).collect::<Vec<_>>();
    let mut preparing = Box::pin(prepared(&stock, &house, &path));
    let mut named = Vec::new();
    loop {
        match futures_util::poll!(&mut preparing) {
            std::task::Poll::Ready(_) => break,
            std::task::Poll::Pending => tokio::task::yield_now().await,
        }
        named.extend(seen(&stock));
    }
    named.dedup();
    assert_eq!(named, [("slow".to_owned(), path.clone())]);
    assert_eq!(seen(&stock), []);
    // The second time it comes from the cache.
    let stock = Stock::open(&house.folder.join("agent")).expect("a cache");
    let mut preparing = Box::pin(prepared(&stock, &house, &path));
    while futures_util::poll!(&mut preparing).is_pending() {
        assert_eq!(seen(&stock), []);
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn what_is_neither_is_refused_with_a_word_of_advice() {
    let house = House::new(OPEN);
    let module = wat::parse_str("(module)").expect("a module");
    for (name, bytes, expected) in [
        ("a.wasm", module.as_slice(), "is a WebAssembly module and not a component; build it for wasm32-wasip2"),
        ("b.wasm", b"text", "it is not WebAssembly; name a source"),
        ("c.artifact", b"text", "it is not an artifact"),
    ] {
        let path = house.folder.join("own").join(name);
        fs::write(&path, bytes).expect("a file");
        let Err(fault) = launch(&house, &path).await else { panic!("{name} runs") };
        assert!(fault.to_string().contains(expected), "{name}: {fault}");
    }
}
