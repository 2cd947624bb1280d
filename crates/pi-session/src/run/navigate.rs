//! Goes to another place in the tree of a conversation.

use std::sync::Arc;

use pi_envelope::Purpose;
use pi_exthost::verdict::TreeVerdict;
use pi_extproto::hook::{
    Hook, TreeSummary,
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
                label = summary.label.clone().or(label);
                match summary.summary {
                    Some(text) => Some(Farewell { summary: text, details: summary.details, by: Author::Extension }),
                    None => self.say_farewell(&left, wishes(&journey.summarise, Some(&summary))).await?,
                }
            }
            TreeVerdict::Proceed => self.say_farewell(&left, wishes(&journey.summarise, None)).await?,
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
        left: &[Arc<Kept>],
        wishes: Option<Wishes<'_>>,
    ) -> Result<Option<Farewell>, NavigateError> {
        let Some(wishes) = wishes else { return Ok(None) };
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

/// What the summary is asked for with; `None` if there is to be none. Of instructions and of whether they stand instead of our
/// own words each is the extension's where it says something of it.
fn wishes<'a>(summarise: &'a Summarise, changed: Option<&'a TreeSummary>) -> Option<Wishes<'a>> {
    if *summarise == Summarise::No {
        return None;
    }
    let (instructions, replaces) = instructions(summarise);
    let instructions = changed.and_then(|changed| changed.instructions.as_deref()).or(instructions);
    let replaces = changed.and_then(|changed| changed.replace_instructions).unwrap_or(replaces);
    Some(match instructions.filter(|text| !text.trim().is_empty()) {
        Some(instructions) if replaces => Wishes::Instead(instructions),
        Some(instructions) => Wishes::Also(instructions),
        None => Wishes::None,
    })
}

/// What a person wants minded, and whether that stands instead of our own words.
fn instructions(summarise: &Summarise) -> (Option<&str>, bool) {
    match summarise {
        Summarise::No | Summarise::Yes => (None, false),
        Summarise::With(instructions) => (Some(instructions), false),
        Summarise::Instead(instructions) => (Some(instructions), true),
    }
}

fn preparation(journey: &Journey, survey: &Survey, left: &[Arc<Kept>]) -> TreePreparation {
    let (instructions, replaces) = instructions(&journey.summarise);
    TreePreparation {
        target_id: journey.target.clone(),
        old_leaf_id: survey.from.clone(),
        common_ancestor_id: survey.shared.clone(),
        entries_to_summarize: left
            .iter()
            .map(|kept| serde_json::to_value(kept.to_entry()).expect("an entry is JSON"))
            .collect(),
        user_wants_summary: journey.summarise != Summarise::No,
        custom_instructions: instructions.map(str::to_owned),
        replace_instructions: replaces.then_some(true),
        label: journey.label.clone(),
    }
}
