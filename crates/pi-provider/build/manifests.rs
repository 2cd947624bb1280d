//! The manifests that come with the program, so that a start reads only those that it needs.
//!
//! Each becomes JSON, which is read in a tenth of the time, and an index: the names, the variable of the credential and the
//! models, as a Rust expression. What is looked up in all of them is looked up there.

use std::{error::Error, fmt::Write as _, fs, path::Path};

use serde_json::Value;

#[expect(clippy::disallowed_methods, reason = "a build script has no seam: it reads and writes files and ends")]
pub(crate) fn prepare(out: &Path) -> Result<(), Box<dyn Error>> {
    for file in fs::read_dir("manifests")? {
        let path = file?.path();
        if path.extension().is_none_or(|ending| ending != "yaml") {
            continue;
        }
        // As the loader reads it: `off` and `no` are words.
        let options = serde_saphyr::options! { strict_booleans: true };
        let text = fs::read_to_string(&path)?;
        let manifest: Value = serde_saphyr::from_str_with_options(&text, options)?;
        let name = path.file_stem().ok_or("a manifest without a name")?;
        let file = out.join(name);
        fs::write(file.with_extension("json"), manifest.to_string())?;
        fs::write(file.with_extension("rs"), index(&manifest)?)?;
    }
    Ok(())
}

/// An expression of the type `Index` in `src/builtin.rs`.
fn index(manifest: &Value) -> Result<String, Box<dyn Error>> {
    let metadata = &manifest["metadata"];
    let aliases: Vec<&str> = manifest["aliases"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let token_env = manifest["endpoint"]["auth"]["token_env"].as_str();
    let is_local = !metadata["local"].is_null();
    let mut models = String::new();
    for (id, model) in metadata["models"].as_object().into_iter().flatten() {
        let (wire_id, name) = (model["model_id"].as_str(), model["name"].as_str());
        write!(models, "Listed {{ id: {id:?}, wire_id: {:?}, name: {name:?} }},", wire_id.unwrap_or(id))?;
    }
    Ok(format!(
        "Index {{ aliases: &{aliases:?}, token_env: {token_env:?}, is_local: {is_local}, models: &[{models}] }}"
    ))
}
