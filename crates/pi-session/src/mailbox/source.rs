//! What fills the context beside the conversation, switched off and on.
//!
//! Everything that was assembled stays; what is switched off is left out of what the next turn is made of.

use std::sync::Arc;

use pi_envelope::{SystemPart, SystemText};
use pi_provider::tokens;
use tokio::sync::oneshot;

use super::{Mailbox, answer, weight::Weight};
use crate::{
    context,
    draft::Draft,
    listing::{ContextKind, ContextSource, SourceError},
    offer::Offer,
    resources::{
        SourceId, SourceKind, Switches,
        assembly::{self, ToolNote},
    },
    run::tools::ActiveTool,
    session::Switch,
};

/// A source, and what it adds.
struct Told {
    id: SourceId,
    kind: ContextKind,
    name: String,
    path: Option<std::path::PathBuf>,
    weight: Weight,
}

/// The parts of a system prompt that are switched on, without what they say of tools that are not among these. Where that is
/// everything, sessions share it.
pub(crate) fn switched(all: &Arc<[SystemPart]>, switches: &Switches, tools: &[ToolNote]) -> Arc<[SystemPart]> {
    let part = |part: &SystemPart| match &part.text {
        SystemText::Memory { .. } => switches.is_on(&SourceId::from(part.id.as_str())).then(|| part.clone()),
        SystemText::Skills { skills } => {
            let is_on = |name: &str| switches.is_on(&SourceId::of_skill(name));
            let skills: Vec<_> = skills.iter().filter(|skill| is_on(&skill.name)).cloned().collect();
            (!skills.is_empty()).then(|| SystemPart { text: SystemText::Skills { skills }, ..part.clone() })
        }
        SystemText::Instructions { .. } | SystemText::Variable { .. } => Some(part.clone()),
    };
    let left: Vec<_> = all.iter().filter_map(part).filter_map(|part| assembly::for_tools(&part, tools)).collect();
    if *left == **all { Arc::clone(all) } else { left.into() }
}

impl Mailbox {
    /// Every source with its tokens, which are counted beside the mailbox.
    pub(super) fn list_sources(&mut self, reply: oneshot::Sender<Vec<ContextSource>>) {
        let told = self.told();
        self.weigh(told, |sources| answer(reply, sources));
    }

    /// Takes effect at the next turn.
    pub(super) fn set_source(
        &mut self,
        id: SourceId,
        switch: Switch,
        reply: oneshot::Sender<Result<ContextSource, SourceError>>,
    ) {
        let Some(told) = self.told().into_iter().find(|told| told.id == id) else {
            return answer(reply, Err(SourceError::Unknown { id }));
        };
        match switch {
            Switch::On => self.switches.switch_on(&id),
            Switch::Off => self.switches.switch_off(id),
        }
        if told.kind == ContextKind::Tools {
            self.tools.switch(&self.switches);
        }
        self.renew_system();
        self.state_offer();
        self.weigh(vec![told], |mut sources| {
            if let Some(source) = sources.pop() {
                answer(reply, Ok(source));
            }
        });
    }

    /// Takes effect at the next turn.
    pub(super) fn choose_tools(&mut self, names: &[String]) {
        self.tools.choose(names);
        self.renew_system();
        self.state_offer();
    }

    /// After sources were switched, or other tools are offered.
    pub(super) fn renew_system(&mut self) {
        self.system = switched(&self.whole_system, &self.switches, &self.tools.notes());
    }

    /// What a person chose so far.
    pub(super) fn offer(&self) -> Offer {
        Offer { tools: self.tools.chosen().cloned(), switches: self.switches.clone() }
    }

    /// Writes down what is chosen now, if the file does not say so.
    fn state_offer(&mut self) {
        let offer = self.offer();
        if context::build(&self.tree.entries()).offer != offer {
            self.append(Vec::new(), vec![Draft::Offer(offer)], Vec::new());
        }
    }

    fn weigh(&mut self, told: Vec<Told>, then: impl FnOnce(Vec<ContextSource>) + Send + 'static) {
        let (model, switches) = (self.choice.id().to_owned(), self.switches.clone());
        self.asides.spawn_blocking(move || {
            let count = tokens::counter(&model);
            let source = |Told { id, kind, name, path, weight }: Told| ContextSource {
                switch: if switches.is_on(&id) { Switch::On } else { Switch::Off },
                tokens: weight.tokens(count),
                id,
                kind,
                name,
                path,
            };
            then(told.into_iter().map(source).collect());
        });
    }

    /// Files and skills in the order in which a model is told of them, then the tools.
    fn told(&self) -> Vec<Told> {
        let resources = self.composer.resources.sources(&self.switches);
        let files = resources.into_iter().filter_map(|source| {
            let kind = match source.kind {
                SourceKind::Memory => ContextKind::Memory,
                SourceKind::Skill => ContextKind::Skill,
                // Without it the model would be told our own words instead, which is another conversation.
                SourceKind::Instructions => return None,
            };
            let weight = self.weight_of(&source.id, &source.name)?;
            Some(Told { id: source.id, kind, name: source.name, path: Some(source.path), weight })
        });
        let mut told: Vec<Told> = files.collect();
        for tool in self.tools.wanted() {
            let id = tool.source();
            if told.iter().all(|known| known.id != id) {
                let name = tool.origin().map_or_else(|| "built in".to_owned(), ToString::to_string);
                let path = tool.origin().and_then(|guest| self.path_of(guest)).map(Into::into);
                told.push(Told { weight: self.weight_of_set(&id), id, kind: ContextKind::Tools, name, path });
            }
        }
        told
    }
}

impl ActiveTool {
    /// The source that all tools of its origin are.
    pub(super) fn source(&self) -> SourceId {
        SourceId::of_tools(self.origin().map(pi_exthost::GuestId::as_str))
    }
}

#[cfg(test)]
mod tests {
    use pi_envelope::{Origin, Provenance};

    use super::*;

    #[test]
    fn sessions_that_are_told_everything_share_it() {
        let memory = SystemText::Memory { title: "AGENTS.md".to_owned(), content: "Be brief.".to_owned() };
        let provenance = Provenance::usual(Origin::BuiltIn);
        let all: Arc<[SystemPart]> =
            [SystemPart { id: "memory:AGENTS.md".to_owned(), provenance, text: memory }].into();
        let mut switches = Switches::default();
        assert!(Arc::ptr_eq(&switched(&all, &switches, &[]), &all));
        switches.switch_off("memory:AGENTS.md".into());
        assert!(switched(&all, &switches, &[]).is_empty());
    }
}
