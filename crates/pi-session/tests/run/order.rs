//! Calls of one answer about one file, and calls that came only in part.

use pi_testkit::model::Answer;
use serde_json::json;

use crate::stage::Stage;

fn results(told: &str) -> Vec<&str> {
    told.lines().filter_map(|line| line.strip_prefix("result of ")).collect()
}

#[tokio::test]
async fn read_sees_what_was_written_before_it_and_nothing_that_comes_later() {
    let mut answer = Answer::new();
    for round in 0..8 {
        let content = format!("round {round} {}", "x".repeat(1 << 15));
        answer = answer
            .call(&format!("w{round}"), "write", &json!({ "path": "a.txt", "content": content }))
            .call(&format!("r{round}"), "read", &json!({ "path": "a.txt" }))
            .call(
                &format!("e{round}"),
                "edit",
                &json!({ "path": "a.txt", "edits": [{ "oldText": "round", "newText": "edited" }] }),
            )
            .call(&format!("s{round}"), "read", &json!({ "path": "./a.txt" }));
    }
    let mut stage = Stage::new([answer.reply(), Answer::new().text("Done.").reply()]).await;
    let told = stage.play("go").await;
    let reads: Vec<String> = results(&told)
        .iter()
        .filter_map(|result| result.strip_prefix("read \""))
        .map(|text| text.chars().take(8).collect())
        .collect();
    let expected: Vec<String> =
        (0..8).flat_map(|round| [format!("round {round} "), format!("edited {round}")]).collect();
    assert_eq!(reads, expected);
}

#[tokio::test]
async fn call_whose_arguments_were_cut_is_not_run_and_the_model_is_told() {
    let cut = Answer::new().call_in_words("c1", "write", r#"{"path": "a.txt", "content": "half of a f"#).at_its_limit();
    let mut stage = Stage::new([cut.reply(), Answer::new().text("Again.").reply()]).await;
    let told = stage.play("write").await;
    let expected = "write failed \"The call ended in the middle of its arguments. Make it again, with less in it.\"";
    assert_eq!(results(&told), [expected]);
    assert!(!stage.path("a.txt").exists());
    let sent = stage.server.requests()[1].json();
    let last = sent["messages"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["role"], &last["tool_call_id"]), (&json!("tool"), &json!("c1")));
}

/// What is wrong with its arguments is not that they are long.
#[tokio::test]
async fn call_whose_arguments_are_no_object_is_not_run_and_the_model_is_told_what_is_wrong() {
    for (written, flaw) in [
        (r#"{"path": "a.txt", "content": "x",}"#, "they are not JSON from byte 33 on"),
        (r#""{\"path\": \"a.txt\"}""#, "they do not begin with a brace"),
        (r#"{"path": "a.txt", "content": "x"} so"#, "something stands behind the brace that ends them"),
    ] {
        let malformed = Answer::new().call_in_words("c1", "write", written);
        let mut stage = Stage::new([malformed.reply(), Answer::new().text("Again.").reply()]).await;
        stage.play("write").await;
        assert!(!stage.path("a.txt").exists());
        let sent = stage.server.requests()[1].json();
        let last = sent["messages"].as_array().unwrap().last().unwrap();
        let told = format!(
            "The arguments of the call are not a JSON object: {flaw}. They begin with: {written}\nMake the call again, with \
             one JSON object as its arguments and nothing around it."
        );
        assert_eq!(last["content"], json!(told));
    }
}

#[tokio::test]
async fn call_with_null_for_its_arguments_has_none() {
    let call = Answer::new().call_in_words("c1", "read", "null");
    let mut stage = Stage::new([call.reply(), Answer::new().text("Done.").reply()]).await;
    let told = stage.play("look").await;
    // The tool is asked, and misses what it needs.
    assert!(results(&told)[0].contains("path") && !results(&told)[0].contains("JSON"), "{:?}", results(&told));
}
