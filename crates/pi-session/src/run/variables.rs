//! What commands are told of the session that they run in: variables with Pi's names.

use std::sync::Arc;

use pi_tools::Workspace;
use pi_transcript::ThinkingLevel;

use super::Parts;
use crate::models::Choice;

const FILE: &str = "PI_SESSION_FILE";

/// The workspace for a command that is started now. A session without a file passes none on, not even that of a session around it.
pub(crate) fn tell(workspace: &Workspace, parts: &Parts, choice: &Choice, level: ThinkingLevel) -> Arc<Workspace> {
    let workspace = workspace.with_environment(|environment| {
        let environment = environment
            .with("PI_SESSION_ID", parts.session.as_str())
            .with("PI_PROVIDER", choice.provider().as_str())
            .with("PI_MODEL", choice.id())
            .with("PI_REASONING_LEVEL", level.as_str());
        match &parts.reader {
            Some(reader) => environment.with(FILE, reader.path()),
            None => environment.without(FILE),
        }
    });
    Arc::new(match &parts.shell {
        Some(watch) => workspace.watched(Arc::clone(watch)),
        None => workspace,
    })
}
