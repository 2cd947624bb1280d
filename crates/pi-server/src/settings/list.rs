//! The list of settings, as a table.

use std::{num::NonZeroU32, time::Duration};

use super::{
    Settings,
    keys::{Key, Kind, Number, Unit},
};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const TIB: u64 = 1 << 40;
const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;
const YEAR: u64 = 365 * 24 * HOUR;

/// Every setting, grouped by what it is about.
pub static KEYS: [Key; 36] = [
    Key { name: "listen", meaning: "Where the server listens", kind: Kind::Address },
    Key {
        name: "hosts",
        meaning: "Further names by which clients reach it, with any port or with one",
        kind: Kind::Hosts,
    },
    Key { name: "roots", meaning: "Folders below which clients may let an agent work", kind: Kind::Folders },
    number(
        "maxConnections",
        "Clients at a time",
        (Unit::Connections, 1, 1_000_000),
        |it| wide(it.connections),
        |it, to| it.connections = narrow(to),
    ),
    number(
        "maxSessions",
        "Sessions that are known at a time",
        (Unit::Sessions, 1, 10_000_000),
        |it| wide(it.sessions),
        |it, to| it.sessions = narrow(to),
    ),
    number(
        "maxPendingPerClient",
        "Commands of one client without an answer; reads are counted by themselves",
        (Unit::Commands, 1, 1_000_000),
        |it| wide(it.pending),
        |it, to| it.pending = narrow(to),
    ),
    number(
        "maxInFlight",
        "Commands of all clients without an answer; those that look and those that end or answer a run have each as much room of their own",
        (Unit::Commands, 1, 10_000_000),
        |it| wide(it.engine.max_in_flight),
        |it, to| it.engine.max_in_flight = narrow(to),
    ),
    number(
        "commandsPerMinutePerClient",
        "Rate of one client",
        (Unit::CommandsPerMinute, 1, u32::MAX as u64),
        |it| it.rates.client.get().into(),
        |it, to| it.rates.client = rate(to),
    ),
    number(
        "commandsPerMinute",
        "Rate of all clients together",
        (Unit::CommandsPerMinute, 1, u32::MAX as u64),
        |it| it.rates.global.get().into(),
        |it, to| it.rates.global = rate(to),
    ),
    number(
        "answersPerMinute",
        "Rate of answers to the questions of one session",
        (Unit::AnswersPerMinute, 1, u32::MAX as u64),
        |it| it.rates.answers.get().into(),
        |it, to| it.rates.answers = rate(to),
    ),
    number(
        "maxMessageBytes",
        "Size of a message from a client",
        (Unit::Bytes, KIB, KIB * MIB),
        |it| wide(it.frame.bytes),
        |it, to| it.frame.bytes = narrow(to),
    ),
    number(
        "maxMessageDepth",
        "How deep a message may be nested",
        (Unit::Levels, 8, 100),
        |it| wide(it.frame.depth),
        |it, to| it.frame.depth = narrow(to),
    ),
    number(
        "maxMessageValues",
        "Members and items of a message",
        (Unit::Values, 256, 10_000_000),
        |it| wide(it.frame.values),
        |it, to| it.frame.values = narrow(to),
    ),
    number(
        "outboxBytes",
        "Frames that may wait for a client before it is too slow",
        (Unit::Bytes, 64 * KIB, KIB * MIB),
        |it| wide(it.outbox),
        |it, to| it.outbox = narrow(to),
    ),
    number(
        "keptEvents",
        "Events of a session for clients that come back",
        (Unit::Events, 1, 10_000_000),
        |it| wide(it.kept.events),
        |it, to| it.kept.events = narrow(to),
    ),
    number(
        "keptEventBytes",
        "The same in bytes",
        (Unit::Bytes, KIB, KIB * MIB),
        |it| wide(it.kept.bytes),
        |it, to| it.kept.bytes = narrow(to),
    ),
    number(
        "coalesceMs",
        "How long pieces of an answer wait for those that follow",
        (Unit::Milliseconds, 0, 10_000),
        |it| millis(it.pace.deltas),
        |it, to| it.pace.deltas = Duration::from_millis(to),
    ),
    number(
        "coalesceCumulativeMs",
        "The same where each piece carries the message so far",
        (Unit::Milliseconds, 0, 10_000),
        |it| millis(it.pace.cumulative),
        |it, to| it.pace.cumulative = Duration::from_millis(to),
    ),
    number(
        "pingMs",
        "Between two asks for a sign of life",
        (Unit::Milliseconds, 100, HOUR),
        |it| millis(it.heartbeat.every),
        |it, to| it.heartbeat.every = Duration::from_millis(to),
    ),
    number(
        "idleCloseMs",
        "How long the answer to a ping may take before the connection is closed; pieces of a frame that comes or is taken count as one",
        (Unit::Milliseconds, 100, HOUR),
        |it| millis(it.heartbeat.patience),
        |it, to| it.heartbeat.patience = Duration::from_millis(to),
    ),
    number(
        "drainMs",
        "How long commands in flight have when the server ends",
        (Unit::Milliseconds, 0, HOUR),
        |it| millis(it.drain),
        |it, to| it.drain = Duration::from_millis(to),
    ),
    number(
        "briefTimeoutMs",
        "How long reads and control commands may take",
        (Unit::Milliseconds, 100, HOUR),
        |it| it.engine.brief_ms,
        |it, to| it.engine.brief_ms = to,
    ),
    number(
        "timeoutMs",
        "How long other commands may take, runs excepted",
        (Unit::Milliseconds, 100, 24 * HOUR),
        |it| it.engine.normal_ms,
        |it, to| it.engine.normal_ms = to,
    ),
    number(
        "extendedTimeoutMs",
        "How long bash, compact and a summary of navigate_tree may take",
        (Unit::Milliseconds, 100, 24 * HOUR),
        |it| it.engine.extended_ms,
        |it, to| it.engine.extended_ms = to,
    ),
    number(
        "dependencyTimeoutMs",
        "How long a command waits for one that it depends on, runs excepted",
        (Unit::Milliseconds, 100, 24 * HOUR),
        |it| it.engine.dependency_ms,
        |it, to| it.engine.dependency_ms = to,
    ),
    number(
        "killAfterMs",
        "Between asking the work of a command to stop and ending it by force",
        (Unit::Milliseconds, 0, HOUR),
        |it| it.engine.kill_after_ms,
        |it, to| it.engine.kill_after_ms = to,
    ),
    number(
        "outcomesKeptMs",
        "How long outcomes and idempotency keys are known at least",
        (Unit::Milliseconds, MINUTE, YEAR),
        |it| it.engine.retention.keep_ms,
        |it, to| (it.engine.retention.keep_ms, it.engine.retention.key_ms) = (to, to),
    ),
    number(
        "outcomesKept",
        "How many outcomes are known at least",
        (Unit::Commands, 1, 100_000),
        |it| wide(it.engine.retention.keep_count),
        |it, to| it.engine.retention.keep_count = narrow(to),
    ),
    number(
        "outcomesMost",
        "How many outcomes are known at most; beyond, commands that change something wait until one is old enough",
        (Unit::Commands, 100, 10_000_000),
        |it| wide(it.engine.retention.max_count),
        |it, to| it.engine.retention.max_count = narrow(to),
    ),
    number(
        "outcomesBytes",
        "The same in bytes",
        (Unit::Bytes, MIB, TIB),
        |it| wide(it.engine.retention.max_bytes),
        |it, to| it.engine.retention.max_bytes = narrow(to),
    ),
    number(
        "historyMs",
        "How old commands in the journal get",
        (Unit::Milliseconds, MINUTE, 100 * YEAR),
        |it| it.retention.age_ms,
        |it, to| it.retention.age_ms = to,
    ),
    number(
        "historyCommands",
        "How many commands the journal keeps",
        (Unit::Commands, 0, 1 << 40),
        |it| it.retention.count,
        |it, to| it.retention.count = to,
    ),
    number(
        "historyBytes",
        "Size of the journal beyond which the oldest history goes",
        (Unit::Bytes, MIB, TIB),
        |it| it.retention.bytes,
        |it, to| it.retention.bytes = to,
    ),
    number(
        "journalMaxBytes",
        "The journal never gets larger; commands that change something are refused then",
        (Unit::Bytes, MIB, TIB),
        |it| it.journal_bytes,
        |it, to| it.journal_bytes = to,
    ),
    Key { name: "logLevel", meaning: "What is told on standard error at least", kind: Kind::LogLevel },
    Key { name: "logFormat", meaning: "How it is told; auto is text on a terminal, else json", kind: Kind::LogForm },
];

const fn number(
    name: &'static str,
    meaning: &'static str,
    (unit, least, most): (Unit, u64, u64),
    get: fn(&Settings) -> u64,
    set: fn(&mut Settings, u64),
) -> Key {
    Key { name, meaning, kind: Kind::Number(Number { unit, least, most, get, set }) }
}

fn wide(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// Ranges end before a machine's numbers do, but for those of small machines.
fn narrow(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn rate(number: u64) -> NonZeroU32 {
    u32::try_from(number).ok().and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MAX)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
