//! The search at a host.

use code_search::CodeSearch;
use pi_extension::testing::{Stage, TestHost, text};
use serde_json::{Value, json};

fn project() -> TestHost {
    TestHost::new()
        .file("src/main.rs", "mod store;\nfn main() { store::open(); }\n")
        .file("src/store.rs", "/// Opens it.\npub fn open() {}\n")
        .file("web/index.ts", "export function open() {}\n")
        .file("node_modules/x/index.js", "function open() {}\n")
        .file("README.md", "open it\n")
}

fn search(host: TestHost, input: Value) -> String {
    let mut stage = Stage::<CodeSearch>::new(host);
    match stage.call("code_search", &input) {
        Ok(result) => text(&result),
        Err(report) => format!("{}: {}", report.code, report.message),
    }
}

#[test]
fn definitions_come_first_and_packages_are_left_out() {
    let expected = "src/store.rs:2: function: pub fn open() {}\n\
                    web/index.ts:1: function: export function open() {}\n\
                    src/main.rs:2: use: fn main() { store::open(); }";
    assert_eq!(search(project(), json!({ "name": "open" })), expected);
}

#[test]
fn search_is_narrowed_by_path_kind_and_limit() {
    assert_eq!(
        search(project(), json!({ "name": "open", "path": "./web/" })),
        "web/index.ts:1: function: export function open() {}"
    );
    assert_eq!(
        search(project(), json!({ "name": "open", "path": "src/store.rs" })),
        "src/store.rs:2: function: pub fn open() {}"
    );
    assert_eq!(
        search(project(), json!({ "name": "open", "kind": "use" })),
        "src/main.rs:2: use: fn main() { store::open(); }"
    );
    let cut = search(project(), json!({ "name": "open", "limit": 1 }));
    assert_eq!(cut, "src/store.rs:2: function: pub fn open() {}\n… there is more; narrow the path or raise the limit");
}

#[test]
fn what_cannot_be_found_is_said() {
    assert_eq!(search(project(), json!({ "name": "nothing" })), "nothing is neither defined nor used here");
    assert_eq!(search(project(), json!({ "name": "open", "path": "lib" })), "not_found: there is nothing at lib");
    assert_eq!(
        search(project(), json!({ "name": "a b" })),
        "bad_input: name: expected letters, digits and underscores"
    );
    assert!(search(project(), json!({})).starts_with("bad_input: missing field `name`"));
    assert_eq!(search(project().denies("fs"), json!({ "name": "open" })), "host: fs is denied");
}

#[test]
fn long_search_says_how_far_it_has_come() {
    let host =
        (0..450).fold(TestHost::new(), |host, number| host.file(&format!("src/f{number:03}.rs"), "fn open() {}\n"));
    let mut stage = Stage::<CodeSearch>::new(host);
    stage.call("code_search", &json!({ "name": "open" })).expect("an answer");
    let news: Vec<String> = stage.host.asked().into_iter().filter(|asked| asked.starts_with("events ")).collect();
    let expected = ["200 places in 200 files so far", "400 places in 400 files so far"];
    assert_eq!(news, expected.map(|news| format!("events tool-update test {news}")));
}

#[test]
fn places_are_there_for_programs_too() {
    let mut stage = Stage::<CodeSearch>::new(project());
    let result = stage.call("code_search", &json!({ "name": "open", "kind": "use" })).expect("an answer");
    let details: Value = serde_json::from_str(&result.output.details.expect("details")).expect("JSON");
    assert_eq!(details["found"][0]["file"], "src/main.rs");
}
