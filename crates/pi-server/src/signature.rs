//! Whose command an event of a session belongs to.
//!
//! Inside the server such an event carries the client and its name of the command. Each client reads what lifecycle events
//! tell it as well: its own name of its own commands, and of others' a name that tells nothing but which is which.

use std::sync::Arc;

use pi_engine::{ClientName, CommandId};
use pi_transcript::AgentEvent;

use crate::{door::Secret, journal::audit::hexadecimal};

/// What an event carries about the command of a client.
pub fn sign(client: &ClientName, id: &CommandId) -> String {
    serde_json::to_string(&(client.as_str(), id.as_str())).expect("two texts are JSON")
}

/// The name of a client's command for others: the same wherever it is told.
pub fn opaque(salt: &Secret, client: &ClientName, id: &CommandId) -> String {
    let text = format!("{}\0{client}\0{id}", salt.reveal());
    format!("other:{}", hexadecimal(&Secret::digest(&text)[..8]))
}

/// Reads events for one client.
#[derive(Debug, Clone)]
pub struct Reader {
    pub client: ClientName,
    pub salt: Arc<Secret>,
}

impl Reader {
    /// The event as this client is told it.
    pub fn read(&self, event: &mut AgentEvent) {
        let AgentEvent::BashExecutionUpdate { id, .. } = event else { return };
        let signed = id.take().and_then(|signed| serde_json::from_str::<(String, String)>(&signed).ok());
        *id = signed.map(|(client, id)| {
            if client == self.client.as_str() { id } else { opaque(&self.salt, &client.into(), &id.into()) }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_reads_its_own_names_and_others_are_told_apart() {
        let salt = Arc::new(Secret::random());
        let read = |client: &str, of: &str, id: &str| {
            let reader = Reader { client: client.into(), salt: Arc::clone(&salt) };
            let id = Some(sign(&of.into(), &id.into()));
            let mut event = AgentEvent::BashExecutionUpdate { id, delta: String::new(), dropped: None };
            reader.read(&mut event);
            let AgentEvent::BashExecutionUpdate { id, .. } = event else { unreachable!("it was one") };
            id.expect("it has a name")
        };
        assert_eq!(read("a", "a", "1"), "1");
        let others = [read("b", "a", "1"), read("b", "a", "2"), read("b", "c", "1")];
        assert!(others.iter().all(|name| name.starts_with("other:")), "{others:?}");
        assert!(others[0] != others[1] && others[0] != others[2], "{others:?}");
        assert_eq!(others[0], read("c", "a", "1"));
    }
}
