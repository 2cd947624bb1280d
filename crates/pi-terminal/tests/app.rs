//! What keys do, and what the screen shows.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{sync::Arc, time::Duration};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use pi_session::{
    Exposure, ExtensionTier, GuestShortcut, Journey, Press, ResultState, State, Subject, Suggestion, Summarise, Switch,
    Went,
    directory::{ForkPoint, Stored},
    export::Form,
    extensions::{Extension, Phase},
    input::complete::{Command, CommandKind, Listed, Listing},
    queue::{Waiting, When},
};
use pi_terminal::{
    Action, App, Beginning, Catalogue, Colours, Draft, Fetch, Marked, Missing, Part, Place, Point, Report, Theme, Wish,
    look::Thoughts, text::line_width,
};
use pi_transcript::{AgentEvent, EntryId, Model, ThinkingLevel, drawn::Span, question::Answer};
use serde_json::{Value, json};

fn model(id: &str) -> Model {
    let cost = json!({ "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0 });
    serde_json::from_value(json!({ "id": id, "name": id, "api": "x", "provider": "p", "baseUrl": "", "reasoning": true,
        "input": ["text"], "cost": cost, "contextWindow": 1000, "maxTokens": 10 }))
    .unwrap()
}

fn app() -> App {
    App::new(beginning())
}

/// A conversation whose model cannot be asked.
fn silent_app() -> App {
    App::new(Beginning { silence: Some("there is no key".to_owned()), ..beginning() })
}

fn beginning() -> Beginning {
    let state = State {
        session: "s".into(),
        name: None,
        leaf: None,
        model: Arc::new(model("one")),
        thinking: ThinkingLevel::Off,
        is_running: false,
        waiting: Waiting::default(),
        active_tools: Vec::new(),
        entries: 0,
        is_failing: false,
    };
    Beginning {
        state,
        models: vec![model("one"), model("two")],
        scoped: 0,
        commands: Vec::new(),
        drawn_tools: vec!["weigh".to_owned()],
        missing: vec![Missing { name: "q/three".to_owned(), needs: "Q_API_KEY".to_owned() }],
        undescribed: Vec::new(),
        why: "as asked for".to_owned(),
        silence: None,
        colours: Colours::True,
        theme: Theme::plain(),
        thoughts: Thoughts::Shown,
        directory: "~/p".to_owned(),
        branch: None,
        history: vec!["first".to_owned(), "second".to_owned()],
        is_trusted: false,
        is_unwritable: false,
    }
}

/// Keys as they are written here: a letter, or a name in `<>` such as `<ctrl+p>`.
fn keys(text: &str) -> Vec<KeyEvent> {
    let mut keys = Vec::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let (name, after) = match rest.strip_prefix('<').and_then(|inner| inner.split_once('>')) {
            Some((name, after)) => (Some(name), after),
            None => (None, &rest[letter.len_utf8()..]),
        };
        keys.push(name.map_or_else(|| KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE), named));
        rest = after;
    }
    keys
}

fn named(name: &str) -> KeyEvent {
    let (mut modifiers, mut code) = (KeyModifiers::NONE, KeyCode::Null);
    for part in name.split('+') {
        match part {
            "ctrl" => modifiers |= KeyModifiers::CONTROL,
            "alt" => modifiers |= KeyModifiers::ALT,
            "shift" => modifiers |= KeyModifiers::SHIFT,
            "enter" => code = KeyCode::Enter,
            "esc" => code = KeyCode::Esc,
            "tab" => code = KeyCode::Tab,
            "backtab" => code = KeyCode::BackTab,
            "up" => code = KeyCode::Up,
            "down" => code = KeyCode::Down,
            "left" => code = KeyCode::Left,
            "back" => code = KeyCode::Backspace,
            "pagedown" => code = KeyCode::PageDown,
            letter => code = KeyCode::Char(letter.chars().next().unwrap()),
        }
    }
    KeyEvent::new(code, modifiers)
}

fn press(app: &mut App, text: &str) -> Vec<Action> {
    keys(text).into_iter().flat_map(|key| app.key(key, Duration::ZERO)).collect()
}

/// When somebody has read a question.
const READ: Duration = Duration::from_secs(2);

fn press_at(app: &mut App, text: &str, now: Duration) -> Vec<Action> {
    keys(text).into_iter().flat_map(|key| app.key(key, now)).collect()
}

fn hear(app: &mut App, event: Value) {
    let event: AgentEvent = serde_json::from_value(event).unwrap();
    app.report(&Report::Event(Arc::new(event)), Duration::ZERO);
}

fn screen(app: &mut App) -> Vec<String> {
    lines_at(app, Duration::ZERO)
}

fn lines_at(app: &mut App, now: Duration) -> Vec<String> {
    let frame = app.frame(40, 24, now);
    assert!(frame.live.len() <= 24);
    let long: Vec<String> = frame
        .live
        .iter()
        .chain(&frame.finished)
        .filter(|line| line_width(line) > 40)
        .map(ToString::to_string)
        .collect();
    assert_eq!(long, Vec::<String>::new(), "these are too long");
    frame.finished.iter().chain(&frame.live).map(|line| line.to_string().trim_end().to_owned()).collect()
}

fn shows(app: &mut App, text: &str) -> bool {
    screen(app).iter().any(|line| line.contains(text))
}

#[track_caller]
fn check(text: &str, expected: &[Action]) {
    assert_eq!(press(&mut app(), text), expected, "{text}");
}

fn choose(id: &str) -> Action {
    Action::SetModel { provider: "p".into(), model: id.into() }
}

fn cycle(id: &str) -> Action {
    Action::CycleModel { provider: "p".into(), model: id.into() }
}

fn say(text: &str, when: When) -> Action {
    Action::Say { text: text.to_owned(), when }
}

#[test]
fn text_is_sent_now_or_later() {
    check("hi<enter>", &[say("hi", When::Steer)]);
    check("hi<alt+enter>", &[say("hi", When::FollowUp)]);
    check("a<shift+enter>b<enter>", &[say("a\nb", When::Steer)]);
    check("a<ctrl+j>b<enter>", &[say("a\nb", When::Steer)]);
    check("a\\<enter>b<enter>", &[say("a\nb", When::Steer)]);
    check("  <enter>", &[]);
    check("one two<ctrl+w>x<enter>", &[say("one x", When::Steer)]);
    check("日本<left>x<enter>", &[say("日x本", When::Steer)]);
}

#[test]
fn history_comes_back_and_what_was_written_too() {
    check("<up><enter>", &[say("second", When::Steer)]);
    check("<up><up><up><enter>", &[say("first", When::Steer)]);
    check("new<up><up><down><down><enter>", &[say("new", When::Steer)]);
}

#[test]
fn commands_do_what_they_say() {
    check("/quit<enter>", &[Action::Leave(Wish::Quit)]);
    check("/new<enter>", &[Action::Leave(Wish::NewSession)]);
    check("/model two<enter>", &[choose("two")]);
    check("/thinking high<enter>", &[Action::SetThinking(ThinkingLevel::High)]);
    check("/name My session<enter>", &[Action::Rename("My session".to_owned())]);
    check("/compact<enter>", &[Action::Compact { instructions: None }]);
    check("/compact keep it<enter>", &[Action::Compact { instructions: Some("keep it".to_owned()) }]);
    check("/export a.html<enter>", &[Action::Export { path: Some("a.html".into()) }]);
    check("/context<enter>", &[Action::Fetch(Fetch::Envelope)]);
    check("/resume<enter>", &[Action::Fetch(Fetch::Sessions)]);
    check("/fork<enter>", &[Action::Fetch(Fetch::ForkPoints)]);
    check("/tree<enter>", &[Action::Fetch(Fetch::Tree)]);
    check("/trust<enter>", &[Action::Leave(Wish::Trust)]);
    check("/extensions<enter>", &[Action::Fetch(Fetch::Extensions)]);
    check("/reload<enter>", &[Action::Reload]);
    check("exit<enter>", &[Action::Leave(Wish::Quit)]);
    check("quit<enter>", &[Action::Leave(Wish::Quit)]);
    check("quit it<enter>", &[say("quit it", When::Steer)]);
    check(
        "!ls -l<enter>",
        &[Action::Run { command: "ls -l".to_owned(), exposure: Exposure::Shown, written_by: Vec::new() }],
    );
    check(
        "!!ls<enter>",
        &[Action::Run { command: "ls".to_owned(), exposure: Exposure::Hidden, written_by: Vec::new() }],
    );
}

#[test]
fn models_that_are_gone_through_are_the_first() {
    let offer = |scoped| Report::Offers {
        models: vec![model("three"), model("two"), model("one")],
        scoped,
        commands: Vec::new(),
        drawn_tools: Vec::new(),
        shortcuts: Vec::new(),
    };
    // The session asks `one`, which is none of the first two.
    for (scoped, keys, expected) in [
        (0, "<ctrl+p>", cycle("three")),
        (2, "<ctrl+p>", cycle("three")),
        (2, "<ctrl+shift+p>", cycle("two")),
        (1, "<ctrl+shift+p>", cycle("three")),
    ] {
        let mut app = app();
        app.report(&offer(scoped), Duration::ZERO);
        assert_eq!(press(&mut app, keys), [expected], "{scoped} {keys}");
    }
    let mut app = app();
    app.report(&offer(2), Duration::ZERO);
    press(&mut app, "<ctrl+l>");
    assert!(shows(&mut app, "; ctrl+p goes through t"), "{:#?}", screen(&mut app));
    press(&mut app, "<esc>");
    app.report(&Report::Model(Box::new(model("three"))), Duration::ZERO);
    app.report(&offer(1), Duration::ZERO);
    assert_eq!(press(&mut app, "<ctrl+p>"), []);
    assert!(shows(&mut app, "name no othe"), "{:#?}", screen(&mut app));
}

#[test]
fn keys_choose_models_and_levels() {
    check("<ctrl+p>", &[cycle("two")]);
    check("<ctrl+shift+p>", &[cycle("two")]);
    check("<backtab>", &[Action::SetThinking(ThinkingLevel::Minimal)]);
    check("/model<enter>two<enter>", &[choose("two")]);
    check("<ctrl+l><down><enter>", &[choose("two")]);
    check("/thinking<enter>med<enter>", &[Action::SetThinking(ThinkingLevel::Medium)]);
}

#[test]
fn leaving_takes_two_interrupts_or_an_empty_editor() {
    check("<ctrl+c>", &[]);
    check("<ctrl+c><ctrl+c>", &[Action::Leave(Wish::Quit)]);
    check("<ctrl+d>", &[Action::Leave(Wish::Quit)]);
    check("x<ctrl+d>", &[]);
    check("x<ctrl+c><enter>", &[]);
    check("<esc>", &[]);
    check("<esc><esc>", &[Action::Fetch(Fetch::Tree)]);
    check("<ctrl+z>", &[Action::Suspend]);
    let mut app = app();
    app.key(named("ctrl+c"), Duration::ZERO);
    assert!(shows(&mut app, "ctrl+c again leaves"));
    app.frame(40, 24, Duration::from_secs(2));
    assert!(!shows(&mut app, "ctrl+c again leaves"), "it does not any more");
    assert_eq!(app.key(named("ctrl+c"), Duration::from_secs(2)), [], "the second came too late");
}

#[test]
fn what_is_kept_nowhere_is_left_at_the_second_try() {
    for (text, wish) in [("<ctrl+d>", Wish::Quit), ("/quit<enter>", Wish::Quit), ("/new<enter>", Wish::NewSession)] {
        let mut app = app();
        hear(&mut app, json!({ "type": "storage_failed", "message": "the disk is full" }));
        assert_eq!(press(&mut app, text), []);
        assert!(shows(&mut app, "this conversation is kept nowhere"), "{text}");
        assert_eq!(press(&mut app, text), [Action::Leave(wish.clone())]);
        // Something new can be lost.
        hear(&mut app, json!({ "type": "agent_start" }));
        hear(&mut app, json!({ "type": "agent_settled" }));
        assert_eq!(press(&mut app, text), []);
        hear(&mut app, json!({ "type": "storage_recovered" }));
        assert_eq!(press(&mut app, text), [Action::Leave(wish)]);
    }
    let mut app = app();
    hear(&mut app, json!({ "type": "storage_failed", "message": "the disk is full" }));
    assert_eq!(press(&mut app, "/quit<enter>"), []);
    // Whoever does something else is told again.
    press(&mut app, "/name Ada<enter>");
    assert_eq!(press(&mut app, "/quit<enter>"), []);
    let exported = |form| Report::Exported { path: "/p/talk".into(), form };
    app.report(&exported(Form::Envelope), Duration::ZERO);
    press(&mut app, "/name Ada<enter>");
    assert_eq!(press(&mut app, "/quit<enter>"), [], "an envelope is not what was said");
    app.report(&exported(Form::Markdown), Duration::ZERO);
    press(&mut app, "/name Ada<enter>");
    assert_eq!(press(&mut app, "/quit<enter>"), [Action::Leave(Wish::Quit)]);
    hear(&mut app, json!({ "type": "message_end", "message": { "role": "user", "content": "more", "timestamp": 0 } }));
    assert_eq!(press(&mut app, "/quit<enter>"), [], "it is not in the file");
    let state = State { is_failing: true, ..beginning().state };
    let mut shown_again = App::new(Beginning { state, ..beginning() });
    assert_eq!(press(&mut shown_again, "/quit<enter>"), []);
}

#[test]
fn interrupt_clears_what_is_written_before_it_stops_what_runs() {
    let mut app = app();
    hear(&mut app, json!({ "type": "agent_start" }));
    let at = Duration::from_secs;
    press(&mut app, "half");
    assert_eq!(app.key(named("ctrl+c"), at(1)), []);
    assert!(!shows(&mut app, "half") && shows(&mut app, "esc to stop"));
    assert_eq!(app.key(named("ctrl+c"), at(3)), [Action::Abort]);
    assert!(shows(&mut app, "stopping; ctrl+c again leaves"));
    assert_eq!(app.key(named("ctrl+c"), at(3)), [Action::Leave(Wish::Quit)]);
}

#[test]
fn escape_stops_what_runs() {
    let mut app = app();
    hear(&mut app, json!({ "type": "agent_start" }));
    assert_eq!(press(&mut app, "<esc>"), [Action::Abort]);
    hear(
        &mut app,
        json!({ "type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 9, "errorMessage": "e" }),
    );
    assert_eq!(press(&mut app, "<esc>"), [Action::AbortRetry]);
}

fn typed(text: &str) -> Draft {
    Draft::typed(text.to_owned())
}

#[test]
fn queue_is_shown_and_comes_back_into_the_editor() {
    let mut app = app();
    hear(&mut app, json!({ "type": "queue_update", "steering": ["do this"], "followUp": ["then that"] }));
    assert!(shows(&mut app, "steer: do this") && shows(&mut app, "then: then that"));
    press(&mut app, "mine");
    assert_eq!(press(&mut app, "<alt+up>"), [Action::TakeBack]);
    app.report(&Report::TakenBack(vec![typed("do this"), typed("then that")]), Duration::ZERO);
    assert_eq!(press(&mut app, "<enter>"), [say("do this\n\nthen that\n\nmine", When::Steer)]);
}

#[test]
fn what_was_not_sent_is_told_and_comes_back() {
    let mut app = app();
    press(&mut app, "mine");
    app.report(&Report::Unsent(vec![typed("do this")]), Duration::ZERO);
    assert!(shows(&mut app, "what waited was not sent"));
    assert_eq!(press(&mut app, "<enter>"), [say("do this\n\nmine", When::Steer)]);
}

#[test]
fn file_that_cannot_be_written_is_told_once() {
    let failed = || json!({ "type": "storage_failed", "message": "the disk is full" });
    let mut told = App::new(Beginning { is_unwritable: true, ..beginning() });
    hear(&mut told, failed());
    assert!(!shows(&mut told, "the disk is full"));
    assert_eq!(press(&mut told, "/quit<enter>"), [], "what is said can be lost all the same");
    // Later it is news again.
    hear(&mut told, json!({ "type": "storage_recovered" }));
    hear(&mut told, failed());
    assert!(shows(&mut told, "the disk is full"));
}

#[test]
fn files_are_completed_behind_an_at() {
    let mut app = app();
    let wanted: Vec<Action> = press(&mut app, "see @ma");
    assert_eq!(wanted.last(), Some(&Action::FindFiles { query: "ma".to_owned() }));
    let file = |path: &str| Listed { path: path.to_owned(), is_folder: false };
    let listing = Listing { files: vec![file("src/main.rs"), file("my map.md")], is_cut: false };
    app.report(&Report::Files { query: "old".to_owned(), listing: listing.clone() }, Duration::ZERO);
    assert!(!shows(&mut app, "src/main.rs"), "an answer to an older question is not shown");
    app.report(&Report::Files { query: "ma".to_owned(), listing }, Duration::ZERO);
    assert!(shows(&mut app, "→ src/main.rs"));
    press(&mut app, "<down><tab>");
    assert_eq!(press(&mut app, "<enter>"), [say("see @\"my map.md\" ", When::Steer)]);
    check("a@b.c<enter>", &[say("a@b.c", When::Steer)]);
}

#[test]
fn argument_of_a_command_is_what_its_extension_proposes() {
    let command = |name: &str, kind| Command { name: name.to_owned(), description: String::new(), hint: None, kind };
    let commands = vec![command("deploy", CommandKind::Extension), command("review", CommandKind::Template)];
    let mut app = App::new(Beginning { commands, ..beginning() });
    let ask = |prefix: &str| Action::CompleteArgument { command: "deploy".to_owned(), prefix: prefix.to_owned() };
    let answer = |app: &mut App, prefix: &str, values: &[&str]| {
        let suggestions = values.iter().map(|value| Suggestion {
            value: (*value).to_owned(),
            label: format!("to {value}"),
            description: Some(format!("the {value} machines")),
        });
        let (command, prefix) = ("deploy".to_owned(), prefix.to_owned());
        app.report(&Report::Arguments { command, prefix, suggestions: suggestions.collect() }, Duration::ZERO);
    };
    assert_eq!(press(&mut app, "/deploy s"), [ask(""), ask("s")]);
    answer(&mut app, "", &["prod"]);
    assert!(!shows(&mut app, "prod"), "an answer to an older question is not shown");
    answer(&mut app, "s", &["staging", "sandbox"]);
    assert!(shows(&mut app, "→ to staging  the staging machines"), "{:#?}", screen(&mut app));
    assert_eq!(press(&mut app, "<down><tab>"), []);
    answer(&mut app, "sandbox", &["sandbox"]);
    assert!(!shows(&mut app, "→ to sandbox"), "what was taken is not proposed again");
    assert_eq!(press(&mut app, "<enter>"), [say("/deploy sandbox", When::Steer)]);

    // What was typed since belongs to what a proposal replaces, and what stands there in full is sent.
    press(&mut app, "/deploy s");
    answer(&mut app, "s", &["staging"]);
    assert_eq!(press(&mut app, "t<enter>"), [ask("st")]);
    assert_eq!(press(&mut app, "<enter>"), [say("/deploy staging", When::Steer)]);
    press(&mut app, "/deploy prod");
    answer(&mut app, "prod", &["prod"]);
    assert_eq!(press(&mut app, "<enter>"), [say("/deploy prod", When::Steer)]);

    // Only extensions are asked, and a file is a file there as well.
    assert_eq!(press(&mut app, "/review s<ctrl+c>"), []);
    let file = |query: &str| Action::FindFiles { query: query.to_owned() };
    assert_eq!(press(&mut app, "/deploy @m"), [ask(""), file(""), file("m")]);
}

#[test]
fn popup_of_commands_follows_what_is_typed() {
    let mut app = app();
    press(&mut app, "/comp");
    assert!(shows(&mut app, "→ /compact [instructions]"));
    assert_eq!(press(&mut app, "<tab>now<enter>"), [Action::Compact { instructions: Some("now".to_owned()) }]);
    press(&mut app, "/qu<esc>");
    assert!(!shows(&mut app, "→ /quit"), "it was dismissed");
}

#[test]
fn places_are_picked_from_lists() {
    let point = |id: &str, text: &str| Point {
        entry: EntryId::from(id),
        depth: 0,
        who: "you".to_owned(),
        text: text.to_owned(),
        label: None,
        is_current: true,
    };
    let mut app = app();
    app.report(&Report::ForkPoints(vec![point("e1", "one"), point("e2", "two")]), Duration::ZERO);
    let fork = |id: &str| Action::Leave(Wish::Fork(ForkPoint::Before(EntryId::from(id))));
    assert_eq!(press(&mut app, "<enter>"), [fork("e2")], "the last one is nearest");
    app.report(&Report::Tree(vec![point("e1", "one"), point("e2", "two")]), Duration::ZERO);
    let journey = Journey { target: EntryId::from("e1"), summarise: Summarise::Yes, label: None };
    assert_eq!(press(&mut app, "<up><enter><down><enter>"), [Action::Navigate(journey)]);
    app.report(&Report::Sessions(catalogue(Vec::new())), Duration::ZERO);
    assert!(shows(&mut app, "there is no other session here"));
}

fn stored(path: &str, name: Option<&str>, modified: u64, message_count: u64) -> Stored {
    Stored {
        path: path.into(),
        id: "01".into(),
        cwd: "/p".to_owned(),
        name: name.map(str::to_owned),
        parent_session: None,
        created: "2026-01-01T00:00:00.000Z".to_owned(),
        modified,
        message_count,
        first_message: "Fix the tests".to_owned(),
        skipped: 0,
    }
}

fn catalogue(stored: Vec<Stored>) -> Catalogue {
    Catalogue { stored, current: Some("/s/one.jsonl".into()), now: 10_000_000 }
}

#[test]
fn sessions_are_listed_by_name_and_age() {
    let mut app = app();
    let listed =
        vec![stored("/s/one.jsonl", None, 9_999_000, 1), stored("/s/two.jsonl", Some("the plan"), 2_800_000, 4)];
    app.report(&Report::Sessions(catalogue(listed)), Duration::ZERO);
    let lines = screen(&mut app);
    assert!(lines.contains(&"→ Fix the tests  just now · 1 message ·…".to_owned()), "{lines:#?}");
    assert!(lines.contains(&"  the plan  2 h ago · 4 messages".to_owned()), "{lines:#?}");
    assert_eq!(press(&mut app, "<down><enter>"), [Action::Leave(Wish::Resume("/s/two.jsonl".into()))]);
}

#[test]
fn command_that_is_not_there_is_told_and_comes_back() {
    let mut app = app();
    assert_eq!(press(&mut app, "/modle x<enter>"), []);
    let shown = screen(&mut app).join(" ").replace("▌ ", "").replace("  ", " ");
    assert!(shown.contains("there is no command /modle; did you mean /model?"), "{shown}");
    assert!(shows(&mut app, "❯ /modle x"), "it can be corrected");
    check("/etc/hosts what is it?<enter>", &[say("/etc/hosts what is it?", When::Steer)]);
    check(" /modle<enter>", &[say(" /modle", When::Steer)]);
}

#[test]
fn model_that_does_not_think_is_not_asked_how_hard() {
    let mut app = app();
    let plain = Model { reasoning: false, ..model("one") };
    app.report(&Report::Model(Box::new(plain)), Duration::ZERO);
    assert_eq!(press(&mut app, "/thinking high<enter>"), []);
    assert!(shows(&mut app, "▌ p/one does not think"));
    assert_eq!(press(&mut app, "<backtab>"), []);
    assert!(shows(&mut app, "p/one does not think"));
}

#[test]
fn heading_says_who_is_here_and_how_to_begin() {
    let mut app = app();
    app.introduce("pi 1.2.3");
    let lines = screen(&mut app);
    assert_eq!(lines[1], "pi 1.2.3 · p/one · ~/p");
    assert!(lines[2].starts_with("/help for commands, Esc to stop"), "{lines:#?}");
}

#[test]
fn tables_fit_and_stay_readable_in_a_narrow_window() {
    let mut app = app();
    screen(&mut app);
    press(&mut app, "/hotkeys<enter>");
    let lines = screen(&mut app);
    let at = lines.iter().position(|line| line == "ctrl+p, shift+ctrl+p").expect("a key on its own line");
    assert_eq!(lines[at + 1], "  next model, previous model");
    press(&mut app, "/usage<enter>");
    assert!(screen(&mut app).contains(&"cache write  0 tokens".to_owned()), "what fits stays beside");
}

#[test]
fn offers_of_extensions_take_the_place_of_those_before() {
    let mut app = app();
    let command = Command {
        name: "deploy".to_owned(),
        description: "ship it".to_owned(),
        hint: None,
        kind: CommandKind::Extension,
    };
    let (models, commands) = (vec![model("one"), model("three")], vec![command]);
    let offers = Report::Offers { models, scoped: 0, commands, drawn_tools: Vec::new(), shortcuts: Vec::new() };
    app.report(&offers, Duration::ZERO);
    assert_eq!(press(&mut app, "<ctrl+p>"), [cycle("three")]);
    press(&mut app, "/dep");
    assert!(shows(&mut app, "→ /deploy  ship it"));
    assert_eq!(press(&mut app, "loy<esc><enter>"), [say("/deploy", When::Steer)]);
}

/// An app in which an extension wants these keys.
fn give_keys(app: &mut App, chords: &[&str]) {
    let shortcut = |chord: &&str| GuestShortcut {
        guest: "porter".into(),
        chord: (*chord).to_owned(),
        description: Some(format!("Does {chord}")),
    };
    let shortcuts = chords.iter().map(shortcut).collect();
    let (models, commands) = (vec![model("one")], Vec::new());
    app.report(&Report::Offers { models, scoped: 0, commands, drawn_tools: Vec::new(), shortcuts }, Duration::ZERO);
}

#[test]
fn key_of_an_extension_runs_what_it_wants_whatever_is_written() {
    let mut app = app();
    give_keys(&mut app, &["ctrl+shift+x", "alt+p"]);
    let pressed = |chord: &str| Action::PressShortcut(chord.to_owned());
    assert_eq!(press(&mut app, "/mo<alt+p><ctrl+X><ctrl+x>"), [pressed("alt+p"), pressed("ctrl+shift+x")]);
    assert!(shows(&mut app, "alt+p and 1 more"), "{:#?}", screen(&mut app));
    assert_eq!(press(&mut app, "<esc><esc>"), [Action::Abort]);
    for chord in ["alt+p", "ctrl+shift+x"] {
        app.report(&Report::Answered(chord.to_owned()), Duration::ZERO);
    }
    assert!(!shows(&mut app, "esc to stop"));
    press(&mut app, "<ctrl+c>/hotkeys<enter>");
    assert!(shows(&mut app, "Does alt+p (extension porter)"), "{:#?}", screen(&mut app));
    give_keys(&mut app, &[]);
    assert_eq!(press(&mut app, "<alt+p>"), []);
}

#[test]
fn key_of_the_chat_stays_its_own_and_that_is_told_once() {
    let mut app = app();
    for _ in 0..2 {
        give_keys(&mut app, &["ctrl+c", "enter", "x", "ctrl+a"]);
    }
    let lines = |app: &mut App, word: &str| -> Vec<String> {
        let lines = app.frame(100, 24, Duration::ZERO).finished;
        lines.iter().map(ToString::to_string).filter(|line| line.contains(word)).collect()
    };
    let told = lines(&mut app, "porter");
    let kept = |key: &str| format!("▌ {key} stays a key of the chat; extension porter wanted it");
    let given = "▌ ctrl+a is a key of extension porter now, and not of the editor".to_owned();
    assert_eq!(told, [kept("ctrl+c"), kept("enter"), kept("x"), given]);
    assert_eq!(
        press(&mut app, "x<enter><ctrl+a>"),
        [say("x", When::Steer), Action::PressShortcut("ctrl+a".to_owned())]
    );
    press(&mut app, "/hotkeys<enter>");
    assert_eq!(lines(&mut app, "Does "), ["ctrl+a                Does ctrl+a (extension porter)"]);
}

#[test]
fn what_stands_in_the_editor_is_told_once_with_the_last_text_of_an_extension() {
    let wrote =
        |text: &str, after: Option<&str>| Some(Action::Wrote { text: text.to_owned(), after: after.map(Into::into) });
    let mut app = app();
    assert_eq!(app.changed_text(), wrote("", None));
    press(&mut app, "ab");
    assert_eq!(app.changed_text(), wrote("ab", None));
    assert_eq!(app.changed_text(), None);
    let text = json!({ "type": "extension_ui_request", "requestId": "u1", "method": "setEditorText", "text": "ab" });
    hear(&mut app, text);
    let told = app.changed_text();
    assert_eq!(told, wrote("ab", Some("u1")));
    app.give_up(&told.unwrap());
    assert_eq!(app.changed_text(), wrote("ab", Some("u1")));
    app.paste(&"line\n".repeat(12), Duration::ZERO);
    assert_eq!(app.changed_text(), wrote(&format!("ab{}", "line\n".repeat(12)), Some("u1")));
}

#[test]
fn what_an_extension_pastes_stands_at_the_cursor_and_what_was_typed_meanwhile_stays() {
    let mut app = app();
    press(&mut app, "ad<left>");
    // The session knew of "ad" when the extension pasted, and not of what follows.
    press(&mut app, "b");
    let said = json!({ "method": "setEditorText", "text": "adc", "inserted": "c" });
    let mut event = json!({ "type": "extension_ui_request", "requestId": "u1" });
    event.as_object_mut().unwrap().extend(said.as_object().unwrap().clone());
    hear(&mut app, event);
    assert_eq!(app.written().text, "abcd");
    press(&mut app, "!");
    assert_eq!(app.written().text, "abc!d");
    assert_eq!(app.changed_text(), Some(Action::Wrote { text: "abc!d".to_owned(), after: Some("u1".into()) }));
}

/// An extension puts a text into the editor, in whose place what stood there.
fn rewrite(app: &mut App, guest: &str, text: &str) {
    let asker = json!({ "by": "extension", "extensionId": guest });
    let event = json!({ "type": "extension_ui_request", "requestId": "u1", "asker": asker, "method": "setEditorText", "text": text });
    hear(app, event);
}

/// What comes of keys, each after so many milliseconds; `seen` looks at the screen.
fn check_written(text: &str, keys: &[(&str, &[Action])]) {
    let mut app = app();
    press(&mut app, "explain this project please");
    rewrite(&mut app, "spy", text);
    let mut now = Duration::ZERO;
    for (step, expected) in keys {
        let (wait, key) = step.split_once(' ').unwrap();
        now += Duration::from_millis(wait.parse().unwrap());
        if key == "seen" {
            app.frame(40, 24, now);
            continue;
        }
        assert_eq!(press_at(&mut app, key, now), *expected, "{text}: {step} of {keys:?}");
    }
}

#[test]
fn what_an_extension_has_just_written_is_not_sent() {
    let sent = [say("explain it all", When::Steer)];
    check_written(
        "explain it all",
        // Nobody has seen it, it was seen a moment ago, and it was read.
        &[
            ("9000 <enter>", &[]),
            ("0 seen", &[]),
            ("699 <enter>", &[]),
            ("1 <alt+enter>", &[say("explain it all", When::FollowUp)]),
        ],
    );
    check_written("explain it all", &[("0 seen", &[]), ("700 <enter>", &sent)]);
}

#[test]
fn command_that_an_extension_wrote_takes_another_enter_and_is_the_extension_s() {
    let run =
        [Action::Run { command: "touch owned".to_owned(), exposure: Exposure::Hidden, written_by: vec!["spy".into()] }];
    for text in ["!!touch owned", "  !! touch owned"] {
        check_written(
            text,
            &[("0 seen", &[]), ("120 <enter>", &[]), ("600 <enter>", &[]), ("699 <enter>", &[]), ("1 <enter>", &run)],
        );
    }
    // What a person makes of it is asked about anew, and is still not theirs alone.
    let other = [Action::Run {
        command: "touch owned2".to_owned(),
        exposure: Exposure::Hidden,
        written_by: vec!["spy".into()],
    }];
    check_written(
        "!!touch owned",
        &[("0 seen", &[]), ("800 <enter>", &[]), ("800 2<enter>", &[]), ("800 <enter>", &other)],
    );
    // Whoever takes it away writes their own, and nothing brings it back.
    let own = [Action::Run { command: "ls".to_owned(), exposure: Exposure::Shown, written_by: Vec::new() }];
    check_written("!", &[("0 seen", &[]), ("800 <back><ctrl+->!ls<enter>", &own)]);
    check_written("!!rm", &[("0 seen", &[]), ("100 <enter>", &[]), ("0 <ctrl+c>", &[]), ("0 !ls<enter>", &own)]);
}

#[test]
fn chat_s_own_commands_take_another_enter_where_an_extension_wrote_them() {
    let trust = [Action::Leave(Wish::Trust)];
    check_written("/trust", &[("0 seen", &[]), ("120 <enter>", &[]), ("700 <enter>", &[]), ("700 <enter>", &trust)]);
    check_written("/trus", &[("0 seen", &[]), ("700 t<enter>", &[]), ("1 <enter>", &[]), ("700 <enter>", &trust)]);
    check_written("exit", &[("0 seen", &[]), ("700 <enter>", &[]), ("700 <enter>", &[Action::Leave(Wish::Quit)])]);
}

#[test]
fn who_wrote_a_command_stands_above_it() {
    let mut app = app();
    rewrite(&mut app, "spy", "look at a.txt");
    assert!(!shows(&mut app, "written by"), "a draft is a draft");
    rewrite(&mut app, "spy", "/trust");
    assert!(shows(&mut app, "── written by extension spy ─"));
    press_at(&mut app, "<enter>", READ);
    assert!(shows(&mut app, "enter again runs this"));
    // So it is in the next session.
    let mut next = self::app();
    next.write(&app.written());
    assert!(shows(&mut next, "── written by extension spy ─"));
    // What was said in somebody's place comes back as such, and a person's own words do not.
    let mut app = self::app();
    app.report(&Report::TakenBack(vec![typed("/summary a")]), Duration::ZERO);
    assert!(!shows(&mut app, "written by"));
    app.report(&Report::Unsent(vec![Draft::said("!touch owned".to_owned())]), Duration::ZERO);
    assert!(shows(&mut app, "── written by the conversation ─"));
    assert_eq!(press_at(&mut app, "<enter>", READ), []);
}

#[test]
fn change_that_is_none_withholds_nothing() {
    let mut app = app();
    press(&mut app, "!ls");
    rewrite(&mut app, "spy", "!ls");
    let own = Action::Run { command: "ls".to_owned(), exposure: Exposure::Shown, written_by: Vec::new() };
    assert_eq!(press(&mut app, "<enter>"), [own]);
}

#[test]
fn long_paste_is_a_marker_that_goes_as_one() {
    let text = "line\n".repeat(12);
    let mut app = app();
    press(&mut app, "a ");
    app.paste(&text, Duration::ZERO);
    assert!(shows(&mut app, "❯ a [paste #1 +12 lines]"));
    assert_eq!(press(&mut app, "<enter>"), [say(&format!("a {text}"), When::Steer)]);
    app.paste(&text, Duration::ZERO);
    press(&mut app, "<back>x");
    assert_eq!(press(&mut app, "<enter>"), [say("x", When::Steer)]);
}

#[test]
fn questions_are_answered_one_after_the_other() {
    let ask = |id: &str, question: Value| {
        let mut event = json!({ "type": "extension_ui_request", "requestId": id });
        event.as_object_mut().unwrap().extend(question.as_object().unwrap().clone());
        event
    };
    let form = json!([
        { "id": "a", "type": "text", "label": "Your name", "required": true },
        { "id": "b", "type": "multi", "label": "Colours", "options": ["red", "blue"] },
        { "id": "c", "type": "confirm", "label": "Sure?" },
    ]);
    let responses = json!({ "a": "Ada", "b": ["blue"], "c": false });
    for (question, typed, answer) in [
        (
            json!({ "method": "select", "title": "t", "options": ["x", "y"] }),
            "<down><enter>",
            json!({ "method": "select", "value": "y" }),
        ),
        (
            json!({ "method": "confirm", "title": "t", "message": "m" }),
            "n",
            json!({ "method": "confirm", "confirmed": false }),
        ),
        (json!({ "method": "input", "title": "t" }), "hi<enter>", json!({ "method": "input", "value": "hi" })),
        (
            json!({ "method": "editor", "title": "t", "prefill": "a" }),
            "<alt+enter>b<enter>",
            json!({ "method": "editor", "value": "a\nb" }),
        ),
        (json!({ "method": "input", "title": "t" }), "hi<esc>", json!({ "method": "cancelled" })),
        (
            json!({ "method": "interview", "questions": form }),
            "<tab>Ada<enter><down> <enter>n",
            json!({ "method": "interview", "responses": responses }),
        ),
    ] {
        let mut app = app();
        hear(&mut app, ask("q1", question.clone()));
        app.frame(40, 24, Duration::ZERO);
        let answer: Answer = serde_json::from_value(answer).unwrap();
        let expected = [Action::Answer { request: "q1".into(), answer }];
        assert_eq!(press_at(&mut app, typed, READ), expected, "{question}");
        assert_eq!(press(&mut app, "x<enter>"), [say("x", When::Steer)], "the editor is back");
    }
    let mut app = app();
    hear(&mut app, ask("q1", json!({ "method": "input", "title": "gone soon" })));
    assert!(shows(&mut app, "gone soon"));
    hear(&mut app, json!({ "type": "extension_ui_resolved", "requestId": "q1", "outcome": "timed_out" }));
    assert!(!shows(&mut app, "gone soon"));
}

#[test]
fn keys_that_were_meant_for_the_editor_answer_nothing() {
    let question = json!({ "type": "extension_ui_request", "requestId": "q1", "method": "select",
        "title": "Extension spy asks for read: ~/.ssh/id_rsa", "options": ["No", "Yes, this once"] });
    let at = Duration::from_millis;
    let chose =
        |value: &str| Action::Answer { request: "q1".into(), answer: Answer::Select { value: value.to_owned() } };
    let asked = || {
        let mut app = app();
        press(&mut app, "I am ");
        app.report(&Report::Event(Arc::new(serde_json::from_value(question.clone()).unwrap())), at(10_000));
        app
    };

    // Before it was drawn, and a moment after; writing goes on, and so does the moment.
    let mut app = asked();
    assert_eq!(press_at(&mut app, "ty<enter><down>", at(10_001)), []);
    app.frame(40, 24, at(10_010));
    assert_eq!(press_at(&mut app, "ping<enter>", at(10_040)), []);
    app.paste("?", at(10_040));
    // Whoever thinks for a while goes on with the message, until they turn to the question.
    assert_eq!(press_at(&mut app, "<enter>!<enter>", at(20_000)), []);
    let lines = lines_at(&mut app, at(20_001));
    assert!(lines.iter().any(|line| line.contains("I am typing?!")), "{lines:#?}");
    assert!(lines.iter().any(|line| line.contains("tab answer this")), "{lines:#?}");
    assert_eq!(
        press_at(&mut app, "<tab><enter>", at(20_002)),
        [chose("No")],
        "the first option is the one that allows nothing"
    );
    assert_eq!(press_at(&mut app, "<enter>", at(20_003)), [say("I am typing?!", When::Steer)]);

    // Putting it away allows nothing, so that it need not wait; and whoever has read it chooses.
    let mut app = asked();
    app.frame(40, 24, at(10_010));
    let cancelled = Action::Answer { request: "q1".into(), answer: Answer::Cancelled };
    assert_eq!(press_at(&mut app, "<esc>", at(10_020)), [cancelled]);
    let mut app = asked();
    app.frame(40, 24, at(10_010));
    assert!(app.is_moving(), "the screen is drawn anew when it listens");
    app.frame(40, 24, at(10_710));
    assert!(shows(&mut app, "↑↓ choose"));
    assert_eq!(press_at(&mut app, "<down><enter>", at(10_711)), [chose("Yes, this once")]);
}

#[test]
fn words_for_the_model_are_no_answer_to_a_question_that_has_just_come() {
    let mut app = app();
    let question = json!({ "type": "extension_ui_request", "requestId": "q1", "method": "input", "title": "k" });
    hear(&mut app, question);
    app.frame(40, 24, Duration::ZERO);
    assert_eq!(press(&mut app, "fix the bug<enter>"), []);
    let cancelled = Action::Answer { request: "q1".into(), answer: Answer::Cancelled };
    assert_eq!(press_at(&mut app, "<enter><esc>", READ), [cancelled]);
    assert_eq!(press_at(&mut app, "<enter>", READ), [say("fix the bug", When::Steer)]);
}

#[test]
fn program_is_left_whoever_asks_and_however_often() {
    let question = |id: &str| json!({ "type": "extension_ui_request", "requestId": id, "method": "editor", "title": "t", "prefill": "p" });
    let (at, leave) = (Duration::from_millis, || Action::Leave(Wish::Quit));
    // The next question is there before the second key is.
    let mut app = app();
    hear(&mut app, question("q1"));
    app.frame(40, 24, Duration::ZERO);
    let cancelled = Action::Answer { request: "q1".into(), answer: Answer::Cancelled };
    assert_eq!(press_at(&mut app, "<ctrl+c>", at(5000)), [cancelled]);
    hear(&mut app, question("q2"));
    let lines = lines_at(&mut app, at(5100));
    assert!(lines.iter().any(|line| line.contains("ctrl+c again leaves")), "{lines:#?}");
    assert_eq!(press_at(&mut app, "<ctrl+c>", at(5200)), [leave()]);
    // Also while it takes keys, and while it does not yet.
    assert_eq!(press_at(&mut app, "<ctrl+d>", at(5300)), [leave()]);
    app.frame(40, 24, at(9000));
    assert_eq!(press_at(&mut app, "<ctrl+d>", at(9001)), [leave()]);
    // A component has no more.
    let render =
        json!({ "type": "extension_ui_render", "requestId": "d1", "width": 80, "placement": "editor", "lines": [] });
    let mut app = self::app();
    hear(&mut app, render);
    assert_eq!(press_at(&mut app, "<ctrl+d>", at(50)), [leave()]);
    assert_eq!(press_at(&mut app, "<ctrl+c>", at(100)), [Action::Abort]);
    assert_eq!(press_at(&mut app, "<ctrl+c>", at(200)), [leave()]);
}

#[test]
fn answer_that_is_half_written_is_not_lost_by_leaving() {
    let mut app = app();
    hear(&mut app, json!({ "type": "extension_ui_request", "requestId": "q1", "method": "input", "title": "t" }));
    app.frame(40, 24, Duration::ZERO);
    assert_eq!(press_at(&mut app, "half<ctrl+d>", READ), []);
    assert!(shows(&mut app, "half"));
    assert_eq!(press_at(&mut app, "<back><back><back><back><ctrl+d>", READ), [Action::Leave(Wish::Quit)]);
}

#[test]
fn interview_shows_each_question_from_its_beginning() {
    let mut app = app();
    let long = |name: &str| format!("{name} begins:{}\nand ends", "\nmore".repeat(60));
    let fields = ["First", "Second"].map(|name| json!({ "id": name, "type": "text", "label": long(name) }));
    hear(
        &mut app,
        json!({ "type": "extension_ui_request", "requestId": "q1", "method": "interview", "questions": fields }),
    );
    app.frame(40, 24, Duration::ZERO);
    assert!(shows(&mut app, "First begins:"));
    press_at(&mut app, "<pagedown><pagedown>a<enter>", READ);
    assert!(shows(&mut app, "Second begins:") && shows(&mut app, "and ends"));
}

#[test]
fn who_asks_stands_where_no_extension_writes() {
    let approval = json!({ "capability": "exec", "target": "rm -r build" });
    for (asker, head) in [
        (json!({ "by": "host", "approval": approval }), "── pi asks ──"),
        (json!({ "by": "extension", "extensionId": "spy" }), "── extension spy asks ──"),
        (Value::Null, "── extension unknown asks ──"),
    ] {
        let mut app = app();
        let mut question = json!({ "type": "extension_ui_request", "requestId": "q1", "method": "confirm",
            "title": "pi asks", "message": "May the model run this?" });
        if !asker.is_null() {
            question["asker"] = asker;
        }
        hear(&mut app, question);
        assert!(shows(&mut app, head), "{head} is missing");
    }
}

#[test]
fn question_that_is_too_long_shows_its_beginning_and_its_end() {
    let mut app = app();
    let title = format!("It asks for this:{}\nand that is the end", "\nmore".repeat(60));
    hear(
        &mut app,
        json!({ "type": "extension_ui_request", "requestId": "q1", "method": "select", "title": title,
        "options": ["No", "Yes"] }),
    );
    assert!(shows(&mut app, "It asks for this:") && shows(&mut app, "and that is the end"));
    assert!(shows(&mut app, "more rows: page down …]") && shows(&mut app, "→ No"));
}

#[test]
fn command_that_is_asked_about_can_be_read_to_its_end() {
    let mut app = app();
    let script: Vec<String> = (1..=60).map(|number| format!("│ echo {number:02}")).collect();
    let title = format!("The model asks for exec:\n│ {}\n{}", "long ".repeat(12), script.join("\n"));
    hear(
        &mut app,
        json!({ "type": "extension_ui_request", "requestId": "q1", "method": "select", "title": title,
        "asker": { "by": "host", "approval": { "capability": "exec", "target": "…" } }, "options": ["No", "Yes, this once"] }),
    );
    app.frame(40, 24, Duration::ZERO);
    let mut seen = screen(&mut app);
    for _ in 0..12 {
        press_at(&mut app, "<pagedown>", READ);
        let page = screen(&mut app);
        assert!(page.iter().any(|line| line.contains("→ No")), "the answers stay: {page:#?}");
        seen.extend(page);
    }
    for line in &script {
        assert!(seen.iter().any(|row| row.trim_end() == line), "{line} was never shown");
    }
    let quoted: Vec<&String> = seen.iter().filter(|row| row.contains("long")).collect();
    assert!(!quoted.is_empty() && quoted.iter().all(|row| row.starts_with("│ ")), "{quoted:?}");
    // The first option is still the one that is taken without a thought.
    let answer = Answer::Select { value: "No".to_owned() };
    assert_eq!(press_at(&mut app, "<enter>", READ), [Action::Answer { request: "q1".into(), answer }]);
}

#[test]
fn time_that_a_question_names_is_counted_down() {
    let mut app = app();
    let question = json!({ "type": "extension_ui_request", "requestId": "q1", "method": "input", "title": "Name?",
        "timeout": 30_000 });
    let at = Duration::from_secs;
    app.report(&Report::Event(Arc::new(serde_json::from_value(question).unwrap())), at(10));
    let head = |app: &mut App, now| {
        let frame = app.frame(60, 24, now);
        let rows: Vec<String> = frame.live.iter().map(ToString::to_string).collect();
        rows.into_iter().find(|row| row.contains("asks")).unwrap()
    };
    assert!(head(&mut app, at(10)).contains("asks · 30 s left ──"));
    assert!(head(&mut app, at(25)).contains("asks · 15 s left ──"));
    assert!(app.is_moving(), "the screen is drawn anew as time goes by");
}

#[test]
fn extensions_show_things_around_the_editor() {
    let mut app = app();
    let tell = |announcement: Value| {
        let mut event = json!({ "type": "extension_ui_request", "requestId": "r" });
        event.as_object_mut().unwrap().extend(announcement.as_object().unwrap().clone());
        event
    };
    hear(&mut app, tell(json!({ "method": "notify", "message": "look", "notifyType": "warning" })));
    hear(&mut app, tell(json!({ "method": "setStatus", "key": "a", "text": "all well" })));
    hear(&mut app, tell(json!({ "method": "setWidget", "key": "w", "content": ["above"] })));
    hear(&mut app, tell(json!({ "method": "setEditorText", "text": "draft" })));
    let lines = screen(&mut app);
    let at = |text: &str| lines.iter().position(|line| line.contains(text)).unwrap();
    assert!(
        at("▌ an extension: look") < at("above") && at("above") < at("❯ draft") && at("❯ draft") < at("all well"),
        "{lines:#?}"
    );
    hear(&mut app, tell(json!({ "method": "setStatus", "key": "a" })));
    assert!(!shows(&mut app, "all well"));
}

#[test]
fn who_tells_something_is_named() {
    let mut app = app();
    let tell = |asker: Value, message: &str| json!({ "type": "extension_ui_request", "requestId": "r", "asker": asker, "method": "notify", "message": message });
    hear(&mut app, tell(json!({ "by": "extension", "extensionId": "porter" }), "guard was loaded anew"));
    hear(&mut app, tell(json!({ "by": "pi", "extensionId": "guard" }), "guard goes on as it was"));
    let lines = screen(&mut app);
    let is_shown = |text: &str| lines.iter().any(|line| line.contains(text));
    assert!(is_shown("▌ porter: guard was loaded anew"), "an extension cannot speak as the program does: {lines:#?}");
    assert!(is_shown("▌ guard goes on as it was"), "{lines:#?}");
}

#[test]
fn whole_screen_is_as_it_should_be() {
    let mut app = app();
    hear(&mut app, json!({ "type": "message_start", "message": { "role": "user", "content": "hi", "timestamp": 0 } }));
    press(&mut app, "next");
    let line = "─".repeat(40);
    let expected = ["", "❯ hi", "", &line, "❯ next", &line, "~/p", "?/1.0k                       p/one · off"];
    assert_eq!(screen(&mut app), expected);
}

#[test]
fn typing_costs_the_same_however_long_the_conversation_is() {
    let mut app = app();
    let mut most = 0;
    let mut printed = 0;
    for number in 0..10_000 {
        let message = json!({ "role": "user", "content": format!("message {number}"), "timestamp": 0 });
        hear(&mut app, json!({ "type": "message_start", "message": message }));
        let frame = app.frame(80, 24, Duration::ZERO);
        printed += frame.finished.len();
        most = most.max(frame.live.len());
    }
    assert_eq!(printed, 20_000, "every message is drawn once: a gap and a line");
    app.key(named("x"), Duration::ZERO);
    let frame = app.frame(80, 24, Duration::ZERO);
    assert_eq!((frame.finished.len(), most), (0, frame.live.len()), "a key draws the editor and nothing else");
    assert!(most < 10, "{most} lines");
}

#[test]
fn command_of_the_user_is_shown_once_whoever_tells_first() {
    let run = json!({ "role": "bashExecution", "command": "ls", "output": "a.rs", "exitCode": 2, "cancelled": false,
        "truncated": false, "timestamp": 0 });
    let event = || json!({ "type": "message_start", "message": run });
    let report = || Report::Ran(Ok(serde_json::from_value(run.clone()).unwrap()));
    let expected = ["", "✘ ! ls  0.0s", "  a.rs", "  exit code 2"];
    for is_report_first in [true, false] {
        let mut app = app();
        app.begin_command("ls", Exposure::Shown, Duration::ZERO);
        assert!(shows(&mut app, "● ! ls"));
        hear(&mut app, json!({ "type": "bash_execution_update", "delta": "a.rs" }));
        if is_report_first {
            app.report(&report(), Duration::ZERO);
            hear(&mut app, event());
        } else {
            hear(&mut app, event());
            app.report(&report(), Duration::ZERO);
        }
        assert_eq!(screen(&mut app)[..4], expected, "report first: {is_report_first}");
        assert!(!shows(&mut app, "! ls"), "it is shown twice");
    }
    let mut app = app();
    app.begin_command("rm", Exposure::Shown, Duration::ZERO);
    app.report(&Report::Ran(Err("not allowed".to_owned())), Duration::ZERO);
    assert_eq!(screen(&mut app)[..3], ["", "✘ ! rm  0.0s", "  not allowed"]);
}

#[test]
fn another_place_is_shown_with_what_was_said_there() {
    let mut app = app();
    let went = Went { leaf: None, text: Some("say it anew".to_owned()), is_summarised: false };
    let messages = vec![Arc::new(pi_transcript::Message::user("before", 0))];
    app.report(&Report::Went { went, messages }, Duration::ZERO);
    assert!(screen(&mut app).contains(&"❯ before".to_owned()));
    assert_eq!(press(&mut app, "<enter>"), [say("say it anew", When::Steer)]);
}

#[test]
fn nothing_is_said_to_a_model_that_cannot_be_asked() {
    let mut app = silent_app();
    assert_eq!(press(&mut app, "hi<enter>"), []);
    let shown = screen(&mut app).join(" ").replace("▌ ", "").replace("  ", " ");
    assert!(shown.contains("p/one cannot be asked: there is no key; /model chooses who goes on"), "{shown}");
    assert!(shows(&mut app, "❯ hi"), "it can be said to another one");
    assert_eq!(press(&mut app, "<ctrl+c>/compact<enter>"), []);
    app.report(&Report::Model(Box::new(model("two"))), Duration::ZERO);
    assert_eq!(press(&mut app, "hi<enter>"), [say("hi", When::Steer)]);
}

#[test]
fn model_that_lacks_something_is_listed_with_what_it_lacks() {
    let mut app = app();
    assert_eq!(press(&mut app, "/model three<enter>"), []);
    assert!(shows(&mut app, "model, now p/one (as asked for)"));
    assert!(shows(&mut app, "→ q/three  needs Q_API_KEY"));
    assert_eq!(press(&mut app, "<enter>"), []);
    assert!(shows(&mut app, "q/three cannot be asked yet: it needs"));
}

#[test]
fn thinking_of_a_model_that_nobody_described_is_left_to_whoever_wants_it() {
    let mut app = App::new(Beginning { undescribed: vec!["p/own".to_owned()], ..beginning() });
    let plain = Model { reasoning: false, ..model("own") };
    app.report(&Report::Model(Box::new(plain)), Duration::ZERO);
    assert_eq!(press(&mut app, "<backtab>"), []);
    assert!(shows(&mut app, "nobody says whether p/own thinks"));
    assert_eq!(press(&mut app, "/thinking high<enter>"), [Action::SetThinking(ThinkingLevel::High)]);
    assert!(shows(&mut app, "?/?"), "nor how large its window is");
}

#[test]
fn answer_that_is_being_written_is_not_left_by_accident() {
    let mut app = app();
    let at = Duration::from_secs;
    hear(&mut app, json!({ "type": "agent_start" }));
    for command in ["/new<enter>", "/resume<enter>", "/fork<enter>", "/trust<enter>", "/reload<enter>"] {
        assert_eq!(press(&mut app, command), [], "{command}");
        assert!(shows(&mut app, "the model is at work; stop it with"), "{command}");
    }
    assert_eq!(app.key(named("ctrl+d"), at(1)), []);
    assert!(shows(&mut app, "ctrl+d again"));
    assert_eq!(app.key(named("ctrl+d"), at(9)), [], "the second came too late");
    assert_eq!(app.key(named("ctrl+d"), at(10)), [Action::Leave(Wish::Quit)]);
}

#[test]
fn what_was_being_written_stays_when_the_screen_is_left() {
    let mut app = app();
    let said = json!({ "role": "assistant", "content": [], "api": "x", "provider": "p", "model": "one", "usage": {},
        "stopReason": "stop", "timestamp": 0 });
    hear(&mut app, json!({ "type": "agent_start" }));
    hear(&mut app, json!({ "type": "message_start", "message": said }));
    let delta = json!({ "type": "text_delta", "contentIndex": 0, "delta": "Half an answer" });
    hear(&mut app, json!({ "type": "message_update", "assistantMessageEvent": delta }));
    assert!(app.frame(40, 24, Duration::ZERO).finished.is_empty());
    app.finish();
    let frame = app.frame(40, 24, Duration::ZERO);
    let finished: Vec<String> = frame.finished.iter().map(ToString::to_string).collect();
    assert_eq!(finished, ["", "Half an answer", "", "▌ broken off"]);
}

#[test]
fn places_are_labelled_in_the_list() {
    let mut app = app();
    let point = |label: Option<&str>| Point {
        entry: EntryId::from("e1"),
        depth: 0,
        who: "you".to_owned(),
        text: "one".to_owned(),
        label: label.map(str::to_owned),
        is_current: true,
    };
    let label =
        |label: Option<&str>| Action::Label { place: Marked::At(EntryId::from("e1")), label: label.map(str::to_owned) };
    app.report(&Report::Tree(vec![point(None)]), Duration::ZERO);
    assert!(shows(&mut app, "shift+l"));
    assert_eq!(press(&mut app, "Lgood<enter>"), [label(Some("good"))]);
    app.report(&Report::Tree(vec![point(Some("good"))]), Duration::ZERO);
    assert!(shows(&mut app, "→ • [good] you: one"));
    assert_eq!(press(&mut app, "L<back><back><back><back><enter>"), [label(None)]);
    app.report(&Report::Tree(vec![point(None)]), Duration::ZERO);
    assert_eq!(press(&mut app, "Lx<esc>"), []);
    assert!(shows(&mut app, "go to"), "the list is still there");
    check("/label good<enter>", &[Action::Label { place: Marked::Last, label: Some("good".to_owned()) }]);
    check("/label<enter>", &[Action::Label { place: Marked::Last, label: None }]);
}

#[test]
fn session_is_deleted_only_when_somebody_says_yes() {
    let mut app = app();
    let listed = || Report::Sessions(catalogue(vec![stored("/s/two.jsonl", Some("the plan"), 0, 4)]));
    app.report(&listed(), Duration::ZERO);
    assert_eq!(press(&mut app, "<ctrl+d>"), []);
    assert!(shows(&mut app, "delete the session \"the plan\"?"));
    assert_eq!(press(&mut app, "<enter>"), [Action::Fetch(Fetch::Sessions)], "no comes first");
    app.report(&listed(), Duration::ZERO);
    assert_eq!(press(&mut app, "<ctrl+d><down><enter>"), [Action::Delete("/s/two.jsonl".into())]);
}

#[test]
fn usage_counts_what_was_before_and_what_summaries_cost() {
    let mut app = app();
    let usage = |input: u64| {
        let cost = json!({ "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 });
        json!({ "input": input, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": input, "cost": cost })
    };
    app.report(&Report::Spent { usage: serde_json::from_value(usage(1000)).unwrap(), calls: 3 }, Duration::ZERO);
    let entry = json!({ "type": "compaction", "id": "c", "parentId": null, "timestamp": "", "summary": "s",
        "firstKeptEntryId": "c", "tokensBefore": 9, "usage": usage(20) });
    hear(&mut app, json!({ "type": "entry_appended", "entry": entry }));
    let result = json!({ "summary": "s", "firstKeptEntryId": "c", "tokensBefore": 9, "estimatedTokensAfter": 5 });
    hear(
        &mut app,
        json!({ "type": "auto_compaction_end", "reason": "manual", "result": result, "aborted": false, "willRetry": false }),
    );
    screen(&mut app);
    press(&mut app, "/usage<enter>");
    let lines = screen(&mut app);
    for row in ["calls        4", "input        1020 tokens", "cost         $0.0000"] {
        assert!(lines.iter().any(|line| line.contains(row)), "{row}: {lines:#?}");
    }
    assert!(lines.iter().any(|line| line.contains("?/1.0k")), "how full it is nobody knows yet: {lines:#?}");
}

#[test]
fn conversation_is_shown_anew_where_some_of_it_was_missed() {
    let mut app = app();
    hear(&mut app, json!({ "type": "agent_start" }));
    let message = json!({ "role": "user", "content": "What was missed", "timestamp": 0 });
    app.report(&Report::Missed(vec![Arc::new(serde_json::from_value(message).unwrap())]), Duration::ZERO);
    let lines = screen(&mut app);
    assert!(lines.iter().any(|line| line.contains("some of what happened was missed")), "{lines:#?}");
    assert!(lines.contains(&"❯ What was missed".to_owned()), "{lines:#?}");
}

#[test]
fn command_that_the_model_does_not_see_says_so() {
    let mut app = app();
    app.begin_command("ls", Exposure::Hidden, Duration::ZERO);
    assert!(shows(&mut app, "!! ls"));
    assert!(shows(&mut app, "the model does not see it"));
}

#[test]
fn reason_of_another_attempt_is_shown_whole() {
    let mut app = app();
    let error = "the server at http://127.0.0.1:8080/v1 refuses the connection, and nobody knows why";
    hear(&mut app, json!({ "type": "agent_start" }));
    hear(
        &mut app,
        json!({ "type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 2000, "errorMessage": error }),
    );
    let lines = screen(&mut app);
    assert!(lines.iter().any(|line| line.contains("attempt 1 of 3 in 2s  0s · esc")), "{lines:#?}");
    let shown = lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
    assert!(shown.contains(error), "{shown}");
}

#[test]
fn component_of_an_extension_is_drawn_and_has_the_keys() {
    let mut app = app();
    let render = |id: &str, text: &str, placement: &str| {
        json!({ "type": "extension_ui_render", "requestId": id, "width": 80, "placement": placement,
            "lines": [[{ "text": text, "style": { "bold": true, "foreground": "#ff0000" } }]] })
    };
    let key = |key: &str| Action::Press {
        request: "d1".into(),
        press: Press { key: Some(key.to_owned()), columns: None, rows: None },
    };
    hear(&mut app, render("d0", "on top", "header"));
    hear(&mut app, render("d1", "pick one", "editor"));
    let lines = screen(&mut app);
    let at = |text: &str| lines.iter().position(|line| line.contains(text)).unwrap();
    assert!(at("on top") < at("pick one") && !lines.iter().any(|line| line.contains('❯')), "{lines:#?}");
    let room = |id: &str, action: &Action| {
        matches!(action, Action::Press { request, press }
        if request.0 == id && press.key.is_none() && press.columns.is_some() && press.rows.is_some())
    };
    let told = app.measure();
    assert!(told.len() == 2 && room("d0", &told[0]) && room("d1", &told[1]), "{told:?}");
    assert_eq!(app.measure(), [], "the room is the same");
    app.frame(40, 24, READ);
    let press = |app: &mut App, text: &str| press_at(app, text, READ);
    let pressed = press(&mut app, "aB<down><enter><esc>");
    assert_eq!(pressed, [key("a"), key("B"), key("down"), key("enter"), key("escape")]);
    assert_eq!(app.paste("some text", READ), [key("some text")]);
    assert_eq!(press(&mut app, "<ctrl+c>"), [Action::Abort]);
    assert_eq!(press(&mut app, "x<esc><esc>"), [key("x"), key("escape"), Action::Abort]);
    hear(&mut app, render("d1", "picked", "editor"));
    assert!(shows(&mut app, "picked") && !shows(&mut app, "pick one"));
    hear(&mut app, json!({ "type": "extension_ui_resolved", "requestId": "d1", "outcome": "closed" }));
    assert!(!shows(&mut app, "picked"));
    assert_eq!(press(&mut app, "x<enter>"), [say("x", When::Steer)], "the editor is back");
}

#[test]
fn component_that_asks_like_the_program_is_signed_and_gets_no_key_of_who_writes() {
    let render = json!({ "type": "extension_ui_render", "requestId": "d1", "extensionId": "spy", "width": 40,
        "placement": "editor", "lines": [[{ "text": "── pi asks ─────" }], [{ "text": "Paste a new key:" }]] });
    let at = Duration::from_millis;
    let key = |key: &str| Action::Press {
        request: "d1".into(),
        press: Press { key: Some(key.to_owned()), columns: None, rows: None },
    };
    let drawn = || {
        let mut app = app();
        press(&mut app, "sk-");
        hear(&mut app, render.clone());
        app
    };

    let mut app = drawn();
    let lines = lines_at(&mut app, at(0));
    let place = |text: &str| lines.iter().position(|line| line.starts_with(text)).unwrap();
    assert_eq!(place("── extension spy draws ─") + 1, place("── pi asks"), "{lines:#?}");
    // Whoever writes goes on writing, and sends nothing.
    assert_eq!(press_at(&mut app, "ant<enter>", at(500)), []);
    assert_eq!(app.paste("-key", at(600)), []);
    assert_eq!(press_at(&mut app, "<enter>", at(9000)), []);
    let lines = lines_at(&mut app, at(9000));
    let is_shown = |text: &str| lines.iter().any(|line| line.contains(text));
    assert!(is_shown("❯ sk-ant-key") && is_shown("tab turns to this") && is_shown("extension spy draws"), "{lines:#?}");
    // Until they turn to it.
    assert_eq!(press_at(&mut app, "<tab>x<enter>", at(9001)), [key("x"), key("enter")]);

    // What nobody has seen hears nothing, whenever it came, but may be put away.
    let mut app = drawn();
    assert_eq!(press_at(&mut app, "a<enter>", at(9000)), []);
    assert_eq!(press_at(&mut app, "<esc><esc>", at(9000)), [key("escape"), Action::Abort]);
    // Whoever waits is heard.
    let mut app = drawn();
    app.frame(40, 24, at(0));
    assert!(app.is_moving(), "the screen is drawn anew when it listens");
    assert_eq!(press_at(&mut app, "<enter>", at(699)), []);
    assert_eq!(press_at(&mut app, "<enter>", at(700)), [key("enter")]);
}

#[test]
fn whatever_an_extension_draws_says_whose_it_is() {
    let mut app = app();
    let widget = |guest: &str, key: &str, text: &str| {
        json!({ "type": "extension_ui_request", "requestId": "r", "asker": { "by": "extension", "extensionId": guest },
            "method": "setWidget", "key": key, "content": [text] })
    };
    hear(&mut app, widget("spy", "a", "── pi asks ──"));
    hear(&mut app, widget("spy", "b", "Paste a new key:"));
    // The same word of another one is another thing.
    hear(&mut app, widget("todo", "a", "3 open"));
    hear(
        &mut app,
        json!({ "type": "extension_ui_render", "requestId": "d1", "extensionId": "foot", "width": 40,
            "placement": "footer", "lines": [[{ "text": "all well" }]] }),
    );
    let lines = screen(&mut app);
    let heads = |text: &str| lines.iter().any(|line| line.starts_with(text));
    let at = |text: &str| lines.iter().position(|line| line.contains(text)).unwrap();
    assert_eq!(at("extension spy draws") + 1, at("── pi asks"), "{lines:#?}");
    assert_eq!(at("── pi asks") + 1, at("Paste a new key:"), "{lines:#?}");
    assert_eq!(at("extension todo draws") + 1, at("3 open"), "{lines:#?}");
    assert_eq!(at("extension foot draws") + 1, at("all well"), "{lines:#?}");
    assert!(heads("── extension spy draws ─"), "{lines:#?}");
}

fn extension(id: &str, phase: Phase) -> Extension {
    Extension {
        id: id.to_owned(),
        name: id.to_owned(),
        version: Some("1.2.0".to_owned()),
        tier: ExtensionTier::Wasm,
        path: "/x.wasm".to_owned(),
        phase,
        problem: (phase == Phase::Failed).then(|| "it does not start".to_owned()),
        capabilities: vec!["read".to_owned()],
        tools: vec!["look".to_owned()],
        commands: Vec::new(),
        tokens: Some(120),
        figures: Default::default(),
        memory: Some(2 << 20),
    }
}

#[test]
fn extensions_are_listed_switched_and_loaded_anew() {
    let mut app = app();
    app.report(&Report::Extensions(Vec::new()), Duration::ZERO);
    assert!(shows(&mut app, "there are no extensions here"));
    let all = Report::Extensions(vec![
        extension("guard", Phase::Running),
        extension("odd", Phase::Failed),
        extension("old", Phase::Off),
    ]);
    press(&mut app, "/extensions<enter>");
    app.report(&all, Duration::ZERO);
    let shown = screen(&mut app).join("\n");
    for part in ["extension", "→ guard", "running", "failed", "off", "wasm", "look"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let switch = |id: &str, switch| Action::SwitchExtension { id: id.to_owned(), switch };
    assert_eq!(press(&mut app, "<down><enter>"), [switch("odd", Switch::Off)]);
    // The list comes back with how they stand then, where it was.
    app.report(&all, Duration::ZERO);
    assert!(shows(&mut app, "→ odd") && shows(&mut app, "it does not start"));
    assert_eq!(press(&mut app, "<down><enter>"), [switch("old", Switch::On)]);
    app.report(&all, Duration::ZERO);
    assert_eq!(press(&mut app, "<up><ctrl+r>"), [Action::ReloadExtension("odd".to_owned())]);
    // Whoever went on to something else finds it nowhere.
    press(&mut app, "<esc>");
    app.report(&all, Duration::ZERO);
    assert!(!shows(&mut app, "→ odd"));
}

#[test]
fn message_of_an_extension_is_shown_as_it_draws_it() {
    let mut app = app();
    let message = json!({"role": "custom", "customType": "framed", "content": "words", "display": true, "timestamp": 0, "extension": "artist"});
    for _ in 0..3 {
        hear(&mut app, json!({"type": "message_start", "message": message}));
        hear(&mut app, json!({"type": "message_end", "message": message}));
    }
    assert!(shows(&mut app, "words"), "until it is drawn its text is there");
    let wanted = app.measure();
    let items = wanted.iter().filter_map(|action| match action {
        Action::Draw { place, rendering } if rendering.width == 40 => Some(*place),
        _ => None,
    });
    let items: Vec<Place> = items.collect();
    assert_eq!(items.len(), 3, "{wanted:?}");
    assert!(app.measure().is_empty(), "each is asked for once");
    let drawn = |text: &str| Some(vec![vec![Span { text: text.to_owned(), style: None }]]);
    // They may come in any order; what stands above is printed first.
    app.report(&Report::Drawn { place: items[1], lines: drawn("a picture") }, Duration::ZERO);
    app.report(&Report::Drawn { place: items[0], lines: None }, Duration::ZERO);
    app.give_up(&wanted[2]);
    let shown = screen(&mut app).join("\n");
    assert_eq!((shown.matches("words").count(), shown.matches("a picture").count()), (2, 1), "{shown}");
    assert!(shown.find("words") < shown.find("a picture"), "{shown}");
    let (head, below) = shown.split_once("── extension artist draws ─").expect("it says who draws");
    assert!(!head.contains("a picture") && below.contains("a picture"), "{shown}");
}

/// What extensions are asked to draw: the item, and whether it is a call or how far its result is.
fn wanted(app: &mut App) -> Vec<(Place, Option<ResultState>)> {
    let drawing = |action: Action| match action {
        Action::Draw { place, rendering } => match rendering.subject {
            Subject::ToolCall(_) => Some((place, None)),
            Subject::ToolResult { state, .. } => Some((place, Some(state))),
            Subject::Message(_) | Subject::Entry(_) => None,
        },
        _ => None,
    };
    app.measure().into_iter().filter_map(drawing).collect()
}

#[test]
fn call_of_a_tool_is_shown_as_its_extension_draws_it() {
    let mut app = app();
    let drawn = |text: &str| Some(vec![vec![Span { text: text.to_owned(), style: None }]]);
    let call = json!({"toolCallId": "c1", "toolName": "weigh", "args": {"what": "gold"}});
    let event = |kind: &str, more: Value| {
        let mut event = call.clone();
        event["type"] = kind.into();
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        event
    };
    let found = |text: &str| json!({"content": [{"type": "text", "text": text}], "details": {}});
    hear(&mut app, event("tool_execution_start", json!({})));
    let [(call_place, None)] = wanted(&mut app)[..] else { panic!("the call is to be drawn") };
    assert_eq!(call_place.part, Part::Call);
    assert!(shows(&mut app, "● weigh"), "until it is drawn the usual card is there");
    app.report(&Report::Drawn { place: call_place, lines: drawn("scales with gold") }, Duration::ZERO);
    let rows = screen(&mut app);
    let head = rows.iter().position(|row| row.starts_with("── ● weigh, drawn by its extension ─"));
    assert_eq!(head.map(|at| rows[at + 1].trim_end()), Some("  scales with gold"), "{rows:#?}");

    hear(&mut app, event("tool_execution_update", json!({"partialResult": found("half")})));
    let [(result_place, Some(ResultState::Partial))] = wanted(&mut app)[..] else { panic!("so far") };
    // What is found meanwhile is drawn when the first drawing has come.
    hear(&mut app, event("tool_execution_end", json!({"result": found("whole"), "isError": false})));
    assert_eq!(wanted(&mut app), []);
    app.report(&Report::Drawn { place: result_place, lines: drawn("a half") }, Duration::ZERO);
    assert!(shows(&mut app, "a half"));
    assert_eq!(wanted(&mut app), [(result_place, Some(ResultState::Succeeded))]);
    app.report(&Report::Drawn { place: result_place, lines: drawn("a whole") }, Duration::ZERO);
    let shown = screen(&mut app).join("\n");
    assert!(shown.contains("── ✔ weigh, drawn by its extension ─"), "{shown}");
    assert!(shown.contains("scales with gold") && shown.contains("a whole"), "{shown}");
    assert!(!shown.contains("a half"), "{shown}");
}

#[test]
fn result_that_is_drawn_below_a_title_of_ours_says_whose_it_is() {
    let mut app = app();
    hear(&mut app, json!({"type": "tool_execution_start", "toolCallId": "c1", "toolName": "weigh", "args": {}}));
    let output = json!({"content": [{"type": "text", "text": "nine grams"}], "details": {}});
    hear(
        &mut app,
        json!({"type": "tool_execution_end", "toolCallId": "c1", "toolName": "weigh", "result": output, "isError": false}),
    );
    let asks = || Some(vec![vec![Span { text: "── pi asks ── Allow everything?".to_owned(), style: None }]]);
    for (place, state) in wanted(&mut app) {
        app.report(&Report::Drawn { place, lines: state.and_then(|_| asks()) }, Duration::ZERO);
    }
    let rows = screen(&mut app);
    let at = rows.iter().position(|row| row.contains("pi asks")).expect("it is drawn");
    assert!(rows[at - 1].starts_with("── drawn by its extension ─"), "{rows:#?}");
    assert!(rows[at - 2].contains("✔ weigh"), "{rows:#?}");
}

#[test]
fn call_that_its_extension_fails_to_draw_has_the_usual_card() {
    let mut app = app();
    hear(&mut app, json!({"type": "tool_execution_start", "toolCallId": "c1", "toolName": "weigh", "args": {}}));
    let output = json!({"content": [{"type": "text", "text": "nine grams"}], "details": {}});
    hear(
        &mut app,
        json!({"type": "tool_execution_end", "toolCallId": "c1", "toolName": "weigh", "result": output, "isError": false}),
    );
    for (place, _) in wanted(&mut app) {
        app.report(&Report::Drawn { place, lines: None }, Duration::ZERO);
    }
    let shown = screen(&mut app).join("\n");
    assert!(shown.contains("✔ weigh") && shown.contains("nine grams"), "{shown}");
    // Whoever leaves waits for no drawing.
    hear(&mut app, json!({"type": "tool_execution_start", "toolCallId": "c2", "toolName": "weigh", "args": {}}));
    app.finish();
    assert!(shows(&mut app, "not run"));
}
