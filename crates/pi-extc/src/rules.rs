//! What the scanner's rules mean. The table is in `docs/extensions-build.md`, which a test compares.

use pi_extproto::artifact::Verdict;

use crate::bundler::rule::Rule;

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Meaning {
    pub verdict: Verdict,
    /// What is wrong, with `{}` for what it is about.
    pub message: &'static str,
    /// What its author can do.
    pub remedy: &'static str,
}

macro_rules! table {
    ($($rule:ident $verdict:ident $message:literal, $remedy:literal;)*) => {
        const ALL: &[Rule] = &[$(Rule::$rule,)*];

        pub(crate) fn meaning(rule: Rule) -> Meaning {
            match rule {
                $(Rule::$rule => Meaning { verdict: Verdict::$verdict, message: $message, remedy: $remedy },)*
            }
        }
    };
}

table! {
    Eval Warning
        "`{}` runs text as code",
        "write the code down, or read data with JSON.parse";
    Function Warning
        "`{}` makes a function from text",
        "write the function down";
    TimerText Warning
        "`{}` with a text runs it as code",
        "pass a function";
    ComputedGlobal Warning
        "a name that is only known at run time is read from `{}`",
        "write the name down";
    Encoded Warning
        "{} of encoded text, which nobody can read",
        "put data into a file beside the code";
    ProcessBinding Blocked
        "`{}` reaches into Node, which is not there",
        "use the documented modules";
    Process Warning
        "`{}` acts on this extension only, not on the program",
        "leave it out, or ask for `ctx.shutdown()`";
    Prototype Warning
        "`{}` changes what everything in this extension is built on",
        "write a function instead";
    AbsentGlobal Warning
        "`{}` is not there for extensions; using it fails",
        "ask with `typeof` before, or use what Node's modules and `pi` offer";
    Hook Warning
        "`{}` is written, which other programs run by themselves",
        "leave it to the person, who is asked each time unless it is granted by name";
    Forbidden Blocked
        "`{}` is not available to extensions",
        "do it in another process with `pi.exec`, or as an MCP server";
    Unsupported Warning
        "`{}` of Node is not there; using it fails",
        "guard its use, or use what `pi` offers";
    DynamicImport Warning
        "what is imported by `{}` is only known at run time",
        "import it by a written name";
    MissingPackage Warning
        "the package `{}` was not found; using it fails",
        "install it beside the extension and build again";
    MissingFile Warning
        "`{}` does not exist in the package; using it fails",
        "install the package anew";
    Native Blocked
        "`{}` is machine code for Node, which is never loaded",
        "use a package without native code, a WASM build of it, or an MCP server";
    NoFactory Blocked
        "{} has no default export",
        "export a function that takes `pi` as default";
}

/// What there is in the place of well-known names that are not there.
const INSTEAD: &[(&[&str], &str)] = &[
    (&["WebAssembly"], "take a build of it in plain JavaScript, or write the extension as a component"),
    (
        &["WebSocket", "WebSocketStream", "RTCPeerConnection"],
        "do it in another process with `pi.exec`, or as an MCP server",
    ),
    (&["EventSource"], "read the stream of a `fetch`"),
    (&["XMLHttpRequest"], "use `fetch`"),
    (&["Worker", "SharedWorker", "ServiceWorker", "importScripts"], "do it in another process with `pi.exec`"),
    (&["MessageChannel", "MessagePort"], "use EventEmitter or EventTarget"),
    (&["BroadcastChannel"], "use `pi.events`"),
    (&["window", "self"], "write `globalThis`; there is no page here, so show things with `ctx.ui`"),
    (
        &["document", "location", "history", "screen", "customElements", "HTMLElement", "Element", "Node", "DOMParser"],
        "there is no page here: show things with `ctx.ui`",
    ),
    (
        &["localStorage", "sessionStorage", "indexedDB", "caches", "cookieStore"],
        "keep it in a file, or in the session with `pi.appendEntry`",
    ),
    (&["alert", "confirm", "prompt"], "use `ctx.ui.notify`, `ctx.ui.confirm` or `ctx.ui.input`"),
    (&["requestAnimationFrame", "requestIdleCallback"], "use `setTimeout`"),
    (&["Bun", "Deno"], "use the modules of Node, which do the same there"),
];

/// What its author can do about something that was found.
pub(crate) fn remedy(rule: Rule, subject: &str) -> &'static str {
    let known = INSTEAD.iter().find(|(names, _)| rule == Rule::AbsentGlobal && names.contains(&subject));
    known.map_or(meaning(rule).remedy, |(_, instead)| instead)
}

/// Every rule by its stable name.
pub fn rules() -> impl Iterator<Item = (String, Meaning)> {
    ALL.iter().map(|&rule| (name(rule), meaning(rule)))
}

/// The stable name, for programs.
pub(crate) fn name(rule: Rule) -> String {
    serde_json::to_value(rule).ok().as_ref().and_then(|name| name.as_str()).unwrap_or_default().to_owned()
}
