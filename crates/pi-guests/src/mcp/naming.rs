//! What a tool of a server is called before a model.

use pi_extproto::connector::tool::ToolDefinition;
use pi_transcript::json::Digest;

use super::reading::ToolFace;

/// Providers take no longer names.
const LONGEST: usize = 64;

/// `mcp__server__tool`, in letters that every provider takes. A name that had to be changed or cut ends in letters of its
/// own, so that two tools stay two.
pub(super) fn tool(server: &str, tool: &str) -> String {
    let whole = format!("mcp__{server}__{tool}");
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    let plain: String = whole.chars().map(|letter| if is_plain(letter) { letter } else { '_' }).collect();
    if plain == whole && whole.len() <= LONGEST {
        return whole;
    }
    let mark: String = Digest::of(whole.as_bytes()).as_bytes()[..3].iter().map(|byte| format!("{byte:02x}")).collect();
    let kept: String = plain.chars().take(LONGEST - mark.len() - 1).collect();
    format!("{kept}_{mark}")
}

/// A tool of a server as a model is told of it.
pub(super) fn definition(server: &str, face: &ToolFace) -> ToolDefinition {
    ToolDefinition {
        name: tool(server, &face.name),
        label: Some(face.title.clone().unwrap_or_else(|| face.name.clone())),
        description: face.description.clone(),
        parameters: face.schema.clone(),
        prompt_snippet: None,
        execution_mode: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_providers_take() {
        assert_eq!(tool("time", "get_current_time"), "mcp__time__get_current_time");
        let (dotted, slashed) = (tool("a.b", "read"), tool("a", "b/read"));
        assert!(dotted.starts_with("mcp__a_b__read_") && slashed.starts_with("mcp__a__b_read_"), "{dotted} {slashed}");
        let (one, two) = (tool("s", &"x".repeat(80)), tool("s", &"x".repeat(81)));
        assert_eq!((one.len(), two.len(), one == two), (64, 64, false));
    }
}
