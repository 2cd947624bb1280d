//! Where a path lies, found without touching a disk.
//!
//! A path is taken apart as text, `.` and `..` are resolved as text, and the result is assigned to a [`Place`]. A grant
//! carries the resulting [`Location`], and an executor opens *that*, never the text that the caller wrote. Links are
//! the executor's matter: it opens files relative to the root of the place and refuses links that leave it.

use std::fmt;

use crate::case::is_same;

/// How paths are written on the machine that will open them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathStyle {
    Unix,
    /// Written as on Unix, but names that differ only in case are one file.
    Mac,
    Windows,
}

/// What a path belongs to, from the point of view of one subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    Project,
    /// The folder that the extension was loaded from.
    Own,
    /// What the extension keeps between runs.
    Data,
    Temporary,
    /// The agent directory, apart from the file of credentials.
    Agent,
    /// The file of credentials in the agent directory.
    Secret,
    Outside,
}

/// A folder that is set apart for a subject, beside the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Root {
    Own,
    Data,
    Temporary,
    Agent,
}

/// How much of what is below a path a call concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// The thing itself.
    File,
    /// A folder with everything in it.
    Tree,
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

/// The folders against which the paths of one subject are judged.
#[derive(Debug, Clone)]
pub struct Places {
    style: PathStyle,
    project: String,
    home: Option<String>,
    roots: Vec<(Place, String)>,
}

/// A path that was taken apart and found its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    place: Place,
    extent: Extent,
    absolute: String,
    /// The same in lower case: what denies are compared with.
    folded: String,
    /// Where the part relative to the project begins, in both texts.
    inside: Option<(usize, usize)>,
    /// Whether the project lies in this tree.
    around_project: bool,
}

/// The file of the agent directory that holds provider keys.
const SECRET: &str = "auth.json";

impl PathStyle {
    /// The style of the machine that this program was built for.
    pub const HOST: Self = if cfg!(windows) {
        Self::Windows
    } else if cfg!(target_os = "macos") {
        Self::Mac
    } else {
        Self::Unix
    };
}

impl Places {
    /// Starts with a project; everything else is [`Place::Outside`] until it is named.
    pub fn new(style: PathStyle, project: &str) -> Result<Self, PathFault> {
        let project = normalise(style, project, None)?;
        Ok(Self { style, project, home: None, roots: Vec::new() })
    }

    /// Says what `~` stands for.
    pub fn with_home(mut self, home: &str) -> Result<Self, PathFault> {
        self.home = Some(normalise(self.style, home, None)?);
        Ok(self)
    }

    /// Sets a folder apart. Where folders contain each other the innermost counts.
    pub fn with(mut self, root: Root, folder: &str) -> Result<Self, PathFault> {
        let folder = normalise(self.style, folder, None)?;
        let place = match root {
            Root::Own => Place::Own,
            Root::Data => Place::Data,
            Root::Temporary => Place::Temporary,
            Root::Agent => {
                self.roots.push((Place::Secret, join(&folder, SECRET)));
                Place::Agent
            }
        };
        self.roots.push((place, folder));
        Ok(self)
    }

    /// Finds the place of a path as a caller wrote it; a relative one counts from the project.
    pub fn locate(&self, written: &str, extent: Extent) -> Result<Location, PathFault> {
        let absolute = match (written.strip_prefix('~'), &self.home) {
            (Some(rest), home) if rest.is_empty() || rest.starts_with(['/', '\\']) => {
                let home = home.as_ref().ok_or(PathFault::NoHome)?;
                normalise(self.style, &format!("{home}/{rest}"), None)?
            }
            _ => normalise(self.style, written, Some(&self.project))?,
        };
        let inside = self.below(&self.project, &absolute);
        let innermost = self
            .roots
            .iter()
            .filter(|(_, folder)| self.below(folder, &absolute).is_some())
            .max_by_key(|(_, folder)| folder.len())
            .filter(|(_, folder)| inside.is_none() || folder.len() >= self.project.len());
        let place = match (innermost, inside) {
            (Some((place, _)), _) => *place,
            (None, Some(_)) => Place::Project,
            (None, None) => Place::Outside,
        };
        let folded = absolute.to_lowercase();
        let inside = inside.map(|start| (start, absolute[..start].to_lowercase().len()));
        let around_project = extent == Extent::Tree && self.below(&absolute, &self.project).is_some();
        Ok(Location { place, extent, absolute, folded, inside, around_project })
    }

    /// The folder for temporary files, if there is one.
    pub(crate) fn temporary(&self) -> Option<Location> {
        let (_, folder) = self.roots.iter().find(|(place, _)| *place == Place::Temporary)?;
        self.locate(folder, Extent::File).ok()
    }

    /// Where, in `path`, the part below `folder` begins; the length of `path` if it is the folder itself.
    fn below(&self, folder: &str, path: &str) -> Option<usize> {
        let folder = folder.trim_end_matches('/');
        let head = path.get(..folder.len())?;
        let same = match self.style {
            PathStyle::Unix => head == folder,
            PathStyle::Mac | PathStyle::Windows => is_same(head, folder),
        };
        match (same, path.as_bytes().get(folder.len())) {
            (true, None) => Some(path.len()),
            (true, Some(b'/')) => Some(folder.len() + 1),
            (true, Some(_)) | (false, _) => None,
        }
    }
}

impl Location {
    pub fn place(&self) -> Place {
        self.place
    }

    pub fn extent(&self) -> Extent {
        self.extent
    }

    /// The path to open: absolute, with `/` between names and without `.` or `..`.
    pub fn absolute(&self) -> &str {
        &self.absolute
    }

    /// The path from the project, empty for the project itself; nothing if it lies elsewhere.
    pub fn relative(&self) -> Option<&str> {
        self.inside.map(|(start, _)| &self.absolute[start..])
    }

    /// Whether this is a tree in which the whole project lies.
    pub(crate) fn is_around_project(&self) -> bool {
        self.around_project
    }

    pub(crate) fn folded(&self) -> &str {
        &self.folded
    }

    pub(crate) fn folded_relative(&self) -> Option<&str> {
        self.inside.map(|(_, start)| &self.folded[start..])
    }

    /// Whether `other` is this very path, or lies in this tree.
    pub(crate) fn contains(&self, other: &Self) -> bool {
        match other.absolute.strip_prefix(self.absolute.trim_end_matches('/')) {
            Some("") => self.extent == Extent::Tree || self.extent == other.extent,
            Some(rest) => self.absolute == other.absolute || (self.extent == Extent::Tree && rest.starts_with('/')),
            None => false,
        }
    }
}

/// The way a person would write it: from the project if it is in there, a folder with `/` at its end.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = match self.relative() {
            Some("") => ".",
            Some(relative) => relative,
            None => &self.absolute,
        };
        let end = if self.extent == Extent::Tree && !path.ends_with('/') { "/" } else { "" };
        write!(f, "{path}{end}")
    }
}

fn join(folder: &str, name: &str) -> String {
    format!("{}/{name}", folder.trim_end_matches('/'))
}

/// The absolute form of a path. A path without a root counts from `base`, which is in absolute form already.
fn normalise(style: PathStyle, written: &str, base: Option<&str>) -> Result<String, PathFault> {
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
    let numbered = ["COM", "LPT"]
        .iter()
        .any(|device| stem.get(..3).is_some_and(|head| head.eq_ignore_ascii_case(device)) && stem.chars().count() == 4);
    if numbered || ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"].iter().any(|it| stem.eq_ignore_ascii_case(it)) {
        return Err(PathFault::Device);
    }
    if kept.contains(':') {
        return Err(PathFault::Stream);
    }
    if kept.is_empty() {
        return Err(PathFault::Empty);
    }
    if stem.len() <= 8 && stem.split_once('~').is_some_and(|(_, tail)| tail.bytes().all(|byte| byte.is_ascii_digit())) {
        return Err(PathFault::ShortName);
    }
    Ok(kept)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn places(style: PathStyle, roots: [&str; 3]) -> Places {
        let [project, home, agent] = roots;
        let places = Places::new(style, project).and_then(|places| places.with_home(home));
        places.and_then(|places| places.with(Root::Agent, agent)).expect("absolute folders")
    }

    #[track_caller]
    fn check(places: &Places, written: &str, expected: &str) {
        let found = match places.locate(written, Extent::File) {
            Ok(location) => format!("{:?} {}", location.place(), location.absolute()),
            Err(fault) => fault.to_string(),
        };
        assert_eq!(found, expected, "{written:?}");
    }

    #[test]
    fn unix_paths_are_resolved_as_text() {
        let places = places(PathStyle::Unix, ["/home/u/work/", "/home/u", "/home/u/.pi/agent"]);
        check(&places, "src/main.rs", "Project /home/u/work/src/main.rs");
        check(&places, "./src//./a/../main.rs", "Project /home/u/work/src/main.rs");
        check(&places, ".", "Project /home/u/work");
        check(&places, "src/../../etc/passwd", "Outside /home/u/etc/passwd");
        check(&places, "../../../../../../etc/passwd", "Outside /etc/passwd");
        check(&places, "../work/src/a", "Project /home/u/work/src/a");
        check(&places, "../work2/a", "Outside /home/u/work2/a");
        check(&places, "/etc/passwd", "Outside /etc/passwd");
        check(&places, "/home/u/work/../work/a", "Project /home/u/work/a");
        check(&places, "/", "Outside /");
        check(&places, "~/.ssh/id_rsa", "Outside /home/u/.ssh/id_rsa");
        check(&places, "~", "Outside /home/u");
        check(&places, "~root", "Project /home/u/work/~root");
        check(&places, "~/.pi/agent/settings.json", "Agent /home/u/.pi/agent/settings.json");
        check(&places, "~/.pi/agent/x/../auth.json", "Secret /home/u/.pi/agent/auth.json");
        check(&places, "~/.pi/agent/auth.json.bak", "Agent /home/u/.pi/agent/auth.json.bak");
        check(&places, "src\\..\\..\\x", "Project /home/u/work/src\\..\\..\\x");
        check(&places, "", "the path is empty");
        check(&places, "a\0b", "the path contains a NUL");
        check(&places, "/HOME/u/work/a", "Outside /HOME/u/work/a");
    }

    #[test]
    fn home_may_be_unknown() {
        let places = Places::new(PathStyle::Unix, "/p").expect("a folder");
        check(&places, "~/x", "the path begins with ~ and the home folder is not known");
        assert_eq!(Places::new(PathStyle::Unix, "p").unwrap_err(), PathFault::NotAbsolute);
    }

    #[test]
    fn case_does_not_hide_a_file_where_the_system_ignores_it() {
        let places = places(PathStyle::Mac, ["/Users/u/Work", "/Users/u", "/Users/u/.pi/agent"]);
        check(&places, "/users/U/work/A", "Project /users/U/work/A");
        check(&places, "~/.PI/Agent/AUTH.json", "Secret /Users/u/.PI/Agent/AUTH.json");
    }

    #[test]
    fn windows_paths_have_traps_of_their_own() {
        let places = places(PathStyle::Windows, ["c:\\work", "C:\\Users\\u", "C:\\Users\\u\\.pi\\agent"]);
        check(&places, "src\\main.rs", "Project C:/work/src/main.rs");
        check(&places, "SRC\\..\\..\\etc", "Outside C:/etc");
        check(&places, "C:/WORK/a", "Project C:/WORK/a");
        check(&places, "\\work\\a", "Project C:/work/a");
        check(&places, "d:\\work\\a", "Outside D:/work/a");
        check(&places, "\\\\server\\share\\..\\a", "Outside //server/share/a");
        check(&places, "~\\.pi\\agent\\auth.json. .", "Secret C:/Users/u/.pi/agent/auth.json");
        check(&places, "c:a", "the path is relative to the current folder of a drive");
        check(&places, "\\\\?\\C:\\work\\a", "the path names a device");
        check(&places, "src\\nul.txt", "the path names a device");
        check(&places, "com1", "the path names a device");
        check(&places, "a.txt:hidden", "the path names a stream of a file");
        check(&places, "AUTHJS~1.JSO", "the path may be the short form of another name");
        check(&places, "src\\...\\a", "the path is empty");
    }

    #[test]
    fn innermost_folder_counts() {
        let places = Places::new(PathStyle::Unix, "/p").and_then(|it| it.with(Root::Own, "/p/.pi/ext/x"));
        let places = places.and_then(|it| it.with(Root::Data, "/")).expect("folders");
        check(&places, ".pi/ext/x/index.js", "Own /p/.pi/ext/x/index.js");
        check(&places, ".pi/ext/xy", "Project /p/.pi/ext/xy");
        check(&places, "/q", "Data /q");
    }

    #[test]
    fn trees_contain_what_is_below_them() {
        let places = Places::new(PathStyle::Unix, "/p").expect("a folder");
        let at = |path, extent| places.locate(path, extent).expect("a path");
        assert!(at("a", Extent::Tree).contains(&at("a/b", Extent::File)));
        assert!(at("a", Extent::Tree).contains(&at("a", Extent::File)));
        assert!(at("/", Extent::Tree).contains(&at("a/b", Extent::Tree)));
        assert!(!at("a", Extent::Tree).contains(&at("ab", Extent::File)));
        assert!(!at("a", Extent::File).contains(&at("a/b", Extent::File)));
        assert!(!at("a", Extent::File).contains(&at("a", Extent::Tree)));
    }
}
