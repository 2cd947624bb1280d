//! Where the sources of an extension are: files, folders, manifests, packages.

use pi_extc::{BuildFault, sources};
use pi_extproto::manifest::Entry;

use super::house::House;

/// Names, versions and entries of what is found at a path.
fn check(what: &str, files: &[(&str, &str)], at: &str, expected: &str) {
    let house = House::new(files);
    let told = match sources(&house.path(at)) {
        Ok(found) => found
            .iter()
            .map(|it| {
                let Entry::File(entry) = &it.manifest.entry else { panic!("{what}: a file") };
                assert_eq!(it.root.join(entry.as_str()), it.entry, "{what}");
                format!("{}@{} {entry}", it.manifest.name, it.manifest.version)
            })
            .collect::<Vec<_>>()
            .join(", "),
        Err(BuildFault::NoEntry { .. }) => "no entry".to_owned(),
        Err(BuildFault::BadManifest { .. }) => "bad manifest".to_owned(),
        Err(BuildFault::OtherTier { .. }) => "other tier".to_owned(),
        Err(other) => other.to_string(),
    };
    assert_eq!(told, expected, "{what}");
}

#[test]
fn every_way_to_say_where_it_begins() {
    let manifest = r#"{"name":"own","version":"3.0.0","api_version":"1.0","entry":"src/main.ts"}"#;
    for (what, files, at, expected) in [
        ("a file", &[("My Tool.ts", "")][..], "My Tool.ts", "my-tool@0.0.0 My Tool.ts"),
        ("a folder with an index", &[("index.js", "")], "", "extension@0.0.0 index.js"),
        ("nothing", &[("readme.md", "")], "", "no entry"),
        (
            "extension.json",
            &[("extension.json", manifest), ("src/main.ts", ""), ("index.ts", "")],
            "",
            "own@3.0.0 src/main.ts",
        ),
        (
            "a file that extension.json names",
            &[("extension.json", manifest), ("src/main.ts", "")],
            "src/main.ts",
            "own@3.0.0 src/main.ts",
        ),
        (
            "the manifest itself",
            &[("extension.json", manifest), ("src/main.ts", "")],
            "extension.json",
            "own@3.0.0 src/main.ts",
        ),
        ("a bad manifest", &[("extension.json", r#"{"name":"X"}"#)], "", "bad manifest"),
        (
            "a component",
            &[
                ("extension.json", r#"{"name":"own","version":"3.0.0","api_version":"1.0","entry":"a.wasm"}"#),
                ("a.wasm", ""),
            ],
            "",
            "own@3.0.0 a.wasm",
        ),
        (
            "package.json with one entry",
            &[
                ("package.json", r#"{"name":"@a/b","version":"1.0.0","pi":{"extensions":["./src/x.ts"]}}"#),
                ("src/x.ts", ""),
            ],
            "",
            "@a/b@1.0.0 src/x.ts",
        ),
        (
            "package.json with several, folders, patterns and exceptions",
            &[
                (
                    "package.json",
                    r#"{"name":"b","version":"1.0.0","pi":{"extensions":["./ext","more/*.ts","!more/b.ts"]}}"#,
                ),
                ("ext/one/index.ts", ""),
                ("ext/two.js", ""),
                ("ext/types.d.ts", ""),
                ("more/a.ts", ""),
                ("more/b.ts", ""),
            ],
            "",
            "b-one@1.0.0 ext/one/index.ts, b-two@1.0.0 ext/two.js, b-a@1.0.0 more/a.ts",
        ),
        (
            "a file that package.json lists keeps its folder",
            &[("package.json", r#"{"name":"b","pi":{"extensions":["./src/x.ts"]}}"#), ("src/x.ts", "")],
            "src/x.ts",
            "b@0.0.0 src/x.ts",
        ),
        (
            "the folder extensions",
            &[("package.json", r#"{"name":"b"}"#), ("extensions/a.ts", "")],
            "",
            "b@0.0.0 extensions/a.ts",
        ),
        (
            "main",
            &[("package.json", r#"{"name":"b","main":"./dist/a.js"}"#), ("dist/a.js", "")],
            "",
            "b@0.0.0 dist/a.js",
        ),
        ("main that leads out", &[("package.json", r#"{"name":"b","main":"../x.js"}"#)], "", "no entry"),
        (
            "a listed file that is not there",
            &[("package.json", r#"{"pi":{"extensions":["./gone.ts"]}}"#)],
            "",
            "no entry",
        ),
        ("no JSON", &[("package.json", "{"), ("index.ts", "")], "", "bad manifest"),
    ] {
        check(what, files, at, expected);
    }
}

#[test]
fn folder_with_an_index_has_the_same_name_whoever_points_to_it() {
    let index = &[("My Tool/index.ts", "")][..];
    check("the folder", index, "My Tool", "my-tool@0.0.0 index.ts");
    check("the file", index, "My Tool/index.ts", "my-tool@0.0.0 index.ts");
    let listed = &[("package.json", r#"{"name":"b","pi":{"extensions":["./one"]}}"#), ("one/index.ts", "")][..];
    check("the folder of a package", listed, "one", "b@0.0.0 one/index.ts");
    check("the file of a package", listed, "one/index.ts", "b@0.0.0 one/index.ts");
}

#[test]
fn what_tells_an_extension_from_another_of_its_name_is_its_file_or_its_folder() {
    let manifest = r#"{"name":"own","version":"3.0.0","api_version":"1.0","entry":"src/main.ts"}"#;
    for (files, at, expected) in [
        (&[("a.ts", "")][..], "a.ts", "a.ts"),
        (&[("one/index.ts", "")], "one/index.ts", "one"),
        (&[("one/index.ts", "")], "one", "one"),
        (&[("own/extension.json", manifest), ("own/src/main.ts", "")], "own", "own"),
        (&[("own/extension.json", manifest), ("own/src/main.ts", "")], "own/src/main.ts", "own"),
    ] {
        let house = House::new(files);
        let found = sources(&house.path(at)).expect("sources");
        assert_eq!(found[0].origin(), house.path(expected), "{at}");
    }
}
