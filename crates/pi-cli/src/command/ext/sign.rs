//! `pi ext sign`: vouch for an artifact.

use pi_extc::{SIGNATURE, SecretKey, read_container, sign};

use super::place::{self, CONTAINER, DESCRIPTOR};
use crate::{
    arguments::ext::ExtSignArguments,
    console::Console,
    env::Environment,
    exit::Exit,
    failure::{ExtFailure, Failure},
};

pub(crate) fn run(
    arguments: &ExtSignArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let folder = &arguments.folder;
    let (container, mut descriptor) = place::read(folder)?;
    let artifact =
        read_container(&container).map_err(|source| ExtFailure::Container { path: folder.join(CONTAINER), source })?;
    descriptor.extra.shift_remove(SIGNATURE);
    if artifact.descriptor != descriptor {
        return Err(ExtFailure::OtherDescriptor { path: folder.join(DESCRIPTOR) }.into());
    }
    let key = key(arguments, environment, console)?;
    let signature = serde_json::to_value(sign(&container, &key)).expect("a signature is plain JSON");
    descriptor.extra.insert(SIGNATURE.to_owned(), signature);
    place::write_descriptor(folder, &descriptor)?;
    console.line(&format!("signed: {} {} with {}", descriptor.name, descriptor.version, key.public()));
    Ok(Exit::Success)
}

fn key(arguments: &ExtSignArguments, environment: &Environment, console: &mut Console) -> Result<SecretKey, Failure> {
    let path = match &arguments.key {
        Some(path) => path.clone(),
        None => place::signing_key(environment)?,
    };
    let bad = |source| ExtFailure::Key { path: path.clone(), source };
    if arguments.key.is_none() && !path.exists() {
        SecretKey::generate().and_then(|key| key.write(&path)).map_err(bad)?;
        console.remark(&format!("a key was made: {}; keep it, and keep it to yourself", path.display()));
    }
    Ok(SecretKey::read(&path).map_err(bad)?)
}
