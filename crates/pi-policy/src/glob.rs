//! Patterns of paths, compiled once.
//!
//! A pattern is relative to the project, or absolute. `*` and `?` stay within a name, `**` crosses folders, `[ab]` and
//! `{a,b}` choose. A grant means exactly what is written; a deny also means everything below what it names, in any case.

mod choice;
mod matcher;

use pi_extproto::capability::Capability;

use self::matcher::Matcher;
use crate::{
    case::fold,
    place::{CONFIGURATION, Extent, Location, PathStyle, Place, hooks},
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
    /// A choice that would be compared with paths from the project although it means others, or with no path at all.
    #[error(
        "an alternative may not begin or end with / or hold . or .., and a class may not hold /; write a pattern for each path"
    )]
    Choice,
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
        (Place::Project | Place::Configuration | Place::Hooks | Place::Program, Some(relative)) => (relative, "*?[{}:"),
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
    /// The part of each pattern before its first wildcard, in whole names, with its owner.
    stems: Vec<(String, usize)>,
    /// Patterns without any wildcard, with their owners.
    literals: Vec<(String, usize)>,
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

    /// Whether a grant of these patterns gives the location to `capability`.
    pub(crate) fn admits(&self, location: &Location, capability: &Capability) -> bool {
        self.admitting(location, capability).next().is_some()
    }

    /// The patterns that give the location to `capability`, by index. A relative pattern never leads to a place where the
    /// capability does not lead by itself, but for one that begins with `.pi` and thus names what pi loads. What other
    /// programs run by themselves, and a program that pi runs, must be named before the first wildcard; what holds credentials or
    /// keys, in full.
    fn admitting<'a>(&'a self, location: &'a Location, capability: &Capability) -> impl Iterator<Item = usize> {
        let is_reached = is_place_within_reach(location.place(), capability);
        let (literals, sides) = match location.place() {
            Place::Secret => (self.absolute.literals.as_slice(), None),
            place => {
                let is_nameable = [Place::Configuration, Place::Hooks, Place::Program].contains(&place);
                let from_project = is_reached || is_nameable;
                (&[][..], Some(self.sides(location.absolute(), location.relative().filter(|_| from_project))))
            }
        };
        let named = literals.iter().filter(|(literal, _)| literal == location.absolute()).map(|(_, owner)| *owner);
        let matched = sides.into_iter().flatten();
        let matched = matched.flat_map(|(side, path)| side.matcher(location.extent()).matching(path));
        named.chain(matched.filter(move |&owner| is_reached || self.is_named(location, owner)))
    }

    /// Whether a pattern names the place that a location belongs to, where the capability does not lead by itself.
    fn is_named(&self, location: &Location, owner: usize) -> bool {
        match location.place() {
            Place::Hooks => {
                let absolute = || self.absolute.stem(owner)?.strip_prefix(location.root()?);
                // A grant means what is written, also where the system does not tell cases apart.
                self.relative.stem(owner).or_else(absolute).is_some_and(|stem| hooks::are_at(PathStyle::Unix, stem))
            }
            Place::Program => {
                let relative =
                    || Some(format!("{}/{}", location.root()?.trim_end_matches('/'), self.relative.stem(owner)?));
                let stem = self.absolute.stem(owner).map(str::to_owned).or_else(relative);
                stem.is_some_and(|stem| location.is_of_program_in(&stem))
            }
            Place::Project
            | Place::Configuration
            | Place::Own
            | Place::Data
            | Place::Temporary
            | Place::Agent
            | Place::Secret
            | Place::Outside => !self.relative.is_vague(owner),
        }
    }

    /// The patterns of a deny that take the whole location away, by index.
    fn touching<'a>(&'a self, location: &'a Location) -> impl Iterator<Item = usize> {
        self.sides(location.folded(), location.folded_relative()).flat_map(|(side, path)| side.files.matching(path))
    }

    /// The folder that the narrowest absolute pattern for the location names without a wildcard, with the rest of the path.
    pub(crate) fn divide<'a>(&self, location: &'a Location, capability: &Capability) -> Option<(&'a str, &'a str)> {
        let stems = self.admitting(location, capability).filter_map(|admitting| self.absolute.stem(admitting));
        location.divide_at(stems.max_by_key(|stem| stem.len())?)
    }

    /// How much of the location a deny of these patterns takes away.
    pub(crate) fn touches(&self, location: &Location) -> Touch {
        if self.touching(location).next().is_some() {
            return Touch::Whole;
        }
        let (absolute, relative) = (location.folded(), location.folded_relative());
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

    /// The patterns that decided, as written: for an explanation.
    pub(crate) fn matching(&self, location: &Location, capability: &Capability, purpose: Purpose) -> Vec<&str> {
        let mut owners: Vec<usize> = match purpose {
            Purpose::Grant => self.admitting(location, capability).collect(),
            Purpose::Deny => self.touching(location).collect(),
        };
        owners.sort_unstable();
        owners.dedup();
        owners.into_iter().map(|owner| self.written[owner].as_str()).collect()
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

    /// What the pattern names before its first wildcard, if it is one of these.
    fn stem(&self, owner: usize) -> Option<&str> {
        self.stems.iter().find(|(_, own)| *own == owner).map(|(stem, _)| stem.as_str())
    }

    /// Whether the pattern is one of these and does not begin with the name of the folder that pi loads from.
    fn is_vague(&self, owner: usize) -> bool {
        self.stem(owner).is_some_and(|stem| stem.split('/').next() != Some(CONFIGURATION))
    }

    /// Whether a pattern could match something below the folder `path`: wrong only on the side of caution.
    fn may_reach_below(&self, path: &str) -> bool {
        let within = |inner: &str, outer: &str| match inner.strip_prefix(outer.trim_end_matches('/')) {
            Some(rest) => rest.is_empty() || rest.starts_with('/') || outer.is_empty(),
            None => false,
        };
        self.stems.iter().any(|(stem, _)| within(stem, path) || within(path, stem))
    }
}

impl Side {
    fn add(&mut self, owner: usize, pattern: &str, purpose: Purpose) -> Result<(), GlobFault> {
        let pattern = match purpose {
            Purpose::Grant => pattern.to_owned(),
            Purpose::Deny => fold(pattern),
        };
        self.stems.push((stem(&pattern).to_owned(), owner));
        if !pattern.contains(WILD) {
            self.literals.push((pattern.clone(), owner));
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
    if !choice::is_plain(written) {
        return Err(GlobFault::Choice);
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
    fn choices_stay_within_their_names() {
        use Touch::{Nothing, Whole};
        check(&["{src/a,docs}/**"], "src/a/x", (true, Whole));
        check(&["src/{a,b{c,d}}/x"], "src/bd/x", (true, Whole));
        check(&["file{,.bak}"], "file", (true, Whole));
        check(&["file{,.bak}"], "file.bak", (true, Whole));
        check(&[".{env,secret}"], ".env", (true, Whole));
        check(&["a[!b]c"], "a/c", (false, Nothing));
        check(&["a[!b]c"], "axc", (true, Whole));
        check(&["a[^b]c"], "abc", (false, Nothing));
        check(&["a[]x]c"], "a]c", (true, Whole));
        check(&["/{etc,opt}/**"], "/opt/x", (true, Whole));
        check(&["a,b/c"], "a,b/c", (true, Whole));
    }

    #[test]
    fn explanations_name_the_patterns_that_decided() {
        let places = Places::new(PathStyle::Unix, "/home/u").and_then(|it| it.with(crate::Root::Agent, "/home/u/.pi"));
        let places = places.expect("folders");
        let written = ["**", "/home/u/.pi/**", ".pi/*", "/home/u/.pi/auth.json", "{**,x}"];
        let (grant, deny) = (compile(&written, Purpose::Grant), compile(&written, Purpose::Deny));
        for (path, granted, denied) in [
            ("a", vec!["**", "{**,x}"], vec!["**", "{**,x}"]),
            (".pi/x", vec!["/home/u/.pi/**"], vec!["**", "/home/u/.pi/**", ".pi/*", "{**,x}"]),
            (".pi/auth.json", vec!["/home/u/.pi/auth.json"], written.to_vec()),
        ] {
            let location = places.locate(path, Extent::File).expect("a path");
            assert_eq!(grant.matching(&location, &Capability::Write, Purpose::Grant), granted, "{path}");
            assert_eq!(deny.matching(&location, &Capability::Write, Purpose::Deny), denied, "{path}");
        }
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
        // Each of these was once compared with paths from the project only, so that a deny of it denied nothing.
        for pattern in [
            "{/etc,/root}/**",
            "[/]etc/**",
            "{src,/etc}/**",
            "{{/etc},src}/x",
            "{,src}/etc/**",
            "{{,a},b}/etc",
            "{a,{b,}}/etc",
            "a/{,b}/c",
            "{src/,docs}",
            "{..,src}/x",
            "{src/../x,docs}",
            "{./src,docs}",
            "{~,src}/x",
            "{~/x,src}",
            "{C:/x,src}/**",
            "{C,D}:/x",
            "[CD]:/x",
            "?:/x",
            "*:/x",
            "src[.-0]a",
            "src[!/]a",
            "src[!+-0]a",
        ] {
            assert_eq!(fault(pattern), (1, GlobFault::Choice), "{pattern}");
            let denied = PathPatterns::compile(&[pattern.into()], Purpose::Deny).unwrap_err();
            assert_eq!(denied, (0, GlobFault::Choice), "{pattern}");
        }
        for pattern in ["a[", "{a", "[z-a]"] {
            assert!(matches!(fault(pattern), (1, GlobFault::Malformed(_))), "{pattern}");
        }
    }
}
