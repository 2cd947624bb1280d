//! What must hold whatever the rules in detail are, judged from inputs and effects alone.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use pi_engine::{
    Access, Announcement, ClientName, CommandId, Effect, Ending, Failure, Header, Key, Lane, Order, Outcome, Phase,
    Record, Replay, Request, SessionName, Span, Ticket,
};

type Identity = (ClientName, CommandId);

#[derive(Default)]
pub(crate) struct Witness {
    life: Life,
    /// Mutating commands by id that have started, and their ticket, until they are forgotten. This outlives crashes.
    started: HashMap<Identity, Ticket>,
    /// The first answer to a mutating command by id, until it is forgotten. This outlives crashes.
    answers: HashMap<Identity, Arc<Outcome<u64>>>,
    /// Whose records are whose. This outlives crashes.
    owners: HashMap<Ticket, Identity>,
    versions: HashMap<SessionName, Option<u64>>,
}

/// What is known of one life of the process.
#[derive(Default)]
struct Life {
    requests: HashMap<Request, Progress>,
    /// Set while the effects of an admission are watched.
    admitting: Option<Request>,
    by_ticket: HashMap<Ticket, Request>,
    accepted: BTreeSet<Ticket>,
    finished: BTreeSet<Ticket>,
    /// Announcements without their counterpart, by announced id.
    open: HashMap<Identity, i64>,
    running: HashMap<Ticket, Arc<Header>>,
    last_work: HashMap<Lane, Ticket>,
    last_control: HashMap<Lane, Ticket>,
    turns: BTreeSet<SessionName>,
    /// The last answer to a read by id. Reads may be dropped at any time, and then run again.
    reads: HashMap<Identity, Arc<Outcome<u64>>>,
    keyed: HashMap<(Lane, Key), Vec<Arc<Outcome<u64>>>>,
    journal_failed: bool,
    drained: bool,
}

#[derive(Default)]
struct Progress {
    started: bool,
    over: bool,
}

impl Witness {
    pub(crate) fn admitting(&mut self, request: Request) {
        self.life.admitting = Some(request);
        self.life.requests.insert(request, Progress::default());
    }

    pub(crate) fn durable(&mut self, records: &[Record<u64>]) {
        for record in records {
            match record {
                Record::Accepted { ticket, .. } | Record::Alias { ticket, .. } => {
                    self.life.accepted.insert(*ticket);
                }
                Record::Finished { ticket, .. } => {
                    self.life.finished.insert(*ticket);
                }
                Record::Version(_) | Record::Reached(_) => {}
            }
        }
    }

    pub(crate) fn journal(&mut self, failed: bool) {
        if failed && !self.life.journal_failed {
            // Moves that were lost are sent again.
            self.versions.clear();
        }
        self.life.journal_failed = failed;
    }

    pub(crate) fn turn(&mut self, session: &SessionName, taken: bool) {
        if taken {
            self.life.turns.insert(session.clone());
        } else {
            self.life.turns.remove(session);
        }
    }

    pub(crate) fn stopped(&mut self, ticket: Ticket) {
        self.life.running.remove(&ticket);
    }

    pub(crate) fn running(&self) -> Vec<Ticket> {
        let mut tickets: Vec<_> = self.life.running.keys().copied().collect();
        tickets.sort();
        tickets
    }

    /// The process died; the journal holds `records`.
    pub(crate) fn crashed(&mut self, records: &[Record<u64>]) {
        self.life = Life::default();
        self.versions.clear();
        let mut kept = BTreeSet::new();
        for record in records {
            match record {
                Record::Accepted { ticket, .. } => {
                    self.life.accepted.insert(*ticket);
                }
                Record::Alias { ticket, of, .. } => {
                    self.life.accepted.insert(*ticket);
                    kept.extend(self.life.finished.contains(of).then(|| self.owners.get(ticket)).flatten());
                }
                Record::Finished { ticket, version, .. } => {
                    self.life.finished.insert(*ticket);
                    kept.extend(self.owners.get(ticket));
                    self.versions.extend(version.clone().map(|moved| (moved.session, moved.version)));
                }
                Record::Version(moved) => {
                    self.versions.insert(moved.session.clone(), moved.version);
                }
                Record::Reached(_) => {}
            }
        }
        // An answer that was given while the journal was lost need not be known after a crash.
        self.answers.retain(|identity, _| kept.contains(identity));
    }

    /// Everything is answered: what was announced as accepted was announced as finished.
    pub(crate) fn quiet(&self) {
        assert!(self.life.requests.values().all(|progress| progress.over), "a request was never answered");
        assert!(self.life.open.values().all(|open| *open == 0), "accepted without finished: {:?}", self.life.open);
    }

    pub(crate) fn watch(&mut self, effects: &[Effect<u64, u64>]) {
        for (index, effect) in effects.iter().enumerate() {
            let before = index.checked_sub(1).map(|index| &effects[index]);
            match effect {
                Effect::Persist { record, .. } => self.persisted(record),
                Effect::Start { ticket, header, command } => self.starts(*ticket, header, *command, before),
                Effect::Cancel(ticket) | Effect::Kill(ticket) => {
                    assert!(self.life.running.contains_key(ticket), "{effect:?} of what does not run");
                }
                Effect::Respond { request, header, outcome, replay } => {
                    let finished = Phase::Finished { outcome: outcome.clone(), replay: *replay };
                    let announced = matches!(before, Some(Effect::Announce(Announcement { header: other, phase, .. }))
                        if *phase == finished && other == header);
                    assert!(announced, "an answer does not follow its announcement: {effect:?}");
                    self.responds(*request, header, outcome, *replay);
                }
                Effect::Refuse { request, .. } => self.close(*request),
                Effect::Announce(announcement) => self.announced(announcement),
                Effect::Belated { header, .. } => assert!(header.access.is_recorded(), "{effect:?} of a read"),
                Effect::Forget(ticket) => self.forgets(*ticket),
                Effect::Drained => {
                    assert!(!std::mem::replace(&mut self.life.drained, true), "drained twice");
                    assert!(self.life.running.is_empty(), "drained while work runs");
                    self.quiet();
                }
            }
        }
        self.life.admitting = None;
    }

    fn persisted(&mut self, record: &Record<u64>) {
        match record {
            Record::Accepted { ticket, header, .. } | Record::Alias { ticket, header, .. } => {
                let request = self.life.admitting.expect("acceptance is recorded when a command comes in");
                self.life.by_ticket.insert(*ticket, request);
                if let Some(id) = &header.id {
                    self.owners.insert(*ticket, (header.client.clone(), id.clone()));
                }
            }
            Record::Finished { ticket, .. } => {
                assert!(!self.life.finished.contains(ticket), "{ticket:?} ends twice");
            }
            Record::Version(_) => {}
            Record::Reached(_) => panic!("the engine makes no such record"),
        }
        let moved = match record {
            Record::Finished { version, .. } => version.as_ref(),
            Record::Version(moved) => Some(moved),
            Record::Accepted { .. } | Record::Alias { .. } | Record::Reached(_) => None,
        };
        if let Some(moved) = moved {
            let before = self.versions.insert(moved.session.clone(), moved.version).flatten();
            // Several moves that were lost may be sent as one; they never go back.
            assert!(
                moved.version.is_none_or(|version| version == 0 || before.is_none_or(|before| version >= before)),
                "a version went from {before:?} to {moved:?}"
            );
        }
    }

    /// Another session may have this name from now on.
    pub(crate) fn renewed(&mut self, session: &SessionName) {
        self.versions.insert(session.clone(), None);
    }

    fn starts(&mut self, ticket: Ticket, header: &Arc<Header>, command: u64, before: Option<&Effect<u64, u64>>) {
        let announced = matches!(before, Some(Effect::Announce(Announcement { header: other, phase: Phase::Started, .. }))
            if other == header);
        assert!(announced, "{ticket:?} starts without being announced");
        let progress = self.life.requests.get_mut(&Request(command)).expect("only what was sent in this life starts");
        assert!(!progress.started && !progress.over, "{ticket:?} starts twice, or after its answer");
        progress.started = true;
        if header.access != Access::Read {
            assert!(self.life.accepted.contains(&ticket), "{ticket:?} starts before its acceptance is durable");
            if let Some(id) = &header.id {
                let again = self.started.insert((header.client.clone(), id.clone()), ticket);
                assert!(again.is_none(), "{id:?} runs twice, as {again:?} and {ticket:?}");
            }
        }
        self.keeps_order(ticket, header);
        self.life.running.insert(ticket, header.clone());
    }

    /// It is as if it had been long when it started.
    pub(crate) fn lingers(&mut self, ticket: Ticket) {
        let Some(header) = self.life.running.get_mut(&ticket) else { return };
        let order = match header.order {
            Order::Work(_) => Order::Work(Span::Long),
            Order::Control { role, .. } => Order::Control { span: Span::Long, role },
        };
        *header = Arc::new(Header { order, ..Header::clone(header) });
    }

    fn keeps_order(&mut self, ticket: Ticket, header: &Header) {
        let lane = &header.lane;
        let in_lane =
            |order: Order| self.life.running.values().any(|other| other.lane == *lane && other.order == order);
        assert!(!in_lane(Order::Work(Span::Short)), "{ticket:?} starts beside short work");
        let short_control = |header: &Header| !header.order.is_work() && header.order.span() == Span::Short;
        assert!(
            !self.life.running.values().any(|other| other.lane == *lane && short_control(other)),
            "{ticket:?} starts beside a short control command"
        );
        let last = if header.order.is_work() {
            assert!(!in_lane(Order::Work(Span::Long)), "{ticket:?} starts beside a run");
            assert!(
                lane.session().is_none_or(|session| !self.life.turns.contains(session)),
                "{ticket:?} starts in a taken turn"
            );
            self.life.last_work.insert(lane.clone(), ticket)
        } else if header.depends_on.is_empty() {
            self.life.last_control.insert(lane.clone(), ticket)
        } else {
            None
        };
        assert!(last.is_none_or(|last| last < ticket), "{ticket:?} starts after {last:?}");
    }

    fn responds(&mut self, request: Request, header: &Header, outcome: &Arc<Outcome<u64>>, replay: Replay) {
        self.close(request);
        let ticket = self.life.by_ticket.iter().find(|(_, other)| **other == request).map(|(ticket, _)| *ticket);
        let broken = matches!(outcome.ending, Ending::Broken(_));
        if header.access != Access::Read && replay == Replay::First {
            let durable = ticket.is_some_and(|ticket| self.life.finished.contains(&ticket));
            assert!(
                durable || self.life.journal_failed && broken,
                "{request:?} is answered before its outcome is durable"
            );
        }
        let identity = header.id.clone().map(|id| (header.client.clone(), id));
        let keyed = header.key.clone().map(|key| (header.lane.clone(), key));
        match replay {
            Replay::First => {
                if let Some(keyed) = keyed {
                    self.life.keyed.entry(keyed).or_default().push(outcome.clone());
                }
            }
            Replay::Replayed => {
                let answers = match header.access {
                    Access::Act | Access::Write => &self.answers,
                    Access::Read => &self.life.reads,
                };
                let first = identity.as_ref().and_then(|identity| answers.get(identity));
                let by_key = keyed.as_ref().and_then(|keyed| self.life.keyed.get(keyed));
                let equal_by_key = by_key.is_some_and(|answers| answers.contains(outcome));
                let equal = match (first, header.access) {
                    (Some(first), Access::Act | Access::Write) => first == outcome,
                    // A read that was dropped may have got its id anew, through a key.
                    (Some(first), Access::Read) => first == outcome || equal_by_key,
                    // Its first answer may never have been seen, because the process died before.
                    (None, _) => by_key.is_none() || equal_by_key || identity.is_some(),
                };
                // What it repeated was retracted when the journal failed.
                let unrecorded = matches!(outcome.ending, Ending::Broken(Failure::Unrecorded { .. }));
                let retracted = self.life.journal_failed && unrecorded && first.is_none();
                assert!(equal || retracted, "{request:?} is replayed as {outcome:?}, and was answered {first:?} first");
                // A key that came with a known id stands for its answer from now on.
                if let Some(keyed) = keyed {
                    self.life.keyed.entry(keyed).or_default().push(outcome.clone());
                }
            }
        }
        if let Some(identity) = identity {
            match header.access {
                // Who repeats an id does not make it known.
                Access::Act | Access::Write if replay == Replay::Replayed && ticket.is_none() => None,
                Access::Act | Access::Write => self.answers.insert(identity, outcome.clone()),
                Access::Read => self.life.reads.insert(identity, outcome.clone()),
            };
        }
    }

    fn close(&mut self, request: Request) {
        let progress = self.life.requests.get_mut(&request).expect("only what was sent in this life is answered");
        assert!(!progress.over, "{request:?} is answered twice");
        progress.over = true;
    }

    fn announced(&mut self, announcement: &Announcement<u64>) {
        let identity = (announcement.header.client.clone(), announcement.id.clone());
        let open = self.life.open.entry(identity).or_default();
        match &announcement.phase {
            Phase::Accepted => *open += 1,
            Phase::Started => assert!(*open > 0, "started before accepted: {announcement:?}"),
            Phase::Finished { .. } => {
                *open -= 1;
                assert!(*open >= 0, "finished before accepted: {announcement:?}");
            }
        }
    }

    fn forgets(&mut self, ticket: Ticket) {
        self.started.retain(|_, other| *other != ticket);
        if let Some(identity) = self.owners.remove(&ticket) {
            self.answers.remove(&identity);
        }
    }
}
