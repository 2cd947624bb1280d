//! What a call is aimed at, and the scopes that narrow it.

use std::{fmt, sync::Arc};

use pi_extproto::{capability::Capability, unseen};

use crate::{
    case::is_same,
    command::{self, Command, CommandPattern},
    glob::{PathPatterns, Purpose, Touch},
    host::{Host, HostPattern},
    place::{Location, Place},
};

/// How many characters of a target people are shown.
const MOST: usize = 240;
/// And of a command that they decide about: more than a shell can be given at once.
const MOST_OF_A_COMMAND: usize = 128 * 1024;

/// What a call is aimed at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Nothing that a scope could speak about.
    Nothing,
    Path(Location),
    /// Something leaves one path and appears at another.
    Move {
        from: Location,
        to: Location,
    },
    Host(Host),
    /// One environment variable.
    Variable(String),
    /// The environment as a whole.
    Environment,
    Command(Command),
    /// A tool that we know by its name only.
    Tool(String),
}

/// How far a grant, deny or declaration reaches. What is absent does not narrow; an empty list leaves nothing.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    pub(crate) paths: Option<Arc<PathPatterns>>,
    pub(crate) hosts: Option<Vec<HostPattern>>,
    pub(crate) env: Option<Vec<String>>,
    pub(crate) commands: Option<Vec<CommandPattern>>,
}

/// What a scope says about a target when it is read as permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It does not speak about targets of this kind.
    Silent,
    Admitted,
    Refused,
}

impl Target {
    /// The paths that the call concerns.
    ///
    /// Nothing of a folder that moves can be held back. So the places that begin in it are concerned as well: those that
    /// leave with it, and those that what arrives would become.
    pub(crate) fn locations(&self) -> impl Iterator<Item = &Location> {
        let (named, moved) = match self {
            Self::Path(location) => ([Some(location), None], [&[][..], &[]]),
            Self::Move { from, to } => ([Some(from), Some(to)], [from.inner(), to.inner()]),
            Self::Nothing
            | Self::Host(_)
            | Self::Variable(_)
            | Self::Environment
            | Self::Command(_)
            | Self::Tool(_) => ([None, None], [&[][..], &[]]),
        };
        named.into_iter().flatten().chain(moved.into_iter().flatten())
    }

    /// Whether the target lies where a capability leads by itself, without a scope that says more.
    ///
    /// Files: the project and the folders of the extension; for reading also what pi loads and runs (the project's `.pi`, code of
    /// extensions and servers, the agent directory) and what other programs run by themselves. Hosts: the public network.
    /// Processes: any, in a folder that may be written. Everything else has no default bounds.
    pub(crate) fn is_within_reach(&self, capability: &Capability) -> bool {
        match self {
            Self::Path(_) | Self::Move { .. } => {
                self.locations().all(|location| is_place_within_reach(location.place(), capability))
            }
            Self::Host(host) => host.is_public(),
            Self::Command(command) => {
                command.folder().is_none_or(|folder| is_place_within_reach(folder.place(), capability))
            }
            Self::Nothing | Self::Variable(_) | Self::Environment | Self::Tool(_) => true,
        }
    }

    /// Whether what holds credentials or keys is asked for by name, or moves along with a folder.
    pub(crate) fn is_secret(&self) -> bool {
        self.locations().any(|location| location.place() == Place::Secret)
    }
}

pub(crate) fn is_place_within_reach(place: Place, capability: &Capability) -> bool {
    match place {
        Place::Project | Place::Data | Place::Temporary => true,
        Place::Configuration | Place::Hooks | Place::Program | Place::Own | Place::Agent => {
            *capability == Capability::Read
        }
        Place::Secret | Place::Outside => false,
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("nothing in particular"),
            Self::Path(location) => write!(f, "{location}"),
            Self::Move { from, to } => write!(f, "{from} -> {to}"),
            Self::Host(host) => write!(f, "{host}"),
            Self::Variable(name) | Self::Tool(name) => f.write_str(name),
            Self::Environment => f.write_str("the whole environment"),
            Self::Command(command) => write!(f, "{command}"),
        }
    }
}

impl Target {
    /// The target in one line that is not longer than people read: whoever asks chose its text. What would begin a line or
    /// reach the terminal is made visible, and of what is too long the middle is left out, with a word about how much.
    pub fn in_one_line(&self) -> String {
        bounded(visible(&self.to_string()), MOST)
    }

    /// The target for a person who decides about it. Of a command that is all that would be run, with its line breaks: what
    /// is not shown would be run all the same. Where it would run is not part of it. Everything else is in one line.
    pub fn as_written(&self) -> String {
        let Self::Command(command) = self else { return self.in_one_line() };
        // Line ends and tabs stay.
        let parts = command.written().split_inclusive(['\n', '\t']);
        let shown = parts.flat_map(|part| {
            let (line, end) = part.split_at(part.trim_end_matches(['\n', '\t']).len());
            visible(line).into_iter().chain(end.chars())
        });
        bounded(shown.collect(), MOST_OF_A_COMMAND)
    }

    /// Where a command would run, if not in the project.
    pub fn folder(&self) -> Option<String> {
        let Self::Command(command) = self else { return None };
        command.folder().map(|folder| bounded(visible(&folder.to_string()), MOST))
    }
}

/// The first names of a list, with a word about how many more there are.
fn few(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let shown = |name: &String| bounded(visible(name), MOST);
    let first: Vec<String> = names.iter().take(SHOWN).map(shown).collect();
    match names.len().saturating_sub(SHOWN) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// Leaves out the middle of what is too long, with a word about how much.
fn bounded(letters: Vec<char>, most: usize) -> String {
    if letters.len() <= most {
        return letters.into_iter().collect();
    }
    let (head, tail) = (most / 2, most - most / 2);
    let left_out = letters.len() - head - tail;
    let text = |part: &[char]| part.iter().collect::<String>();
    format!("{} [… {left_out} characters …] {}", text(&letters[..head]), text(&letters[letters.len() - tail..]))
}

/// A text as a line can show it: control characters as the pictures that stand for them, and whatever else nobody would see
/// by its number.
fn visible(text: &str) -> Vec<char> {
    let picture = |sign: char| match u32::from(sign) {
        code @ 0..=0x1f => char::from_u32(0x2400 + code).into_iter().collect(),
        0x7f => vec!['\u{2421}'],
        _ => sign.escape_unicode().collect(),
    };
    unseen::shown(text).flat_map(|(sign, is_shown)| if is_shown { vec![sign] } else { picture(sign) }).collect()
}

impl Scope {
    /// Reads the scope as permission: all that is asked for must be named.
    pub(crate) fn admits(&self, target: &Target, capability: &Capability) -> Admission {
        let named = match target {
            Target::Nothing | Target::Tool(_) => None,
            Target::Path(_) | Target::Move { .. } => {
                self.paths.as_ref().map(|paths| target.locations().all(|location| paths.admits(location, capability)))
            }
            Target::Host(host) => {
                self.hosts.as_ref().map(|patterns| patterns.iter().any(|pattern| pattern.admits(host)))
            }
            Target::Variable(name) => self.env.as_ref().map(|names| names.contains(name)),
            Target::Environment => self.env.as_ref().map(|_| false),
            Target::Command(call) => {
                let folder = call
                    .folder()
                    .map(|folder| self.paths.as_ref().is_some_and(|paths| paths.admits(folder, capability)));
                match (&self.commands, folder) {
                    (Some(patterns), folder) => Some(folder.unwrap_or(true) && command::admits(patterns, call)),
                    (None, Some(named)) if self.paths.is_some() => Some(named),
                    (None, _) => None,
                }
            }
        };
        match named {
            None => Admission::Silent,
            Some(true) => Admission::Admitted,
            Some(false) => Admission::Refused,
        }
    }

    /// Reads the scope as prohibition: what might be meant is meant.
    pub(crate) fn touches(&self, target: &Target) -> Touch {
        let met = match target {
            Target::Nothing | Target::Tool(_) => None,
            Target::Path(location) => return self.paths.as_ref().map_or(Touch::Whole, |paths| paths.touches(location)),
            // A folder moves with all that is in it: nothing of it can be held back.
            Target::Move { .. } => self
                .paths
                .as_ref()
                .map(|paths| target.locations().any(|location| paths.touches(location) != Touch::Nothing)),
            Target::Host(host) => {
                self.hosts.as_ref().map(|patterns| patterns.iter().any(|pattern| pattern.touches(host)))
            }
            Target::Variable(name) => self.env.as_ref().map(|names| names.iter().any(|it| is_same(it, name))),
            Target::Environment => self.env.as_ref().map(|names| !names.is_empty()),
            Target::Command(call) => self.commands.as_ref().map(|patterns| command::touched(patterns, call).is_some()),
        };
        match met {
            None | Some(true) => Touch::Whole,
            Some(false) => Touch::Nothing,
        }
    }

    /// What the scope says about targets of this kind, and which part of it matches: for explanations.
    pub(crate) fn describe(&self, target: &Target, capability: &Capability, purpose: Purpose) -> String {
        let list = |kind: &str, written: Vec<&str>, matching: Vec<&str>| match (written.is_empty(), matching.is_empty())
        {
            (true, _) => format!("{kind} is an empty list"),
            (false, true) => format!("{kind} {} and {target} do not match", written.join(", ")),
            (false, false) => format!("{kind} {} matches {target}", matching.join(", ")),
        };
        let unbounded = || "no scope".to_owned();
        match target {
            Target::Nothing | Target::Tool(_) => unbounded(),
            Target::Path(_) | Target::Move { .. } => self.paths.as_ref().map_or_else(unbounded, |paths| {
                let mut found = target
                    .locations()
                    .flat_map(|location| paths.matching(location, capability, purpose))
                    .collect::<Vec<_>>();
                found.dedup();
                list("paths", paths.written().iter().map(String::as_str).collect(), found)
            }),
            Target::Host(host) => self.hosts.as_ref().map_or_else(unbounded, |patterns| {
                let meets = |pattern: &&HostPattern| match purpose {
                    Purpose::Grant => pattern.admits(host),
                    Purpose::Deny => pattern.touches(host),
                };
                let names = |pattern: &'_ HostPattern| pattern.written().to_owned();
                let (all, found): (Vec<_>, Vec<_>) =
                    (patterns.iter().map(names).collect(), patterns.iter().filter(meets).map(names).collect());
                list("hosts", all.iter().map(String::as_str).collect(), found.iter().map(String::as_str).collect())
            }),
            Target::Variable(_) | Target::Environment => self.env.as_ref().map_or_else(unbounded, |names| {
                let met = match purpose {
                    Purpose::Grant => self.admits(target, capability) == Admission::Admitted,
                    Purpose::Deny => self.touches(target) != Touch::Nothing,
                };
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                list("env", names.clone(), if met { names } else { Vec::new() })
            }),
            Target::Command(call) => self.commands.as_ref().map_or_else(unbounded, |patterns| {
                let met = match purpose {
                    Purpose::Grant => self.admits(target, capability) == Admission::Admitted,
                    Purpose::Deny => command::touched(patterns, call).is_some(),
                };
                let names: Vec<&str> = patterns.iter().map(CommandPattern::written).collect();
                let unclear = match (call.is_clear(), call.folder()) {
                    (false, _) if !call.variables().is_empty() => {
                        &format!(" (the command brings variables of its own: {})", few(call.variables()))
                    }
                    (false, _) => " (the command is not plain enough to be judged)",
                    (true, Some(_)) if !met => " (it runs in a folder that is not named)",
                    (true, Some(_)) => " (it runs in a folder of its own)",
                    (true, None) => "",
                };
                format!("{}{unclear}", list("commands", names.clone(), if met { names } else { Vec::new() }))
            }),
        }
    }
}
