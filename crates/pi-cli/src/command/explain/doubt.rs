//! What makes one doubt that the question was the one that was meant: settings without a policy, names that nobody knows.
//!
//! None of it changes the decision; all of it is told beside it.

use std::path::Path;

use pi_extproto::{
    capability::{Capability, Method},
    host::HostCall,
};
use pi_policy::config::Settings;
use pi_provider::likeness::nearest;
use serde_json::Value;

/// The parts of a settings file that may hold a policy.
const SECTIONS: [&str; 2] = ["extensions", "agent"];

/// About settings that hold no policy, and about members that may have been meant to be one. A settings file says much
/// that is not policy, so at the top only what looks like a slip is told.
pub(super) fn about_settings(file: &str, document: &Value, settings: &Settings) -> Vec<String> {
    let mut doubts = Vec::new();
    if settings.extensions.as_ref().is_none_or(|section| section.policy.is_none()) {
        doubts.push(format!("{file} holds no extensions.policy; the defaults decide"));
    }
    for key in keys(document).filter(|key| !SECTIONS.contains(key)) {
        let meant = nearest(key, SECTIONS.into_iter().chain(["policy"])).first().copied();
        if let Some(meant) = meant.or((key == "policy").then_some(key)) {
            let meant = if meant == "policy" { "extensions.policy" } else { meant };
            doubts.push(format!("{file}: {key}: unknown key; did you mean {meant}?"));
        }
    }
    for section in SECTIONS {
        for key in document.get(section).into_iter().flat_map(keys).filter(|key| *key != "policy") {
            doubts.push(format!("{file}: {section}.{key}: unknown key{}", did_you_mean(key, ["policy"])));
        }
    }
    doubts
}

/// About an extension that is not named where others are.
pub(super) fn about_extension(extension: &str, settings: &Settings) -> Option<String> {
    let policy = settings.extensions.as_ref()?.policy.as_ref()?;
    let names: Vec<&str> =
        policy.grants.keys().chain(policy.denies.keys()).map(String::as_str).filter(|name| *name != "*").collect();
    if names.is_empty() || names.contains(&extension) {
        return None;
    }
    Some(format!("the settings say nothing about {extension}{}", did_you_mean(extension, names)))
}

/// About words of a call that this version does not know.
pub(super) fn about_call(call: &HostCall) -> Vec<String> {
    let mut doubts = Vec::new();
    if let Capability::Other(word) = &call.capability {
        let known = Capability::KNOWN.iter().map(Capability::as_str);
        doubts.push(format!(
            "this version knows no capability {}{}",
            word.as_str(),
            did_you_mean(word.as_str(), known)
        ));
    }
    if let Method::Other(word) = &call.method {
        let known = Method::KNOWN.iter().map(Method::as_str);
        doubts.push(format!("this version knows no method {}{}", word.as_str(), did_you_mean(word.as_str(), known)));
    }
    doubts
}

/// About a project that is not there. Paths are judged as text, so the decision is the same.
pub(super) fn about_project(project: &Path) -> Option<String> {
    (!project.is_dir()).then(|| format!("--project {} is no folder here", project.display()))
}

fn keys(value: &Value) -> impl Iterator<Item = &str> {
    value.as_object().into_iter().flatten().map(|(key, _)| key.as_str())
}

fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).first().map(|meant| format!("; did you mean {meant}?")).unwrap_or_default()
}
