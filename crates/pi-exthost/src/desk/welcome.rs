//! How long a guest may go on asking a person who puts its questions away, on whichever tier it runs.
//!
//! A question takes the keys of a terminal. A guest that asks again as soon as it is dismissed would keep them, so that after a
//! few dismissals in a row the host dismisses what it asks, unseen, and ever more slowly.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use pi_extproto::log::{Level, LogEvent};
use pi_policy::Moment;

use super::{Desk, lock};
use crate::{ledger::Occasion, port::Settled};

/// Questions that are dismissed one after the other before the guest is not heard any more.
const MOST: u32 = 4;
/// Dismissals with more time between them have nothing to do with each other.
const APART: Duration = Duration::from_secs(60);
/// How long it is not heard; each next time is twice as long.
const QUIET: Duration = Duration::from_secs(300);
const LONGEST_QUIET: Duration = Duration::from_secs(3600);
/// How long the first question is held that nobody sees, and twice as long the next: whoever asks in a loop keeps nobody busy.
const HELD: Duration = Duration::from_millis(100);
const LONGEST_HELD: Duration = Duration::from_secs(30);

/// How welcome the questions of one guest are.
#[derive(Debug, Default)]
pub(crate) struct Welcome {
    /// In a row.
    dismissed: u32,
    last: Option<Moment>,
    /// How often it was not heard any more since a person last answered it.
    rounds: u32,
    quiet_until: Option<Moment>,
    unseen: u32,
    /// Takes away what it has open when it is not heard any more.
    withdrawn: CancellationToken,
}

/// What becomes of a question.
#[derive(Debug)]
pub(crate) enum Turn {
    /// A person sees it, unless it is withdrawn.
    Put { withdrawn: CancellationToken },
    /// It counts as dismissed, after a while.
    Unseen { after: Duration },
}

impl Welcome {
    fn next(&mut self, now: Moment) -> Turn {
        if self.quiet_until.is_some_and(|until| now < until) {
            let after = doubled(HELD, self.unseen, LONGEST_HELD);
            self.unseen += 1;
            return Turn::Unseen { after };
        }
        (self.quiet_until, self.unseen) = (None, 0);
        Turn::Put { withdrawn: self.withdrawn.clone() }
    }

    /// Takes in how a question ended; how long the guest is not heard from now on, if that was once too often.
    fn note(&mut self, settled: &Settled, now: Moment) -> Option<Duration> {
        match settled {
            Settled::Answered(_) => {
                (self.dismissed, self.rounds) = (0, 0);
                return None;
            }
            // Nobody put it away.
            Settled::Cancelled | Settled::TimedOut => return None,
            Settled::Dismissed => {}
        }
        let is_apart = self.last.is_some_and(|last| since(last, now) >= APART);
        // Whoever was not heard before has one question after that time, not four: one more dismissal and it is not heard again.
        self.dismissed = if is_apart && self.rounds == 0 { 1 } else { self.dismissed + 1 };
        self.last = Some(now);
        let is_over = self.quiet_until.is_none() && (self.dismissed >= MOST || self.rounds > 0);
        is_over.then(|| {
            let quiet = doubled(QUIET, self.rounds, LONGEST_QUIET);
            let millis = u64::try_from(quiet.as_millis()).unwrap_or(u64::MAX);
            self.quiet_until = Some(Moment::from_unix_millis(now.unix_millis().saturating_add(millis)));
            (self.rounds, self.unseen) = (self.rounds + 1, 0);
            std::mem::take(&mut self.withdrawn).cancel();
            quiet
        })
    }
}

fn since(then: Moment, now: Moment) -> Duration {
    Duration::from_millis(now.unix_millis().saturating_sub(then.unix_millis()))
}

fn doubled(first: Duration, times: u32, most: Duration) -> Duration {
    first.saturating_mul(2_u32.saturating_pow(times)).min(most)
}

impl Desk {
    /// Whether a person sees the next question of the guest.
    pub(crate) fn turn_to_ask(&self) -> Turn {
        lock(&self.inner.welcome).next(self.inner.house.now())
    }

    /// Takes in how a question of the guest ended. Who asks too much is told of.
    pub(crate) fn note_answer(&self, settled: &Settled) {
        let over = lock(&self.inner.welcome).note(settled, self.inner.house.now());
        let Some(quiet) = over else { return };
        let minutes = quiet.as_secs() / 60;
        let message = format!(
            "its questions were dismissed several times in a row; for {minutes} minutes they are dismissed without being shown"
        );
        self.events().write(LogEvent::from("ui.unheard"), Level::Warn, message, &Occasion::Background, None);
        self.tell_unheard(minutes);
    }
}

#[cfg(test)]
mod tests {
    use pi_transcript::question::Answer;

    use super::*;

    /// What becomes of questions that are asked at these seconds: `d` is dismissed, `a` answered, `t` times out.
    fn check(questions: &[(u64, char)], expected: &[&str]) {
        let mut welcome = Welcome::default();
        let told = questions.iter().map(|(second, answer)| {
            let now = Moment::from_unix_millis(second * 1000);
            match welcome.next(now) {
                Turn::Unseen { after } => format!("{second}s unseen after {after:?}"),
                Turn::Put { withdrawn } => {
                    let settled = match answer {
                        'd' => Settled::Dismissed,
                        'a' => Settled::Answered(Answer::Confirm { confirmed: false }),
                        _ => Settled::TimedOut,
                    };
                    let quiet = welcome.note(&settled, now).map(|quiet| format!(", unheard for {quiet:?}"));
                    assert_eq!(withdrawn.is_cancelled(), quiet.is_some());
                    format!("{second}s seen{}", quiet.unwrap_or_default())
                }
            }
        });
        assert_eq!(told.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn who_is_dismissed_again_and_again_is_not_heard_for_ever_longer() {
        let asked = [0, 1, 2, 3, 4, 5, 6, 302, 303, 304, 904, 905].map(|second| (second, 'd'));
        check(
            &asked,
            &[
                "0s seen",
                "1s seen",
                "2s seen",
                "3s seen, unheard for 300s",
                "4s unseen after 100ms",
                "5s unseen after 200ms",
                "6s unseen after 400ms",
                "302s unseen after 800ms",
                "303s seen, unheard for 600s",
                "304s unseen after 100ms",
                "904s seen, unheard for 1200s",
                "905s unseen after 100ms",
            ],
        );
    }

    #[test]
    fn who_is_answered_or_asks_now_and_then_is_heard() {
        let asked = [(0, 'd'), (1, 'd'), (2, 'd'), (3, 'a'), (4, 'd'), (5, 'd'), (6, 'd'), (66, 'd'), (67, 't')];
        let seen = asked.map(|(second, _)| format!("{second}s seen"));
        check(&asked, &seen.each_ref().map(String::as_str));
    }
}
