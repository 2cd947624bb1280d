//! Comparing texts without regard to case, and without allocating.

/// Whether two texts differ at most in case.
pub(crate) fn is_same(left: &str, right: &str) -> bool {
    left.chars().flat_map(char::to_lowercase).eq(right.chars().flat_map(char::to_lowercase))
}
