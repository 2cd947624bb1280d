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
    assert_eq!(
        search(project(), json!({ "name": "nothing" })),
        "nothing found: no line with nothing in the code that was looked into, 3 files"
    );
    assert_eq!(
        search(project(), json!({ "name": "store", "kind": "definition", "path": "src/store.rs" })),
        "nothing found: no line with store in the code that was looked into, 1 file"
    );
    assert_eq!(
        search(
            TestHost::new().file("a.c", "x = open(1);\ny = open(2);\n"),
            json!({ "name": "open", "kind": "definition" })
        ),
        "open is used in 2 places, and defined in none, as far as is seen: single lines do not show everything; try any kind"
    );
    assert_eq!(
        search(TestHost::new().file("a.rs", "fn open() {}\n"), json!({ "name": "open", "kind": "use" })),
        "open is defined in 1 place, and used in none, as far as is seen: single lines do not show everything; try any kind"
    );
    assert_eq!(search(project(), json!({ "name": "open", "path": "lib" })), "not_found: there is nothing at lib");
    assert_eq!(
        search(project(), json!({ "name": "a b" })),
        "bad_input: name: expected letters, digits and underscores"
    );
    assert!(search(project(), json!({})).starts_with("bad_input: missing field `name`"));
    assert_eq!(search(project().denies("fs"), json!({ "name": "open" })), "host: fs is denied");
}

#[test]
fn definitions_of_every_language_are_found() {
    for (file, line, name, kind) in [
        ("a.go", "func (s *Server) Serve(l net.Listener) error {", "Serve", "function"),
        ("a.c", "int parse_line(char*)", "parse_line", "function"),
        ("a.ts", "async fetchAll() {", "fetchAll", "function"),
        ("a.ts", "load() {", "load", "function"),
        ("a.py", "LIMIT = 3", "LIMIT", "value"),
        ("a.rs", "union U {", "U", "type"),
    ] {
        let found = search(TestHost::new().file(file, line), json!({ "name": name, "kind": "definition" }));
        assert_eq!(found, format!("{file}:1: {kind}: {line}"));
    }
}

#[test]
fn what_is_not_looked_into_is_named() {
    let long = format!("int open(void);\n{}", " ".repeat(1 << 20));
    let host = || project().file("src/big.c", &long);
    let found = search(host(), json!({ "name": "open", "path": "src" }));
    let expected = "src/store.rs:2: function: pub fn open() {}\n\
                    src/main.rs:2: use: fn main() { store::open(); }\n\
                    … not looked into: src/big.c: larger than 1 MiB";
    assert_eq!(found, expected);
    let mut stage = Stage::<CodeSearch>::new(host());
    let result = stage.call("code_search", &json!({ "name": "open", "path": "src" })).expect("an answer");
    let details: Value = serde_json::from_str(&result.output.details.expect("details")).expect("JSON");
    assert_eq!((&details["cut"], &details["left_out"]), (&json!(true), &json!(["src/big.c: larger than 1 MiB"])));
    let readme = "nothing found: no line with open in the code that was looked into, 0 files\n\
                  … not looked into: README.md: in no language that is known here";
    assert_eq!(search(project(), json!({ "name": "open", "path": "README.md" })), readme);
}

#[test]
fn root_of_all_files_is_not_the_project() {
    let found = search(project(), json!({ "name": "open", "path": "/" }));
    assert!(!found.contains("store.rs"), "{found}");
    assert!(search(project(), json!({ "name": "open", "path": ".//" })).contains("src/store.rs:2"));
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
