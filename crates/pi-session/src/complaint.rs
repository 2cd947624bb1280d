//! What is wrong with what extensions offer: nobody is stopped by it, and somebody should know.

use pi_exthost::{GuestId, guests::Collision};

/// Something that an extension offers and that is not used as it wants.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Complaint {
    /// Two extensions want the same name.
    #[error("{0}")]
    Collision(Collision),
    #[error("the provider {name} of extension {guest} is not used: {problem}")]
    Provider { guest: GuestId, name: String, problem: String },
}
