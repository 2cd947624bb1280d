//! The tools that the model may call in a turn, whoever brings them.

use std::{fmt, sync::Arc};

use pi_envelope::{Origin, Provenance, Tool as Offered};
use pi_exthost::{GuestId, guests::GuestTool};
use pi_extproto::connector::tool::ExecutionMode;
use pi_tools::{Registry, Tool, Workspace};
use pi_transcript::{ToolDefinition, json::Extra};
use serde_json::Value;

/// The active tools of a session, in the order in which the model sees them.
pub(crate) struct ToolSet {
    pub(crate) tools: Vec<ActiveTool>,
    pub(crate) workspace: Arc<Workspace>,
}

/// One of them.
#[derive(Clone)]
pub(crate) struct ActiveTool {
    pub(crate) offered: Offered,
    pub(crate) runner: Runner,
}

/// Who runs it.
#[derive(Clone)]
pub(crate) enum Runner {
    BuiltIn(Arc<dyn Tool>),
    Guest(Box<GuestTool>),
}

/// Whether calls of a turn run side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    SideBySide,
    OneAfterAnother,
}

impl ToolSet {
    /// The tools of these names. A tool of an extension takes the place of a built-in one with the same name.
    pub(crate) fn select(
        active: &[String],
        built_in: &Registry,
        guests: &[GuestTool],
        workspace: Arc<Workspace>,
    ) -> Self {
        let tools = active.iter().filter_map(|name| {
            let guest = guests.iter().find(|tool| tool.offer.definition.name == *name);
            match guest {
                Some(tool) => Some(ActiveTool::of_guest(tool)),
                None => built_in.get(name).map(ActiveTool::of_built_in),
            }
        });
        Self { tools: tools.collect(), workspace }
    }

    /// The same without those that are not to be offered now.
    pub(crate) fn only(&self, is_on: impl Fn(&ActiveTool) -> bool) -> Self {
        let tools = self.tools.iter().filter(|tool| is_on(tool)).cloned().collect();
        Self { tools, workspace: Arc::clone(&self.workspace) }
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.tools.iter().map(|tool| tool.offered.definition.name.clone()).collect()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&ActiveTool> {
        self.tools.iter().find(|tool| tool.offered.definition.name == name)
    }

    /// As the model is told of them.
    pub(crate) fn offered(&self) -> Vec<Offered> {
        self.tools.iter().map(|tool| tool.offered.clone()).collect()
    }
}

impl ActiveTool {
    fn of_built_in(tool: &Arc<dyn Tool>) -> Self {
        let known = tool.definition();
        let definition = ToolDefinition {
            name: known.name.clone(),
            description: known.description.clone(),
            parameters: Value::Object(known.parameters.clone()),
            extra: Extra::new(),
        };
        let offered = Offered { definition, provenance: Provenance::usual(Origin::BuiltIn) };
        Self { offered, runner: Runner::BuiltIn(Arc::clone(tool)) }
    }

    fn of_guest(tool: &GuestTool) -> Self {
        let known = &tool.offer.definition;
        let definition = ToolDefinition {
            name: known.name.clone(),
            description: known.description.clone(),
            parameters: Value::Object(known.parameters.clone()),
            extra: Extra::new(),
        };
        let origin = Origin::Extension { id: tool.guest.to_string() };
        let offered = Offered { definition, provenance: Provenance::usual(origin) };
        Self { offered, runner: Runner::Guest(Box::new(tool.clone())) }
    }

    /// The extension that brings it.
    pub(crate) fn origin(&self) -> Option<&GuestId> {
        match &self.runner {
            Runner::BuiltIn(_) => None,
            Runner::Guest(tool) => Some(&tool.guest),
        }
    }

    pub(crate) fn manner(&self) -> Manner {
        match &self.runner {
            Runner::BuiltIn(_) => Manner::SideBySide,
            Runner::Guest(tool) => match tool.offer.definition.execution_mode {
                Some(ExecutionMode::Sequential) => Manner::OneAfterAnother,
                Some(ExecutionMode::Parallel) | None => Manner::SideBySide,
            },
        }
    }
}

impl fmt::Debug for ToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.tools.iter().map(|tool| &tool.offered.definition.name)).finish()
    }
}
