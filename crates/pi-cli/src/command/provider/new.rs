//! `pi provider new`: a manifest to start from, with comments, that is valid as it is.

use pi_provider::{
    builtin,
    manifest::{Format, load},
};

use crate::{
    arguments::model::NewArguments,
    choice,
    console::Console,
    exit::Exit,
    failure::{Failure, ModelFailure},
    input,
};

/// A server of the OpenAI kind, as nearly all are.
const TEMPLATE: &str = include_str!("new.yaml");

pub(crate) fn run(arguments: &NewArguments, console: &mut Console) -> Result<Exit, Failure> {
    let address = choice::checked(&arguments.base_url)?;
    let text = filled(&arguments.id, &address);
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
            input::write_new(path, &text)?;
            let file = path.display();
            console.remark(&format!(
                "written to {file}; `pi provider validate {file}` checks it once you have changed it"
            ));
        }
    }
    Ok(Exit::Success)
}

fn filled(id: &str, address: &str) -> String {
    let variable = format!("{}_API_KEY", id.to_uppercase().replace('-', "_"));
    TEMPLATE.replace("{id}", id).replace("{base_url}", address).replace("{variable}", &variable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn template_is_a_valid_manifest_of_which_everything_is_known() {
        let loaded = load(&filled("my-server_2", "http://127.0.0.1:8080/v1"), "new.yaml", Format::Yaml);
        assert_eq!((loaded.diagnostics, loaded.ignored), (vec![], vec![]));
        let manifest = loaded.manifest.expect("it is valid");
        assert_eq!(manifest.id.as_str(), "my-server_2");
        assert_eq!(manifest.endpoint.auth.token_env.as_deref(), Some("MY_SERVER_2_API_KEY"));
    }
}
