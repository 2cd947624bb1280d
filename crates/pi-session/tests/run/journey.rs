//! Commands of a person, and ways through the tree.

use pi_session::{Exposure, Journey, NavigateError, Summarise, Went};
use pi_testkit::model::Answer;
use pi_transcript::{AgentEvent, EntryId, Message};

use crate::stage::{Stage, saying};

/// The entry of the message that says this.
async fn entry(stage: &Stage, text: &str) -> EntryId {
    let messages = stage.session.messages().await.unwrap();
    let says = |message: &Message| matches!(message, Message::User(user) if user.content.text() == text);
    messages.into_iter().find(|(_, message)| says(message)).unwrap().0
}

fn to(target: EntryId, summarise: Summarise) -> Journey {
    Journey { target, summarise, label: None }
}

#[tokio::test]
async fn command_of_a_person_is_said_to_the_model_with_the_next_prompt() {
    let mut stage = Stage::new([Answer::new().text("I see.").reply()]).await;
    let ran = stage.session.bash("echo out; exit 3".to_owned(), Exposure::Shown).await.unwrap();
    assert_eq!((ran.output.as_str(), ran.exit_code, ran.cancelled), ("out\n", Some(3), false));
    stage.session.bash("echo secret".to_owned(), Exposure::Hidden).await.unwrap();
    stage.play("look").await;
    let sent = stage.server.requests()[0].json().to_string();
    assert!(sent.contains("echo out") && !sent.contains("echo secret"), "{sent}");
    assert_eq!(stage.lines().await[3..], ["bashExecution", "bashExecution", "user", "assistant"]);
}

#[tokio::test]
async fn command_that_ends_during_a_run_is_said_after_it() {
    let mut stage = Stage::new([Answer::new().hold().text("Done.").reply()]).await;
    let running = {
        let session = stage.session.clone();
        tokio::spawn(async move { session.prompt(saying("start")).await })
    };
    stage.server.received(1).await;
    stage.session.bash("true".to_owned(), Exposure::Shown).await.unwrap();
    stage.server.release(1);
    running.await.unwrap().unwrap();
    assert_eq!(stage.lines().await[3..], ["user", "assistant", "bashExecution"]);
}

#[tokio::test]
async fn command_is_ended_with_everything_that_it_started() {
    let stage = Stage::new([]).await;
    let running = {
        let session = stage.session.clone();
        tokio::spawn(async move { session.bash("echo on; sleep 600".to_owned(), Exposure::Shown).await })
    };
    let mut stage = stage;
    stage.until(|event| matches!(event, AgentEvent::BashExecutionUpdate { .. })).await;
    stage.session.abort_bash().await.unwrap();
    let ran = running.await.unwrap().unwrap();
    assert_eq!((ran.cancelled, ran.exit_code), (true, None));
}

#[tokio::test]
async fn long_output_of_a_command_is_told_once_piece_by_piece() {
    let mut stage = Stage::new([]).await;
    let command = r#"i=0; while [ $i -lt 4000 ]; do i=$((i+1)); echo "line $i that is told"; [ $((i % 100)) = 0 ] && sleep 0.02; done"#;
    let running = {
        let session = stage.session.clone();
        tokio::spawn(async move { session.bash(command.to_owned(), Exposure::Shown).await })
    };
    let (mut text, mut told, mut slid) = (String::new(), 0, 0);
    let last = "line 4000 that is told\n";
    while !text.ends_with(last) {
        if let AgentEvent::BashExecutionUpdate { delta, dropped, .. } = &*stage.events.next().await.unwrap() {
            told += delta.len();
            slid += dropped.unwrap_or(0);
            text.push_str(delta);
            text = text.chars().skip(usize::try_from(dropped.unwrap_or(0)).unwrap()).collect();
        }
    }
    let ran = running.await.unwrap().unwrap();
    let whole: usize = (1..=4000).map(|line| format!("line {line} that is told\n").len()).sum();
    assert!(slid > 0 && told <= whole, "{slid} went, {told} of {whole} bytes were told");
    // What is left out of an output is said behind it.
    assert!(ran.output.contains(&text[text.len() - 1000..]), "what is added up is the end of the output");
}

#[tokio::test]
async fn going_back_to_what_was_said_gives_it_back_and_branches_there() {
    let mut stage = Stage::new(["One.", "Two.", "Other."].map(|text| Answer::new().text(text).reply())).await;
    stage.play("first").await;
    stage.play("second").await;
    let second = entry(&stage, "second").await;
    let went = stage.session.navigate(to(second, Summarise::No)).await.unwrap();
    assert_eq!((went.text.as_deref(), went.is_summarised), (Some("second"), false));
    stage.until(|event| matches!(event, AgentEvent::SessionTree { .. })).await;
    stage.play("third").await;
    let sent = stage.server.requests()[2].json()["messages"].to_string();
    assert!(sent.contains("first") && sent.contains("third") && !sent.contains("second"), "{sent}");
}

#[tokio::test]
async fn summary_of_what_is_left_goes_along() {
    let mut stage =
        Stage::new(["One.", "Two.", "It went on.", "Other."].map(|text| Answer::new().text(text).reply())).await;
    stage.play("first").await;
    stage.play("second").await;
    let second = entry(&stage, "second").await;
    let went = stage.session.navigate(to(second, Summarise::With("names".to_owned()))).await.unwrap();
    assert!(went.is_summarised);
    stage.until(|event| matches!(event, AgentEvent::SessionTree { .. })).await;
    stage.play("third").await;
    let asked = stage.server.requests()[2].json().to_string();
    assert!(asked.contains("second") && asked.contains("names") && !asked.contains("first"), "{asked}");
    let sent = stage.server.requests()[3].json()["messages"].to_string();
    assert!(sent.contains("It went on.") && !sent.contains("Two."), "{sent}");
}

#[tokio::test]
async fn extension_says_whether_its_instructions_stand_instead_of_the_usual_ones() {
    let told = |outcome: &str| format!("{{\"family\":\"tree\",\"outcome\":{{\"action\":\"replace\",{outcome}}}}}");
    let usual = "a branch that the user left";
    for (summarise, outcome, has_usual) in [
        (Summarise::Yes, r#""instructions":"mind names","replace_instructions":true"#, false),
        (Summarise::Yes, r#""instructions":"mind names""#, true),
        (Summarise::With("mind names".to_owned()), r#""replace_instructions":true"#, false),
        (Summarise::Instead("mind names".to_owned()), r#""replace_instructions":false"#, true),
        (Summarise::Instead("nothing".to_owned()), r#""instructions":"mind names""#, false),
    ] {
        let script = format!("guest g\non session_before_tree\noutcome {}", told(outcome));
        let answers = ["One.", "Two.", "It went on."].map(|text| Answer::new().text(text).reply());
        let (mut stage, _) = Stage::with_guests(answers, &[&script]).await;
        stage.play("first").await;
        stage.play("second").await;
        let second = entry(&stage, "second").await;
        stage.session.navigate(to(second, summarise.clone())).await.unwrap();
        let asked = stage.server.requests()[2].json()["messages"].to_string();
        assert_eq!((asked.contains("mind names"), asked.contains(usual)), (true, has_usual), "{summarise:?}: {asked}");
    }
}

#[tokio::test]
async fn nobody_goes_to_what_is_not_there_or_while_the_model_works() {
    let stage = Stage::new([Answer::new().hold().reply()]).await;
    let nowhere = EntryId::from("nowhere");
    let failed = stage.session.navigate(to(nowhere.clone(), Summarise::No)).await;
    assert!(matches!(failed, Err(NavigateError::NoEntry(_))), "{failed:?}");
    let running = {
        let session = stage.session.clone();
        tokio::spawn(async move { session.prompt(saying("start")).await })
    };
    stage.server.received(1).await;
    assert_eq!(stage.session.navigate(to(nowhere, Summarise::No)).await, Err::<Went, _>(NavigateError::Busy));
    stage.session.close().await.unwrap();
    running.await.unwrap().unwrap();
}

#[tokio::test]
async fn session_is_closed_once_however_many_close_it() {
    let stage = Stage::new([Answer::new().hold().reply()]).await;
    let running = {
        let session = stage.session.clone();
        tokio::spawn(async move { session.prompt(saying("start")).await })
    };
    stage.server.received(1).await;
    let (one, other) = tokio::join!(stage.session.close(), stage.session.close());
    assert_eq!((one, other), (Ok(Vec::new()), Ok(Vec::new())));
    running.await.unwrap().unwrap();
    assert!(stage.session.state().await.is_err());
}
