//! `pi ext sdk`: the SDK for extensions in Rust, as files beside an extension.
//!
//! It is part of this binary and not of a registry, so an extension is built with the one that fits the pi that wrote it, on
//! every machine and without asking for anything else.

use std::path::Path;

use super::place;
use crate::{
    amount::counted,
    arguments::ext::ExtSdkArguments,
    console::Console,
    exit::Exit,
    failure::{ExtFailure, Failure},
};

/// Where it lies, from the folder of an extension.
pub(super) const FOLDER: &str = "sdk/pi-extension";

/// Every file of `sdk/rust/pi-extension` that a build of it needs.
pub(super) const FILES: [(&str, &str); 10] = [
    ("Cargo.toml", include_str!("../../../../../sdk/rust/pi-extension/Cargo.toml")),
    ("src/bindings.rs", include_str!("../../../../../sdk/rust/pi-extension/src/bindings.rs")),
    ("src/component.rs", include_str!("../../../../../sdk/rust/pi-extension/src/component.rs")),
    ("src/extension.rs", include_str!("../../../../../sdk/rust/pi-extension/src/extension.rs")),
    ("src/host.rs", include_str!("../../../../../sdk/rust/pi-extension/src/host.rs")),
    ("src/lib.rs", include_str!("../../../../../sdk/rust/pi-extension/src/lib.rs")),
    ("src/testing.rs", include_str!("../../../../../sdk/rust/pi-extension/src/testing.rs")),
    ("src/testing/answers.rs", include_str!("../../../../../sdk/rust/pi-extension/src/testing/answers.rs")),
    ("src/testing/stream.rs", include_str!("../../../../../sdk/rust/pi-extension/src/testing/stream.rs")),
    ("wit/extension.wit", include_str!("../../../../../sdk/rust/pi-extension/wit/extension.wit")),
];

pub(crate) fn run(arguments: &ExtSdkArguments, console: &mut Console) -> Result<Exit, Failure> {
    let extension = &arguments.folder;
    if !extension.join("Cargo.toml").is_file() {
        return Err(ExtFailure::NoCrate { path: extension.clone() }.into());
    }
    let folder = extension.join(FOLDER);
    write(&folder)?;
    console.line(&format!("written to {}: {}", folder.display(), counted(FILES.len(), "file")));
    console.remark("name it in Cargo.toml: pi-extension = { path = \"sdk/pi-extension\" }");
    Ok(Exit::Success)
}

/// Writes it, over one of another day.
pub(super) fn write(folder: &Path) -> Result<(), Failure> {
    FILES.iter().try_for_each(|(file, text)| place::write(&folder.join(file), text.as_bytes()))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the folder of the SDK is looked at")]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    fn files(root: &Path, folder: &Path, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                files(root, &path, found);
            } else {
                let name = path.strip_prefix(root).expect("inside").to_string_lossy().replace('\\', "/");
                found.insert(name);
            }
        }
    }

    #[test]
    fn every_file_of_the_sdk_is_written() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sdk/rust/pi-extension");
        let mut theirs = BTreeSet::from(["Cargo.toml".to_owned()]);
        for folder in ["src", "wit"] {
            files(&root, &root.join(folder), &mut theirs);
        }
        assert_eq!(FILES.map(|(file, _)| file.to_owned()).into_iter().collect::<BTreeSet<_>>(), theirs);
        let manifest = FILES[0].1;
        assert!(!manifest.contains("workspace = true"), "it must stand on its own: {manifest}");
    }
}
