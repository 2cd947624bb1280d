//! Events of Pi that a session does not fire itself, and why.
//!
//! Every other one is fired where it happens: in a run, in the mailbox, or on the way in. A test goes through the closed
//! list of hooks and finds each of them either heard, here, or among those that [nobody fires](pi_exthost::unfired).

use pi_extproto::hook::Hook;

/// Hooks that are fired by somebody else, each with who that is.
pub const ELSEWHERE: &[(Hook, &str)] = &[
    (Hook::ProjectTrust, "fired before there is a session, by whoever decides which extensions it has"),
    (Hook::ResourcesDiscover, "fired when the session has it gathered, by its steward, which reads the files"),
];
