//! How a path is written: from the text of a caller to one absolute form, and which of two such forms lies in the other.

use crate::case::is_same;

/// How paths are written on the machine that will open them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathStyle {
    Unix,
    /// Written as on Unix, but names that differ only in case are one file.
    Mac,
    Windows,
}

/// Why a text is not a path that we would judge. The caller's fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathFault {
    #[error("the path is empty")]
    Empty,
    #[error("the path contains a NUL")]
    Nul,
    #[error("the path is not absolute")]
    NotAbsolute,
    #[error("the path begins with ~ and the home folder is not known")]
    NoHome,
    #[error("the path is relative to the current folder of a drive")]
    DriveRelative,
    #[error("the path names a device")]
    Device,
    #[error("the path names a stream of a file")]
    Stream,
    #[error("the path may be the short form of another name")]
    ShortName,
}

/// Names that Windows gives to devices, in every folder and with any ending.
const DEVICES: [&str; 6] = ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"];

impl PathStyle {
    /// The style of the machine that this program was built for.
    pub const HOST: Self = if cfg!(windows) {
        Self::Windows
    } else if cfg!(target_os = "macos") {
        Self::Mac
    } else {
        Self::Unix
    };

    /// Whether two names mean one file in the same folder.
    pub(super) fn is_same_name(self, one: &str, other: &str) -> bool {
        match self {
            Self::Unix => one == other,
            Self::Mac | Self::Windows => is_same(one, other),
        }
    }

    /// Where, in `path`, the part below `folder` begins; the length of `path` if it is the folder itself.
    pub(super) fn below(self, folder: &str, path: &str) -> Option<usize> {
        // Name by name, because two forms of a name may differ in length.
        let mut names = path.split('/');
        let mut start = 0;
        for expected in folder.trim_end_matches('/').split('/') {
            let found = names.next()?;
            start += self.is_same_name(found, expected).then_some(found.len() + 1)?;
        }
        Some(start.min(path.len()))
    }
}

pub(super) fn join(folder: &str, name: &str) -> String {
    format!("{}/{name}", folder.trim_end_matches('/'))
}

/// The absolute form of a path. A path without a root counts from `base`, which is in absolute form already.
pub(super) fn normalise(style: PathStyle, written: &str, base: Option<&str>) -> Result<String, PathFault> {
    if written.is_empty() {
        return Err(PathFault::Empty);
    }
    if written.contains('\0') {
        return Err(PathFault::Nul);
    }
    match style {
        PathStyle::Unix | PathStyle::Mac => match (written.starts_with('/'), base) {
            (true, _) => Ok(resolve("/", [written])),
            (false, Some(base)) => Ok(resolve("/", [base, written])),
            (false, None) => Err(PathFault::NotAbsolute),
        },
        PathStyle::Windows => normalise_windows(&written.replace('\\', "/"), base),
    }
}

fn normalise_windows(written: &str, base: Option<&str>) -> Result<String, PathFault> {
    if ["//?/", "//./", "/??/"].iter().any(|prefix| written.starts_with(prefix)) {
        return Err(PathFault::Device);
    }
    let (root, rest) = match (volume(written), base) {
        (Some((root, rest)), _) => (root, rest.to_owned()),
        (None, _) if written.as_bytes().get(1) == Some(&b':') => return Err(PathFault::DriveRelative),
        (None, None) => return Err(PathFault::NotAbsolute),
        (None, Some(base)) => {
            let (root, below) = volume(base).ok_or(PathFault::NotAbsolute)?;
            let rest = if written.starts_with('/') { written.to_owned() } else { format!("{below}/{written}") };
            (root, rest)
        }
    };
    let names = rest.split('/').map(windows_name).collect::<Result<Vec<_>, _>>()?;
    Ok(resolve(&root, names))
}

/// Divides `C:/a` and `//server/share/a` into the root and the rest.
fn volume(path: &str) -> Option<(String, &str)> {
    if let Some(rest) = path.strip_prefix("//") {
        let (server, rest) = rest.split_once('/')?;
        let (share, rest) = rest.split_once('/').unwrap_or((rest, ""));
        let named = !server.is_empty() && !share.is_empty() && ![".", ".."].contains(&share);
        return named.then(|| (format!("//{server}/{share}/"), rest));
    }
    match path.as_bytes() {
        [drive, b':', b'/', ..] if drive.is_ascii_alphabetic() => {
            Some((format!("{}:/", char::from(drive.to_ascii_uppercase())), &path[3..]))
        }
        _ => None,
    }
}

/// Windows drops dots and blanks at the end of a name, and gives meaning to names that look ordinary.
fn windows_name(name: &str) -> Result<&str, PathFault> {
    if [".", "..", ""].contains(&name) {
        return Ok(name);
    }
    let kept = name.trim_end_matches(['.', ' ']);
    let stem = kept.split('.').next().unwrap_or(kept).trim_end();
    if is_numbered_device(stem) || DEVICES.iter().any(|device| stem.eq_ignore_ascii_case(device)) {
        return Err(PathFault::Device);
    }
    if kept.contains(':') {
        return Err(PathFault::Stream);
    }
    if kept.is_empty() {
        return Err(PathFault::Empty);
    }
    if is_short(stem) {
        return Err(PathFault::ShortName);
    }
    Ok(kept)
}

/// `COM1` or `LPT²`: Windows takes the three raised digits of Latin-1 for digits.
fn is_numbered_device(stem: &str) -> bool {
    let mut number = stem.get(3..).unwrap_or_default().chars();
    let numbered = matches!((number.next(), number.next()), (Some('0'..='9' | '\u{b9}' | '\u{b2}' | '\u{b3}'), None));
    numbered && ["COM", "LPT"].iter().any(|device| stem[..3].eq_ignore_ascii_case(device))
}

/// `LONGNA~1`: at most eight characters, of which the last are `~` and a number.
fn is_short(stem: &str) -> bool {
    let digits = |tail: &str| !tail.is_empty() && tail.bytes().all(|byte| byte.is_ascii_digit());
    stem.len() <= 8 && stem.rsplit_once('~').is_some_and(|(_, tail)| digits(tail))
}

/// Puts names behind a root that ends in `/`; `..` at the root stays there, as systems do.
fn resolve<'a>(root: &str, parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in parts.into_iter().flat_map(|part| part.split('/')) {
        match name {
            "" | "." => {}
            ".." => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    format!("{root}{}", names.join("/"))
}
