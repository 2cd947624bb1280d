//! What a model can do, in a few short words.

use std::fmt;

use pi_provider::{
    Manifest,
    manifest::{Capability, ModelEntry},
};

use crate::{arguments::model::Ability, choice::answers};

/// Behind what its provider can do and nobody says of the model.
pub(super) const GUESS: &str = "?";

/// One thing that it can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) ability: Ability,
    /// The manifest says so of this model, and not only of its provider.
    pub(super) is_sure: bool,
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.ability.word())?;
        if self.is_sure { Ok(()) } else { f.write_str(GUESS) }
    }
}

/// Whether it takes sound and nothing else, and answers in words.
fn transcribes(model: &ModelEntry) -> bool {
    let is = |kinds: &[String], kind: &str| !kinds.is_empty() && kinds.iter().all(|it| it == kind);
    model.modalities.as_ref().is_some_and(|it| is(&it.input, "audio") && is(&it.output, "text"))
}

/// What the manifest says of the model or, where it says nothing, of its provider.
pub(super) fn marks(manifest: &Manifest, model: Option<&ModelEntry>) -> Vec<Mark> {
    let said = model.map(|it| &it.model_capabilities);
    let takes = |kinds: &[&str]| {
        let input = &model?.modalities.as_ref()?.input;
        Some(input.iter().any(|it| kinds.contains(&it.as_str())))
    };
    let gives = |kind: &str| {
        let output = &model?.modalities.as_ref()?.output;
        Some(output.iter().any(|it| it == kind))
    };
    let table = [
        (Ability::Tools, said.and_then(|it| it.tool_call), Some(Capability::Tools)),
        (Ability::Thinking, said.and_then(|it| it.reasoning), Some(Capability::Reasoning)),
        (Ability::Json, said.and_then(|it| it.structured_output), Some(Capability::StructuredOutput)),
        (Ability::Vision, takes(&["image", "vision"]), Some(Capability::Vision)),
        (Ability::Pdf, takes(&["pdf", "document", "file"]), None),
        (Ability::Audio, takes(&["audio"]), Some(Capability::Audio)),
        (Ability::Video, takes(&["video"]), Some(Capability::Video)),
        (Ability::Draws, gives("image"), None),
        (Ability::Speaks, gives("audio"), None),
        (Ability::Embeds, gives("embedding"), None),
        (Ability::Ranks, gives("ranking"), None),
        (Ability::Transcribes, model.map(transcribes), None),
    ];
    let mark = |(ability, said, declared): (Ability, Option<bool>, Option<Capability>)| match said {
        Some(true) => Some(Mark { ability, is_sure: true }),
        Some(false) => None,
        // What a provider's models can do in a conversation says nothing of one that has none.
        None => declared
            .filter(|it| answers(model) && manifest.capabilities.has(*it))
            .map(|_| Mark { ability, is_sure: false }),
    };
    table.into_iter().filter_map(mark).collect()
}
