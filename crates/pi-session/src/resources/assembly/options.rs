//! What a system prompt was made of, in the form in which Pi tells its extensions.

use std::path::Path;

use pi_envelope::{SystemPart, SystemText};
use serde_json::{Map, Value, json};

use super::{SourceId, ToolNote};

/// Where the words of a person stand instead of ours.
const INSTEAD: &str = "instead";
const APPENDED: &str = "append";
const DIRECTORY: &str = "cwd";

/// `systemPromptOptions` of `before_agent_start`.
pub(crate) fn options(parts: &[SystemPart], tools: &[ToolNote]) -> Value {
    let mut options = Map::new();
    let (mut appended, mut files, mut skills) = (Vec::new(), Vec::new(), Vec::new());
    for part in parts {
        match &part.text {
            SystemText::Memory { title, content } => files.push(json!({ "path": title, "content": content })),
            SystemText::Skills { skills: told } => skills.extend(told.iter().map(|skill| {
                let folder = Path::new(&skill.location).parent().unwrap_or(Path::new(""));
                json!({ "name": skill.name, "description": skill.description, "filePath": skill.location,
                    "baseDir": folder.display().to_string(), "disableModelInvocation": false })
            })),
            SystemText::Variable { name, value, .. } if name == DIRECTORY => {
                options.insert("cwd".to_owned(), value.as_str().into());
            }
            SystemText::Instructions { text } if part.id == INSTEAD || part.id == SourceId::system().as_str() => {
                options.insert("customPrompt".to_owned(), text.as_str().into());
            }
            SystemText::Instructions { text } if part.id.split(':').next() == Some(APPENDED) => {
                appended.push(text.trim());
            }
            // Pi makes these of what it is given beside them.
            SystemText::Instructions { .. } | SystemText::Variable { .. } => {}
        }
    }
    if !appended.is_empty() {
        options.insert("appendSystemPrompt".to_owned(), appended.join("\n\n").into());
    }
    let snippets: Map<String, Value> =
        tools.iter().filter_map(|tool| Some((tool.name.clone(), tool.snippet.clone()?.into()))).collect();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let guidelines: Vec<&String> = tools.iter().flat_map(|tool| &tool.guidelines).collect();
    options.extend([
        ("contextFiles".to_owned(), files.into()),
        ("skills".to_owned(), skills.into()),
        ("selectedTools".to_owned(), json!(names)),
        ("toolSnippets".to_owned(), snippets.into()),
        ("promptGuidelines".to_owned(), json!(guidelines)),
    ]);
    options.into()
}

#[cfg(test)]
mod tests {
    use pi_envelope::{Origin, Provenance, Skill};

    use super::{
        super::{GUIDELINES_PART, TOOLS_PART},
        *,
    };

    #[test]
    fn options_are_what_the_parts_were_made_of() {
        let part = |id: &str, text: SystemText| SystemPart {
            id: id.to_owned(),
            provenance: Provenance::usual(Origin::BuiltIn),
            text,
        };
        let words = |id: &str, text: &str| part(id, SystemText::Instructions { text: text.to_owned() });
        let (name, description, location) = ("s".to_owned(), "d".to_owned(), "/k/s/SKILL.md".to_owned());
        let parts = [
            words("instead", "Mine."),
            words(TOOLS_PART, "tools"),
            words(GUIDELINES_PART, "guidelines"),
            words(SourceId::append().as_str(), "\n\nOne."),
            words("append:0", "\n\nTwo."),
            part(
                "memory:AGENTS.md",
                SystemText::Memory { title: "/p/AGENTS.md".to_owned(), content: "Be.".to_owned() },
            ),
            part("skills:user", SystemText::Skills { skills: vec![Skill { name, description, location }] }),
            part("cwd", SystemText::Variable { name: "cwd".to_owned(), value: "/p".to_owned(), label: String::new() }),
        ];
        let tools = [
            ToolNote {
                name: "read".to_owned(),
                snippet: Some("Reads".to_owned()),
                guidelines: vec!["First.".to_owned()],
            },
            ToolNote { name: "own".to_owned(), snippet: None, guidelines: Vec::new() },
        ];
        let expected = json!({
            "cwd": "/p", "customPrompt": "Mine.", "appendSystemPrompt": "One.\n\nTwo.",
            "contextFiles": [{ "path": "/p/AGENTS.md", "content": "Be." }],
            "skills": [{ "name": "s", "description": "d", "filePath": "/k/s/SKILL.md", "baseDir": "/k/s",
                "disableModelInvocation": false }],
            "selectedTools": ["read", "own"], "toolSnippets": { "read": "Reads" }, "promptGuidelines": ["First."],
        });
        assert_eq!(options(&parts, &tools), expected);
    }
}
