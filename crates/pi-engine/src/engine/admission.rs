//! In or out: replay, refusal, or a ticket.

use std::{collections::HashSet, sync::Arc};

use super::{Alias, Command, Drain, Engine, Follower, Purpose, announce, name, sender};
use crate::{
    deadline::Alarm,
    effect::{Effect, Phase, Replay},
    header::{Admission, Header, Lane, Span},
    identity::{Names, Place},
    journal::Pending,
    lane::Queue,
    name::{CommandId, Key, Request, Ticket, Time},
    outcome::{Failure, Outcome, Refusal, Scarcity},
    record::Record,
    shelf::Kept,
};

impl<C, B> Engine<C, B> {
    pub(super) fn admit(&mut self, admission: Admission<C>, now: Time, effects: &mut Vec<Effect<C, B>>) {
        self.evict(now, effects);
        let Admission { request, header, command } = admission;
        let recognised = self.recognise(&header, now);
        let header = Arc::new(match &recognised {
            Ok(place) if self.goes_unrecorded(&header, *place, now) => header.unrecorded(),
            Ok(_) | Err(_) => header,
        });
        let admitted = match recognised {
            Ok(Some(place)) => self.follow(place, request, &header, now, effects),
            Ok(None) => self.take_in(request, &header, command, now, effects),
            Err(refusal) => Err(refusal),
        };
        if let Err(refusal) = admitted {
            effects.push(Effect::Refuse { request, header, refusal });
        }
    }

    /// Finds the command that this one repeats.
    fn recognise(&mut self, header: &Header, now: Time) -> Result<Option<Place>, Refusal> {
        match self.drain {
            Drain::Open => {}
            // A run that is waited for must be answered and stopped.
            Drain::Until(_) if header.is_needed_by_run() => {}
            Drain::Until(_) | Drain::Closing => return Err(Refusal::ShuttingDown),
            Drain::Done => return Err(Refusal::ShutDown),
        }
        let by_id = header.id.as_ref().and_then(|id| self.identities.by_id(&header.client, id).map(|seen| (id, seen)));
        let by_key =
            header.key.as_ref().and_then(|key| self.identities.by_key(&header.lane, key).map(|seen| (key, seen)));
        let by_key = by_key.filter(|(_, seen)| self.is_fresh(seen.place, now));
        if let Some((id, seen)) = by_id.filter(|(_, seen)| seen.fingerprint != header.fingerprint) {
            let (id, before, now) = (id.clone(), seen.kind.clone(), header.kind.clone());
            return Err(Refusal::ConflictingId { id, before, now });
        }
        if let Some((key, seen)) = by_key.filter(|(_, seen)| seen.fingerprint != header.fingerprint) {
            let (key, before, now) = (key.clone(), seen.kind.clone(), header.kind.clone());
            return Err(Refusal::ConflictingKey { key, before, now });
        }
        Ok(by_id.map(|(_, seen)| seen.place).or(by_key.map(|(_, seen)| seen.place)))
    }

    /// A run must be stopped and answered although nothing can be recorded; what repeats a command is recorded if that was.
    fn goes_unrecorded(&self, header: &Header, repeated: Option<Place>, now: Time) -> bool {
        match repeated {
            None => {
                let has_no_room = !Names::of(header).is_empty() && self.lack(now).is_some();
                header.is_needed_by_run() && (self.journal.has_failed() || has_no_room)
            }
            Some(Place::InFlight(ticket)) => {
                let command = self.commands.get(&ticket).map(|command| &command.header);
                let known = command.or_else(|| self.aliases.get(&ticket).map(|alias| &alias.header));
                known.is_some_and(|known| !known.access.is_recorded())
            }
            Some(Place::Durable(_)) => false,
            Some(Place::Read(_)) => true,
        }
    }

    /// Whether a key that led here is still honoured.
    fn is_fresh(&self, place: Place, now: Time) -> bool {
        let kept = match place {
            Place::InFlight(_) => return true,
            Place::Durable(position) => self.durable.get(position),
            Place::Read(position) => self.reads.get(position),
        };
        kept.is_some_and(|kept| now.since(kept.finished) < self.config.retention.key_ms)
    }

    /// Gives the same answer as the command at `place` gets or got.
    fn follow(
        &mut self,
        place: Place,
        request: Request,
        header: &Arc<Header>,
        now: Time,
        effects: &mut Vec<Effect<C, B>>,
    ) -> Result<(), Refusal> {
        let (of, outcome) = match place {
            Place::InFlight(ticket) => (self.aliases.get(&ticket).map_or(ticket, |alias| alias.of), None),
            Place::Durable(position) => kept(self.durable.get(position)),
            Place::Read(position) => kept(self.reads.get(position)),
        };
        // What an alias that is not answered yet stands for may be answered already.
        let outcome = match place {
            Place::InFlight(ticket) => self.aliases.get(&ticket).and_then(|alias| alias.outcome.clone()),
            Place::Durable(_) | Place::Read(_) => outcome,
        };
        let brings = self.new_names(header, now);
        let brings = match &outcome {
            Some(outcome) => brings.lasting(outcome),
            None => brings,
        };
        if brings.is_empty()
            && let Some(outcome) = outcome
        {
            let name = self.name_of_follower(header);
            effects.push(announce(&name, header, Phase::Accepted));
            replay(&name, request, header, outcome, effects);
            return Ok(());
        }
        self.check_load(header)?;
        if brings.is_empty() {
            let name = self.name_of_follower(header);
            effects.push(announce(&name, header, Phase::Accepted));
            let follower = Follower::Plain { header: Arc::clone(header), name, request };
            self.commands.get_mut(&of).expect("an unanswered command is in the table").followers.push(follower);
            self.begin_request(header);
            return Ok(());
        }
        self.follow_as_alias(of, brings, request, header, outcome, now, effects)
    }

    /// The names of a command by which nothing is known.
    fn new_names(&self, header: &Header, now: Time) -> Names {
        let Names { id, key } = Names::of(header);
        let is_known = |(lane, key): &(Lane, Key)| {
            self.identities.by_key(lane, key).is_some_and(|seen| self.is_fresh(seen.place, now))
        };
        Names {
            id: id.filter(|(client, id)| self.identities.by_id(client, id).is_none()),
            key: key.filter(|key| !is_known(key)),
        }
    }

    /// Remembers further names for the command `of`.
    #[expect(clippy::too_many_arguments, reason = "what a follower is made of")]
    fn follow_as_alias(
        &mut self,
        of: Ticket,
        brings: Names,
        request: Request,
        header: &Arc<Header>,
        outcome: Option<Arc<Outcome<B>>>,
        now: Time,
        effects: &mut Vec<Effect<C, B>>,
    ) -> Result<(), Refusal> {
        let recorded = header.access.is_recorded();
        if recorded {
            self.check_room(now)?;
            self.reserved += 1;
        }
        let ticket = self.ticket();
        let name = name(header, ticket);
        self.identities.remember(&brings, header, Place::InFlight(ticket));
        if recorded {
            let sequence = self.journal.send(Pending::Alias(ticket));
            let record = Record::Alias { ticket, at: now, header: Arc::new(brings.only(header)), of };
            effects.push(Effect::Persist { sequence, record });
        } else {
            effects.push(announce(&name, header, Phase::Accepted));
        }
        if outcome.is_none() {
            let followed = self.commands.get_mut(&of).expect("an unanswered command is in the table");
            followed.followers.push(Follower::Alias(ticket));
        }
        let alias = Alias { header: Arc::clone(header), brings, name, request, of, accepted: !recorded, outcome };
        self.aliases.insert(ticket, alias);
        self.begin_request(header);
        self.answer_alias(ticket, now, effects);
        Ok(())
    }

    /// Admits a command that is new.
    fn take_in(
        &mut self,
        request: Request,
        header: &Arc<Header>,
        payload: C,
        now: Time,
        effects: &mut Vec<Effect<C, B>>,
    ) -> Result<(), Refusal> {
        self.check_load(header)?;
        let names = Names::of(header);
        let recorded = header.access.is_recorded();
        if recorded && self.journal.has_failed() {
            return Err(Refusal::JournalUnavailable);
        }
        if recorded && !names.is_empty() {
            self.check_room(now)?;
            self.reserved += 1;
        }
        let ticket = self.ticket();
        let name = name(header, ticket);
        if recorded {
            let sequence = self.journal.send(Pending::Accepted(ticket));
            let record = Record::Accepted { ticket, at: now, header: Arc::clone(header) };
            effects.push(Effect::Persist { sequence, record });
        } else {
            effects.push(announce(&name, header, Phase::Accepted));
        }
        let dependencies = self.dependencies(header);
        self.identities.remember(&names, header, Place::InFlight(ticket));
        self.begin_request(header);
        let open = dependencies.as_ref().map_or_else(|_| Vec::new(), Clone::clone);
        for (_, dependency) in &open {
            if let Some(command) = self.commands.get_mut(dependency) {
                command.dependents.push(ticket);
            }
        }
        let waits = dependencies.is_ok();
        let set_aside = !open.is_empty() && !header.order.is_work();
        let command = Command {
            header: Arc::clone(header),
            name,
            request,
            payload: Some(payload),
            accepted: !recorded,
            waiting: waits,
            open,
            dependents: Vec::new(),
            followers: Vec::new(),
            alarm: None,
            decided: None,
        };
        self.commands.insert(ticket, command);
        match dependencies {
            Ok(_) => {
                self.lanes.change(&header.lane, |lane| lane.wait(ticket, header.order, set_aside));
                if set_aside {
                    self.set_alarm(ticket, now.after(self.config.dependency_ms), Alarm::Dependency);
                }
            }
            Err(failure) => self.break_off(ticket, failure, now, effects),
        }
        Ok(())
    }

    fn check_load(&mut self, header: &Header) -> Result<(), Refusal> {
        if self.unanswered[Purpose::of(header)] >= self.config.max_in_flight {
            return Err(Refusal::Busy(Scarcity::InFlight { limit: self.config.max_in_flight }));
        }
        let Some(limit) = self.config.pending_limit(header) else { return Ok(()) };
        match self.pending.get(&sender(header)) {
            Some(pending) if *pending >= limit => Err(Refusal::TooManyPending { limit }),
            Some(_) | None => Ok(()),
        }
    }

    /// Whether one more outcome can be kept as long as it must be.
    fn check_room(&self, now: Time) -> Result<(), Refusal> {
        if self.journal.has_failed() {
            return Err(Refusal::JournalUnavailable);
        }
        self.lack(now).map_or(Ok(()), |scarcity| Err(Refusal::Busy(scarcity)))
    }

    /// What there is too little of for one more outcome beside those that are kept and those that will be.
    pub(super) fn lack(&self, now: Time) -> Option<Scarcity> {
        let retention = &self.config.retention;
        let room_in_ms = || self.durable.oldest().map_or(0, |oldest| oldest.after(retention.keep_ms).since(now));
        if self.durable.len() + self.reserved + 1 > retention.max_count {
            return Some(Scarcity::OutcomeCount { limit: retention.max_count, room_in_ms: room_in_ms() });
        }
        let reserved = (self.reserved + 1) * retention.reserve_bytes;
        let is_over = self.durable.bytes() + reserved > retention.max_bytes;
        is_over.then(|| Scarcity::OutcomeBytes { limit: retention.max_bytes, room_in_ms: room_in_ms() })
    }

    /// Until when no further outcome can be kept, if none can: what must be recorded and has a name is refused.
    pub fn full_until(&self, now: Time) -> Option<Time> {
        self.lack(now)?;
        let until = self.durable.oldest()?.after(self.config.retention.keep_ms);
        (until > now).then_some(until)
    }

    pub(super) fn begin_request(&mut self, header: &Header) {
        self.unanswered[Purpose::of(header)] += 1;
        *self.pending.or_default(sender(header)) += 1;
    }

    /// The dependencies that have not ended, or why the command cannot succeed.
    fn dependencies(&mut self, header: &Header) -> Result<Vec<(CommandId, Ticket)>, Failure> {
        let mut open: Vec<(CommandId, Ticket)> = Vec::new();
        for id in &header.depends_on {
            if header.id.as_ref() == Some(id) {
                return Err(Failure::DependsOnItself { id: id.clone() });
            }
            let Some(seen) = self.identities.by_id(&header.client, id) else {
                return Err(Failure::DependencyUnknown { id: id.clone() });
            };
            let ended = match seen.place {
                Place::InFlight(ticket) => {
                    let followed = self.aliases.get(&ticket);
                    match followed.and_then(|alias| alias.outcome.clone()) {
                        Some(outcome) => Some(outcome),
                        None => {
                            let ticket = followed.map_or(ticket, |alias| alias.of);
                            // Only a command that a run may be waiting for can close a circle.
                            if header.is_needed_by_run() && self.waits_for_run(ticket, &header.lane) {
                                return Err(Failure::DependencyInverted { id: id.clone() });
                            }
                            if !open.iter().any(|(known, _)| known == id) {
                                open.push((id.clone(), ticket));
                            }
                            None
                        }
                    }
                }
                Place::Durable(position) => self.durable.get(position).map(|kept| Arc::clone(&kept.outcome)),
                Place::Read(position) => self.reads.get(position).map(|kept| Arc::clone(&kept.outcome)),
            };
            if let Some(error) = ended.and_then(|outcome| outcome.error()) {
                return Err(Failure::DependencyFailed { id: id.clone(), error });
            }
        }
        Ok(open)
    }

    /// Whether `ticket` can only end after long work in `lane` has, or a turn taken there: through what it depends on, or
    /// through what is ahead of it. Long control counts, for like a run it may wait for a person. Rare, so it may walk what
    /// is in flight, up to a limit: what is too entangled to tell counts as waiting.
    fn waits_for_run(&self, ticket: Ticket, lane: &Lane) -> bool {
        let mut seen = HashSet::new();
        let mut next = vec![(ticket, Until::End)];
        while let Some((ticket, until)) = next.pop() {
            if seen.len() + next.len() > ENTANGLED {
                return true;
            }
            let open = self.commands.get(&ticket).filter(|command| command.decided.is_none());
            let Some(command) = open.filter(|_| seen.insert((ticket, until))) else { continue };
            let (order, own) = (command.header.order, command.header.lane == *lane);
            let lingers = self.running.get(&ticket).is_some_and(|running| running.lingers);
            if own && until == Until::End && (order.span() == Span::Long || lingers) {
                return true;
            }
            let Some(queue) = self.lanes.get(&command.header.lane).filter(|_| command.waiting) else { continue };
            next.extend(command.open.iter().map(|(_, dependency)| (*dependency, Until::End)));
            if order.is_work() {
                if own && queue.has_run() {
                    return true;
                }
                next.extend(queue.work_before(ticket).next_back().map(|work| (work, Until::End)));
                next.extend(queue.control_before(ticket).map(|control| (control, Until::Start)));
            } else if command.open.is_empty() {
                next.extend(queue.control_before(ticket).map(|control| (control, Until::Start)));
                next.extend(self.work_that_holds(queue, ticket));
            }
        }
        false
    }

    /// The work that a control command waits for. It follows earlier work until a run starts, or until that work waits for
    /// a run itself, and passes then.
    fn work_that_holds(&self, queue: &Queue, control: Ticket) -> Vec<(Ticket, Until)> {
        let mut holding = Vec::new();
        if queue.has_run() {
            return holding;
        }
        for work in queue.work_before(control) {
            let Some(command) = self.commands.get(&work) else { continue };
            if self.is_held_by_run(&command.open) {
                break;
            }
            if command.header.order.span() == Span::Long {
                holding.push((work, Until::Start));
                break;
            }
            holding.push((work, Until::End));
        }
        holding
    }
}

/// How many commands are looked at to find out whether one waits for another.
const ENTANGLED: usize = 4_096;

/// What of another command is awaited.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Until {
    Start,
    End,
}

fn kept<B>(kept: Option<&Kept<B>>) -> (Ticket, Option<Arc<Outcome<B>>>) {
    let kept = kept.expect("a name leads to an outcome that is kept");
    (kept.ticket, Some(Arc::clone(&kept.outcome)))
}

/// Announces and sends an answer that was given before.
pub(super) fn replay<C, B>(
    name: &CommandId,
    request: Request,
    header: &Arc<Header>,
    outcome: Arc<Outcome<B>>,
    effects: &mut Vec<Effect<C, B>>,
) {
    let phase = Phase::Finished { outcome: Arc::clone(&outcome), replay: Replay::Replayed };
    effects.push(announce(name, header, phase));
    effects.push(Effect::Respond { request, header: Arc::clone(header), outcome, replay: Replay::Replayed });
}
