//! A run that was kept, and how far this one is from it.
//!
//! What is kept is what `--json` prints, so any run that was printed that way can be compared with.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use super::goals::{Judged, amount};
use crate::console::{self, Cell, Tone, paint};
use crate::{cargo, files};

/// Changes below this are what a machine does by itself.
const NOISE: f64 = 0.15;

/// The figures of an earlier run, by name.
#[derive(Debug, PartialEq)]
pub(super) struct Baseline(BTreeMap<String, f64>);

#[derive(Deserialize)]
struct Saved {
    figures: Vec<SavedFigure>,
}

#[derive(Deserialize)]
struct SavedFigure {
    name: String,
    median: f64,
}

/// Where a run is kept if nobody says where.
pub(super) fn usual_place() -> Result<PathBuf> {
    Ok(cargo::target_folder()?.join("bench-baseline.json"))
}

/// Keeps a run.
pub(super) fn save(path: &Path, judged: &[Judged]) -> Result<()> {
    files::write(path, serde_json::to_string_pretty(&super::to_json(judged))?.as_bytes())?;
    console::say(&paint(Tone::Quiet, &format!("this run is kept in {}", path.display())));
    Ok(())
}

impl Baseline {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text = files::read_if_there(path)?.with_context(|| {
            format!("no run is kept in {}; keep one first: cargo xtask bench --save-baseline", path.display())
        })?;
        Self::parse(&text).with_context(|| format!("{} is not what --json prints", path.display()))
    }

    fn parse(text: &str) -> Result<Self> {
        let Saved { figures } = serde_json::from_str(text)?;
        Ok(Self(figures.into_iter().map(|figure| (figure.name, figure.median)).collect()))
    }

    /// How much more this figure is now: 0.5 is half as much again. Nothing for one that is new, or was nothing.
    fn change(&self, judged: &Judged) -> Option<f64> {
        let before = self.0.get(&judged.name).copied().filter(|before| *before > 0.0)?;
        Some(judged.figure.median / before - 1.0)
    }

    pub(super) fn print(&self, judged: &[Judged]) {
        let title = |text: &str| Cell::right(Tone::Quiet, text);
        let mut rows = vec![vec![Cell::left(Tone::Quiet, "compared"), title("then"), title("now"), title("change")]];
        for one in judged {
            let (Some(before), Some(change)) = (self.0.get(&one.name), self.change(one)) else { continue };
            let tone = match change {
                change if change > NOISE => Tone::Bad,
                change if change < -NOISE => Tone::Good,
                _ => Tone::Quiet,
            };
            rows.push(vec![
                Cell::left(Tone::Plain, &one.name),
                Cell::right(Tone::Plain, amount(*before, one.figure.unit)),
                Cell::right(Tone::Strong, amount(one.figure.median, one.figure.unit)),
                Cell::right(tone, format!("{:+.0} %", change * 100.0)),
            ]);
        }
        console::say(&console::table(&rows));
        let slower = judged.iter().filter(|one| self.change(one).is_some_and(|change| change > NOISE)).count();
        if slower > 0 {
            let text = format!("{slower} figures are more than {:.0} % above the kept run", NOISE * 100.0);
            console::say(&paint(Tone::Warning, &text));
        }
    }

    /// Adds to what `--json` prints what each figure was, and by how much it has grown.
    pub(super) fn annotate(&self, printed: &mut Value, judged: &[Judged]) {
        let Some(figures) = printed["figures"].as_array_mut() else { return };
        for (figure, one) in figures.iter_mut().zip(judged) {
            figure["baseline"] = json!(self.0.get(&one.name));
            figure["change"] = json!(self.change(one));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Figure, Unit, goals::Outcome};
    use super::*;

    fn judged(name: &str, median: f64) -> Judged {
        let figure = Figure { median, cpu: None, rate: None, unit: Unit::Nanoseconds };
        Judged { name: name.to_owned(), figure, limit: None, ratio: None, outcome: Outcome::NoGoal }
    }

    #[test]
    fn a_run_that_was_kept_is_read_again_and_compared() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("kept.json");
        save(&path, &[judged("a", 100.0), judged("gone", 5.0), judged("nothing", 0.0)]).expect("it can be written");
        let kept = Baseline::read(&path).expect("it was just written");
        assert_eq!(kept.change(&judged("a", 150.0)), Some(0.5));
        assert_eq!(kept.change(&judged("new", 1.0)), None);
        assert_eq!(kept.change(&judged("nothing", 1.0)), None);
        let now = [judged("a", 50.0), judged("new", 1.0)];
        let mut printed = super::super::to_json(&now);
        kept.annotate(&mut printed, &now);
        assert_eq!(printed["figures"][0]["baseline"], json!(100.0));
        assert_eq!(printed["figures"][0]["change"], json!(-0.5));
        assert_eq!(printed["figures"][1]["baseline"], Value::Null);
    }

    #[test]
    fn a_run_that_is_not_there_says_how_to_keep_one() {
        let error = Baseline::read(Path::new("/nowhere/kept.json")).expect_err("there is none");
        assert!(error.to_string().contains("--save-baseline"), "{error}");
        assert!(Baseline::parse("[]").is_err());
    }
}
