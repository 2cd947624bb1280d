//! Where a compaction cuts, and what it asks.

use std::sync::Arc;

use pi_session::{
    cut::{
        self, Cut, Files, Keep, Settings,
        branch::{self, Wishes},
    },
    tree::Kept,
};
use pi_transcript::{Entry, Message};
use proptest::prelude::*;
use serde_json::json;

use crate::{cases, notation};

const WINDOW: u64 = 100_000;

fn path(text: &str) -> Vec<Arc<Kept>> {
    notation::entries(text).into_iter().map(|entry| Arc::new(entry.into())).collect()
}

fn settings(keep_recent_tokens: u64) -> Settings {
    Settings { keep_recent_tokens, ..Settings::default() }
}

fn ids(messages: &[pi_session::context::Spoken]) -> String {
    messages.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>().join(" ")
}

fn shown(cut: Option<Cut>) -> String {
    let Some(cut) = cut else { return "nothing".to_owned() };
    let keep = match &cut.keep {
        Keep::From(id) => id.to_string(),
        Keep::Nothing => "none".to_owned(),
    };
    format!("history [{}] beginning [{}] kept from {keep}", ids(&cut.history), ids(&cut.beginning))
}

/// Every word of four letters is a token.
#[track_caller]
fn check(keep: u64, text: &str, expected: &str) {
    assert_eq!(shown(cut::prepare(&path(text), &settings(keep), WINDOW)), expected);
}

#[test]
fn newest_messages_are_kept_and_whole_turns_summarised() {
    let text = "a - user aaaa\nb a assistant bbbb\nc b user cccc\nd c assistant dddd\ne d user eeee";
    check(1, text, "history [a b c d] beginning [] kept from e");
    check(3, text, "history [a b] beginning [] kept from c");
    check(9, text, "nothing");
}

/// As [`check`], for what a model refused as too long.
#[track_caller]
fn check_retry(window: u64, text: &str, expected: &str) {
    assert_eq!(shown(cut::prepare_to_retry(&path(text), &Settings::default(), window)), expected);
}

#[test]
fn refused_talk_is_cut_however_short_it_is_and_keeps_its_last_words() {
    let text = "a - user aaaa\nb a assistant bbbb\nc b user cccc";
    check_retry(WINDOW, text, "history [a b] beginning [] kept from c");
    check_retry(WINDOW, "a - user aaaa", "nothing");
    check_retry(10, &format!("a - user {}", "a".repeat(4000)), "nothing");
    let large = format!("a - user aaaa\nb a assistant bbbb\nc b user {}", "c".repeat(4000));
    check_retry(10, &large, "history [a b] beginning [] kept from c");
}

#[test]
fn turn_that_is_cut_in_the_middle_has_its_beginning_told_apart() {
    let text = "a - user aaaa\nb a assistant bbbb\nc b user cccc\nd c assistant dddd\ne d assistant eeee";
    check(1, text, "history [a b] beginning [c d] kept from e");
    check(2, text, "history [a b] beginning [c] kept from d");
}

#[test]
fn call_is_never_separated_from_its_result() {
    let text = "a - user aaaa\nb a assistant bbbb call:1 call:2\nr b result 1 rrrr\nu r user hmmm\ns u result 2 ssss\nc s assistant cccc";
    check(1, text, "history [a b r] beginning [u s] kept from c");
    check(2, text, "history [a b r] beginning [u s] kept from c");
    let open = "a - user aaaa\nb a assistant bbbb call:1\nr b result 1 rrrrrrrr";
    check(1, open, "history [] beginning [a] kept from b");
}

#[test]
fn what_would_not_fit_after_the_cut_is_not_kept() {
    let large = "x".repeat(4 * 90_000);
    check(
        10,
        &format!("a - user aaaa\nb a assistant bbbb\nc b user {large}"),
        "history [a b c] beginning [] kept from none",
    );
}

#[test]
fn small_window_keeps_the_newest_turn_that_fits() {
    let (question, answer) = ("q".repeat(4 * 100), "a".repeat(4 * 8_900));
    let turn = |first: &str, before: &str, second: &str| {
        format!("{first} {before} user {question}\n{second} {first} assistant {answer}\n")
    };
    let prepared = |text: &str| shown(cut::prepare(&path(text), &Settings::default(), 32_000));
    let two = turn("a", "-", "b") + &turn("c", "b", "d");
    assert_eq!(prepared(&two), "history [a b] beginning [] kept from c");
    let called = format!("c b user {question}\nd c assistant x call:1\nr d result 1 {answer}\ne r assistant done\n");
    assert_eq!(prepared(&(turn("a", "-", "b") + &called)), "history [a b] beginning [] kept from c");
    // Less than half of the window, and still something that can be summarised.
    let half = format!("a - user {question}\nb a assistant {}\nc b user hi\n", "a".repeat(4 * 14_000));
    assert_eq!(prepared(&half), "history [a b] beginning [] kept from c");
    // A window that is smaller than what is to be free for the answer does not lose every word at once.
    let short = shown(cut::prepare(&path("a - user aaaa\nb a assistant bbbb"), &Settings::default(), 9_000));
    assert_eq!(short, "nothing");
}

#[test]
fn second_compaction_takes_up_what_the_first_kept_and_said() {
    let text =
        "a - user aaaa\nb a assistant bbbb\nc b user cccc\nd c compaction c before\ne d assistant eeee\nf e user ffff";
    let cut = cut::prepare(&path(text), &settings(1), WINDOW).unwrap();
    assert_eq!(
        (cut.previous_summary.as_deref(), shown(Some(cut.clone()))),
        (Some("before"), "history [c e] beginning [] kept from f".to_owned(),)
    );
    let asked = cut.history(&settings(1), Some(" mind the tests ")).unwrap();
    assert!(asked.text.starts_with(
        "<conversation>\n[User]: cccc\n\n[Assistant]: eeee\n</conversation>\n\n<previous-summary>\nbefore\n"
    ));
    assert!(asked.text.ends_with("mind this above all: mind the tests"));
    assert_eq!(asked.most_tokens, 13_107);
    check(1, "a - user aaaa\nd a compaction a before", "nothing");
}

#[test]
fn questions_name_the_six_sections_and_are_limited() {
    let text = "a - user aaaa\nb a assistant bbbb\nc b user cccc\nd c assistant dddd\ne d assistant eeee";
    let cut = cut::prepare(&path(text), &settings(1), WINDOW).unwrap();
    let asked = cut.history(&settings(1), None).unwrap();
    let headings: Vec<&str> = asked.text.lines().filter(|line| line.starts_with("## ")).collect();
    let six = ["Goal", "Constraints & Preferences", "Progress", "Key Decisions", "Next Steps", "Critical Context"];
    assert_eq!(headings, six.map(|name| format!("## {name}")));
    assert!(!asked.text.contains('{') && asked.system.contains("summaries"));
    let beginning = cut.beginning(&settings(1)).unwrap();
    assert!(beginning.text.starts_with("<conversation>\n[User]: cccc\n\n[Assistant]: dddd\n"));
    assert_eq!(beginning.most_tokens, 8_192);
    assert_eq!(cut.summary(Some(" all \n"), Some("early")), "all\n\n---\n\n**Turn Context (split turn):**\n\nearly");
}

fn calling(name: &str, path: &str) -> Message {
    let said = json!({
        "role": "assistant", "api": "a", "provider": "p", "model": "m", "stopReason": "toolUse", "timestamp": 1, "usage": null,
        "content": [{"type": "toolCall", "id": "1", "name": name, "arguments": {"path": path}}],
    });
    serde_json::from_value(said).unwrap()
}

#[test]
fn files_are_collected_also_from_the_last_compaction() {
    let compaction = |from_hook: bool| {
        let entry = json!({
            "type": "compaction", "id": "c", "parentId": null, "timestamp": "t", "summary": "s", "firstKeptEntryId": "c",
            "tokensBefore": 1, "details": {"readFiles": ["old", "x"], "modifiedFiles": ["m", 5]}, "fromHook": from_hook,
        });
        let Entry::Compaction(compaction) = serde_json::from_value(entry).unwrap() else { panic!("it is one") };
        Files::of_compaction(&compaction)
    };
    let mut files = compaction(false);
    for (name, path) in [("read", "new"), ("edit", "x"), ("write", "w"), ("bash", "no"), ("read", "w")] {
        files.add(&calling(name, path));
    }
    assert_eq!(files.details(), json!({"readFiles": ["new", "old"], "modifiedFiles": ["m", "w", "x"]}));
    assert_eq!(compaction(true), Files::default());
}

#[test]
fn conversation_is_told_with_long_results_cut() {
    let long = "é".repeat(2001);
    let text =
        format!("a - user hi\nb a assistant so call:1\nr b result 1 {long}\ns r bash ls -l\nx s extension n note");
    let messages = pi_session::context::build(&path(&text)).messages;
    let expected = format!(
        "[User]: hi\n\n[Assistant]: so\n\n[Assistant calls read]: {{}}\n\n[Tool result]: {}\n(and 1 more characters)\n\n\
         [User ran a command]: ls -l\n\n[User]: note",
        "é".repeat(2000)
    );
    assert_eq!(cut::conversation(&messages), expected);
}

fn with_usage(line: &str, total: u64) -> Arc<Kept> {
    let mut entry = notation::entries(line).remove(0);
    if let Entry::Message(entry) = &mut entry
        && let Message::Assistant(said) = &mut entry.message
    {
        said.usage = pi_transcript::Usage { total_tokens: Some(total), ..Default::default() }.into();
    }
    Arc::new(entry.into())
}

#[test]
fn tokens_are_those_of_the_last_good_answer_and_an_estimate_of_the_rest() {
    let mut entries = path("a - user aaaa aaaa");
    assert_eq!(cut::context_tokens(&entries), 3);
    entries.push(with_usage("b a assistant yes", 500));
    entries.push(with_usage("c b failed no", 900));
    entries.extend(path("d c user dddd"));
    assert_eq!(cut::context_tokens(&entries), 502, "an answer that failed counts as text");
    let settings = Settings::default();
    assert!(settings.is_due(83_617, 100_000) && !settings.is_due(83_616, 100_000));
    assert!(!Settings { enabled: false, ..settings }.is_due(99_999, 100_000));
    entries.extend(path("e d compaction d sssssss"));
    entries.extend(path("f e user ffff"));
    assert_eq!(cut::context_tokens(&entries), 2 + 1 + 1, "what was counted before a compaction is gone");
    let image =
        json!({"role": "user", "timestamp": 1, "content": [{"type": "image", "data": "x", "mimeType": "image/png"}]});
    assert_eq!(cut::message_tokens(&serde_json::from_value(image).unwrap()), 1200);
}

#[test]
fn branch_is_summarised_from_the_shared_entry_on() {
    let mut tree =
        notation::tree("a - user aaaa\nb a assistant bbbb\nc b user cccc\nd c assistant dddd\nx b user xxxx");
    tree.move_leaf(Some(tree.find(&"d".into()).unwrap()));
    let target = tree.find(&"x".into()).unwrap();
    let left = branch::left_behind(&tree, Some(target));
    let entries: Vec<Arc<Kept>> = left.iter().map(|place| Arc::clone(tree.held(*place).unwrap())).collect();
    let branch = branch::prepare(&entries, &Settings::default(), WINDOW).unwrap();
    assert_eq!(ids(&branch.messages), "c d");
    let asked = branch.ask(&Settings::default(), Wishes::Also("the tests"));
    assert!(asked.text.contains("## Key Decisions") && asked.text.ends_with("the tests"));
    assert!(
        branch.ask(&Settings::default(), Wishes::Instead("only this")).text.ends_with("</conversation>\n\nonly this")
    );
    assert!(branch.summary(" it went well ").ends_with(":\n\nit went well"));
    assert_eq!(
        ids(&branch::prepare(&entries, &Settings::default(), 16_385).unwrap().messages),
        "d",
        "the newest that fit"
    );
    assert_eq!(branch::prepare(&[], &Settings::default(), WINDOW), None);
    assert_eq!(branch::left_behind(&tree, None).len(), 4);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(256)))]

    /// Nothing is lost and nothing told twice, and every result that is kept has its call.
    #[test]
    fn cut_divides_the_conversation(
        kinds in prop::collection::vec((0u8..6, 0u8..3, 1usize..30), 1..30), keep in 1u64..60,
    ) {
        let mut text = String::new();
        for (index, (kind, call, size)) in kinds.iter().enumerate() {
            let parent = index.checked_sub(1).map_or("-".to_owned(), |parent| parent.to_string());
            let words = "x".repeat(*size);
            let line = match kind {
                0 | 1 => format!("user {words}"),
                2 => format!("assistant {words}"),
                3 => format!("assistant {words} call:{call}"),
                4 => format!("result {call} {words}"),
                _ => format!("bash {words}"),
            };
            text.push_str(&format!("{index} {parent} {line}\n"));
        }
        let entries = path(&text);
        if let Some(cut) = cut::prepare(&entries, &settings(keep), WINDOW) {
            let all = pi_session::context::build(&entries).messages;
            let at = cut.history.len() + cut.beginning.len();
            let told: Vec<_> = cut.history.iter().chain(&cut.beginning).cloned().collect();
            prop_assert_eq!(&told[..], &all[..at]);
            match &cut.keep {
                Keep::From(id) => prop_assert_eq!(&all[at].0, id),
                Keep::Nothing => prop_assert_eq!(at, all.len()),
            }
            let called = |messages: &[pi_session::context::Spoken], id: &pi_transcript::ToolCallId| {
                messages.iter().any(|(_, message)| matches!(&**message, Message::Assistant(said)
                    if said.content.iter().any(|block| matches!(block, pi_transcript::Block::ToolCall(call) if call.id == *id))))
            };
            for (index, (_, message)) in all.iter().enumerate().skip(at) {
                if let Message::ToolResult(result) = &**message {
                    prop_assert!(
                        called(&all[at..index], &result.tool_call_id) || !called(&all[..index], &result.tool_call_id)
                    );
                }
            }
        }
    }
}
