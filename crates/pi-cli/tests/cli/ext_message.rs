//! `pi ext-message validate`, and the files that are hard to read, which all commands share.

use insta::assert_snapshot;

use crate::world::World;

const CALL: &str =
    r#"{"id":"1","version":"1.0","type":"tool_call","payload":{"call_id":"c","name":"grep","input":{},"context":{}}}"#;
const WRONG: &str = r#"{"id":"1","version":"2.0","type":"tool_call","payload":{"call_id":7}}"#;

#[test]
fn messages_are_checked_line_by_line() {
    let world = World::new().with("trace.jsonl", format!("{CALL}\n{WRONG}\n")).with("one.json", CALL);
    assert_snapshot!(world.run("ext-message validate one.json"), @r"
    valid    one.json
    --- exit 0
    ");
    assert_snapshot!(world.run("ext-message validate trace.jsonl one.json"), @r#"
    invalid  trace.jsonl
             line 2: version: expected one of "1.0", found "2.0"
             line 2: payload.call_id: expected a string, found 7
             line 2: payload.name: required member is missing
             line 2: payload.input: required member is missing
    valid    one.json
    3 documents in 2 files: 1 file valid, 1 invalid
    --- on standard error
    hint: `pi schema extension` prints what is expected
    --- exit 1
    "#);
    assert_snapshot!(world.run("ext-message validate --json trace.jsonl"), @r#"
    {"file":"trace.jsonl","valid":false,"errors":[{"line":2,"path":"version","message":"expected one of \"1.0\", found \"2.0\""},{"line":2,"path":"payload.call_id","message":"expected a string, found 7"},{"line":2,"path":"payload.name","message":"required member is missing"},{"line":2,"path":"payload.input","message":"required member is missing"}]}
    --- exit 1
    "#);
}

#[test]
fn hard_files_get_clear_answers() {
    let world = World::new()
        .with("empty.json", "")
        .with("blank.json", " \n")
        .with("empty.jsonl", "\n\n")
        .with("mark.json", "\u{feff}{}")
        .with("binary.json", b"{\"id\":\"\xff\"}")
        .with("cut.json", &CALL[..40])
        .with("list.json", "[1]");
    assert_snapshot!(world.run("ext-message validate empty.json blank.json empty.jsonl mark.json binary.json cut.json list.json"), @r"
    invalid  empty.json
             the document: empty: there is no document
    invalid  blank.json
             the document: empty: there is no document
    invalid  empty.jsonl
             the document: empty: there is no document
    invalid  mark.json
             the document: begins with a byte order mark, which JSON has not
    invalid  binary.json
             the document: not UTF-8 at byte 7
    invalid  cut.json
             the document: not JSON: the text ends too early at line 1, column 40
    invalid  list.json
             the document: expected an object, found an array
    7 documents in 7 files: 0 files valid, 7 invalid
    --- on standard error
    hint: check what was to write it, and whether it ended early
    hint: save it as UTF-8 without a byte order mark
    hint: save it as UTF-8
    hint: correct the JSON at that place
    hint: `pi schema extension` prints what is expected
    --- exit 1
    ");
}

#[test]
fn file_that_cannot_be_read_is_not_valid() {
    let world = World::new().with("folder/notes.txt", "x").with("one.json", CALL);
    assert_snapshot!(world.run("ext-message validate one.json gone.json"), @r"
    valid    one.json
    1 document in 2 files: 1 file valid, 1 not read
    --- on standard error
    error: cannot read gone.json: No such file or directory (os error 2)
    hint: check the name; `-` reads standard input
    --- exit 1
    ");
    assert_snapshot!(world.run("ext-message validate --json gone.json one.json"), @r#"
    {"file":"gone.json","valid":false,"errors":[{"path":"","message":"cannot read gone.json: No such file or directory (os error 2)"}]}
    {"file":"one.json","valid":true,"errors":[]}
    --- exit 1
    "#);
    assert_snapshot!(world.run("ext-message validate folder"), @r"
    --- on standard error
    error: folder contains no .json or .jsonl file
    hint: name the files, or a folder that holds some
    --- exit 1
    ");
}

#[test]
fn code_tells_whether_every_file_is_valid_and_2_is_wrong_use() {
    let world = World::new().with("good.json", CALL).with("wrong.json", WRONG).with("folder/notes.txt", "x");
    for (arguments, expected) in [
        ("good.json", 0),
        ("gone.json", 1),
        ("wrong.json gone.json", 1),
        ("gone.json wrong.json", 1),
        ("good.json gone.json", 1),
        ("good.json folder", 1),
        ("", 2),
        ("- -", 2),
        ("--loud good.json", 2),
        ("--json --quiet good.json", 2),
    ] {
        for flag in ["", "--json"].into_iter().filter(|flag| flag.is_empty() || !arguments.contains(flag)) {
            let shown = world.run(&format!("ext-message validate {flag} {arguments}"));
            assert!(shown.ends_with(&format!("--- exit {expected}")), "{flag} {arguments}: {shown}");
            assert!(
                flag.is_empty() || expected == 2 || shown.contains("\"valid\":false") == (expected == 1),
                "{shown}"
            );
        }
    }
}

#[test]
fn folder_that_gives_nothing_does_not_stop_the_others() {
    let world = World::new().with("folder/notes.txt", "x").with("one.json", CALL);
    assert_snapshot!(world.run("ext-message validate folder one.json one.json/x gone.json"), @r"
    valid    one.json
    1 document in 4 files: 1 file valid, 3 not read
    --- on standard error
    error: folder contains no .json or .jsonl file
    hint: name the files, or a folder that holds some
    error: cannot read one.json/x: Not a directory (os error 20)
    hint: check the name; `-` reads standard input
    error: cannot read gone.json: No such file or directory (os error 2)
    --- exit 1
    ");
    assert_snapshot!(world.run("ext-message validate --json folder one.json"), @r#"
    {"file":"folder","valid":false,"errors":[{"path":"","message":"folder contains no .json or .jsonl file"}]}
    {"file":"one.json","valid":true,"errors":[]}
    --- exit 1
    "#);
}

#[test]
fn huge_file_is_refused_before_it_is_read() {
    assert_snapshot!(World::new().with_hole("huge.json", 300 << 20).run("ext-message validate huge.json"), @r"
    --- on standard error
    error: huge.json is larger than 256 MiB
    hint: write one document per line into a .jsonl file, which is read line by line
    --- exit 1
    ");
}
