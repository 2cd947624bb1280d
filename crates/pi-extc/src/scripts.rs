//! Extensions in JavaScript that ask to run as components: `componentize-qjs` puts them into one, together with an engine.
//!
//! They are written for the interface of components: they import connectors by their full names and export a `guest`. The
//! program that makes the component is not ours and not part of us; who wants it installs it beside the extension.

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    process::{Output, Stdio},
    sync::atomic::{AtomicU64, Ordering},
};

use pi_extproto::schema::WIT;
use tokio::process::Command;

use crate::{bundler::protocol::Built, fault::BuildFault, file};

/// The package from npm, and the program of the same name.
const PACKAGE: &str = "componentize-qjs";
const WORLD: &str = "extension";
/// An engine without asynchronous functions, which our interface has none of, and the smaller one: it is compiled in a
/// third of the time.
const FLAGS: [&str; 2] = ["--sync", "--opt-size"];

/// Makes the component of a bundle. It takes seconds; dropping the future ends the program.
pub(crate) async fn componentize(root: &Path, cache: &Path, built: &Built) -> Result<Vec<u8>, BuildFault> {
    let bench = Bench::new(cache)?;
    let (script, made) = (bench.0.join("extension.js"), bench.0.join("extension.wasm"));
    bench.write(&script, built.bundle.as_bytes())?;
    let interface = bench.0.join("extension.wit");
    bench.write(&interface, WIT.as_bytes())?;
    let arguments: [OsString; 8] = [
        "-w".into(),
        interface.into(),
        "-j".into(),
        script.into(),
        "-n".into(),
        WORLD.into(),
        "-o".into(),
        made.clone().into(),
    ];
    let output = run(root, &bench.0, &arguments).await?;
    if !output.status.success() {
        let said = [&output.stderr, &output.stdout].map(|it| String::from_utf8_lossy(it).trim().to_owned()).join("\n");
        return Err(BuildFault::Compiler { path: root.to_path_buf(), said: said.trim().to_owned() });
    }
    file::read_source(&made)
}

/// Runs the package that is installed beside the extension, or else the program of its name.
async fn run(root: &Path, folder: &Path, arguments: &[OsString]) -> Result<Output, BuildFault> {
    let missing = || BuildFault::NoComponentizer { path: root.to_path_buf() };
    match installed(root) {
        Some(package) => {
            let node = start("node", folder, &[&[package.into_os_string()], arguments].concat()).await;
            node.map_err(|source| BuildFault::NoNode { source })
        }
        None => start(PACKAGE, folder, arguments).await.map_err(|_| missing()),
    }
}

/// The program of the package, in a folder of packages from which the extension may import.
fn installed(root: &Path) -> Option<PathBuf> {
    let places = root.ancestors().map(|folder| folder.join("node_modules").join(PACKAGE).join("bin").join(PACKAGE));
    places.into_iter().find(|path| path.is_file())
}

async fn start(program: &str, folder: &Path, arguments: &[OsString]) -> io::Result<Output> {
    #[expect(clippy::disallowed_methods, reason = "the one place where this crate starts the maker of components")]
    let mut command = std::process::Command::new(program);
    command.args(arguments).args(FLAGS).current_dir(folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Command::from(command).kill_on_drop(true).output().await
}

/// A folder to work in. It is removed when this is dropped.
struct Bench(PathBuf);

impl Bench {
    fn new(cache: &Path) -> Result<Self, BuildFault> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = cache.join("componentize").join(format!("{}-{number}", std::process::id()));
        let unwritable = |source| BuildFault::Unwritable { path: folder.clone(), source };
        // What a process of the same number left behind is of no use to anybody.
        file::remove_folder(&folder).and_then(|()| file::make_folder(&folder)).map_err(unwritable)?;
        Ok(Self(folder))
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), BuildFault> {
        file::replace(path, bytes, 0o600).map_err(|source| BuildFault::Unwritable { path: path.to_path_buf(), source })
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if let Err(error) = file::remove_folder(&self.0) {
            tracing::debug!(folder = %self.0.display(), %error, "a folder is left behind");
        }
    }
}
