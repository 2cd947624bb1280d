//! What is wrong with what extensions offer, and with the models that are to be gone through: nobody is stopped by it, and
//! somebody should know.

use pi_exthost::{GuestId, guests::Collision};

use crate::models::scope::Oddity;

/// Something that is not used as whoever wrote it wants.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Complaint {
    /// Two extensions want the same name.
    #[error("{0}")]
    Collision(Collision),
    #[error("the provider {name} of extension {guest} is not used: {problem}")]
    Provider { guest: GuestId, name: String, problem: String },
    #[error("{0}")]
    Scope(Oddity),
}
