//! Prepares what every start would have to prepare otherwise: manifests and tables of tokens.

mod manifests;
mod tokens;

use std::{env, error::Error, path::PathBuf};

#[expect(clippy::print_stdout, reason = "this is how a build script talks to cargo")]
fn main() -> Result<(), Box<dyn Error>> {
    for input in ["build", "manifests", "src/tokens/place.rs"] {
        println!("cargo::rerun-if-changed={input}");
    }
    let out = PathBuf::from(env::var("OUT_DIR")?);
    manifests::prepare(&out)?;
    tokens::prepare(&out)
}
