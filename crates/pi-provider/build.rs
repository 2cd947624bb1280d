//! Turns the manifests that come with the program into JSON, which is read in a tenth of the time: every start reads them.

use std::{env, error::Error, fs, path::Path};

#[expect(clippy::disallowed_methods, reason = "a build script has no seam: it reads and writes files and ends")]
fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=manifests");
    let out = env::var("OUT_DIR")?;
    for file in fs::read_dir("manifests")? {
        let path = file?.path();
        if path.extension().is_none_or(|ending| ending != "yaml") {
            continue;
        }
        // As the loader reads it: `off` and `no` are words.
        let options = serde_saphyr::options! { strict_booleans: true };
        let text = fs::read_to_string(&path)?;
        let manifest: serde_json::Value = serde_saphyr::from_str_with_options(&text, options)?;
        let name = path.file_stem().ok_or("a manifest without a name")?;
        fs::write(Path::new(&out).join(name).with_extension("json"), manifest.to_string())?;
    }
    Ok(())
}
