//! Prepares what every start would have to prepare otherwise: manifests and tables of tokens.

mod manifests;
mod tokens;

use std::{env, error::Error, path::PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    manifests::prepare(&out)?;
    tokens::prepare(&out)
}
