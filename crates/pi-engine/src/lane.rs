//! Lanes: which of the commands that wait may start next.
//!
//! A lane knows tickets and spans, nothing else. Work starts one at a time in the order of admission. Control passes long
//! work that is in flight; otherwise it keeps the order of admission together with the work.

use std::collections::BTreeSet;

use crate::{
    header::{Lane, Order, Span},
    name::Ticket,
    table::Table,
};

/// All lanes that are not empty.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    lanes: Table<Lane, Queue>,
    /// Lanes in which something may have become possible, in the order in which that happened.
    stirred: Vec<Lane>,
}

/// One lane.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    /// Work that waits for its turn.
    pub(crate) work: BTreeSet<Ticket>,
    /// Control that waits for its turn and for nothing else.
    pub(crate) control: BTreeSet<Ticket>,
    /// Control that waits for a dependency; it holds nobody.
    pub(crate) aside: BTreeSet<Ticket>,
    /// Long work that has not ended, waiting or in flight, and short work in flight that lingers.
    long: BTreeSet<Ticket>,
    /// Work in flight.
    working: Option<(Ticket, Span)>,
    /// Short control in flight.
    controlling: Option<Ticket>,
    /// Long control in flight, and short control that lingers; it holds nobody.
    passed: BTreeSet<Ticket>,
    /// A run that no command started.
    turn: bool,
}

impl Lanes {
    pub(crate) fn len(&self) -> usize {
        self.lanes.len()
    }

    pub(crate) fn touches(&self) -> u64 {
        self.lanes.touches()
    }

    pub(crate) fn get(&self, lane: &Lane) -> Option<&Queue> {
        self.lanes.get(lane)
    }

    /// Changes a lane, remembers to look at it, and forgets it when nothing is left in it.
    pub(crate) fn change<T>(&mut self, lane: &Lane, change: impl FnOnce(&mut Queue) -> T) -> T {
        let (result, empty) = match self.lanes.get_mut(lane) {
            Some(queue) => (change(queue), queue.is_empty()),
            None => {
                let mut queue = Queue::default();
                let result = change(&mut queue);
                let empty = queue.is_empty();
                if !empty {
                    self.lanes.insert(lane.clone(), queue);
                }
                (result, empty)
            }
        };
        if empty {
            self.lanes.remove(lane);
        } else {
            self.stir(lane);
        }
        result
    }

    /// Something that the lane's commands wait for changed elsewhere.
    pub(crate) fn stir(&mut self, lane: &Lane) {
        if self.stirred.last() != Some(lane) {
            self.stirred.push(lane.clone());
        }
    }

    /// The lanes to look at now.
    pub(crate) fn take_stirred(&mut self) -> Vec<Lane> {
        std::mem::take(&mut self.stirred)
    }
}

impl Queue {
    pub(crate) fn wait(&mut self, ticket: Ticket, order: Order, has_dependencies: bool) {
        match order {
            Order::Work(span) => {
                self.work.insert(ticket);
                if span == Span::Long {
                    self.long.insert(ticket);
                }
            }
            Order::Control { .. } if has_dependencies => {
                self.aside.insert(ticket);
            }
            Order::Control { .. } => {
                self.control.insert(ticket);
            }
        }
    }

    /// Control that was set aside takes its place in the order of admission.
    pub(crate) fn stand_in_line(&mut self, ticket: Ticket) {
        if self.aside.remove(&ticket) {
            self.control.insert(ticket);
        }
    }

    /// The command no longer waits, and does not start.
    pub(crate) fn leave(&mut self, ticket: Ticket) {
        let _ = self.work.remove(&ticket) || self.control.remove(&ticket) || self.aside.remove(&ticket);
        self.long.remove(&ticket);
    }

    pub(crate) fn start(&mut self, ticket: Ticket, order: Order) {
        match order {
            Order::Work(span) => {
                self.work.remove(&ticket);
                self.working = Some((ticket, span));
            }
            Order::Control { span, .. } => {
                self.control.remove(&ticket);
                match span {
                    Span::Short => self.controlling = Some(ticket),
                    Span::Long => {
                        self.passed.insert(ticket);
                    }
                }
            }
        }
    }

    /// What ran has stopped.
    pub(crate) fn stop(&mut self, ticket: Ticket) {
        if self.working.is_some_and(|(working, _)| working == ticket) {
            self.working = None;
            self.long.remove(&ticket);
        }
        if self.controlling == Some(ticket) {
            self.controlling = None;
        }
        self.passed.remove(&ticket);
    }

    /// What is short as a rule and in flight is long.
    pub(crate) fn linger(&mut self, ticket: Ticket) {
        if let Some((working, span)) = &mut self.working
            && *working == ticket
        {
            *span = Span::Long;
            self.long.insert(ticket);
        }
        if self.controlling.take_if(|controlling| *controlling == ticket).is_some() {
            self.passed.insert(ticket);
        }
    }

    pub(crate) fn set_turn(&mut self, taken: bool) {
        self.turn = taken;
    }

    /// The control command whose turn it is. `work_waits_for_run`: the first waiting work waits for a run elsewhere.
    pub(crate) fn next_control(&self, work_waits_for_run: impl FnOnce(Ticket) -> bool) -> Option<Ticket> {
        let first = *self.control.first()?;
        let short_in_flight = self.controlling.is_some() || matches!(self.working, Some((_, Span::Short)));
        let held_by = self.work.first().copied().filter(|work| *work < first);
        let may = !short_in_flight && (self.has_run() || held_by.is_none_or(work_waits_for_run));
        may.then_some(first)
    }

    /// The work whose turn it is.
    pub(crate) fn next_work(&self) -> Option<Ticket> {
        let first = *self.work.first()?;
        let free = self.working.is_none() && !self.turn && self.controlling.is_none();
        let held = self.control.first().is_some_and(|control| *control < first);
        (free && !held).then_some(first)
    }

    /// Whether work with this ticket is a run, or must wait for one to end. Work that is in flight waits for no turn.
    pub(crate) fn is_behind_run(&self, work: Ticket) -> bool {
        self.is_behind_turn(work) || self.long.first().is_some_and(|long| *long <= work)
    }

    /// Whether work with this ticket waits for a run that no command began.
    pub(crate) fn is_behind_turn(&self, work: Ticket) -> bool {
        self.turn && self.work.contains(&work)
    }

    /// Long work up to this ticket, in flight or waiting.
    pub(crate) fn long_upto(&self, work: Ticket) -> impl Iterator<Item = Ticket> + '_ {
        self.long.range(..=work).copied()
    }

    /// Whether a run is in flight: control passes it, work waits for its end.
    pub(crate) fn has_run(&self) -> bool {
        self.turn || matches!(self.working, Some((_, Span::Long)))
    }

    /// Work that waits and was admitted before, first to last.
    pub(crate) fn work_before(&self, ticket: Ticket) -> impl DoubleEndedIterator<Item = Ticket> + '_ {
        self.work.range(..ticket).copied()
    }

    /// The last control that waits for its turn and was admitted before.
    pub(crate) fn control_before(&self, ticket: Ticket) -> Option<Ticket> {
        self.control.range(..ticket).next_back().copied()
    }

    /// Everything in flight, for a lane that goes away.
    pub(crate) fn in_flight(&self) -> Vec<Ticket> {
        let working = self.working.map(|(ticket, _)| ticket);
        working.into_iter().chain(self.controlling).chain(self.passed.iter().copied()).collect()
    }

    /// Everything that waits, for a lane that goes away.
    pub(crate) fn waiting(&self) -> Vec<Ticket> {
        let mut all: Vec<_> = self.work.iter().chain(&self.control).chain(&self.aside).copied().collect();
        all.sort_unstable();
        all
    }

    fn is_empty(&self) -> bool {
        self.work.is_empty()
            && self.control.is_empty()
            && self.aside.is_empty()
            && self.working.is_none()
            && self.controlling.is_none()
            && self.passed.is_empty()
            && !self.turn
    }
}
