//! What a conversation remembers: its tree, its file, the folder of sessions, the envelopes beside it, and what a
//! compaction cuts.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod context;
mod crash;
mod cuts;
mod directory;
mod faulty;
mod files;
mod notation;
mod recorder;
mod sidecars;
mod tree;

/// How many cases a property test runs: `default`, or `PI_TEST_CASES` where somebody wants more.
fn cases(default: u32) -> u32 {
    std::env::var("PI_TEST_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// How often a process is killed: `default`, or `PI_TEST_KILLS`. A death costs more than a case.
fn deaths(default: u32) -> u32 {
    std::env::var("PI_TEST_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}
