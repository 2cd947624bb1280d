//! How long `pi --version` takes and how much memory, beside `echo`: a program that does nothing but print a line.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};

use super::{Figure, Figures, Unit, memory};
use crate::cargo;
use crate::process::{self, Program};

const RUNS: usize = 100;
const QUICK_RUNS: usize = 30;
const WARM: usize = 5;

/// Measures both in turns, so that a busy moment of the machine hits both.
pub(super) fn measure(quick: bool) -> Result<Figures> {
    let pi = cargo::build_released_pi()?;
    let programs: [(&str, &Path, &[&str]); 2] =
        [("startup/pi --version", &pi, &["--version"]), ("startup/echo", Path::new("/bin/echo"), &["pi"])];
    let runs = if quick { QUICK_RUNS } else { RUNS };
    let mut walls: [Vec<Duration>; 2] = [Vec::new(), Vec::new()];
    let mut cpu = [Duration::ZERO; 2];
    for run in 0..WARM + runs {
        for (at, (_, program, arguments)) in programs.iter().enumerate() {
            let usage = start(program, arguments)?;
            if run >= WARM {
                walls[at].push(usage.wall);
                cpu[at] += usage.cpu;
            }
        }
    }
    let mut figures = Figures::new();
    for (at, (name, program, arguments)) in programs.iter().enumerate() {
        let cpu = nanoseconds(cpu[at]) / runs as f64;
        let time =
            Figure { median: nanoseconds(median(&mut walls[at])), cpu: Some(cpu), rate: None, unit: Unit::Nanoseconds };
        figures.insert((*name).to_owned(), time);
        if let Some(peak) = memory::peak(program, arguments)? {
            let peak = Figure { median: peak as f64, cpu: None, rate: None, unit: Unit::Kibibytes };
            figures.insert(format!("{name}, peak memory"), peak);
        }
    }
    Ok(figures)
}

fn start(program: &Path, arguments: &[&str]) -> Result<process::Usage> {
    let finished = Program::new(program).args(arguments).capture_all()?;
    if finished.status.success() { Ok(finished.usage) } else { bail!("{}: {}", program.display(), finished.status) }
}

pub(super) fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

pub(super) fn nanoseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_does_not_follow_one_slow_run() {
        let mut times = [900, 11, 10, 12, 13].map(Duration::from_micros);
        assert_eq!(median(&mut times), Duration::from_micros(12));
    }
}
