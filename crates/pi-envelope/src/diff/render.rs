//! A diff as text: one line for every segment that changed, then the sums.

use std::fmt::Write as _;

use super::{CacheBreak, Cause, Change, Diff, Items, What};

/// The diff as text, for a terminal or a log. No colours: the first character of a line says what happened.
pub fn render(diff: &Diff) -> String {
    let mut text = String::new();
    let mut unchanged = 0usize;
    for change in &diff.changes {
        if change.what == What::Unchanged {
            unchanged += 1;
            continue;
        }
        pass_unchanged(&mut text, &mut unchanged);
        line(&mut text, change);
    }
    pass_unchanged(&mut text, &mut unchanged);
    let summary = &diff.summary;
    put(
        &mut text,
        format_args!(
            "{} added, {} removed, {} changed, {} moved, {} unchanged; {} -> {}\n",
            summary.added,
            summary.removed,
            summary.changed,
            summary.moved,
            summary.unchanged,
            summary.tokens_before,
            counted(summary.tokens_after, "token")
        ),
    );
    let (segments, tokens) = (counted(diff.prefix as u64, "segment"), counted(diff.prefix_tokens, "token"));
    put(&mut text, format_args!("same beginning: {segments}, {tokens}\n"));
    if let Some(CacheBreak { index, cause, tokens_lost }) = &diff.cache_break {
        put(&mut text, format_args!("cache breaks at segment {index}: {}", describe(cause)));
        let verb = if *tokens_lost == 1 { "is" } else { "are" };
        put(&mut text, format_args!("; {} behind it {verb} sent anew\n", counted(*tokens_lost, "unchanged token")));
    }
    text
}

fn line(text: &mut String, change: &Change) {
    let Change { kind, role, tokens, items, .. } = change;
    put(text, format_args!("{} {:<17} {:<9} {}", mark(change.what), kind.as_str(), role.as_str(), name(change)));
    if *tokens != 0 {
        put(text, format_args!("  {tokens:+}"));
    }
    if let Some(items) = items {
        put(text, format_args!("  ({})", listed(items)));
    }
    text.push('\n');
}

fn pass_unchanged(text: &mut String, unchanged: &mut usize) {
    if *unchanged > 0 {
        put(text, format_args!("= {unchanged} unchanged\n"));
        *unchanged = 0;
    }
}

/// So many of something: `1 tool`, `2 tools`.
fn counted(count: u64, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

fn describe(cause: &Cause) -> String {
    match cause {
        Cause::Model { before, after } => {
            let model = |name: &Option<String>| name.clone().unwrap_or_else(|| "none".to_owned());
            format!("the model changed from {} to {}", model(before), model(after))
        }
        Cause::Segment { change } => {
            let what = match change.what {
                What::Added => "added",
                What::Removed => "removed",
                What::Changed => "changed",
                What::Moved => "moved",
                What::Unchanged => "unchanged",
            };
            let items = change.items.as_ref().map(|items| format!(": {}", listed(items))).unwrap_or_default();
            format!("{} {} {what}{items}", change.kind.as_str(), name(change))
        }
    }
}

/// The id of the segment, or else where it stands.
fn name(change: &Change) -> String {
    match (&change.id, change.after.or(change.before)) {
        (Some(id), _) => id.clone(),
        (None, Some(place)) => format!("messages[{}].segments[{}]", place.message, place.segment),
        (None, None) => String::new(),
    }
}

fn listed(items: &Items) -> String {
    let marked = |mark: char, names: &[String]| names.iter().map(|name| format!("{mark}{name}")).collect::<Vec<_>>();
    [marked('+', &items.added), marked('-', &items.removed), marked('~', &items.changed)].concat().join(" ")
}

fn mark(what: What) -> char {
    match what {
        What::Added => '+',
        What::Removed => '-',
        What::Changed => '~',
        What::Moved => '>',
        What::Unchanged => '=',
    }
}

fn put(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments).expect("writing to a string cannot fail");
}
