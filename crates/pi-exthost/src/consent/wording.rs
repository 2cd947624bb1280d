//! What a person reads who decides whether something may be done.

use pi_policy::Question;
use pi_transcript::question::Approval;

/// Stands before every line of a command. So its words cannot begin a line, and pass for what the host says.
const MARGIN: &str = "│ ";

/// What is asked for, for clients that show it in their own way. Nobody in particular wants it, and no call waits for it.
pub fn approval(question: &Question) -> Approval {
    let action = question.action();
    Approval {
        capability: action.capability.to_string(),
        target: action.target.as_written(),
        folder: action.target.folder(),
        extension_id: None,
        origin: None,
        tool_call_id: None,
    }
}

/// What is asked for, in words. A command of several lines stands below them.
pub fn wanted(question: &Question) -> String {
    let Approval { capability, target, folder, .. } = approval(question);
    let place = folder.map(|folder| format!(" in {folder}")).unwrap_or_default();
    if !target.contains('\n') {
        return format!("{capability}{place}: {target}");
    }
    let lines: Vec<String> = target.split('\n').map(|line| format!("{MARGIN}{line}")).collect();
    format!("{capability}{place}:\n{}", lines.join("\n"))
}
