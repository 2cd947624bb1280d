//! Markdown as it is drawn.

use pi_terminal::{Theme, markdown, text::line_width};

#[track_caller]
fn check(source: &str, room: usize, expected: &[&str]) {
    let lines = markdown::render(source, room, &Theme::plain());
    assert!(lines.iter().all(|line| line_width(line) <= room), "a line is too long: {lines:?}");
    let text: Vec<String> = lines.iter().map(|line| line.to_string().trim_end().to_owned()).collect();
    assert_eq!(text, expected, "{source:?}");
}

#[test]
fn paragraphs_are_broken_and_stand_apart() {
    check("one two three four\n\nfive", 10, &["one two", "three four", "", "five"]);
    check("a\nb", 10, &["a b"]);
    check("a  \nb", 10, &["a", "b"]);
}

#[test]
fn lists_are_marked_and_indented() {
    check("- a\n- b c d e f\n  - c", 8, &["• a", "• b c d", "  e f", "  ◦ c"]);
    check("3. x\n4. y", 20, &["3. x", "4. y"]);
    check("- [x] done\n- [ ] open", 20, &["• ☑ done", "• ☐ open"]);
    check("- a\n\n- b", 20, &["• a", "", "• b"]);
    check("- a\n\n  more\n", 20, &["• a", "", "  more"]);
    check("-\n- b", 20, &["•", "• b"]);
}

#[test]
fn code_keeps_its_lines() {
    check("```\nlet a;\n\n  b\n```", 20, &["  let a;", "", "    b"]);
    check("- x\n  ```\n  code\n  ```", 20, &["• x", "    code"]);
    check("```\nabcdefgh\n```", 6, &["  abcd", "  efgh"]);
    check("run `a b` now", 20, &["run a b now"]);
}

#[test]
fn quotes_have_an_edge() {
    check("> a b c d\n>\n> e", 8, &["│ a b c", "│ d", "│", "│ e"]);
    check("> - a\n> - b", 8, &["│ • a", "│ • b"]);
}

#[test]
fn tables_have_columns() {
    check("| a | bb |\n|---|---:|\n| ccc | d |", 20, &["a   │ bb", "────┼───", "ccc │  d"]);
    check("| a |\n|---|\n| 日本 |", 20, &["a", "────", "日本"]);
    check("| a | b |\n|---|---|\n| one two | three |", 11, &["a    │ b", "─────┼─────", "one  │ thre", "two  │ e"]);
}

#[test]
fn links_say_where_they_lead() {
    check("[text](http://x.y)", 40, &["text (http://x.y)"]);
    check("<http://x.y>", 40, &["http://x.y"]);
    check("![alt](p.png)", 40, &["🖼 alt (p.png)"]);
}

#[test]
fn headings_rules_and_html_are_shown() {
    check("# One\n\ntext\n\n### Three", 20, &["One", "", "text", "", "### Three"]);
    check("a\n\n---\n\nb", 6, &["a", "", "──────", "", "b"]);
    check("<b>x</b>", 20, &["<b>x</b>"]);
}

#[test]
fn nothing_of_a_message_reaches_the_terminal_as_a_command() {
    check("a\u{1b}[2Jb `\u{1b}[31mc`", 20, &["ab c"]);
    check("```\n\u{1b}]0;title\u{7}x\n```", 20, &["  x"]);
}
