//! Commands that an extension wrote into the editor of somebody, who sent them: it answers for them as for its own.

use pi_session::{BashError, Exposure};
use serde_json::{Value, json};

use crate::stage::Stage;

/// What came of a command in which these wrote, and what the ledger holds.
async fn check(written_by: &[&str], policy: Value, expected: &[&str]) {
    let (stage, _) = Stage::under(policy, [], &["guest g"]).await;
    let written_by = written_by.iter().map(|guest| (*guest).into()).collect();
    let ran = stage.session.bash_written_by(written_by, "touch made".to_owned(), Exposure::Hidden).await;
    let refused = match ran {
        Ok(_) => None,
        Err(BashError::Refused { reason }) => Some(reason),
        Err(error) => panic!("{error}"),
    };
    let made = if stage.path("made").exists() { "made" } else { "not made" };
    let found: Vec<String> = refused.into_iter().chain([made.to_owned()]).chain(stage.ledger().await).collect();
    assert_eq!(found, expected);
}

#[tokio::test]
async fn command_that_an_extension_wrote_is_denied_like_its_own() {
    check(
        &["g"],
        json!({}),
        &[
            "the extension g wrote it: Extension g wanted exec: touch made and may not (denied unless it is granted by name). \
             To allow it: pi ext allow g exec --command 'touch made'",
            "not made",
            "g host_call.start exec",
            "g policy.decision exec deny",
            "g host_call.end exec denied",
        ],
    )
    .await;
}

#[tokio::test]
async fn command_of_an_extension_that_may_is_run_and_stands_in_its_ledger() {
    let grant = json!({ "grants": { "g": [{ "capability": "exec" }] } });
    check(&["g"], grant.clone(), &["made", "g host_call.start exec", "g host_call.end exec"]).await;
    check(
        &["g", "gone"],
        grant,
        &[
            "the extension gone wrote it: extension gone is not there any more",
            "not made",
            "g host_call.start exec",
            "g host_call.end exec",
        ],
    )
    .await;
}

#[tokio::test]
async fn command_that_a_person_wrote_alone_is_theirs() {
    check(&[], json!({}), &["made"]).await;
}
