//! What people keep to themselves in the home folder: whatever begins with a dot there, and where systems keep the like.

use super::PathStyle;
use crate::case::is_same;

/// Whether a path belongs to it, and the place that it would belong to otherwise (`around`) begins further out.
pub(super) fn is_private(style: PathStyle, home: &str, absolute: &str, around: Option<&str>) -> bool {
    let Some(start) = style.below(home, absolute) else { return false };
    let name = absolute[start..].split('/').next().unwrap_or_default();
    let is_named = match style {
        PathStyle::Unix => false,
        PathStyle::Mac => is_same(name, "Library"),
        PathStyle::Windows => is_same(name, "AppData"),
    };
    let depth = |path: &str| path.split('/').filter(|name| !name.is_empty()).count();
    (name.starts_with('.') || is_named) && around.is_none_or(|around| depth(around) <= depth(home))
}
