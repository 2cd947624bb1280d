//! Extensions that come built, and what the signature on them is worth.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::mpsc,
    time::Duration,
};

use pi_extc::{Artifact, SecretKey, TrustedKeys, Workshop, build, sign, write_container};
use pi_exthost::{
    GuestFault,
    launcher::{Feature, LaunchFault, Provenance, Source},
};
use pi_guests::{Screening, Surroundings, Tiers, discovery, js::Limits, launcher::PreparedGuest};
use serde_json::json;
use tempfile::TempDir;

const SOURCE: &str = "export default (pi) => pi.registerTool({ name: 't', description: 'd', parameters: {}, execute: async () => 'x' });";

struct House {
    root: TempDir,
    tiers: Tiers,
}

impl House {
    fn new() -> Self {
        Self::screening(Screening::Tell)
    }

    fn screening(screening: Screening) -> Self {
        let root = tempfile::tempdir().expect("a folder");
        let at = |path: &str| root.path().join(path);
        fs::create_dir_all(at("greeter")).expect("a folder");
        fs::write(at("greeter/index.js"), SOURCE).expect("a file");
        let tiers = Tiers::new(Surroundings {
            cwd: at("project"),
            agent: at("agent"),
            home: at("home"),
            temporary: at("tmp"),
            program: "/bin/pi".into(),
            hostname: "here".to_owned(),
            version: "0".to_owned(),
            flags: BTreeMap::new(),
            screening,
            limits: Limits::default(),
        });
        Self { tiers: tiers.expect("a cache"), root }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    /// Builds the source into `folder`, signed if there is a key.
    async fn build(&self, folder: &Path, key: Option<&SecretKey>) {
        self.build_and(folder, key, |_| {}).await;
    }

    /// The same, and changes what was built before it is written and signed.
    async fn build_and(&self, folder: &Path, key: Option<&SecretKey>, change: fn(&mut Artifact)) {
        let workshop = Workshop::new(self.at("agent/cache/extensions"));
        let mut built = build(&self.at("greeter"), &workshop).await.expect("it builds");
        change(&mut built);
        let container = write_container(&built);
        let mut described = serde_json::to_value(&built.descriptor).expect("JSON");
        if let Some(key) = key {
            described["signature"] = json!(sign(&container, key));
        }
        fs::create_dir_all(folder).expect("a folder");
        fs::write(folder.join("extension.artifact"), container).expect("a file");
        fs::write(folder.join("artifact.json"), described.to_string()).expect("a file");
    }

    /// How unsigned what lies there is, between 0 and 1.
    async fn unsigned(&self, path: &str) -> Result<f64, LaunchFault> {
        Ok(self.prepare(path).await?.identity.evidence.level(Feature::Unsigned))
    }

    async fn prepare(&self, path: &str) -> Result<PreparedGuest, LaunchFault> {
        let source = Source { path: self.at(path), provenance: Provenance::Trusted };
        self.tiers.prepare_guest(source).await
    }

    fn trust(&self, key: &SecretKey) {
        let file = self.at("agent/trusted-keys.json");
        TrustedKeys::default().trust("Ada", key.public(), &file).expect("it is written");
    }
}

#[tokio::test]
async fn signature_of_what_comes_built_is_evidence() {
    let (house, key) = (House::new(), SecretKey::generate().expect("a key"));
    house.build(&house.at("bare"), None).await;
    assert_eq!(house.unsigned("bare").await, Ok(1.0));
    house.build(&house.at("signed"), Some(&key)).await;
    assert_eq!(house.unsigned("signed").await, Ok(0.6), "by a stranger");
    house.trust(&key);
    assert_eq!(house.unsigned("signed").await, Ok(0.0), "by somebody who is trusted");
}

#[tokio::test]
async fn source_is_as_signed_as_the_build_of_it() {
    let (house, key) = (House::new(), SecretKey::generate().expect("a key"));
    house.trust(&key);
    assert_eq!(house.unsigned("greeter").await, Ok(1.0));
    house.build(&house.at("greeter/dist"), Some(&key)).await;
    assert_eq!(house.unsigned("greeter").await, Ok(0.0));
    // What was signed is another state of it.
    fs::write(house.at("greeter/index.js"), SOURCE.replace("'x'", "'changed'")).expect("a file");
    assert_eq!(house.unsigned("greeter").await, Ok(1.0));
}

#[tokio::test]
async fn what_the_scanner_blocks_does_not_run_under_strict_rules() {
    let source = SOURCE.replace("'x'", "process.binding('fs')");
    for screening in [Screening::Tell, Screening::Refuse] {
        let house = House::screening(screening);
        assert_eq!(house.prepare("greeter").await.expect("it is harmless").forbidden, [""; 0]);
        fs::write(house.at("greeter/index.js"), &source).expect("a file");
        match (screening, house.prepare("greeter").await) {
            (Screening::Tell, Ok(prepared)) => assert_eq!(prepared.forbidden.len(), 1, "{:?}", prepared.forbidden),
            (Screening::Refuse, Err(LaunchFault::Unusable { message })) => {
                assert!(message.starts_with("the mode is strict, and it uses what extensions may not: "), "{message}");
                assert!(message.contains("index.js:1"), "{message}");
            }
            (_, other) => panic!("{screening:?}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn package_that_somebody_stands_by_for_is_not_missed() {
    let house = House::new();
    let guarded = "let here; try { here = require('gone'); } catch { here = null; }\nexport default () => here;";
    for (source, missing) in [(guarded.to_owned(), &[][..]), (format!("import 'away';\n{guarded}"), &["away"])] {
        fs::write(house.at("greeter/index.js"), source).expect("a file");
        assert_eq!(house.prepare("greeter").await.expect("it is built").missing, missing);
    }
}

#[tokio::test]
async fn own_of_a_single_file_is_not_its_folder() {
    let house = House::new();
    let write = |path: &str, text: &str| {
        fs::create_dir_all(house.at(path).parent().expect("a folder")).expect("a folder");
        fs::write(house.at(path), text).expect("a file");
    };
    let real = |path: &str| house.at(path).canonicalize().expect("it is there");
    let module = "import { readFileSync } from 'node:fs'; import { join } from 'node:path'; import { a } from './part.js'; import p from 'pack';
        export default () => { a(); p(); readFileSync(join(__dirname, 'data.txt')); readFileSync(join(__dirname, '.hidden')); };";
    for folder in ["tools", "home"] {
        let write = |path: &str, text: &str| write(&format!("{folder}/{path}"), text);
        write("single.js", module);
        write("index.js", module);
        write("part.js", "export const a = () => 1;");
        write("data.txt", "data");
        write(".hidden", "hidden");
        write("node_modules/pack/package.json", r#"{"name":"pack","main":"index.js"}"#);
        write("node_modules/pack/index.js", "export default () => 1;");
    }
    let own = |path: &'static str| {
        let house = &house;
        async move { house.prepare(path).await.expect("it is built").identity.own }
    };
    let single = own("tools/single.js").await;
    assert_eq!(single.folders, [real("tools/node_modules/pack")]);
    assert_eq!(single.files, ["tools/data.txt", "tools/part.js", "tools/single.js"].map(real));
    let folder = own("tools").await;
    assert_eq!((folder.folders, folder.files), (vec![real("tools")], Vec::new()));
    let at_home = own("home").await;
    assert_eq!(at_home.folders, [real("home/node_modules/pack")]);
    assert_eq!(at_home.files, ["home/index.js", "home/part.js"].map(real), "nothing of the person");
}

#[tokio::test]
async fn what_is_thrown_is_told_with_its_place_in_the_sources() {
    let (house, desks) = (House::new(), crate::house::Heard::default());
    let other =
        "// The words of it.\nexport function oops(what: string): never {\n  throw new Error(`not ${what}`);\n}\n";
    fs::write(house.at("greeter/other.ts"), other).expect("a file");
    let index = "import { oops } from './other.ts';\n\nexport default () => oops('today');\n";
    fs::write(house.at("greeter/index.js"), index).expect("a file");
    let prepared = house.prepare("greeter").await.expect("it is built");
    let fault = prepared.program.start(crate::house::desk(&desks)).await.expect_err("it throws");
    let place = house.at("greeter/other.ts").canonicalize().expect("a file");
    assert!(fault.told().starts_with(&format!("not today ({}:3:", place.display())), "{}", fault.told());
    assert_eq!(fault.to_string(), "not today", "for a model");
    let GuestFault::Threw { stack: Some(stack), .. } = &fault else { panic!("{fault:?}") };
    assert!(stack.contains("greeter/index.js:3:"), "{stack}");
}

/// Whatever the code was before it was bundled: the line is the one that somebody wrote.
#[tokio::test]
async fn what_the_engine_throws_is_told_with_the_line_that_was_written() {
    let cases: [(&str, u32, &str); 7] = [
        ("const x: any = undefined;\n\n  x.y;", 4, "cannot read property 'y' of undefined"),
        ("const list: any[] = [1, 2];\n\n  return list[3].name;", 4, "cannot read property 'name' of undefined"),
        (
            "const list: any[] = [1, 2];\n  pi.on('input', () => {});\n  const n = list[3].name;\n  return n;",
            4,
            "cannot read property 'name' of undefined",
        ),
        (
            "const words = ['a', 'b'];\n  const help = async () => {\n    const o: any = {};\n    return o.a.b;\n  };\n  await help();\n  return words;",
            5,
            "cannot read property 'b' of undefined",
        ),
        (
            "const it: any = {\n    go() {\n      const a = pi;\n      return [a, this.gone.name];\n    },\n  };\n  it.go();",
            5,
            "cannot read property 'name' of undefined",
        ),
        ("const text = '{bad';\n  return JSON.parse(text);", 3, ""),
        ("const n: any = pi;\n  return n.nosuch(1);", 3, "n.nosuch is not a function"),
    ];
    for (body, line, message) in cases {
        let (house, desks) = (House::new(), crate::house::Heard::default());
        fs::remove_file(house.at("greeter/index.js")).expect("a file");
        fs::write(house.at("greeter/index.ts"), format!("export default async (pi: any) => {{\n  {body}\n}};\n"))
            .expect("a file");
        let prepared = house.prepare("greeter/index.ts").await.expect("it is built");
        let fault = prepared.program.start(crate::house::desk(&desks)).await.expect_err("it throws");
        let told = fault.told();
        assert!(told.starts_with(message) && told.contains(&format!("/greeter/index.ts:{line}:")), "{body}: {told}");
    }
}

/// Where the engine names no place, the only access of that name is a guess, and of several none is told.
#[tokio::test]
async fn place_that_nobody_named_is_told_as_a_guess_or_not_at_all() {
    for (body, expected) in
        [("const x: any = undefined;\n\n  x.y;", Some(4)), ("const x: any = undefined;\n  x.y;\n  x.y;", None)]
    {
        let (house, desks) = (House::new(), crate::house::Heard::default());
        fs::remove_file(house.at("greeter/index.js")).expect("a file");
        fs::write(house.at("greeter/index.ts"), format!("export default (pi: any) => {{\n  {body}\n}};\n"))
            .expect("a file");
        let prepared = house.prepare("greeter/index.ts").await.expect("it is built");
        let fault = prepared.program.start(crate::house::desk(&desks)).await.expect_err("it throws");
        let message = "cannot read property 'y' of undefined";
        let folder = house.at("greeter").canonicalize().expect("a folder");
        match expected {
            Some(line) => {
                let place = format!("{message} (perhaps {}/index.ts:{line}:", folder.display());
                assert!(fault.told().starts_with(&place), "{body}: {}", fault.told());
            }
            None => assert_eq!(fault.told(), message, "{body}"),
        }
    }
}

#[tokio::test]
async fn stack_that_an_extension_reads_leads_to_its_sources() {
    let (house, desks) = (House::new(), crate::house::Heard::default());
    let other = "export function oops(what: string): Error {\n  return new RangeError(`not ${what}`);\n}\n";
    fs::write(house.at("greeter/other.ts"), other).expect("a file");
    let index = "import { oops } from './other.ts';\n\nexport default () => { throw new Error(String(oops('today').stack)); };\n";
    fs::write(house.at("greeter/index.js"), index).expect("a file");
    let prepared = house.prepare("greeter").await.expect("it is built");
    let fault = prepared.program.start(crate::house::desk(&desks)).await.expect_err("it throws");
    let (lines, folder) = (fault.to_string(), house.at("greeter").canonicalize().expect("a folder"));
    let lines: Vec<&str> = lines.lines().collect();
    assert_eq!(lines[0], "RangeError: not today");
    assert!(lines[1].contains(&format!("({}/other.ts:2:", folder.display())), "{lines:?}");
    assert!(lines[2].contains(&format!("{}/index.js:3:", folder.display())), "{lines:?}");
}

#[tokio::test]
async fn artifact_is_found_where_extensions_are() {
    let house = House::new();
    house.build(&house.at("agent/extensions/built"), None).await;
    let places = discovery::Places {
        directory: house.at("project"),
        is_trusted: true,
        agent: Some(house.at("agent")),
        home: None,
        npm: discovery::Npm::default(),
    };
    let found = discovery::discover(&places, &discovery::Wanted::default());
    let paths: Vec<PathBuf> = found.sources.into_iter().map(|source| source.path).collect();
    assert_eq!(paths, [house.at("agent/extensions/built").canonicalize().expect("it is there")]);
    assert_eq!(found.notices, []);
}

#[cfg(unix)]
#[test]
fn package_that_npm_installed_for_everything_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("a folder");
    let write = |path: &str, text: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    };
    for prefix in ["variable", "home/written", "programs", "versions/22"] {
        write(&format!("{prefix}/lib/node_modules/@s/glob/package.json"), r#"{"pi":{"extensions":["./x.ts"]}}"#);
        write(&format!("{prefix}/lib/node_modules/@s/glob/x.ts"), "");
    }
    write("home/.npmrc", "; mine\nregistry = https://registry.invalid\nprefix = ~/written\n");
    write("programs/bin/npm", "");
    write("versions/22/bin/node", "");
    fs::create_dir_all(root.join("shims/bin")).expect("a folder");
    std::os::unix::fs::symlink(root.join("versions/22/bin/node"), root.join("shims/bin/node")).expect("a link");
    let path = |folder: &str| Some(root.join(folder).into_os_string());
    for (npm, home, expected) in [
        (discovery::Npm { prefix: Some(root.join("variable")), ..Default::default() }, "home", "variable"),
        (discovery::Npm { path: path("programs/bin"), ..Default::default() }, "home", "home/written"),
        (discovery::Npm { path: path("programs/bin"), ..Default::default() }, "nobody", "programs"),
        (discovery::Npm { path: path("shims/bin"), ..Default::default() }, "nobody", "versions/22"),
    ] {
        let (agent, home) = (Some(root.join("agent")), Some(root.join(home)));
        let places = discovery::Places { directory: root.join("project"), is_trusted: true, agent, home, npm };
        let named = vec!["npm:@s/glob@^1".to_owned()];
        let found = discovery::discover(&places, &discovery::Wanted { named, ..Default::default() });
        let paths: Vec<PathBuf> = found.sources.into_iter().map(|source| source.path).collect();
        assert_eq!(paths, [root.join(expected).join("lib/node_modules/@s/glob/x.ts")], "{:?}", found.notices);
    }
}

#[tokio::test]
async fn artifact_cannot_take_the_name_of_a_server_or_of_another_folder() {
    let house = House::new();
    for (folder, forge) in [
        ("server", (|it| it.descriptor.name = "mcp:files".to_owned()) as fn(&mut Artifact)),
        ("neighbour", |it| it.descriptor.name = "+scope+x".to_owned()),
        ("speaker", |it| it.descriptor.name = "x\nAllow everything".to_owned()),
    ] {
        house.build_and(&house.at(folder), None, forge).await;
        let fault = house.prepare(folder).await.expect_err("it is not what it says");
        assert!(fault.to_string().contains("its description says another name than its parts"), "{fault}");
    }
}

#[tokio::test]
async fn evidence_comes_from_the_scanner_here() {
    let house = House::new();
    let source = "import { execSync } from 'child_process'; export default () => eval(String(execSync('ls')))";
    fs::write(house.at("greeter/index.js"), source).expect("a file");
    house
        .build_and(&house.at("built"), None, |it| {
            it.descriptor.findings.clear();
            it.descriptor.capabilities.inferred.clear();
        })
        .await;
    let (honest, built) = (house.prepare("greeter").await.expect("it runs"), house.prepare("built").await);
    let built = built.expect("it runs");
    assert_eq!(built.identity.evidence, honest.identity.evidence);
    assert_eq!(built.identity.evidence.level(Feature::UsesExec), 1.0);
    assert_eq!(built.notices, honest.notices);
}

#[tokio::test]
async fn signature_on_a_build_with_other_files_says_nothing_about_the_source() {
    let (house, key) = (House::new(), SecretKey::generate().expect("a key"));
    house.trust(&key);
    let source = format!("const text = new URL('./words.txt', import.meta.url); {SOURCE} console.log(text)");
    fs::write(house.at("greeter/index.js"), source).expect("a file");
    fs::write(house.at("greeter/words.txt"), "signed").expect("a file");
    house.build(&house.at("greeter/dist"), Some(&key)).await;
    assert_eq!(house.unsigned("greeter").await, Ok(0.0));
    fs::write(house.at("greeter/words.txt"), "changed").expect("a file");
    assert_eq!(house.unsigned("greeter").await, Ok(1.0));
}

#[cfg(unix)]
#[tokio::test]
async fn looking_at_an_extension_holds_up_nobody_else() {
    let house = House::new();
    house.build(&house.at("built"), None).await;
    // Whoever opens it waits for the one who writes.
    let pipe = house.at("agent/trusted-keys.json");
    fs::create_dir_all(house.at("agent")).expect("a folder");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let (done, waiting) = mpsc::channel::<()>();
    let rescued = pipe.clone();
    let rescue = std::thread::spawn(move || {
        let is_needed = waiting.recv_timeout(Duration::from_secs(60)) == Err(mpsc::RecvTimeoutError::Timeout);
        if is_needed {
            fs::write(rescued, r#"{"keys":[]}"#).expect("it is read");
        }
        is_needed
    });
    let write = async {
        let written = tokio::task::spawn_blocking(move || fs::write(pipe, r#"{"keys":[]}"#)).await;
        written.expect("it does not panic").expect("it is read");
    };
    let (prepared, ()) = tokio::join!(house.prepare("built"), write);
    assert_eq!(prepared.expect("it runs").identity.id.as_str(), "greeter");
    drop(done);
    assert!(!rescue.join().expect("it does not panic"), "the thread was held up");
}
