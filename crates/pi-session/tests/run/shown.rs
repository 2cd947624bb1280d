//! What clients read of a session, and what they change about it.

use pi_envelope::{Origin, Provenance, SystemPart, SystemText};
use pi_session::{
    Blueprint, Direction, Ending, Moment, Prompted, Storage, Switch, file,
    listing::{ContextKind, Node, Outline, ReadingError, Side, SourceError},
    offer::ActiveTools,
    queue::{Edit, EditError, When},
    resources::SourceId,
};
use pi_testkit::model::Answer;
use pi_transcript::{EntryId, Message, ThinkingLevel};
use serde_json::{Value, json};

use crate::stage::{self, Stage, saying};

fn done() -> pi_testkit::Reply {
    Answer::new().text("Done.").usage(10, 3).reply()
}

#[tokio::test]
async fn what_waits_can_be_reordered_reworded_and_dropped() {
    let hold = Answer::new().hold().text("First.").reply();
    let stage = Stage::new([hold, done(), done()]).await;
    let session = stage.session.clone();
    let running = tokio::spawn(async move { session.prompt(saying("start")).await });
    stage.server.received(1).await;
    for (text, when) in [("a", When::Steer), ("b", When::FollowUp), ("c", When::FollowUp)] {
        stage.session.prompt_during(saying(text), when).await.unwrap();
    }
    let line = stage.session.queue().await.unwrap();
    let told: Vec<_> = line.items.iter().map(|item| (item.text.as_str(), item.when)).collect();
    assert_eq!(told, [("a", When::Steer), ("b", When::FollowUp), ("c", When::FollowUp)]);
    let keep = |index: usize, text: Option<&str>| Edit {
        id: line.items[index].id.clone(),
        text: text.map(str::to_owned),
        when: None,
    };
    let stale = stage.session.edit_queue(line.revision - 1, Vec::new()).await.unwrap();
    assert_eq!(stale, Err(EditError::Changed { expected: line.revision - 1, actual: line.revision }));
    let edits = vec![keep(2, Some("C!")), keep(1, None)];
    let edited = stage.session.edit_queue(line.revision, edits).await.unwrap().unwrap();
    let told: Vec<_> = edited.items.iter().map(|item| item.text.as_str()).collect();
    assert_eq!((told, edited.revision), (vec!["C!", "b"], line.revision + 1));
    stage.server.release(1);
    assert_eq!(running.await.unwrap(), Ok(Prompted::Ran(Ending::Done)));
    let messages = stage.session.messages().await.unwrap();
    let said: Vec<String> = messages
        .iter()
        .filter_map(|(_, message)| match &**message {
            Message::User(user) => Some(user.content.text()),
            _ => None,
        })
        .collect();
    assert_eq!(said, ["start", "C!", "b"]);
}

fn with_system(blueprint: &mut Blueprint) {
    let memory = SystemText::Memory { title: "AGENTS.md".to_owned(), content: "Be kind to cats.".to_owned() };
    let skill = |name: &str| pi_envelope::Skill {
        name: name.to_owned(),
        description: format!("How to {name}"),
        location: format!("/s/{name}/SKILL.md"),
    };
    let part = |id: &str, text: SystemText| SystemPart {
        id: id.to_owned(),
        provenance: Provenance::usual(Origin::User),
        text,
    };
    blueprint.system = std::sync::Arc::new([
        part("intro", SystemText::Instructions { text: "You help.".to_owned() }),
        part("memory:/w/AGENTS.md", memory),
        part("skills:user", SystemText::Skills { skills: vec![skill("bake"), skill("sail")] }),
    ]);
    let composer = std::sync::Arc::get_mut(&mut blueprint.composer).unwrap();
    composer.resources = resources();
}

/// The files from which that system prompt was made.
fn resources() -> pi_session::resources::Resources {
    use pi_session::resources::{ContextFile, Resources, Scope, Skill};
    let provenance = Provenance::usual(Origin::User);
    let skill = |name: &str| Skill {
        name: name.to_owned(),
        description: format!("How to {name}"),
        path: format!("/s/{name}/SKILL.md").into(),
        folder: format!("/s/{name}").into(),
        scope: Scope::User,
        is_hidden: false,
        provenance: provenance.clone(),
        digest: pi_transcript::json::Digest::of(b""),
    };
    Resources {
        context: vec![ContextFile {
            path: "/w/AGENTS.md".into(),
            text: "Be kind to cats.".to_owned(),
            provenance: provenance.clone(),
        }],
        skills: vec![skill("bake"), skill("sail")],
        ..Resources::default()
    }
}

#[tokio::test]
async fn source_that_is_switched_off_is_not_in_the_next_prompt() {
    let mut stage = Stage::with([done(), done(), done(), done()], with_system).await;
    let sources = stage.session.context_sources().await.unwrap();
    let told: Vec<_> = sources.iter().map(|source| (source.id.as_str(), source.kind, source.switch)).collect();
    assert_eq!(
        told,
        [
            ("memory:/w/AGENTS.md", ContextKind::Memory, Switch::On),
            ("skill:bake", ContextKind::Skill, Switch::On),
            ("skill:sail", ContextKind::Skill, Switch::On),
            ("tools:builtin", ContextKind::Tools, Switch::On),
        ]
    );
    assert!(sources.iter().all(|source| source.tokens.count > 0), "{sources:?}");
    stage.play("one").await;
    for (ids, words) in [(&["memory:/w/AGENTS.md", "skill:sail"][..], "two"), (&["tools:builtin"][..], "three")] {
        for id in ids {
            let switched = stage.session.set_context_source(SourceId::from(*id), Switch::Off).await.unwrap();
            assert_eq!((switched.id.as_str(), switched.switch), (*id, Switch::Off));
        }
        stage.play(words).await;
    }
    assert_eq!(stage.session.state().await.unwrap().active_tools, Vec::<String>::new());
    for id in ["memory:/w/AGENTS.md", "skill:sail", "tools:builtin"] {
        stage.session.set_context_source(SourceId::from(id), Switch::On).await.unwrap();
    }
    stage.play("four").await;
    let seen: Vec<_> = stage
        .server
        .requests()
        .iter()
        .map(|request| {
            let body = request.json();
            let system = body["messages"][0]["content"].to_string();
            let has = |text: &str| system.contains(text);
            (has("kind to cats"), has("bake"), has("sail"), body.get("tools").is_some())
        })
        .collect();
    // Nobody can read the file of a skill without the tools.
    let none = (false, false, false, false);
    assert_eq!(seen, [(true, true, true, true), (false, true, false, true), none, (true, true, true, true)]);
    let unknown = stage.session.set_context_source(SourceId::from("skill:fly"), Switch::Off).await;
    assert_eq!(unknown, Err(SourceError::Unknown { id: SourceId::from("skill:fly") }));
}

/// How many tokens a prompt of this session has beside what was said: its system text and its tools, each as it was sent.
fn sent(stage: &Stage) -> u64 {
    let count = |text: &str| pi_provider::tokens::counter("scripted/model")(text).count;
    let body = stage.server.requests().last().expect("a request").json();
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    let says = |tool: &Value, member: &str| tool["function"][member].as_str().expect("words").to_owned();
    let written = |tool: &Value| {
        let parameters = tool["function"]["parameters"].to_string();
        says(tool, "name") + &says(tool, "description") + &parameters
    };
    let tools = tools.iter().map(|tool| count(&written(tool))).sum::<u64>();
    count(body["messages"][0]["content"].as_str().expect("a system text")) + tools
}

#[tokio::test]
async fn switch_tells_what_the_next_prompt_has_less() {
    let mut stage = Stage::with(std::iter::repeat_with(done).take(8), with_system).await;
    stage.play("all").await;
    let mut before = sent(&stage);
    // The second skill takes their frame with it, and the last tool that reads files would have taken both.
    for id in ["skill:sail", "memory:/w/AGENTS.md", "skill:bake", "tools:builtin"] {
        let sources = stage.session.context_sources().await.unwrap();
        let told = sources.iter().find(|source| source.id.as_str() == id).unwrap().tokens.count;
        stage.session.set_context_source(SourceId::from(id), Switch::Off).await.unwrap();
        stage.play(id).await;
        let after = sent(&stage);
        assert!((before - after).abs_diff(told) <= 4, "{id} saves {} and not {told}", before - after);
        before = after;
    }
}

#[tokio::test]
async fn tool_tells_what_comes_and_goes_with_it() {
    let mut stage = Stage::with([done(), done(), done()], with_system).await;
    let weighed = async |stage: &Stage, name: &str| {
        let tools = stage.session.listed_tools().await.unwrap();
        let tool = tools.into_iter().find(|tool| tool.info.definition.name == name).unwrap();
        (tool.source.to_string(), tool.tokens.count)
    };
    stage.play("all").await;
    let mut before = sent(&stage);
    // No skill is told of without it.
    let (source, told) = weighed(&stage, "read").await;
    assert_eq!(source, "tools:builtin");
    stage.session.set_active_tools(words(&["bash", "edit", "write"])).await.unwrap();
    stage.play("without").await;
    assert!((before - sent(&stage)).abs_diff(told) <= 4, "read saves {} and not {told}", before - sent(&stage));
    before = sent(&stage);
    // One that is off says what it would take.
    let (_, told) = weighed(&stage, "grep").await;
    stage.session.set_active_tools(words(&["bash", "edit", "write", "grep"])).await.unwrap();
    stage.play("with").await;
    assert!((sent(&stage) - before).abs_diff(told) <= 4, "grep takes {} and not {told}", sent(&stage) - before);
}

/// Opens the file of a session that was closed, with changes to what the session is made of.
async fn again(before: &Stage, change: impl FnOnce(&mut Blueprint)) -> Stage {
    let opened = file::go_on(&before.file(), Moment::from_unix_millis(0), fastrand::Rng::with_seed(8)).unwrap();
    Stage::with([done()], |blueprint| {
        with_system(blueprint);
        blueprint.storage = Storage::File(Box::new(opened));
        change(blueprint);
    })
    .await
}

/// The tools that are active, and the sources that are switched off.
async fn offered(stage: &Stage) -> (Vec<String>, Vec<String>) {
    let sources = stage.session.context_sources().await.unwrap();
    let off = sources.iter().filter(|source| source.switch == Switch::Off).map(|source| source.id.to_string());
    (stage.session.state().await.unwrap().active_tools, off.collect())
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[tokio::test]
async fn what_was_chosen_to_be_offered_holds_when_the_file_is_opened_again() {
    let mut first = Stage::with([done()], with_system).await;
    first.play("one").await;
    first.session.set_active_tools(words(&["read", "ls"])).await.unwrap();
    first.session.set_context_source(SourceId::from("skill:sail"), Switch::Off).await.unwrap();
    first.session.close().await.unwrap();
    let mut second = again(&first, |_| {}).await;
    assert_eq!(offered(&second).await, (words(&["read", "ls"]), words(&["skill:sail"])));
    second.play("two").await;
    let body = second.server.requests()[0].json();
    let tools: Vec<_> = body["tools"].as_array().unwrap().iter().map(|tool| &tool["function"]["name"]).collect();
    assert_eq!(tools, ["read", "ls"]);
    let system = body["messages"][0]["content"].to_string();
    assert_eq!((system.contains("bake"), system.contains("sail")), (true, false));
}

#[tokio::test]
async fn tools_that_were_asked_for_come_before_those_of_the_file_and_leave_it_as_it_is() {
    let mut first = Stage::with([done()], with_system).await;
    first.play("one").await;
    first.session.set_active_tools(words(&["read"])).await.unwrap();
    let asked = |blueprint: &mut Blueprint| blueprint.active_tools = ActiveTools::Asked(words(&["bash"]));
    first.session.close().await.unwrap();
    let second = again(&first, asked).await;
    assert_eq!(offered(&second).await.0, ["bash"]);
    second.session.close().await.unwrap();
    let third = again(&first, |_| {}).await;
    assert_eq!(offered(&third).await.0, ["read"]);
}

#[tokio::test]
async fn what_was_set_holds_on_another_branch_too() {
    let mut first = Stage::with([done(), done()], with_system).await;
    first.play("one").await;
    let root = first.session.messages().await.unwrap()[0].0.clone();
    first.session.set_active_tools(words(&["read"])).await.unwrap();
    first.session.set_thinking_level(ThinkingLevel::High).await.unwrap();
    let journey = pi_session::Journey { target: root, summarise: pi_session::Summarise::No, label: None };
    first.session.navigate(journey).await.unwrap();
    first.play("two").await;
    first.session.close().await.unwrap();
    let second = again(&first, |blueprint| blueprint.thinking = ThinkingLevel::High).await;
    assert_eq!(offered(&second).await.0, ["read"]);
    let entries = second.session.outline(100).await.unwrap().nodes;
    let kinds: Vec<&str> = entries.iter().map(|node| node.role.as_deref().unwrap_or(&node.kind)).collect();
    // The last three are those of the other branch; nothing had to be said again when the file was opened.
    let expected = [
        "model_change",
        "thinking_level_change",
        "user",
        "assistant",
        "custom",
        "thinking_level_change",
        "thinking_level_change",
        "custom",
        "user",
        "assistant",
    ];
    assert_eq!(kinds, expected);
}

#[tokio::test]
async fn extension_cannot_write_what_only_a_person_chooses() {
    let script = "guest forger\non session_start\n  append pi.offer";
    let (mut stage, _guests) = Stage::with_guests([done()], &[script]).await;
    stage.play("one").await;
    let lines = stage.lines().await;
    assert!(!lines.contains(&"custom".to_owned()), "{lines:?}");
}

/// A session that wrote a file and then went back to its first words and said others.
async fn branched() -> Stage {
    let call = Answer::new().call("c1", "write", &json!({ "path": "a", "content": "" })).usage(100, 10).reply();
    let mut stage = Stage::new([call, done(), done(), done()]).await;
    stage.play("one").await;
    let first = stage.session.messages().await.unwrap()[0].0.clone();
    stage.session.label(first.clone(), Some("start".to_owned())).await.unwrap().unwrap();
    let journey = pi_session::Journey { target: first, summarise: pi_session::Summarise::No, label: None };
    stage.session.navigate(journey).await.unwrap();
    stage.play("two").await;
    stage
}

#[tokio::test]
async fn counts_cover_every_branch() {
    let stage = branched().await;
    let stats = stage.session.stats().await.unwrap();
    let expected = json!({
        "sessionFile": stage.file(), "sessionId": "01900000-0000-7000-8000-000000000000",
        "userMessages": 2, "assistantMessages": 3, "toolCalls": 1, "toolResults": 1, "totalMessages": 6,
        "tokens": { "input": 120, "output": 16, "cacheRead": 0, "cacheWrite": 0, "total": 136 }, "cost": 0,
    });
    assert_eq!(serde_json::to_value(&stats).unwrap(), expected);
}

/// A client asks after every run, however long the session is.
#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the test takes away what must not be read again")]
async fn what_was_counted_is_not_read_again() {
    let mut stage = branched().await;
    stage.session.stats().await.unwrap();
    // What the first branch has cost is known by now, and only there.
    stage.session.flush().await.unwrap();
    let text = std::fs::read_to_string(stage.file()).unwrap();
    std::fs::write(stage.file(), text.replace("\"message\"", "\"massage\"")).unwrap();
    let stats = stage.session.stats().await.unwrap();
    assert_eq!((stats.user_messages, stats.total_messages, stats.tokens.input), (2, 6, 120));
    stage.play("three").await;
    let stats = stage.session.stats().await.unwrap();
    assert_eq!((stats.user_messages, stats.total_messages, stats.tokens.input), (3, 8, 130));
}

/// Entries by what they are, what they begin with and what they are called; each with the place of the one before it.
fn told(outline: &Outline) -> Vec<String> {
    let place = |id: &EntryId| outline.nodes.iter().position(|node| node.entry == *id);
    let line = |node: &Node| {
        let kind = node.role.as_ref().unwrap_or(&node.kind);
        let behind = node.parent.as_ref().and_then(place).map_or("-".to_owned(), |place| place.to_string());
        format!("{behind} {kind} {:?}{}", node.text, node.label.as_deref().unwrap_or_default())
    };
    outline.nodes.iter().map(line).collect()
}

#[tokio::test]
async fn tree_has_every_branch_and_its_labels() {
    let outline = branched().await.session.outline(100).await.unwrap();
    let expected = [
        r#"- model_change "scripted/model""#,
        r#"0 thinking_level_change """#,
        r#"1 user "one"start"#,
        r#"2 assistant "[write]""#,
        r#"3 toolResult "Successfully wrote 0 bytes to a""#,
        r#"4 assistant "Done.""#,
        r#"5 label """#,
        r#"1 user "two""#,
        r#"7 assistant "Done.""#,
    ];
    assert_eq!(told(&outline), expected);
    assert_eq!((outline.leaf.as_ref(), outline.left_out), (Some(&outline.nodes[8].entry), 0));
}

#[tokio::test]
async fn tree_that_may_not_be_large_has_the_newest_entries() {
    let outline = branched().await.session.outline(2).await.unwrap();
    assert_eq!(
        (told(&outline), outline.left_out),
        (vec![r#"- user "two""#.into(), r#"0 assistant "Done.""#.into()], 7)
    );
}

/// What was said on a page of two exchanges, with `+` if there is more.
async fn check_page(stage: &Stage, side: Side, expected: &str) {
    let page = stage.session.messages_page(side, 3).await.unwrap();
    let said = page.messages.iter().map(|(_, message)| match &**message {
        Message::User(user) => user.content.text(),
        Message::Assistant(answer) => answer.content.iter().filter_map(|block| block.as_text()).collect(),
        other => panic!("{other:?}"),
    });
    let said: Vec<String> = said.collect();
    assert_eq!(format!("{}{}", said.join(", "), if page.has_more { " +" } else { "" }), expected);
}

#[tokio::test]
async fn messages_come_in_pages() {
    let mut stage = Stage::new([done(), done()]).await;
    stage.play("one").await;
    stage.play("two").await;
    let ids: Vec<_> = stage.session.messages().await.unwrap().into_iter().map(|(id, _)| id).collect();
    check_page(&stage, Side::End, "Done., two, Done. +").await;
    check_page(&stage, Side::Before(ids[1].clone()), "one").await;
    check_page(&stage, Side::After(ids[1].clone()), "two, Done.").await;
}

#[tokio::test]
async fn page_above_a_compaction_reads_its_own_lines_and_no_others() {
    let answers = ["One.", "Two.", "Three.", "Summary.", "Beginning."];
    let answers = answers.map(|text| Answer::new().text(text).usage(10, 3).reply());
    let nearly_nothing = pi_session::cut::Settings { keep_recent_tokens: 1, ..pi_session::cut::Settings::default() };
    let mut stage = Stage::with(answers, |blueprint| blueprint.compaction = nearly_nothing).await;
    for words in ["first", "second", "third"] {
        stage.play(words).await;
    }
    stage.session.compact(None).await.unwrap();
    stage.session.flush().await.unwrap();
    // Whoever reads the whole file meets a line that is none.
    let written = std::fs::read_to_string(stage.file()).unwrap();
    let damaged =
        written.lines().map(|line| if line.contains("\"first\"") { "?".repeat(line.len()) } else { line.to_owned() });
    std::fs::write(stage.file(), damaged.map(|line| line + "\n").collect::<String>()).unwrap();
    let (summary, _) = stage.session.messages().await.unwrap().swap_remove(0);
    check_page(&stage, Side::Before(summary), "second, Two., third +").await;
}

#[tokio::test]
async fn page_beside_a_message_that_is_not_there_is_refused() {
    let stage = Stage::new([]).await;
    let lost = stage.session.messages_page(Side::After("nobody".into()), 3).await;
    assert!(matches!(lost, Err(ReadingError::NoEntry(_))), "{lost:?}");
}

#[tokio::test]
async fn tools_are_listed_with_who_brings_them() {
    let (stage, _) = Stage::with_guests([], &["guest g\ntool look\nanswer seen"]).await;
    let tools = stage.session.tools().await.unwrap();
    let mut told: Vec<_> =
        tools.iter().map(|tool| (tool.definition.name.as_str(), tool.is_active, tool.source.is_some())).collect();
    told.sort_unstable();
    let expected = [
        ("bash", true, false),
        ("edit", true, false),
        ("find", false, false),
        ("grep", false, false),
        ("look", true, true),
        ("ls", false, false),
        ("read", true, false),
        ("write", true, false),
    ];
    assert_eq!(told, expected);
}

#[tokio::test]
async fn tools_of_each_extension_are_a_source_of_their_own() {
    let (stage, _) = Stage::with_guests([], &["guest g\ntool look\nanswer seen"]).await;
    let sources = stage.session.context_sources().await.unwrap();
    let ids: Vec<_> = sources.iter().map(|source| source.id.as_str()).collect();
    assert_eq!(ids, ["tools:builtin", "tools:g"]);
}

#[tokio::test]
async fn context_of_a_new_session_is_empty() {
    let stage = Stage::new([]).await;
    let expected = json!({ "tokens": 0, "contextWindow": 20000, "percent": 0 });
    assert_eq!(serde_json::to_value(stage.session.context_usage().await.unwrap()).unwrap(), expected);
}

#[tokio::test]
async fn skills_are_those_that_were_found() {
    let stage = Stage::with([], with_system).await;
    assert_eq!(stage.session.skills().await.unwrap(), resources().skills);
    assert_eq!(Stage::new([]).await.session.skills().await.unwrap(), []);
}

#[tokio::test]
async fn thinking_levels_go_round() {
    let stage = Stage::new([]).await;
    let mut levels = Vec::new();
    for _ in ThinkingLevel::ALL {
        let level = stage.session.cycle_thinking_level().await.unwrap().unwrap();
        assert_eq!(stage.session.state().await.unwrap().thinking, level);
        levels.push(level.as_str());
    }
    assert_eq!(levels, ["minimal", "low", "medium", "high", "xhigh", "max", "off"]);
}

#[tokio::test]
async fn model_that_cannot_think_has_no_next_level() {
    let stage = Stage::with([], |blueprint| {
        blueprint.models = stage::thoughtless_models();
        blueprint.choice = blueprint.models.find("scripted/model").unwrap();
    })
    .await;
    assert_eq!(stage.session.cycle_thinking_level().await.unwrap(), None);
    assert_eq!(stage.session.state().await.unwrap().thinking, ThinkingLevel::Off);
}

#[tokio::test]
async fn only_model_has_no_next_one() {
    let stage = Stage::new([]).await;
    assert!(stage.session.cycle_model(Direction::Forward).await.unwrap().is_none());
}

#[tokio::test]
async fn extensions_hear_that_somebody_goes_through_the_models() {
    let (stage, guests) = Stage::with_guests([], &["guest g\non model_select"]).await;
    let choice = stage.session.models().await.unwrap().into_iter().next().unwrap();
    stage.session.cycle_to(choice).await.unwrap();
    stage.session.close().await.unwrap();
    let heard = guests[0].heard();
    assert_eq!(heard.iter().filter(|line| line.contains(r#""source":"cycle""#)).count(), 1, "{heard:?}");
}
