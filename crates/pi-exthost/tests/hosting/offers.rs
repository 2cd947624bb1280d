//! Tools, commands and the other things that guests offer, found by name and run at arm's length.

use std::{sync::Arc, time::Duration};

use pi_exthost::{
    GuestFault, Trouble,
    guest::{Rendering, StreamCall, Subject, ToolAnswer, ToolInvocation},
    guests::{Collision, DuplicateGuest, Guests, Kind},
};
use pi_testkit::ScriptedGuest;
use pi_transcript::{Block, ToolOutput};
use serde_json::{Value, json};
use tokio::{sync::mpsc, time::sleep};
use tokio_util::sync::CancellationToken;

use crate::house::House;

fn output(text: &str) -> ToolOutput {
    ToolOutput { content: vec![Block::text(text)], ..ToolOutput::default() }
}

/// Calls a tool; what it found on the way, and what it answered.
async fn call(house: &House, name: &str, cancel: &CancellationToken) -> (Vec<ToolOutput>, Result<ToolAnswer, Trouble>) {
    let (updates, mut received) = mpsc::channel(8);
    let input = json!({ "city": "Bern" }).as_object().expect("an object").clone();
    let call = ToolInvocation { call_id: "c".into(), name: name.to_owned(), input, updates };
    let answer = house.guests.tool(name).expect("a tool").call(call, cancel).await;
    let mut found = Vec::new();
    while let Ok(update) = received.try_recv() {
        found.push(update);
    }
    (found, answer)
}

#[tokio::test]
async fn tool_finds_something_on_the_way_and_answers() {
    let house = House::new(&[
        "tool weather\nupdate clouds\nanswer sunny",
        "tool stop\nfinish done",
        "tool bad\nfail no\ntool worse\nthrow oh",
    ]);
    let never = CancellationToken::new();
    let sunny = ToolAnswer { output: output("sunny"), is_error: false, terminate: false };
    assert_eq!(call(&house, "weather", &never).await, (vec![output("clouds")], Ok(sunny)));
    assert_eq!(house.heard(0), [r#"tool weather {"city":"Bern"}"#]);
    let done = ToolAnswer { output: output("done"), is_error: false, terminate: true };
    assert_eq!(call(&house, "stop", &never).await.1, Ok(done));
    let no = ToolAnswer { output: output("no"), is_error: true, terminate: false };
    assert_eq!(call(&house, "bad", &never).await.1, Ok(no));
    assert_eq!(call(&house, "worse", &never).await.1, Err(Trouble::Fault(GuestFault::threw("oh"))));
    assert_eq!(house.incidents(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn tool_may_take_its_time_but_must_stop_when_told() {
    let house = House::new(&[
        "tool slow\nwait 3600000\nanswer done\ntool stuck\nhang\ntool careful\nheed\ntool rash\npanic oh",
    ]);
    let never = CancellationToken::new();
    assert_eq!(call(&house, "slow", &never).await.1.map(|answer| answer.output), Ok(output("done")));
    let panicked = Err(Trouble::Panicked { message: "oh".to_owned() });
    assert_eq!(call(&house, "rash", &never).await.1, panicked);
    let abort = CancellationToken::new();
    let later = async {
        sleep(Duration::from_secs(5)).await;
        abort.cancel();
    };
    let ((_, stuck), ()) = tokio::join!(call(&house, "stuck", &abort), later);
    assert_eq!(stuck, Err(Trouble::Deaf { grace: Duration::from_millis(50) }));
    let (_, careful) = call(&house, "careful", &abort).await;
    assert_eq!(careful, Err(Trouble::Fault(GuestFault::Cancelled)));
    let expected = [
        "a at tool:rash: the extension panicked: oh",
        "a at tool:stuck: the extension did not stop within 50ms of being cancelled",
    ];
    assert_eq!(house.incidents(), expected);
}

#[tokio::test]
async fn first_registration_of_a_name_wins_and_the_collision_is_told() {
    let house = House::new(&[
        "tool read\nanswer mine\ncommand go",
        "tool read\nanswer yours\ntool other\ncommand go\nname second\nshortcut ctrl+x",
        "command go\nname third\nshortcut ctrl+x",
    ]);
    let tools: Vec<_> = house.guests.tools().iter().map(|tool| format!("{tool:?}")).collect();
    assert_eq!(tools, ["read of a", "other of b"]);
    let (_, answer) = call(&house, "read", &CancellationToken::new()).await;
    assert_eq!(answer.map(|answer| answer.output), Ok(output("mine")));
    let commands: Vec<_> = house.guests.commands().iter().map(|command| format!("{command:?}")).collect();
    assert_eq!(commands, ["/go of a", "/go:2 of b", "/go:3 of c"]);
    let lost = |kind, name: &str, kept: &str, dropped: &str| Collision {
        kind,
        name: name.to_owned(),
        kept: kept.into(),
        dropped: dropped.into(),
        instead: None,
    };
    let renamed = |dropped: &str, instead: &str| Collision {
        instead: Some(instead.to_owned()),
        ..lost(Kind::Command, "go", "a", dropped)
    };
    let expected = [
        lost(Kind::Tool, "read", "a", "b"),
        renamed("b", "go:2"),
        renamed("c", "go:3"),
        lost(Kind::Shortcut, "ctrl+x", "b", "c"),
    ];
    assert_eq!(house.guests.collisions(), expected);
}

#[tokio::test]
async fn key_has_one_owner_however_it_is_written() {
    let house =
        House::new(&["shortcut shift+ctrl+X\nname first", "shortcut ctrl+shift+x\nshortcut alt++\nshortcut Esc"]);
    let owners: Vec<_> =
        house.guests.shortcuts().into_iter().map(|shortcut| format!("{} {}", shortcut.guest, shortcut.chord)).collect();
    assert_eq!(owners, ["a ctrl+shift+x", "b alt++", "b escape"]);
    let told: Vec<_> = house.guests.collisions().iter().map(Collision::to_string).collect();
    assert_eq!(told, ["the key ctrl+shift+x is that of extension a; b wanted it too"]);
    assert!(house.guests.press_shortcut("ctrl+shift+x", &CancellationToken::new()).await);
    assert_eq!(house.session.asked(), ["a name first"]);
}

#[tokio::test]
async fn numbered_commands_are_found() {
    let house = House::new(&["command go\nname first", "command go\nname second"]);
    let never = CancellationToken::new();
    for typed in ["go", "go:1", "go:2"] {
        house.guests.command(typed).expect("a command").run("now".to_owned(), &never).await.expect("it ran");
    }
    assert!(house.guests.command("go:3").is_none());
    assert_eq!(house.session.asked(), ["a name first", "a name first", "b name second"]);
    assert_eq!(house.heard(1), ["command go now"]);
}

#[tokio::test]
async fn only_a_command_controls_the_session() {
    let house = House::new(&["command restart\ncontrol reload\non agent_start\ncontrol reload"]);
    let never = CancellationToken::new();
    house.guests.command("restart").expect("a command").run(String::new(), &never).await.expect("it ran");
    house.fire("agent_start", &Value::Null, &never).await;
    assert_eq!(house.session.asked(), ["a control reload"]);
    assert_eq!(house.incidents(), ["a at agent_start: not now: only a command controls a session"]);
}

#[tokio::test]
async fn control_ends_with_the_command() {
    let house = House::new(&["command restart\nkeep\ncontrol wait\non agent_start\ncontrol reload"]);
    let never = CancellationToken::new();
    house.guests.command("restart").expect("a command").run(String::new(), &never).await.expect("it ran");
    house.fire("agent_start", &Value::Null, &never).await;
    assert_eq!(house.session.asked(), ["a control wait"]);
    assert_eq!(house.incidents(), ["a at agent_start: not now: the command that could do this has ended"]);
}

#[tokio::test]
async fn everything_that_a_guest_asks_reaches_its_session_in_order() {
    let house = House::new(&[r#"command all
        append note {"n":1}
        append bare
        send kind follow_up hello
        start kind steer go
        say next_turn me
        label 00000001 here
        emit news {"x":null}
        activate read write
        model p m
        think high
        complete echo
        compact
        abort
        look
        announce {"method":"notify","message":"m"}
        ask {"method":"input","title":"Name?"}"#]);
    let command = house.guests.command("all").expect("a command");
    command.run(String::new(), &CancellationToken::new()).await.expect("it ran");
    let text = |text: &str| json!([{ "type": "text", "text": text }]);
    let expected = [
        r#"a append note {"n":1}"#.to_owned(),
        "a append bare null".to_owned(),
        r#"a send kind FollowUp "hello""#.to_owned(),
        r#"a start kind Steer "go""#.to_owned(),
        format!("a say NextTurn Verbatim {}", text("me")),
        r#"a label 00000001 "here""#.to_owned(),
        r#"a emit news {"x":null}"#.to_owned(),
        "a activate read write".to_owned(),
        "a model p m".to_owned(),
        "a think high".to_owned(),
        r#"a complete [{"role":"user","content":"echo","timestamp":0}]"#.to_owned(),
        "a compact null".to_owned(),
        "a abort".to_owned(),
        "a state".to_owned(),
        r#"a announce {"method":"notify","message":"m"}"#.to_owned(),
        "a ask input".to_owned(),
    ];
    assert_eq!(house.session.asked(), expected);
    let heard = [
        "command all ",
        "model true",
        "thinks high",
        r#"completion [{"type":"text","text":"echo"}]"#,
        "compacted nothing happened",
        "session double idle true",
        "answer cancelled",
    ];
    assert_eq!(house.heard(0), heard);
}

#[tokio::test]
async fn tool_that_is_offered_later_is_found_later() {
    let house = House::new(&["tool late later\nanswer here\ncommand grow\noffer late"]);
    assert!(house.guests.tool("late").is_none());
    let grow = house.guests.command("grow").expect("a command");
    grow.run(String::new(), &CancellationToken::new()).await.expect("it ran");
    assert_eq!(house.session.asked(), ["a registration_changed"]);
    let (_, answer) = call(&house, "late", &CancellationToken::new()).await;
    assert_eq!(answer.map(|answer| answer.output), Ok(output("here")));
}

#[tokio::test]
async fn arguments_are_completed_by_the_guest() {
    let house = House::new(&["command go\ncompletes north south nowhere\ncommand stop"]);
    let never = CancellationToken::new();
    let complete = async |command: &str, prefix: &str| {
        let command = house.guests.command(command).expect("a command");
        let suggestions = command.complete(prefix.to_owned(), &never).await;
        suggestions.into_iter().map(|suggestion| suggestion.value).collect::<Vec<_>>()
    };
    assert_eq!(complete("go", "no").await, ["north", "nowhere"]);
    assert_eq!(complete("stop", "no").await, [""; 0]);
}

#[tokio::test]
async fn shortcuts_renderers_and_streams_go_to_their_guest() {
    let house =
        House::new(&["shortcut ctrl+p\nname pressed", "renderer card\ndraw one\ndraw two", "provider p\nanswer hi"]);
    let never = CancellationToken::new();
    assert!(house.guests.press_shortcut("Ctrl+P", &never).await);
    assert!(!house.guests.press_shortcut("ctrl+q", &never).await);
    assert_eq!(house.session.asked(), ["a name pressed"]);
    let message = json!({ "role": "custom", "customType": "card", "content": "", "display": true, "timestamp": 1 });
    let message = serde_json::from_value(message).expect("a message");
    let rendering = Rendering { subject: Subject::Message(Box::new(message)), width: 80, expanded: false };
    let drawn = house.guests.render_message("card", rendering.clone(), &never).await;
    assert_eq!(drawn, Some(vec!["one".to_owned(), "two".to_owned()]));
    assert_eq!(house.guests.render_message("poem", rendering, &never).await, None);
    let stream = async |guest: &str, provider: &str| {
        let (steps, _) = mpsc::channel(1);
        let (model, context, options) = (json!({}), json!({}), json!({}));
        let call = StreamCall { provider: provider.to_owned(), model, context, options, steps };
        house.guests.stream(&guest.into(), call, &never).await.map(|message| message.content)
    };
    assert_eq!(stream("c", "p").await, Ok(vec![Block::text("hi")]));
    for (guest, provider) in [("c", "q"), ("a", "p")] {
        let missing = GuestFault::not_offered(format!("provider {provider}"));
        assert_eq!(stream(guest, provider).await, Err(Trouble::Fault(missing)));
    }
}

#[test]
fn guest_is_attached_once() {
    let guest: Arc<ScriptedGuest> = ScriptedGuest::alone("guest g").expect("a script");
    let mut guests = Guests::none();
    assert!(guests.is_empty());
    guests.attach(guest.clone()).expect("the first");
    assert_eq!(guests.attach(guest), Err(DuplicateGuest { id: "g".into() }));
}

#[tokio::test]
async fn guest_whose_session_is_gone_is_told_so() {
    let guest = ScriptedGuest::alone("guest g\ncommand look\nlook").expect("a script");
    let mut guests = Guests::none();
    guests.attach(guest.clone()).expect("the first");
    let ran = guests.command("look").expect("a command").run(String::new(), &CancellationToken::new()).await;
    assert_eq!(ran, Err(Trouble::Fault(GuestFault::threw("the session is gone"))));
    assert_eq!(guest.heard(), ["command look ", "refused: the session is gone"]);
}
