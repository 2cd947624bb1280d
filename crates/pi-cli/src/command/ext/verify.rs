//! `pi ext verify`: what the signature of an artifact is worth here.

use pi_extc::{PublicKey, SignatureState, TrustedKeys, judge};
use pi_extproto::artifact::Artifact as Descriptor;
use serde_json::json;

use super::place;
use crate::{
    arguments::ext::ExtVerifyArguments,
    console::{Console, Reader, Tone},
    env::Environment,
    exit::Exit,
    failure::{ExtFailure, Failure},
};

pub(crate) fn run(
    arguments: &ExtVerifyArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let (container, descriptor) = place::read(&arguments.folder)?;
    let file = place::trusted_keys(environment)?;
    let bad = |source| ExtFailure::Key { path: file.clone(), source };
    let mut trusted = TrustedKeys::read(&file).map_err(bad)?;
    let mut state = judge(&container, &descriptor, &trusted);
    if let Some(name) = &arguments.trust {
        let (SignatureState::Untrusted { key } | SignatureState::Trusted { key, .. }) = &state else {
            return Err(ExtFailure::NobodyToTrust.into());
        };
        trusted.trust(name, key.clone(), &file).map_err(bad)?;
        state = judge(&container, &descriptor, &trusted);
    }
    show(&descriptor, &state, console);
    Ok(if matches!(state, SignatureState::Trusted { .. }) { Exit::Success } else { Exit::No })
}

fn show(descriptor: &Descriptor, state: &SignatureState, console: &mut Console) {
    let (word, tone, who): (_, _, Option<(&str, &PublicKey)>) = match state {
        SignatureState::Unsigned => ("unsigned", Tone::Warning, None),
        SignatureState::Trusted { name, key } => ("trusted", Tone::Good, Some((name, key))),
        SignatureState::Untrusted { key } => ("untrusted", Tone::Warning, Some(("a key that nobody here knows", key))),
        SignatureState::Broken => ("broken", Tone::Bad, None),
    };
    let (name, version) = (&descriptor.name, &descriptor.version);
    match console.reader() {
        Reader::Machine => {
            let key = who.map(|(_, key)| key.to_string());
            let by = who.filter(|_| word == "trusted").map(|(name, _)| name);
            console.line(&json!({ "name": name, "version": version, "state": word, "by": by, "key": key }).to_string());
        }
        Reader::Person => {
            let by = who.map(|(name, key)| format!(", by {name} ({key})")).unwrap_or_default();
            let word = console.paint(tone, word);
            console.line(&format!("{word}  {name} {version}{by}"));
        }
    }
    match state {
        SignatureState::Untrusted { .. } => {
            console.hint("if you know from elsewhere whose key it is, `--trust NAME` trusts it from now on");
        }
        SignatureState::Broken => {
            console.hint("it was changed after it was signed, or built anew: do not use it, or sign it again")
        }
        SignatureState::Unsigned | SignatureState::Trusted { .. } => {}
    }
}
