//! The TypeScript client, as somebody gets it who installs it: packed, installed into an empty project, and let loose on a
//! real server.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::cargo::{self, Beside};
use crate::files;
use crate::process::Program;
use crate::report::Verdict;

/// Which binary the tests start.
const BINARY: &str = "PI_TEST_BINARY";
/// What an empty project says about itself; a package cannot find itself by name without it.
const PROJECT: &str = r#"{"name":"pi-client-tried","private":true,"type":"module"}"#;

/// Builds, packs, installs and tests the client. Skipped without Node.
pub(crate) fn check() -> Result<Verdict> {
    for program in ["node", "npm"] {
        if !Program::new(program).arg("--version").works() {
            return Ok(Verdict::Skipped(format!("{program} is not installed")));
        }
    }
    let client = cargo::root().join("clients/typescript");
    let tried = cargo::target_folder()?.join("typescript-client");
    files::remove_folder(&tried)?;
    files::make_folder(&tried)?;
    if let Err(error) = npm(&client).arg("ci").succeed() {
        return Ok(Verdict::Skipped(format!("what the client is compiled with could not be installed: {error:#}")));
    }
    npm(&client).args(["pack", "--pack-destination"]).arg(&tried).succeed()?;
    files::write(&tried.join("package.json"), PROJECT.as_bytes())?;
    npm(&tried).arg("install").arg(packed(&tried)?).succeed()?;
    for test in files::entries(&client.join("test"))? {
        let name = test.file_name().context("a test has a name")?.to_owned();
        files::make_folder(&tried.join("test"))?;
        files::write(&tried.join("test").join(name), files::read(&test)?.as_bytes())?;
    }
    let pi = cargo::build_pi(Beside::Tests)?;
    let tests = Program::new("node").args(["--test", "test/"]).folder(&tried).env(BINARY, pi);
    let line = tests.to_string();
    let finished = tests.show()?;
    Ok(match finished.status.success() {
        true => Verdict::Passed(String::new()),
        false => Verdict::Failed(format!("{line}: {}", finished.status)),
    })
}

fn npm(folder: &Path) -> Program {
    Program::new("npm").folder(folder).env("npm_config_fund", "false").env("npm_config_audit", "false")
}

/// The one package in the folder.
fn packed(folder: &Path) -> Result<PathBuf> {
    let all = files::entries(folder)?;
    all.into_iter().find(|path| path.extension().is_some_and(|it| it == "tgz")).context("npm pack made no package")
}
