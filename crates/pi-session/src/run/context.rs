//! Where system messages stand after extensions that do not see them have changed the others.

use pi_envelope::Said;
use pi_transcript::{EntryId, Message};

/// The system messages of `before` among `changed`, each behind the message that it followed; if that is gone, behind the
/// nearest one before it that is not.
pub(super) fn with_system(before: &[Said], changed: Vec<Said>) -> Vec<Said> {
    let mut behind: Vec<(usize, Said)> = Vec::new();
    let mut spoken: Vec<&EntryId> = Vec::new();
    for said in before {
        match said.message() {
            Message::System(_) => {
                let place = spoken.iter().rev().find_map(|id| changed.iter().rposition(|other| other.id() == *id));
                behind.push((place.map_or(0, |place| place + 1), said.clone()));
            }
            Message::User(_)
            | Message::Assistant(_)
            | Message::ToolResult(_)
            | Message::BashExecution(_)
            | Message::Custom(_)
            | Message::BranchSummary(_)
            | Message::CompactionSummary(_)
            | Message::Other(_) => spoken.push(said.id()),
        }
    }
    // Those that come to stand at one place keep their order.
    behind.sort_by_key(|(place, _)| *place);
    let mut behind = behind.into_iter().peekable();
    let mut all = Vec::with_capacity(before.len());
    for (place, said) in changed.into_iter().enumerate() {
        while let Some((_, system)) = behind.next_if(|(wanted, _)| *wanted <= place) {
            all.push(system);
        }
        all.push(said);
    }
    all.extend(behind.map(|(_, system)| system));
    all
}

#[cfg(test)]
mod tests {
    use pi_envelope::{Origin, Provenance};
    use serde_json::json;

    use super::*;

    /// Letters are messages; capitals are those of the system.
    fn said(letters: &str) -> Vec<Said> {
        let said = |letter: char| {
            let role = if letter.is_uppercase() { "system" } else { "user" };
            let message = json!({ "role": role, "content": letter.to_string(), "timestamp": 0 });
            let message: Message = serde_json::from_value(message).expect("a message");
            Said::new(letter.to_string().into(), message, Provenance::usual(Origin::User))
        };
        letters.chars().map(said).collect()
    }

    #[test]
    fn system_message_stays_behind_what_it_followed() {
        for (before, changed, expected) in [
            ("SabTc", "abc", "SabTc"),
            ("SabTc", "bc", "SbTc"),
            ("SabTc", "ac", "SaTc"),
            ("SabTc", "cab", "ScabT"),
            ("SabTUc", "axbyc", "SaxbTUyc"),
            ("aS", "x", "Sx"),
            ("aS", "", "S"),
            ("abS", "xby", "xbSy"),
        ] {
            let all = with_system(&said(before), said(changed));
            let told: String = all.iter().map(|said| said.id().as_str()).collect();
            assert_eq!(told, expected, "{before} with {changed}");
        }
    }
}
