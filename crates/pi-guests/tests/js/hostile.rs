//! Extensions that mean harm, as a table: `hostile.yaml` says what each tries, what it gets, and what the ledger holds.
//!
//! Each runs from its source through the whole pipeline, beside a bystander in the same session. After each, the bystander
//! must still answer, the ledger must be whole, and nothing of what is secret may be anywhere.

mod stage;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use self::stage::Stage;

const TABLE: &str = include_str!("hostile.yaml");

/// One extension that means harm.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Row {
    name: String,
    /// In words.
    #[expect(dead_code, reason = "it is for whoever reads the table")]
    tries: String,
    /// The whole module, or the parts of one with a tool `t`: what stands before it, and its body.
    source: Option<String>,
    #[serde(default)]
    head: String,
    tool: Option<String>,
    /// Where its module lies; by default in a folder of its own in the agent directory.
    at: Option<String>,
    /// Where pi was started; by default in `project`.
    project: Option<String>,
    /// More files, by their path on the stage.
    #[serde(default)]
    files: BTreeMap<String, String>,
    /// Files that other extensions or servers are started from.
    #[serde(default)]
    programs: Vec<String>,
    /// Settings in which servers are written.
    #[serde(default)]
    credentials: Vec<String>,
    /// Links, by their path on the stage, to what they lead to there.
    #[serde(default)]
    links: BTreeMap<String, String>,
    /// `extensions.policy`; by default the product's.
    #[serde(default)]
    policy: Value,
    /// Calls of its host that it may make in a minute; by default as many as in the product.
    calls: Option<u32>,
    /// How the villain is asked.
    #[serde(default)]
    ask: Asked,
    /// What is done to its files between two loads.
    tampered: Option<Tampering>,
    /// What it gets: the text of its answer, or the fault. Every `*` stands for anything.
    gets: String,
    /// Lines about it that the ledger holds, in this order, as [`stage::Stage::ledger`] writes them.
    ledger: Vec<String>,
}

/// How the villain is asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Asked {
    /// Its tool `t` is called.
    #[default]
    Tool,
    /// The same, and cancelled a moment later.
    ToolAndCancel,
    /// It hears that a tool is about to be called.
    Guard,
    /// It hears that the agent is about to run a command, which runs if all who changed it may run it.
    Command,
    /// It hears an answer without calls. Those that it puts in are run in the same way.
    Answer,
    /// Its model `bot/b` answers, in the same way.
    Model,
    /// It is loaded, and not asked for anything.
    Nothing,
}

/// What somebody did to files while nobody looked.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Tampering {
    /// Every entry of the cache is that of another extension.
    ForeignCache,
    /// Every entry of the cache has a byte changed.
    ChangedCache,
    /// The extension is built, and a byte of its bundle is changed in the artifact.
    ChangedArtifact,
    /// The extension is built and signed, and another one put into its artifact.
    SwappedArtifact,
}

macro_rules! rows {
    ($($name:ident),+ $(,)?) => {
        const ALL: &[&str] = &[$(stringify!($name)),+];
        $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            check(stringify!($name)).await;
        })+
    };
}

rows! {
    busy_loop, busy_loop_that_catches, recursion, heap_bomb, heap_bomb_of_text, heap_bomb_of_buffers,
    heap_bomb_of_bytes_of_the_host, key_that_needs_all_memory, key_that_takes_for_ever,
    key_that_takes_for_ever_in_little_memory, heap_bomb_to_the_last_byte, promise_flood,
    tick_flood, timer_flood, immediate_flood, host_call_flood, synchronous_call_flood, endless_calls,
    endless_synchronous_calls, thrown_nothing, backtracking, native_loop,
    blocking_wait, factory_that_does_not_end, tool_that_does_not_stop, guard_that_never_answers,
    prototype_pollution, broken_functions, broken_promises, polluted_answer, answer_that_throws, deep_answer, huge_answer, huge_parameters,
    parameters_that_pile_up,
    stolen_identity, data_of_another, tool_of_another, message_to_another,
    exec_sync_under_a_deny, spawn_under_a_deny, spawn_whose_error_nobody_hears, bash_tool_under_a_deny, command_beside_a_granted_one,
    command_of_the_agent_changed, call_put_into_an_answer, call_of_its_own_model,
    process_exit, signal_to_the_host, forbidden_modules,
    path_with_dots, path_by_a_link, link_of_its_own, import_of_a_file, import_at_run_time,
    keys_of_the_person, keys_of_pi, keys_in_configuration, conversations_of_others, neighbours_of_a_file, import_of_what_is_hidden, import_by_a_link, home_as_project, settings_that_grant, code_of_another, programs_that_git_runs, ledger_of_its_own,
    environment_harvest, environment_of_a_process,
    loopback, loopback_in_permissive, loopback_by_name, metadata_address, redirect_inside, rebinding,
    log_flood, rejection_flood, secret_in_the_log, question_flood,
    changed_artifact, swapped_artifact, foreign_cache, changed_cache,
}

fn table() -> Vec<Row> {
    serde_saphyr::from_str(TABLE).unwrap_or_else(|error| panic!("hostile.yaml: {error}"))
}

#[test]
fn every_row_is_a_test_and_every_test_a_row() {
    let names: Vec<String> = table().into_iter().map(|row| row.name).collect();
    assert_eq!(names, ALL);
    assert!(names.len() >= 30);
}

async fn check(name: &str) {
    let row = table().into_iter().find(|row| row.name == name).expect("a row of this name");
    let mut stage = Stage::set(&row).await;
    let got = stage.ask_villain(&row).await;
    assert!(is_like(&got, &row.gets), "it gets: {got}\nexpected: {}", row.gets);
    stage.ask_bystander().await;
    let found = stage.ledger().await;
    let mut rest = found.iter();
    for expected in &row.ledger {
        assert!(
            rest.any(|line| is_like(line, expected)),
            "no line, or not in this order: {expected}\n{}",
            found.join("\n")
        );
    }
    stage.look_for_damage();
}

/// Whether a text is another one in which every `*` stands for anything.
fn is_like(text: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let mut parts = parts.peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.is_empty()
}

#[test]
fn patterns_have_both_ends() {
    for (text, pattern, expected) in [
        ("abc", "abc", true),
        ("abc", "ab", false),
        ("abc", "a*", true),
        ("abc", "*c", true),
        ("abc", "*b*", true),
        ("abc", "a*d", false),
        ("abcd", "a*c", false),
        ("abc", "b*", false),
    ] {
        assert_eq!(is_like(text, pattern), expected, "{text} {pattern}");
    }
}
