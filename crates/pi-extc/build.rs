//! The bundler, a program of its own: as a build script it hands its own executable on to the library, which runs it as a
//! child process with the argument `bundle`. `docs/adr/0210-the-bundler-is-a-program.md` says why.

#[path = "bundler/admission.rs"]
mod admission;
#[path = "bundler/builtin.rs"]
mod builtin;
#[path = "bundler/embed.rs"]
mod embed;
#[path = "bundler/globals.rs"]
mod globals;
#[path = "bundler/pack.rs"]
mod pack;
#[path = "bundler/plugin.rs"]
mod plugin;
#[path = "bundler/protocol.rs"]
mod protocol;
#[path = "bundler/review.rs"]
mod review;
#[path = "bundler/rule.rs"]
mod rule;
#[path = "bundler/scan.rs"]
mod scan;
#[path = "bundler/serve.rs"]
mod serve;
#[path = "bundler/zeros.rs"]
mod zeros;

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args().nth(1).as_deref() {
        Some("bundle") => serve::serve(),
        _ => embed::embed(),
    }
}
