//! What an envelope is made of, as a strip: one stretch for each segment, as wide as its share, in the order of the prompt.

use pi_envelope::{Envelope, Kind, Segment, Stats, meta::Counted, stats};
use ratatui_core::{
    style::{Color, Style},
    text::{Line, Span},
};

use crate::{
    look::tokens,
    text::{printable, shorten_line, wrap_plain},
    theme::Colours,
};

/// A line of the legend with everything in it is as wide as this.
const WHOLE: usize = 52;

/// The strip, and below it a line for each kind of segment, the largest first. `width` is in cells. Where there are no
/// colours, the letters of the kinds stand for them.
pub fn envelope_bar(envelope: &Envelope, width: usize, colours: Colours) -> Vec<Line<'static>> {
    let stats = stats(envelope);
    let sizes: Vec<(Kind, u64)> =
        envelope.segments().map(|(_, segment)| (segment.body.kind(), segment.tokens().count)).collect();
    let mut lines = vec![strip(&sizes, width.max(1), colours)];
    lines.extend(legend(envelope, &stats, width, colours));
    lines.extend(wrap_plain(sum(envelope, &stats), width.max(1)));
    lines
}

/// The colour of a kind, wherever it is drawn; apart from each other for every kind of eye.
pub fn colour(kind: Kind) -> Color {
    match kind {
        Kind::Text => Color::Rgb(86, 180, 233),
        Kind::StaticVar => Color::Rgb(153, 153, 153),
        Kind::SystemPrompt => Color::Rgb(0, 114, 178),
        Kind::Memory => Color::Rgb(204, 121, 167),
        Kind::Skills => Color::Rgb(170, 110, 220),
        Kind::ToolOverview => Color::Rgb(230, 159, 0),
        Kind::ToolCallRequest => Color::Rgb(0, 158, 115),
        Kind::ToolCallResult => Color::Rgb(120, 200, 130),
        Kind::Document => Color::Rgb(240, 228, 66),
        Kind::LongText => Color::Rgb(213, 94, 0),
        Kind::Media => Color::Rgb(230, 90, 90),
    }
}

/// The letter of a kind where there are no colours.
pub fn letter(kind: Kind) -> char {
    match kind {
        Kind::Text => 'X',
        Kind::StaticVar => 'V',
        Kind::SystemPrompt => 'S',
        Kind::Memory => 'M',
        Kind::Skills => 'K',
        Kind::ToolOverview => 'T',
        Kind::ToolCallRequest => 'C',
        Kind::ToolCallResult => 'R',
        Kind::Document => 'D',
        Kind::LongText => 'L',
        Kind::Media => 'P',
    }
}

/// Stretches that together fill the width exactly; neighbours alternate in the shade of the block or the size of the letter.
fn strip(sizes: &[(Kind, u64)], width: usize, colours: Colours) -> Line<'static> {
    let all: u128 = sizes.iter().map(|(_, size)| u128::from(*size)).sum();
    if all == 0 {
        return Line::raw("░".repeat(width));
    }
    let mut spans: Vec<Span<'static>> = Vec::new();
    let (mut passed, mut drawn) = (0u128, 0usize);
    for (index, (kind, size)) in sizes.iter().enumerate() {
        passed += u128::from(*size);
        // The end of each stretch is rounded, not its length: so errors do not add up.
        let end = usize::try_from((passed * width as u128 * 2 / all).div_ceil(2)).unwrap_or(width).min(width);
        let cells = end.saturating_sub(drawn);
        if cells > 0 {
            let block = match (colours, index % 2) {
                (Colours::None, 0) => letter(*kind),
                (Colours::None, _) => letter(*kind).to_ascii_lowercase(),
                (_, 0) => '█',
                (_, _) => '▓',
            };
            spans.push(Span::styled(block.to_string().repeat(cells), Style::new().fg(colour(*kind))));
            drawn = end;
        }
    }
    Line::from(spans)
}

/// A line for each kind; where there is little room it says less.
fn legend(envelope: &Envelope, stats: &Stats, width: usize, colours: Colours) -> Vec<Line<'static>> {
    let mut kinds: Vec<(Kind, u64, usize, f64)> = Kind::ALL
        .into_iter()
        .filter_map(|kind| {
            stats.by_kind.get(kind.as_str()).map(|tally| (kind, tally.tokens, tally.segments, tally.share))
        })
        .collect();
    kinds.sort_by_key(|(kind, size, ..)| (std::cmp::Reverse(*size), kind.as_str()));
    let row = |(kind, size, segments, share): (Kind, u64, usize, f64)| {
        let size = format!("{}{}", guess(is_estimated(envelope, Some(kind))), tokens(size));
        let style = Style::new().fg(colour(kind));
        let mark = if colours == Colours::None { letter(kind) } else { '■' };
        let word = if segments == 1 { "segment" } else { "segments" };
        let (kind, share) = (kind.as_str(), share * 100.0);
        let words = if width < WHOLE {
            format!("{kind:<18}{size:>6} {share:>5.1}%")
        } else {
            format!("{kind:<18}{size:>8}  {share:>5.1}%  {segments} {word}")
        };
        shorten_line(Line::from(vec![Span::styled(format!("{mark} "), style), Span::raw(words)]), width.max(1))
    };
    kinds.into_iter().map(row).collect()
}

fn sum(envelope: &Envelope, stats: &Stats) -> Line<'static> {
    let model = envelope.model.as_deref().unwrap_or("no model named");
    let is_estimated = is_estimated(envelope, None);
    let mut facts = vec![
        format!("{}{} tokens in {} messages", guess(is_estimated), tokens(stats.total.tokens), stats.messages),
        printable(model).into_owned(),
    ];
    if let Some(meta) = envelope.ours() {
        let sent = meta.usage.as_ref().map(|usage| usage.input + usage.cache_read + usage.cache_write);
        facts.extend(sent.map(|sent| format!("the provider counted {}", tokens(sent))));
        facts.extend(meta.residual.map(|residual| format!("residual {residual:+}")));
    }
    if is_estimated {
        facts.push("~ is estimated".to_owned());
    }
    Line::raw(facts.join(" · "))
}

/// Whether a size is made up from lengths, at least in part: of one kind, or of everything.
fn is_estimated(envelope: &Envelope, kind: Option<Kind>) -> bool {
    let is_wanted = |segment: &Segment| kind.is_none_or(|kind| segment.body.kind() == kind);
    envelope.segments().any(|(_, segment)| is_wanted(segment) && segment.tokens().how == Counted::Estimated)
}

/// What stands before a size that is estimated.
fn guess(is_estimated: bool) -> &'static str {
    if is_estimated { "~" } else { "" }
}

#[cfg(test)]
mod tests {
    use pi_envelope::meta::{Meta, Tokens};

    use super::*;
    use crate::text::line_width;

    #[test]
    fn everything_fits_into_a_narrow_window() {
        let text = r#"{"version":"1.0","model":"a-provider/a-model-with-a-rather-long-name","messages":[
            {"id":"m1","role":"system","timestamp":1,"segments":[
                {"kind":"system_prompt","content":"You help with a small project.","collapsed":false},
                {"kind":"memory","items":[{"title":"AGENTS.md","content":"Use tabs."}],"collapsed":true}]},
            {"id":"m2","role":"user","timestamp":2,"segments":[{"kind":"text","content":"Hello there"}]}]}"#;
        let envelope: Envelope = serde_json::from_str(text).unwrap();
        for width in [1, 20, 40, 60, 120] {
            let lines = envelope_bar(&envelope, width, Colours::True);
            assert!(lines.iter().all(|line| line_width(line) <= width), "{width}: {lines:?}");
        }
        let narrow: Vec<String> = envelope_bar(&envelope, 40, Colours::True).iter().map(ToString::to_string).collect();
        assert!(narrow[1].starts_with("■ system_prompt") && narrow[1].ends_with('%'), "{narrow:?}");
    }

    #[test]
    fn sizes_say_how_they_are_known() {
        let text = r#"{"version":"1.0","model":"p/m","messages":[
            {"id":"m1","role":"system","timestamp":1,"segments":[
                {"kind":"system_prompt","content":"You help.","collapsed":false}]},
            {"id":"m2","role":"user","timestamp":2,"segments":[{"kind":"text","content":"Hello there"}]}]}"#;
        let mut envelope: Envelope = serde_json::from_str(text).unwrap();
        let count = |envelope: &mut Envelope, message: usize, count: u64| {
            let meta = Meta::write(&mut envelope.messages[message].segments[0].meta).expect("it is ours");
            meta.tokens = Some(Tokens { count, how: Counted::Counted });
        };
        count(&mut envelope, 0, 90);
        let shown = |envelope: &Envelope| -> Vec<String> {
            let lines = envelope_bar(envelope, 100, Colours::True);
            lines[1..].iter().map(|line| line.to_string().split_whitespace().collect::<Vec<_>>().join(" ")).collect()
        };
        let lines = shown(&envelope);
        assert!(lines[0].starts_with("■ system_prompt 90 ") && lines[1].starts_with("■ text ~"), "{lines:?}");
        assert!(
            lines[2].starts_with('~') && lines[2].ends_with(" tokens in 2 messages · p/m · ~ is estimated"),
            "{lines:?}"
        );

        count(&mut envelope, 1, 10);
        assert_eq!(shown(&envelope)[2], "100 tokens in 2 messages · p/m");
        let usage = pi_transcript::Usage { input: 80, cache_read: 30, ..pi_transcript::Usage::default() };
        pi_envelope::reconcile(&mut envelope, &usage);
        assert_eq!(shown(&envelope)[2], "100 tokens in 2 messages · p/m · the provider counted 110 · residual +10");
    }

    #[test]
    fn stretches_fill_the_strip_in_order() {
        for (sizes, width, expected) in [
            (vec![(Kind::SystemPrompt, 50), (Kind::Text, 50)], 10, vec![5, 5]),
            (vec![(Kind::SystemPrompt, 1), (Kind::Text, 1), (Kind::Text, 1)], 10, vec![3, 4, 3]),
            (vec![(Kind::SystemPrompt, 999), (Kind::Text, 1)], 10, vec![10]),
            (vec![(Kind::Text, 0)], 3, vec![3]),
        ] {
            let line = strip(&sizes, width, Colours::True);
            let cells: Vec<usize> = line.spans.iter().map(|span| crate::text::width(&span.content)).collect();
            assert_eq!((line_width(&line), cells), (width, expected), "{sizes:?}");
        }
    }

    #[test]
    fn every_kind_has_a_letter_of_its_own() {
        let letters: std::collections::BTreeSet<char> = Kind::ALL.map(letter).into();
        assert_eq!(letters.len(), Kind::ALL.len());
    }

    #[test]
    fn letters_stand_for_colours_where_there_are_none() {
        let sizes = [(Kind::SystemPrompt, 50), (Kind::Text, 25), (Kind::Text, 25)];
        assert_eq!(strip(&sizes, 8, Colours::None).to_string(), "SSSSxxXX");
        assert_eq!(strip(&sizes, 8, Colours::Sixteen).to_string(), "████▓▓██");
    }
}
