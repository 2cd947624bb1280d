//! What the benches measured: criterion's files, and the lines `metric <name> <number> <unit> [<how many>]` that a bench
//! prints itself, where the last number says how many were done in that time.

use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::{Figure, Figures, Unit};
use crate::files;

#[derive(Deserialize)]
struct Benchmark {
    full_id: String,
    throughput: Option<Throughput>,
}

/// How much one iteration does; bytes are not counted here.
#[derive(Deserialize)]
struct Throughput {
    #[serde(rename = "Elements")]
    elements: Option<f64>,
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
        let elements = benchmark.throughput.and_then(|throughput| throughput.elements);
        let rate = elements.map(|elements| elements * 1e9 / median);
        let figure = Figure { median, cpu: Some(median * share), rate, unit: Unit::Nanoseconds };
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
    let (name, number): (&str, f64) = (words.next()?, words.next()?.parse().ok()?);
    let unit = match words.next() {
        Some("ns") => Unit::Nanoseconds,
        Some("KiB") => Unit::Kibibytes,
        Some(_) | None => Unit::Count,
    };
    let done: Option<f64> = words.next().and_then(|word| word.parse().ok());
    let rate = done.filter(|_| unit == Unit::Nanoseconds).map(|done| done * 1e9 / number);
    let name = name.strip_prefix(&format!("{bench}/")).unwrap_or(name);
    Some((format!("{bench}/{name}"), Figure { median: number, cpu: None, rate, unit }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_read_from_criterions_files() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().join("engine/lanes_1/new");
        let id =
            r#"{"group_id":"engine","function_id":"lanes/1","full_id":"engine/lanes/1","throughput":{"Elements":4}}"#;
        files::write(&place.join("benchmark.json"), id.as_bytes()).expect("it can be written");
        let estimates = r#"{"mean":{"point_estimate":900.0},"median":{"point_estimate":800.0,"standard_error":1.0}}"#;
        files::write(&place.join("estimates.json"), estimates.as_bytes()).expect("it can be written");
        let expected = Figure { median: 800.0, cpu: Some(400.0), rate: Some(5e6), unit: Unit::Nanoseconds };
        let figures = read(folder.path(), 0.5).expect("they are what criterion writes");
        assert_eq!(figures, Figures::from([("engine/lanes/1".to_owned(), expected)]));
    }

    #[test]
    fn lines_of_metrics_are_read_among_others() {
        let printed = "Benchmarking…\nmetric ops_per_step/100 11.5 ops\nmetric engine/step 40 ns 2\nmetric less -3 ns\nmetric broken\nmetrics 1 2";
        let count = Figure { median: 11.5, cpu: None, rate: None, unit: Unit::Count };
        let time = Figure { median: 40.0, cpu: None, rate: Some(5e7), unit: Unit::Nanoseconds };
        // What is left of a difference may be less than nothing.
        let less = Figure { median: -3.0, cpu: None, rate: None, unit: Unit::Nanoseconds };
        let expected: Figures = [
            ("engine/ops_per_step/100".to_owned(), count),
            ("engine/step".to_owned(), time),
            ("engine/less".to_owned(), less),
        ]
        .into();
        assert_eq!(metrics("engine", printed), expected);
    }
}
