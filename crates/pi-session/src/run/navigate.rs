//! Goes to another place in the tree of a conversation.

use std::sync::Arc;

use pi_envelope::Purpose;
use pi_exthost::verdict::TreeVerdict;
use pi_extproto::hook::{
    Hook,
    event::{
        Event,
        payload::{SessionBeforeTreeEvent, SessionTreeEvent, TreePreparation},
    },
};
use pi_transcript::{AgentEvent, EntryId, Message};

use super::{
    Run, aside,
    compact::NoSummary,
    desk::{Piece, Survey},
};
use crate::{
    cut::branch::{self, Wishes},
    draft::{Author, Draft},
    session::{Journey, NavigateError, Summarise, Went},
    tree::Kept,
};

/// What is left behind, in words.
struct Farewell {
    summary: String,
    details: Option<serde_json::Value>,
    by: Author,
}

impl Run {
    /// Goes there, with a summary of what is left if that is wanted.
    pub(crate) async fn navigate(mut self, journey: Journey) -> Result<Went, NavigateError> {
        let survey = self.desk.survey(journey.target.clone()).await??;
        let left = self.read(&survey.left).await?;
        let mut label = journey.label.clone();
        let event = || SessionBeforeTreeEvent { preparation: preparation(&journey, &survey, &left) };
        let farewell = match self.parts.guests.before_tree(event, &self.cancel).await {
            TreeVerdict::Cancelled { .. } => return Err(NavigateError::Aborted),
            TreeVerdict::Replaced { by: _, summary } => {
                label = summary.label.or(label);
                match summary.summary {
                    Some(text) => Some(Farewell { summary: text, details: summary.details, by: Author::Extension }),
                    None => self.say_farewell(&journey, &left, summary.instructions.as_deref()).await?,
                }
            }
            TreeVerdict::Proceed => self.say_farewell(&journey, &left, None).await?,
        };
        let text = self.read(survey.editor.as_slice()).await?.first().and_then(|kept| typed(kept));
        // Whoever ended it meanwhile stays where he is.
        if self.cancel.is_cancelled() {
            return Err(NavigateError::Aborted);
        }
        self.go_to(survey.leaf.clone()).await?;
        let summary = match (farewell, &survey.from) {
            (Some(farewell), Some(from)) => Some(Draft::BranchSummary {
                from: from.clone(),
                summary: farewell.summary,
                details: farewell.details,
                by: farewell.by,
            }),
            _ => None,
        };
        let mut drafts: Vec<Draft> = summary.into_iter().collect();
        let target = journey.target.clone();
        drafts.extend(label.map(|label| Draft::Label { target, label: Some(label) }));
        let is_summarised = drafts.iter().any(|draft| matches!(draft, Draft::BranchSummary { .. }));
        let ids = self.desk.append(Vec::new(), drafts, vec![moved(&survey)]).await?;
        let leaf = ids.last().cloned().or(survey.leaf);
        let heard = SessionTreeEvent {
            new_leaf_id: leaf.clone(),
            old_leaf_id: survey.from,
            summary_entry: None,
            from_extension: None,
        };
        self.parts.guests.notice(Hook::SessionTree, || Event::SessionTree(heard), &self.cancel).await;
        self.desk.durable().await?;
        Ok(Went { leaf, text, is_summarised })
    }

    async fn say_farewell(
        &mut self,
        journey: &Journey,
        left: &[Arc<Kept>],
        instructions: Option<&str>,
    ) -> Result<Option<Farewell>, NavigateError> {
        let wishes = match (&journey.summarise, instructions) {
            (Summarise::No, _) => return Ok(None),
            (_, Some(instructions)) => Wishes::Also(instructions),
            (Summarise::With(instructions), None) => Wishes::Also(instructions),
            (Summarise::Instead(instructions), None) => Wishes::Instead(instructions),
            (Summarise::Yes, None) => Wishes::None,
        };
        let terms = self.desk.terms().await?;
        let Some(branch) = branch::prepare(left, &terms.compaction, terms.choice.model().context_window) else {
            return Ok(None);
        };
        self.parts.refuse(&terms.choice)?;
        match self.ask_aside(&terms, branch.ask(&terms.compaction, wishes), Purpose::BranchSummary).await {
            Ok((answer, usage)) => Ok(Some(Farewell {
                summary: branch.summary(&answer),
                details: Some(branch.files.details()),
                by: Author::Model(Box::new(usage)),
            })),
            Err(NoSummary::Aborted) => Err(NavigateError::Aborted),
            Err(NoSummary::LeftAlone(left)) => Err(left.into()),
            Err(NoSummary::Failed(message)) => Err(NavigateError::Failed { message }),
        }
    }

    /// Moves the leaf, and brings from the file what the next prompt needs.
    async fn go_to(&self, leaf: Option<EntryId>) -> Result<(), NavigateError> {
        let mut missing = self.desk.go_to(leaf).await?;
        while !missing.is_empty() {
            let pieces: Vec<Piece> = missing.iter().map(|(_, span)| Piece::At(*span)).collect();
            let entries = self.read(&pieces).await?;
            let places = missing.into_iter().map(|(place, _)| place);
            missing = self.desk.hold(places.zip(entries).collect()).await?;
        }
        Ok(())
    }

    /// Reads what is not held, off the threads that wait.
    async fn read(&self, pieces: &[Piece]) -> Result<Vec<Arc<Kept>>, NavigateError> {
        let (reader, pieces) = (self.parts.reader.clone(), pieces.to_vec());
        let reading = tokio::task::spawn_blocking(move || aside::read(reader.as_deref(), pieces));
        let failed = |message: String| NavigateError::Failed { message };
        reading.await.map_err(|broken| failed(broken.to_string()))?.map_err(|error| failed(error.to_string()))
    }
}

/// Clients read the conversation anew.
fn moved(survey: &Survey) -> AgentEvent {
    AgentEvent::SessionTree { new_leaf_id: survey.leaf.clone(), old_leaf_id: survey.from.clone() }
}

/// What a person wrote, to be written anew.
fn typed(kept: &Kept) -> Option<String> {
    let Kept::Message { message, .. } = kept else { return None };
    let Message::User(user) = &**message else { return None };
    Some(user.content.text())
}

fn preparation(journey: &Journey, survey: &Survey, left: &[Arc<Kept>]) -> TreePreparation {
    let (instructions, replaces) = match &journey.summarise {
        Summarise::No | Summarise::Yes => (None, false),
        Summarise::With(instructions) => (Some(instructions.clone()), false),
        Summarise::Instead(instructions) => (Some(instructions.clone()), true),
    };
    TreePreparation {
        target_id: journey.target.clone(),
        old_leaf_id: survey.from.clone(),
        common_ancestor_id: survey.shared.clone(),
        entries_to_summarize: left
            .iter()
            .map(|kept| serde_json::to_value(kept.to_entry()).expect("an entry is JSON"))
            .collect(),
        user_wants_summary: journey.summarise != Summarise::No,
        custom_instructions: instructions,
        replace_instructions: replaces.then_some(true),
        label: journey.label.clone(),
    }
}
