//! Puts a system prompt together: parts with stable ids, origin and trust, in an order that keeps caches.
//!
//! What seldom changes comes first: our own words and the tools, then what was appended, then context files from the most
//! general to the nearest, then skills, and last the directory and the day. A provider's cache holds a beginning of the
//! prompt, so a change costs what stands behind it. The day has no time of day for the same reason.
//!
//! An extension may replace the text for one run; [`replace`] keeps the parts that it left as they were.

mod options;

use std::{fmt::Write, path::Path};

use pi_envelope::{Origin, Provenance, Skill as Told, SystemPart, SystemText, Trust};

pub(crate) use self::options::options;
use super::{ContextFile, Resources, Scope, SourceId, Switches, SystemFile};

/// Our own words.
const INTRO: &str = include_str!("assembly/intro.md");
/// One a line.
const GUIDELINES: &str = include_str!("assembly/guidelines.md");
/// The tool without which a model cannot read a skill.
const READER: &str = "read";
/// The ids of the parts that say something about tools.
const TOOLS_PART: &str = "tools";
const GUIDELINES_PART: &str = "guidelines";

/// What an active tool wants a model to know beside its definition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolNote {
    pub name: String,
    /// One line; a tool without one is not listed.
    pub snippet: Option<String>,
    pub guidelines: Vec<String>,
}

impl ToolNote {
    pub fn of(definition: &pi_tools::Definition) -> Self {
        Self {
            name: definition.name.clone(),
            snippet: definition.prompt_snippet.clone(),
            guidelines: definition.prompt_guidelines.clone(),
        }
    }
}

/// What a system prompt is made of.
#[derive(Debug, Clone)]
pub struct Ingredients<'a> {
    pub resources: &'a Resources,
    pub switches: &'a Switches,
    /// The tools, in the order in which they are offered.
    pub tools: &'a [ToolNote],
    /// Given as an argument; it replaces `SYSTEM.md` and our own words.
    pub instead: Option<&'a str>,
    /// Given as arguments; they follow `APPEND_SYSTEM.md`.
    pub appended: &'a [String],
    pub directory: &'a Path,
    /// `2026-11-15`.
    pub day: &'a str,
}

/// The parts of the system prompt.
pub fn assemble(from: &Ingredients<'_>) -> Vec<SystemPart> {
    let mut parts = opening(from);
    parts.extend(appended(from));
    let context = from.resources.context.iter().filter(|file| from.switches.is_on(&SourceId::of_memory(&file.path)));
    parts.extend(context.filter(|file| !file.text.trim().is_empty()).map(|file| SystemPart {
        id: SourceId::of_memory(&file.path).as_str().to_owned(),
        provenance: file.provenance.clone(),
        text: SystemText::Memory { title: file.path.display().to_string(), content: content(file) },
    }));
    if can_read(from.tools) {
        parts.extend(skills(from));
    }
    parts.extend(variables(from));
    parts
}

/// A part as it is told to a model that has only these of the tools it was assembled for; nothing if they leave nothing of it.
pub fn for_tools(part: &SystemPart, tools: &[ToolNote]) -> Option<SystemPart> {
    let is_ours = part.provenance.origin == Origin::BuiltIn;
    match &part.text {
        SystemText::Instructions { .. } if is_ours && part.id == TOOLS_PART => tool_list(tools),
        SystemText::Instructions { .. } if is_ours && part.id == GUIDELINES_PART => Some(guidelines(tools)),
        SystemText::Skills { .. } if !can_read(tools) => None,
        SystemText::Instructions { .. }
        | SystemText::Skills { .. }
        | SystemText::Memory { .. }
        | SystemText::Variable { .. } => Some(part.clone()),
    }
}

fn can_read(tools: &[ToolNote]) -> bool {
    tools.iter().any(|tool| tool.name == READER)
}

/// What `replaced` left of `parts`, and what it put around them, as words of the extension.
///
/// Extensions are shown the whole text and mostly add to it. Where the text still stands in theirs, its parts keep their
/// ids and origins; otherwise all of it is the extension's.
pub fn replace(parts: Vec<SystemPart>, replaced: &str, extension: &str) -> Vec<SystemPart> {
    let whole: String = parts.iter().map(SystemPart::sent).collect();
    let theirs = |place: &str, text: &str| SystemPart {
        id: format!("extension:{extension}:{place}"),
        provenance: Provenance::usual(Origin::Extension { id: extension.to_owned() }),
        text: SystemText::Instructions { text: text.to_owned() },
    };
    match replaced.split_once(&whole) {
        Some((before, after)) if !whole.is_empty() => {
            let before = (!before.is_empty()).then(|| theirs("before", before));
            let after = (!after.is_empty()).then(|| theirs("after", after));
            before.into_iter().chain(parts).chain(after).collect()
        }
        _ if replaced.is_empty() => Vec::new(),
        _ => vec![theirs("instead", replaced)],
    }
}

/// Our own words, or what stands instead of them.
fn opening(from: &Ingredients<'_>) -> Vec<SystemPart> {
    if let Some(text) = from.instead {
        return vec![instructions("instead", Provenance::usual(Origin::User), text.trim_end())];
    }
    if let Some(SystemFile { text, provenance, .. }) = &from.resources.system
        && from.switches.is_on(&SourceId::system())
    {
        return vec![instructions(SourceId::system().as_str(), provenance.clone(), text.trim_end())];
    }
    let intro = instructions("intro", Provenance::usual(Origin::BuiltIn), INTRO.trim_end());
    std::iter::once(intro).chain(tool_list(from.tools)).chain([guidelines(from.tools)]).collect()
}

/// The tools that have a line for it.
fn tool_list(tools: &[ToolNote]) -> Option<SystemPart> {
    let mut listed = String::new();
    for tool in tools {
        if let Some(snippet) = &tool.snippet {
            write!(listed, "\n- {}: {}", tool.name, snippet.trim()).expect("text can be written");
        }
    }
    let text = format!("\n\nTools:{listed}");
    (!listed.is_empty()).then(|| instructions(TOOLS_PART, Provenance::usual(Origin::BuiltIn), &text))
}

/// What tools want a model to know, then what we do.
fn guidelines(tools: &[ToolNote]) -> SystemPart {
    let mut rules: Vec<&str> = Vec::new();
    let given = tools.iter().flat_map(|tool| tool.guidelines.iter().map(String::as_str));
    for rule in given.chain(GUIDELINES.lines()).map(str::trim) {
        if !rule.is_empty() && !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    let text = format!("\n\nGuidelines:\n- {}", rules.join("\n- "));
    instructions(GUIDELINES_PART, Provenance::usual(Origin::BuiltIn), &text)
}

/// What a context file says. Where nobody trusts its writer it cannot end the markup around it, and so not pass for
/// words of ours.
fn content(file: &ContextFile) -> String {
    let text = file.text.trim_end();
    match file.provenance.trust {
        Trust::Trusted | Trust::Project => text.to_owned(),
        Trust::Derived | Trust::Untrusted => text.replace("</memory", "<\\/memory"),
    }
}

fn appended(from: &Ingredients<'_>) -> Vec<SystemPart> {
    let file = from.resources.append.as_ref().filter(|_| from.switches.is_on(&SourceId::append()));
    let file = file.map(|file| ("append".to_owned(), file.provenance.clone(), file.text.as_str()));
    let given = from.appended.iter().enumerate();
    let given = given.map(|(index, text)| (format!("append:{index}"), Provenance::usual(Origin::User), text.as_str()));
    let all = file.into_iter().chain(given).filter(|(_, _, text)| !text.trim().is_empty());
    all.map(|(id, provenance, text)| instructions(&id, provenance, &format!("\n\n{}", text.trim()))).collect()
}

/// One part for each scope: the person's skills are trusted otherwise than the project's. The person's come first,
/// because they are the same in every project.
fn skills(from: &Ingredients<'_>) -> Vec<SystemPart> {
    let mut parts = Vec::new();
    for (scope, id) in [
        (Scope::User, "skills:user"),
        (Scope::Project, "skills:project"),
        (Scope::Named, "skills:named"),
        (Scope::Extension, "skills:extension"),
    ] {
        let is_told = |skill: &&super::Skill| {
            skill.scope == scope && !skill.is_hidden && from.switches.is_on(&SourceId::of_skill(&skill.name))
        };
        let told: Vec<&super::Skill> = from.resources.skills.iter().filter(is_told).collect();
        // As far as the least trusted of them.
        let Some(trust) = told.iter().map(|skill| skill.provenance.trust).max() else { continue };
        let path = common_folder(told.iter().map(|skill| skill.folder.as_path())).display().to_string();
        let skills = told.iter().map(|skill| Told {
            name: skill.name.clone(),
            description: skill.description.clone(),
            location: skill.path.display().to_string(),
        });
        parts.push(SystemPart {
            id: id.to_owned(),
            provenance: Provenance { origin: Origin::File { path }, trust },
            text: SystemText::Skills { skills: skills.collect() },
        });
    }
    parts
}

fn common_folder<'a>(mut folders: impl Iterator<Item = &'a Path>) -> &'a Path {
    let first = folders.next().unwrap_or(Path::new(""));
    folders.fold(first, |common, folder| {
        common.ancestors().find(|above| folder.starts_with(above)).unwrap_or(Path::new(""))
    })
}

fn variables(from: &Ingredients<'_>) -> [SystemPart; 2] {
    let variable = |id: &str, label: &str, value: String| SystemPart {
        id: id.to_owned(),
        provenance: Provenance::usual(Origin::BuiltIn),
        text: SystemText::Variable { name: id.to_owned(), value, label: label.to_owned() },
    };
    [
        variable("cwd", "Working directory", from.directory.display().to_string()),
        variable("date", "Date", from.day.to_owned()),
    ]
}

fn instructions(id: &str, provenance: Provenance, text: &str) -> SystemPart {
    SystemPart { id: id.to_owned(), provenance, text: SystemText::Instructions { text: text.to_owned() } }
}
