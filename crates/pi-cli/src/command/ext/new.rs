//! `pi ext new`: an extension to start from, with a test, that works as it is.

use std::path::{Path, PathBuf};

use pi_extproto::manifest;

use crate::{
    arguments::ext::ExtNewArguments,
    console::Console,
    exit::Exit,
    failure::Failure,
    input,
    refusal::{Cause, Refusal},
};

/// What is written, with the name for `{name}`.
struct Template {
    manifest: &'static str,
    package: &'static str,
    entry: &'static str,
    test: &'static str,
}

const COMMAND: Template = Template {
    manifest: include_str!("new/extension.json"),
    package: include_str!("new/package.json"),
    entry: include_str!("new/command.ts"),
    test: include_str!("new/command.test.mjs"),
};
const TOOL: Template =
    Template { entry: include_str!("new/tool.ts"), test: include_str!("new/tool.test.mjs"), ..COMMAND };

pub(crate) fn run(arguments: &ExtNewArguments, console: &mut Console) -> Result<Exit, Failure> {
    let template = if arguments.tool { TOOL } else { COMMAND };
    let folder = arguments.output.clone().unwrap_or_else(|| PathBuf::from(&arguments.name));
    let files = [
        ("extension.json", template.manifest),
        ("package.json", template.package),
        ("index.ts", template.entry),
        ("index.test.mjs", template.test),
    ]
    .map(|(file, text)| (folder.join(file), text.replace("{name}", &arguments.name)));
    let (file, text) = &files[0];
    if let Err(problems) = manifest::parse(text.as_bytes()) {
        let refusal = Refusal { cause: Cause::Shape, problems };
        return Err(Failure::NotAManifest { file: file.display().to_string(), refusal });
    }
    // All or nothing: somebody's work may lie there.
    if let Some((taken, _)) = files.iter().find(|(file, _)| file.exists()) {
        let source = std::io::ErrorKind::AlreadyExists.into();
        return Err(Failure::UnwritableFile { file: taken.display().to_string(), source });
    }
    for (file, text) in &files {
        input::make_folder_of(file)?;
        input::write_new(file, text)?;
    }
    report(&folder, console);
    Ok(Exit::Success)
}

fn report(folder: &Path, console: &mut Console) {
    let folder = folder.display();
    console.line(&format!("written to {folder}: index.ts, its test and two manifests"));
    console.remark(&format!("`pi ext build {folder}` builds it; `node --test` in it runs the test (Node 18 or later)"));
}
