//! Extensions that want to leave the session, and others that object.

use pi_session::{Beginning, Departure, Owner, Prompted, Wish, directory::ForkPoint, input::Utterance, owner};
use pi_testkit::{ScriptedGuest, model::Answer};
use tokio::sync::mpsc;

use crate::stage::Stage;

async fn stage(scripts: &[&str]) -> (Stage, Vec<std::sync::Arc<ScriptedGuest>>, mpsc::Receiver<Wish>) {
    let (owner, wishes) = owner();
    let answers = [Answer::new().text("Done.").reply()];
    let (stage, guests) = Stage::with_guests_and(answers, scripts, |blueprint| blueprint.owner = owner).await;
    (stage, guests, wishes)
}

const OBJECT: &str = "guest h
on session_before_switch
outcome {\"family\":\"session\",\"outcome\":{\"action\":\"cancel\"}}
on session_before_fork
outcome {\"family\":\"session\",\"outcome\":{\"action\":\"cancel\"}}";

#[tokio::test]
async fn owner_hears_every_wish_and_decides() {
    for (step, departure) in [
        ("control new", Departure::New { parent: None }),
        ("control fork e1", Departure::Fork(ForkPoint::Before("e1".into()))),
        ("control switch /s.jsonl", Departure::Resume("/s.jsonl".into())),
    ] {
        let (stage, guests, mut wishes) = stage(&[&format!("guest g\ncommand go\n{step}")]).await;
        let session = stage.session.clone();
        let running = tokio::spawn(async move { session.say(Utterance::new("/go")).await });
        let wish = wishes.recv().await.unwrap();
        assert_eq!((wish.by.as_str(), &wish.departure), ("g", &departure));
        wish.grant();
        running.await.unwrap().unwrap();
        assert_eq!(guests[0].heard(), ["command go ", "control true"], "{step}");
        let session = stage.session.clone();
        let running = tokio::spawn(async move { session.say(Utterance::new("/go")).await });
        wishes.recv().await.unwrap().refuse("not today");
        let refused = Ok(Prompted::Handled { by: "g".into(), trouble: Some("not now: not today".to_owned()) });
        assert_eq!(running.await.unwrap(), refused);
    }
}

#[tokio::test]
async fn extension_that_objects_keeps_the_session() {
    let script = "guest g\ncommand go\ncontrol new\ncontrol fork e1\ncontrol reload";
    let (stage, guests, mut wishes) = stage(&[script, OBJECT]).await;
    // Nobody can object to a reload, and the owner is not asked: the session goes on.
    stage.session.say(Utterance::new("/go")).await.unwrap();
    assert!(wishes.try_recv().is_err());
    assert_eq!(guests[0].heard(), ["command go ", "control false", "control false", "control true"]);
    let expected =
        [r#"session_before_switch {"reason":"new"}"#, r#"session_before_fork {"entryId":"e1","position":"before"}"#];
    assert_eq!(guests[1].heard(), expected);
}

#[tokio::test]
async fn person_is_asked_for_objections_too() {
    let (stage, _, _) = stage(&[OBJECT]).await;
    assert_eq!(stage.session.may_leave(Departure::Resume("/s".into())).await, Ok(false));
    assert_eq!(stage.session.may_leave(Departure::Fork(ForkPoint::Leaf)).await, Ok(false));
    assert_eq!(stage.session.may_leave(Departure::Quit).await, Ok(true));
}

#[tokio::test]
async fn without_an_owner_nobody_leaves() {
    for step in ["control new", "quit"] {
        let change = |blueprint: &mut pi_session::Blueprint| blueprint.owner = Owner::Nobody;
        let (stage, guests) = Stage::with_guests_and([], &[&format!("guest g\ncommand go\n{step}")], change).await;
        stage.session.say(Utterance::new("/go")).await.unwrap();
        assert!(guests[0].heard()[1].starts_with("refused: not now: "), "{:?}", guests[0].heard());
    }
}

#[tokio::test]
async fn entry_that_is_not_there_is_told_once() {
    let (stage, guests, _) = stage(&["guest g\ncommand go\ncontrol navigate nowhere"]).await;
    stage.session.say(Utterance::new("/go")).await.unwrap();
    assert_eq!(guests[0].heard(), ["command go ", "refused: there is no entry nowhere"]);
}

#[tokio::test]
async fn program_ends_when_nothing_runs() {
    let (mut stage, _, mut wishes) = stage(&["guest g\non turn_start\nquit"]).await;
    let told = stage.play("hi").await;
    assert!(told.ends_with("settled"), "{told}");
    let wish = wishes.recv().await.unwrap();
    assert_eq!(wish.departure, Departure::Quit);
    assert!(!stage.session.state().await.unwrap().is_running);
    wish.grant();
}

#[tokio::test]
async fn beginning_and_end_are_heard_under_old_and_new_names() {
    let script = "guest g\non session_start\non session_switch\non session_shutdown";
    for (beginning, departure, expected) in [
        (
            Beginning::Startup,
            Departure::Quit,
            [r#"session_start {"reason":"startup"}"#, r#"session_shutdown {"reason":"quit"}"#].as_slice(),
        ),
        (
            Beginning::Resume { left: Some("/old".into()) },
            Departure::Resume("/next".into()),
            &[
                r#"session_start {"reason":"resume","previousSessionFile":"/old"}"#,
                r#"session_switch {"reason":"resume","previousSessionFile":"/old"}"#,
                r#"session_shutdown {"reason":"resume","targetSessionFile":"/next"}"#,
            ],
        ),
    ] {
        let change = |blueprint: &mut pi_session::Blueprint| blueprint.beginning = beginning;
        let (stage, guests) = Stage::with_guests_and([], &[script], change).await;
        stage.session.close_for(departure).await.unwrap();
        let heard = guests[0].heard();
        assert_eq!(heard[..heard.len() - 1], *expected);
        assert_eq!(heard.last().unwrap(), "shutdown");
    }
}

#[tokio::test]
async fn extension_may_still_write_when_it_hears_that_the_session_ends() {
    let (mut stage, _) = Stage::with_guests(
        [Answer::new().text("Done.").reply()],
        &["guest g\non session_shutdown\nappend memo {\"n\":1}"],
    )
    .await;
    stage.play("hi").await;
    assert_eq!(stage.lines().await.last().unwrap(), "custom");
}

#[tokio::test]
async fn command_waits_until_nothing_runs() {
    let script = "guest g\ncommand go\nsay steer hello\ncontrol wait\nlook";
    let (stage, guests) = Stage::with_guests([Answer::new().text("Done.").reply()], &[script]).await;
    stage.session.say(Utterance::new("/go")).await.unwrap();
    assert_eq!(guests[0].heard()[1..], ["control true", "session 01900000-0000-7000-8000-000000000000 idle true"]);
    assert_eq!(stage.server.requests().len(), 1);
}
