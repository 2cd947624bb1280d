//! What the registry says about each command, and what becomes of a command in its lane.

use std::collections::HashSet;

use pi_wire::{
    Activity, COMMANDS, Class, Kind, Spec,
    event::CommandPhase,
    registry::{Effect, IdempotencyScope, Need, Order, Role, Span, Target},
};
use serde_json::json;

use crate::{examples, meaning::frame};

#[test]
fn rows_stand_where_their_kind_says() {
    let names: HashSet<_> = COMMANDS.iter().map(|spec| spec.name).collect();
    assert_eq!(names.len(), COMMANDS.len(), "names are unique");
    for (index, spec) in COMMANDS.iter().enumerate() {
        assert_eq!((spec.kind as usize, Kind::named(spec.name)), (index, Some(spec.kind)));
        assert!(spec.summary.ends_with('.'), "{}: {}", spec.name, spec.summary);
    }
}

fn names(chosen: impl Fn(&Spec) -> bool) -> Vec<&'static str> {
    COMMANDS.iter().filter(|spec| chosen(spec)).map(|spec| spec.name).collect()
}

#[test]
fn each_class_holds_the_commands_of_the_decisions() {
    let class = |class: Class| names(|spec| spec.class == class);
    assert_eq!(class(Class::Run), ["prompt"]);
    assert_eq!(class(Class::LongWork), ["compact", "bash"]);
    assert_eq!(
        class(Class::ServerWork),
        [
            "create_session",
            "delete_session",
            "load_session",
            "delete_stored_session",
            "enable_extension",
            "disable_extension",
            "reload_extensions"
        ]
    );
    assert_eq!(class(Class::Work), ["export_html", "new_session", "switch_session_file", "fork", "navigate_tree"]);
    assert_eq!(
        class(Class::NeededByRun),
        ["abort", "abort_compaction", "abort_retry", "abort_bash", "extension_ui_response", "extension_ui_key"]
    );
    assert_eq!(class(Class::JoinsRun), [""; 0], "what joins a run is a prompt at some moment, not a command");
    assert_eq!(class(Class::ExtensionCommand), [""; 0], "so is a call of an extension");
}

#[test]
fn control_passes_runs_jobs_and_work_of_the_server() {
    let long = names(|spec| spec.class.span() == Span::Long);
    let expected = names(|spec| {
        let is_job = matches!(spec.name, "prompt" | "bash" | "compact");
        is_job || (spec.target == Target::Server && spec.class.order() == Order::Work)
    });
    assert_eq!(long, expected);
    assert_eq!(Class::ExtensionCommand.span(), Span::Long, "it may wait for an answer, which is control too");
    assert_eq!(Class::JoinsRun.span(), Span::Short, "it is over as soon as the run has the message");
}

#[test]
fn times_are_those_of_the_decisions() {
    let seconds = |class: Class| class.timeout().default_duration().map(|duration| duration.as_secs());
    for spec in COMMANDS {
        let expected = match (spec.name, spec.class.order()) {
            ("prompt", _) => None,
            ("bash" | "compact", _) => Some(300),
            (_, Order::Control) => Some(30),
            (_, Order::Work) => Some(60),
        };
        assert_eq!(seconds(spec.class), expected, "{}", spec.name);
    }
    assert_eq!(seconds(Class::JoinsRun), Some(30));
    assert_eq!(seconds(Class::ExtensionCommand), None);
}

#[test]
fn a_run_needs_answers_keys_and_aborts() {
    let needed = names(|spec| spec.class.need() == Need::RunNeedsIt);
    let expected = names(|spec| spec.name.starts_with("abort") || spec.name.starts_with("extension_ui"));
    assert_eq!(needed, expected);
    for class in [Class::Run, Class::JoinsRun, Class::ExtensionCommand] {
        assert_eq!(class.need(), Need::Independent, "a prompt may wait for a run: {class:?}");
    }
}

#[test]
fn every_row_follows_the_decisions() {
    for spec in COMMANDS {
        let Spec { name, class, effect, role, .. } = spec;
        if matches!(effect, Effect::Read | Effect::Connects) {
            assert_eq!(*class, Class::Control, "{name}: reads pass a run");
            assert!(!spec.is_durable(), "{name}: reads need no journal");
        } else if *effect == Effect::Passes {
            assert_eq!((*role, spec.is_durable()), (Role::Driver, false), "{name}: what was typed is written nowhere");
        } else {
            assert!(*role > Role::Viewer, "{name}: who looks on changes nothing");
            assert!(spec.is_durable(), "{name}");
        }
        let scope = match spec.target {
            Target::Server => IdempotencyScope::Server,
            Target::Session => IdempotencyScope::Session,
        };
        assert_eq!(spec.idempotency(), scope, "{name}");
        if spec.target == Target::Server {
            assert_ne!(*effect, Effect::Mutates, "{name}: only session commands move a session's version");
            let passed = class.order() == Order::Control || class.span() == Span::Long;
            assert!(passed, "{name}: a read of the server waits for no slow command");
        }
    }
}

#[test]
fn a_replay_connects_again_and_does_nothing_else_again() {
    let repeated = names(Spec::repeats_on_replay);
    assert_eq!(repeated, ["switch_session", "subscribe", "unsubscribe", "set_lifecycle"]);
}

#[test]
fn the_reads_of_the_reference_are_reads_here() {
    let reads = "get_state get_messages get_available_models get_commands get_skills get_tools list_session_files \
                 get_session_stats get_fork_messages get_tree get_last_assistant_text get_context_usage list_sessions \
                 get_metrics health_check get_startup_recovery get_command_history list_stored_sessions";
    for name in reads.split_whitespace() {
        assert_eq!(Kind::named(name).unwrap().spec().effect, Effect::Read, "{name}");
    }
}

#[test]
fn only_a_prompt_depends_on_the_moment() {
    for example in examples::commands() {
        let frame = frame(&example.command);
        for activity in [Activity::Idle, Activity::Running] {
            let class = frame.command.class(activity, |_| false);
            // What these are depends on the moment, or on what is wanted.
            if !matches!(frame.kind(), Kind::Prompt | Kind::NavigateTree) {
                assert_eq!(class, frame.kind().spec().class, "{}", example.command);
            }
        }
    }
}

#[test]
fn a_prompt_begins_a_run_joins_one_or_calls_an_extension() {
    let class = |message: &str, behavior: Option<&str>, activity| {
        let mut json = json!({ "type": "prompt", "sessionId": "s", "message": message });
        if let Some(behavior) = behavior {
            json["streamingBehavior"] = behavior.into();
        }
        frame(&json).command.class(activity, |name| name == "deploy")
    };
    assert_eq!(class("hi", None, Activity::Idle), Class::Run);
    assert_eq!(class("hi", None, Activity::Running), Class::Run);
    assert_eq!(class("hi", Some("steer"), Activity::Idle), Class::Run);
    assert_eq!(class("hi", Some("steer"), Activity::Running), Class::JoinsRun);
    assert_eq!(class("hi", Some("followUp"), Activity::Running), Class::JoinsRun);
    assert_eq!(class("/deploy now", None, Activity::Running), Class::ExtensionCommand);
    assert_eq!(class("/deploy now", Some("steer"), Activity::Running), Class::ExtensionCommand);
    assert_eq!(class("/deploy", None, Activity::Idle), Class::ExtensionCommand);
    assert_eq!(class("/deployment", None, Activity::Running), Class::Run);
    assert_eq!(class("/ deploy", None, Activity::Running), Class::Run);
    assert_eq!(class("deploy", None, Activity::Running), Class::Run);
}

#[test]
fn going_elsewhere_with_a_summary_is_a_job() {
    let class = |options: serde_json::Value| {
        let json = json!({ "type": "navigate_tree", "sessionId": "s", "targetId": "e", "options": options });
        frame(&json).command.class(Activity::Idle, |_| false)
    };
    assert_eq!(class(json!({})), Class::Work);
    assert_eq!(class(json!({ "summarize": false })), Class::Work);
    assert_eq!(class(json!({ "summarize": true })), Class::LongWork);
}

#[test]
fn a_command_is_about_the_session_that_it_names_in_whichever_lane() {
    for example in examples::commands() {
        let frame = frame(&example.command);
        let named = example.command.get("sessionId").map(|id| id.as_str().unwrap());
        assert_eq!(frame.command.subject().map(|id| id.as_str()), named, "{}", example.command);
        assert_eq!(frame.command.session().is_some(), frame.kind().spec().target == Target::Session);
        assert_eq!(CommandPhase::of(&frame, "c".into()).session_id.as_ref(), frame.command.subject());
        assert!(!frame.kind().spec().takes_version() || named.is_some(), "a version is one of a session");
    }
    let about = |json: serde_json::Value| frame(&json).command.subject().map(|id| id.as_str().to_owned());
    let some = Some("s".to_owned());
    assert_eq!(about(json!({ "type": "create_session", "sessionId": "s" })), some);
    assert_eq!(about(json!({ "type": "create_session" })), None);
    assert_eq!(about(json!({ "type": "load_session", "sessionPath": "/a.jsonl", "sessionId": "s" })), some);
    assert_eq!(about(json!({ "type": "load_session", "sessionPath": "/a.jsonl" })), None);
    assert_eq!(about(json!({ "type": "list_extensions", "sessionId": "s" })), some);
    assert_eq!(about(json!({ "type": "health_check", "sessionId": "stray" })), None);
    assert_eq!(about(json!({ "type": "get_command_history", "sessionIdFilter": "s" })), None);
}
