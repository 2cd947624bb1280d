//! What we want to reach, as data, and how far a run is from it.

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::{Figure, Figures, Unit};
use crate::console::{Cell, Tone};

/// What a figure is held against.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Limit {
    /// At most so many times the peer.
    TimesOf { peer: &'static str, most: f64 },
    /// At least so many times faster than the peer.
    FasterThan { peer: &'static str, least: f64 },
    /// Less than so much, in the unit of the figure.
    Below(f64),
    /// No goal; the ratio to the peer is shown.
    Beside { peer: &'static str },
    /// A program of others that is not everywhere; where it was measured, its ratio to ours is shown.
    Foreign { ours: &'static str },
}

/// A goal for every figure whose name begins like this.
pub(crate) struct Goal {
    pub name: &'static str,
    pub limit: Limit,
}

/// Counted work may differ by this much and still be called constant.
const CONSTANT: f64 = 1.05;

/// In the order in which they are shown; figures without a goal follow.
pub(crate) const GOALS: &[Goal] = &[
    Goal { name: "startup/pi --version, peak", limit: Limit::Beside { peer: "startup/echo, peak memory" } },
    Goal { name: "startup/pi --version", limit: Limit::Beside { peer: "startup/echo" } },
    Goal { name: "wire/parse_prompt_4k", limit: Limit::TimesOf { peer: "wire/value_prompt_4k", most: 1.5 } },
    Goal { name: "wire/parse_prompt", limit: Limit::TimesOf { peer: "wire/value_prompt", most: 1.5 } },
    Goal { name: "engine/lanes/100", limit: Limit::TimesOf { peer: "engine/lanes/1", most: 2.0 } },
    Goal { name: "engine/lanes/10000", limit: Limit::TimesOf { peer: "engine/lanes/1", most: 2.0 } },
    Goal { name: "engine/lanes/1", limit: Limit::Beside { peer: "engine/lanes/1_empty" } },
    Goal {
        name: "engine/ops_per_step/lanes_100",
        limit: Limit::TimesOf { peer: "engine/ops_per_step/lanes_1", most: CONSTANT },
    },
    Goal {
        name: "engine/ops_per_step/lanes_10000",
        limit: Limit::TimesOf { peer: "engine/ops_per_step/lanes_1", most: CONSTANT },
    },
    Goal { name: "policy/decide_", limit: Limit::Below(300.0) },
    Goal {
        name: "envelope/validate_small",
        limit: Limit::FasterThan { peer: "envelope/jsonschema_small", least: 10.0 },
    },
    Goal { name: "envelope/validate", limit: Limit::FasterThan { peer: "envelope/jsonschema", least: 10.0 } },
    Goal { name: "decode/events/openai", limit: Limit::TimesOf { peer: "decode/bare/openai", most: 1.0 } },
    Goal { name: "decode/events/anthropic", limit: Limit::TimesOf { peer: "decode/bare/anthropic", most: 1.0 } },
    Goal { name: "decode/events/gemini", limit: Limit::TimesOf { peer: "decode/bare/gemini", most: 1.0 } },
    Goal {
        name: "loopback/stream_openai_pi",
        limit: Limit::FasterThan { peer: "loopback/stream_openai_genai", least: 3.0 },
    },
    Goal {
        name: "loopback/stream_anthropic_pi",
        limit: Limit::FasterThan { peer: "loopback/stream_anthropic_genai", least: 3.0 },
    },
    Goal {
        name: "loopback/stream_gemini_pi",
        limit: Limit::FasterThan { peer: "loopback/stream_gemini_genai", least: 3.0 },
    },
    Goal { name: "request/short/", limit: Limit::Below(20_000.0) },
    Goal { name: "asking/pi_100mb, peak memory", limit: Limit::Below(61_440.0) },
    Goal { name: "asking/pi_100mb", limit: Limit::Below(300_000_000.0) },
    Goal { name: "asking/pi, peak memory", limit: Limit::Beside { peer: "asking/pi_100mb, peak memory" } },
    Goal { name: "asking/pi", limit: Limit::Below(15_000_000.0) },
    Goal { name: "asking/npm_100mb, peak memory", limit: Limit::Foreign { ours: "asking/pi_100mb, peak memory" } },
    Goal { name: "asking/npm_100mb", limit: Limit::Foreign { ours: "asking/pi_100mb" } },
    Goal { name: "asking/npm, peak memory", limit: Limit::Foreign { ours: "asking/pi, peak memory" } },
    Goal { name: "asking/npm", limit: Limit::Foreign { ours: "asking/pi" } },
    Goal { name: "turn/overhead", limit: Limit::Below(300_000.0) },
    Goal { name: "turn/run", limit: Limit::Beside { peer: "turn/model" } },
    Goal { name: "open/100mb_memory", limit: Limit::Below(61_440.0) },
    Goal { name: "open/100mb_of_short_lines_memory", limit: Limit::Below(61_440.0) },
    Goal { name: "open/100mb", limit: Limit::Below(300_000_000.0) },
    Goal { name: "tools/read", limit: Limit::Beside { peer: "tools/bare_read" } },
    Goal { name: "tools/write", limit: Limit::Beside { peer: "tools/bare_write" } },
    Goal { name: "tools/edit", limit: Limit::Beside { peer: "tools/bare_edit" } },
    Goal { name: "tools/bash_true", limit: Limit::TimesOf { peer: "tools/bare_bash_true", most: 1.5 } },
    Goal { name: "tools/grep", limit: Limit::TimesOf { peer: "tools/bare_grep", most: 1.5 } },
    Goal { name: "tools/rg", limit: Limit::Foreign { ours: "tools/grep" } },
    Goal { name: "loopback/call_added_pi", limit: Limit::Below(50_000.0) },
    Goal { name: "loopback/open_stream", limit: Limit::Below(64.0) },
    // At least 40 % of the echo's commands in a second, and 60 % of its frames.
    Goal { name: "server/health_check_50", limit: Limit::TimesOf { peer: "server/echo_50", most: 1.0 / 0.4 } },
    Goal { name: "server/get_state_50", limit: Limit::TimesOf { peer: "server/echo_50", most: 1.0 / 0.4 } },
    Goal { name: "server/list_sessions_50", limit: Limit::TimesOf { peer: "server/echo_50", most: 1.0 / 0.4 } },
    Goal { name: "server/broadcast_frame", limit: Limit::TimesOf { peer: "server/echo_50", most: 1.0 / 0.6 } },
    Goal { name: "server/health_check_1", limit: Limit::Beside { peer: "server/echo_1" } },
    Goal { name: "server/get_state_1", limit: Limit::Beside { peer: "server/echo_1" } },
    Goal { name: "server/list_sessions_1", limit: Limit::Beside { peer: "server/echo_1" } },
    // As long in both directions as a list of sessions is in one.
    Goal { name: "server/echo_of_a_list_50", limit: Limit::Beside { peer: "server/list_sessions_50" } },
    // 5000 in a second: one under way for each connection, and eight.
    Goal { name: "server/durable_command", limit: Limit::Below(200_000.0) },
    Goal { name: "server/durable_command_8_deep", limit: Limit::Below(200_000.0) },
    Goal { name: "server/ready", limit: Limit::Below(50_000_000.0) },
    Goal { name: "server/idle_memory", limit: Limit::Below(25.0 * 1024.0) },
    Goal { name: "server/bytes_coalesced", limit: Limit::Below(10.0) },
    Goal { name: "server/bytes_uncoalesced", limit: Limit::Below(40.0) },
    Goal { name: "server/idle_session_memory", limit: Limit::Below(20.0) },
    Goal { name: "server/get_state_in_a_run_p99", limit: Limit::Below(20_000_000.0) },
    Goal { name: "server/abort", limit: Limit::Below(100_000_000.0) },
    Goal { name: "extensions/start_hello", limit: Limit::Below(2_000_000.0) },
    Goal { name: "extensions/tool_call", limit: Limit::TimesOf { peer: "extensions/bare_call", most: 2.0 } },
    Goal { name: "extensions/tool_call_p95", limit: Limit::Beside { peer: "extensions/bare_call_p95" } },
    Goal { name: "extensions/tool_call_cpu", limit: Limit::Below(50_000.0) },
    Goal { name: "extensions/tool_call_asking", limit: Limit::TimesOf { peer: "extensions/bare_call", most: 2.0 } },
    Goal { name: "extensions/tool_call_asking_cpu", limit: Limit::Below(50_000.0) },
    Goal { name: "extensions/tool_call_reading", limit: Limit::Beside { peer: "extensions/bare_call" } },
    Goal { name: "extensions/tool_call_reading_cpu", limit: Limit::Beside { peer: "extensions/bare_call_cpu" } },
    Goal { name: "extensions/first_call", limit: Limit::Beside { peer: "extensions/tool_call" } },
    Goal { name: "extensions/hook_to_20", limit: Limit::Beside { peer: "extensions/bare_call" } },
    Goal { name: "extensions/idle_memory", limit: Limit::Below(1_536.0) },
    Goal { name: "extensions/packages_cold", limit: Limit::Foreign { ours: "extensions/packages_cached" } },
    Goal { name: "components/compile", limit: Limit::TimesOf { peer: "components/bare_compile", most: 2.0 } },
    Goal { name: "components/load", limit: Limit::TimesOf { peer: "components/bare_load", most: 2.0 } },
    Goal { name: "components/instantiate", limit: Limit::TimesOf { peer: "components/bare_instantiate", most: 2.0 } },
    Goal { name: "components/guest_call", limit: Limit::TimesOf { peer: "components/bare_call", most: 2.0 } },
    Goal { name: "components/tool_call", limit: Limit::Below(30_000.0) },
    Goal { name: "components/tool_call_asking", limit: Limit::Below(30_000.0) },
    Goal { name: "components/tool_call_cpu", limit: Limit::Below(30_000.0) },
    Goal { name: "components/crossing", limit: Limit::TimesOf { peer: "components/bare_async_host_call", most: 2.0 } },
    Goal { name: "components/host_call", limit: Limit::TimesOf { peer: "components/bare_async_host_call", most: 2.0 } },
    Goal { name: "components/desk_call", limit: Limit::Beside { peer: "components/bare_async_host_call" } },
    Goal { name: "components/start", limit: Limit::Beside { peer: "components/instantiate" } },
    Goal { name: "components/start_cold", limit: Limit::Beside { peer: "components/compile" } },
    Goal { name: "components/idle_memory", limit: Limit::TimesOf { peer: "components/bare_idle_memory", most: 2.0 } },
    Goal { name: "components/server_call_added_cpu", limit: Limit::Below(200_000.0) },
    Goal { name: "components/server_call_cpu", limit: Limit::Beside { peer: "components/bare_server_call_cpu" } },
    Goal { name: "components/server_call", limit: Limit::Beside { peer: "components/bare_server_call" } },
    // 150 000 bytes, compressed.
    Goal { name: "page/first_load", limit: Limit::Below(150_000.0 / 1024.0) },
    Goal { name: "page/open_10000_messages", limit: Limit::Below(1_000_000_000.0) },
    // In a burst of paragraphs, and in one block of each kind that grows.
    Goal { name: "page/typing_in_a_", limit: Limit::Below(50_000_000.0) },
    // A task is long from 50 ms on; none is told as 0.
    Goal { name: "page/longest_task", limit: Limit::Below(50_000_000.0) },
];

/// Whether a goal is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Met,
    Missed,
    NoGoal,
}

/// A figure and what became of its goal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Judged {
    pub name: String,
    pub figure: Figure,
    pub limit: Option<Limit>,
    /// To the peer of the limit.
    pub ratio: Option<f64>,
    pub outcome: Outcome,
}

/// Sets every figure beside its goal. A goal of a bench that was run, but did not measure it, is an error.
pub(crate) fn judge(goals: &[Goal], figures: &Figures, benches: &[&str]) -> Result<Vec<Judged>> {
    let mut judged = Vec::new();
    for goal in goals {
        let exact = figures.get_key_value(goal.name);
        let alike = figures.iter().filter(|(name, _)| exact.is_none() && name.starts_with(goal.name));
        let before = judged.len();
        for (name, figure) in exact.into_iter().chain(alike) {
            judged.push(judge_one(name, *figure, goal.limit, figures)?);
        }
        let was_run = benches.iter().any(|bench| goal.name.split('/').next() == Some(bench));
        let may_lack = matches!(goal.limit, Limit::Foreign { .. });
        if was_run && !may_lack && judged.len() == before {
            bail!("no bench measured {}, which has a goal", goal.name);
        }
    }
    let rest = figures.iter().filter(|(name, _)| !judged.iter().any(|judged: &Judged| judged.name == **name));
    let rest: Vec<Judged> = rest
        .map(|(name, figure)| Judged {
            name: name.clone(),
            figure: *figure,
            limit: None,
            ratio: None,
            outcome: Outcome::NoGoal,
        })
        .collect();
    judged.extend(rest);
    Ok(judged)
}

fn judge_one(name: &str, figure: Figure, limit: Limit, figures: &Figures) -> Result<Judged> {
    let beside = |peer: &str| match figures.get(peer) {
        Some(peer) => Ok(figure.median / peer.median),
        None => bail!("{name} has no peer: {peer} was not measured"),
    };
    let (ratio, met) = match limit {
        Limit::TimesOf { peer, most } => {
            let ratio = beside(peer)?;
            (Some(ratio), Some(ratio <= most))
        }
        Limit::FasterThan { peer, least } => {
            let ratio = 1.0 / beside(peer)?;
            (Some(ratio), Some(ratio >= least))
        }
        Limit::Below(most) => (None, Some(figure.median < most)),
        Limit::Beside { peer } | Limit::Foreign { ours: peer } => (Some(beside(peer)?), None),
    };
    let outcome = match met {
        Some(true) => Outcome::Met,
        Some(false) => Outcome::Missed,
        None => Outcome::NoGoal,
    };
    Ok(Judged { name: name.to_owned(), figure, limit: Some(limit), ratio, outcome })
}

impl Judged {
    pub(crate) fn cells(&self) -> Vec<Cell> {
        let (verdict, tone) = match self.outcome {
            Outcome::Met => ("met", Tone::Good),
            Outcome::Missed => ("MISSED", Tone::Bad),
            Outcome::NoGoal => ("", Tone::Plain),
        };
        vec![
            Cell::left(Tone::Plain, &self.name),
            Cell::right(Tone::Strong, amount(self.figure.median, self.figure.unit)),
            Cell::right(Tone::Plain, self.figure.cpu.map(|cpu| amount(cpu, self.figure.unit)).unwrap_or_default()),
            Cell::right(Tone::Plain, self.figure.rate.map(rate).unwrap_or_default()),
            Cell::left(Tone::Quiet, self.goal()),
            Cell::right(Tone::Plain, self.ratio.map(|ratio| format!("{ratio:.2}×")).unwrap_or_default()),
            Cell::left(tone, verdict),
        ]
    }

    pub(crate) fn to_json(&self) -> Value {
        let unit = match self.figure.unit {
            Unit::Nanoseconds => "ns",
            Unit::Kibibytes => "KiB",
            Unit::Count => "count",
        };
        let verdict = match self.outcome {
            Outcome::Met => Some("met"),
            Outcome::Missed => Some("missed"),
            Outcome::NoGoal => None,
        };
        json!({
            "name": self.name, "unit": unit, "median": self.figure.median, "cpu": self.figure.cpu, "per_second": self.figure.rate,
            "goal": self.goal(), "ratio": self.ratio, "verdict": verdict,
        })
    }

    fn goal(&self) -> String {
        match self.limit {
            None => String::new(),
            Some(Limit::TimesOf { peer, most }) => format!("≤ {most}× {peer}"),
            Some(Limit::FasterThan { peer, least }) => format!("{least}× faster than {peer}"),
            Some(Limit::Below(most)) => format!("< {}", amount(most, self.figure.unit)),
            Some(Limit::Beside { peer } | Limit::Foreign { ours: peer }) => format!("none; beside {peer}"),
        }
    }
}

fn rate(per_second: f64) -> String {
    if per_second < 1e6 { format!("{:.1} k", per_second / 1e3) } else { format!("{:.2} M", per_second / 1e6) }
}

/// A number with the unit in which it is easiest to read.
pub(super) fn amount(number: f64, unit: Unit) -> String {
    match unit {
        Unit::Nanoseconds if number < 1e3 => format!("{number:.1} ns"),
        Unit::Nanoseconds if number < 1e6 => format!("{:.2} µs", number / 1e3),
        Unit::Nanoseconds if number < 1e9 => format!("{:.2} ms", number / 1e6),
        Unit::Nanoseconds => format!("{:.2} s", number / 1e9),
        Unit::Kibibytes if number < 1024.0 => format!("{number:.1} KiB"),
        Unit::Kibibytes => format!("{:.1} MiB", number / 1024.0),
        Unit::Count => format!("{number:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOME: &[Goal] = &[
        Goal { name: "a/ours", limit: Limit::TimesOf { peer: "a/theirs", most: 1.5 } },
        Goal { name: "b/fast", limit: Limit::FasterThan { peer: "b/slow", least: 10.0 } },
        Goal { name: "c/decide_", limit: Limit::Below(300.0) },
        Goal { name: "d/foreign", limit: Limit::Foreign { ours: "d/ours" } },
    ];

    fn check(figures: &[(&str, f64)], benches: &[&str], expected: &[(&str, Option<f64>, Outcome)]) {
        let time = |median: f64| Figure { median, cpu: None, rate: None, unit: Unit::Nanoseconds };
        let figures = figures.iter().map(|(name, median)| ((*name).to_owned(), time(*median))).collect();
        let judged = judge(SOME, &figures, benches).expect("everything is measured");
        let found: Vec<_> = judged.iter().map(|one| (one.name.as_str(), one.ratio, one.outcome)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn goals_are_met_and_missed_by_ratio() {
        check(
            &[("a/ours", 150.0), ("a/theirs", 100.0), ("b/fast", 20.0), ("b/slow", 100.0)],
            &["a", "b"],
            &[
                ("a/ours", Some(1.5), Outcome::Met),
                ("b/fast", Some(5.0), Outcome::Missed),
                ("a/theirs", None, Outcome::NoGoal),
                ("b/slow", None, Outcome::NoGoal),
            ],
        );
    }

    #[test]
    fn a_goal_for_a_family_holds_for_each_of_it() {
        check(
            &[("c/decide_a", 299.0), ("c/decide_b", 300.0), ("c/other", 900.0)],
            &["c"],
            &[
                ("c/decide_a", None, Outcome::Met),
                ("c/decide_b", None, Outcome::Missed),
                ("c/other", None, Outcome::NoGoal),
            ],
        );
    }

    #[test]
    fn a_foreign_program_is_shown_where_it_is_there() {
        check(&[("d/ours", 2.0)], &["d"], &[("d/ours", None, Outcome::NoGoal)]);
        let both = [("d/foreign", Some(4.0), Outcome::NoGoal), ("d/ours", None, Outcome::NoGoal)];
        check(&[("d/ours", 2.0), ("d/foreign", 8.0)], &["d"], &both);
    }

    #[test]
    fn a_goal_that_was_not_measured_is_a_broken_bench() {
        let none = Figures::new();
        assert!(judge(SOME, &none, &["a"]).is_err_and(|error| error.to_string().contains("a/ours")));
        assert!(judge(SOME, &none, &["other"]).is_ok_and(|judged| judged.is_empty()));
        let alone: Figures =
            [("a/ours".to_owned(), Figure { median: 1.0, cpu: None, rate: None, unit: Unit::Count })].into();
        assert!(judge(SOME, &alone, &["a"]).is_err_and(|error| error.to_string().contains("a/theirs")));
    }
}
