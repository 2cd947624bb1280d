//! Artifacts that somebody else built: what they may say about themselves, what is found in them, and where their files go.

use std::{
    fs,
    path::Path,
    time::{Duration, SystemTime},
};

use pi_extc::{Artifact, Asset, Code, ContainerFault, load, read_container, unpack, write_container};
use pi_extproto::{
    artifact::{Digest, canonical},
    capability::{Capability, CapabilityManifest},
    manifest::{InsidePath, Tier},
};

use super::house::House;

const SOURCE: &str = "import { execSync } from 'child_process';
    import { readFileSync } from 'node:fs';
    import { Script } from 'vm';
    export default function (pi) { pi.say(execSync('ls'), readFileSync('a'), new Script('1'), eval('1'), process.env.A) }";

/// What somebody changes who makes an artifact by hand.
type Forgery = fn(&mut Artifact);

async fn built(source: &str) -> Artifact {
    House::new(&[("index.ts", source)]).built().await
}

#[tokio::test]
async fn description_that_says_other_things_than_its_parts_is_refused() {
    let honest = built("export default () => {}").await;
    assert!(read_container(&write_container(&honest)).is_ok());
    let other = |member| ContainerFault::OtherDescription { member };
    let forgeries: [(Forgery, ContainerFault); 8] = [
        (|it| it.descriptor.name = "mcp:files".to_owned(), other("name")),
        (|it| it.descriptor.name = "+scope+x".to_owned(), other("name")),
        (|it| it.descriptor.version = "1.0.0\nAllow?".to_owned(), other("version")),
        (|it| it.descriptor.engine.version = "another".to_owned(), other("engine")),
        (
            |it| it.descriptor.capabilities.declared = Some(CapabilityManifest::new(Vec::new())),
            other("set of capabilities"),
        ),
        (|it| it.descriptor.sizes.bundle = 1, other("size")),
        (|it| it.descriptor.sizes.assets = 1, other("size")),
        // The hash is that of the manifest, too.
        (|it| it.manifest.engine = Some(Tier::Wasm), ContainerFault::OtherHash),
    ];
    for (forge, expected) in forgeries {
        let mut forged = honest.clone();
        forge(&mut forged);
        assert_eq!(read_container(&write_container(&forged)).err(), Some(expected));
    }
}

#[tokio::test]
async fn artifact_whose_engine_is_not_that_of_its_manifest_is_refused() {
    let mut forged = built("export default () => {}").await;
    forged.manifest.engine = Some(Tier::Wasm);
    rehash(&mut forged);
    let fault = read_container(&write_container(&forged)).expect_err("the manifest says wasm");
    assert_eq!(fault, ContainerFault::OtherDescription { member: "engine" });
}

#[tokio::test]
async fn code_of_an_artifact_is_looked_at_whatever_its_description_says() {
    let house = House::new(&[("index.ts", SOURCE)]);
    let mut artifact = house.built().await;
    let source = load(&house.root(), &house.workshop(), &house.cache()).await.expect("it is built").remove(0);
    let honest = source.artifact.evidence(&source.scan);
    artifact.descriptor.findings.clear();
    artifact.descriptor.capabilities.inferred.clear();
    let scan = scanned(&house, &artifact).await;
    assert_eq!(artifact.evidence(&scan), honest);
    assert_eq!((honest.forbidden, honest.obfuscated, honest.uses_processes), (1, 1, true));
    assert!(honest.uses_files && honest.uses_environment && !honest.uses_network);
}

#[tokio::test]
async fn bundle_that_reaches_the_host_in_a_way_of_its_own_is_told_of() {
    let house = House::new(&[("index.ts", "export default () => {}")]);
    for (bundle, rules, needs) in [
        ("import{shim as s}from'pi:shims';export default()=>s('pi:shim/node/child_process')", "import.forbidden", ""),
        ("export default()=>__pi_host('pi:shim/node/child_process').execSync('ls')", "", "exec"),
        ("const h=__pi_host;export default x=>h(x)", "import.dynamic", ""),
        ("export default x=>__pi_shim('pi:shim/'+x)", "import.dynamic", ""),
        ("export default()=>__pi_host('pi:host')", "import.forbidden", ""),
        ("export default()=>__pi_gone('vm')", "import.forbidden", ""),
        ("export default()=>__pi_gone('left-pad')", "package.missing", ""),
        ("var f=e=>e.exec('ls',[]);export{f as default}", "", "exec"),
    ] {
        let mut artifact = house.built().await;
        artifact.code = Code::Script { bundle: bundle.into(), source_map: "{}".into() };
        rehash(&mut artifact);
        let scan = scanned(&house, &artifact).await;
        let found: Vec<&str> = scan.findings().iter().map(|it| it.rule.as_str()).collect();
        let inferred: Vec<&str> = scan.inferred().iter().map(Capability::as_str).collect();
        assert_eq!((found.join(" ").as_str(), inferred.join(" ").as_str()), (rules, needs), "{bundle}");
    }
}

#[tokio::test]
async fn bundle_that_is_no_program_is_refused() {
    let house = House::new(&[("index.ts", "export default () => {}")]);
    let mut artifact = house.built().await;
    artifact.code = Code::Script { bundle: "export default (".into(), source_map: "{}".into() };
    rehash(&mut artifact);
    let path = house.path("bad.artifact");
    fs::write(&path, write_container(&artifact)).expect("a file");
    assert!(load(&path, &house.workshop(), &house.cache()).await.is_err());
}

#[test]
fn files_of_two_artifacts_never_meet_and_are_put_back_when_somebody_changed_them() {
    let house = House::new(&[]);
    let cache = house.cache_folder();
    let (one, two) = ([asset("a.txt", "one"), asset("sub/b.txt", "b")], [asset("a.txt", "two")]);
    let (first, second) = (Digest::of(b"1"), Digest::of(b"2"));
    let folder = unpack(&first, &one, &cache).expect("unpacked");
    let other = unpack(&second, &two, &cache).expect("unpacked");
    let told = |folder: &Path, path: &str| fs::read_to_string(folder.join(path)).ok();
    assert_eq!((told(&folder, "a.txt"), told(&other, "a.txt")), (Some("one".to_owned()), Some("two".to_owned())));
    assert_eq!((told(&folder, "sub/b.txt"), told(&other, "sub/b.txt")), (Some("b".to_owned()), None));
    let written = fs::metadata(folder.join("a.txt")).and_then(|it| it.modified()).expect("a time");
    assert_eq!(unpack(&first, &one, &cache).expect("it is there"), folder);
    assert_eq!(fs::metadata(folder.join("a.txt")).and_then(|it| it.modified()).expect("a time"), written);
    for change in [|file: &Path| fs::write(file, "evil"), |file: &Path| fs::remove_file(file)] {
        change(&folder.join("a.txt")).expect("an attack");
        unpack(&first, &one, &cache).expect("unpacked");
        assert_eq!(told(&folder, "a.txt"), Some("one".to_owned()));
    }
    assert_eq!(fs::read_dir(cache.join("unpacked")).expect("a folder").count(), 2, "no draft is left");
}

#[test]
fn files_of_artifacts_are_pruned_by_their_age() {
    let house = House::new(&[]);
    let folder = unpack(&Digest::of(b"1"), &[asset("sub/a.txt", "four")], &house.cache_folder()).expect("unpacked");
    let (cache, now, hour) = (house.cache(), SystemTime::now(), Duration::from_secs(3600));
    assert_eq!(cache.prune(None, now).expect("pruned").entries, 0);
    assert_eq!(cache.prune(Some(hour), now).expect("pruned").entries, 0);
    let pruned = cache.prune(Some(hour), now + 2 * hour).expect("pruned");
    assert_eq!((pruned.entries, pruned.bytes), (1, 4));
    assert!(!folder.exists());
}

fn asset(path: &str, text: &str) -> Asset {
    let path = InsidePath::try_from(path.to_owned()).expect("a path");
    Asset { path, bytes: text.as_bytes().into() }
}

/// What the scanner finds in an artifact that lies somewhere.
async fn scanned(house: &House, artifact: &Artifact) -> pi_extc::Scan {
    let path = house.path("some.artifact");
    fs::write(&path, write_container(artifact)).expect("a file");
    let loaded = load(&path, &house.workshop(), &house.cache()).await;
    loaded.unwrap_or_else(|fault| panic!("{fault}")).remove(0).scan
}

/// Makes the description fit the parts again, as whoever forges an artifact does.
fn rehash(artifact: &mut Artifact) {
    let manifest = serde_json::to_value(&artifact.manifest).expect("JSON");
    let mut bytes = canonical::to_vec(&manifest);
    bytes.extend(artifact.code.as_bytes());
    bytes.extend(pi_extc::engine_version().as_bytes());
    artifact.descriptor.hash = Digest::of(&bytes);
    artifact.descriptor.sizes.bundle = artifact.code.as_bytes().len() as u64;
}
