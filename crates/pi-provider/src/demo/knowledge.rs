//! What the demo model knows, and which part of it a question is about.

use std::{collections::BTreeSet, sync::LazyLock};

use serde::Deserialize;

use super::words::{has_phrase, words};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Knowledge {
    /// What it is.
    pub introduction: String,
    /// Said when no topic fits.
    pub refusal: String,
    /// What to do for a real model.
    pub advice: String,
    /// How a tool is offered.
    pub offer: String,
    /// What may be asked.
    pub abilities: String,
    /// To those who ask in Chinese.
    pub chinese: Chinese,
    topics: Vec<Topic>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Chinese {
    pub introduction: String,
    pub refusal: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Topic {
    pub id: String,
    pub title: String,
    #[serde(default)]
    phrases: Vec<String>,
    #[serde(default)]
    words: Vec<String>,
    #[serde(default)]
    hints: Vec<String>,
    pub answer: String,
    /// Said when the topic comes up again.
    pub more: String,
    /// Topics that may interest whoever asked about this one.
    pub next: Vec<String>,
}

/// Fewer points are no match.
const FEWEST: usize = 3;

pub(super) fn knowledge() -> &'static Knowledge {
    static KNOWLEDGE: LazyLock<Knowledge> = LazyLock::new(|| {
        serde_saphyr::from_str(include_str!("../../demo/knowledge.yaml"))
            .expect("the file is part of this crate and tested")
    });
    &KNOWLEDGE
}

impl Knowledge {
    /// What the question is about.
    pub(super) fn topic_of(&self, question: &str) -> Option<&Topic> {
        let words = words(question);
        let mut best = None;
        for topic in &self.topics {
            let points = topic.points(&words);
            if points >= FEWEST && best.is_none_or(|(most, _)| points > most) {
                best = Some((points, topic));
            }
        }
        best.map(|(_, topic)| topic)
    }

    pub(super) fn topic(&self, id: &str) -> Option<&Topic> {
        self.topics.iter().find(|topic| topic.id == id)
    }
}

impl Topic {
    fn points(&self, question: &[String]) -> usize {
        let set: BTreeSet<&str> = question.iter().map(String::as_str).collect();
        let count = |list: &[String]| list.iter().filter(|word| set.contains(word.as_str())).count();
        // A longer phrase says more: "why should i use pi" is no question about how to use it.
        let said = self.phrases.iter().map(|phrase| words(phrase)).filter(|phrase| has_phrase(question, phrase));
        let phrases: usize = said.map(|phrase| 2 + 2 * phrase.len()).sum();
        phrases + 3 * count(&self.words) + count(&self.hints)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_suggest_topics_that_exist() {
        let knowledge = knowledge();
        let mut ids = BTreeSet::new();
        for topic in &knowledge.topics {
            assert!(ids.insert(&topic.id), "{} twice", topic.id);
            assert!(topic.next.iter().all(|next| knowledge.topic(next).is_some()), "{}", topic.id);
        }
    }

    #[test]
    fn every_topic_is_found_by_its_own_phrases() {
        let knowledge = knowledge();
        for topic in &knowledge.topics {
            for phrase in &topic.phrases {
                let found = knowledge.topic_of(phrase).map(|found| found.id.as_str());
                assert_eq!(found, Some(topic.id.as_str()), "{phrase}");
            }
        }
    }
}
