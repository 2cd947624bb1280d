//! Where a guest is, as it may know it.

use std::collections::BTreeMap;

use serde::Serialize;

/// Folders and names that an extension asks its host for. None of them is a right to touch anything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    pub cwd: String,
    pub agent_dir: String,
    /// The folder of the extension.
    pub extension_dir: String,
    /// Its entry.
    pub entry: String,
    pub data_dir: String,
    pub temp_dir: String,
    pub home_dir: String,
    pub platform: String,
    pub arch: String,
    pub pid: u32,
    /// Who runs this program; nobody where users have no numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<User>,
    pub exec_path: String,
    pub argv: Vec<String>,
    pub hostname: String,
    pub versions: BTreeMap<String, String>,
}

/// The numbers of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct User {
    pub uid: u32,
    pub gid: u32,
}

/// Who runs this program.
pub fn user() -> Option<User> {
    #[cfg(unix)]
    let user = Some(User { uid: rustix::process::getuid().as_raw(), gid: rustix::process::getgid().as_raw() });
    #[cfg(not(unix))]
    let user = None;
    user
}

/// The system as Node names it.
pub fn platform() -> &'static str {
    match std::env::consts::OS {
        "macos" => "darwin",
        "windows" => "win32",
        other => other,
    }
}

/// The processor as Node names it.
pub fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        "x86" => "ia32",
        other => other,
    }
}
