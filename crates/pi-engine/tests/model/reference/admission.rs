//! What happens to a command that comes in, and what is read back after a restart.

use super::*;

impl Reference {
    pub(super) fn admit(&mut self, admission: Admission<u64>) {
        let Admission { request, header, command } = admission;
        let header = Arc::new(self.as_it_can_be_kept(header));
        match self.judge(&header) {
            Err(refusal) => self.effects.push(Effect::Refuse { request, header, refusal }),
            Ok(None) => self.take(request, &header, command),
            Ok(Some(root)) => self.follow(request, &header, command, root),
        }
    }

    /// Without a journal, or room for what it must keep, nothing is written of what a run needs, nor of what repeats such a
    /// command later.
    fn as_it_can_be_kept(&self, mut header: Header) -> Header {
        let is_let_in = match self.life {
            Life::Open => true,
            Life::Draining { forced, .. } => !forced && is_needed(&header),
            Life::Drained => false,
        };
        if let (true, Ok(known)) = (is_let_in, self.find(&header)) {
            let is_named = header.id.is_some() || header.key.is_some();
            let writable = !self.journal_failed && (!is_named || self.lack().is_none());
            let unwritten = known.map_or(!writable && is_needed(&header), |known| !known.is_write());
            if unwritten {
                header.access = Access::Read;
            }
        }
        header
    }

    /// The refusal, or the command that this one repeats.
    fn judge(&self, header: &Header) -> Result<Option<usize>, Refusal> {
        match self.life {
            Life::Open => {}
            Life::Draining { forced: false, .. } if is_needed(header) => {}
            Life::Draining { .. } => return Err(Refusal::ShuttingDown),
            Life::Drained => return Err(Refusal::ShutDown),
        }
        let root = self.find(header)?.map(|known| self.root_of(known));
        let brings_name = self.brings(header) != (false, false);
        if let Some(root) = root
            && !brings_name
            && self.at(root).expect("a root outlives its followers").answered
        {
            return Ok(Some(root));
        }
        let waiting = |command: &&Command| !command.answered && command.request.is_some();
        // Those who look, those who do something and those who end a run have each as much room.
        let purpose = |header: &Header| (is_needed(header), !is_needed(header) && header.access == Access::Read);
        let for_the_same = |command: &&Command| purpose(&command.header) == purpose(header);
        if self.commands.iter().filter(waiting).filter(for_the_same).count() >= self.config.max_in_flight {
            return Err(Refusal::Busy(Scarcity::InFlight { limit: self.config.max_in_flight }));
        }
        let own =
            |command: &&Command| command.header.principal == header.principal && command.header.client == header.client;
        // Those who look and those who do something do not stand in each other's way; no bound for what ends or answers a run.
        let alike = |command: &&Command| (command.header.access == Access::Read) == (header.access == Access::Read);
        let limit = self.config.max_pending_per_client;
        if !is_needed(header) && self.commands.iter().filter(waiting).filter(own).filter(alike).count() >= limit {
            return Err(Refusal::TooManyPending { limit });
        }
        let recorded = header.access != Access::Read && (root.is_none() || brings_name);
        if recorded && self.journal_failed {
            return Err(Refusal::JournalUnavailable);
        }
        if recorded && (header.id.is_some() || header.key.is_some()) {
            self.lack().map_or(Ok(()), |scarcity| Err(Refusal::Busy(scarcity)))?;
        }
        Ok(root)
    }

    fn find(&self, header: &Header) -> Result<Option<&Command>, Refusal> {
        let now = header.kind.clone();
        let (by_id, by_key) = (self.find_id(header), self.find_key(header));
        if let (Some(known), Some(id)) = (by_id, &header.id)
            && known.header.fingerprint != header.fingerprint
        {
            return Err(Refusal::ConflictingId { id: id.clone(), before: known.header.kind.clone(), now });
        }
        if let (Some(known), Some(key)) = (by_key, &header.key)
            && known.header.fingerprint != header.fingerprint
        {
            return Err(Refusal::ConflictingKey { key: key.clone(), before: known.header.kind.clone(), now });
        }
        Ok(by_id.or(by_key))
    }

    /// Whether its id is new, and whether its key is.
    fn brings(&self, header: &Header) -> (bool, bool) {
        let id = header.id.is_some() && self.find_id(header).is_none();
        let known = self.find(header).ok().flatten().and_then(|known| self.at(self.root_of(known)));
        let homeless = known.filter(|root| root.answered).is_some_and(|root| is_homeless(header, root.end.as_ref()));
        let key = header.key.is_some() && self.find_key(header).is_none() && !homeless;
        (id, key)
    }

    fn find_id(&self, header: &Header) -> Option<&Command> {
        let id = header.id.as_ref()?;
        self.commands
            .iter()
            .find(|other| other.owns_id && other.header.client == header.client && other.header.id.as_ref() == Some(id))
    }

    fn find_key(&self, header: &Header) -> Option<&Command> {
        let key = header.key.as_ref()?;
        self.commands.iter().find(|other| {
            let fresh = match &other.end {
                Some(end) if other.answered => self.now < end.kept.after(self.config.retention.key_ms),
                _ => true,
            };
            other.owns_key && other.header.lane == header.lane && other.header.key.as_ref() == Some(key) && fresh
        })
    }

    /// Puts a new command into the list.
    fn add(&mut self, request: Option<Request>, header: Arc<Header>, payload: u64, ticket: Option<Ticket>) -> usize {
        self.serials += 1;
        let name = header.id.clone().unwrap_or_else(|| {
            let ticket = ticket.unwrap_or_else(|| self.next_ticket());
            CommandId::from(format!("anon:{}", ticket.0))
        });
        self.commands.push(Command {
            serial: self.serials,
            ticket,
            name,
            request,
            header,
            payload,
            follows: None,
            recorded: None,
            owns_id: false,
            owns_key: false,
            entry: Saving::Needless,
            entered: 0,
            announced: false,
            stage: Stage::Waiting,
            lingers: false,
            namesake: None,
            open: Vec::new(),
            clock: None,
            limit: None,
            kill: None,
            cancelled: false,
            end: None,
            answered: false,
        });
        self.serials
    }

    fn next_ticket(&mut self) -> Ticket {
        self.tickets += 1;
        Ticket(self.tickets)
    }

    fn take(&mut self, request: Request, header: &Arc<Header>, payload: u64) {
        let ticket = self.next_ticket();
        self.take_over_key(header);
        let serial = self.add(Some(request), header.clone(), payload, Some(ticket));
        let at = self.now;
        let command = self.at_mut(serial);
        command.owns_id = header.id.is_some();
        command.owns_key = header.key.is_some();
        if header.access != Access::Read {
            command.entry = Saving::Pending;
            self.persist(Record::Accepted { ticket, at, header: header.clone() });
        } else {
            command.announced = true;
            self.announce(serial, Phase::Accepted);
        }
        self.look_up_dependencies(serial, header);
    }

    /// What had this key before has it no longer.
    fn take_over_key(&mut self, header: &Header) {
        for other in &mut self.commands {
            if header.key.is_some() && other.header.lane == header.lane && other.header.key == header.key {
                other.owns_key = false;
            }
        }
    }

    /// What had this id before has it no longer.
    fn take_over_id(&mut self, header: &Header) {
        for other in &mut self.commands {
            if header.id.is_some() && other.header.client == header.client && other.header.id == header.id {
                other.owns_id = false;
            }
        }
    }

    fn look_up_dependencies(&mut self, serial: usize, header: &Header) {
        let mut open: Vec<(CommandId, usize)> = Vec::new();
        for id in &header.depends_on {
            if open.iter().any(|(other, _)| other == id) {
                continue;
            }
            let sought = Header { id: Some(id.clone()), ..header.clone() };
            let known = self.find_id(&sought).map(|known| self.root_of(known));
            let failure = match known.and_then(|root| self.at(root)) {
                _ if header.id.as_ref() == Some(id) => Some(Failure::DependsOnItself { id: id.clone() }),
                None => Some(Failure::DependencyUnknown { id: id.clone() }),
                Some(root) if root.answered => {
                    let outcome = &root.end.as_ref().expect("what is answered ended").outcome;
                    outcome.error().map(|error| Failure::DependencyFailed { id: id.clone(), error })
                }
                Some(root) => {
                    let inverted = is_needed(header) && self.end_needs_run(root.serial, &header.lane);
                    open.push((id.clone(), root.serial));
                    inverted.then(|| Failure::DependencyInverted { id: id.clone() })
                }
            };
            if let Some(failure) = failure {
                return self.break_off(serial, failure);
            }
        }
        self.at_mut(serial).open = open;
    }

    fn follow(&mut self, request: Request, header: &Arc<Header>, payload: u64, root: usize) {
        let (brings_id, brings_key) = self.brings(header);
        let ticket = (brings_id || brings_key).then(|| self.next_ticket());
        let known = self.find(header).ok().flatten().expect("it was found a moment ago");
        let of =
            if known.answered { known.ticket } else { known.recorded.or(self.at(root).expect("just found").ticket) };
        let of = of.expect("what can be followed has a ticket");
        if brings_key {
            self.take_over_key(header);
        }
        let serial = self.add(Some(request), header.clone(), payload, ticket);
        let at = self.now;
        let command = self.at_mut(serial);
        command.follows = Some(root);
        command.owns_id = brings_id;
        command.owns_key = brings_key;
        command.recorded = ticket.map(|_| of);
        if let (Some(ticket), Access::Act | Access::Write) = (ticket, header.access) {
            command.entry = Saving::Pending;
            let mut written = Header::clone(header);
            written.id.take_if(|_| !brings_id);
            written.key.take_if(|_| !brings_key);
            self.persist(Record::Alias { ticket, at, header: Arc::new(written), of });
        }
    }

    /// Begins again from what the journal holds.
    pub(crate) fn restore(config: Config, now: Time, records: &[Record<u64>]) -> (Self, Effects) {
        let mut model = Self::new(config, now);
        for record in records {
            model.read_back(record);
        }
        for serial in model.serials_where(|command| command.follows.is_none() && !command.answered) {
            model.recover(serial);
        }
        model.settle();
        let effects = std::mem::take(&mut model.effects);
        (model, effects)
    }

    /// It was accepted and did not end. What it ends with follows from the journal as it is, so nobody need wait for the record.
    fn recover(&mut self, serial: usize) {
        let session = self.at(serial).and_then(|command| command.header.subject().cloned());
        let moved = session.and_then(|session| {
            let version = self.version(&session)? + 1;
            Some(VersionMove { session, version: Some(version) })
        });
        let version = moved.as_ref().and_then(|moved| moved.version);
        if let Some(moved) = &moved {
            self.apply(moved);
        }
        self.end(serial, Outcome { ending: Ending::Broken(Failure::Recovered), version }, 0, moved);
        self.take_back(serial, self.now);
    }

    /// An answer of an earlier life. Aliases that waited for it are answered with it.
    fn take_back(&mut self, serial: usize, at: Time) {
        let command = self.at_mut(serial);
        command.stage = Stage::Over;
        command.answered = true;
        let end = command.end.as_mut().expect("what is taken back ended");
        end.kept = at;
        let outcome = end.outcome.clone();
        command.owns_key &= !is_homeless(&command.header, command.end.as_ref());
        self.shelve(serial);
        for alias in self.serials_where(|alias| alias.follows == Some(serial) && !alias.answered) {
            self.alias_back(alias, outcome.clone(), at);
        }
    }

    fn alias_back(&mut self, serial: usize, outcome: Arc<Outcome<u64>>, at: Time) {
        let saving = Saving::Durable;
        self.at_mut(serial).end = Some(End { outcome, at, size: 0, moved: None, saving, order: 0, kept: at });
        self.take_back(serial, at);
    }

    fn read_back(&mut self, record: &Record<u64>) {
        match record {
            Record::Accepted { ticket, header, .. } => {
                self.take_over_key(header);
                let serial = self.add_back(*ticket, header);
                self.at_mut(serial).owns_key = header.key.is_some();
            }
            Record::Finished { ticket, at, outcome, size, version } => {
                if let Some(moved) = version {
                    self.apply(moved);
                }
                let Some(serial) = self.with_ticket(*ticket) else { return };
                let (outcome, saving) = (outcome.clone(), Saving::Durable);
                let end = End { outcome, at: *at, size: *size, moved: version.clone(), saving, order: 0, kept: *at };
                let command = self.at_mut(serial);
                command.end = Some(end);
                if !command.is_kept() {
                    self.effects.push(Effect::Forget(*ticket));
                }
                self.take_back(serial, *at);
            }
            Record::Alias { ticket, header, of, at } => {
                let Some(root) = self.with_ticket(*of) else { return };
                let known = self.at(root).filter(|root| root.answered).and_then(|root| root.end.as_ref());
                let outcome = known.map(|end| end.outcome.clone());
                self.take_over_key(header);
                let serial = self.add_back(*ticket, header);
                let alias = self.at_mut(serial);
                alias.follows = Some(root);
                alias.owns_key = header.key.is_some();
                if let Some(outcome) = outcome {
                    self.alias_back(serial, outcome, *at);
                }
            }
            Record::Version(moved) => self.apply(moved),
            Record::Reached(ticket) => self.tickets = self.tickets.max(ticket.0),
        }
    }

    fn add_back(&mut self, ticket: Ticket, header: &Arc<Header>) -> usize {
        self.tickets = self.tickets.max(ticket.0);
        self.take_over_id(header);
        let serial = self.add(None, header.clone(), 0, Some(ticket));
        let command = self.at_mut(serial);
        command.entry = Saving::Durable;
        command.announced = true;
        command.owns_id = header.id.is_some();
        serial
    }
}
