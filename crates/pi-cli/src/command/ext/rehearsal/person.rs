//! Who answers questions and presses keys in a rehearsal.

use std::{collections::VecDeque, time::Duration};

use futures_util::{FutureExt, future::BoxFuture};
use pi_exthost::port::{Canvas, Drawing, Easel, Size, canvas};
use pi_transcript::question::{Answer, Question};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::sleep;

/// What is written where a text is wanted.
const WORDS: &str = "rehearsed words";
const ENTER: &str = "\r";
const ESCAPE: &str = "\u{1b}";
/// Between two keys.
const REACTION: Duration = Duration::from_millis(100);
/// How often escape is pressed before what was drawn is taken away.
const ESCAPES: usize = 3;

/// How agreeable a person is.
#[derive(Debug, Clone, PartialEq, Deserialize, Default)]
#[serde(rename_all = "camelCase", untagged)]
pub(in crate::command::ext) enum Person {
    /// There is nobody.
    #[default]
    Nobody,
    Mood(Mood),
    /// Answers in this order, and then none.
    Says(VecDeque<Value>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::command::ext) enum Mood {
    /// Takes the first option, says yes, writes something, presses enter.
    Agrees,
    /// Dismisses everything.
    Declines,
}

impl Person {
    pub(super) fn is_there(&self) -> bool {
        *self != Self::Nobody
    }

    /// Nothing if the person dismisses it.
    pub(super) fn answer(&mut self, question: &Question) -> Option<Answer> {
        match self {
            Self::Nobody | Self::Mood(Mood::Declines) => None,
            Self::Mood(Mood::Agrees) => agreement(question),
            Self::Says(words) => said(question, &words.pop_front()?),
        }
    }

    /// Looks at what is drawn, if it wants keys: the room for it, and the hands that press some.
    pub(super) fn look(&self, drawing: &Drawing) -> Option<(Canvas, BoxFuture<'static, ()>)> {
        match drawing {
            Drawing::Editor | Drawing::Overlay if self.is_there() => {
                let (canvas, easel) = canvas(Size { columns: 80, rows: 24 });
                let keys = match self {
                    Self::Mood(Mood::Agrees) => vec![ENTER],
                    Self::Nobody | Self::Mood(Mood::Declines) | Self::Says(_) => Vec::new(),
                };
                Some((canvas, press(easel, keys).boxed()))
            }
            Drawing::Editor | Drawing::Overlay | Drawing::Widget { .. } | Drawing::Header | Drawing::Footer => None,
        }
    }
}

/// Presses keys, then escape until the component goes, and takes it away if it does not.
async fn press(easel: Easel, keys: Vec<&'static str>) {
    for key in keys.into_iter().chain([ESCAPE; ESCAPES]) {
        sleep(REACTION).await;
        if easel.keys.send(key.to_owned()).await.is_err() {
            return;
        }
    }
    sleep(REACTION).await;
}

fn agreement(question: &Question) -> Option<Answer> {
    match question {
        Question::Select { options, .. } => options.first().map(|value| Answer::Select { value: value.clone() }),
        Question::Confirm { .. } => Some(Answer::Confirm { confirmed: true }),
        Question::Input { .. } => Some(Answer::Input { value: WORDS.to_owned() }),
        Question::Editor { prefill, .. } => {
            let value = prefill.clone().filter(|text| !text.is_empty()).unwrap_or_else(|| WORDS.to_owned());
            Some(Answer::Editor { value })
        }
        Question::Interview { .. } => None,
    }
}

/// What the script says, if it fits.
fn said(question: &Question, words: &Value) -> Option<Answer> {
    let text = || words.as_str().map(str::to_owned);
    match question {
        Question::Select { options, .. } => {
            text().filter(|value| options.contains(value)).map(|value| Answer::Select { value })
        }
        Question::Confirm { .. } => words.as_bool().map(|confirmed| Answer::Confirm { confirmed }),
        Question::Input { .. } => text().map(|value| Answer::Input { value }),
        Question::Editor { .. } => text().map(|value| Answer::Editor { value }),
        Question::Interview { .. } => None,
    }
}
