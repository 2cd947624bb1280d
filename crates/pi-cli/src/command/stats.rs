//! `pi envelope stats`: what an envelope is made of, as bars or as JSON.

mod provider;

use std::fmt;

use pi_envelope::{Envelope, Kind, Stats, Tally};
use serde::Serialize;

use self::provider::{Cache, Sent};
use crate::{
    amount::{counted, grouped, percent},
    arguments::StatsArguments,
    console::{Console, Tone, printable},
    exit::Exit,
    failure::Failure,
    input::{self, Document, Endings},
    verdict::Verdict,
};

const BAR: usize = 30;

/// The line that a machine reads.
#[derive(Serialize)]
struct Line<'a> {
    file: &'a str,
    /// Where a file holds one document per line.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    stats: &'a Stats,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache: Option<Cache>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sent: Option<Sent>,
}

/// Which envelope it is: the only one of a file, or that of a line.
struct Place<'a> {
    file: &'a str,
    line: Option<usize>,
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            None => f.write_str(self.file),
            Some(line) => write!(f, "{}:{line}", self.file),
        }
    }
}

pub(crate) fn run(arguments: &StatsArguments, console: &mut Console) -> Result<Exit, Failure> {
    let mut exit = Exit::Success;
    for (file, input) in input::expand(arguments.input.files(), arguments.input.layout(), Endings::DOCUMENTS)? {
        let take = |document: Document| {
            let place = Place { file: &file, line: document.line };
            match document.parse(pi_envelope::parse) {
                Ok(envelope) => show(&place, &envelope, arguments.json, console),
                Err(refusal) => {
                    exit = Exit::No;
                    let failure = Failure::NotAnEnvelope { file: place.to_string(), refusal };
                    refuse(&place, &failure, arguments.json, console);
                }
            }
        };
        if let Err(failure) = input.and_then(|input| input.documents(take)) {
            exit = Exit::No;
            refuse(&Place { file: &file, line: None }, &failure, arguments.json, console);
        }
    }
    Ok(exit)
}

fn show(place: &Place, envelope: &Envelope, json: bool, console: &mut Console) {
    let stats = pi_envelope::stats(envelope);
    let (cache, sent) = (Cache::of(envelope), Sent::of(envelope, &stats));
    if json {
        let line = Line { file: place.file, line: place.line, stats: &stats, cache, sent };
        return console.line(&serde_json::to_string(&line).expect("statistics are plain JSON"));
    }
    let title = console.paint(Tone::Strong, &printable(&place.to_string()));
    let model = envelope.model.as_deref().unwrap_or("no model named");
    let total = &stats.total;
    console.line(&format!(
        "{title}  {}, {}, {}, {}",
        printable(model),
        counted(stats.messages, "message"),
        counted(total.segments, "segment"),
        counted(total.tokens, "token"),
    ));
    show_kinds(&stats, console);
    if let Some(cache) = cache {
        cache.show(console);
    }
    line_of_shares("by role", stats.by_role.iter().map(|(role, tally)| ((*role).to_owned(), tally)), console);
    line_of_shares("by origin", stats.by_origin.iter().map(|(origin, tally)| (origin.clone(), tally)), console);
    let how: Vec<String> = stats
        .by_count
        .iter()
        .filter_map(|(how, tokens)| Some((serde_json::to_value(how).ok()?.as_str()?.to_owned(), *tokens)))
        .map(|(how, tokens)| format!("{} {how}", grouped(tokens)))
        .collect();
    let label = console.paint(Tone::Quiet, "tokens");
    console.line(&format!("  {label}: {}", how.join(", ")));
    if let Some(sent) = sent {
        sent.show(console);
    }
}

fn show_kinds(stats: &Stats, console: &mut Console) {
    let mut kinds: Vec<(Kind, &Tally)> =
        Kind::ALL.into_iter().filter_map(|kind| Some((kind, stats.by_kind.get(kind.as_str())?))).collect();
    kinds.sort_by_key(|(kind, tally)| (std::cmp::Reverse(tally.tokens), kind.as_str()));
    for (kind, tally) in kinds {
        let (full, rest) = bar(tally.share);
        let bar = format!("{}{}", console.paint(Tone::Kind(kind), &full), console.paint(Tone::Quiet, &rest));
        let name = console.paint(Tone::Kind(kind), &format!("{:<17}", kind.as_str()));
        let (share, amount) = (percent(tally.share), counted(tally.tokens, "token"));
        console.line(&format!("  {name} {bar} {share:>7}  {amount:>14}  {}", counted(tally.segments, "segment")));
    }
}

fn line_of_shares<'a>(label: &str, tallies: impl Iterator<Item = (String, &'a Tally)>, console: &mut Console) {
    let mut tallies: Vec<(String, &Tally)> = tallies.collect();
    tallies.sort_by(|left, right| right.1.tokens.cmp(&left.1.tokens).then_with(|| left.0.cmp(&right.0)));
    let parts: Vec<String> =
        tallies.iter().map(|(name, tally)| format!("{} {}", printable(name), percent(tally.share))).collect();
    let label = console.paint(Tone::Quiet, label);
    console.line(&format!("  {label}: {}", parts.join(", ")));
}

fn refuse(place: &Place, failure: &Failure, json: bool, console: &mut Console) {
    if json {
        console.line(&Verdict::of_failure(place.file, place.line, failure).line());
    } else {
        console.fail(failure);
    }
}

/// The filled and the empty part, by eighths of a cell. What is there at all is visible, and only the whole fills it.
fn bar(share: f64) -> (String, String) {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    const WHOLE: usize = BAR * EIGHTHS.len();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share lies between 0 and 1")]
    let rounded = (share * WHOLE as f64).round() as usize;
    let filled = match share {
        1.0.. => WHOLE,
        share if share > 0.0 => rounded.clamp(1, WHOLE - 1),
        _ => 0,
    };
    let (full, part) = (filled / EIGHTHS.len(), EIGHTHS[filled % EIGHTHS.len()]);
    (format!("{}{part}", "█".repeat(full)), "░".repeat(BAR - full - part.chars().count()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_show_the_smallest_share_and_only_the_whole_fills_them() {
        for (share, full, last) in
            [(0.0, 0, ""), (0.001, 0, "▏"), (0.05, 1, "▌"), (0.5, 15, ""), (0.9999, 29, "▉"), (1.0, 30, "")]
        {
            let (filled, rest) = bar(share);
            assert_eq!(filled, format!("{}{last}", "█".repeat(full)), "{share}");
            assert_eq!(filled.chars().count() + rest.chars().count(), BAR, "{share}");
        }
    }
}
