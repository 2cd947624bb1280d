//! The tools of a session: those that there are, and those that the model may call.

use std::sync::Arc;

use pi_exthost::guests::GuestTool;
use pi_tools::{Registry, Workspace};

use crate::run::tools::ToolSet;

/// The tools of a session.
pub(crate) struct Equipment {
    pub(super) built_in: Registry,
    pub(super) guests: Vec<GuestTool>,
    pub(super) active: Vec<String>,
    pub(super) workspace: Arc<Workspace>,
    pub(super) set: Arc<ToolSet>,
}

impl Equipment {
    pub(crate) fn new(
        built_in: Registry,
        guests: Vec<GuestTool>,
        active: Vec<String>,
        workspace: Arc<Workspace>,
    ) -> Self {
        let set = Arc::new(ToolSet::select(&active, &built_in, &guests, Arc::clone(&workspace)));
        Self { built_in, guests, active, workspace, set }
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
        let set = ToolSet::select(names, &self.built_in, &self.guests, Arc::clone(&self.workspace));
        self.active = set.tools.iter().map(|tool| tool.offered.definition.name.clone()).collect();
        self.set = Arc::new(set);
    }
}
