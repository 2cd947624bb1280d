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
    pub(crate) runner: Runner,
}

/// Who runs it, and knows what the model is told of it.
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
                Some(tool) => Some(Runner::Guest(Box::new(tool.clone()))),
                None => built_in.get(name).map(|tool| Runner::BuiltIn(Arc::clone(tool))),
            }
        });
        Self { tools: tools.map(|runner| ActiveTool { runner }).collect(), workspace }
    }

    /// The same without those that are not to be offered now.
    pub(crate) fn only(&self, is_on: impl Fn(&ActiveTool) -> bool) -> Self {
        let tools = self.tools.iter().filter(|tool| is_on(tool)).cloned().collect();
        Self { tools, workspace: Arc::clone(&self.workspace) }
    }

    pub(crate) fn names(&self) -> Vec<String> {
        self.tools.iter().map(|tool| tool.name().to_owned()).collect()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&ActiveTool> {
        self.tools.iter().find(|tool| tool.name() == name)
    }

    /// As the model is told of them.
    pub(crate) fn offered(&self) -> Vec<Offered> {
        self.tools.iter().map(ActiveTool::offered).collect()
    }
}

impl ActiveTool {
    pub(crate) fn name(&self) -> &str {
        match &self.runner {
            Runner::BuiltIn(tool) => &tool.definition().name,
            Runner::Guest(tool) => &tool.offer.definition.name,
        }
    }

    /// As the model is told of it.
    pub(crate) fn definition(&self) -> ToolDefinition {
        let (name, description, parameters) = match &self.runner {
            Runner::BuiltIn(tool) => {
                let known = tool.definition();
                (&known.name, &known.description, &known.parameters)
            }
            Runner::Guest(tool) => {
                let known = &tool.offer.definition;
                (&known.name, &known.description, &known.parameters)
            }
        };
        ToolDefinition {
            name: name.clone(),
            description: description.clone(),
            parameters: Value::Object(parameters.clone()),
            extra: Extra::new(),
        }
    }

    fn offered(&self) -> Offered {
        let origin = match &self.runner {
            Runner::BuiltIn(_) => Origin::BuiltIn,
            Runner::Guest(tool) => match tool.guest.server() {
                Some(server) => Origin::Mcp { server: server.to_owned() },
                None => Origin::Extension { id: tool.guest.to_string() },
            },
        };
        Offered { definition: self.definition(), provenance: Provenance::usual(origin) }
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
        f.debug_list().entries(self.tools.iter().map(ActiveTool::name)).finish()
    }
}
