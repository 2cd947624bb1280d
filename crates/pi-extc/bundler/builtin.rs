//! The modules that come with Node, for which no shim stands.

use super::rule::Rule;

/// They would run code that nobody scanned, open sockets beside the host's, or look into the engine.
const FORBIDDEN: [&str; 12] = [
    "cluster",
    "dgram",
    "inspector",
    "inspector/promises",
    "net",
    "repl",
    "tls",
    "trace_events",
    "v8",
    "vm",
    "wasi",
    "worker_threads",
];
const UNSUPPORTED: [&str; 44] = [
    "assert",
    "assert/strict",
    "async_hooks",
    "buffer",
    "child_process",
    "console",
    "constants",
    "crypto",
    "diagnostics_channel",
    "dns",
    "dns/promises",
    "domain",
    "events",
    "fs",
    "fs/promises",
    "http",
    "http2",
    "https",
    "module",
    "os",
    "path",
    "path/posix",
    "path/win32",
    "perf_hooks",
    "process",
    "punycode",
    "querystring",
    "readline",
    "readline/promises",
    "sea",
    "sqlite",
    "stream",
    "stream/consumers",
    "stream/promises",
    "stream/web",
    "string_decoder",
    "sys",
    "test",
    "timers",
    "timers/promises",
    "tty",
    "url",
    "util",
    "zlib",
];

/// Those for which a shim stands that loads, and throws when it is used.
const HOLLOW: [&str; 5] = ["dns", "dns/promises", "http2", "sqlite", "test"];

/// What is to be said about a name for which a shim stands; nothing if the shim does what Node does.
pub(crate) fn rule_of_shim(specifier: &str) -> Option<Rule> {
    let name = specifier.strip_prefix("node:").unwrap_or(specifier);
    match rule(specifier) {
        Some(Rule::Unsupported) if !HOLLOW.contains(&name) => None,
        found => found,
    }
}

/// What is to be said about a name that Node itself would answer; nothing if it is not one of those.
pub(crate) fn rule(specifier: &str) -> Option<Rule> {
    let (name, is_certain) = match specifier.strip_prefix("node:") {
        Some(name) => (name, true),
        None => (specifier, false),
    };
    if FORBIDDEN.contains(&name) {
        Some(Rule::Forbidden)
    } else if is_certain || UNSUPPORTED.contains(&name) && !["sea", "sqlite", "test"].contains(&name) {
        Some(Rule::Unsupported)
    } else {
        // Engine modules are the host's own: no extension reaches them by writing their names.
        specifier.starts_with("pi:").then_some(Rule::Forbidden)
    }
}
