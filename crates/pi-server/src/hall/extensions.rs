//! The extensions of sessions: as clients are told of them, and as they switch them for all sessions.
//!
//! Nothing here waits for a run to end: sessions switch beside it.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use pi_session::{
    ExtensionTier as Tier, Session, Switch,
    extensions::{Extension, Phase, SwitchError},
};
use pi_transcript::SessionId;
use pi_wire::{
    Data, Error,
    error::Missing,
    id::ExtensionId,
    response::{ExtensionList, ExtensionPhase, ExtensionState, ExtensionTier, ListedExtension},
};

use super::{Hall, Outcome, Undone, told};

impl Hall {
    /// Those of one session, or of all that are awake: each once, with what it did everywhere.
    pub(super) async fn list_extensions(&self, session: Option<&SessionId>) -> Outcome {
        let extensions = match session {
            Some(id) => {
                let (_, session) = self.enter(id).await?;
                session.extensions().await
            }
            None => self.extensions().await,
        };
        told(Data::ListExtensions(ExtensionList { extensions: joined(extensions) }))
    }

    pub(super) async fn enable_extension(&self, id: &ExtensionId) -> Outcome {
        let state = self.switch_extension(id, Switch::On).await?;
        told(Data::EnableExtension(state))
    }

    pub(super) async fn disable_extension(&self, id: &ExtensionId) -> Outcome {
        let state = self.switch_extension(id, Switch::Off).await?;
        told(Data::DisableExtension(state))
    }

    /// Loads one anew, or all, in every session that is awake; others look for themselves when they wake up.
    pub(super) async fn reload_extensions(&self, id: Option<ExtensionId>) -> Outcome {
        let wanted = id.as_ref().map(ExtensionId::as_str);
        let awake = self.awake().await;
        let reloaded = join_all(awake.iter().map(|session| session.reload_extensions(wanted))).await;
        let is_known = reloaded.iter().any(|one| !matches!(one, Err(SwitchError::Unknown { .. })));
        if let Some(id) = id.filter(|_| !is_known) {
            return Err(Error::NotFound(Missing::Extension(id)).into());
        }
        let extensions = reloaded.into_iter().flatten().flatten().collect();
        told(Data::ReloadExtensions(ExtensionList { extensions: joined(extensions) }))
    }

    /// Writes it down, and does it in every session that is awake.
    async fn switch_extension(&self, id: &ExtensionId, switch: Switch) -> Result<ExtensionState, Undone> {
        let known = self.extensions().await.into_iter();
        let known: Vec<Extension> = known.filter(|one| one.id == id.as_str()).collect();
        let not_found = || Undone::from(Error::NotFound(Missing::Extension(id.clone())));
        let first = known.first().ok_or_else(not_found)?;
        // One that is off for a reason is not ours to switch, unless another session has it without.
        let is_withheld = |one: &Extension| one.phase == Phase::Off && one.problem.is_some();
        if switch == Switch::On && known.iter().all(is_withheld) {
            let why = first.problem.clone().unwrap_or_default();
            return Err(Error::Refused { reason: format!("{id} stays off: {why}") }.into());
        }
        // First: a session that is being loaded meanwhile finds it written, or is loaded when we come to it.
        self.workshop.remember_extension(id.as_str(), switch).await?;
        let awake = self.awake().await;
        let switched = join_all(awake.iter().map(|session| session.switch_extension(id.as_str(), switch))).await;
        let withheld = switched.iter().find_map(|one| match one {
            Err(error @ SwitchError::Withheld { .. }) => Some(Error::Refused { reason: error.to_string() }),
            Ok(_) | Err(SwitchError::Unknown { .. }) => None,
        });
        let switched = joined(switched.into_iter().flatten().collect());
        // Where every session that had it ended meanwhile there is none any more.
        let nowhere = || withheld.map_or_else(not_found, Undone::from);
        Ok(ExtensionState { extension: switched.into_iter().next().ok_or_else(nowhere)? })
    }

    /// Those of all sessions that are awake.
    async fn extensions(&self) -> Vec<Extension> {
        let rooms = self.rooms.everyone();
        let awake: Vec<Session> = rooms.iter().filter_map(|room| room.loaded()).collect();
        join_all(awake.iter().map(Session::extensions)).await.concat()
    }

    /// Every session that is awake, or on its way to be.
    async fn awake(&self) -> Vec<Session> {
        let mut awake = Vec::new();
        for room in self.rooms.everyone() {
            // Who loads a session is waited for; a room that is removed meanwhile has none.
            let Ok(_standing) = room.hold().await else { continue };
            awake.extend(room.loaded());
        }
        awake
    }
}

/// Each extension once, by its name and place.
fn joined(extensions: Vec<Extension>) -> Vec<ListedExtension> {
    let mut joined = BTreeMap::<(String, String), ListedExtension>::new();
    for one in extensions {
        let listed = listed(one);
        let place = (listed.extension_id.to_string(), listed.path.clone().unwrap_or_default());
        match joined.get_mut(&place) {
            None => drop(joined.insert(place, listed)),
            Some(known) => {
                known.calls += listed.calls;
                known.denials += listed.denials;
                known.busy_ms += listed.busy_ms;
                known.memory_bytes = match (known.memory_bytes, listed.memory_bytes) {
                    (Some(one), Some(other)) => Some(one + other),
                    (one, other) => one.or(other),
                };
                if weight(listed.state) > weight(known.state) {
                    (known.state, known.enabled) = (listed.state, listed.enabled);
                }
                known.error = known.error.take().or(listed.error);
            }
        }
    }
    joined.into_values().collect()
}

/// What is told where sessions differ: that it failed somewhere comes before that it runs elsewhere.
fn weight(phase: ExtensionPhase) -> u8 {
    match phase {
        ExtensionPhase::Failed => 5,
        ExtensionPhase::Running => 4,
        ExtensionPhase::Parked => 3,
        ExtensionPhase::Idle => 2,
        ExtensionPhase::Untrusted => 1,
        ExtensionPhase::Disabled => 0,
    }
}

fn listed(one: Extension) -> ListedExtension {
    ListedExtension {
        extension_id: one.id.as_str().into(),
        name: one.name,
        version: one.version.unwrap_or_default(),
        tier: match one.tier {
            Tier::Wasm => ExtensionTier::Wasm,
            Tier::Js => ExtensionTier::Js,
            Tier::Mcp => ExtensionTier::Mcp,
        },
        enabled: one.phase != Phase::Off,
        state: match one.phase {
            Phase::Starting => ExtensionPhase::Idle,
            Phase::Running => ExtensionPhase::Running,
            Phase::Resting => ExtensionPhase::Parked,
            Phase::Off => ExtensionPhase::Disabled,
            Phase::Failed => ExtensionPhase::Failed,
        },
        error: one.problem,
        path: Some(one.path),
        capabilities: one.capabilities,
        tools: one.tools,
        commands: one.commands,
        tool_tokens: one.tokens,
        calls: one.figures.asked,
        denials: one.figures.denials,
        busy_ms: u64::try_from(one.figures.busy.as_millis()).unwrap_or(u64::MAX),
        memory_bytes: one.memory,
    }
}
