//! Events of Pi that a session does not fire, and why.
//!
//! Every other one is fired where it happens: in a run, in the mailbox, or on the way in. A test goes through the closed
//! list of hooks and finds each of them either heard or here.

use pi_extproto::hook::Hook;

/// Hooks that belong elsewhere, each with the reason.
pub const ELSEWHERE: &[(Hook, &str)] = &[
    (Hook::SessionDirectory, "asked before there is a session, by whoever decides where its file goes"),
    (Hook::ProjectTrust, "asked before there is a session, by whoever decides which extensions it has"),
    (Hook::ResourcesDiscover, "asked by whoever looks for skills and prompts, before a session is told of them"),
    (Hook::McpServersChange, "fired by the tier that runs MCP servers"),
    (Hook::ProviderStreamEvent, "what a provider sends is decoded below the session, which never sees it"),
    (Hook::CacheWarmingDecision, "nothing here keeps the cache of a provider warm, so there is nothing to decide"),
];
