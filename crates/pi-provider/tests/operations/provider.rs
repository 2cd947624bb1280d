//! Manifests that come with the program, as tests use them.

use pi_provider::{
    Manifest, builtin,
    manifest::load::{Format, load},
    request::Target,
};

/// A manifest that comes with the program.
pub(crate) fn built_in(id: &str) -> Manifest {
    let built_in = builtin::find(id).expect("it is built in");
    load(built_in.text, &built_in.path(), Format::Yaml).manifest.expect("tests load every one")
}

/// A model of this provider; the environment is empty.
pub(crate) fn target<'a>(manifest: &'a Manifest, model: &'a str) -> Target<'a> {
    Target { manifest, model, entry: manifest.models.get(model), base_url: None, lookup: &|_| None }
}
