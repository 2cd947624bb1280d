//! What of a project is guarded because pi runs it, or because credentials stand in it.
//!
//! Everything here looks at the disk.

use std::path::{Path, PathBuf};

use pi_guests::mcp::{Route, Server, places::Where};
use pi_policy::{Extent, Mark, PathStyle};
use pi_tools::files::real_text;

use super::extensions::Named;
use crate::{env::Environment, servers};

/// What a folder holds that a program is started from.
const MANIFESTS: [&str; 8] =
    ["package.json", "pyproject.toml", "setup.py", "__main__.py", "Cargo.toml", "go.mod", "deno.json", "index.js"];

/// The files in which servers are written, and with them perhaps what those are to know: settings too, which are everybody's to
/// read otherwise.
pub(crate) fn of_settings(directory: &Path, environment: &Environment) -> Vec<Mark> {
    let agent = environment.agent_directory.clone();
    // Whether or not they are started: what stands there stands there.
    let places = Where { project: directory.to_owned(), is_trusted: true, agent };
    let files = servers::written_in(&places).into_iter();
    files.filter_map(|file| Mark::credentials(PathStyle::HOST, &real_text(&file)?).ok()).collect()
}

/// The code of extensions in a project.
pub(crate) fn of_extensions(directory: &Path, named: &[Named]) -> Vec<Mark> {
    let Some(project) = real_text(directory) else { return Vec::new() };
    let marks = named.iter().flat_map(|Named { id, folders, files }| {
        // An extension in the folder of the project itself consists of its files.
        let folders = folders.iter().filter(move |folder| !directory.starts_with(folder)).map(|it| (it, Extent::Tree));
        let files = files.iter().map(|file| (file, Extent::File));
        folders.chain(files).map(move |(path, extent)| (id, path, extent))
    });
    let mark = |(id, path, extent): (&String, &PathBuf, Extent)| {
        let path = real_text(path).filter(|path| is_below(&project, path))?;
        Mark::program(PathStyle::HOST, &path, extent, Some(id.as_str())).ok()
    };
    marks.filter_map(mark).collect()
}

/// The programs in a project that servers are started from.
pub(crate) fn of_servers<'a>(directory: &Path, servers: impl IntoIterator<Item = &'a Server>) -> Vec<Mark> {
    let Some(project) = real_text(directory) else { return Vec::new() };
    let routes = servers.into_iter().filter(|server| !server.is_disabled).filter_map(|server| match &server.route {
        Route::Process(process) => Some(Words {
            command: &process.command,
            arguments: &process.arguments,
            values: process.variables.values().collect(),
            folder: process.folder.as_deref(),
        }),
        Route::Http(_) => None,
    });
    let mut marks = Vec::new();
    for (path, extent) in routes.flat_map(|words| programs(directory, &words)) {
        // A link of the project and what it leads to: both would be run.
        let written = path.to_str().map(|path| path.replace(&*directory.to_string_lossy(), &project));
        for path in [written, real_text(&path)].into_iter().flatten() {
            let mark = Mark::program(PathStyle::HOST, &path, extent, None).ok();
            marks.extend(mark.filter(|mark| is_below(&project, mark.path())));
        }
    }
    marks
}

/// What an entry says about the program of its server.
struct Words<'a> {
    command: &'a str,
    arguments: &'a [String],
    /// Of variables.
    values: Vec<&'a String>,
    folder: Option<&'a str>,
}

/// What an entry names that could be a program, or hold one.
fn programs(directory: &Path, words: &Words<'_>) -> Vec<(PathBuf, Extent)> {
    let Words { command, arguments, values, folder } = words;
    let folder = folder.map(|folder| directory.join(folder));
    let base = folder.clone().unwrap_or_else(|| directory.to_owned());
    let mut found: Vec<_> = folder.into_iter().map(|folder| (folder, Extent::Tree)).collect();
    // A command without a folder is one of the system.
    if command.contains('/') || command.contains('\\') {
        found.push((base.join(command), Extent::File));
    }
    let words = arguments.iter().chain(values.iter().copied()).flat_map(|text| {
        // A value of an option, a path with blanks in it, or a line of a shell.
        let value = text.split_once('=').map(|(_, value)| value);
        let whole = if text.contains(char::is_whitespace) { Some(text.as_str()) } else { None };
        [whole, value].into_iter().flatten().chain(text.split_whitespace())
    });
    for word in words {
        let path = base.join(word.trim_matches(['"', '\'', ';']));
        // What is not built yet, and neither an address nor a line.
        let is_path = word.contains('/') && !word.contains("://") && !word.contains(char::is_whitespace);
        if path.is_dir() {
            let holds_one = MANIFESTS.iter().any(|name| path.join(name).is_file());
            found.extend(holds_one.then_some((path, Extent::Tree)));
        } else if path.is_file() || (is_path && path.extension().is_some()) {
            found.push((path, Extent::File));
        }
    }
    let modules = arguments.windows(2).filter(|pair| pair[0] == "-m");
    for module in modules.map(|pair| base.join(pair[1].replace('.', "/"))) {
        match module.is_dir() {
            true => found.push((module, Extent::Tree)),
            false => found.push((module.with_extension("py"), Extent::File)),
        }
    }
    found
}

fn is_below(project: &str, path: &str) -> bool {
    Path::new(path) != Path::new(project) && Path::new(path).starts_with(project)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entry_names_the_programs_of_a_project() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |path: &str| folder.path().join(path);
        for path in ["tools/s.py", "server/package.json", "docs/a.md", "pkg/mod/__main__.py", "bin/run"] {
            crate::input::make_folder(at(path).parent().expect("a folder")).expect("a folder");
            crate::input::make_folder(&at("data")).expect("a folder");
            write(&at(path));
        }
        let check = |entry: (&str, &[&str], Option<&str>), expected: &[&str]| {
            let (command, arguments, cwd) = entry;
            let arguments: Vec<String> = arguments.iter().map(|&text| text.to_owned()).collect();
            let words = Words { command, arguments: &arguments, values: Vec::new(), folder: cwd };
            let named = programs(folder.path(), &words).into_iter().map(|(path, extent)| {
                let path = path.strip_prefix(folder.path()).expect("in the project").display().to_string();
                format!("{path}{}", if extent == Extent::Tree { "/" } else { "" })
            });
            assert_eq!(named.collect::<Vec<_>>(), expected, "{entry:?}");
        };
        check(("python", &["tools/s.py", "--verbose"], None), &["tools/s.py"]);
        check(("bin/run", &[], None), &["bin/run"]);
        check(("npx", &["-y", "@scope/files", "docs"], None), &[]);
        check(("uv", &["--directory=server", "run"], None), &["server/"]);
        check(("python", &["s.py"], Some("tools")), &["tools/", "tools/s.py"]);
        check(("node", &["dist/index.js"], None), &["dist/index.js"]);
        check(("python", &["-m", "pkg.mod"], None), &["pkg/mod/"]);
        check(("sh", &["-c", "exec python tools/s.py;"], None), &["tools/s.py"]);
    }

    #[expect(clippy::disallowed_methods, reason = "a file of a test")]
    fn write(path: &Path) {
        std::fs::write(path, "").expect("a file");
    }
}
