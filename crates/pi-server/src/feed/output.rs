//! What calls have written so far, told to a client that adds up pieces.

use pi_transcript::{AgentEvent, Block, ToolCallId, ToolOutput};
use serde_json::Value;

/// The characters by which a text is found again in the one before it, and the places at which it is looked for. Beyond, the whole
/// text is told: it repeats itself too much to be compared in a moment.
const HEAD: usize = 64;
const PLACES: usize = 64;

/// The output of every call that runs, as it was told last.
#[derive(Debug, Default)]
pub(super) struct Outputs {
    told: Vec<(ToolCallId, String)>,
}

impl Outputs {
    /// Takes from an update what was told before: arguments, and all of the output but what is new. The first update of a call
    /// has all of its output.
    pub(super) fn shorten(&mut self, event: &mut AgentEvent) {
        match event {
            AgentEvent::ToolExecutionUpdate { tool_call_id, args, partial_result, delta, dropped, .. } => {
                *args = None;
                let before = self.take(tool_call_id);
                let Some(text) = only_text(partial_result) else { return };
                let text = text.to_owned();
                drop_copy(partial_result, &text);
                if let Some(grown) = before.and_then(|before| Grown::between(&before, &text)) {
                    *delta = Some(text[grown.kept..].to_owned());
                    *dropped = Some(grown.dropped).filter(|dropped| *dropped > 0);
                    partial_result.content.clear();
                }
                self.told.push((tool_call_id.clone(), text));
            }
            AgentEvent::ToolExecutionEnd { tool_call_id, .. } => drop(self.take(tool_call_id)),
            AgentEvent::AgentStart => self.told.clear(),
            _ => {}
        }
    }

    fn take(&mut self, call: &ToolCallId) -> Option<String> {
        let place = self.told.iter().position(|(known, _)| known == call)?;
        Some(self.told.swap_remove(place).1)
    }
}

/// The output, if it is one text and nothing else.
fn only_text(output: &ToolOutput) -> Option<&str> {
    match output.content.as_slice() {
        [Block::Text(block)] if block.text_signature.is_none() && block.extra.is_empty() => Some(&block.text),
        _ => None,
    }
}

/// What was left out of the beginning is told with a copy of what was not.
fn drop_copy(output: &mut ToolOutput, text: &str) {
    let truncation = output.details.as_mut().and_then(|details| details.get_mut("truncation"));
    if let Some(Value::Object(truncation)) = truncation
        && truncation.get("content").is_some_and(|content| content == text)
    {
        truncation.remove("content");
    }
}

/// How a text became another one.
#[derive(Debug, PartialEq, Eq)]
struct Grown {
    /// Characters that went from its beginning.
    dropped: u64,
    /// The bytes of the other one that were there before.
    kept: usize,
}

impl Grown {
    /// Nothing if the second has nothing of the first.
    fn between(before: &str, after: &str) -> Option<Self> {
        if after.starts_with(before) {
            return Some(Self { dropped: 0, kept: before.len() });
        }
        let head = after.char_indices().nth(HEAD).map_or(after, |(end, _)| &after[..end]);
        if head.is_empty() {
            return None;
        }
        let mut places = before.match_indices(head).take(PLACES).map(|(place, _)| place);
        let place = places.find(|place| after.starts_with(&before[*place..]))?;
        let dropped = u64::try_from(before[..place].chars().count()).unwrap_or(u64::MAX);
        Some(Self { dropped, kept: before.len() - place })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &str, after: &str, expected: Option<(u64, &str)>) {
        let grown = Grown::between(before, after);
        assert_eq!(grown.as_ref().map(|grown| (grown.dropped, &after[grown.kept..])), expected);
        if let Some(grown) = grown {
            let rest: String = before.chars().skip(usize::try_from(grown.dropped).expect("a place")).collect();
            assert_eq!(rest + &after[grown.kept..], after);
        }
    }

    #[test]
    fn text_that_grew_is_told_by_what_came() {
        check("", "a", Some((0, "a")));
        check("ab", "ab", Some((0, "")));
        check("é\n", "é\nü\n", Some((0, "ü\n")));
    }

    #[test]
    fn text_that_slid_is_told_by_what_went_and_what_came() {
        let lines = |range: std::ops::Range<u32>| range.map(|line| format!("lïne {line}\n")).collect::<String>();
        check(&lines(10..60), &lines(15..62), Some((40, "lïne 60\nlïne 61\n")));
        check(&lines(10..60), &lines(70..99), None);
        check("ab", "", None);
        check("aab", "xaab", None);
    }

    #[test]
    fn text_that_repeats_itself_is_not_searched_for_ever() {
        let (before, after) = ("a".repeat(50_000), format!("{}b", "a".repeat(40_000)));
        check(&before, &after, None);
    }
}
