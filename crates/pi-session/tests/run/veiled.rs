//! Secrets that a model is not shown, in files that it changes.

use pi_testkit::{Reply, model::Answer};
use serde_json::{Value, json};

use crate::stage::{PLANTED, Stage};

const MARK: &str = "[REDACTED]";

/// Lets the model make one call about `.env`, which has a secret in its second line. Tells the result, and what the file
/// holds then.
async fn call(tool: &str, arguments: Value) -> (String, String) {
    let answers: [Reply; 2] = [Answer::new().call("c1", tool, &arguments).reply(), Answer::new().text("So.").reply()];
    let mut stage = Stage::new(answers).await;
    std::fs::write(stage.path(".env"), format!("A=1\nKEY={PLANTED}\nB=2\n")).unwrap();
    let told = stage.play("go").await;
    let result = told.lines().find(|line| line.starts_with("result of ")).unwrap().to_owned();
    let sent = String::from_utf8(stage.server.requests()[1].body.clone()).unwrap();
    assert!(!told.contains(PLANTED) && !sent.contains(PLANTED), "{told}");
    (result, std::fs::read_to_string(stage.path(".env")).unwrap())
}

#[tokio::test]
async fn model_is_told_that_something_is_not_shown() {
    let (result, _) = call("read", json!({ "path": ".env" })).await;
    assert!(result.contains("KEY=[REDACTED]") && result.contains("[A secret is not shown here"), "{result}");
    let (result, _) = call("bash", json!({ "command": "cat .env .env" })).await;
    assert!(result.contains("[2 secrets are not shown here"), "{result}");
}

#[tokio::test]
async fn file_that_is_written_back_keeps_its_secret() {
    let content = format!("A=1\nKEY={MARK}\nB=3\nC=4\n");
    let (result, file) = call("write", json!({ "path": ".env", "content": content })).await;
    assert_eq!(file, format!("A=1\nKEY={PLANTED}\nB=3\nC=4\n"));
    assert!(result.contains("[1 line with [REDACTED] kept its secret.]"), "{result}");
}

#[tokio::test]
async fn edit_around_a_secret_keeps_it() {
    let edit = json!({ "oldText": format!("KEY={MARK}\nB=2"), "newText": format!("KEY={MARK}\nB=3") });
    let (_, file) = call("edit", json!({ "path": ".env", "edits": [edit] })).await;
    assert_eq!(file, format!("A=1\nKEY={PLANTED}\nB=3\n"));
}

#[tokio::test]
async fn mark_that_stands_for_nobody_knows_what_is_not_written() {
    let before = format!("A=1\nKEY={PLANTED}\nB=2\n");
    let content = format!("A=1\nOTHER={MARK}\n");
    let edit = json!({ "oldText": format!("KEY={MARK}"), "newText": format!("KEY='{MARK}'") });
    for (tool, arguments) in
        [("write", json!({ "path": ".env", "content": content })), ("edit", json!({ "path": ".env", "edits": [edit] }))]
    {
        let (result, file) = call(tool, arguments).await;
        assert!(result.starts_with(&format!("result of {tool} failed \".env was not changed. Line 2 ")), "{result}");
        assert_eq!(file, before);
    }
}

#[tokio::test]
async fn mark_in_a_file_that_hides_nothing_is_written_with_a_word_of_warning() {
    let (result, _) = call("write", json!({ "path": "copy", "content": format!("KEY={MARK}\n") })).await;
    assert!(result.contains("was written as it is"), "{result}");
}
