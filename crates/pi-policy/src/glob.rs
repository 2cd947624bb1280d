//! Patterns of paths, compiled once.
//!
//! A pattern is relative to the project, or absolute. `*` and `?` stay within a name, `**` crosses folders, `[ab]` and
//! `{a,b}` choose. A grant means exactly what is written; a deny also means everything below what it names, in any case.

mod matcher;

use pi_extproto::capability::Capability;

use self::matcher::Matcher;
use crate::{
    place::{Extent, Location, Place},
    target::is_place_within_reach,
};

/// Why a text is no pattern of paths.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GlobFault {
    #[error("the pattern is empty")]
    Empty,
    #[error("the pattern contains a NUL")]
    Nul,
    #[error("write / between folders and [*] for a literal *, not \\")]
    Backslash,
    #[error("a pattern may not climb with ..; write an absolute pattern to reach outside the project")]
    Climbs,
    #[error("write the absolute path instead of ~")]
    Home,
    #[error("{0}")]
    Malformed(String),
}

/// What a list of patterns is for: the two are read with opposite caution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Grant,
    Deny,
}

/// How much of a location a deny takes away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Touch {
    Nothing,
    /// Something below a folder, but not the folder.
    Part,
    Whole,
}

/// The pattern that means this location and nothing else; nothing if no pattern can.
pub(crate) fn naming(location: &Location) -> Option<String> {
    let (path, special) = match (location.place(), location.relative()) {
        (Place::Project, Some(relative)) => (relative, "*?[{}:"),
        _ => (location.absolute(), "*?[{}"),
    };
    if path.contains('\\') {
        return None;
    }
    let escaped = path.chars().fold(String::new(), |mut text, sign| {
        match special.contains(sign) {
            true => text.extend(['[', sign, ']']),
            false => text.push(sign),
        }
        text
    });
    Some(match (location.extent(), escaped.trim_end_matches('/')) {
        (Extent::File, "") => return None,
        (Extent::File, path) => path.to_owned(),
        (Extent::Tree, "") if location.place() == Place::Project => "**".to_owned(),
        (Extent::Tree, path) => format!("{path}/**"),
    })
}

/// A compiled list of patterns.
#[derive(Debug)]
pub(crate) struct PathPatterns {
    written: Vec<String>,
    relative: Side,
    absolute: Side,
}

/// The patterns of one kind: relative or absolute.
#[derive(Debug, Default)]
struct Side {
    /// What matches a thing itself.
    files: Matcher,
    /// What matches a folder whose whole content is meant.
    trees: Matcher,
    /// The part of each pattern before its first wildcard, in whole names.
    stems: Vec<String>,
    /// Absolute patterns without any wildcard.
    literals: Vec<String>,
}

const WILD: [char; 4] = ['*', '?', '[', '{'];

impl PathPatterns {
    pub(crate) fn compile(written: &[String], purpose: Purpose) -> Result<Self, (usize, GlobFault)> {
        let mut kinds = [Side::default(), Side::default()];
        for (owner, pattern) in written.iter().enumerate() {
            let clean = clean(pattern).map_err(|fault| (owner, fault))?;
            let kind = usize::from(is_absolute(&clean));
            kinds[kind].add(owner, &clean, purpose).map_err(|fault| (owner, fault))?;
        }
        let [relative, absolute] = kinds;
        Ok(Self { written: written.to_vec(), relative, absolute })
    }

    pub(crate) fn written(&self) -> &[String] {
        &self.written
    }

    /// Whether a grant of these patterns gives the location to `capability`. A relative pattern never leads to a place
    /// where the capability does not lead by itself; the file of credentials must be named in full.
    pub(crate) fn admits(&self, location: &Location, capability: &Capability) -> bool {
        if location.place() == Place::Secret {
            return self.absolute.literals.iter().any(|literal| literal == location.absolute());
        }
        let relative = location.relative().filter(|_| is_place_within_reach(location.place(), capability));
        self.sides(location.absolute(), relative).any(|(side, path)| side.matcher(location.extent()).is_match(path))
    }

    /// How much of the location a deny of these patterns takes away.
    pub(crate) fn touches(&self, location: &Location) -> Touch {
        let (absolute, relative) = (location.folded(), location.folded_relative());
        if self.sides(absolute, relative).any(|(side, path)| side.files.is_match(path)) {
            return Touch::Whole;
        }
        match location.extent() {
            Extent::File => Touch::Nothing,
            Extent::Tree => {
                // A folder around the project holds everything that the relative patterns can name.
                let above = location.is_around_project() && !self.relative.stems.is_empty();
                if above || self.sides(absolute, relative).any(|(side, path)| side.may_reach_below(path)) {
                    Touch::Part
                } else {
                    Touch::Nothing
                }
            }
        }
    }

    /// The patterns that [`Self::admits`] or [`Self::touches`] found, as written: for an explanation, not for a decision.
    pub(crate) fn matching(&self, location: &Location, capability: &Capability, purpose: Purpose) -> Vec<&str> {
        let (absolute, relative, extent) = match purpose {
            Purpose::Grant if !self.admits(location, capability) => return Vec::new(),
            Purpose::Grant => (location.absolute(), location.relative(), location.extent()),
            Purpose::Deny => (location.folded(), location.folded_relative(), Extent::File),
        };
        let owners = self.sides(absolute, relative).flat_map(|(side, path)| side.matcher(extent).matching(path));
        let mut found: Vec<&str> = owners.map(|owner| self.written[owner].as_str()).collect();
        found.dedup();
        found
    }

    fn sides<'a>(&'a self, absolute: &'a str, relative: Option<&'a str>) -> impl Iterator<Item = (&'a Side, &'a str)> {
        relative.map(|path| (&self.relative, path)).into_iter().chain([(&self.absolute, absolute)])
    }
}

impl Side {
    fn matcher(&self, extent: Extent) -> &Matcher {
        match extent {
            Extent::File => &self.files,
            Extent::Tree => &self.trees,
        }
    }

    /// Whether a pattern could match something below the folder `path`: wrong only on the side of caution.
    fn may_reach_below(&self, path: &str) -> bool {
        let within = |inner: &str, outer: &str| match inner.strip_prefix(outer.trim_end_matches('/')) {
            Some(rest) => rest.is_empty() || rest.starts_with('/') || outer.is_empty(),
            None => false,
        };
        self.stems.iter().any(|stem| within(stem, path) || within(path, stem))
    }
}

impl Side {
    fn add(&mut self, owner: usize, pattern: &str, purpose: Purpose) -> Result<(), GlobFault> {
        let pattern = match purpose {
            Purpose::Grant => pattern.to_owned(),
            Purpose::Deny => pattern.to_lowercase(),
        };
        self.stems.push(stem(&pattern).to_owned());
        if !pattern.contains(WILD) {
            self.literals.push(pattern.clone());
        }
        let folder = match pattern.as_str() {
            "**" | "**/*" => Some(""),
            pattern => pattern.strip_suffix("/**/*").or_else(|| pattern.strip_suffix("/**")),
        };
        match (folder, purpose) {
            (Some(folder), Purpose::Grant) => {
                let everything = if folder.is_empty() { "**" } else { &format!("{folder}/**") };
                self.files.add(everything, owner)?;
                self.trees.add_with_content(folder, owner)
            }
            (None, Purpose::Grant) => self.files.add(&pattern, owner),
            (folder, Purpose::Deny) => self.files.add_with_content(folder.unwrap_or(&pattern), owner),
        }
    }
}

/// Refuses what cannot mean anything, and takes away what means nothing: `./`, `//` and a `/` at the end, which says
/// that the content of a folder is meant.
fn clean(written: &str) -> Result<String, GlobFault> {
    if written.is_empty() {
        return Err(GlobFault::Empty);
    }
    if written.contains('\0') {
        return Err(GlobFault::Nul);
    }
    if written.contains('\\') {
        return Err(GlobFault::Backslash);
    }
    if written == "~" || written.starts_with("~/") {
        return Err(GlobFault::Home);
    }
    let mut names: Vec<&str> = written.split('/').filter(|name| !["", "."].contains(name)).collect();
    names.dedup_by(|next, name| *name == "**" && next == name);
    if names.contains(&"..") {
        return Err(GlobFault::Climbs);
    }
    if names.is_empty() || written.ends_with('/') || written.ends_with("/.") {
        names.push("**");
    }
    let root = match written {
        share if share.starts_with("//") => "//",
        path if path.starts_with('/') => "/",
        _ => "",
    };
    Ok(format!("{root}{}", names.join("/")))
}

fn is_absolute(pattern: &str) -> bool {
    let drive = |bytes: &[u8]| matches!(bytes, [letter, b':', b'/', ..] if letter.is_ascii_alphabetic());
    pattern.starts_with('/') || drive(pattern.as_bytes())
}

/// The names before the first wildcard.
fn stem(pattern: &str) -> &str {
    match pattern.find(WILD) {
        None => pattern,
        Some(wild) => pattern[..wild].rsplit_once('/').map_or("", |(stem, _)| stem),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::{PathStyle, Places};

    fn compile(patterns: &[&str], purpose: Purpose) -> PathPatterns {
        let patterns: Vec<String> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
        PathPatterns::compile(&patterns, purpose).expect("patterns")
    }

    /// A path with `/` at its end is a tree. Says whether a grant gives it, and what a deny takes of it.
    #[track_caller]
    fn check(patterns: &[&str], path: &str, expected: (bool, Touch)) {
        let places = Places::new(PathStyle::Unix, "/home/u/work").expect("a folder");
        let extent = if path.ends_with('/') { Extent::Tree } else { Extent::File };
        let location = places.locate(path, extent).expect("a path");
        let grant = compile(patterns, Purpose::Grant).admits(&location, &Capability::Read);
        let deny = compile(patterns, Purpose::Deny).touches(&location);
        assert_eq!((grant, deny), expected, "{patterns:?} {path}");
        for (purpose, whole) in [(Purpose::Grant, grant), (Purpose::Deny, deny == Touch::Whole)] {
            assert_eq!(
                !compile(patterns, purpose).matching(&location, &Capability::Read, purpose).is_empty(),
                whole,
                "{patterns:?} {path}"
            );
        }
    }

    #[test]
    fn relative_patterns_stay_in_the_project() {
        use Touch::{Nothing, Part, Whole};
        check(&["src/**"], "src/main.rs", (true, Whole));
        check(&["src/**"], "src/a/b/c", (true, Whole));
        check(&["src/**"], "src2/main.rs", (false, Nothing));
        check(&["src/**"], "src/../../etc/passwd", (false, Nothing));
        check(&["src/**"], "src/../Cargo.toml", (false, Nothing));
        check(&["**"], "/etc/passwd", (false, Nothing));
        check(&["**"], "../x", (false, Nothing));
        check(&["**"], "a/.hidden", (true, Whole));
        check(&["**/*"], "a", (true, Whole));
        check(&["**/*.rs"], "a.rs", (true, Whole));
        check(&["*.rs"], "a/b.rs", (false, Nothing));
        check(&["src/*"], "src/a/b", (false, Whole));
        check(&["./src//a.rs"], "src/a.rs", (true, Whole));
        check(&["src/"], "src/a/b", (true, Whole));
        check(&["{src,tests}/**"], "tests/a", (true, Whole));
        check(&["[*]"], "*", (true, Whole));
        check(&["SRC/**"], "src/a", (false, Whole));
        check(&["src/**"], "SRC/a", (false, Whole));
        check(&["secrets"], "secrets/key", (false, Whole));
        check(&["secrets"], "secrets", (true, Whole));
        check(&[], "a", (false, Nothing));
        check(&[], "a/", (false, Nothing));
        check(&["**"], "./", (true, Whole));
        check(&["src/**"], "./", (false, Part));
    }

    #[test]
    fn folders_are_given_whole_or_not_at_all() {
        use Touch::{Nothing, Part, Whole};
        check(&["src/**"], "src/", (true, Whole));
        check(&["src/**"], "src/a/", (true, Whole));
        check(&["src/**/*"], "src/a/", (true, Whole));
        check(&["src/*"], "src/", (false, Part));
        check(&["src"], "src/", (false, Whole));
        check(&["src/a.rs"], "src/", (false, Part));
        check(&["src/a.rs"], "tests/", (false, Nothing));
        check(&["**/.env"], "src/", (false, Part));
        check(&["src/**"], "/", (false, Part));
        check(&["src/**"], "../", (false, Part));
        check(&["src/**"], "/etc/", (false, Nothing));
        check(&["srcery/**"], "src/", (false, Nothing));
        check(&["/"], "/", (true, Whole));
        check(&["/etc/**"], "/", (false, Part));
    }

    #[test]
    fn absolute_patterns_reach_anywhere() {
        use Touch::{Nothing, Whole};
        check(&["/etc/hosts"], "/etc/hosts", (true, Whole));
        check(&["/etc/**"], "/etc/../etc/x/y", (true, Whole));
        check(&["/etc/**"], "etc/x", (false, Nothing));
        check(&["/home/u/work/src/**"], "src/a", (true, Whole));
        check(&["/**"], "a", (true, Whole));
        check(&["/"], "a", (true, Whole));
    }

    #[test]
    fn drives_are_absolute() {
        let places = Places::new(PathStyle::Windows, "C:\\work").expect("a folder");
        let location = places.locate("d:\\data\\x", Extent::File).expect("a path");
        assert!(compile(&["D:/data/**"], Purpose::Grant).admits(&location, &Capability::Read));
        assert_eq!(compile(&["d:/DATA/**"], Purpose::Deny).touches(&location), Touch::Whole);
        let share = places.locate("\\\\server\\share\\x", Extent::File).expect("a path");
        assert!(compile(&["//server/share/**"], Purpose::Grant).admits(&share, &Capability::Read));
    }

    #[test]
    fn patterns_that_mean_nothing_are_refused() {
        let fault = |pattern: &str| PathPatterns::compile(&["a".into(), pattern.into()], Purpose::Grant).unwrap_err();
        for (pattern, expected) in [
            ("", GlobFault::Empty),
            ("a\0", GlobFault::Nul),
            ("src\\**", GlobFault::Backslash),
            ("../x", GlobFault::Climbs),
            ("src/../x", GlobFault::Climbs),
            ("~/x", GlobFault::Home),
            ("~", GlobFault::Home),
        ] {
            assert_eq!(fault(pattern), (1, expected), "{pattern:?}");
        }
        for pattern in ["a[", "{a", "[z-a]"] {
            assert!(matches!(fault(pattern), (1, GlobFault::Malformed(_))), "{pattern}");
        }
    }
}
