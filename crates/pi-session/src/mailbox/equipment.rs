//! The tools of a session: those that there are, and those that the model may call.

use std::sync::Arc;

use pi_exthost::guests::GuestTool;
use pi_tools::{Registry, Workspace};

use crate::{
    offer::{ActiveTools, ChosenTools},
    resources::{Switches, assembly::ToolNote},
    run::tools::{ActiveTool, ToolSet},
};

/// The tools of a session.
pub(crate) struct Equipment {
    pub(super) built_in: Registry,
    pub(super) guests: Vec<GuestTool>,
    pub(super) active: Vec<String>,
    pub(super) workspace: Arc<Workspace>,
    /// The active ones, also those whose source is switched off.
    wanted: Arc<ToolSet>,
    /// What a person chose, if somebody did; extensions change only what is active.
    chosen: Option<ChosenTools>,
    /// The only tools that somebody asked for at the start, until they choose others.
    asked: Option<Vec<String>>,
    switches: Switches,
    /// What the model is offered.
    pub(super) set: Arc<ToolSet>,
}

impl Equipment {
    /// With what a person chose at another time, unless somebody asks for other tools now.
    pub(crate) fn new(
        built_in: Registry,
        guests: Vec<GuestTool>,
        active: ActiveTools,
        chosen: Option<ChosenTools>,
        workspace: Arc<Workspace>,
    ) -> Self {
        let (active, asked) = match (active, &chosen) {
            (ActiveTools::Usual(usual), Some(chosen)) => {
                let is_later = |name: &String| !chosen.on.contains(name) && !chosen.off.contains(name);
                (chosen.on.iter().cloned().chain(usual.into_iter().filter(is_later)).collect(), None)
            }
            (ActiveTools::Usual(names), None) => (names, None),
            (ActiveTools::Asked(names), _) => (names.clone(), Some(names)),
        };
        let wanted = Arc::new(ToolSet::select(&active, &built_in, &guests, Arc::clone(&workspace)));
        let set = Arc::clone(&wanted);
        Self { built_in, guests, active, workspace, wanted, chosen, asked, switches: Switches::default(), set }
    }

    /// The active tools, also those whose source is switched off.
    pub(super) fn wanted(&self) -> &[ActiveTool] {
        &self.wanted.tools
    }

    /// Takes effect at the next turn.
    pub(crate) fn switch(&mut self, switches: &Switches) {
        self.switches = switches.clone();
        self.offer();
    }

    fn offer(&mut self) {
        self.set = match self.switches.are_all_on() {
            true => Arc::clone(&self.wanted),
            false => Arc::new(self.wanted.only(|tool| self.switches.is_on(&tool.source()))),
        };
    }

    /// What the system prompt says of the tools that are offered. One of an extension that takes the place of ours is told of as ours;
    /// others have their definitions.
    pub(crate) fn notes(&self) -> Vec<ToolNote> {
        self.notes_of(&self.set.tools.iter().map(ActiveTool::name).collect::<Vec<_>>())
    }

    /// The same, were these offered.
    pub(super) fn notes_of(&self, names: &[&str]) -> Vec<ToolNote> {
        let note = |name: &&str| match self.built_in.get(name) {
            Some(tool) => ToolNote::of(tool.definition()),
            None => ToolNote { name: (*name).to_owned(), snippet: None, guidelines: Vec::new() },
        };
        names.iter().map(note).collect()
    }

    /// What a person chose.
    pub(super) fn chosen(&self) -> Option<&ChosenTools> {
        self.chosen.as_ref()
    }

    /// Activates what a person chooses, and remembers it. Takes effect at the next turn.
    pub(super) fn choose(&mut self, names: &[String]) {
        self.activate(names);
        let guests = self.guests.iter().map(|tool| tool.offer.definition.name.as_str());
        let mut off: Vec<String> = self.built_in.names().chain(guests).map(str::to_owned).collect();
        off.retain(|name| !self.active.contains(name));
        off.sort_unstable();
        off.dedup();
        self.chosen = Some(ChosenTools { on: self.active.clone(), off });
        self.asked = None;
    }

    /// Takes over what guests offer now; of new tools those are active at once that would be if they had been there from the
    /// beginning: those that somebody asked for, and where nobody did, those that were chosen or want to be.
    pub(super) fn refresh(&mut self, guests: Vec<GuestTool>) {
        let is_new = |tool: &&GuestTool| {
            let name = &tool.offer.definition.name;
            let is_wanted = match (&self.asked, &self.chosen) {
                (Some(asked), _) => asked.contains(name),
                (None, Some(chosen)) if chosen.on.contains(name) => true,
                (None, Some(chosen)) if chosen.off.contains(name) => false,
                (None, Some(_) | None) => tool.offer.default_active,
            };
            // One that was chosen or asked for before it came has its place already.
            let is_known =
                self.active.contains(name) || self.guests.iter().any(|known| known.offer.definition.name == *name);
            is_wanted && !is_known
        };
        let new: Vec<String> = guests.iter().filter(is_new).map(|tool| tool.offer.definition.name.clone()).collect();
        let names = [std::mem::take(&mut self.active), new].concat();
        self.guests = guests;
        self.activate(&names);
    }

    /// Takes effect at the next turn. Names that nobody offers are left out.
    pub(super) fn activate(&mut self, names: &[String]) {
        self.wanted = Arc::new(ToolSet::select(names, &self.built_in, &self.guests, Arc::clone(&self.workspace)));
        self.active = self.wanted.names();
        self.offer();
    }
}
