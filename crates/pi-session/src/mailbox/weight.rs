//! What a source or a tool takes in every turn: what a prompt has with it and lacks without it.
//!
//! Most things take what they say and no more. Skills stand in a frame that goes with the last of them, a tool brings a line and
//! rules in the system prompt, and without the tool that reads files no skill is told of at all.

use std::sync::Arc;

use pi_envelope::{SystemPart, SystemText, Tokens};
use pi_provider::tokens;
use pi_transcript::ToolDefinition;
use tokio::sync::oneshot;

use super::{Mailbox, answer, source::switched};
use crate::{
    listing::ListedTool,
    resources::{
        SourceId,
        assembly::{self, ToolNote},
    },
    run::tools::{ActiveTool, ToolSet},
};

/// The texts in which a prompt with something differs from one without it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Weight {
    with: Vec<String>,
    without: Vec<String>,
}

impl Weight {
    fn of(text: String) -> Self {
        Self { with: vec![text], without: Vec::new() }
    }

    fn between(with: &[SystemPart], without: &[SystemPart]) -> Self {
        let only = |these: &[SystemPart], others: &[SystemPart]| {
            these.iter().filter(|part| !others.contains(part)).map(SystemPart::sent).collect()
        };
        Self { with: only(with, without), without: only(without, with) }
    }

    pub(super) fn tokens(&self, count: impl Fn(&str) -> Tokens) -> Tokens {
        let sum = |texts: &[String]| texts.iter().map(|text| count(text).count).sum::<u64>();
        Tokens { count: sum(&self.with).saturating_sub(sum(&self.without)), ..count("") }
    }
}

impl Mailbox {
    /// Every tool, with what it takes while it is offered.
    pub(super) fn list_tools(&mut self, reply: oneshot::Sender<Vec<ListedTool>>) {
        let infos = self.tool_infos();
        let names: Vec<String> = infos.iter().map(|info| info.definition.name.clone()).collect();
        let workspace = Arc::clone(&self.tools.workspace);
        let every = ToolSet::select(&names, &self.tools.built_in, &self.tools.guests, workspace);
        let weighed = infos.into_iter().filter_map(|info| {
            let tool = every.get(&info.definition.name)?;
            let others = self.tools.set.tools.iter().filter(|other| other.name() != tool.name());
            Some((tool.source(), self.weight_of_tools(others, &[tool]), info))
        });
        let weighed: Vec<_> = weighed.collect();
        let model = self.choice.id().to_owned();
        self.asides.spawn_blocking(move || {
            let count = tokens::counter(&model);
            let listed =
                |(source, weight, info): (_, Weight, _)| ListedTool { info, source, tokens: weight.tokens(count) };
            answer(reply, weighed.into_iter().map(listed).collect());
        });
    }

    /// Of a context file or a skill; nothing if it is in no prompt of this session.
    pub(super) fn weight_of(&self, id: &SourceId, name: &str) -> Option<Weight> {
        let notes = self.tools.notes();
        self.whole_system.iter().find_map(|part| match &part.text {
            SystemText::Memory { .. } if part.id == id.as_str() => Some(Weight::of(part.sent())),
            SystemText::Skills { .. } if SourceId::of_skill(name) == *id => self.weight_of_skill(part, name, &notes),
            SystemText::Memory { .. }
            | SystemText::Skills { .. }
            | SystemText::Instructions { .. }
            | SystemText::Variable { .. } => None,
        })
    }

    /// Beside one other that is told of, where there is one: then the frame around them stays.
    fn weight_of_skill(&self, part: &SystemPart, name: &str, notes: &[ToolNote]) -> Option<Weight> {
        let SystemText::Skills { skills } = &part.text else { return None };
        let skill = skills.iter().find(|skill| skill.name == name)?;
        if assembly::for_tools(part, notes).is_none() {
            return Some(Weight::default());
        }
        let is_on = |name: &str| self.switches.is_on(&SourceId::of_skill(name));
        let other = skills.iter().find(|other| other.name != name && is_on(&other.name));
        let told = |skills: Vec<_>| SystemPart { text: SystemText::Skills { skills }, ..part.clone() };
        let without: Vec<_> = other.into_iter().cloned().collect();
        let with = told(without.iter().chain([skill]).cloned().collect());
        Some(Weight::between(&[with], &if without.is_empty() { Vec::new() } else { vec![told(without)] }))
    }

    /// Of a set of tools, while their source is on.
    pub(super) fn weight_of_set(&self, id: &SourceId) -> Weight {
        let (these, others): (Vec<_>, Vec<_>) = self.tools.wanted().iter().partition(|tool| tool.source() == *id);
        self.weight_of_tools(others.into_iter().filter(|tool| self.switches.is_on(&tool.source())), &these)
    }

    /// Of tools beside others: their definitions, and what the system prompt says because of them.
    fn weight_of_tools<'a>(&self, others: impl Iterator<Item = &'a ActiveTool>, these: &[&ActiveTool]) -> Weight {
        let mut names: Vec<&str> = others.map(ActiveTool::name).collect();
        let prompt = |names: &[&str]| switched(&self.whole_system, &self.switches, &self.tools.notes_of(names));
        let without = prompt(&names);
        names.extend(these.iter().map(|tool| tool.name()));
        let mut weight = Weight::between(&prompt(&names), &without);
        weight.with.extend(these.iter().map(|tool| written(&tool.definition())));
        weight
    }
}

/// As an envelope has it, so that its figures and these fit together.
fn written(ToolDefinition { name, description, parameters, .. }: &ToolDefinition) -> String {
    format!("{name}{description}{parameters}")
}
