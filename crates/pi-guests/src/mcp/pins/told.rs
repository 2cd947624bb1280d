//! What changed, in the words in which a person is asked about it. Lines are ours but for what stands behind a heading.

use pi_extproto::{connector::tool::ToolDefinition, unseen};

use super::{Changed, Unagreed};
use crate::mcp::naming;

impl Unagreed {
    /// What changed, for a person, in lines that are ours but for what stands behind a heading.
    pub fn told(&self) -> String {
        let mut lines = Vec::new();
        match &self.before {
            Some(before) => quote("before", before, &mut lines),
            None => lines.push("  new since you agreed to the servers of this project".to_owned()),
        }
        quote("now", &self.now, &mut lines);
        match self.changed.as_slice() {
            [] if self.before.as_ref() == Some(&self.now) => {
                lines.push("  changed: what is not shown, such as a secret; how it was is not recorded".to_owned());
            }
            [] => {}
            names => quote("changed", &names.join(", "), &mut lines),
        }
        lines.join("\n")
    }
}

impl Changed {
    /// The tool as a model is told of it once somebody has agreed.
    pub fn definition(&self, server: &str) -> ToolDefinition {
        naming::definition(server, &self.tool)
    }

    /// What changed, for a person: the name of the tool, and below it lines with an indent. What the server wrote is marked line
    /// by line, so that it cannot pass for anything that pi says.
    pub fn told(&self) -> (String, Vec<String>) {
        let Self { tool, before, arguments } = self;
        let mut lines = Vec::new();
        match before {
            Some(before) if *before == tool.description => {}
            Some(before) => {
                quote("before", before, &mut lines);
                quote("now", &tool.description, &mut lines);
            }
            None => {
                lines.push("  new since the server was first seen".to_owned());
                quote("now", &tool.description, &mut lines);
            }
        }
        if !arguments.is_empty() {
            lines.push("  its arguments:".to_owned());
            lines.extend(arguments.iter().flat_map(|line| broken(line)).map(|line| format!("    {line}")));
        }
        (broken(&tool.name).collect::<Vec<_>>().join(" "), lines)
    }
}

/// What a server wrote: behind its heading if it is one line, else below it and marked. What nobody would see of it is
/// counted: else two texts could look the same.
fn quote(heading: &str, text: &str, lines: &mut Vec<String>) {
    let (seen, unseen) = (unseen::without_lures(text), unseen::count(text));
    let heading = match unseen {
        0 => heading.to_owned(),
        unseen => format!("{heading}, with {}", unseen_signs(unseen)),
    };
    let written: Vec<&str> = broken(seen.trim()).collect();
    match written.as_slice() {
        [] => lines.push(format!("  {heading}:")),
        [line] => lines.push(format!("  {heading}: {line}")),
        written => {
            lines.push(format!("  {heading}:"));
            lines.extend(written.iter().map(|line| format!("  | {line}")));
        }
    }
}

/// How many signs of a text nobody sees, in words.
pub(in crate::mcp) fn unseen_signs(count: usize) -> String {
    match count {
        1 => "1 sign that nobody sees".to_owned(),
        count => format!("{count} signs that nobody sees"),
    }
}

/// Lines, by every sign that some terminal takes for the end of one.
fn broken(text: &str) -> impl Iterator<Item = &str> {
    text.split(['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'])
}
