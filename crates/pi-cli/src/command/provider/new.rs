//! `pi provider new`: a manifest to start from, with comments, that is valid as it is.

use std::{collections::BTreeMap, sync::LazyLock};

use pi_provider::{
    builtin,
    manifest::{Format, load},
    transport::is_on_this_machine,
};
use serde::Deserialize;
use url::Url;

use crate::{
    arguments::model::{NewArguments, Speech},
    choice,
    console::Console,
    exit::Exit,
    failure::{Failure, ModelFailure},
    input,
};

const TEMPLATE: &str = include_str!("new.yaml");

/// What differs between dialects, as text.
#[derive(Deserialize)]
struct Parts {
    about: String,
    chat: String,
    auth: String,
    /// The same for a server on this machine, which usually asks for nothing.
    keyless: String,
    decoder: String,
    parameters: String,
}

static PARTS: LazyLock<BTreeMap<String, Parts>> =
    LazyLock::new(|| serde_saphyr::from_str(include_str!("dialects.yaml")).expect("our own file, read by a test"));

pub(crate) fn run(arguments: &NewArguments, console: &mut Console) -> Result<Exit, Failure> {
    let address = choice::checked(&arguments.base_url)?;
    let text = filled(&arguments.id, &address, arguments.dialect, &arguments.model);
    let loaded = load(&text, "the new manifest", Format::Yaml);
    if let Some(error) = loaded.errors().next() {
        let reason = error.hint.clone();
        return Err(ModelFailure::NotAnId { id: arguments.id.clone(), reason }.into());
    }
    if builtin::find(&arguments.id).is_some() {
        console.note(&format!("{} comes with pi; this file would replace it", arguments.id));
    }
    match &arguments.output {
        None => console.line(text.trim_end()),
        Some(path) => {
            input::make_folder_of(path)?;
            input::write_new(path, &text)?;
            let file = path.display();
            console.remark(&format!(
                "written to {file}; `pi provider validate {file}` checks it once you have changed it"
            ));
        }
    }
    Ok(Exit::Success)
}

fn filled(id: &str, address: &str, dialect: Speech, model: &str) -> String {
    let parts = PARTS.get(dialect.word()).expect("every dialect has parts, which a test looks at");
    let variable = format!("{}_API_KEY", id.to_uppercase().replace('-', "_"));
    let is_near = Url::parse(address).is_ok_and(|url| is_on_this_machine(&url));
    let auth = if is_near { &parts.keyless } else { &parts.auth };
    // Names of models may hold anything; a quoted text of JSON is one of YAML too.
    let model = serde_json::to_string(model).expect("a text is plain JSON");
    let blocks = [
        ("{about}", parts.about.as_str()),
        ("{chat}", &parts.chat),
        ("{auth}", auth.trim_end()),
        ("{decoder}", &parts.decoder),
        ("{parameters}", parts.parameters.trim_end()),
        ("{model_key}", &model),
        ("{variable}", &variable),
        ("{id}", id),
        ("{base_url}", address),
    ];
    blocks.iter().fold(TEMPLATE.to_owned(), |text, (mark, block)| text.replace(mark, block))
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum as _;
    use pi_provider::{Dialect, manifest::endpoint::Placement};

    use super::*;

    #[test]
    fn dialects_are_called_as_in_manifests() {
        let words: Vec<&str> = Speech::value_variants().iter().map(|dialect| dialect.word()).collect();
        assert_eq!(words, Dialect::STRATEGIES);
        for dialect in Speech::value_variants() {
            let name = dialect.to_possible_value().expect("none is hidden");
            assert_eq!(name.get_name(), dialect.word());
        }
    }

    #[test]
    fn template_is_a_valid_manifest_of_which_everything_is_known() {
        let near = ("http://127.0.0.1:8080/v1", None);
        let far = ("https://models.example/v1", Some("MY_SERVER_2_API_KEY"));
        let each = Speech::value_variants().iter().flat_map(|dialect| [(dialect, near), (dialect, far)]);
        for (dialect, (address, variable)) in each {
            let text = filled("my-server_2", address, *dialect, "org/model: one");
            let loaded = load(&text, "new.yaml", Format::Yaml);
            assert_eq!((loaded.diagnostics, loaded.ignored), (vec![], vec![]), "{text}");
            let manifest = loaded.manifest.expect("it is valid");
            assert_eq!(manifest.id.as_str(), "my-server_2");
            assert_eq!(manifest.endpoint.auth.token_env.as_deref(), variable);
            assert_eq!(manifest.endpoint.auth.placement == Placement::None, variable.is_none(), "{text}");
            assert_eq!(manifest.models.keys().collect::<Vec<_>>(), ["org/model: one"]);
            assert_eq!(Some(Dialect::of(&manifest, None)), Dialect::from_word(dialect.word()), "{text}");
        }
    }

    #[test]
    fn types_that_the_comment_lists_are_known_and_statuses_that_it_calls_for_are_needed() {
        let addresses = ["http://127.0.0.1:8080/v1", "https://models.example/v1"];
        let each = Speech::value_variants().iter().flat_map(|dialect| addresses.map(|address| (dialect, address)));
        for (dialect, address) in each {
            let text = filled("workshop", address, *dialect, "m");
            let (_, line) = text.split_once("  auth:\n    type: ").expect("it says how");
            let (written, rest) = line.split_once(' ').expect("a comment follows");
            let (_, listed) = rest.split_once("# or ").expect("it lists others");
            let listed: Vec<&str> = listed.split(": docs").next().unwrap_or_default().split(", ").collect();
            assert_eq!(listed.len(), 3, "{text}");
            for other in listed {
                let changed = text.replacen(&format!("type: {written} "), &format!("type: {other} "), 1);
                let rules: Vec<&str> =
                    load(&changed, "new.yaml", Format::Yaml).errors().map(|it| it.rule.name()).collect();
                assert!(!rules.contains(&"ring1.auth-type"), "{other}: {rules:?}");
            }
            for status in ["400", "401", "403", "404", "429", "500", "503"] {
                let is_called_for = text.lines().any(|line| line.ends_with("must be there.") && line.contains(status));
                let line = text.lines().find(|line| line.contains(&format!("\"{status}\":"))).expect("it is mapped");
                let loaded = load(&text.replace(&format!("{line}\n"), ""), "new.yaml", Format::Yaml);
                assert_eq!(is_called_for, !loaded.diagnostics.is_empty(), "{status}: {:?}", loaded.diagnostics);
            }
        }
    }
}
