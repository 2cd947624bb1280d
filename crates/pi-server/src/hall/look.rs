//! What can be seen of the server: whether it is well, what it counts, what commands did.

use std::sync::atomic::{AtomicU64, Ordering};

use pi_engine::{Load, Time};
use pi_wire::{
    Data, Error,
    command::GetCommandHistory,
    id::{CommandId, IdempotencyKey},
    limits,
    response::{
        AppendFailurePolicy, CircuitState, CommandHistory, ExecutionMetrics, Health, HistoryEntry, HistoryFilters,
        JournalCompaction, JournalMetrics, JournalState, LockMetrics, Metrics, Phase, RateLimitUsage, RedactionHooks,
        RejectedCommands, ReplayMetrics, Retention, SessionStoreMetrics, StoreMetrics, VersionMetrics,
    },
};

use super::{Hall, Outcome, now, told};
use crate::{
    connection::Identity,
    journal::{DAMAGED, Filter, GONE, JournalError, Shortened, Shortening, Told, audit::hexadecimal},
    signature,
};

impl Hall {
    /// Why commands that change something are refused, if they are.
    pub(crate) fn obstacle(&self) -> Option<String> {
        if let Some(said) = self.journal.damage() {
            let (damaged, place) = (JournalError::Damaged { said }, self.journal.place());
            return Some(format!(
                "{damaged} ({place}); commands that change something are refused until the server starts anew with \
                 another file: `pi journal verify` tells more; {DAMAGED}"
            ));
        }
        if !self.journal.is_there() {
            let (gone, place) = (JournalError::Gone, self.journal.place());
            return Some(format!("{gone} ({place}); commands that change something are refused: {GONE}"));
        }
        let trouble = self.lobby.journal_trouble();
        let trouble = trouble.map(|trouble| format!("{trouble}; commands that change something are refused"));
        trouble.or_else(|| {
            let seconds = self.full_for_ms()?.div_ceil(1000);
            Some(format!(
                "as many outcomes are kept as may be; for {seconds} s commands that change something are refused as busy, \
                 except `abort`, answers to questions, and what has neither id nor key: server.outcomesMost and \
                 server.outcomesBytes make room for more"
            ))
        })
    }

    /// How long no further outcome can be kept, if none can.
    fn full_for_ms(&self) -> Option<u64> {
        let until = self.turns.get()?.full_until()?;
        Some(until.since(now())).filter(|rest| *rest > 0)
    }

    pub(crate) async fn health(&self) -> Health {
        let mut issues: Vec<String> = self.obstacle().into_iter().collect();
        let open: Vec<_> =
            self.workshop.circuits().into_iter().filter(|circuit| circuit.state == CircuitState::Open).collect();
        issues.extend(
            open.iter().map(|circuit| format!("provider {} fails; its circuit is open", circuit.provider_name)),
        );
        let has_open_bash_circuit = self.bash.is_open(now());
        if has_open_bash_circuit {
            issues.push("shell commands time out; their circuit is open".to_owned());
        }
        issues.extend(self.unwritten.find(&self.rooms).await.issues());
        Health { healthy: issues.is_empty(), issues, has_open_circuit: !open.is_empty(), has_open_bash_circuit }
    }

    pub(crate) async fn metrics(&self) -> Metrics {
        let load = match self.turns.get() {
            Some(engine) => engine.load().await.ok(),
            None => None,
        };
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counts = &self.counts;
        Metrics {
            session_count: number(self.rooms.count()),
            connection_count: number(self.lobby.count()),
            pending_connection_count: number(self.strangers.count()),
            total_commands_executed: read(&counts.commands),
            commands_rejected: RejectedCommands {
                session_limit: read(&counts.refused_sessions),
                message_size: read(&counts.refused_size),
                rate_limit: read(&counts.refused_rate),
                global_rate_limit: read(&counts.refused_global_rate),
                connection_limit: read(&counts.refused_connections),
                extension_ui_response_rate_limit: read(&counts.refused_answers),
            },
            zombie_sessions_detected: 0,
            zombie_sessions_cleaned: 0,
            double_unregister_errors: 0,
            rate_limit_usage: RateLimitUsage {
                global_count: self.rates.used(),
                global_limit: self.settings.rates.global.get().into(),
            },
            stores: self.stores(load.as_ref(), number(self.unwritten.find(&self.rooms).await.count())),
            circuit_breakers: self.workshop.circuits(),
            bash_circuit_breaker: self.bash.metrics(now()),
            metrics: None,
        }
    }

    fn stores(&self, load: Option<&Load>, unwritten: u64) -> StoreMetrics {
        let of = |field: fn(&Load) -> usize| load.map_or(0, |load| number(field(load)));
        let refused = self.counts.refused_busy.load(Ordering::Relaxed);
        let config = &self.engine;
        StoreMetrics {
            replay: ReplayMetrics {
                in_flight_count: of(|load| load.in_flight),
                outcome_count: of(|load| load.outcomes + load.reads),
                idempotency_cache_size: of(|load| load.keys),
                max_in_flight_commands: number(config.max_in_flight),
                max_command_outcomes: number(config.retention.max_count),
                in_flight_rejections: refused,
                outcomes_full_for_ms: self.full_for_ms(),
            },
            version: VersionMetrics { session_count: number(self.rooms.count()) },
            execution: ExecutionMetrics { lane_count: of(|load| load.lanes) },
            // Sessions have no locks here; a lane is its order.
            lock: LockMetrics { active_locks: 0, timeout_count: 0, waiting_count: 0, queue_full_rejections: 0 },
            extension_ui: self.questions.metrics(),
            session_store: SessionStoreMetrics { metadata_reset_count: 0, unwritten_sessions: Some(unwritten) },
            journal: self.journal_metrics(),
        }
    }

    fn journal_metrics(&self) -> JournalMetrics {
        let (recovery, kept) = (self.recovery.report(), self.settings.retention);
        JournalMetrics {
            enabled: recovery.enabled,
            initialized: recovery.initialized,
            journal_path: recovery.journal_path.clone(),
            schema_version: recovery.schema_version,
            append_failure_policy: AppendFailurePolicy::FailClosed,
            redaction: RedactionHooks { before_persist_hook_enabled: true, before_export_hook_enabled: true },
            entries_written: self.journal.written(),
            write_errors: self.counts.journal_errors.load(Ordering::Relaxed),
            entries_scanned: recovery.entries_scanned,
            malformed_entries: recovery.malformed_entries,
            unsupported_version_entries: recovery.unsupported_version_entries,
            recovered_outcomes: recovery.recovered_outcomes,
            recovered_in_flight_failures: recovery.recovered_in_flight_failures,
            retention: Retention {
                enabled: true,
                max_entries: Some(kept.count),
                max_age_ms: Some(kept.age_ms),
                max_bytes: Some(kept.bytes),
            },
            compaction: compaction(self.journal.shortened()),
        }
    }

    /// What commands did, told to one client: of those of others it hears what lifecycle events say of them.
    pub(super) async fn command_history(&self, wanted: GetCommandHistory, reader: &Identity) -> Outcome {
        let limit = wanted.limit.unwrap_or(100).min(limits::HISTORY);
        let filter = Filter {
            session: wanted.session_id_filter.as_ref().map(ToString::to_string),
            id: wanted.command_id.as_ref().map(ToString::to_string),
            // Ids belong to their client: somebody else's cannot be asked for.
            sender: wanted.command_id.as_ref().map(|_| reader.client.clone()),
            from: wanted.from_timestamp.map(Time),
            until: wanted.to_timestamp.map(Time),
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
        };
        let page = self.journal.history(filter).await;
        let page = page.map_err(|error| Error::StorageFailed { reason: error.to_string() })?;
        let signature = self.lobby.reader(reader);
        let entry = |told: &Told, entry: HistoryEntry| match told.sender == reader.client {
            true => entry,
            false => {
                let name = signature::opaque(&signature.salt, &told.sender, &entry.command_id.as_str().into());
                entry.for_others(CommandId(name))
            }
        };
        let entries = page.commands.iter().flat_map(|told| phases(told).map(|phase| entry(told, phase)));
        let mut entries: Vec<HistoryEntry> = entries.collect();
        let is_cut = entries.len() > usize::try_from(limit).unwrap_or(usize::MAX);
        entries.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        told(Data::GetCommandHistory(CommandHistory {
            enabled: true,
            initialized: true,
            init_state: JournalState::Ready,
            initialization_error: None,
            journal_path: self.journal.place(),
            schema_version: self.journal.schema_version().into(),
            filters: HistoryFilters {
                session_id_filter: wanted.session_id_filter,
                command_id: wanted.command_id,
                from_timestamp: wanted.from_timestamp,
                to_timestamp: wanted.to_timestamp,
            },
            returned: number(entries.len()),
            entries,
            truncated: page.is_truncated || is_cut,
            max_items_returned: limit,
            max_items_allowed: limits::HISTORY,
        }))
    }
}

fn compaction(shortened: Shortened) -> JournalCompaction {
    let last = shortened.last;
    let of = |extent: fn(&Shortening) -> u64| last.as_ref().map_or(0, extent);
    JournalCompaction {
        runs: shortened.times,
        dropped_entries: shortened.commands,
        last_compaction_at: last.map(|last| last.at.0),
        last_entries_before: of(|last| last.before.commands),
        last_entries_after: of(|last| last.after.commands),
        last_bytes_before: of(|last| last.before.bytes),
        last_bytes_after: of(|last| last.after.bytes),
    }
}

/// The phases of a command, the latest first.
fn phases(told: &Told) -> impl Iterator<Item = HistoryEntry> {
    let common = HistoryEntry {
        recorded_at: told.accepted.0,
        phase: Phase::CommandAccepted,
        command_id: CommandId(told.id.clone().unwrap_or_else(|| format!("anon:{}", told.ticket.0))),
        command_type: told.kind.clone(),
        lane_key: told.lane.clone(),
        lane_sequence: told.lane_sequence,
        fingerprint: hexadecimal(&told.fingerprint),
        explicit_id: told.id.is_some(),
        session_id: told.session.as_deref().map(Into::into),
        depends_on: Some(told.depends_on.iter().map(|id| CommandId(id.clone())).collect::<Vec<_>>())
            .filter(|ids| !ids.is_empty()),
        if_session_version: told.if_version,
        idempotency_key: told.key.clone().map(IdempotencyKey),
        success: None,
        error: None,
        session_version: None,
        replayed: told.alias_of.map(|_| true),
        timed_out: None,
        recovered: None,
        recovery_reason: None,
    };
    let finished = told.finish.as_ref().map(|finish| HistoryEntry {
        recorded_at: finish.at.0,
        phase: Phase::CommandFinished,
        success: Some(finish.success),
        error: finish.error.clone(),
        session_version: finish.version,
        timed_out: finish.timed_out.then_some(true),
        recovered: finish.recovered.then_some(true),
        recovery_reason: finish.recovered.then(|| "restart_inflight_marked_failed".to_owned()),
        ..common.clone()
    });
    let started =
        told.started.map(|at| HistoryEntry { recorded_at: at.0, phase: Phase::CommandStarted, ..common.clone() });
    finished.into_iter().chain(started).chain([common])
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
