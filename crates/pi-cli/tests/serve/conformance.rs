//! What the protocol's document demands, sentence by sentence: each file in `conformance/` is a part of it, each case
//! a sentence, and each case runs against the real binary over a real socket.
//!
//! The notation is [`Step`]. `docs/conformance.md` is the table of all sentences; run the test with `UPDATE=1` to write its
//! rows anew. Their verdicts are written by `cargo xtask verdicts`, which reads what this test and all others print.

use std::{
    any::Any,
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use nix::sys::signal::Signal;
use pi_testkit::{Client, Reply, Script, model::Answer};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    room,
    serving::{Serving, fits},
};

/// A section of the document.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    /// Without the ending.
    #[serde(skip)]
    file: String,
    section: String,
    cases: Vec<Case>,
}

/// A sentence of it, in short, and how it is seen that it holds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// Where the sentence stands, if not where the others of the file do.
    section: Option<String>,
    says: String,
    demands: Demand,
    /// How the model answers, one for each request.
    #[serde(default)]
    model: Vec<Turn>,
    /// More arguments of the server.
    #[serde(default)]
    arguments: Vec<String>,
    steps: Vec<Step>,
}

/// An answer of the model.
#[derive(Deserialize)]
#[serde(untagged)]
enum Turn {
    /// `…` in a text waits until the step `release`.
    Text(String),
    #[serde(rename_all = "camelCase")]
    Full {
        text: String,
        /// Of the prompt, as the provider counts.
        tokens: u64,
    },
    /// A call of a tool.
    Call { call: String, arguments: Value },
    /// A refusal with this status.
    Refusal { status: u16 },
}

#[derive(Deserialize, Clone, Copy)]
enum Demand {
    #[serde(rename = "MUST")]
    Must,
    #[serde(rename = "MUST NOT")]
    MustNot,
    #[serde(rename = "SHOULD")]
    Should,
    #[serde(rename = "MAY")]
    May,
    /// A plain sentence of the reference part.
    #[serde(rename = "says")]
    Says,
}

impl Demand {
    const fn name(self) -> &'static str {
        match self {
            Self::Must => "MUST",
            Self::MustNot => "MUST NOT",
            Self::Should => "SHOULD",
            Self::May => "MAY",
            Self::Says => "says",
        }
    }
}

/// One thing that is done or seen. Clients are named by a letter and connect when they are first named.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
enum Step {
    /// A client sends a frame. `$NAME` stands for what was seen before under that name.
    Send(String, Value),
    /// A client sends a text that need not be a frame.
    SendText(String, String),
    /// A client gets a frame like this one, whatever comes before it.
    Get(String, Value),
    /// The frames that fit one of these come in this order, and no others of them before the last.
    GetInOrder(String, Vec<Value>),
    /// The first frame of all is like this one.
    GetFirst(String, Value),
    /// Of everything that came until a question is answered, nothing is like this.
    GetNothingLike(String, Value),
    /// A client that is not there yet connects with this query.
    Connect(String, String),
    /// The client's connection is cut.
    Cut(String),
    /// The model goes on with its answer with this number.
    Release(usize),
    /// The model was asked this many times.
    Asked(usize),
    /// The server is killed and started again.
    Kill(Ended),
    /// The server is asked to end in order.
    Terminate(Ended),
}

/// Whether a server is started in the place of the one that ended.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Ended {
    AndStart,
    AndStay,
}

/// What was seen under a name.
type Names = BTreeMap<String, Value>;

struct Stage {
    serving: Serving,
    clients: BTreeMap<String, Client>,
    names: Names,
}

impl Stage {
    async fn client(&mut self, name: &str) -> &mut Client {
        if !self.clients.contains_key(name) {
            let client = self.serving.open(&format!("?clientId={name}")).await;
            self.clients.insert(name.to_owned(), client);
        }
        self.clients.get_mut(name).expect("just put in")
    }

    async fn play(&mut self, step: &Step) {
        match step {
            Step::Send(who, frame) => {
                let frame = filled(frame, &self.names, &self.serving);
                self.client(who).await.send(&frame).await;
            }
            Step::SendText(who, text) => self.client(who).await.send_text(text).await,
            Step::Get(who, shape) => {
                let shape = filled(shape, &self.names, &self.serving);
                let what = shape.to_string();
                let frame = self.client(who).await.expect(&what, |frame| fits_shape(frame, &shape)).await;
                note(&frame, &shape, &mut self.names);
            }
            Step::GetInOrder(who, shapes) => {
                let shapes: Vec<Value> = shapes.iter().map(|shape| filled(shape, &self.names, &self.serving)).collect();
                let client = self.client(who).await;
                for shape in &shapes {
                    let one_of = |frame: &Value| shapes.iter().any(|shape| fits_shape(frame, shape));
                    let frame = client.expect(&shape.to_string(), one_of).await;
                    assert!(fits_shape(&frame, shape), "{frame:#}\ncame where {shape:#} was expected");
                }
            }
            Step::GetFirst(who, shape) => {
                let frame = self.client(who).await.next().await.expect("a frame");
                assert!(fits_shape(&frame, shape), "{frame:#}\nis not like {shape:#}");
            }
            Step::GetNothingLike(who, shape) => {
                let shape = filled(shape, &self.names, &self.serving);
                let client = self.client(who).await;
                let probe = json!({"type": "health_check", "id": format!("probe-{}", client.seen().len())});
                client.send(&probe).await;
                client
                    .expect("the answer to the probe", |frame| {
                        frame["type"] == "response" && frame["id"] == probe["id"]
                    })
                    .await;
                let found = client.seen().iter().find(|frame| fits_shape(frame, &shape));
                assert!(found.is_none(), "{:#}\ncame all the same", found.expect("it is there"));
            }
            Step::Connect(who, query) => {
                let client = self.serving.open(&format!("?clientId={who}&{query}")).await;
                self.clients.insert(who.clone(), client);
            }
            Step::Cut(who) => drop(self.clients.remove(who)),
            Step::Release(number) => self.serving.room.server.release(*number),
            Step::Asked(times) => {
                self.serving.room.server.received(*times).await;
            }
            Step::Kill(_) | Step::Terminate(_) => unreachable!("done outside of the runtime"),
        }
    }

    fn end(&mut self, signal: Signal, then: &Ended) {
        match then {
            Ended::AndStart => {
                self.clients.clear();
                self.serving.restart(signal);
            }
            Ended::AndStay => self.serving.signal(signal),
        }
    }
}

/// `$NAME` by what was seen under it, `$LONG` by a text of fifteen hundred letters, `$LONGER` by one of fifty thousand, `$PROJECT` by the folder of the project, `$AGENT` by that of the agent.
fn filled(value: &Value, names: &Names, serving: &Serving) -> Value {
    match value {
        Value::String(text) => match text.strip_prefix('$').and_then(|name| names.get(name)) {
            Some(known) => known.clone(),
            None => {
                let text = match text.as_str() {
                    "$LONG" => "a".repeat(1_500),
                    "$LONGER" => "word ".repeat(10_000),
                    text => text.to_owned(),
                };
                let folder = |path: std::path::PathBuf| path.to_string_lossy().into_owned();
                let text = text.replace("$PROJECT", &folder(serving.room.project()));
                Value::String(text.replace("$AGENT", &folder(serving.room.at("agent"))))
            }
        },
        Value::Array(items) => items.iter().map(|item| filled(item, names, serving)).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| (name.clone(), filled(value, names, serving)))
            .collect::<Map<String, Value>>()
            .into(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// As [`fits`]; `$absent` is a member that is not there, any other `$NAME` that has no value yet is any value, and a text that
/// ends with `…` is one that begins so.
fn fits_shape(frame: &Value, shape: &Value) -> bool {
    match (frame, shape) {
        (_, Value::String(text)) if text.starts_with('$') && text != "$absent" => true,
        (Value::String(said), Value::String(text)) if text.ends_with('…') => {
            said.starts_with(text.trim_end_matches('…'))
        }
        (Value::Object(members), Value::Object(shapes)) => shapes.iter().all(|(name, shape)| match members.get(name) {
            Some(value) => fits_shape(value, shape),
            None => shape == "$absent",
        }),
        (Value::Array(values), Value::Array(shapes)) => {
            values.len() == shapes.len() && values.iter().zip(shapes).all(|(value, shape)| fits_shape(value, shape))
        }
        (frame, shape) => fits(frame, shape),
    }
}

/// Keeps what the frame has where the shape has a name.
fn note(frame: &Value, shape: &Value, names: &mut Names) {
    match (frame, shape) {
        (value, Value::String(text)) if text.starts_with('$') => {
            names.insert(text.trim_start_matches('$').to_owned(), value.clone());
        }
        (Value::Object(members), Value::Object(shapes)) => {
            for (name, shape) in shapes {
                if let Some(value) = members.get(name) {
                    note(value, shape, names);
                }
            }
        }
        (Value::Array(values), Value::Array(shapes)) => {
            for (value, shape) in values.iter().zip(shapes) {
                note(value, shape, names);
            }
        }
        _ => {}
    }
}

fn script(turns: &[Turn]) -> Script {
    turns.iter().fold(Script::new(), |script, turn| {
        let said = |text: &str| match text.split_once('…') {
            Some((before, after)) => Answer::new().text(before).hold().text(after),
            None => Answer::new().text(text),
        };
        script.then(match turn {
            Turn::Text(text) => said(text).usage(100, 10).reply(),
            Turn::Full { text, tokens } => said(text).usage(*tokens, 10).reply(),
            Turn::Call { call, arguments } => Answer::new().call("call-1", call, arguments).usage(100, 10).reply(),
            Turn::Refusal { status } => Reply::json(*status, &json!({"error": {"message": "It refuses."}})),
        })
    })
}

fn play(case: &Case) {
    let arguments: Vec<&str> = case.arguments.iter().map(String::as_str).collect();
    let serving = Serving::with(script(&case.model), &arguments);
    let mut stage = Stage { serving, clients: BTreeMap::new(), names: Names::new() };
    let runtime = stage.serving.room.runtime.handle().clone();
    for step in &case.steps {
        match step {
            Step::Kill(then) => stage.end(Signal::SIGKILL, then),
            Step::Terminate(then) => stage.end(Signal::SIGTERM, then),
            step => runtime.block_on(stage.play(step)),
        }
    }
}

/// How a case came out.
struct Verdict<'a> {
    section: &'a Section,
    case: &'a Case,
    fault: Option<String>,
}

/// Plays cases, several at a time, and gathers how each came out.
fn judge<'a>(cases: &[(&'a Section, &'a Case)]) -> Vec<Verdict<'a>> {
    const AT_A_TIME: usize = 4;
    let next = AtomicUsize::new(0);
    let verdicts = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                while let Some((number, (section, case))) = {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    cases.get(number).map(|case| (number, *case))
                } {
                    let outcome = catch_unwind(AssertUnwindSafe(|| play(case)));
                    let fault = outcome.err().map(|fault| told(fault.as_ref()));
                    verdicts.lock().expect("nobody panics with it").insert(number, Verdict { section, case, fault });
                }
            });
        }
    });
    verdicts.into_inner().expect("nobody panics with it").into_values().collect()
}

fn told(fault: &(dyn Any + Send)) -> String {
    let text = fault.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| fault.downcast_ref::<&str>().copied()).unwrap_or("it panicked").to_owned()
}

/// Rows of `docs/conformance.md`, without their verdicts.
fn rows(sections: &[Section], elsewhere: &[Elsewhere]) -> Vec<String> {
    let own = sections.iter().flat_map(|section| section.cases.iter().map(move |case| (section, case)));
    let own = own.map(|(Section { section, file, .. }, case)| {
        let Case { section: own, says, demands, .. } = case;
        let section = own.as_ref().unwrap_or(section);
        format!("| {section} | {} | {says} | [{file}]({FOLDER}/{file}.yaml) |", demands.name())
    });
    let elsewhere = elsewhere.iter().map(|Elsewhere { section, demands, says, file, test }| {
        let name = file.rsplit('/').next().unwrap_or(file);
        format!("| {section} | {} | {says} | `{test}` in [{name}](../{file}) |", demands.name())
    });
    let mut rows: Vec<String> = own.chain(elsewhere).collect();
    rows.sort_by_key(|row| place(row));
    rows
}

/// The first section that a row names, as numbers: the table is in the order of the document.
fn place(row: &str) -> Vec<u32> {
    let section = row.trim_start_matches("| ").split([' ', ',']).next().unwrap_or_default();
    section.split('.').filter_map(|part| part.parse().ok()).collect()
}

const HEAD: &str = "| section | demand | sentence, in short | shown by | verdict |\n|---|---|---|---|---|\n";
/// Behind this line of the page the table begins.
pub(crate) const MARK: &str = "<!-- written by the test what_the_document_demands_holds -->\n\n";
const FOLDER: &str = "../crates/pi-cli/tests/serve/conformance";
const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/conformance.md");

/// A sentence that another test shows.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Elsewhere {
    section: String,
    says: String,
    demands: Demand,
    /// From the root of the repository.
    file: String,
    test: String,
}

impl Elsewhere {
    fn is_there(&self) -> bool {
        let path = format!("{}/../../{}", env!("CARGO_MANIFEST_DIR"), self.file);
        let sign = match self.file.ends_with(".mjs") {
            true => format!("test(\"{}\"", self.test),
            false => format!("fn {}(", self.test),
        };
        room::read(Path::new(&path)).is_some_and(|text| text.contains(&sign))
    }
}

macro_rules! sections {
    ($($name:literal)*) => {
        [$(read($name, include_str!(concat!("conformance/", $name, ".yaml")))),*]
    };
}

fn read(file: &str, text: &str) -> Section {
    let section: Section = serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{file}: {error}"));
    Section { file: file.to_owned(), ..section }
}

#[test]
fn what_the_document_demands_holds() {
    let sections = sections!("framing" "envelope" "response" "events" "lifecycle" "replay" "dependencies" "versions"
        "timeouts" "limits" "server_commands" "session_commands" "tools" "questions" "persistence" "circuits" "errors");
    let all = sections.iter().flat_map(|section| section.cases.iter().map(move |case| (section, case)));
    // To look at a few: `PI_CONFORMANCE='same id' cargo test …`
    let wanted = std::env::var("PI_CONFORMANCE").ok();
    let chosen = |(_, case): &(&Section, &Case)| wanted.as_ref().is_none_or(|wanted| case.says.contains(wanted));
    let verdicts = judge(&all.filter(chosen).collect::<Vec<_>>());
    for Verdict { section, case, fault } in &verdicts {
        if let Some(fault) = fault {
            eprintln!("{} {}: {}\n{fault}\n", section.file, section.section, case.says);
        }
        // `cargo xtask` reads these.
        let outcome = if fault.is_none() { "ok" } else { "FAILED" };
        println!("conformance row {}: {} ... {outcome}", section.file, case.says);
    }
    if wanted.is_none() {
        let elsewhere: Vec<Elsewhere> = serde_saphyr::from_str(include_str!("conformance/elsewhere.yaml"))
            .unwrap_or_else(|error| panic!("{error}"));
        let lost: Vec<&str> = elsewhere.iter().filter(|one| !one.is_there()).map(|one| one.test.as_str()).collect();
        assert_eq!(lost, Vec::<&str>::new(), "these tests are not there any more");
        compare(Path::new(TABLE), MARK, HEAD, &rows(&sections, &elsewhere));
    }
    assert!(verdicts.iter().all(|verdict| verdict.fault.is_none()), "sentences do not hold: see above");
}

/// The rows on the page must be these, whatever their verdicts are; those are `cargo xtask verdicts`' business.
pub(crate) fn compare(page: &Path, mark: &str, head: &str, rows: &[String]) {
    let text = room::read(page).expect("the page is there");
    let (before, table) = text.split_once(mark).expect("the page has a place for the table");
    let kept: Vec<(&str, &str)> = table.lines().skip(2).filter_map(split_verdict).collect();
    if std::env::var_os("UPDATE").is_some() {
        let verdict =
            |row: &String| kept.iter().find(|(kept, _)| kept == row).map_or("not run", |(_, verdict)| verdict);
        let table: String = rows.iter().map(|row| format!("{row} {} |\n", verdict(row))).collect();
        room::write(page, format!("{before}{mark}{head}{table}").as_bytes());
        return;
    }
    let is_same = kept.iter().map(|(row, _)| *row).eq(rows.iter().map(String::as_str));
    assert!(is_same, "{} has other rows than the list; UPDATE=1 writes them", page.display());
}

/// A row, and its last cell.
fn split_verdict(line: &str) -> Option<(&str, &str)> {
    let (row, verdict) = line.strip_suffix(" |")?.rsplit_once(" | ")?;
    Some((&line[..row.len() + 2], verdict))
}
