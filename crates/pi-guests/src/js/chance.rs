//! Chance as a guest sees it.

use std::{
    cell::Cell,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

/// What the number of a step is multiplied with, so that neighbours have nothing in common.
const SPREAD: u32 = 0x9e37_79b9;

/// Where a guest's chance comes from.
#[derive(Debug, Clone)]
pub enum Chance {
    /// The system's.
    Real,
    /// Lots that fall the same way in every rehearsal, anew for each step, so that a draw more or less in one of them changes
    /// nothing in the next. The harness that compares us with the real Pi has the same, and `chance.json` there is what both
    /// are held to.
    Rehearsed(Steps),
}

/// Which step of a rehearsal is being performed: zero while extensions load. Clones speak of the same rehearsal.
#[derive(Debug, Clone, Default)]
pub struct Steps(Arc<AtomicU32>);

impl Steps {
    /// Counts from one.
    pub fn begin(&self, number: u32) {
        self.0.store(number, Ordering::Relaxed);
    }
}

/// What one runtime draws.
pub(super) struct Lots {
    chance: Chance,
    drawn: Cell<Drawn>,
}

/// How far a step has drawn.
#[derive(Debug, Clone, Copy)]
struct Drawn {
    step: u32,
    fractions: u32,
    bytes: u32,
}

impl Drawn {
    fn begin(step: u32) -> Self {
        let seed = |kind: u32| step.wrapping_mul(2).wrapping_add(kind + 1).wrapping_mul(SPREAD);
        Self { step, fractions: seed(0), bytes: seed(1) }
    }
}

impl Lots {
    pub(super) fn new(chance: Chance) -> Self {
        Self { chance, drawn: Cell::new(Drawn::begin(0)) }
    }

    pub(super) fn is_rehearsed(&self) -> bool {
        matches!(self.chance, Chance::Rehearsed(_))
    }

    /// Fills in what the extension asked for.
    pub(super) fn fill(&self, bytes: &mut [u8]) -> Result<(), getrandom::Error> {
        match &self.chance {
            Chance::Real => getrandom::fill(bytes),
            Chance::Rehearsed(steps) => {
                let mut drawn = self.at(steps);
                bytes.fill_with(|| draw(&mut drawn.bytes).to_be_bytes()[0]);
                self.drawn.set(drawn);
                Ok(())
            }
        }
    }

    /// From zero to one, in a rehearsal; the engine has its own for everything else.
    pub(super) fn fraction(&self) -> Option<f64> {
        let Chance::Rehearsed(steps) = &self.chance else { return None };
        let mut drawn = self.at(steps);
        let (high, low) = (draw(&mut drawn.fractions) >> 5, draw(&mut drawn.fractions) >> 6);
        self.drawn.set(drawn);
        // 27 and 26 bits: all that a double holds between zero and one.
        Some((f64::from(high) * f64::from(1 << 26) + f64::from(low)) / 2_f64.powi(53))
    }

    fn at(&self, steps: &Steps) -> Drawn {
        let (step, drawn) = (steps.0.load(Ordering::Relaxed), self.drawn.get());
        if drawn.step == step { drawn } else { Drawn::begin(step) }
    }
}

/// The next number, by shifting and exclusive or; none of its states is zero.
fn draw(state: &mut u32) -> u32 {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    *state
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What both hosts are held to.
    const AGREED: &str = include_str!("../../../../tests/ext_conformance/chance.json");

    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Agreed {
        step: u32,
        fractions: Vec<f64>,
        bytes: Vec<u8>,
    }

    #[test]
    fn a_rehearsal_draws_what_both_hosts_agreed_on() {
        let agreed: Vec<Agreed> = serde_json::from_str(AGREED).expect("our own list");
        let steps = Steps::default();
        let lots = Lots::new(Chance::Rehearsed(steps.clone()));
        let drawn: Vec<Agreed> = agreed
            .iter()
            .map(|row| {
                steps.begin(row.step);
                let mut bytes = vec![0; row.bytes.len()];
                lots.fill(&mut bytes).expect("a rehearsal asks no system");
                let fractions = row.fractions.iter().map(|_| lots.fraction().expect("a rehearsal")).collect();
                Agreed { step: row.step, fractions, bytes }
            })
            .collect();
        assert_eq!(drawn, agreed);
    }

    #[test]
    fn outside_of_rehearsals_the_engine_draws_fractions() {
        assert_eq!(Lots::new(Chance::Real).fraction(), None);
    }
}
