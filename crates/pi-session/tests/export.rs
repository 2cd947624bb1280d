//! What sessions look like when they are written down, also those that want to do harm.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "a test makes the session that it wants to be written down")]
#![expect(clippy::needless_pass_by_value, reason = "values are written where they are used")]

use std::path::PathBuf;

use pi_session::export::{self, ExportError, Story};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A session file with these entries, each the child of the one before.
fn session(header: Value, entries: &[Value]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("2026-01-01T00-00-00-000Z_s1.jsonl");
    let mut text = format!("{header}\n");
    for (index, entry) in entries.iter().enumerate() {
        let parent = index.checked_sub(1).map(|before| format!("{before:08}"));
        let mut entry = entry.clone();
        entry["id"] = json!(format!("{index:08}"));
        entry["parentId"] = json!(parent);
        entry["timestamp"] = json!("2026-01-01T00:00:00.000Z");
        text.push_str(&format!("{entry}\n"));
    }
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

fn header(cwd: &str) -> Value {
    json!({"type": "session", "version": 3, "id": "s1", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": cwd})
}

fn said(message: Value) -> Value {
    json!({"type": "message", "message": message})
}

fn answer(content: Value) -> Value {
    let cost = json!({"input": 0.25, "output": 0.25, "cacheRead": 0, "cacheWrite": 0, "total": 0.5});
    said(
        json!({"role": "assistant", "content": content, "api": "a", "provider": "p", "model": "m", "stopReason": "toolUse",
        "timestamp": 0, "usage": {"input": 1000, "output": 20, "cacheRead": 34, "cacheWrite": 0, "totalTokens": 1054, "cost": cost}}),
    )
}

fn usual() -> (TempDir, PathBuf) {
    let entries = [
        said(json!({"role": "user", "content": "Change *a*\nplease", "timestamp": 0})),
        answer(json!([{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "I do."},
            {"type": "toolCall", "id": "c1", "name": "edit", "arguments": {"path": "a.txt"}}])),
        said(json!({"role": "toolResult", "toolCallId": "c1", "toolName": "edit", "isError": false, "timestamp": 0,
            "content": [{"type": "text", "text": "Changed ```it```"}], "details": {"diff": "-1 old\n+1 new\n 2 same"}})),
        answer(json!([{"type": "text", "text": "Done."}])),
    ];
    session(header("/work"), &entries)
}

fn read(path: &std::path::Path) -> Story {
    export::read(path).unwrap()
}

#[test]
fn markdown_keeps_what_was_said_and_fences_what_tools_did() {
    let (_folder, path) = usual();
    insta::assert_snapshot!(export::markdown(&read(&path)), @r#"
    # Change \*a\* please

    s1 · 2026-01-01T00:00:00.000Z · /work · 2068 tokens in, 40 out · $1.0000

    ## You

    Change *a*
    please

    ## p/m (1034 tokens in, 20 out · $0.5000)

    > *thinking:* Hm.

    I do.

    ### edit `a.txt`

    ```json
    {
      "path": "a.txt"
    }
    ```

    ```diff
    -1 old
    +1 new
     2 same
    ```

    ````
    Changed ```it```
    ````

    ## p/m (1034 tokens in, 20 out · $0.5000)

    Done.
    "#);
}

#[test]
fn calls_with_an_id_that_comes_again_stand_with_what_came_of_each() {
    let call = |path: &str| json!({"type": "toolCall", "id": "call_0", "name": "read", "arguments": {"path": path}});
    let result = |text: &str| {
        said(json!({"role": "toolResult", "toolCallId": "call_0", "toolName": "read", "isError": false, "timestamp": 0,
            "content": [{"type": "text", "text": text}]}))
    };
    let entries = [
        result("of nothing"),
        answer(json!([call("a")])),
        result("of a"),
        answer(json!([call("b"), call("c")])),
        result("of b"),
        result("of c"),
        answer(json!([call("d")])),
    ];
    let (_folder, path) = session(header("/work"), &entries);
    let story = read(&path);
    for (document, name) in [(export::markdown(&story), "### read"), (export::html(&story), "<b>read</b>")] {
        let cards: Vec<&str> = document.split(name).skip(1).collect();
        let expected = ["of nothing", "of a", "of b", "of c", "no result"];
        assert_eq!(cards.len(), expected.len(), "{document}");
        for (card, expected) in cards.iter().zip(expected) {
            assert!(card.contains(expected), "{expected}\n{document}");
        }
    }
}

#[test]
fn page_has_cards_with_coloured_diffs_and_needs_nothing_else() {
    let (_folder, path) = usual();
    let page = export::html(&read(&path));
    for part in [
        "<title>Change *a* please</title>",
        "2068 tokens in, 40 out · $1.0000",
        "<details class=\"tool\" open><summary><b>edit</b> a.txt</summary>",
        "<span class=\"added\">+1 new</span>",
        "<span class=\"removed\">-1 old</span>",
        "prefers-color-scheme: dark",
        "default-src 'none'",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
    for part in ["<script", "http://", "https://", "src=\"//", "@import", "url("] {
        assert!(!page.contains(part), "{part}");
    }
}

/// Markup in every place where somebody else may write.
const EVIL: &str = "</pre></details><script>alert(1)</script><img src=x onerror='alert(1)'>\"'&{{body}}\u{1b}[31m\u{0}";

#[test]
fn nothing_in_a_session_becomes_markup() {
    let entries = [
        json!({"type": "model_change", "provider": EVIL, "modelId": EVIL}),
        json!({"type": "thinking_level_change", "thinkingLevel": EVIL}),
        json!({"type": "session_info", "name": EVIL}),
        said(json!({"role": "user", "timestamp": 0, "content": [{"type": "text", "text": EVIL},
            {"type": "image", "data": EVIL, "mimeType": "image/png"}, {"type": "image", "data": "AAAA", "mimeType": EVIL},
            {"type": "image", "data": "AAAA", "mimeType": "image/svg+xml"}, {"type": EVIL, "x": EVIL}]})),
        said(
            json!({"role": "assistant", "api": EVIL, "provider": EVIL, "model": EVIL, "stopReason": EVIL, "timestamp": 0,
            "errorMessage": EVIL, "usage": {}, "content": [{"type": "thinking", "thinking": EVIL}, {"type": "text", "text": EVIL},
            {"type": "toolCall", "id": EVIL, "name": EVIL, "arguments": {"path": EVIL, EVIL: EVIL}}]}),
        ),
        said(json!({"role": "toolResult", "toolCallId": EVIL, "toolName": EVIL, "isError": true, "timestamp": 0,
            "content": [{"type": "text", "text": EVIL}], "details": {"diff": format!("+{EVIL}\n-{EVIL}\n{EVIL}")}})),
        said(
            json!({"role": "toolResult", "toolCallId": "lost", "toolName": EVIL, "isError": false, "timestamp": 0, "content": []}),
        ),
        said(
            json!({"role": "bashExecution", "command": EVIL, "output": EVIL, "cancelled": false, "truncated": false, "timestamp": 0}),
        ),
        said(json!({"role": "custom", "customType": EVIL, "content": EVIL, "display": true, "timestamp": 0})),
        said(json!({"role": EVIL, "content": EVIL})),
        json!({"type": "custom_message", "customType": EVIL, "content": EVIL, "display": true}),
        json!({"type": "compaction", "summary": EVIL, "firstKeptEntryId": "00000000", "tokensBefore": 1}),
        json!({"type": "branch_summary", "fromId": EVIL, "summary": EVIL}),
    ];
    let (_folder, path) = session(header(EVIL), &entries);
    let page = export::html(&read(&path));
    let shown = page.matches("&lt;script&gt;alert(1)&lt;/script&gt;").count();
    assert!(shown >= 25, "only {shown} places are shown\n{page}");
    for part in ["<script", "<img src=x", "onerror='", "\u{1b}", "\u{0}", "image/svg"] {
        assert!(!page.contains(part), "{part:?}\n{page}");
    }
    assert_eq!(page.matches("<main>").count(), 1, "a name of a place is no place");
    let (open, closed) = (page.matches("<details").count(), page.matches("</details>").count());
    assert_eq!((open, page.matches("<pre").count()), (closed, page.matches("</pre>").count()));
    check_nesting(&page);
    let text = export::markdown(&read(&path));
    assert!(text.starts_with("# \\</pre\\>"), "{text}");
}

/// Every element is closed in its place, and stands where a browser leaves it.
fn check_nesting(page: &str) {
    const EMPTY: [&str; 5] = ["meta", "br", "hr", "img", "!doctype"];
    /// Elements in which only words and their emphasis may stand.
    const WORDS: [&str; 12] = ["p", "pre", "code", "span", "a", "em", "strong", "del", "h1", "h2", "b", "title"];
    const INLINE: [&str; 10] = ["code", "span", "a", "em", "strong", "del", "b", "br", "img", "sup"];
    let mut open: Vec<String> = Vec::new();
    let mut rest = page;
    let mut seen = 0;
    while let Some(at) = rest.find('<') {
        let end = at + rest[at..].find('>').expect("a tag ends");
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        seen += 1;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "inside {open:?}");
            continue;
        }
        let name = tag.split_whitespace().next().expect("a name").to_lowercase();
        let around = open.last().map(String::as_str).unwrap_or_default();
        assert!(!WORDS.contains(&around) || INLINE.contains(&name.as_str()), "<{name}> stands inside {open:?}");
        if name == "style" {
            rest = &rest[rest.find("</style>").expect("the style ends")..];
            open.push(name);
        } else if !EMPTY.contains(&name.as_str()) {
            open.push(name);
        }
    }
    assert_eq!(open, Vec::<String>::new());
    assert!(seen > 20, "only {seen} tags");
}

#[test]
fn what_was_said_is_shown_as_markdown_and_nested_as_browsers_want_it() {
    let text = "# Plan\n\n1. *read* `a.rs`\n2. **write**\n\n```rust\nfn a() -> &'static str { \"<b>\" }\n```\n\n\
                | a | b |\n|---|---|\n| 1 | 2 |\n\n> quoted\n> - a <div> in it\n\n<div>\nraw\n\nafter</p></div>";
    let entries = [
        said(json!({"role": "user", "timestamp": 0, "content": text})),
        answer(json!([{"type": "thinking", "thinking": text}, {"type": "text", "text": text},
            {"type": "toolCall", "id": "c1", "name": "read", "arguments": {"path": "a.rs"}}])),
        said(json!({"role": "toolResult", "toolCallId": "c1", "toolName": "read", "isError": false, "timestamp": 0,
            "content": [{"type": "text", "text": text}, {"type": "image", "data": "AAAA", "mimeType": "image/png"}],
            "details": {"diff": "-a\n+b"}})),
        json!({"type": "compaction", "summary": text, "firstKeptEntryId": "00000000", "tokensBefore": 1}),
        json!({"type": "branch_summary", "fromId": "x", "summary": text}),
    ];
    let (_folder, path) = session(header("/work"), &entries);
    let page = export::html(&read(&path));
    check_nesting(&page);
    for part in [
        "<h2>Plan</h2>",
        "<li><em>read</em> <code>a.rs</code></li>",
        "<pre><code class=\"language-rust\"><span class=\"keyword\">fn</span> <span class=\"function\">a</span>() -&gt; ",
        "{ <span class=\"string\">&quot;&lt;b&gt;&quot;</span> }\n</code></pre>",
        "<td>1</td>",
        "a &lt;div&gt; in it",
        // What a tool printed is no Markdown.
        "<pre># Plan\n",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
    assert!(!page.contains("<div>"), "raw HTML is shown as text");
}

#[test]
fn session_without_envelopes_says_so() {
    let (_folder, path) = usual();
    assert_eq!(export::envelopes(&path).unwrap(), []);
    assert!(matches!(export::envelope(&path, None), Err(ExportError::NoEnvelopes)));
}

#[test]
fn everything_that_was_spent_is_added_up() {
    let (_folder, path) = usual();
    let usage = export::spent(&path).unwrap();
    assert_eq!((usage.input, usage.output, usage.cache_read, usage.cost.total.as_f64()), (2000, 40, 68, 1.0));
}
