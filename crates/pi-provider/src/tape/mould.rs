//! The shape of a text that was read, into which the next one usually fits.
//!
//! The frames of a stream repeat each other letter for letter, but for a few texts and numbers. A [`Mould`] knows where
//! these *gaps* are. A text that fits into it is not parsed: what stands between the gaps is compared, the gaps are
//! read, and the nodes of the text before are right but for them. A gap that has never changed, such as the name of the
//! model, is compared like what stands around it. Whatever does not fit is parsed as if there were no mould, so that it
//! decides nothing but the speed.

use std::sync::Arc;

use memchr::memchr2;

use super::{
    Node, Source, Span, narrow,
    wanted::{Seen, Wanted},
};

/// Longer texts are not expected to come again, and are not worth the memory.
const LONGEST: usize = 4 * 1024;
/// As many texts at most pass before a mould is tried again where none ever fits.
const MOST_PATIENCE: u32 = 64;

/// The shape of one text.
#[derive(Debug)]
pub(super) struct Mould {
    /// What was looked for; a text that is read for something else has other nodes.
    wanted: Arc<Wanted>,
    /// The text from which it was made.
    pub(super) text: String,
    gaps: Vec<Gap>,
    /// Those that have changed already.
    live: Vec<Gap>,
    seen: Seen,
}

/// What may differ from text to text.
#[derive(Debug, Clone, Copy)]
struct Gap {
    kind: GapKind,
    start: usize,
    end: usize,
    /// The node that is filled from it, if somebody wants it.
    node: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GapKind {
    /// Between its quotes.
    Text,
    Number,
}

/// A text on the tape that stands for itself, noted while it is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Noted {
    pub(super) start: u32,
    pub(super) node: usize,
    /// Something is marked as seen because of what it says, so that another text does not fit.
    pub(super) is_told_apart: bool,
}

/// When it is worth making a mould: making one that is never used costs as much as it would save.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Patience {
    /// Texts that still pass without a mould.
    left: u32,
    /// How many will pass next time, if nothing fits again.
    next: u32,
}

/// Whether a text like this may come again.
pub(super) fn is_worth(text: &str) -> bool {
    text.len() <= LONGEST
}

impl Patience {
    /// No mould is worth being made.
    pub(super) const ENDLESS: Self = Self { left: u32::MAX, next: MOST_PATIENCE };

    /// A text is about to be parsed; whether a mould is to be made from it.
    pub(super) fn is_over(&mut self) -> bool {
        let is_over = self.left == 0;
        self.left = if is_over { self.next } else { self.left - 1 };
        if is_over {
            self.next = (self.next * 2).clamp(1, MOST_PATIENCE);
        }
        is_over
    }

    /// A text fitted.
    pub(super) fn reward(&mut self) {
        *self = Self::default();
    }
}

impl Mould {
    /// Makes a mould of a text that has just been read, and whose strings had no escapes. Nodes that stay the same from now
    /// on are changed to say so. `None` if a number is no count, or has no name by which its place is found.
    pub(super) fn new(
        wanted: &Arc<Wanted>,
        text: &str,
        nodes: &mut [Node],
        noted: &[Noted],
        seen: Seen,
    ) -> Option<Self> {
        let numbers = places_of_numbers(text, nodes)?;
        let gaps = gaps(text, noted, &numbers)?;
        let filled: Vec<usize> = gaps.iter().filter_map(|gap| gap.node).collect();
        for (place, node) in nodes.iter_mut().enumerate() {
            if let Node::Text(span) = node
                && filled.binary_search(&place).is_err()
            {
                span.source = Source::Mould;
            }
        }
        Some(Self { wanted: Arc::clone(wanted), text: text.to_owned(), gaps, live: Vec::new(), seen })
    }

    /// The bytes that it holds.
    pub(super) fn memory(&self) -> usize {
        let gaps = self.gaps.capacity() + self.live.capacity();
        size_of::<Self>() + self.text.capacity() + gaps * size_of::<Gap>()
    }

    /// What is seen in every text that fits.
    pub(super) fn seen(&self) -> Seen {
        self.seen
    }

    /// Fills the nodes from a text. If it does not fit, they are of no further use.
    pub(super) fn fits(
        &mut self,
        text: &str,
        wanted: &Arc<Wanted>,
        nodes: &mut [Node],
        unescaped: &mut String,
    ) -> bool {
        if !Arc::ptr_eq(&self.wanted, wanted) {
            return false;
        }
        if self.fill(&self.live, text, nodes, unescaped).is_some() {
            return true;
        }
        unescaped.clear();
        if self.fill(&self.gaps, text, nodes, unescaped).is_none() {
            return false;
        }
        self.settle(text, nodes);
        true
    }

    /// Fills these gaps; all others must be as they were.
    fn fill(&self, gaps: &[Gap], text: &str, nodes: &mut [Node], unescaped: &mut String) -> Option<()> {
        let (own, bytes) = (self.text.as_bytes(), text.as_bytes());
        let (mut behind, mut at) = (0, 0);
        for gap in gaps {
            let between = own.get(behind..gap.start)?;
            bytes.get(at..)?.starts_with(between).then_some(())?;
            at += between.len();
            behind = gap.end;
            let (node, length) = match gap.kind {
                GapKind::Text => read_text(text, at, unescaped)?,
                GapKind::Number => read_number(&bytes[at..])?,
            };
            at += length;
            if let Some(place) = gap.node {
                *nodes.get_mut(place)? = node;
            }
        }
        (bytes.get(at..)? == own.get(behind..)?).then_some(())
    }

    /// Finds out which gaps have changed, now or before, after all have been filled from this text. Texts of the others are
    /// read from the mould from now on, where their places stay.
    fn settle(&mut self, text: &str, nodes: &mut [Node]) {
        let (own, bytes) = (self.text.as_bytes(), text.as_bytes());
        let mut before = std::mem::take(&mut self.live).into_iter().peekable();
        let (mut behind, mut at) = (0, 0);
        for gap in &self.gaps {
            at += gap.start - behind;
            behind = gap.end;
            let rest = &bytes[at..];
            let length = match gap.kind {
                GapKind::Text => closing_quote(rest).unwrap_or(0),
                GapKind::Number => rest.iter().take_while(|byte| byte.is_ascii_digit()).count(),
            };
            at += length;
            let was_live = before.next_if(|live| live.start == gap.start).is_some();
            if was_live || rest[..length] != own[gap.start..gap.end] {
                self.live.push(*gap);
            } else if let (GapKind::Text, Some(place)) = (gap.kind, gap.node) {
                let (start, length) = (narrow(gap.start), narrow(length));
                nodes[place] = Node::Text(Span { start, length, source: Source::Mould });
            }
        }
    }
}

/// The string whose first character is at this place, and how long it is written.
fn read_text(text: &str, at: usize, unescaped: &mut String) -> Option<(Node, usize)> {
    let rest = &text.as_bytes()[at..];
    let end = memchr2(b'"', b'\\', rest)?;
    if rest[end] == b'\\' {
        let end = closing_quote(rest)?;
        let decoded: String = serde_json::from_str(text.get(at - 1..=at + end)?).ok()?;
        return Some((Node::Text(Span::kept(unescaped, &decoded)), end));
    }
    // Without an end in the middle, so that many bytes are compared at once.
    let has_control = rest[..end].iter().fold(false, |found, byte| found | (*byte < 0x20));
    let span = Span { start: narrow(at), length: narrow(end), source: Source::Text };
    (!has_control).then_some((Node::Text(span), end))
}

/// The number at the beginning, if it is an ordinary count, and how long it is written.
fn read_number(rest: &[u8]) -> Option<(Node, usize)> {
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    // A longer one may not fit, and zeros in front are not JSON.
    if digits == 0 || digits > 19 || digits > 1 && rest[0] == b'0' {
        return None;
    }
    let number = rest[..digits].iter().fold(0, |number: u64, digit| number * 10 + u64::from(digit - b'0'));
    Some((Node::Unsigned(number), digits))
}

/// Where the quote is that ends a string, given what follows the quote that begins it.
fn closing_quote(rest: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr2(b'"', b'\\', rest.get(at..)?)?;
        if rest[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

/// Where the numbers among the nodes begin, each behind the name of its member. All are counts, so that the nodes of all
/// texts that fit are alike.
fn places_of_numbers(text: &str, nodes: &[Node]) -> Option<Vec<(usize, usize)>> {
    let mut numbers = Vec::new();
    for (place, node) in nodes.iter().enumerate() {
        match node {
            Node::Unsigned(_) => {
                let Some(Node::Text(name)) = nodes.get(place.checked_sub(1)?) else { return None };
                let behind = text.get((name.start + name.length) as usize..)?.strip_prefix('"')?;
                let number = behind.trim_start().strip_prefix(':')?.trim_start();
                numbers.push((text.len() - number.len(), place));
            }
            Node::Signed(_) | Node::Float(_) => return None,
            Node::Null | Node::Bool(_) | Node::Text(_) | Node::Array { .. } | Node::Object { .. } => {}
        }
    }
    Some(numbers)
}

/// Every string that is no name, and every number, of a text that is known to be JSON.
fn gaps(text: &str, noted: &[Noted], numbers: &[(usize, usize)]) -> Option<Vec<Gap>> {
    let bytes = text.as_bytes();
    let mut gaps = Vec::new();
    let (mut noted, mut numbers) = (noted.iter().peekable(), numbers.iter().peekable());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                let start = at + 1;
                let end = start + closing_quote(&bytes[start..])?;
                let is_name = text[end + 1..].trim_start().starts_with(':');
                let known = noted.next_if(|noted| noted.start as usize == start);
                if !is_name && known.is_none_or(|known| !known.is_told_apart) {
                    gaps.push(Gap { kind: GapKind::Text, start, end, node: known.map(|known| known.node) });
                }
                at = end + 1;
            }
            b'-' | b'0'..=b'9' => {
                let is_part = |byte: &&u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
                let end = at + bytes[at..].iter().take_while(is_part).count();
                let node = numbers.next_if(|(start, _)| *start == at).map(|(_, node)| *node);
                gaps.push(Gap { kind: GapKind::Number, start: at, end, node });
                at = end;
            }
            _ => at += 1,
        }
    }
    // Whatever is on the tape was found again, or this is not the text that was read.
    (noted.next().is_none() && numbers.next().is_none()).then_some(gaps)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::{condition::Condition, tape::Tape};

    /// What a new tape says of a text, and what one says that has read others before; and whether the mould was used.
    fn read(tape: &mut Tape, wanted: &Arc<Wanted>, text: &str) -> bool {
        let before = tape.mould.as_ref().map(|mould| mould.text.clone());
        let mut fresh = Tape::new();
        let expected = fresh.read_wanted(text, wanted, &[]).map(|view| (view.to_value(), view.seen()));
        let found = tape.read_wanted(text, wanted, &[]).map(|view| (view.to_value(), view.seen()));
        assert_eq!(found.ok(), expected.ok(), "{text}");
        before.is_some()
            && tape.mould.as_ref().map(|mould| mould.text.clone()) == before
            && before.as_deref() != Some(text)
    }

    fn wanted() -> Arc<Wanted> {
        let mut wanted = Wanted::nothing();
        for condition in ["$.type == 'a'", "$.delta.text", "$.usage", "$.list[*].n > 1"] {
            wanted.add_condition(&Condition::parse(condition).unwrap());
        }
        Arc::new(wanted)
    }

    const FIRST: &str =
        r#"{"id":"x1","type":"a","n":7,"delta":{"text":"one"},"usage":{"in": 10,"out":2},"list":[{"n":5,"m":"y"}]}"#;

    fn check(texts: &[&str], fits: bool) {
        for text in texts {
            let wanted = wanted();
            let mut tape = Tape::new();
            read(&mut tape, &wanted, FIRST);
            assert_eq!(read(&mut tape, &wanted, text), fits, "{text}");
            read(&mut tape, &wanted, FIRST);
            read(&mut tape, &wanted, text);
        }
    }

    #[test]
    fn other_texts_and_counts_fit() {
        check(
            &[
                r#"{"id":"x2","type":"a","n":7,"delta":{"text":" and two"},"usage":{"in": 10,"out":12345678901},"list":[{"n":0,"m":""}]}"#,
                r#"{"id":"\"","type":"a","n":7,"delta":{"text":"a \"b\" \u00fc\n"},"usage":{"in": 10,"out":3},"list":[{"n":5,"m":"\\"}]}"#,
                r#"{"id":"ü","type":"a","n":12,"delta":{"text":"🙂"},"usage":{"in": 0,"out":2},"list":[{"n":5,"m":"y"}]}"#,
            ],
            true,
        );
    }

    #[test]
    fn another_shape_is_parsed() {
        check(
            &[
                r#"{"id":"x1","type":"b","n":7,"delta":{"text":"one"},"usage":{"in": 10,"out":2},"list":[{"n":5,"m":"y"}]}"#,
                r#"{"id":"x1","type":"a","n":7,"delta":{"text":null},"usage":{"in": 10,"out":2},"list":[{"n":5,"m":"y"}]}"#,
                r#"{"id":"x1","type":"a","n":7,"delta":{"text":"one"},"usage":{"in": 10,"out":2},"list":[]}"#,
                r#"{"id":"x1","type":"a","n":7,"delta":{"text":"one"},"usage":{"in": 10,"out":2},"list":[{"n":5,"m":"y"}],"z":1}"#,
                r#"{"id":"x1","type":"a","n":-7,"delta":{"text":"one"},"usage":{"in": 1.5,"out":2},"list":[{"n":5,"m":"y"}]}"#,
                r#"{"id":"x1","type":"a","n":7,"delta":{"text":"one"},"usage":{"in": 10,"out":123456789012345678901},"list":[{"n":5,"m":"y"}]}"#,
            ],
            false,
        );
    }

    #[test]
    fn what_is_not_json_does_not_fit() {
        check(
            &[
                "",
                "{",
                r#"{"id":"x1","type":"a","n":07,"delta":{"text":"one"},"usage":{"in": 10,"out":2},"list":[{"n":5,"m":"y"}]}"#,
                r#"{"id":"x1","type":"a","n":,"delta":{"text":"one"},"usage":{"in": 10,"out":2},"list":[{"n":5,"m":"y"}]}"#,
                r#"{"id":"x1","type":"a","n":7,"delta":{"text":"\x"},"usage":{"in": 10,"out":2},"list":[{"n":5,"m":"y"}]}"#,
                r#"{"id":"x1","type":"a","n":7,"delta":{"text":"\ud800"},"usage":{"in": 10,"out":2},"list":[{"n":5,"m":"y"}]}"#,
                "{\"id\":\"x1\",\"type\":\"a\",\"n\":7,\"delta\":{\"text\":\"a\nb\"},\"usage\":{\"in\": 10,\"out\":2},\"list\":[{\"n\":5,\"m\":\"y\"}]}",
                r#"{"id":"x1","type":"a","n":7,"delta":{"text":"one"},"usage":{"in": 10,"out":2},"list":[{"n":5,"m":"y"}]}}"#,
                r#"{"id":"x1","type":"a","n":7,"delta":{"text":"one"#,
            ],
            false,
        );
    }

    #[test]
    fn a_text_read_for_something_else_does_not_fit() {
        let mut tape = Tape::new();
        assert!(!read(&mut tape, &wanted(), FIRST));
        assert!(!read(&mut tape, &wanted(), &FIRST.replace("one", "two")));
    }

    #[test]
    fn moulds_that_nothing_fits_become_rare() {
        let mut patience = Patience::default();
        let made: Vec<usize> = (0..20).filter(|_| patience.is_over()).collect();
        assert_eq!(made, [0, 1, 3, 6, 11]);
        patience.reward();
        assert!(patience.is_over());
    }

    /// Numbers and texts inside some fixed shapes, and shapes that come now and then.
    fn any_text() -> impl Strategy<Value = String> {
        let text = prop_oneof!["[a-c \"\\\\\n]{0,4}", "\\PC{0,6}"];
        let number = prop_oneof![
            any::<u64>().prop_map(Value::from),
            any::<i16>().prop_map(Value::from),
            any::<f32>().prop_map(Value::from)
        ];
        (0..4, text, number).prop_map(|(shape, text, number)| match shape {
            0 => json!({"type": "a", "delta": {"text": text}, "usage": {"out": number}}).to_string(),
            1 => json!({"type": text, "delta": {"text": "a"}, "other": number}).to_string(),
            2 => json!({"list": [{"n": number, "m": text}, [number], text]}).to_string(),
            _ => format!(
                " [ {{\"type\" : \"a\", \"delta\":{{\"text\":{}}},\"usage\":{number} }}, {number}]",
                json!(text)
            ),
        })
    }

    proptest! {
        #[test]
        fn what_was_read_before_makes_no_difference(texts in prop::collection::vec(any_text(), 1..12)) {
            for wanted in [wanted(), Arc::new(Wanted::everything())] {
                let mut tape = Tape::new();
                for text in &texts {
                    read(&mut tape, &wanted, text);
                }
            }
        }
    }
}
