//! Replacements on text; files are in `tests/edit.rs`.

use proptest::prelude::*;

use super::*;

fn replace(old: &str, edits: &[(&str, &str)]) -> Result<String, String> {
    let edits: Vec<Replacement> = edits
        .iter()
        .map(|(old, new)| Replacement { old_text: (*old).to_owned(), new_text: (*new).to_owned() })
        .collect();
    apply(old, &edits, "f").map_err(|failure| failure.text)
}

#[track_caller]
fn check(old: &str, edits: &[(&str, &str)], expected: &str) {
    assert_eq!(replace(old, edits).as_deref(), Ok(expected), "{old:?} {edits:?}");
}

#[test]
fn exact_text_is_replaced() {
    check("a b c", &[("b", "x")], "a x c");
    check("1\n2\n3\n", &[("2\n", "")], "1\n3\n");
    check("1\n2\n3\n", &[("1", "one"), ("3", "three")], "one\n2\nthree\n");
    check("1\n2\n3\n", &[("3", "three"), ("1", "one")], "one\n2\nthree\n");
    // Looked up in the original: the second does not see what the first made.
    check("a b", &[("a", "b"), ("b", "a")], "b a");
}

#[test]
fn breaks_and_mark_of_the_file_stay() {
    check("\u{feff}a\r\nb\r\n", &[("a", "x")], "\u{feff}x\r\nb\r\n");
    check("a\r\nb\r\nc\r\n", &[("a\nb", "x\ny\nz")], "x\r\ny\r\nz\r\nc\r\n");
    check("a\r\nb\nc\r\n", &[("a\nb\nc\n", "a\nB\nc\n")], "a\r\nB\nc\r\n");
    check("a\r\nb\nc\r\n", &[("b", "b\nb2")], "a\r\nb\nb2\nc\r\n");
    check("a\nb\r\nc\n", &[("b\n", "b\nnew\n")], "a\nb\r\nnew\r\nc\n");
    check("a\r\nb", &[("b", "b\nc")], "a\r\nb\r\nc");
    check("one line", &[("line", "line\nmore")], "one line\nmore");
    // Quoted with the breaks of the file.
    check("a\r\nb\r\n", &[("a\r\nb", "a\r\nc")], "a\r\nc\r\n");
}

#[test]
fn what_looks_the_same_is_found_and_the_rest_left_alone() {
    check("say “hi” – now\nkeep “this”\n", &[("say \"hi\" - now", "say \"ho\"")], "say \"ho\"\nkeep “this”\n");
    check("a  \nb\t\nc\n", &[("a\nb\nc", "a\nx\nc")], "a  \nx\nc\n");
    check("f(\u{a0}x )\n", &[("f( x )", "f(y)")], "f(y)\n");
    check("e\u{301}te\u{301} x\n", &[("été x", "hiver")], "hiver\n");
    check("ﬁn “q”\n", &[("fin \"q\"", "end")], "end\n");
    // Blanks behind the place are not part of it, unless they were quoted.
    check("“a”   \nb\n", &[("\"a\"", "c")], "c   \nb\n");
    check("“a”   \nb\n", &[("\"a\" ", "c")], "c\nb\n");
    check("“a” = 5\n", &[("\"a\" = ", "b = ")], "b = 5\n");
    // Context lines that were quoted loosely stay as they are.
    check(
        "“one”\n“two”\n“three”\n",
        &[("\"one\"\n\"two\"\n\"three\"", "\"one\"\n2\n\"three\"")],
        "“one”\n2\n“three”\n",
    );
}

#[test]
fn exact_place_wins_over_those_that_look_the_same() {
    check("x = “a”\nx = \"a\"\n", &[("x = \"a\"", "y")], "x = “a”\ny\n");
}

#[test]
fn unclear_quotation_is_refused_with_a_reason() {
    let exactly = "It must be copied exactly from the file, with all blanks and line breaks.";
    let once = "It must occur only once: quote more of the text around it.";
    for (old, edits, expected) in [
        ("a", &[("", "x")][..], "oldText is empty, so it has no place in f".to_owned()),
        ("a", &[("b", "x")], format!("Could not find the text of oldText in f. {exactly}")),
        (
            "if x {\n\ty\n}",
            &[("y\n", "z"), ("if x {\n  y\n}", "w")],
            format!("Could not find the text of edits[1] in f. {exactly} Its first line is like line 1 of the file."),
        ),
        (
            "a\na\n",
            &[("a", "b")],
            format!("Found 2 occurrences of the text of oldText in f, for example in line 1, 2. {once}"),
        ),
        (
            "“a”\n“a”\n",
            &[("\"a\"", "b")],
            format!("Found 2 occurrences of the text of oldText in f, for example in line 1, 2. {once}"),
        ),
        (
            "aba\naba",
            &[("a\na", "x"), ("aba", "y")],
            format!("Found 2 occurrences of the text of edits[1] in f, for example in line 1, 2. {once}"),
        ),
        ("ababa", &[("aba", "x")], format!("Found 2 occurrences of the text of oldText in f, all in line 1. {once}")),
        (
            "abc",
            &[("ab", "x"), ("bc", "y")],
            "edits[0] and edits[1] overlap in f: make one replacement of them".to_owned(),
        ),
        ("a", &[("a", "a")], "Nothing would change in f: each newText is what is there already".to_owned()),
        ("a\u{a0}\n", &[("  ", "b")], format!("Could not find the text of oldText in f. {exactly}")),
        // Half of a character is no place.
        ("ﬁn", &[("in", "x")], format!("Could not find the text of oldText in f. {exactly}")),
    ] {
        assert_eq!(replace(old, edits), Err(expected), "{old:?} {edits:?}");
    }
}

#[test]
fn difference_is_shown_with_numbers() {
    let old = (1..=12).map(|number| format!("l{number}\n")).collect::<String>();
    let new = old.replace("l6\n", "six\nsechs\n");
    let diff = diff::Diff::new(&old, &new, "f");
    assert_eq!(
        diff.shown,
        "    ...\n  2 l2\n  3 l3\n  4 l4\n  5 l5\n- 6 l6\n+ 6 six\n+ 7 sechs\n  7 l7\n  8 l8\n  9 l9\n 10 l10\n    ..."
    );
    assert_eq!(diff.first_changed_line, Some(6));
    assert_eq!(
        diff.patch,
        "--- a/f\n+++ b/f\n@@ -2,9 +2,10 @@\n l2\n l3\n l4\n l5\n-l6\n+six\n+sechs\n l7\n l8\n l9\n l10\n"
    );
}

/// Lines of signs that fold into each other, with all kinds of breaks.
fn lines() -> impl Strategy<Value = Vec<(String, &'static str)>> {
    let sign =
        prop::sample::select(vec!["a", "b", " ", "\t", "“", "\"", "–", "-", "é", "e\u{301}", "\u{a0}", "ﬁ", "fi"]);
    let line = prop::collection::vec(sign, 0..6).prop_map(|signs| signs.concat());
    let ending = prop::sample::select(vec!["\n", "\r\n"]);
    prop::collection::vec((line, ending), 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn untouched_lines_stay_byte_by_byte(lines in lines(), at in 0usize..12, count in 1usize..4, new in "[xyz\\n]{0,8}") {
        let at = at % lines.len();
        let count = count.min(lines.len() - at);
        // A quotation that begins with a break begins behind the blanks of its line.
        prop_assume!(!lines[at].0.trim().is_empty());
        let join = |lines: &[(String, &str)]| lines.iter().map(|(line, ending)| format!("{line}{ending}")).collect::<String>();
        let file = join(&lines);
        // Quoted as a model does: plain breaks, other quotes, no blanks at the ends.
        let quoted: String = lines[at..at + count]
            .iter()
            .map(|(line, _)| format!("{}\n", line.trim_end().replace('“', "\"").replace('–', "-").replace('\u{a0}', " ")))
            .collect();
        // What is quoted may stand somewhere else word by word; then that place is meant.
        let start = with_plain_breaks(&join(&lines[..at])).len();
        prop_assume!(with_plain_breaks(&file).match_indices(&quoted).all(|(place, _)| place == start));
        if let Ok(changed) = replace(&file, &[(&quoted, &new)]) {
            let (before, after) = (join(&lines[..at]), join(&lines[at + count..]));
            prop_assert!(changed.starts_with(&before), "{file:?} {quoted:?} {changed:?}");
            prop_assert!(changed.ends_with(&after), "{file:?} {quoted:?} {changed:?}");
            let middle = &changed[before.len()..changed.len() - after.len()];
            // Blank lines of the quotation that are wanted again keep their blanks.
            let bare = |text: &str| text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
            prop_assert_eq!(bare(middle), bare(&new));
        }
    }

    #[test]
    fn quotation_of_a_whole_line_finds_nothing_else(lines in lines(), at in 0usize..12) {
        let at = at % lines.len();
        let file: String = lines.iter().map(|(line, ending)| format!("{line}{ending}")).collect();
        let (line, _) = &lines[at];
        if let Ok(changed) = replace(&file, &[(line, "NEW")]) {
            prop_assert_eq!(changed.replacen("NEW", line, 1), file);
        }
    }
}

#[test]
fn byte_order_mark_is_in_the_patch_and_not_shown() {
    let diff = diff::Diff::new("\u{feff}a\nb\n", "\u{feff}x\nb\n", "f");
    assert_eq!(diff.shown, "-1 a\n+1 x\n 2 b");
    assert!(diff.patch.contains("-\u{feff}a\n+\u{feff}x\n"), "{}", diff.patch);
}
