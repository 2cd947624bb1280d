//! Prepares what every start would have to prepare otherwise: the manifests.

mod manifests;

use std::{env, error::Error, path::PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    manifests::prepare(&out)
}
