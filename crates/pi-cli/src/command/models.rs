//! `pi models`: every model that is known, what it can do, what it costs, and whether it can be asked now.

mod mark;

use std::collections::HashSet;

use pi_provider::{catalog::Found, manifest::model::Pricing};
use pi_transcript::ProviderId;
use serde::Serialize;

use self::mark::{GUESS, Mark, marks};
use crate::{
    amount::{counted, grouped},
    arguments::model::{Ability, ModelsArguments},
    choice::{answers, ending::has_ended},
    console::{Console, Tone},
    env::Environment,
    exit::Exit,
    failure::Failure,
    providers::{DEMO, Providers, Shown, is_local},
    runtime,
    table::{self, Align, Cell, Column, Room},
};

const COLUMNS: [Column; 8] = [
    Column { title: "provider", align: Align::Left, room: Room::Whole },
    Column { title: "model", align: Align::Left, room: Room::CutTo(18) },
    Column { title: "context", align: Align::Right, room: Room::LeaveOut(2) },
    Column { title: "output", align: Align::Right, room: Room::LeaveOut(4) },
    Column { title: "$ in", align: Align::Right, room: Room::LeaveOut(3) },
    Column { title: "$ out", align: Align::Right, room: Room::LeaveOut(3) },
    Column { title: CAN, align: Align::Left, room: Room::CutToOrLeaveOut(12, 1) },
    Column { title: "credential", align: Align::Left, room: Room::CutToOrLeaveOut(10, 0) },
];

const CAN: &str = "can";

/// What manifests call models that end soon, or have ended.
const ENDING: [&str; 3] = ["deprecated", RETIRED, "legacy"];
/// What they call those that have ended.
const RETIRED: &str = "retired";

/// Behind a price that is higher for long prompts.
const MORE: &str = "+";
/// Behind a price beside which something else is charged.
const FEES: &str = "*";
/// Behind the price of a model whose price for what comes from a cache is not known. Not the mark of what a model may be
/// able to do, which stands in another column of the same row.
const UNSURE: &str = "~";

/// What a machine reads about a model.
#[derive(Serialize)]
struct Line<'a> {
    provider: &'a str,
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    /// `deprecated`, `retired`, `preview` and the like.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'a str>,
    /// The day on which it is or was switched off.
    #[serde(skip_serializing_if = "Option::is_none")]
    ends_on: Option<&'a str>,
    /// What its provider names in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    successor: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_window: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    /// US dollars for a million tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pricing: Option<&'a Pricing>,
    /// Where this is false, what a cache held makes the cost of a call a range.
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_price_known: Option<bool>,
    capabilities: Vec<&'static str>,
    /// What its provider can do and nobody says of this model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    maybe: Vec<&'static str>,
    available: bool,
    local: bool,
    demo: bool,
    credential: &'a Shown,
    source: String,
}

/// A model with what is asked only once for it.
struct Row<'a> {
    found: Found<'a>,
    credential: Shown,
    is_available: bool,
}

pub(crate) fn run(
    arguments: &ModelsArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let mut providers = Providers::load(&arguments.sources, environment, console)?;
    runtime::start()?.block_on(providers.look_around(console));
    let rows = rows(arguments, &providers);
    if arguments.json {
        for row in &rows {
            console.line(&serde_json::to_string(&row.line()).expect("a model is plain JSON"));
        }
    } else if !rows.is_empty() {
        show(&rows, &providers, console);
    }
    if rows.is_empty() {
        console.note("no model fits");
        console.hint("`pi models` shows all, `pi provider list` every provider");
        return Ok(Exit::No);
    }
    Ok(Exit::Success)
}

/// Those that can be asked first, then by provider; models in the order of their manifest, the demo last.
fn rows<'a>(arguments: &ModelsArguments, providers: &'a Providers) -> Vec<Row<'a>> {
    let fitting: HashSet<String> = arguments
        .pattern
        .iter()
        .flat_map(|pattern| providers.catalog.matching(pattern))
        .map(|found| found.name())
        .collect();
    let is_like = |found: &Found<'_>| arguments.pattern.is_empty() || fitting.contains(&found.name());
    let can = |found: &Found<'_>| {
        let marks = marks(&found.entry.manifest, found.model);
        arguments.can.iter().all(|wanted| marks.iter().any(|mark| mark.ability == *wanted))
    };
    let found = providers.catalog.models().filter(|found| is_like(found) && can(found));
    let row = |found: Found<'a>| {
        let credential = Shown::of(&providers.credential(found.entry, None));
        let is_served = answers(found.model) && !found.model.is_some_and(has_ended);
        let is_available = is_served && providers.is_available(found.entry, &credential);
        Row { found, credential, is_available }
    };
    let mut rows: Vec<Row> = found.map(row).filter(|row| row.is_available || !arguments.available).collect();
    let key = |row: &Row| {
        let id = row.found.entry.manifest.id.clone();
        (id.as_str() == DEMO, !row.is_available, id)
    };
    rows.sort_by_cached_key(key);
    rows
}

impl Row<'_> {
    fn line(&self) -> Line<'_> {
        let (manifest, model) = (&self.found.entry.manifest, self.found.model);
        let (sure, maybe): (Vec<Mark>, Vec<Mark>) = marks(manifest, model).into_iter().partition(|mark| mark.is_sure);
        let words = |marks: Vec<Mark>| marks.into_iter().map(|mark| mark.ability.word()).collect();
        Line {
            provider: manifest.id.as_str(),
            model: &self.found.id,
            name: model.and_then(|it| it.name.as_deref()),
            status: self.status(),
            ends_on: model.and_then(|it| it.ends_on.as_deref()),
            successor: model.and_then(|it| it.successor.as_deref()),
            context_window: model.and_then(|it| it.context_window),
            max_output_tokens: model.and_then(|it| it.max_output_tokens),
            pricing: self.pricing(),
            cache_price_known: self.pricing().map(Pricing::has_cache_price),
            capabilities: words(sure),
            maybe: words(maybe),
            available: self.is_available,
            local: is_local(manifest),
            demo: manifest.id.as_str() == DEMO,
            credential: &self.credential,
            source: self.found.entry.origin.to_string(),
        }
    }

    /// The manifest's word, unless the day of its end is past.
    fn status(&self) -> Option<&str> {
        let model = self.found.model?;
        if has_ended(model) { Some(RETIRED) } else { model.status.as_deref() }
    }

    fn pricing(&self) -> Option<&Pricing> {
        self.found.model?.pricing.as_ref()
    }

    fn cells(&self) -> Vec<Cell> {
        let (manifest, model) = (&self.found.entry.manifest, self.found.model);
        let pricing = self.pricing().cloned().unwrap_or_default();
        let more = if pricing.tiers.is_empty() { "" } else { MORE };
        let fees = if pricing.extra_fees { FEES } else { "" };
        let unsure = if is_unsure(&pricing) { UNSURE } else { "" };
        let status = self.status().filter(|status| ENDING.contains(status)).map(str::to_owned);
        let can: Vec<String> = status.into_iter().chain(marks(manifest, model).iter().map(Mark::to_string)).collect();
        let credential = match (manifest.id.as_str(), is_local(manifest)) {
            (DEMO, _) => Cell::toned(Tone::Warning, "demo: no real model"),
            (_, true) if self.found.entry.is_trusted() => Cell::toned(Tone::Good, "on this machine"),
            _ if self.is_available => Cell::toned(Tone::Good, self.credential.words()),
            _ => Cell::toned(Tone::Quiet, self.credential.words()),
        };
        let tone = if self.is_available { Tone::Strong } else { Tone::Quiet };
        vec![
            Cell::plain(manifest.id.as_str()),
            Cell::toned(tone, &self.found.id),
            Cell::plain(size(model.and_then(|it| it.context_window))),
            Cell::plain(size(model.and_then(|it| it.max_output_tokens))),
            Cell::plain(price(pricing.input_per_1m) + more + unsure),
            Cell::plain(price(pricing.output_per_1m) + more + fees),
            Cell::plain(can.join(" ")),
            credential,
        ]
    }
}

fn show(rows: &[Row], providers: &Providers, console: &mut Console) {
    let cells: Vec<Vec<Cell>> = rows.iter().map(Row::cells).collect();
    let left_out = table::show(&COLUMNS, &cells, console);
    let available = rows.iter().filter(|row| row.is_available).count();
    let mut about = format!("{}, {} can be asked now", counted(rows.len(), "model"), grouped(available));
    let is_listed = |id: &&ProviderId| rows.iter().any(|row| row.found.entry.manifest.id == **id);
    let found: Vec<&str> = providers.found().iter().filter(is_listed).map(ProviderId::as_str).collect();
    if !found.is_empty() {
        about.push_str(&format!("; found on this machine: {}", found.join(", ")));
    }
    console.remark(&format!("{about}; prices in US dollars for a million tokens"));
    let mut prices = rows.iter().filter_map(Row::pricing);
    if prices.clone().any(|pricing| !pricing.tiers.is_empty()) {
        console.remark(&format!("{MORE} more for long prompts; `pi provider show PROVIDER` says from which length on"));
    }
    if prices.clone().any(|pricing| pricing.extra_fees) {
        console.remark(&format!(
            "{FEES} something beside tokens is charged too, such as a search: costs are at least this"
        ));
    }
    if prices.any(is_unsure) {
        console.remark(&format!("{UNSURE} the price of what comes from a cache is not known: costs are then a range"));
    }
    let is_guess = |row: &Row| marks(&row.found.entry.manifest, row.found.model).iter().any(|mark| !mark.is_sure);
    if !left_out.contains(&CAN) && rows.iter().any(is_guess) {
        console.remark(&format!("{GUESS} its provider can, and nobody says it of this model"));
    }
    if !left_out.is_empty() {
        console.remark(&format!("there was no room for: {}", left_out.join(", ")));
    }
}

/// Whether the manifest says of this very model that it can.
pub(super) fn can(found: &Found<'_>, ability: Ability) -> bool {
    let is_meant = |mark: &Mark| mark.ability == ability && mark.is_sure;
    marks(&found.entry.manifest, found.model).iter().any(is_meant)
}

/// Tokens in few letters; nothing where nobody knows.
pub(crate) fn size(tokens: Option<u64>) -> String {
    let round = |tokens: u64, unit: u64| {
        #[expect(clippy::cast_precision_loss, reason = "two digits are shown")]
        let count = (tokens as f64 / unit as f64 * 100.0).round() / 100.0;
        count.to_string()
    };
    match tokens {
        None | Some(0) => String::new(),
        Some(tokens @ 1_000_000..) => format!("{}M", round(tokens, 1_000_000)),
        Some(tokens @ 1000..) => {
            format!("{}k", tokens.div_ceil(1000).min(tokens / 1000 + u64::from(tokens % 1000 >= 500)))
        }
        Some(tokens) => tokens.to_string(),
    }
}

/// Whether there are prices for questions and answers, and none for what comes from a cache.
fn is_unsure(pricing: &Pricing) -> bool {
    pricing.output_per_1m.is_some() && !pricing.has_cache_price()
}

/// Dollars for a million tokens; nothing where nobody knows.
pub(crate) fn price(dollars: Option<f64>) -> String {
    match dollars {
        None => String::new(),
        Some(0.0) => "0".to_owned(),
        Some(dollars) if dollars < 0.1 => format!("{dollars:.3}"),
        Some(dollars) => format!("{dollars:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short() {
        for (tokens, expected) in [
            (None, ""),
            (Some(0), ""),
            (Some(512), "512"),
            (Some(8192), "8k"),
            (Some(16_384), "16k"),
            (Some(131_072), "131k"),
            (Some(200_000), "200k"),
            (Some(1_000_000), "1M"),
            (Some(1_048_576), "1.05M"),
        ] {
            assert_eq!(size(tokens), expected);
        }
    }

    #[test]
    fn prices_have_the_digits_that_matter() {
        for (dollars, expected) in
            [(None, ""), (Some(0.0), "0"), (Some(0.075), "0.075"), (Some(0.4), "0.40"), (Some(15.0), "15.00")]
        {
            assert_eq!(price(dollars), expected);
        }
    }
}
