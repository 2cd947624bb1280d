//! Opens a page in the browser of the person at the screen, if there is one.

use std::{
    ffi::OsStr,
    io,
    path::Path,
    process::{Command, Stdio},
};

/// Whether a browser was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opened {
    Yes,
    /// Nobody could see it: a server, a container, a connection without a screen.
    NoDisplay,
}

/// Asks the desktop to open a file, and does not wait for it.
pub(crate) fn open(file: &Path) -> io::Result<Opened> {
    // A relative name that begins with a dash would be an option.
    start(std::path::absolute(file)?.as_os_str())
}

/// Asks the desktop to open an address of ours, and does not wait for it.
pub(crate) fn open_address(address: &str) -> io::Result<Opened> {
    start(OsStr::new(address))
}

/// The opener is found by its fixed name, and what it opens is an argument of its own: no shell reads it.
fn start(what: &OsStr) -> io::Result<Opened> {
    if !has_display() {
        return Ok(Opened::NoDisplay);
    }
    let opener = if cfg!(target_os = "macos") {
        "open"
    } else if cfg!(windows) {
        "explorer"
    } else {
        "xdg-open"
    };
    #[expect(clippy::disallowed_methods, reason = "the one place in which this crate starts a program for the person")]
    let mut command = Command::new(opener);
    command.arg(what).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    Ok(Opened::Yes)
}

fn has_display() -> bool {
    if cfg!(any(target_os = "macos", windows)) {
        return true;
    }
    ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| crate::env::lookup(name).is_some_and(|value| !value.is_empty()))
}
