//! Events of Pi that nobody fires here, and why.

use pi_extproto::hook::Hook;

/// Each with the reason. An extension that listens to one finds it in its log.
pub const UNFIRED: &[(Hook, &str)] = &[
    (
        Hook::SessionDirectory,
        "the file of a session is found before its extensions are started, and Pi has it no more since 0.65; --session-dir and \
         the setting sessionDir say where sessions are",
    ),
    (Hook::ProviderStreamEvent, "what a provider sends is decoded below the session, which never sees it"),
    (Hook::CacheWarmingDecision, "nothing here keeps the cache of a provider warm, so there is nothing to decide"),
];
