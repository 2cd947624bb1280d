//! How commands end and are answered.

use super::*;

impl Reference {
    pub(super) fn cancel(&mut self, serial: usize, kill_at: Time) {
        let command = self.at_mut(serial);
        if command.cancelled {
            return;
        }
        command.cancelled = true;
        command.kill = Some(kill_at);
        let ticket = command.ticket.expect("what runs has a ticket");
        self.effects.push(Effect::Cancel(ticket));
    }

    /// The engine itself ends a command.
    pub(super) fn break_off(&mut self, serial: usize, failure: Failure) {
        let header = self.at(serial).expect("only known commands end").header.clone();
        let version = self.version_for(&header);
        self.end(serial, Outcome { ending: Ending::Broken(failure), version }, 0, None);
    }

    /// Like that, but in the middle of its work if it runs: that has changed its session.
    pub(super) fn cut_off(&mut self, serial: usize, failure: Failure) {
        let command = self.at(serial).expect("only known commands end");
        let (header, runs) = (command.header.clone(), command.runs());
        let is_its_own = self.namesake_for(&header) == command.namesake;
        let found = self.version_for(&header).filter(|_| runs && is_its_own && header.access != Access::Read);
        let (Some(version), Some(session)) = (found, header.subject().cloned()) else {
            return self.break_off(serial, failure);
        };
        let moved = VersionMove { session, version: Some(version + 1) };
        self.apply(&moved);
        self.end(serial, Outcome { ending: Ending::Broken(failure), version: moved.version }, 0, Some(moved));
    }

    pub(super) fn end(
        &mut self,
        serial: usize,
        mut outcome: Outcome<u64>,
        mut size: usize,
        moved: Option<VersionMove>,
    ) {
        let (now, failed) = (self.now, self.journal_failed);
        let command = self.at_mut(serial);
        let saving = match (command.header.access, failed) {
            (Access::Read, _) => Saving::Needless,
            (Access::Act | Access::Write, false) => Saving::Pending,
            (Access::Act | Access::Write, true) => Saving::Lost,
        };
        if saving == Saving::Lost && !matches!(outcome.ending, Ending::Broken(_)) {
            outcome.ending =
                Ending::Broken(Failure::Unrecorded { kind: command.header.kind.clone(), reason: LOST.into() });
            size = 0;
        }
        if command.stage == Stage::Waiting {
            command.stage = Stage::Over;
        }
        command.open.clear();
        command.clock = None;
        command.limit = None;
        command.end = Some(End { outcome: Arc::new(outcome), at: now, size, moved, saving, order: 0, kept: now });
        if saving != Saving::Pending {
            self.settle_end(serial);
        } else {
            self.persist_end(serial);
        }
    }

    pub(super) fn complete(&mut self, ticket: Ticket, completion: Completion<u64>) {
        let Some(command) = self.commands.iter_mut().find(|command| command.ticket == Some(ticket) && command.runs())
        else {
            return;
        };
        command.stage = Stage::Over;
        command.kill = None;
        let (serial, header, ended) = (command.serial, command.header.clone(), command.end.is_some());
        let namesake = command.namesake;
        if ended {
            return self.complete_late(&header, completion);
        }
        let succeeded = matches!(completion.ending, Ending::Succeeded(_));
        let mut moved = None;
        let mut version = self.version_for(&header);
        if header.access != Access::Read {
            match &completion.change {
                Change::Created(session) => {
                    moved = Some(VersionMove { session: session.clone(), version: Some(0) });
                    version = Some(0);
                }
                Change::Removed(session) => {
                    moved = Some(VersionMove { session: session.clone(), version: None });
                    version = None;
                }
                Change::Usual if !succeeded || header.access == Access::Act => {}
                Change::Usual | Change::Altered if self.namesake_for(&header) != namesake => {}
                Change::Usual | Change::Altered => {
                    version = version.map(|version| version + 1);
                    moved = header
                        .subject()
                        .filter(|_| version.is_some())
                        .map(|session| VersionMove { session: session.clone(), version });
                }
            }
        }
        if let Some(moved) = &moved {
            self.apply(moved);
        }
        let removed = moved.as_ref().filter(|moved| moved.version.is_none()).map(|moved| moved.session.clone());
        self.end(serial, Outcome { ending: completion.ending, version }, completion.size, moved);
        if let Some(session) = removed {
            self.remove(&session);
        }
    }

    pub(super) fn apply(&mut self, moved: &VersionMove) {
        match moved.version {
            Some(version) => {
                // Nothing else brings a version back to zero.
                if version == 0 {
                    *self.namesakes.entry(moved.session.clone()).or_default() += 1;
                }
                self.versions.insert(moved.session.clone(), version)
            }
            None => {
                // Its keys are gone with it.
                let lane = Lane::Session(moved.session.clone());
                for command in self.commands.iter_mut().filter(|command| command.header.lane == lane) {
                    command.owns_key = false;
                }
                self.versions.remove(&moved.session)
            }
        };
    }

    pub(super) fn namesake_for(&self, header: &Header) -> Option<u64> {
        let session = header.subject().filter(|session| self.versions.contains_key(*session))?;
        Some(self.namesakes.get(session).copied().unwrap_or_default())
    }

    /// It was answered before. Only which sessions exist is still news.
    fn complete_late(&mut self, header: &Arc<Header>, completion: Completion<u64>) {
        let known = |model: &Self, session: &SessionName| model.version(session).is_some();
        let is_news = match &completion.change {
            Change::Created(session) if header.access != Access::Read => {
                let is_news = !known(self, session);
                self.open(session);
                is_news
            }
            Change::Removed(session) if header.access != Access::Read => {
                let is_news = known(self, session);
                self.close(session);
                is_news
            }
            Change::Created(_) | Change::Removed(_) | Change::Usual | Change::Altered => false,
        };
        if is_news {
            self.effects.push(Effect::Belated { header: header.clone(), ending: completion.ending });
        }
    }

    pub(super) fn open(&mut self, session: &SessionName) {
        if self.version(session).is_none() {
            self.apply(&VersionMove { session: session.clone(), version: Some(0) });
            self.record_version(session);
        }
    }

    pub(super) fn close(&mut self, session: &SessionName) {
        if self.version(session).is_some() {
            self.apply(&VersionMove { session: session.clone(), version: None });
            self.record_version(session);
        }
        self.remove(session);
    }

    /// One record of a session's version is on its way at a time.
    pub(super) fn record_version(&mut self, session: &SessionName) {
        if self.journal_failed || !self.moves.insert(session.clone()) {
            self.owed.insert(session.clone());
        } else {
            let version = self.version(session);
            self.persist(Record::Version(VersionMove { session: session.clone(), version }));
        }
    }

    pub(super) fn remove(&mut self, session: &SessionName) {
        let lane = Lane::Session(session.clone());
        for serial in self.serials_where(|command| command.waits() && command.header.lane == lane) {
            self.break_off(serial, Failure::SessionGone { session: session.clone() });
        }
        for serial in self.serials_where(|command| command.runs() && command.header.lane == lane) {
            self.cancel(serial, self.now.after(self.config.kill_after_ms));
        }
    }

    pub(super) fn change(&mut self, session: &SessionName) {
        let Some(version) = self.version(session) else { return };
        let moved = VersionMove { session: session.clone(), version: Some(version + 1) };
        self.apply(&moved);
        self.record_version(session);
    }

    /// Announces one acceptance or gives one answer, in the order in which they became certain.
    pub(super) fn answer_one(&mut self) -> bool {
        let unannounced = self.commands.iter().find(|command| !command.announced && command.entry != Saving::Pending);
        if let Some(serial) = unannounced.map(|command| command.serial) {
            self.at_mut(serial).announced = true;
            self.announce(serial, Phase::Accepted);
            return true;
        }
        let waiting = self.commands.iter().filter(|command| command.announced && !command.answered);
        let ready = waiting.filter_map(|command| {
            let root = command.follows.map_or(Some(command), |root| self.at(root).filter(|root| root.answered))?;
            let end = root.end.as_ref().filter(|end| end.saving != Saving::Pending || root.answered)?;
            Some((end.order.max(command.entered), command.follows.is_some(), command.serial, end.outcome.clone()))
        });
        let Some((_, follows, serial, outcome)) =
            ready.min_by_key(|(order, follows, serial, _)| (*order, *follows, *serial))
        else {
            return false;
        };
        self.answer(serial, outcome, if follows { Replay::Replayed } else { Replay::First });
        true
    }

    pub(super) fn answer(&mut self, serial: usize, outcome: Arc<Outcome<u64>>, replay: Replay) {
        let now = self.now;
        let command = self.at_mut(serial);
        command.answered = true;
        if command.follows.is_some() {
            let saving = Saving::Needless;
            command.end =
                Some(End { outcome: outcome.clone(), at: now, size: 0, moved: None, saving, order: 0, kept: now });
        }
        command.end.as_mut().expect("what is answered ended").kept = now;
        command.owns_key &= !is_homeless(&command.header, command.end.as_ref());
        let (request, header) = (command.request, command.header.clone());
        if let Some(request) = request {
            self.announce(serial, Phase::Finished { outcome: outcome.clone(), replay });
            self.effects.push(Effect::Respond { request, header, outcome, replay });
        }
        self.shelve(serial);
    }
}
