//! Counts what a run has reached. Every match is exhaustive, so that a new variant cannot be left out.

use std::collections::BTreeMap;

use pi_engine::{Effect, Ending, Failure, Phase, Record, Refusal, Replay, Scarcity};

/// All that must be seen before a run counts.
const EXPECTED: [&str; 43] = [
    "accepted",
    "started",
    "finished",
    "persist accepted",
    "persist finished",
    "persist alias",
    "persist version",
    "start",
    "cancel",
    "kill",
    "respond first",
    "respond replayed",
    "forget",
    "belated",
    "drained",
    "succeeded",
    "failed",
    "depends on itself",
    "dependency unknown",
    "dependency failed",
    "dependency inverted",
    "dependency timed out",
    "version of no session",
    "version mismatch",
    "timed out",
    "session gone",
    "panicked",
    "killed",
    "unrecorded",
    "shut down",
    "recovered",
    "refuse conflicting id",
    "refuse conflicting key",
    "refuse in flight",
    "refuse outcome count",
    "refuse outcome bytes",
    "refuse too many pending",
    "refuse journal unavailable",
    "refuse shutting down",
    "refuse shut down",
    "crash",
    "second shutdown",
    "lingers",
];

#[derive(Default)]
pub(crate) struct Coverage(BTreeMap<&'static str, u64>);

impl Coverage {
    pub(crate) fn see(&mut self, name: &'static str) {
        *self.0.entry(name).or_default() += 1;
    }

    pub(crate) fn effects(&mut self, effects: &[Effect<u64, u64>]) {
        for effect in effects {
            let (name, ending) = name(effect);
            self.see(name);
            if let Some(ending) = ending {
                self.see(ending_name(ending));
            }
        }
    }

    pub(crate) fn assert_complete(&self) {
        let missing: Vec<_> = EXPECTED.iter().filter(|name| !self.0.contains_key(**name)).collect();
        assert!(missing.is_empty(), "never reached: {missing:?}; reached: {:?}", self.0);
        let unexpected: Vec<_> = self.0.keys().filter(|name| !EXPECTED.contains(name)).collect();
        assert!(unexpected.is_empty(), "reached, but not expected to be: {unexpected:?}");
    }
}

fn name(effect: &Effect<u64, u64>) -> (&'static str, Option<&Ending<u64>>) {
    match effect {
        Effect::Persist { record, .. } => match record {
            Record::Accepted { .. } => ("persist accepted", None),
            Record::Finished { outcome, .. } => ("persist finished", Some(&outcome.ending)),
            Record::Alias { .. } => ("persist alias", None),
            Record::Version(_) => ("persist version", None),
            Record::Reached(_) => ("persist reached", None),
        },
        Effect::Start { .. } => ("start", None),
        Effect::Cancel(_) => ("cancel", None),
        Effect::Kill(_) => ("kill", None),
        Effect::Respond { outcome, replay, .. } => match replay {
            Replay::First => ("respond first", Some(&outcome.ending)),
            Replay::Replayed => ("respond replayed", Some(&outcome.ending)),
        },
        Effect::Refuse { refusal, .. } => (refusal_name(refusal), None),
        Effect::Announce(announcement) => match announcement.phase {
            Phase::Accepted => ("accepted", None),
            Phase::Started => ("started", None),
            Phase::Finished { .. } => ("finished", None),
        },
        Effect::Belated { .. } => ("belated", None),
        Effect::Forget(_) => ("forget", None),
        Effect::Drained => ("drained", None),
    }
}

fn ending_name(ending: &Ending<u64>) -> &'static str {
    match ending {
        Ending::Succeeded(_) => "succeeded",
        Ending::Failed { .. } => "failed",
        Ending::Broken(failure) => match failure {
            Failure::DependsOnItself { .. } => "depends on itself",
            Failure::DependencyUnknown { .. } => "dependency unknown",
            Failure::DependencyFailed { .. } => "dependency failed",
            Failure::DependencyInverted { .. } => "dependency inverted",
            Failure::DependencyTimedOut { .. } => "dependency timed out",
            Failure::VersionOfNoSession { .. } => "version of no session",
            Failure::VersionMismatch { .. } => "version mismatch",
            Failure::TimedOut { .. } => "timed out",
            Failure::SessionGone { .. } => "session gone",
            Failure::Unrecorded { .. } => "unrecorded",
            Failure::ShutDown => "shut down",
            Failure::Panicked { .. } => "panicked",
            Failure::Killed { .. } => "killed",
            Failure::Recovered => "recovered",
        },
    }
}

fn refusal_name(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::ConflictingId { .. } => "refuse conflicting id",
        Refusal::ConflictingKey { .. } => "refuse conflicting key",
        Refusal::Busy(Scarcity::InFlight { .. }) => "refuse in flight",
        Refusal::Busy(Scarcity::OutcomeCount { .. }) => "refuse outcome count",
        Refusal::Busy(Scarcity::OutcomeBytes { .. }) => "refuse outcome bytes",
        Refusal::TooManyPending { .. } => "refuse too many pending",
        Refusal::JournalUnavailable => "refuse journal unavailable",
        Refusal::ShuttingDown => "refuse shutting down",
        Refusal::ShutDown => "refuse shut down",
    }
}
