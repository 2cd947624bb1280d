//! What other programs run by themselves, by the names that it has at any depth.

use pi_extproto::capability::HOOKS;

use super::PathStyle;

/// Whether a path, relative to the folder that a subject has, belongs to it.
pub(crate) fn are_at(style: PathStyle, relative: &str) -> bool {
    relative.split('/').any(|name| HOOKS.iter().any(|known| style.is_same_name(name, known)))
}
