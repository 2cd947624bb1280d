//! The tools of a session: those that there are, and those that the model may call.

use std::sync::Arc;

use pi_exthost::guests::GuestTool;
use pi_tools::{Registry, Workspace};

use crate::{
    resources::Switches,
    run::tools::{ActiveTool, ToolSet},
};

/// The tools of a session.
pub(crate) struct Equipment {
    pub(super) built_in: Registry,
    pub(super) guests: Vec<GuestTool>,
    pub(super) active: Vec<String>,
    pub(super) workspace: Arc<Workspace>,
    /// The active ones, also those whose source is switched off.
    wanted: ToolSet,
    switches: Switches,
    /// What the model is offered.
    pub(super) set: Arc<ToolSet>,
}

impl Equipment {
    pub(crate) fn new(
        built_in: Registry,
        guests: Vec<GuestTool>,
        active: Vec<String>,
        workspace: Arc<Workspace>,
    ) -> Self {
        let wanted = ToolSet::select(&active, &built_in, &guests, Arc::clone(&workspace));
        let set = Arc::new(wanted.only(|_| true));
        Self { built_in, guests, active, workspace, wanted, switches: Switches::default(), set }
    }

    /// The active tools, also those whose source is switched off.
    pub(super) fn wanted(&self) -> &[ActiveTool] {
        &self.wanted.tools
    }

    /// Takes effect at the next turn.
    pub(super) fn switch(&mut self, switches: &Switches) {
        self.switches = switches.clone();
        self.offer();
    }

    fn offer(&mut self) {
        self.set = Arc::new(self.wanted.only(|tool| self.switches.is_on(&tool.source())));
    }

    /// Takes over what guests offer now; new tools that want to be are active at once.
    pub(super) fn refresh(&mut self, guests: Vec<GuestTool>) {
        let is_new = |tool: &&GuestTool| {
            let name = &tool.offer.definition.name;
            tool.offer.default_active && !self.guests.iter().any(|known| known.offer.definition.name == *name)
        };
        let new: Vec<String> = guests.iter().filter(is_new).map(|tool| tool.offer.definition.name.clone()).collect();
        let names = [std::mem::take(&mut self.active), new].concat();
        self.guests = guests;
        self.activate(&names);
    }

    /// Takes effect at the next turn. Names that nobody offers are left out.
    pub(super) fn activate(&mut self, names: &[String]) {
        self.wanted = ToolSet::select(names, &self.built_in, &self.guests, Arc::clone(&self.workspace));
        self.active = self.wanted.names();
        self.offer();
    }
}
