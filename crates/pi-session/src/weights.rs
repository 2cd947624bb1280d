//! What a prompt costs: token counts per segment, counted once.
//!
//! Counting is by far the dearest part of showing a prompt, and from turn to turn nearly all of it is the same. So counts
//! are kept by the digest of the text. The memory is bounded: two generations of entries, of which the older one is
//! dropped when the younger one is full, so that what is still used stays.

use std::{cell::RefCell, collections::HashMap};

use pi_envelope::{Envelope, Prompt, Request, Tokens, project};
use pi_provider::tokens;
use pi_transcript::json::Digest;

/// Entries of a generation. Two are kept, of about 60 bytes an entry: 2 MB at most.
const GENERATION: usize = 16 * 1024;
/// Counting so little is cheaper than remembering it.
const SHORTEST: usize = 64;

/// Counts for one model at a time, and remembers.
pub struct Weights {
    model: String,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    young: HashMap<Digest, Tokens>,
    old: HashMap<Digest, Tokens>,
    counted: u64,
}

impl Weights {
    pub fn new(model: &str) -> Self {
        Self { model: model.to_owned(), counts: Counts::default() }
    }

    /// The envelope of a prompt, each segment with its tokens. Another model than last time is counted anew.
    pub fn project(&mut self, prompt: &Prompt, request: &Request) -> Envelope {
        self.turn_to(request.model.as_str());
        let counter = tokens::counter(&self.model);
        let counts = RefCell::new(&mut self.counts);
        project(prompt, request, &|text| counts.borrow_mut().get(text, GENERATION, counter))
    }

    /// The tokens of a single text.
    pub fn count(&mut self, text: &str) -> Tokens {
        self.counts.get(text, GENERATION, tokens::counter(&self.model))
    }

    /// How many bytes were really counted so far.
    pub fn counted(&self) -> u64 {
        self.counts.counted
    }

    /// Counts for this model from now on.
    pub fn turn_to(&mut self, model: &str) {
        if self.model != model {
            *self =
                Self { counts: Counts { counted: self.counts.counted, ..Counts::default() }, model: model.to_owned() };
        }
    }
}

impl Counts {
    fn get(&mut self, text: &str, generation: usize, counter: impl Fn(&str) -> Tokens) -> Tokens {
        if text.len() < SHORTEST {
            return counter(text);
        }
        let digest = Digest::of(text.as_bytes());
        if let Some(known) = self.young.get(&digest) {
            return *known;
        }
        let tokens = match self.old.remove(&digest) {
            Some(known) => known,
            None => {
                self.counted += text.len() as u64;
                counter(text)
            }
        };
        if self.young.len() >= generation {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(digest, tokens);
        tokens
    }
}

impl std::fmt::Debug for Weights {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let known = self.counts.young.len() + self.counts.old.len();
        f.debug_struct("Weights").field("model", &self.model).field("known", &known).finish()
    }
}

#[cfg(test)]
mod tests {
    use pi_envelope::{Origin, Provenance, Said};
    use pi_transcript::Message;

    use super::*;

    fn request(model: &str) -> Request {
        Request {
            id: "r".to_owned(),
            provider: "p".into(),
            model: model.into(),
            time: 0,
            purpose: pi_envelope::Purpose::Turn,
        }
    }

    fn prompt(turns: usize) -> Prompt {
        let said = |turn: usize| {
            let text = format!("turn {turn}: {}", "some words that are counted ".repeat(8));
            Said::new(format!("{turn:08}").into(), Message::user(text.as_str(), 0), Provenance::usual(Origin::User))
        };
        Prompt { messages: (0..turns).map(said).collect(), ..Prompt::default() }
    }

    #[test]
    fn only_what_is_new_is_counted() {
        let mut weights = Weights::new("gpt-4o");
        let request = request("gpt-4o");
        let mut envelope = None;
        for turns in 1..=50 {
            envelope = Some(weights.project(&prompt(turns), &request));
        }
        let once: u64 = prompt(50)
            .messages
            .iter()
            .map(|said| match said.message() {
                Message::User(user) => user.content.text().len() as u64,
                other => panic!("{other:?}"),
            })
            .sum();
        assert_eq!(weights.counted(), once);
        assert_eq!(envelope.unwrap(), project(&prompt(50), &request, &tokens::counter("gpt-4o")));
    }

    #[test]
    fn another_model_is_counted_anew() {
        let mut weights = Weights::new("gpt-4o");
        let text = "お誕生日おめでとう".repeat(8);
        let first = weights.count(&text);
        weights.turn_to("gpt-4");
        assert_ne!(weights.count(&text), first);
        assert_eq!(weights.count(&text), tokens::counter("gpt-4")(&text));
    }

    #[test]
    fn memory_is_bounded_and_keeps_what_is_used() {
        let mut counts = Counts::default();
        let counter = tokens::counter("gpt-4o");
        let used = "used every time ".repeat(8);
        for turn in 0..100 {
            counts.get(&used, 10, counter);
            counts.get(&format!("{turn} {used}"), 10, counter);
            assert!(counts.young.len() + counts.old.len() <= 20);
        }
        let before = counts.counted;
        counts.get(&used, 10, counter);
        assert_eq!(counts.counted, before, "it was never forgotten");
    }
}
