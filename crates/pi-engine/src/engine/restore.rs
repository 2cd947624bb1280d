//! Starting again from the journal. Nothing that was admitted before runs again.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use super::Engine;
use crate::{
    config::Config,
    effect::Effect,
    header::Header,
    identity::{Names, Place},
    journal::{Journal, Unrecorded},
    name::{Sequence, SessionName, Ticket, Time},
    outcome::{Ending, Failure, Outcome},
    record::{Record, VersionMove},
    shelf::{Kept, OVERHEAD},
};

/// What is known while the records are read.
struct Reading<B> {
    unfinished: BTreeMap<Ticket, Read>,
    /// Outcomes that an alias may stand for.
    outcomes: HashMap<Ticket, Arc<Outcome<B>>>,
    /// Aliases of commands that have not ended yet, by those.
    aliases: HashMap<Ticket, Vec<(Ticket, Read)>>,
    /// Commands that ended and that nobody can ask for again.
    nameless: Vec<Ticket>,
}

/// A command or an alias whose end was not read yet.
struct Read {
    header: Arc<Header>,
    /// By which it can be found: its key is none of them once the session is gone.
    names: Names,
}

impl Read {
    fn new(header: Arc<Header>) -> Self {
        Self { names: Names::of(&header), header }
    }
}

impl<B> Reading<B> {
    /// The keys of a session that is gone mean nothing.
    fn drop_keys(&mut self, session: &SessionName) {
        let aliases = self.aliases.values_mut().flatten().map(|(_, read)| read);
        for Read { names, .. } in self.unfinished.values_mut().chain(aliases) {
            names.key.take_if(|(lane, _)| lane.session() == Some(session));
        }
    }
}

impl<C, B> Engine<C, B> {
    /// Takes up where an engine left off whose records these are, in the order of their sequence numbers; new records
    /// are numbered from there.
    ///
    /// A command that was accepted and did not finish ends with [`Failure::Recovered`]; it may have changed its session,
    /// so the session's version moves. `effects` get the records of that.
    pub fn restore(
        config: Config,
        now: Time,
        records: impl IntoIterator<Item = (Sequence, Record<B>)>,
        effects: &mut Vec<Effect<C, B>>,
    ) -> Self {
        let mut engine = Self::new(config);
        let mut reading = Reading {
            unfinished: BTreeMap::new(),
            outcomes: HashMap::new(),
            aliases: HashMap::new(),
            nameless: Vec::new(),
        };
        for (sequence, record) in records {
            engine.journal = Journal::after(sequence);
            engine.read(record, &mut reading);
        }
        effects.extend(reading.nameless.drain(..).map(Effect::Forget));
        for (ticket, read) in std::mem::take(&mut reading.unfinished) {
            engine.give_up(ticket, &read, &mut reading, now, effects);
        }
        engine.evict(now, effects);
        engine
    }

    fn read(&mut self, record: Record<B>, reading: &mut Reading<B>) {
        match record {
            Record::Accepted { ticket, header, .. } => {
                self.next_ticket = self.next_ticket.max(ticket.0);
                reading.unfinished.insert(ticket, Read::new(header));
            }
            Record::Finished { ticket, at, outcome, size, version } => {
                if let Some(moved) = version {
                    self.read_version(moved, reading);
                }
                if let Some(read) = reading.unfinished.remove(&ticket) {
                    reading.nameless.extend(Names::of(&read.header).is_empty().then_some(ticket));
                    self.put(ticket, &read, &outcome, size, at);
                    self.end_in_reading(ticket, outcome, at, reading);
                }
            }
            Record::Alias { ticket, at, header, of } => {
                self.next_ticket = self.next_ticket.max(ticket.0);
                // An alias whose command the journal has dropped is dropped as well.
                let read = Read::new(header);
                if let Some(outcome) = reading.outcomes.get(&of).cloned() {
                    self.put(ticket, &read, &outcome, 0, at);
                    reading.outcomes.insert(ticket, outcome);
                } else if reading.unfinished.contains_key(&of) {
                    reading.aliases.entry(of).or_default().push((ticket, read));
                }
            }
            Record::Version(moved) => self.read_version(moved, reading),
            Record::Reached(ticket) => self.next_ticket = self.next_ticket.max(ticket.0),
        }
    }

    fn read_version(&mut self, moved: VersionMove, reading: &mut Reading<B>) {
        if moved.version.is_none() {
            self.identities.drop_keys(&moved.session);
            reading.drop_keys(&moved.session);
        }
        self.versions.apply(moved);
    }

    /// A command has ended, and its aliases with it: in this order, so that an id which was used again later means the later
    /// command.
    fn end_in_reading(&mut self, ticket: Ticket, outcome: Arc<Outcome<B>>, at: Time, reading: &mut Reading<B>) {
        for (alias, read) in reading.aliases.remove(&ticket).unwrap_or_default() {
            self.put(alias, &read, &outcome, 0, at);
            reading.outcomes.insert(alias, Arc::clone(&outcome));
        }
        reading.outcomes.insert(ticket, outcome);
    }

    fn give_up(
        &mut self,
        ticket: Ticket,
        read: &Read,
        reading: &mut Reading<B>,
        now: Time,
        effects: &mut Vec<Effect<C, B>>,
    ) {
        let header = &read.header;
        let version = header.subject().and_then(|session| self.versions.advance(session));
        let found = version.as_ref().and_then(|moved| moved.version);
        let outcome = Arc::new(Outcome { ending: Ending::Broken(Failure::Recovered), version: found });
        let kept = !Names::of(header).is_empty();
        let debt =
            self.journal.owe(Unrecorded { ticket, at: now, outcome: Arc::clone(&outcome), size: 0, version, kept });
        self.pay(debt, effects);
        self.put(ticket, read, &outcome, 0, now);
        self.end_in_reading(ticket, outcome, now, reading);
    }

    fn put(&mut self, ticket: Ticket, read: &Read, outcome: &Arc<Outcome<B>>, size: usize, at: Time) {
        let Read { header, names } = read;
        let names = names.lasting(outcome);
        if Names::of(header).is_empty() || !header.access.is_recorded() {
            return;
        }
        let bytes = size.saturating_add(OVERHEAD);
        let kept = Kept { ticket, names: names.clone(), outcome: Arc::clone(outcome), finished: at, bytes };
        let position = self.durable.push(kept);
        self.identities.remember(&names, header, Place::Durable(position));
    }
}
