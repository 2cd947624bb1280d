//! Where a path lies, found without touching a disk.
//!
//! A path is taken apart as text, `.` and `..` are resolved as text, and the result is assigned to a [`Place`]. A grant
//! carries the resulting [`Location`], and an executor opens *that*, never the text that the caller wrote. Links are
//! the executor's matter: it opens files relative to [`Location::root`] (or what `Grant::root` says) and refuses links
//! that leave it or lead to what the grant does not permit.

mod home;
pub(crate) mod hooks;
mod marks;
mod written;

use std::{fmt, sync::Arc};

use self::{
    marks::Kind,
    written::{join, normalise},
};
pub use self::{
    marks::{Mark, Marks},
    written::{PathFault, PathStyle},
};
use crate::case::fold;

/// What a path belongs to, from the point of view of one subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// The project, apart from what pi or another program runs of it by itself.
    Project,
    /// The `.pi` folder of the project: settings, extensions, providers and instructions that pi loads and runs.
    Configuration,
    /// What other programs run by themselves, in the project and in the folders that an extension may write.
    Hooks,
    /// Code that pi runs from elsewhere in the project: of other extensions, and of servers.
    Program,
    /// The folder that the extension was loaded from.
    Own,
    /// What the extension keeps between runs.
    Data,
    Temporary,
    /// The agent directory, apart from what is secret in it.
    Agent,
    /// What holds credentials or keys.
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
    /// What others keep below a folder that the subject may read: as if it lay outside.
    Others,
}

/// How much of what is below a path a call concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// The thing itself.
    File,
    /// A folder with everything in it.
    Tree,
}

/// The folders against which the paths of one subject are judged.
#[derive(Debug, Clone)]
pub struct Places {
    style: PathStyle,
    project: Arc<str>,
    home: Option<String>,
    /// Whether an extension is judged, which the person at this machine did not write.
    is_guarded: bool,
    /// What the extension is called.
    name: Option<String>,
    roots: Vec<Folder>,
    marks: Marks,
}

/// Where a place begins.
#[derive(Debug, Clone)]
struct Folder {
    place: Place,
    path: String,
    extent: Extent,
    /// What an executor opens first: the folder itself, or the one around a single file.
    root: Arc<str>,
    /// Whether it is set apart for extensions only.
    is_for_extensions: bool,
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
    /// The folder that the place consists of, and where the part below it begins.
    root: Option<(Arc<str>, usize)>,
    /// The file or folder of the program that it belongs to.
    program: Option<Arc<str>>,
    /// The other places that begin somewhere below this path, each at its beginning.
    inner: Vec<Location>,
}

/// What is secret in the agent directory: the keys of providers, those that extensions are signed with, and the one that seals
/// what was built here.
const SECRETS: [(&str, Extent); 3] =
    [("auth.json", Extent::File), ("keys", Extent::Tree), ("cache/extensions/machine.key", Extent::File)];

/// What is as secret for extensions: configuration with keys in it. A person has the agent change that, which sees it redacted.
const CONFIGURED: [&str; 3] = ["models.json", "mcp.json", "npm/.npmrc"];

/// What is not for every extension to read in the agent directory: what others keep, what was said in other sessions, what
/// extensions did there and may do, what lets clients in, and what was built of others, with copies of files that they name.
const OTHERS: [(&str, Extent); 6] = [
    ("extension-data", Extent::Tree),
    ("server", Extent::Tree),
    ("cache", Extent::Tree),
    ("sessions", Extent::Tree),
    ("logs", Extent::Tree),
    ("extension-grants.json", Extent::File),
];

/// The folder of a project from which pi loads what changes pi.
pub(crate) const CONFIGURATION: &str = ".pi";

impl Places {
    /// Starts with a project; everything else is [`Place::Outside`] until it is named.
    pub fn new(style: PathStyle, project: &str) -> Result<Self, PathFault> {
        let project: Arc<str> = normalise(style, project, None)?.into();
        // Opened from the project, because whoever made the project may have made a link of the folder.
        let (path, root) = (join(&project, CONFIGURATION), Arc::clone(&project));
        let roots =
            vec![Folder { place: Place::Configuration, path, extent: Extent::Tree, root, is_for_extensions: false }];
        Ok(Self { style, project, home: None, is_guarded: false, name: None, roots, marks: Marks::default() })
    }

    /// Says what `~` stands for.
    pub fn with_home(mut self, home: &str) -> Result<Self, PathFault> {
        self.home = Some(normalise(self.style, home, None)?);
        Ok(self)
    }

    /// Judges an extension. Two things are set apart for one that are the agent's to touch, because a person follows what that does.
    ///
    /// What people keep to themselves in the home folder, whatever begins with a dot there, counts as if it lay outside, but for a
    /// folder in it that was set apart by itself, or that is the project. And what other programs run by themselves is
    /// [`Place::Hooks`].
    #[must_use]
    pub fn for_extension(self) -> Self {
        Self { is_guarded: true, ..self }
    }

    /// Says what the extension is called: what is marked as its own alone is not guarded from it.
    #[must_use]
    pub fn called(self, name: &str) -> Self {
        Self { name: Some(name.to_owned()), ..self }
    }

    /// Guards what is marked, now and later.
    #[must_use]
    pub fn with_marks(self, marks: Marks) -> Self {
        Self { marks, ..self }
    }

    /// Sets a folder apart. Where folders contain each other the innermost counts.
    pub fn with(mut self, kind: Root, folder: &str) -> Result<Self, PathFault> {
        let path = normalise(self.style, folder, None)?;
        let root: Arc<str> = path.as_str().into();
        let place = match kind {
            Root::Own => Place::Own,
            Root::Data => Place::Data,
            Root::Temporary => Place::Temporary,
            Root::Agent => {
                let below = |place, is_for_extensions| {
                    let (path, root) = (&path, &root);
                    move |(name, extent): (&str, Extent)| Folder {
                        place,
                        path: join(path, name),
                        extent,
                        root: Arc::clone(root),
                        is_for_extensions,
                    }
                };
                self.roots.extend(SECRETS.map(below(Place::Secret, false)));
                self.roots.extend(CONFIGURED.map(|name| (name, Extent::File)).map(below(Place::Secret, true)));
                self.roots.extend(OTHERS.map(below(Place::Outside, true)));
                Place::Agent
            }
            Root::Others => Place::Outside,
        };
        self.roots.push(Folder { place, path, extent: Extent::Tree, root, is_for_extensions: false });
        Ok(self)
    }

    /// Sets a single file apart that is the extension's own, unless it belongs to the project.
    pub fn with_own_file(mut self, file: &str) -> Result<Self, PathFault> {
        let location = self.locate(file, Extent::File)?;
        let path = location.absolute;
        // Opened from the folder around it.
        if let Some((folder, _)) = path.rsplit_once('/').filter(|_| location.place != Place::Project) {
            let root =
                if folder.is_empty() || folder.ends_with(':') { format!("{folder}/") } else { folder.to_owned() };
            let (place, root) = (Place::Own, root.into());
            self.roots.push(Folder { place, root, path, extent: Extent::File, is_for_extensions: false });
        }
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
        let inner = self.begins_below(&absolute);
        Ok(Location { inner, ..self.assign(absolute, extent) })
    }

    /// The places that begin below a path, in it but not at it.
    fn begins_below(&self, absolute: &str) -> Vec<Location> {
        let project = (&*self.project, Extent::Tree);
        let folders = self.folders().map(|folder| (folder.path.as_str(), folder.extent));
        let marks = self.marks.current();
        let marks = marks.iter().filter(|mark| mark.is_guarded_from(self.name()));
        let marks = marks.map(|mark| (&*mark.path, mark.extent));
        // One stands for all that is private in the home folder.
        let private = self.home.as_deref().filter(|_| self.is_guarded).map(|home| join(home, ".ssh"));
        let private = private.as_deref().map(|path| (path, Extent::Tree));
        std::iter::once(project)
            .chain(folders)
            .chain(private)
            .chain(marks)
            .filter(|(path, _)| self.style.below(absolute, path).is_some_and(|start| start < path.len()))
            .map(|(path, extent)| self.assign(path.to_owned(), extent))
            .collect()
    }

    /// What is set apart for this subject.
    fn folders(&self) -> impl Iterator<Item = &Folder> {
        self.roots.iter().filter(|folder| self.is_guarded || !folder.is_for_extensions)
    }

    /// What the extension is called; nothing of the agent.
    fn name(&self) -> Option<&str> {
        self.is_guarded.then(|| self.name.as_deref().unwrap_or_default())
    }

    /// Finds the place of a path in absolute form, without regard to what begins below it.
    fn assign(&self, absolute: String, extent: Extent) -> Location {
        let inside = self.style.below(&self.project, &absolute);
        let innermost = self
            .folders()
            .filter(|folder| self.style.below(&folder.path, &absolute).is_some())
            .max_by_key(|folder| folder.path.len())
            .filter(|folder| inside.is_none() || folder.path.len() >= self.project.len());
        let around = innermost.map(|folder| folder.path.as_str()).or(inside.map(|_| &*self.project));
        let (place, root) = match (innermost, inside) {
            _ if self.is_private(&absolute, around) => (Place::Outside, None),
            (Some(Folder { place: Place::Outside, .. }), _) => (Place::Outside, None),
            (Some(folder), _) => (folder.place, Some(&folder.root)),
            (None, Some(_)) => (Place::Project, Some(&self.project)),
            (None, None) => (Place::Outside, None),
        };
        let root = root.and_then(|root| Some((Arc::clone(root), self.style.below(root, &absolute)?)));
        let below = root.as_ref().map_or("", |(_, start)| &absolute[*start..]);
        // Elsewhere nothing is written without being asked for by name.
        let is_open = matches!(place, Place::Project | Place::Data | Place::Temporary);
        let is_hook = is_open && self.is_guarded && hooks::are_at(self.style, below);
        let place = if is_hook { Place::Hooks } else { place };
        let (place, program) = self.marked(place, &absolute);
        let folded = fold(&absolute);
        let inside = inside.map(|start| (start, fold(&absolute[..start]).len()));
        Location { place, extent, absolute, folded, inside, root, program, inner: Vec::new() }
    }

    /// What a place is by the marks on it, and where the program begins that it belongs to.
    fn marked(&self, place: Place, absolute: &str) -> (Place, Option<Arc<str>>) {
        let marks = self.marks.current();
        let guarding = marks.iter().filter(|mark| mark.is_guarded_from(self.name()));
        let on_it = guarding.filter(|mark| mark.covers(self.style, absolute));
        match place {
            Place::Project | Place::Configuration | Place::Hooks | Place::Agent => {
                let on_it: Vec<&Mark> = on_it.collect();
                if on_it.iter().any(|mark| mark.kind == Kind::Credentials) {
                    return (Place::Secret, None);
                }
                match on_it.iter().max_by_key(|mark| mark.path.len()) {
                    Some(mark) if place == Place::Project => (Place::Program, Some(Arc::clone(&mark.path))),
                    Some(_) | None => (place, None),
                }
            }
            Place::Program | Place::Own | Place::Data | Place::Temporary | Place::Secret | Place::Outside => {
                (place, None)
            }
        }
    }

    fn is_private(&self, absolute: &str, around: Option<&str>) -> bool {
        let home = self.home.as_deref().filter(|_| self.is_guarded);
        home.is_some_and(|home| home::is_private(self.style, home, absolute, around))
    }

    /// The folder for temporary files, if there is one.
    pub(crate) fn temporary(&self) -> Option<Location> {
        let folder = self.roots.iter().find(|folder| folder.place == Place::Temporary)?;
        self.locate(&folder.path, Extent::File).ok()
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

    /// The folder that its place consists of, as it was set apart; nothing for [`Place::Outside`], where `Grant::root`
    /// knows more. What is secret counts from the agent directory.
    pub fn root(&self) -> Option<&str> {
        self.root.as_ref().map(|(root, _)| &**root)
    }

    /// The path from [`Self::root`], empty for the root itself.
    pub fn below_root(&self) -> Option<&str> {
        self.root.as_ref().map(|(_, start)| &self.absolute[*start..])
    }

    /// Divides the path into a folder that it lies in and the rest. A file is not the folder that it lies in.
    pub(crate) fn divide_at(&self, folder: &str) -> Option<(&str, &str)> {
        let folder = folder.trim_end_matches('/');
        let rest = self.absolute.strip_prefix(folder)?;
        match (rest.strip_prefix('/'), self.extent) {
            // The root of a drive or of everything keeps its `/`.
            (Some(below), _) if folder.is_empty() || folder.ends_with(':') => {
                Some((&self.absolute[..=folder.len()], below))
            }
            (Some(below), _) => Some((&self.absolute[..folder.len()], below)),
            (None, Extent::Tree) if rest.is_empty() => Some((self.absolute.as_str(), "")),
            (None, Extent::File) if rest.is_empty() => self.divide_at(folder.rsplit_once('/')?.0),
            (None, _) => None,
        }
    }

    /// Whether a beginning of a pattern names the program that it belongs to. A grant means what is written, also where the
    /// system does not tell cases apart.
    pub(crate) fn is_of_program_in(&self, stem: &str) -> bool {
        let style = PathStyle::Unix;
        self.program.as_deref().is_some_and(|program| {
            style.below(program, stem).is_some() || (stem == self.absolute && self.extent == Extent::File)
        })
    }

    /// The other places that begin somewhere below this path: what moves along when a folder moves.
    pub fn inner(&self) -> &[Self] {
        &self.inner
    }

    /// Whether this is a tree in which the whole project lies.
    pub(crate) fn is_around_project(&self) -> bool {
        // The project's folder may be another place as well, so its path decides and not its place.
        let is_project = |location: &Self| location.relative() == Some("");
        self.extent == Extent::Tree && (is_project(self) || self.inner.iter().any(is_project))
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
    fn folder_above_the_project_is_around_it_whatever_else_the_project_is() {
        for project in ["/home/u/work", "/home/u/.pi/agent"] {
            let places = places(PathStyle::Unix, [project, "/home/u", "/home/u/.pi/agent"]);
            let around = |path: &str| places.locate(path, Extent::Tree).expect("a path").is_around_project();
            assert_eq!([around("/home/u"), around(project), around("/etc")], [true, true, false], "{project}");
        }
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
        check(&places, "~/.pi/agent/auth.j\u{17f}on", "Secret /Users/u/.pi/agent/auth.j\u{17f}on");
        check(&places, "/U\u{17f}ers/u/wor\u{212a}/a", "Project /U\u{17f}ers/u/wor\u{212a}/a");
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
        for device in ["COM0", "com9.txt", "LPT3", "lpt\u{b9}", "COM\u{b2}.x", "COM\u{b3}", "aux", "CONOUT$"] {
            check(&places, device, "the path names a device");
        }
        for name in
            ["COMB", "lpts.rs", "com", "COM10", "COM\u{b9}\u{b2}", "comé", "notes~", "~notes", "a~1b", "LONGNAME~1"]
        {
            check(&places, name, &format!("Project C:/work/{name}"));
        }
        for short in ["NOTES~1", "a~b~2", "~1", "GIT~12.X"] {
            check(&places, short, "the path may be the short form of another name");
        }
    }

    #[test]
    fn every_place_has_a_root_to_open_from() {
        let places = Places::new(PathStyle::Mac, "/Users/u/Work").and_then(|it| it.with_home("/Users/u"));
        let places = places.and_then(|it| it.with(Root::Agent, "/Users/u/.pi/agent")).expect("folders");
        let places = places.with(Root::Data, "/Users/u/Work/data/").expect("a folder");
        for (written, expected) in [
            ("src/a", Some(("/Users/u/Work", "src/a"))),
            ("/users/U/WORK/src", Some(("/Users/u/Work", "src"))),
            (".", Some(("/Users/u/Work", ""))),
            ("data/x", Some(("/Users/u/Work/data", "x"))),
            ("~/.pi/agent/a/b", Some(("/Users/u/.pi/agent", "a/b"))),
            ("~/.pi/agent/auth.json", Some(("/Users/u/.pi/agent", "auth.json"))),
            ("/etc/hosts", None),
        ] {
            let location = places.locate(written, Extent::File).expect("a path");
            assert_eq!(location.root().zip(location.below_root()), expected, "{written}");
        }
        let whole = Places::new(PathStyle::Unix, "/").and_then(|it| it.locate("a/b", Extent::File)).expect("a path");
        assert_eq!((whole.root(), whole.below_root()), (Some("/"), Some("a/b")));
    }

    #[test]
    fn folders_know_which_places_begin_in_them() {
        let places = places(PathStyle::Mac, ["/Users/u/Work", "/Users/u", "/Users/u/.pi/agent"]);
        let inner = |path: &str| {
            let location = places.locate(path, Extent::Tree).expect("a path");
            location.inner().iter().map(|inner| format!("{:?} {inner}", inner.place())).collect::<Vec<_>>()
        };
        let agent = [
            "Secret /Users/u/.pi/agent/auth.json",
            "Secret /Users/u/.pi/agent/keys/",
            "Secret /Users/u/.pi/agent/cache/extensions/machine.key",
            "Agent /Users/u/.pi/agent/",
        ];
        assert_eq!(inner("/USERS/U/.PI"), agent);
        assert_eq!(inner("/"), [&["Project ./", "Configuration .pi/"][..], &agent].concat());
        assert_eq!(inner("~/.pi/agent"), agent[..3]);
        assert_eq!(inner("~/.pi/agent/auth.json"), [""; 0]);
        assert_eq!(inner("."), ["Configuration .pi/"]);
        assert_eq!(inner(".pi"), [""; 0]);
        assert_eq!(inner("~/.p"), [""; 0]);
    }

    #[test]
    fn innermost_folder_counts() {
        let places = Places::new(PathStyle::Unix, "/p").and_then(|it| it.with(Root::Own, "/p/.pi/ext/x"));
        let places = places.and_then(|it| it.with(Root::Data, "/")).expect("folders");
        check(&places, ".pi/ext/x/index.js", "Own /p/.pi/ext/x/index.js");
        check(&places, ".pi/ext/xy", "Configuration /p/.pi/ext/xy");
        check(&places, "/q", "Data /q");
    }

    #[test]
    fn what_others_keep_is_outside_but_for_ones_own() {
        let places = places(PathStyle::Unix, ["/p", "/home/u", "/home/u/.pi/agent"]);
        let places = places.with(Root::Others, "/home/u/.pi/agent/data").expect("a folder");
        let places = places.with(Root::Data, "/home/u/.pi/agent/data/x").expect("a folder");
        check(&places, "~/.pi/agent/data/x/kept", "Data /home/u/.pi/agent/data/x/kept");
        check(&places, "~/.pi/agent/data/y/kept", "Outside /home/u/.pi/agent/data/y/kept");
        check(&places, "~/.pi/agent/data", "Outside /home/u/.pi/agent/data");
        check(&places, "~/.pi/agent/other", "Agent /home/u/.pi/agent/other");
        let other = places.locate("~/.pi/agent/data/y", Extent::File).expect("a path");
        assert_eq!(other.root(), None);
    }

    #[test]
    fn keys_in_the_agent_directory_are_secret() {
        let places = places(PathStyle::Unix, ["/p", "/home/u", "/home/u/.pi/agent"]);
        check(&places, "~/.pi/agent/keys", "Secret /home/u/.pi/agent/keys");
        check(&places, "~/.pi/agent/keys/extensions.pem", "Secret /home/u/.pi/agent/keys/extensions.pem");
        check(
            &places,
            "~/.pi/agent/cache/extensions/machine.key",
            "Secret /home/u/.pi/agent/cache/extensions/machine.key",
        );
        check(
            &places,
            "~/.pi/agent/cache/extensions/unpacked/1/a",
            "Agent /home/u/.pi/agent/cache/extensions/unpacked/1/a",
        );
        check(&places, "~/.pi/agent/trusted-keys.json", "Agent /home/u/.pi/agent/trusted-keys.json");
    }

    #[test]
    fn configuration_with_keys_and_other_sessions_are_not_for_extensions() {
        let agent = places(PathStyle::Unix, ["/p", "/home/u", "/home/u/.pi/agent"]);
        let extension = agent.clone().for_extension().with_own_file("/home/u/.pi/agent/sessions/p/own.jsonl");
        let extension = extension.expect("a file");
        for (written, of_agent, of_extension) in [
            ("~/.pi/agent/models.json", "Agent", "Secret"),
            ("~/.pi/agent/mcp.json", "Agent", "Secret"),
            ("~/.pi/agent/npm/.npmrc", "Agent", "Secret"),
            ("~/.pi/agent/settings.json", "Agent", "Agent"),
            ("~/.pi/agent/extension-grants.json", "Agent", "Outside"),
            ("~/.pi/agent/logs/extensions/s.jsonl", "Agent", "Outside"),
            ("~/.pi/agent/sessions/p/other.jsonl", "Agent", "Outside"),
            ("~/.pi/agent/sessions/p/own.jsonl", "Agent", "Own"),
            ("~/.pi/agent/sessions/p/own.jsonl.envelopes", "Agent", "Outside"),
            ("~/.pi/agent/extensions/x/index.ts", "Agent", "Agent"),
        ] {
            let found = |places: &Places| {
                let location = places.locate(written, Extent::File).expect("a path");
                format!("{:?}", location.place())
            };
            assert_eq!([found(&agent), found(&extension)], [of_agent, of_extension], "{written}");
        }
    }

    #[test]
    fn marks_guard_programs_from_all_but_their_owner() {
        let marks = Marks::default();
        let agent = places(PathStyle::Unix, ["/p", "/home/u", "/home/u/.pi/agent"]).with_marks(marks.clone());
        let of = |name: &str| agent.clone().for_extension().called(name);
        let program = |path: &str, extent, owner| Mark::program(PathStyle::Unix, path, extent, owner).expect("a path");
        let subjects = [agent.clone(), of("a"), of("b")];
        let unmarked = subjects.each_ref().map(|it| it.locate("tools/b.ts", Extent::File).expect("a path").place());
        assert_eq!(unmarked, [Place::Project; 3]);
        // Places that were made before know it.
        marks.set([
            program("/p/tools/b.ts", Extent::File, Some("b")),
            program("/p/lib/x.js", Extent::File, Some("a")),
            program("/p/lib/x.js", Extent::File, Some("b")),
            program("/p/pkg", Extent::Tree, Some("b")),
            program("/p/tools/s.py", Extent::File, None),
            program("/p/.pi/extensions/c.ts", Extent::File, Some("c")),
            Mark::credentials(PathStyle::Unix, "/home/u/.pi/agent/settings.json").expect("a path"),
            Mark::credentials(PathStyle::Unix, "/p/.mcp.json").expect("a path"),
        ]);
        for (written, expected) in [
            ("tools/b.ts", ["Program", "Program", "Project"]),
            // It would be found in the place of the other.
            ("tools/b.js", ["Program", "Program", "Project"]),
            ("tools/b.md", ["Project", "Project", "Project"]),
            ("tools/bb.ts", ["Project", "Project", "Project"]),
            ("lib/x.js", ["Program", "Program", "Program"]),
            ("pkg/new/index.ts", ["Program", "Program", "Project"]),
            ("tools/s.py", ["Program", "Program", "Program"]),
            (".pi/extensions/c.ts", ["Configuration", "Configuration", "Configuration"]),
            ("~/.pi/agent/settings.json", ["Agent", "Secret", "Secret"]),
            (".mcp.json", ["Project", "Secret", "Secret"]),
        ] {
            let found = subjects.each_ref().map(|places| {
                let location = places.locate(written, Extent::File).expect("a path");
                format!("{:?}", location.place())
            });
            assert_eq!(found, expected, "{written}");
        }
        let moved = of("a").locate("tools", Extent::Tree).expect("a path");
        let inner = moved.inner().iter().map(|it| format!("{:?} {it}", it.place())).collect::<Vec<_>>();
        assert_eq!(inner, ["Program tools/b.ts", "Program tools/s.py"]);
    }

    #[test]
    fn home_keeps_what_is_private_apart() {
        let at = |style, project| places(style, [project, "/home/u", "/home/u/.pi/agent"]).for_extension();
        for (project, written, expected) in [
            ("/home/u", "notes", "Project /home/u/notes"),
            ("/home/u", ".ssh/id_rsa", "Outside /home/u/.ssh/id_rsa"),
            ("/home/u", ".bashrc", "Outside /home/u/.bashrc"),
            ("/home/u", "work/.env", "Project /home/u/work/.env"),
            ("/home/u", ".pi/settings.json", "Configuration /home/u/.pi/settings.json"),
            ("/home/u", ".pi/agent/settings.json", "Agent /home/u/.pi/agent/settings.json"),
            ("/home", "u/.aws/credentials", "Outside /home/u/.aws/credentials"),
            ("/", "home/u/.aws/credentials", "Outside /home/u/.aws/credentials"),
            ("/home/u/.config", "nvim/init.lua", "Project /home/u/.config/nvim/init.lua"),
            ("/home/u/.config/nvim", "init.lua", "Project /home/u/.config/nvim/init.lua"),
            ("/home/u/work", "~/.ssh", "Outside /home/u/.ssh"),
        ] {
            check(&at(PathStyle::Unix, project), written, expected);
        }
        check(&at(PathStyle::Unix, "/home/u"), "Library/x", "Project /home/u/Library/x");
        check(&at(PathStyle::Mac, "/home/u"), "library/Keychains/x", "Outside /home/u/library/Keychains/x");
        let own = places(PathStyle::Unix, ["/p", "/home/u", "/home/u/.pi/agent"]).for_extension();
        let own = own.with(Root::Own, "/home/u").expect("a folder");
        check(&own, "~/notes", "Own /home/u/notes");
        check(&own, "~/.git-credentials", "Outside /home/u/.git-credentials");
        let moved = at(PathStyle::Unix, "/home").locate("u", Extent::Tree).expect("a path");
        assert!(moved.inner().iter().any(|inner| inner.place() == Place::Outside), "{:?}", moved.inner());
    }

    #[test]
    fn what_programs_run_by_themselves_is_set_apart_for_extensions() {
        let agent = places(PathStyle::Unix, ["/p", "/home/u", "/home/u/.pi/agent"]);
        check(&agent, ".git/config", "Project /p/.git/config");
        let unix = agent.for_extension().with(Root::Data, "/d").and_then(|it| it.with(Root::Temporary, "/tmp/x"));
        let unix = unix.and_then(|it| it.with(Root::Own, "/p/.claude/mine")).expect("folders");
        for (written, expected) in [
            (".git", "Hooks /p/.git"),
            (".git/hooks/pre-commit", "Hooks /p/.git/hooks/pre-commit"),
            ("x/../.git/config", "Hooks /p/.git/config"),
            ("sub/.git", "Hooks /p/sub/.git"),
            (".git/modules/sub/hooks/x", "Hooks /p/.git/modules/sub/hooks/x"),
            ("sub/.envrc", "Hooks /p/sub/.envrc"),
            (".mcp.json", "Hooks /p/.mcp.json"),
            (".gitignore", "Project /p/.gitignore"),
            (".GIT/config", "Project /p/.GIT/config"),
            (".github/workflows/a.yml", "Project /p/.github/workflows/a.yml"),
            // Else it would be filled there, and moved.
            ("/d/.git/config", "Hooks /d/.git/config"),
            ("/tmp/x/a/.git/config", "Hooks /tmp/x/a/.git/config"),
            (".claude/mine/a", "Own /p/.claude/mine/a"),
            ("/q/.git/config", "Outside /q/.git/config"),
        ] {
            check(&unix, written, expected);
        }
        let inside = places(PathStyle::Mac, ["/p/.git/w", "/home/u", "/home/u/.pi/agent"]).for_extension();
        check(&inside, "a", "Project /p/.git/w/a");
        check(&inside, ".Git/a", "Hooks /p/.git/w/.Git/a");
        let hook = unix.locate(".git/config", Extent::File).expect("a path");
        assert_eq!((hook.root(), hook.below_root()), (Some("/p"), Some(".git/config")));
    }

    #[test]
    fn single_file_is_own_without_its_folder() {
        let places = places(PathStyle::Unix, ["/p", "/home/u", "/home/u/.pi/agent"]).for_extension();
        let places = places.with_own_file("/home/u/x.ts").and_then(|it| it.with_own_file("/home/u/.x/y.ts"));
        let places = places.and_then(|it| it.with_own_file("/p/z.ts")).and_then(|it| it.with_own_file("/w.ts"));
        let places = places.expect("files");
        check(&places, "~/x.ts", "Own /home/u/x.ts");
        check(&places, "~/x.tsx", "Outside /home/u/x.tsx");
        check(&places, "~/.x/y.ts", "Own /home/u/.x/y.ts");
        check(&places, "~/.x/z.ts", "Outside /home/u/.x/z.ts");
        check(&places, "z.ts", "Project /p/z.ts");
        for (path, root) in [("~/x.ts", ("/home/u", "x.ts")), ("/w.ts", ("/", "w.ts"))] {
            let location = places.locate(path, Extent::File).expect("a path");
            assert_eq!(location.root().zip(location.below_root()), Some(root));
        }
    }

    #[test]
    fn project_keeps_what_pi_loads_apart() {
        for (style, project, written, expected) in [
            (PathStyle::Unix, "/p/", ".pi", "Configuration /p/.pi"),
            (PathStyle::Unix, "/p", "/p/x/../.pi//settings.json", "Configuration /p/.pi/settings.json"),
            (PathStyle::Unix, "/p", ".pi2/x", "Project /p/.pi2/x"),
            (PathStyle::Unix, "/p", "sub/.pi/x", "Project /p/sub/.pi/x"),
            (PathStyle::Unix, "/p", ".PI/x", "Project /p/.PI/x"),
            (PathStyle::Unix, "/", ".pi/x", "Configuration /.pi/x"),
            (PathStyle::Mac, "/p", ".PI/X", "Configuration /p/.PI/X"),
            (PathStyle::Windows, "C:\\p", ".Pi.\\x", "Configuration C:/p/.Pi/x"),
            (PathStyle::Windows, "C:\\", ".pi\\x", "Configuration C:/.pi/x"),
        ] {
            check(&Places::new(style, project).expect("a folder"), written, expected);
        }
        let home = places(PathStyle::Unix, ["/home/u", "/home/u", "/home/u/.pi/agent"]);
        check(&home, ".pi/settings.json", "Configuration /home/u/.pi/settings.json");
        check(&home, ".pi/agent/settings.json", "Agent /home/u/.pi/agent/settings.json");
        let same = places(PathStyle::Unix, ["/home/u", "/home/u", "/home/u/.pi"]);
        check(&same, ".pi/settings.json", "Agent /home/u/.pi/settings.json");
        let within = places(PathStyle::Unix, ["/home/u/.pi/agent/w", "/home/u", "/home/u/.pi/agent"]);
        check(&within, "../settings.json", "Agent /home/u/.pi/agent/settings.json");
        check(&within, "src/a", "Project /home/u/.pi/agent/w/src/a");
        check(&within, ".pi/x", "Configuration /home/u/.pi/agent/w/.pi/x");
        let inner = home.locate(".pi/x", Extent::File).expect("a path");
        assert_eq!((inner.root(), inner.below_root()), (Some("/home/u"), Some(".pi/x")));
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
