//! What a reload changed.

use std::collections::BTreeMap;

use pi_transcript::json::Digest;

use super::{Resources, SourceId};

/// A resource that is not as it was, by its id; templates are `prompt:name`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Added(SourceId),
    Removed(SourceId),
    Changed(SourceId),
}

/// What is different, in the order of ids.
pub fn changes(before: &Resources, after: &Resources) -> Vec<Change> {
    let (before, after) = (fingerprints(before), fingerprints(after));
    let gone = before.keys().filter(|id| !after.contains_key(id)).map(|id| Change::Removed(id.clone()));
    let rest = after.iter().filter_map(|(id, digest)| match before.get(id) {
        None => Some(Change::Added(id.clone())),
        Some(old) if old != digest => Some(Change::Changed(id.clone())),
        Some(_) => None,
    });
    gone.chain(rest).collect()
}

/// By what each would be told apart: its text, where it is from, and how far it is trusted.
fn fingerprints(resources: &Resources) -> BTreeMap<SourceId, Digest> {
    let system = resources.system.iter().map(|it| (SourceId::system(), it.text.as_str(), &it.provenance));
    let append = resources.append.iter().map(|it| (SourceId::append(), it.text.as_str(), &it.provenance));
    let context = resources.context.iter().map(|it| (SourceId::of_memory(&it.path), it.text.as_str(), &it.provenance));
    let templates = resources.templates.iter().map(|it| (it.id(), it.text.as_str(), &it.provenance));
    let texts = system.chain(append).chain(context).chain(templates);
    let texts = texts.map(|(id, text, provenance)| (id, format!("{text}\0{provenance:?}")));
    let skill = |it: &super::Skill| (SourceId::of_skill(&it.name), format!("{}\0{:?}", it.digest, it.provenance));
    let all = texts.chain(resources.skills.iter().map(skill));
    all.map(|(id, text)| (id, Digest::of(text.as_bytes()))).collect()
}
