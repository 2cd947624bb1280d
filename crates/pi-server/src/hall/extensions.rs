//! The extensions of sessions, as clients are told of them.

use std::collections::BTreeMap;

use pi_session::{Enrolled, ExtensionTier as Tier};
use pi_transcript::SessionId;
use pi_wire::{
    Data,
    response::{ExtensionList, ExtensionPhase, ExtensionTier, ListedExtension},
};

use super::{Hall, Outcome, gone, told};

impl Hall {
    /// Those of one session, or of all that are awake: each once, with what it did everywhere.
    pub(super) async fn list_extensions(&self, session: Option<&SessionId>) -> Outcome {
        let mut enrolled = Vec::new();
        match session {
            Some(id) => {
                let (_, session) = self.enter(id).await?;
                enrolled.extend(session.extensions().await.map_err(gone(id))?);
            }
            None => {
                for session in self.rooms.everyone().iter().filter_map(|room| room.loaded()) {
                    // One that ends meanwhile has none any more.
                    enrolled.extend(session.extensions().await.unwrap_or_default());
                }
            }
        }
        told(Data::ListExtensions(ExtensionList { extensions: joined(enrolled) }))
    }
}

/// Each extension once, by its name and place.
fn joined(enrolled: Vec<Enrolled>) -> Vec<ListedExtension> {
    let mut extensions = BTreeMap::<(String, String), ListedExtension>::new();
    for one in enrolled {
        let busy_ms = u64::try_from(one.figures.time.as_millis()).unwrap_or(u64::MAX);
        let (calls, denials) = (one.figures.calls, one.figures.denials);
        let place = (one.id.clone(), one.path.clone());
        let known = extensions.entry(place).or_insert_with(|| listed(one));
        known.calls += calls;
        known.denials += denials;
        known.busy_ms += busy_ms;
    }
    extensions.into_values().collect()
}

/// One that runs and of which nothing is counted yet.
fn listed(one: Enrolled) -> ListedExtension {
    ListedExtension {
        extension_id: one.id.as_str().into(),
        name: one.name,
        version: one.version.unwrap_or_default(),
        tier: match one.tier {
            Tier::Wasm => ExtensionTier::Wasm,
            Tier::Js => ExtensionTier::Js,
            Tier::Mcp => ExtensionTier::Mcp,
        },
        enabled: true,
        state: ExtensionPhase::Running,
        error: None,
        path: Some(one.path),
        capabilities: one.capabilities,
        tools: one.tools,
        commands: one.commands,
        calls: 0,
        denials: 0,
        busy_ms: 0,
        memory_bytes: None,
    }
}
