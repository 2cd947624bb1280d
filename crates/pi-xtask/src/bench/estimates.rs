//! What the benches measured: criterion's files, and the lines `metric <name> <number> <unit>` that a bench prints itself.

use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::{Figure, Figures, Unit};
use crate::files;

#[derive(Deserialize)]
struct Benchmark {
    full_id: String,
}

#[derive(Deserialize)]
struct Estimates {
    median: Estimate,
}

#[derive(Deserialize)]
struct Estimate {
    point_estimate: f64,
}

/// Reads every median below a folder of criterion. `share` is the part of the time in which the bench had the CPU.
pub(super) fn read(folder: &Path, share: f64) -> Result<Figures> {
    let mut figures = Figures::new();
    let ids = files::below(folder)?.into_iter().filter(|path| path.ends_with("new/benchmark.json"));
    for id in ids {
        let benchmark: Benchmark = parse(&id)?;
        let Estimates { median } = parse(&id.with_file_name("estimates.json"))?;
        let median = median.point_estimate;
        let figure = Figure { median, cpu: Some(median * share), unit: Unit::Nanoseconds };
        figures.insert(benchmark.full_id, figure);
    }
    Ok(figures)
}

fn parse<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<T> {
    let text = files::read(path)?;
    serde_json::from_str(&text).with_context(|| format!("{} is not what criterion writes", path.display()))
}

/// Reads the figures that a bench counted itself, under the name of the bench.
pub(super) fn metrics(bench: &str, printed: &str) -> Figures {
    printed.lines().filter_map(|line| metric(bench, line)).collect()
}

fn metric(bench: &str, line: &str) -> Option<(String, Figure)> {
    let mut words = line.strip_prefix("metric ")?.split_whitespace();
    let (name, number) = (words.next()?, words.next()?.parse().ok()?);
    let unit = match words.next() {
        Some("ns") => Unit::Nanoseconds,
        Some("KiB") => Unit::Kibibytes,
        Some(_) | None => Unit::Count,
    };
    let name = name.strip_prefix(&format!("{bench}/")).unwrap_or(name);
    Some((format!("{bench}/{name}"), Figure { median: number, cpu: None, unit }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_metrics_are_read_among_others() {
        let printed =
            "Benchmarking…\nmetric ops_per_step/100 11.5 ops\nmetric engine/step 40 ns\nmetric broken\nmetrics 1 2";
        let count = Figure { median: 11.5, cpu: None, unit: Unit::Count };
        let time = Figure { median: 40.0, cpu: None, unit: Unit::Nanoseconds };
        let expected: Figures =
            [("engine/ops_per_step/100".to_owned(), count), ("engine/step".to_owned(), time)].into();
        assert_eq!(metrics("engine", printed), expected);
    }
}
