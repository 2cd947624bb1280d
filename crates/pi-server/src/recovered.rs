//! What was found in the journal at the start, and who is told what of it.

use std::collections::{BTreeMap, HashMap};

use pi_engine::{ClientName, Record, Ticket};
use pi_wire::{
    id::CommandId,
    response::{JournalState, Phase, RecoveredCommand, StartupRecovery},
};

use crate::{
    journal::{Book, Recovery},
    signature::{self, Reader},
};

/// How many commands a report names.
const MOST_NAMED: usize = 100;

/// What was found, and whose the commands are that it names.
#[derive(Debug)]
pub struct Recovered {
    report: StartupRecovery,
    /// As many as the report names, in its order.
    outcomes_of: Vec<ClientName>,
    in_flight_of: Vec<ClientName>,
}

impl Recovered {
    pub(crate) fn new(book: &dyn Book, recovery: &Recovery) -> Self {
        let mut unfinished: BTreeMap<Ticket, (ClientName, RecoveredCommand)> = BTreeMap::new();
        let mut outcomes = Vec::new();
        let mut names = HashMap::new();
        for (_, record) in &recovery.records {
            match record {
                Record::Accepted { ticket, header, .. } => {
                    let id = header.id.as_ref().map_or_else(|| format!("anon:{}", ticket.0), ToString::to_string);
                    names.insert(*ticket, (header.client.clone(), id.clone()));
                    let is_started = recovery.started.contains(ticket);
                    let command = RecoveredCommand {
                        command_id: CommandId(id),
                        command_type: header.kind.to_string(),
                        lane_key: header.lane.to_string(),
                        last_phase: if is_started { Phase::CommandStarted } else { Phase::CommandAccepted },
                        reason: "restart_inflight_marked_failed".to_owned(),
                    };
                    unfinished.insert(*ticket, (header.client.clone(), command));
                }
                Record::Finished { ticket, .. } => {
                    unfinished.remove(ticket);
                    outcomes.extend(names.get(ticket).cloned().map(|(client, id)| (client, CommandId(id))));
                }
                Record::Alias { .. } | Record::Version(_) | Record::Reached(_) => {}
            }
        }
        let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        let (ended, failed) = (outcomes.len(), unfinished.len());
        let (outcomes_of, outcome_ids) = outcomes.into_iter().take(MOST_NAMED).unzip();
        let (in_flight_of, in_flight) = unfinished.into_values().take(MOST_NAMED).unzip();
        let report = StartupRecovery {
            enabled: true,
            initialized: true,
            init_state: JournalState::Ready,
            initialization_error: None,
            journal_path: book.place(),
            schema_version: book.schema_version().into(),
            entries_scanned: number(recovery.records.len()),
            malformed_entries: recovery.malformed,
            unsupported_version_entries: 0,
            recovered_outcomes: number(ended),
            recovered_outcome_ids_truncated: ended > MOST_NAMED,
            recovered_outcome_ids: outcome_ids,
            recovered_in_flight_failures: number(failed),
            recovered_in_flight_truncated: failed > MOST_NAMED,
            recovered_in_flight: in_flight,
            max_items_returned: number(MOST_NAMED),
        };
        Self { report, outcomes_of, in_flight_of }
    }

    /// Everything, for the server itself.
    pub fn report(&self) -> &StartupRecovery {
        &self.report
    }

    /// As a client is told it: others' commands have the names that lifecycle events and the history give them.
    pub(crate) fn told_to(&self, reader: &Reader) -> StartupRecovery {
        let named = |client: &ClientName, id: &CommandId| match *client == reader.client {
            true => id.clone(),
            false => CommandId(signature::opaque(&reader.salt, client, &id.as_str().into())),
        };
        let report = self.report.clone();
        let ids = self.outcomes_of.iter().zip(&report.recovered_outcome_ids).map(|(client, id)| named(client, id));
        let in_flight = self.in_flight_of.iter().zip(&report.recovered_in_flight).map(|(client, command)| {
            RecoveredCommand { command_id: named(client, &command.command_id), ..command.clone() }
        });
        StartupRecovery { recovered_outcome_ids: ids.collect(), recovered_in_flight: in_flight.collect(), ..report }
    }

    /// The same for everybody who connects: without paths and without names of commands.
    pub(crate) fn summary(&self) -> StartupRecovery {
        let report = &self.report;
        StartupRecovery {
            journal_path: "[redacted]".to_owned(),
            recovered_outcome_ids_truncated: report.recovered_outcomes > 0,
            recovered_outcome_ids: Vec::new(),
            recovered_in_flight_truncated: report.recovered_in_flight_failures > 0,
            recovered_in_flight: Vec::new(),
            ..report.clone()
        }
    }

    /// Says in the log what was found. After a crash that is a warning: commands were cut short.
    pub(crate) fn log(&self, sessions: usize) {
        let (outcomes, failed) = (self.report.recovered_outcomes, self.report.recovered_in_flight_failures);
        if failed > 0 {
            tracing::warn!(failed, outcomes, sessions, "the last server left commands without an end; they are failed");
        } else {
            tracing::info!(outcomes, sessions, "the journal was read");
        }
    }
}
