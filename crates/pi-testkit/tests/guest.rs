//! The scripted guest says what its script says, and refuses scripts that say nothing.

use pi_exthost::{Guest, GuestFault, Registration, guest::FlagDefault};
use pi_extproto::{connector::tool::ExecutionMode, hook::Hook};
use pi_testkit::ScriptedGuest;
use serde_json::json;

fn registration(script: &str) -> Registration {
    let guest = ScriptedGuest::alone(script).unwrap_or_else(|bad| panic!("{bad}"));
    Registration::clone(&guest.registration())
}

#[test]
fn registration_is_what_the_script_offers() {
    let found = registration(
        r#"
        guest guard ./guard.ts
        # A tool with everything.
        tool weather
            describes tells the weather
            parameters {"type":"object","properties":{"city":{"type":"string"}}}
            snippet weather: of a city
            guideline Ask for the city.
            guideline Be brief.
            sequential
        tool hidden later
        command go
            describes goes somewhere
            completes north south
        on tool_call
        on tool_call
        on startup
        flag plan
        shortcut ctrl+p
        renderer card
        provider mine
        channel news
        "#,
    );
    assert_eq!((found.id.as_str(), found.path.as_str()), ("guard", "./guard.ts"));
    let [weather] = &found.tools[..] else { panic!("one tool: {:?}", found.tools) };
    let definition = json!({ "name": "weather", "description": "tells the weather",
        "parameters": { "type": "object", "properties": { "city": { "type": "string" } } },
        "prompt_snippet": "weather: of a city", "execution_mode": ExecutionMode::Sequential });
    assert_eq!(serde_json::to_value(&weather.definition).expect("JSON"), definition);
    assert_eq!(weather.prompt_guidelines, ["Ask for the city.", "Be brief."]);
    let [go] = &found.commands[..] else { panic!("one command: {:?}", found.commands) };
    assert_eq!((go.definition.description.as_deref(), go.completes), (Some("goes somewhere"), true));
    assert_eq!(found.hooks.into_iter().collect::<Vec<_>>(), [(Hook::SessionStart, 1), (Hook::ToolCall, 2)]);
    assert_eq!((found.flags[0].name.as_str(), &found.flags[0].default), ("plan", &FlagDefault::Boolean(None)));
    assert_eq!(found.shortcuts[0].key, "ctrl+p");
    assert_eq!(found.renderers[0].custom_type, "card");
    assert_eq!((found.providers[0].name.as_str(), found.providers[0].streams), ("mine", true));
    assert!(found.channels.contains("news"));
}

#[track_caller]
fn check_refused(script: &str, expected: &str) {
    let bad = ScriptedGuest::alone(script).expect_err("not a script");
    assert_eq!(bad.to_string(), expected);
}

#[test]
fn line_that_means_nothing_is_named() {
    check_refused("on tool_cal", r#"line 1: there is no hook "tool_cal""#);
    check_refused("\n\nanswer hi", "line 3: a step outside of any section");
    check_refused("tool t\ndance", r#"line 2: there is no step "dance""#);
    check_refused("tool t\nwait long", "line 2: invalid digit found in string");
    check_refused("tool t\nthink hard", r#"line 2: "hard" is not a thinking level"#);
    check_refused("on input\nsnippet s", r#"line 2: "snippet" stands in no section that it could describe"#);
    check_refused("command c\ncontrol fly", r#"line 2: nothing controls a session by "fly""#);
    check_refused(
        "command c\nsay loudly hi",
        "line 2: unknown variant `loudly`, expected one of `steer`, `follow_up`, `next_turn`",
    );
    check_refused(
        "command c\nask {\"method\":\"select\",\"title\":\"t\",\"options\":[]}",
        "line 2: there is nothing to choose from",
    );
}

#[tokio::test]
async fn what_is_not_offered_is_refused() {
    let guest = ScriptedGuest::alone("guest g").expect("a script");
    let ask = pi_exthost::Ask {
        cancel: tokio_util::sync::CancellationToken::new(),
        stopwatch: pi_exthost::Stopwatch::unlimited(),
    };
    let pressed = guest.press_shortcut("ctrl+x".to_owned(), ask).await;
    assert_eq!(pressed, Err(GuestFault::not_offered("shortcut ctrl+x")));
    assert_eq!(guest.heard(), ["shortcut ctrl+x"]);
}
