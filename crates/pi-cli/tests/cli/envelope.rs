//! `pi envelope`: validate, diff and stats, with good and bad files.

use insta::assert_snapshot;

use crate::world::{BAD, GOOD, LATER, World};

fn world() -> World {
    World::new().with("good.json", GOOD).with("later.json", LATER).with("bad.json", BAD)
}

#[test]
fn valid_file_is_named() {
    assert_snapshot!(world().run("envelope validate good.json"), @r"
    valid    good.json
    --- exit 0
    ");
}

#[test]
fn invalid_file_is_explained_with_paths() {
    assert_snapshot!(world().run("envelope validate good.json bad.json"), @r#"
    valid    good.json
    invalid  bad.json
             messages[0].role: expected one of "system", "user", "assistant", "tool", found "robot"
             messages[0].segments: expected at least 1 item, found 0
    2 documents in 2 files: 1 file valid, 1 invalid
    --- on standard error
    hint: `pi schema envelope` prints what is expected
    --- exit 1
    "#);
}

#[test]
fn quiet_shows_only_what_is_wrong() {
    assert_snapshot!(world().run("envelope validate --quiet good.json bad.json"), @r#"
    invalid  bad.json
             messages[0].role: expected one of "system", "user", "assistant", "tool", found "robot"
             messages[0].segments: expected at least 1 item, found 0
    2 documents in 2 files: 1 file valid, 1 invalid
    --- on standard error
    hint: `pi schema envelope` prints what is expected
    --- exit 1
    "#);
    assert_snapshot!(world().run("envelope validate --quiet good.json"), @r"--- exit 0");
}

#[test]
fn machine_reads_one_object_per_file() {
    assert_snapshot!(world().run("envelope validate --json good.json bad.json gone.json"), @r#"
    {"file":"good.json","valid":true,"errors":[]}
    {"file":"bad.json","valid":false,"errors":[{"path":"messages[0].role","message":"expected one of \"system\", \"user\", \"assistant\", \"tool\", found \"robot\""},{"path":"messages[0].segments","message":"expected at least 1 item, found 0"}]}
    {"file":"gone.json","valid":false,"errors":[{"path":"","message":"cannot read gone.json: No such file or directory (os error 2)"}]}
    --- exit 1
    "#);
}

#[test]
fn one_document_per_line_is_told_by_its_line() {
    let line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let world = world().with("all.jsonl", format!("{}\n\n{}\n{{\n{}", line(GOOD), BAD, line(LATER)));
    assert_snapshot!(world.run("envelope validate all.jsonl"), @r#"
    invalid  all.jsonl
             line 3: messages[0].role: expected one of "system", "user", "assistant", "tool", found "robot"
             line 3: messages[0].segments: expected at least 1 item, found 0
             line 4: not JSON: the text ends too early at column 1
    4 documents in 1 file: 0 files valid, 1 invalid
    --- on standard error
    hint: correct the JSON at that place
    hint: `pi schema envelope` prints what is expected
    --- exit 1
    "#);
    assert_snapshot!(world.run("envelope validate --json all.jsonl"), @r#"
    {"file":"all.jsonl","valid":false,"errors":[{"line":3,"path":"messages[0].role","message":"expected one of \"system\", \"user\", \"assistant\", \"tool\", found \"robot\""},{"line":3,"path":"messages[0].segments","message":"expected at least 1 item, found 0"},{"line":4,"path":"","message":"not JSON: the text ends too early at column 1"}]}
    --- exit 1
    "#);
    assert_snapshot!(world.run("envelope stats --json all.jsonl"), @r#"
    {"file":"all.jsonl","line":1,"stats":{"messages":2,"total":{"segments":3,"tokens":16,"characters":59,"bytes":59,"share":1.0},"byKind":{"memory":{"segments":1,"tokens":5,"characters":18,"bytes":18,"share":0.3125},"system_prompt":{"segments":1,"tokens":8,"characters":30,"bytes":30,"share":0.5},"text":{"segments":1,"tokens":3,"characters":11,"bytes":11,"share":0.1875}},"byRole":{"system":{"segments":2,"tokens":13,"characters":48,"bytes":48,"share":0.8125},"user":{"segments":1,"tokens":3,"characters":11,"bytes":11,"share":0.1875}},"byOrigin":{"unknown":{"segments":3,"tokens":16,"characters":59,"bytes":59,"share":1.0}},"byCount":{"estimated":16}}}
    {"file":"all.jsonl","valid":false,"errors":[{"line":3,"path":"messages[0].role","message":"expected one of \"system\", \"user\", \"assistant\", \"tool\", found \"robot\""},{"line":3,"path":"messages[0].segments","message":"expected at least 1 item, found 0"}]}
    {"file":"all.jsonl","valid":false,"errors":[{"line":4,"path":"","message":"not JSON: the text ends too early at column 1"}]}
    {"file":"all.jsonl","line":5,"stats":{"messages":3,"total":{"segments":4,"tokens":18,"characters":69,"bytes":69,"share":1.0},"byKind":{"memory":{"segments":1,"tokens":5,"characters":20,"bytes":20,"share":0.2777777777777778},"system_prompt":{"segments":1,"tokens":8,"characters":30,"bytes":30,"share":0.4444444444444444},"text":{"segments":2,"tokens":5,"characters":19,"bytes":19,"share":0.2777777777777778}},"byRole":{"assistant":{"segments":1,"tokens":2,"characters":8,"bytes":8,"share":0.1111111111111111},"system":{"segments":2,"tokens":13,"characters":50,"bytes":50,"share":0.7222222222222222},"user":{"segments":1,"tokens":3,"characters":11,"bytes":11,"share":0.16666666666666666}},"byOrigin":{"unknown":{"segments":4,"tokens":18,"characters":69,"bytes":69,"share":1.0}},"byCount":{"estimated":18}}}
    --- exit 1
    "#);
}

#[test]
fn folder_stands_for_its_files() {
    let world =
        World::new().with("f/b.json", GOOD).with("f/a/x.JSONL", BAD).with("f/.c.json", "x").with("f/n.txt", "x");
    assert_snapshot!(world.run("envelope validate f"), @r#"
    invalid  f/a/x.JSONL
             line 1: messages[0].role: expected one of "system", "user", "assistant", "tool", found "robot"
             line 1: messages[0].segments: expected at least 1 item, found 0
    valid    f/b.json
    2 documents in 2 files: 1 file valid, 1 invalid
    --- on standard error
    hint: `pi schema envelope` prints what is expected
    --- exit 1
    "#);
}

#[test]
fn standard_input_is_a_dash() {
    assert_snapshot!(world().run_with_input("envelope validate --json -", BAD), @r#"
    {"file":"-","valid":false,"errors":[{"path":"messages[0].role","message":"expected one of \"system\", \"user\", \"assistant\", \"tool\", found \"robot\""},{"path":"messages[0].segments","message":"expected at least 1 item, found 0"}]}
    --- exit 1
    "#);
    assert_snapshot!(world().run_with_input("envelope validate --jsonl -", "{}\n[]"), @r"
    invalid  -
             line 1: version: required member is missing
             line 1: messages: required member is missing
             line 2: expected an object, found an array
    2 documents in 1 file: 0 files valid, 1 invalid
    --- on standard error
    hint: `pi schema envelope` prints what is expected
    --- exit 1
    ");
    assert_snapshot!(world().run("envelope validate - -"), @r"
    --- on standard error
    error: standard input can be read only once
    hint: write `-` once, or save the input to a file
    --- exit 2
    ");
}

#[test]
fn many_faults_are_cut_for_people_only() {
    let messages = [r#"{"id":1}"#; 12].join(",");
    let world = World::new().with("many.json", format!(r#"{{"version":"1.0","messages":[{messages}]}}"#));
    let shown = world.run("envelope validate many.json");
    assert_eq!(shown.lines().filter(|line| line.starts_with("         messages[")).count(), 20, "{shown}");
    assert!(shown.contains("         and 28 more; --json shows all\n"), "{shown}");
    let machine = world.run("envelope validate --json many.json");
    assert_eq!(machine.matches("\"path\"").count(), 48, "{machine}");
}

#[test]
fn control_characters_of_a_file_do_not_reach_the_terminal() {
    let world = World::new().with("x.json", "{\"version\":\"\\u001b[31m\",\"messages\":[]}");
    assert_snapshot!(world.run("envelope validate x.json"), @r#"
    invalid  x.json
             version: expected one of "1.0", found "\u{1b}[31m"
             messages: expected at least 1 item, found 0
    --- on standard error
    hint: `pi schema envelope` prints what is expected
    --- exit 1
    "#);
}

#[test]
fn diff_shows_segments_tokens_and_the_cache_break() {
    assert_snapshot!(world().run("envelope diff good.json later.json"), @r"
    = 1 unchanged
    ~ memory            system    messages[0].segments[1]  (~AGENTS.md)
    = 1 unchanged
    + text              assistant messages[2].segments[0]  +2
    1 added, 0 removed, 1 changed, 0 moved, 2 unchanged; 16 -> 18 tokens
    same beginning: 1 segment, 8 tokens
    cache breaks at segment 1: memory messages[0].segments[1] changed: ~AGENTS.md; 3 unchanged tokens behind it are sent anew
    --- exit 1
    ");
    assert_snapshot!(world().run("envelope diff --json good.json later.json"), @r#"
    {"before":"good.json","after":"later.json","equal":false,"changes":[{"what":"unchanged","kind":"system_prompt","role":"system","before":{"message":0,"segment":0},"after":{"message":0,"segment":0},"tokens":0},{"what":"changed","kind":"memory","role":"system","before":{"message":0,"segment":1},"after":{"message":0,"segment":1},"tokens":0,"items":{"added":[],"removed":[],"changed":["AGENTS.md"]}},{"what":"unchanged","kind":"text","role":"user","before":{"message":1,"segment":0},"after":{"message":1,"segment":0},"tokens":0},{"what":"added","kind":"text","role":"assistant","after":{"message":2,"segment":0},"tokens":2}],"summary":{"added":1,"removed":0,"changed":1,"moved":0,"unchanged":2,"tokensBefore":16,"tokensAfter":18},"prefix":1,"prefixTokens":8,"cacheBreak":{"index":1,"cause":{"type":"segment","change":{"what":"changed","kind":"memory","role":"system","before":{"message":0,"segment":1},"after":{"message":0,"segment":1},"tokens":0,"items":{"added":[],"removed":[],"changed":["AGENTS.md"]}}},"tokensLost":3}}
    --- exit 1
    "#);
    assert_snapshot!(world().run("--color always envelope diff good.json later.json"), @r"
    ␛[2m= 1 unchanged␛[0m
    ␛[33m~ ␛[0m␛[38;5;71mmemory␛[0m␛[33m            system    messages[0].segments[1]  (~AGENTS.md)␛[0m
    ␛[2m= 1 unchanged␛[0m
    ␛[32m+ ␛[0m␛[38;5;75mtext␛[0m␛[32m              assistant messages[2].segments[0]  +2␛[0m
    1 added, 0 removed, 1 changed, 0 moved, 2 unchanged; 16 -> 18 tokens
    same beginning: 1 segment, 8 tokens
    ␛[1mcache breaks at segment 1: memory messages[0].segments[1] changed: ~AGENTS.md; 3 unchanged tokens behind it are sent anew␛[0m
    --- exit 1
    ");
}

#[test]
fn diff_of_equal_envelopes_is_a_success() {
    assert_snapshot!(world().run("envelope diff good.json good.json"), @r"
    = 3 unchanged
    0 added, 0 removed, 0 changed, 0 moved, 3 unchanged; 16 -> 16 tokens
    same beginning: 3 segments, 16 tokens
    --- exit 0
    ");
    assert_snapshot!(world().run_with_input("envelope diff --json good.json -", GOOD), @r#"
    {"before":"good.json","after":"-","equal":true,"changes":[{"what":"unchanged","kind":"system_prompt","role":"system","before":{"message":0,"segment":0},"after":{"message":0,"segment":0},"tokens":0},{"what":"unchanged","kind":"memory","role":"system","before":{"message":0,"segment":1},"after":{"message":0,"segment":1},"tokens":0},{"what":"unchanged","kind":"text","role":"user","before":{"message":1,"segment":0},"after":{"message":1,"segment":0},"tokens":0}],"summary":{"added":0,"removed":0,"changed":0,"moved":0,"unchanged":3,"tokensBefore":16,"tokensAfter":16},"prefix":3,"prefixTokens":16}
    --- exit 0
    "#);
}

#[test]
fn diff_of_other_models_is_a_difference() {
    let world = world().with("other.json", GOOD.replace("demo", "other"));
    assert_snapshot!(world.run("envelope diff good.json other.json"), @r"
    = 3 unchanged
    0 added, 0 removed, 0 changed, 0 moved, 3 unchanged; 16 -> 16 tokens
    same beginning: 0 segments, 0 tokens
    cache breaks at segment 0: the model changed from demo to other; 16 unchanged tokens behind it are sent anew
    --- exit 1
    ");
}

#[test]
fn diff_needs_two_envelopes() {
    assert_snapshot!(world().run("envelope diff good.json bad.json"), @r#"
    --- on standard error
    error: bad.json is not a valid envelope
      messages[0].role: expected one of "system", "user", "assistant", "tool", found "robot"
      messages[0].segments: expected at least 1 item, found 0
    hint: `pi schema envelope` prints what is expected
    --- exit 2
    "#);
    assert_snapshot!(world().run("envelope diff good.json gone.json"), @r"
    --- on standard error
    error: cannot read gone.json: No such file or directory (os error 2)
    hint: check the name; `-` reads standard input
    --- exit 2
    ");
    assert_snapshot!(world().run("envelope diff . good.json"), @r"
    --- on standard error
    error: . is a folder
    hint: name a file in it
    --- exit 2
    ");
    assert_snapshot!(world().run("envelope diff - -"), @r"
    --- on standard error
    error: standard input can be read only once
    hint: write `-` once, or save the input to a file
    --- exit 2
    ");
}

#[test]
fn stats_are_bars_or_json() {
    assert_snapshot!(world().run("envelope stats good.json"), @r"
    good.json  demo, 2 messages, 3 segments, 16 tokens
      system_prompt     ███████████████░░░░░░░░░░░░░░░  50.0 %        8 tokens  1 segment
      memory            █████████▍░░░░░░░░░░░░░░░░░░░░  31.2 %        5 tokens  1 segment
      text              █████▋░░░░░░░░░░░░░░░░░░░░░░░░  18.8 %        3 tokens  1 segment
      by role: system 81.2 %, user 18.8 %
      by origin: unknown 100.0 %
      tokens: 16 estimated
    --- exit 0
    ");
    assert_snapshot!(world().run("envelope stats --json good.json"), @r#"
    {"file":"good.json","stats":{"messages":2,"total":{"segments":3,"tokens":16,"characters":59,"bytes":59,"share":1.0},"byKind":{"memory":{"segments":1,"tokens":5,"characters":18,"bytes":18,"share":0.3125},"system_prompt":{"segments":1,"tokens":8,"characters":30,"bytes":30,"share":0.5},"text":{"segments":1,"tokens":3,"characters":11,"bytes":11,"share":0.1875}},"byRole":{"system":{"segments":2,"tokens":13,"characters":48,"bytes":48,"share":0.8125},"user":{"segments":1,"tokens":3,"characters":11,"bytes":11,"share":0.1875}},"byOrigin":{"unknown":{"segments":3,"tokens":16,"characters":59,"bytes":59,"share":1.0}},"byCount":{"estimated":16}}}
    --- exit 0
    "#);
    assert_snapshot!(world().run("--color always envelope stats good.json"), @r"
    ␛[1mgood.json␛[0m  demo, 2 messages, 3 segments, 16 tokens
      ␛[38;5;135msystem_prompt    ␛[0m ␛[38;5;135m███████████████␛[0m␛[2m░░░░░░░░░░░░░░░␛[0m  50.0 %        8 tokens  1 segment
      ␛[38;5;71mmemory           ␛[0m ␛[38;5;71m█████████▍␛[0m␛[2m░░░░░░░░░░░░░░░░░░░░␛[0m  31.2 %        5 tokens  1 segment
      ␛[38;5;75mtext             ␛[0m ␛[38;5;75m█████▋␛[0m␛[2m░░░░░░░░░░░░░░░░░░░░░░░░␛[0m  18.8 %        3 tokens  1 segment
      ␛[2mby role␛[0m: system 81.2 %, user 18.8 %
      ␛[2mby origin␛[0m: unknown 100.0 %
      ␛[2mtokens␛[0m: 16 estimated
    --- exit 0
    ");
}

#[test]
fn stats_show_what_the_provider_did() {
    let marked = GOOD
        .replace("project.\"", "project.\",\"meta\":{\"cache\":\"cached\"}")
        .replace("tabs.\"}]", "tabs.\"}],\"meta\":{\"cache\":\"written\"}")
        .replace("there\"", "there\",\"meta\":{\"cache\":\"uncached\"}");
    let with_usage = |text: &str, input: u64| {
        let cost = r#"{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}"#;
        let usage =
            format!(r#"{{"input":{input},"output":9,"cacheRead":8,"cacheWrite":6,"totalTokens":27,"cost":{cost}}}"#);
        text.replace("\"demo\"", &format!(r#""demo","meta":{{"usage":{usage}}}"#))
    };
    let world = World::new()
        .with("all.json", with_usage(&marked, 4))
        .with("some.json", with_usage(&GOOD.replace("there\"", "there\",\"meta\":{\"cache\":\"uncached\"}"), 1))
        .with("count.json", with_usage(GOOD, 2));
    assert_snapshot!(world.run("envelope stats all.json"), @r"
    all.json  demo, 2 messages, 3 segments, 16 tokens
      system_prompt     ███████████████░░░░░░░░░░░░░░░  50.0 %        8 tokens  1 segment
      memory            █████████▍░░░░░░░░░░░░░░░░░░░░  31.2 %        5 tokens  1 segment
      text              █████▋░░░░░░░░░░░░░░░░░░░░░░░░  18.8 %        3 tokens  1 segment
      cache             ━━━━━━━━━━━━━━━╍╍╍╍╍╍╍╍╍┄┄┄┄┄┄  ━ 8 cached, ╍ 5 written, ┄ 3 uncached
      by role: system 81.2 %, user 18.8 %
      by origin: unknown 100.0 %
      tokens: 16 estimated
      provider: 18 tokens sent, 2 more than the segments have
    --- exit 0
    ");
    assert_snapshot!(world.run("envelope stats some.json"), @r"
    some.json  demo, 2 messages, 3 segments, 16 tokens
      system_prompt     ███████████████░░░░░░░░░░░░░░░  50.0 %        8 tokens  1 segment
      memory            █████████▍░░░░░░░░░░░░░░░░░░░░  31.2 %        5 tokens  1 segment
      text              █████▋░░░░░░░░░░░░░░░░░░░░░░░░  18.8 %        3 tokens  1 segment
      cache             ┄┄┄┄┄┄························  ┄ 3 uncached, · 13 unknown
      by role: system 81.2 %, user 18.8 %
      by origin: unknown 100.0 %
      tokens: 16 estimated
      provider: 15 tokens sent, 1 fewer than the segments have
    --- exit 0
    ");
    assert_snapshot!(world.run("envelope stats count.json"), @r"
    count.json  demo, 2 messages, 3 segments, 16 tokens
      system_prompt     ███████████████░░░░░░░░░░░░░░░  50.0 %        8 tokens  1 segment
      memory            █████████▍░░░░░░░░░░░░░░░░░░░░  31.2 %        5 tokens  1 segment
      text              █████▋░░░░░░░░░░░░░░░░░░░░░░░░  18.8 %        3 tokens  1 segment
      by role: system 81.2 %, user 18.8 %
      by origin: unknown 100.0 %
      tokens: 16 estimated
      provider: 16 tokens sent, as many as the segments have
    --- exit 0
    ");
    let machine = world.run("envelope stats --json all.json");
    let end = r#"},"cache":{"cached":8,"written":5,"uncached":3,"unknown":0},"sent":{"tokens":18,"residual":2}}"#;
    assert!(machine.contains(end), "{machine}");
}

#[test]
fn stats_pass_over_what_is_no_envelope() {
    assert_snapshot!(world().run("envelope stats --json bad.json good.json gone.json"), @r#"
    {"file":"bad.json","valid":false,"errors":[{"path":"messages[0].role","message":"expected one of \"system\", \"user\", \"assistant\", \"tool\", found \"robot\""},{"path":"messages[0].segments","message":"expected at least 1 item, found 0"}]}
    {"file":"good.json","stats":{"messages":2,"total":{"segments":3,"tokens":16,"characters":59,"bytes":59,"share":1.0},"byKind":{"memory":{"segments":1,"tokens":5,"characters":18,"bytes":18,"share":0.3125},"system_prompt":{"segments":1,"tokens":8,"characters":30,"bytes":30,"share":0.5},"text":{"segments":1,"tokens":3,"characters":11,"bytes":11,"share":0.1875}},"byRole":{"system":{"segments":2,"tokens":13,"characters":48,"bytes":48,"share":0.8125},"user":{"segments":1,"tokens":3,"characters":11,"bytes":11,"share":0.1875}},"byOrigin":{"unknown":{"segments":3,"tokens":16,"characters":59,"bytes":59,"share":1.0}},"byCount":{"estimated":16}}}
    {"file":"gone.json","valid":false,"errors":[{"path":"","message":"cannot read gone.json: No such file or directory (os error 2)"}]}
    --- exit 1
    "#);
    let again = world().with("again.json", "[]");
    assert_snapshot!(again.run("envelope stats again.json again.json"), @r"
    --- on standard error
    error: again.json is not a valid envelope
      expected an object, found an array
    hint: `pi schema envelope` prints what is expected
    error: again.json is not a valid envelope
      expected an object, found an array
    --- exit 1
    ");
    assert_snapshot!(world().run("envelope stats bad.json"), @r#"
    --- on standard error
    error: bad.json is not a valid envelope
      messages[0].role: expected one of "system", "user", "assistant", "tool", found "robot"
      messages[0].segments: expected at least 1 item, found 0
    hint: `pi schema envelope` prints what is expected
    --- exit 1
    "#);
}

#[test]
fn a_page_is_written_and_named() {
    let world = world();
    assert_snapshot!(world.run("envelope view good.json later.json -o page.html --no-open"), @r"
    page.html
    --- exit 0
    ");
    let page = world.read("page.html");
    assert!(page.contains("Content-Security-Policy"), "{page}");
    assert!(page.contains("good.json") && page.contains("later.json"), "{page}");
    assert_snapshot!(world.run("envelope view good.json -o page.html --no-open"), @r"
    --- on standard error
    error: page.html exists already
    hint: choose another name, or write over it with --force
    --- exit 2
    ");
}

#[test]
fn an_invalid_file_is_shown_as_well() {
    assert_snapshot!(world().run("envelope view bad.json -o page.html --no-open"), @r"
    page.html
    --- exit 1
    ");
}

#[test]
fn nothing_in_a_file_gets_out_of_its_place_in_the_page() {
    let evil = GOOD.replace("Hello", "</script><script>alert(1)</script>Hello");
    let world = World::new().with("evil.json", format!("{evil}</script><script>alert(2)</script>"));
    world.run("envelope view evil.json -o page.html --no-open");
    let page = world.read("page.html");
    assert!(!page.contains("<script>alert"), "{page}");
}
