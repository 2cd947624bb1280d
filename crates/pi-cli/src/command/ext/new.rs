//! `pi ext new`: an extension to start from, with a test, that works as it is.

use std::path::{Path, PathBuf};

use pi_extproto::manifest;

use super::sdk;
use crate::{
    arguments::ext::{ExtNewArguments, NewEngine},
    console::Console,
    env::Environment,
    exit::Exit,
    failure::{ExtFailure, Failure},
    input,
};

/// A file, and what is written into it, with the name for `{name}`.
type Part = (&'static str, &'static str);

const WASM: [Part; 4] = [
    ("extension.json", include_str!("new/wasm/extension.json")),
    ("Cargo.toml", include_str!("new/wasm/Cargo.toml.txt")),
    ("src/lib.rs", include_str!("new/wasm/lib.rs.txt")),
    (".gitignore", "/target/\n"),
];
const BOTH: [Part; 4] = [
    ("extension.json", include_str!("new/extension.json")),
    ("package.json", include_str!("new/package.json")),
    ("index.ts", include_str!("new/both.ts")),
    ("index.test.mjs", include_str!("new/both.test.mjs")),
];
const TOOL: [Part; 4] = [
    BOTH[0],
    BOTH[1],
    ("index.ts", include_str!("new/tool.ts")),
    ("index.test.mjs", include_str!("new/tool.test.mjs")),
];

pub(crate) fn run(
    arguments: &ExtNewArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let template = match (arguments.engine, arguments.tool) {
        (NewEngine::Wasm, _) => WASM,
        (NewEngine::Js, false) => BOTH,
        (NewEngine::Js, true) => TOOL,
    };
    let folder = arguments.output.clone().unwrap_or_else(|| PathBuf::from(&arguments.name));
    // Names of crates have no dots and slashes.
    let crate_name: String =
        arguments.name.chars().map(|it| if it.is_ascii_alphanumeric() || it == '-' { it } else { '_' }).collect();
    let crate_name = crate_name.trim_start_matches('_');
    let files = template.map(|(file, text)| {
        (folder.join(file), text.replace("{name}", &arguments.name).replace("{crate}", crate_name))
    });
    let (_, text) = &files[0];
    if let Err(problems) = manifest::parse(text.as_bytes()) {
        // All but the name is ours.
        let expected = problems.into_iter().map(|problem| problem.message).collect::<Vec<_>>().join("; ");
        return Err(ExtFailure::NotAName { name: arguments.name.clone(), expected }.into());
    }
    // All or nothing: somebody's work may lie there.
    let own = [folder.join(sdk::FOLDER)];
    let own = own.iter().filter(|_| arguments.engine == NewEngine::Wasm);
    if let Some(taken) = files.iter().map(|(file, _)| file).chain(own).find(|path| path.exists()) {
        let source = std::io::ErrorKind::AlreadyExists.into();
        return Err(Failure::UnwritableFile { file: taken.display().to_string(), source });
    }
    for (file, text) in &files {
        input::make_folder_of(file)?;
        input::write_new(file, text)?;
    }
    match arguments.engine {
        NewEngine::Wasm => sdk::write(&folder.join(sdk::FOLDER))?,
        NewEngine::Js => {}
    }
    report(&folder, arguments, environment, console);
    Ok(Exit::Success)
}

fn report(folder: &Path, arguments: &ExtNewArguments, environment: &Environment, console: &mut Console) {
    let folder = folder.display();
    match arguments.engine {
        NewEngine::Wasm => {
            console.line(&format!("written to {folder}: a crate in Rust with its tests, its manifest and the SDK"));
            console.remark(&format!(
                "`pi ext build {folder}` builds it (`rustup target add wasm32-wasip2` once), and `pi -e {folder}` runs what was built; `cargo test` in it runs the tests"
            ));
        }
        NewEngine::Js => {
            console.line(&format!("written to {folder}: index.ts, its test and two manifests"));
            let command = match arguments.tool {
                true => String::new(),
                false => format!(", `pi -e {folder} -p '/hello Ada'` runs its command"),
            };
            console.remark(&format!(
                "`pi -e {folder}` runs it as it is, `pi ext run-tool {folder} hello '{{\"name\":\"Ada\"}}'` calls its tool{command}; `node --test` in it runs the test (Node 18 or later)"
            ));
        }
    }
    let usual = environment.home.as_ref().map(|home| home.join(".pi/agent"));
    let agent = match &environment.agent_directory {
        Some(elsewhere) if Some(elsewhere) != usual.as_ref() => elsewhere.display().to_string(),
        Some(_) | None => "~/.pi/agent".to_owned(),
    };
    console.remark(&format!(
        "in every session: `mkdir -p {agent}/extensions && mv {folder} {agent}/extensions/`; in those of one project, once it is trusted: `mkdir -p .pi/extensions && mv {folder} .pi/extensions/`; `/reload` finds it in a chat that is open"
    ));
}
