//! What becomes of what somebody types: commands of extensions, input hooks, templates.

use std::sync::Arc;

use pi_envelope::Origin;
use pi_exthost::port::Mode;
use pi_session::{Complaint, Ending, PromptError, Prompted, input::Utterance, queue::When};
use pi_testkit::model::Answer;
use pi_transcript::AgentEvent;

use crate::stage::{Stage, saying};

fn done() -> pi_testkit::Reply {
    Answer::new().text("Done.").reply()
}

fn handled(by: &str) -> Result<Prompted, PromptError> {
    Ok(Prompted::Handled { by: by.into(), trouble: None })
}

/// What the model was asked last by the user.
fn asked(stage: &Stage) -> String {
    let requests = stage.server.requests();
    let messages = requests.last().unwrap().json()["messages"].as_array().unwrap().clone();
    messages.iter().rfind(|message| message["role"] == "user").unwrap()["content"].to_string()
}

const INPUT: &str = "on input\noutcome";

fn transform(text: &str) -> String {
    format!(
        r#"{INPUT} {{"family":"input","outcome":{{"action":"transform","content":[{{"type":"text","text":"{text}"}}]}}}}"#
    )
}

#[tokio::test]
async fn command_of_an_extension_runs_and_the_model_hears_nothing() {
    let script = "guest notes\ncommand remember\nappend memo\non input";
    let (mut stage, guests) = Stage::with_guests([], &[script]).await;
    assert_eq!(stage.session.say(Utterance::new("/remember the  milk")).await, handled("notes"));
    assert_eq!(guests[0].heard(), ["command remember the  milk"]);
    assert_eq!(stage.server.requests().len(), 0);
    assert!(stage.until(|event| matches!(event, AgentEvent::EntryAppended { .. })).await.contains("entry custom"));
}

#[tokio::test]
async fn command_runs_while_the_model_works() {
    let (stage, guests) = Stage::with_guests(
        [Answer::new().hold().text("x").reply(), done()],
        &["guest g\ncommand go\nlook\nsay follow_up and then"],
    )
    .await;
    let running = {
        let session = stage.session.clone();
        tokio::spawn(async move { session.prompt(saying("start")).await })
    };
    stage.server.received(1).await;
    assert_eq!(stage.session.say_during(Utterance::new("/go"), When::Steer).await, handled("g"));
    assert_eq!(guests[0].heard()[1], "session 01900000-0000-7000-8000-000000000000 idle false");
    stage.server.release(1);
    assert_eq!(running.await.unwrap(), Ok(Prompted::Ran(Ending::Done)));
    assert!(asked(&stage).contains("and then"));
}

#[tokio::test]
async fn failing_command_is_told_and_answered() {
    let (mut stage, _) = Stage::with_guests([], &["guest g\ncommand go\nthrow no"]).await;
    let said = stage.session.say(Utterance::new("/go")).await;
    assert_eq!(said, Ok(Prompted::Handled { by: "g".into(), trouble: Some("no".to_owned()) }));
    let told = stage.until(|event| matches!(event, AgentEvent::ExtensionError { .. })).await;
    assert_eq!(told, "extension failed at command:go: no");
}

#[tokio::test]
async fn argument_of_a_command_is_completed_by_its_extension() {
    let (stage, _) =
        Stage::with_guests([], &["guest g\ncommand go\ncompletes north south nowhere\ncommand stop"]).await;
    for (command, prefix, expected) in
        [("go", "no", &["north", "nowhere"][..]), ("go", "x", &[]), ("stop", "", &[]), ("nothing", "", &[])]
    {
        let found = stage.session.complete_argument(command.to_owned(), prefix.to_owned()).await.unwrap();
        let found: Vec<&str> = found.iter().map(|suggestion| suggestion.value.as_str()).collect();
        assert_eq!(found, expected, "{command} {prefix}");
    }
}

#[tokio::test]
async fn conversation_that_an_extension_begins_is_kept() {
    let script = "guest porter\ncommand say\nstart note follow_up hello";
    let (mut stage, _) = Stage::with_guests([Answer::new().text("Done.").reply()], &[script]).await;
    let said = stage.session.say(Utterance::new("/say")).await;
    assert_eq!(said, Ok(Prompted::Handled { by: "porter".into(), trouble: None }));
    stage.until(|event| matches!(event, AgentEvent::AgentSettled { .. })).await;
    let lines = stage.lines().await;
    assert_eq!(lines[lines.len() - 2..], ["custom_message", "assistant"], "{lines:?}");
    let written = std::fs::read_to_string(stage.file()).unwrap();
    assert!(written.contains(r#""content":"hello""#), "text stays text: {written}");
    assert!(stage.path("../session.jsonl.envelopes").exists());
}

#[tokio::test]
async fn nothing_is_left_of_a_session_in_which_nobody_spoke() {
    let script = "guest porter\ncommand think\ncomplete what now\nsend note steer ready";
    let (mut stage, guests) = Stage::with_guests([Answer::new().text("Hm.").reply()], &[script]).await;
    let said = stage.session.say(Utterance::new("/think")).await;
    assert_eq!(said, Ok(Prompted::Handled { by: "porter".into(), trouble: None }));
    assert!(guests[0].heard().join("\n").contains("completion"), "{:?}", guests[0].heard());
    assert_eq!(stage.session.requests().await.unwrap().len(), 1);
    assert_eq!(stage.lines().await, Vec::<String>::new());
    assert!(!stage.path("../session.jsonl.envelopes").exists());
}

#[tokio::test]
async fn what_was_shown_before_anybody_spoke_is_kept_with_the_session() {
    let script = "guest porter\ncommand think\ncomplete what now";
    let answers = ["Hm.", "Done."].map(|text| Answer::new().text(text).reply());
    let (mut stage, _) = Stage::with_guests(answers, &[script]).await;
    stage.session.say(Utterance::new("/think")).await.unwrap();
    stage.play("go").await;
    stage.lines().await;
    let kept = pi_session::export::envelopes(&stage.file()).unwrap();
    assert_eq!(kept.len(), 2, "{kept:?}");
}

#[tokio::test]
async fn hanging_command_ends_when_somebody_aborts() {
    let (stage, guests) = Stage::with_guests([], &["guest g\ncommand go\nheed"]).await;
    let running = {
        let session = stage.session.clone();
        tokio::spawn(async move { session.say(Utterance::new("/go")).await })
    };
    while guests[0].heard().is_empty() {
        tokio::task::yield_now().await;
    }
    stage.session.abort().await.unwrap();
    assert_eq!(running.await.unwrap(), Ok(Prompted::Handled { by: "g".into(), trouble: Some("cancelled".to_owned()) }));
}

#[tokio::test]
async fn key_of_an_extension_runs_beside_a_run_and_says_how_it_failed() {
    let scripts = ["guest g\nshortcut ctrl+x\nname pressed\nthrow no", "guest h\nshortcut alt+h\nheed"];
    let (mut stage, guests) = Stage::with_guests([], &scripts).await;
    let listed: Vec<_> = stage.session.shortcuts().await.unwrap().into_iter().map(|one| one.chord).collect();
    assert_eq!(listed, ["ctrl+x", "alt+h"]);
    assert_eq!(stage.session.press_shortcut("Ctrl+X".to_owned()).await, Ok(true));
    let told = stage.until(|event| matches!(event, AgentEvent::ExtensionError { .. })).await;
    assert!(told.ends_with("extension failed at shortcut:ctrl+x: no"), "{told}");
    assert_eq!(stage.session.state().await.unwrap().name.as_deref(), Some("pressed"));
    assert_eq!(stage.session.press_shortcut("ctrl+y".to_owned()).await, Ok(false));
    let session = stage.session.clone();
    let pressing = tokio::spawn(async move { session.press_shortcut("alt+h".to_owned()).await });
    while guests[1].heard().is_empty() {
        tokio::task::yield_now().await;
    }
    stage.session.abort().await.unwrap();
    assert_eq!(pressing.await.unwrap(), Ok(true));
}

#[tokio::test]
async fn what_stands_in_the_editor_is_told_to_extensions_that_ask() {
    let script = "guest g
command look
written
command write
announce {\"method\":\"setEditorText\",\"text\":\"a and b\"}
written
command paste
announce {\"method\":\"setEditorText\",\"text\":\" c\",\"inserted\":\" c\"}
written";
    let (stage, guests) = Stage::with_guests([], &[script]).await;
    let run = async |name: &str| stage.session.say(Utterance::new(name)).await.unwrap();
    run("/look").await;
    stage.session.note_editor("a".to_owned(), None).await.unwrap();
    run("/look").await;
    run("/write").await;
    // What was typed before the extension wrote is of the past.
    stage.session.note_editor("ax".to_owned(), None).await.unwrap();
    run("/look").await;
    // What is pasted stands behind it as long as nobody has told where the cursor was.
    run("/paste").await;
    let heard: Vec<_> = guests[0].heard().into_iter().filter(|line| line.starts_with("written")).collect();
    let expected = [
        r#"written None"#,
        r#"written Some("a")"#,
        r#"written Some("a and b")"#,
        r#"written Some("a and b")"#,
        r#"written Some("a and b c")"#,
    ];
    assert_eq!(heard, expected);
}

#[tokio::test]
async fn commands_templates_and_collisions_are_listed() {
    let scripts = ["guest a\ncommand go\ndescribes Goes.\ncommand greet", "guest b\ncommand go\non input\ncommands"];
    let (stage, _) = Stage::with_guests([], &scripts).await;
    let listed = stage.session.commands().await.unwrap();
    let names: Vec<_> = listed.iter().map(|info| info.definition.name.as_str()).collect();
    assert_eq!(names, ["go", "greet", "go:2"]);
    let complaints = stage.session.complaints().await.unwrap();
    let texts: Vec<_> = complaints.iter().map(Complaint::to_string).collect();
    assert_eq!(texts, ["the command go is that of extension a; that of b is /go:2"]);
    assert_eq!(stage.session.say(Utterance::new("/go:2")).await, handled("b"));
}

#[tokio::test]
async fn text_that_calls_nothing_and_text_behind_a_pipe_go_to_the_model() {
    let (mut stage, guests) = Stage::with_guests([done(), done()], &["guest g\ncommand go"]).await;
    for said in [Utterance::new("/nothing here"), Utterance { piped: Some("data".to_owned()), ..Utterance::new("/go") }]
    {
        assert_eq!(stage.session.say(said).await, Ok(Prompted::Ran(Ending::Done)));
        stage.until(|event| matches!(event, AgentEvent::AgentSettled { .. })).await;
    }
    assert_eq!(guests[0].heard(), Vec::<String>::new());
    assert!(asked(&stage).contains("/go"));
}

#[tokio::test]
async fn input_hook_is_heard_before_the_template_and_may_call_one() {
    let script = format!("guest g\n{}", transform("/greet Ada"));
    let (stage, guests) = Stage::with_guests([done()], &[&script]).await;
    assert_eq!(stage.session.say(Utterance::new("hello")).await, Ok(Prompted::Ran(Ending::Done)));
    assert_eq!(guests[0].heard(), [r#"input {"text":"hello","source":"interactive"}"#]);
    assert!(asked(&stage).contains("Greet Ada warmly."));
}

#[tokio::test]
async fn changed_input_is_the_words_of_the_extension() {
    let script = format!("guest g\n{}", transform("instead"));
    let (stage, _) = Stage::with_guests([done(), done()], &[&script]).await;
    stage.session.say(Utterance::new("typed")).await.unwrap();
    stage.say("composed").await;
    for request in stage.session.requests().await.unwrap() {
        let envelope = stage.session.envelope(request.request.as_str().into()).await.unwrap().unwrap();
        let origins = crate::origins::origins(&envelope);
        let expected = ("instead".to_owned(), Origin::Extension { id: "g".to_owned() });
        assert_eq!(origins.iter().filter(|(text, _)| text == "instead").collect::<Vec<_>>()[0], &expected);
    }
}

#[tokio::test]
async fn handled_input_never_reaches_the_model() {
    let script = format!(
        r#"guest g
{INPUT} {{"family":"input","outcome":{{"action":"handled"}}}}"#
    );
    let (stage, _) = Stage::with_guests([], &[&script]).await;
    assert_eq!(stage.session.say(Utterance::new("hi")).await, handled("g"));
    assert_eq!(stage.session.prompt(saying("hi")).await, handled("g"));
    assert_eq!(stage.server.requests().len(), 0);
}

#[tokio::test]
async fn input_hook_that_fails_is_passed_over() {
    let (mut stage, _) = Stage::with_guests([done()], &["guest g\non input\npanic oops"]).await;
    let told = stage.play("hi").await;
    assert!(told.contains("extension failed at input: the extension panicked: oops"), "{told}");
    assert!(told.ends_with("settled"), "{told}");
}

#[tokio::test]
async fn what_was_said_first_arrives_first_even_if_hooks_take_time() {
    let (stage, _) = Stage::with_guests([done(), done()], &["guest g\non input\nwait 30"]).await;
    let session = stage.session.clone();
    let first = tokio::spawn(async move { session.say_during(Utterance::new("one"), When::FollowUp).await });
    tokio::task::yield_now().await;
    stage.session.say_during(Utterance::new("two"), When::FollowUp).await.unwrap();
    first.await.unwrap().unwrap();
    stage.session.idle().await.unwrap();
    let sent: Vec<String> =
        stage.server.requests().iter().map(|request| request.json()["messages"].to_string()).collect();
    assert!(sent[0].contains("one") && !sent[0].contains("two") && sent[1].contains("two"), "{sent:?}");
}

#[tokio::test]
async fn abort_stops_what_is_on_its_way() {
    let (stage, guests) = Stage::with_guests([], &["guest g\non input\nheed"]).await;
    let running = {
        let session = stage.session.clone();
        tokio::spawn(async move { session.say(Utterance::new("hi")).await })
    };
    while guests[0].heard().is_empty() {
        tokio::task::yield_now().await;
    }
    stage.session.abort().await.unwrap();
    assert_eq!(running.await.unwrap(), Ok(Prompted::Unsaid));
    assert_eq!(stage.server.requests().len(), 0);
}

#[tokio::test]
async fn extension_speaks_as_it_stands_or_as_if_it_typed() {
    let script = "guest g\ncommand verbatim\nsay steer /greet Ada\ncommand typed\ntype steer /greet Ada";
    let (mut stage, guests) = Stage::with_guests([done(), done()], &[script, "guest h\non input"]).await;
    for (command, expected) in [("/verbatim", "/greet Ada"), ("/typed", "Greet Ada warmly.")] {
        assert_eq!(stage.session.say(Utterance::new(command)).await, handled("g"));
        stage.until(|event| matches!(event, AgentEvent::AgentSettled { .. })).await;
        assert!(asked(&stage).contains(expected), "{}", asked(&stage));
    }
    let heard = r#"input {"text":"/greet Ada","source":"extension","streamingBehavior":"steer"}"#;
    assert_eq!(guests[1].heard(), [heard, heard]);
}

#[tokio::test]
async fn extension_that_types_a_command_runs_it() {
    let scripts = ["guest g\ncommand one\ntype steer /two x", "guest h\ncommand two\nappend memo"];
    let (mut stage, guests) = Stage::with_guests([], &scripts).await;
    assert_eq!(stage.session.say(Utterance::new("/one")).await, handled("g"));
    stage.until(|event| matches!(event, AgentEvent::EntryAppended { .. })).await;
    assert_eq!(guests[1].heard(), ["command two x"]);
}

#[tokio::test]
async fn clients_of_the_server_are_another_source() {
    let change = |blueprint: &mut pi_session::Blueprint| blueprint.mode = Mode::Server;
    let (stage, guests) = Stage::with_guests_and([done()], &["guest g\non input"], change).await;
    stage.say("hi").await;
    assert_eq!(guests[0].heard(), [r#"input {"text":"hi","source":"rpc"}"#]);
}

#[tokio::test]
async fn files_and_skills_that_are_missing_are_not_said() {
    let stage = Stage::new([done()]).await;
    let missing = Utterance { files: vec!["nowhere.txt".to_owned()], ..Utterance::new("see") };
    assert!(matches!(stage.session.say(missing).await, Err(PromptError::Input(_))));
    let told = stage.session.say(Utterance::new("/skill:flying")).await.unwrap_err();
    assert!(told.to_string().contains(r#"there is no skill "flying""#), "{told}");
}

#[tokio::test]
async fn session_start_is_heard_before_anything_that_is_said() {
    let script = "guest g\non session_start\nwait 30\ncommand go\non input";
    let (stage, guests) = Stage::with_guests([done()], &[script]).await;
    let command = stage.session.say(Utterance::new("/go"));
    let (_, said) = tokio::join!(command, stage.session.prompt(saying("hi")));
    assert_eq!(said, Ok(Prompted::Ran(Ending::Done)));
    let heard = guests[0].heard();
    assert_eq!(heard[0], r#"session_start {"reason":"startup"}"#);
    assert_eq!(heard.len(), 3, "{heard:?}");
}

#[tokio::test]
async fn what_waits_at_the_end_is_given_back_and_told() {
    let mut stage = Stage::new([Answer::new().hold().text("x").reply()]).await;
    let session = stage.session.clone();
    let running = tokio::spawn(async move { session.prompt(saying("start")).await });
    stage.server.received(1).await;
    for (text, when) in [("later", When::FollowUp), ("left", When::Steer)] {
        stage.session.prompt_during(saying(text), when).await.unwrap();
    }
    let unsaid = stage.session.close().await.unwrap();
    assert_eq!(unsaid, [saying("left"), saying("later")]);
    assert_eq!(running.await.unwrap(), Ok(Prompted::Ran(Ending::Aborted)));
    let told = stage.until(|event| matches!(event, AgentEvent::MessagesUnsaid { .. })).await;
    assert!(told.ends_with(r#"{"type":"messages_unsaid","texts":["left","later"]}"#), "{told}");
}

#[tokio::test]
async fn words_that_hooks_still_look_at_when_the_session_closes_are_given_back() {
    let (stage, guests) = Stage::with_guests([], &["guest g\non input\nheed"]).await;
    let session = stage.session.clone();
    let saying = tokio::spawn(async move { session.say(Utterance::new("wait for me")).await });
    while guests[0].heard().is_empty() {
        tokio::task::yield_now().await;
    }
    let unsaid = stage.session.close().await.unwrap();
    assert_eq!(unsaid.iter().map(|said| said.text()).collect::<Vec<_>>(), ["wait for me"]);
    assert!(matches!(saying.await.unwrap(), Err(PromptError::Gone(_))));
    assert_eq!(Arc::strong_count(&guests[0]), 1, "the session holds nothing any more");
}

#[tokio::test]
async fn what_is_on_its_way_comes_back_and_is_never_said() {
    // Without extensions it is on its way while files are read; with this one, until somebody stops it.
    for scripts in [&[][..], &["guest g\non input\nheed"]] {
        let (stage, guests) = Stage::with_guests([Answer::new().hold().text("x").reply(), done()], scripts).await;
        let running = {
            let session = stage.session.clone();
            tokio::spawn(async move { session.prompt(saying("start")).await })
        };
        match guests.first() {
            None => stage.server.received(1).await,
            Some(guest) => {
                while guest.heard().is_empty() {
                    tokio::task::yield_now().await;
                }
            }
        }
        std::fs::write(stage.path("a.txt"), "one\n").unwrap();
        let (said, back, aborted) = tokio::join!(
            stage.session.say_during(Utterance::new("then @a.txt this"), When::FollowUp),
            stage.session.take_back(),
            stage.session.abort(),
        );
        aborted.unwrap();
        let written: Vec<String> = back.unwrap().iter().map(pi_session::queue::Saying::written).collect();
        let expected = if scripts.is_empty() { &["then @a.txt this"][..] } else { &["start", "then @a.txt this"] };
        assert_eq!(written, expected);
        // It was queued if it arrived before it was wanted back, which is as good.
        assert!(matches!(said, Ok(Prompted::TakenBack | Prompted::Queued(When::FollowUp))), "{said:?}");
        let ended = if scripts.is_empty() { Prompted::Ran(Ending::Aborted) } else { Prompted::TakenBack };
        assert_eq!(running.await.unwrap(), Ok(ended));
        stage.session.idle().await.unwrap();
        assert_eq!(stage.server.requests().len(), usize::from(scripts.is_empty()), "nothing more is asked");
        assert_eq!(stage.session.state().await.unwrap().waiting, pi_session::queue::Waiting::default());
    }
}
