//! A small language for scenarios, and the one `check` that knows how to play them.
//!
//! ```text
//! mode strict | default read,http | deny_caps exec,env         settings; `project` before a line: of the project
//! grant NAME CAPABILITY [paths=a,b] [hosts=] [env=] [commands=] [methods=] [versions=] [expires=]
//! deny NAME CAPABILITY [...]                                   NAME is an extension, `*` or `agent`
//! untrusted NAME | version NAME 1.2.3                          what is known about an extension
//! declares NAME CAPABILITY [paths=] [hosts=] [env=] [methods=] a requirement of its manifest
//! lists NAME read,http                                         its flat list
//! says NAME CAPABILITY [paths=] [hosts=] [env=] [methods=]     what it says itself that it needs
//! evidence clean | evidence findings=0.5                       for the calls that follow
//! now 2026-01-01T00:00:00Z                                     for the calls that follow
//! answer yes|no target|capability [2026-01-01T00:00:00Z]       to the call before, kept for the calls that follow
//! in FOLDER | own FOLDER                                       the project, and the folder of the extension, likewise
//!                                                              NAME `agent` is the agent, `extension:agent` is not
//! call NAME read PATH | fs.OP PATH [TO] | http URL | exec[@FOLDER] PROGRAM ARGUMENT… | exec! … with input | exec+A,B … with variables | bash LINE | env [NAME] | METHOD
//! ```

use std::{collections::BTreeMap, sync::Arc};

use pi_extproto::{
    Object,
    capability::{Capability, CapabilityManifest, Declared, Requirement},
    host::HostCall,
};
use pi_policy::{
    Answer, Answers, Breadth, Decision, Evidence, Extension, Moment, PathStyle, Places, Policy, Provenance, Remembered,
    Request, Root, Subject, Term, config, decide, explain, risk,
};
use serde_json::{Value, json};

/// Plays a scenario and compares the answers to its calls, one line each.
#[track_caller]
pub(crate) fn check(scenario: &str, expected: &str) {
    let answers = play(scenario).iter().map(answer).collect::<Vec<_>>().join("\n");
    let expected: Vec<&str> = expected.lines().map(str::trim).collect();
    assert_eq!(answers, expected.join("\n"), "{scenario}");
}

/// What one call asks and which policy it meets, or why it asks for nothing.
type Outcome = Result<(Policy, Request), String>;

/// Plays a scenario whose last call is valid.
pub(crate) fn last(scenario: &str) -> (Policy, Request) {
    match play(scenario).pop() {
        Some(Ok(decided)) => decided,
        Some(Err(message)) => panic!("{message}: {scenario}"),
        None => panic!("no call: {scenario}"),
    }
}

fn answer(outcome: &Outcome) -> String {
    let (policy, request) = match outcome {
        Err(message) => return format!("invalid: {message}"),
        Ok(decided) => decided,
    };
    let decision = decide(policy, request);
    let explanation = explain(policy, request);
    assert_eq!((explanation.verdict, explanation.rule), (decision.verdict(), decision.rule()));
    match decision {
        Decision::Allow(grant) => {
            let mut text = format!("allow: {}", grant.rule());
            if let Some(end) = grant.expires() {
                text.push_str(&format!(" until {end}"));
            }
            let withheld: Vec<&str> = grant.withheld().collect();
            if !withheld.is_empty() {
                text.push_str(&format!(" without {}", withheld.join(" ")));
            }
            if let Some(assessment) = grant.warning() {
                text.push_str(&format!(" warning p={:.4}", assessment.probability));
            }
            text
        }
        Decision::Ask(question) => match question.assessment() {
            Some(assessment) => format!("ask: p={:.4}", assessment.probability),
            None => "ask".to_owned(),
        },
        Decision::Deny(denial) => denial.to_string(),
    }
}

#[derive(Default)]
struct Stage {
    user: Value,
    project: Value,
    extensions: BTreeMap<String, Described>,
    evidence: Option<Evidence>,
    now: Option<Moment>,
    folder: Option<String>,
    own: Option<String>,
    answers: Answers,
    outcomes: Vec<Outcome>,
}

#[derive(Default)]
struct Described {
    version: Option<String>,
    untrusted: bool,
    manifest: Option<CapabilityManifest>,
    flat: Option<Vec<Capability>>,
    said: Option<CapabilityManifest>,
}

fn play(scenario: &str) -> Vec<Outcome> {
    let mut stage = Stage { user: settings(), project: settings(), ..Stage::default() };
    for line in scenario.lines().filter(|line| !line.trim().is_empty()) {
        let line = &line.split_whitespace().collect::<Vec<_>>().join(" ");
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        match (verb, rest) {
            ("project", rest) => write(&mut stage.project, rest),
            ("untrusted", name) => stage.extensions.entry(name.to_owned()).or_default().untrusted = true,
            ("version", rest) => {
                let (name, version) = rest.split_once(' ').expect("a name and a version");
                stage.extensions.entry(name.to_owned()).or_default().version = Some(version.to_owned());
            }
            ("lists", rest) => {
                let (name, list) = rest.split_once(' ').unwrap_or((rest, ""));
                let flat = list.split(',').filter(|word| !word.is_empty()).map(Capability::from).collect();
                stage.extensions.entry(name.to_owned()).or_default().flat = Some(flat);
            }
            ("declares" | "says", rest) => {
                let (name, requirement) = rest.split_once(' ').expect("a name and a requirement");
                let requirement: Requirement = serde_json::from_value(entry(requirement)).expect("a requirement");
                let described = stage.extensions.entry(name.to_owned()).or_default();
                let list = if verb == "says" { &mut described.said } else { &mut described.manifest };
                list.get_or_insert_with(|| CapabilityManifest::new(Vec::new())).capabilities.push(requirement);
            }
            ("evidence", rest) => stage.evidence = Some(evidence(rest)),
            ("now", rest) => stage.now = Some(rest.parse().expect("a moment")),
            ("answer", rest) => {
                let kept = remembered(stage.outcomes.last(), rest);
                stage.answers = stage.answers.with(kept);
            }
            ("in", folder) => stage.folder = Some(folder.to_owned()),
            ("own", folder) => stage.own = Some(folder.to_owned()),
            ("call", rest) => {
                let outcome = call(&stage, rest);
                stage.outcomes.push(outcome);
            }
            _ => write(&mut stage.user, line),
        }
    }
    stage.outcomes
}

fn settings() -> Value {
    json!({ "extensions": { "policy": {} }, "agent": { "policy": {} } })
}

/// Adds a line to settings.
fn write(settings: &mut Value, line: &str) {
    let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
    let list = || Value::from(rest.split(',').filter(|word| !word.is_empty()).collect::<Vec<_>>());
    let section = &mut settings["extensions"]["policy"];
    match verb {
        "mode" => section["mode"] = rest.into(),
        "default" => section["default_caps"] = list(),
        "deny_caps" => section["deny_caps"] = list(),
        "agent_mode" => settings["agent"]["policy"]["mode"] = rest.into(),
        "agent_deny_caps" => settings["agent"]["policy"]["deny_caps"] = list(),
        "grant" | "deny" => {
            let member = if verb == "grant" { "grants" } else { "denies" };
            let (name, rest) = rest.split_once(' ').expect("a name and an entry");
            let entries = match name {
                "agent" => &mut settings["agent"]["policy"][member],
                name => &mut section[member][name],
            };
            match entries {
                Value::Array(list) => list.push(entry(rest)),
                other => *other = json!([entry(rest)]),
            }
        }
        other => panic!("no such line: {other}"),
    }
}

/// `read paths=src/**,docs/** methods=tool` as JSON.
fn entry(text: &str) -> Value {
    let mut parts = text.split_whitespace();
    let mut entry = json!({ "capability": parts.next().expect("a capability") });
    for part in parts {
        let (name, text) = part.split_once('=').expect("name=value");
        let list = Value::from(
            text.split(',').filter(|item| !item.is_empty()).map(|item| item.replace('+', " ")).collect::<Vec<_>>(),
        );
        match name {
            "methods" => entry["methods"] = list,
            "expires" | "versions" => entry[name] = text.into(),
            name => entry["scope"][name] = list,
        }
    }
    entry
}

fn evidence(text: &str) -> Evidence {
    text.split_whitespace().fold(Evidence::CLEAN, |evidence, part| match part.split_once('=') {
        None => evidence,
        Some((name, level)) => {
            let line = risk::WEIGHTS.iter().find(|line| line.name == name).expect("a feature");
            evidence.with(line.feature, level.parse().expect("a number"))
        }
    })
}

fn call(stage: &Stage, text: &str) -> Outcome {
    let (name, text) = text.split_once(' ').expect("a name and a call");
    let described = stage.extensions.get(name);
    let subject = match name {
        "agent" => Subject::Agent,
        name => {
            let name = name.strip_prefix("extension:").unwrap_or(name);
            let declared = Declared::new(
                described.and_then(|it| it.manifest.as_ref()),
                described.and_then(|it| it.flat.as_deref()),
            );
            let version = described.and_then(|it| it.version.as_deref()).unwrap_or("1.0.0");
            let provenance = match described.is_some_and(|it| it.untrusted) {
                true => Provenance::UntrustedProject,
                false => Provenance::Trusted,
            };
            let said = Declared::new(described.and_then(|it| it.said.as_ref()), None);
            Subject::Extension(Arc::new(Extension::new(name, version, provenance, &declared).held_to(&said)))
        }
    };
    let now = stage.now.unwrap_or(Moment::from_unix_millis(0));
    let checked = host_call(text).check().map_err(|fault| fault.to_string())?;
    let mut places = places_in(stage.folder.as_deref().unwrap_or(PROJECT), name);
    if let Some(folder) = &stage.own {
        places = places.with(Root::Own, folder).expect("a folder");
    }
    let request = Request::from_host_call(subject, &places, &checked, now);
    let request = request.map_err(|fault| fault.to_string())?;
    let request = request.with_evidence(stage.evidence.unwrap_or(Evidence::unknown()));
    let user = config::load(stage.user.to_string().as_bytes()).expect("settings").value;
    let project = config::parse(stage.project.to_string().as_bytes()).expect("settings of the project").value;
    let policy = user.with_answers(stage.answers.clone()).restrict_by(&project).expect("restrictions").value;
    Ok((policy, request))
}

fn remembered(asked: Option<&Outcome>, text: &str) -> Remembered {
    let Some(Ok((policy, request))) = asked else { panic!("nothing was asked") };
    let Decision::Ask(question) = decide(policy, request) else { panic!("no question was asked") };
    let words: Vec<&str> = text.split_whitespace().collect();
    let answer = if words[0] == "yes" { Answer::Yes } else { Answer::No };
    let breadth = if words[1] == "target" { Breadth::Target } else { Breadth::Capability };
    let term = words.get(2).map_or(Term::Session, |end| Term::Until(end.parse().expect("a moment")));
    question.keep(answer, breadth, term).expect("an answer that can be kept")
}

const PROJECT: &str = "/home/u/work";

pub(crate) fn places(name: &str) -> Places {
    places_in(PROJECT, name)
}

fn places_in(project: &str, name: &str) -> Places {
    let places = Places::new(PathStyle::Unix, project).and_then(|places| places.with_home("/home/u"));
    let places = places.expect("folders");
    let roots = [
        (Root::Agent, "/home/u/.pi/agent".to_owned()),
        (Root::Own, format!("/home/u/.pi/agent/extensions/{name}")),
        (Root::Data, format!("/home/u/.pi/agent/data/{name}")),
        (Root::Temporary, format!("/tmp/pi-{name}")),
    ];
    let places = roots.iter().fold(places, |places, (root, folder)| places.with(*root, folder).expect("a folder"));
    if name == "agent" { places } else { places.for_extension() }
}

fn host_call(text: &str) -> HostCall {
    let (method, rest) = text.split_once(' ').unwrap_or((text, ""));
    let (capability, method, params): (Option<&str>, &str, Value) = match method {
        "read" | "write" | "edit" => (None, "tool", json!({ "name": method, "input": { "path": unescape(rest) } })),
        "grep" | "find" | "ls" if rest.is_empty() => (None, "tool", json!({ "name": method, "input": {} })),
        "grep" | "find" | "ls" => (None, "tool", json!({ "name": method, "input": { "path": rest } })),
        "bash" => (None, "tool", json!({ "name": "bash", "input": { "command": rest } })),
        "tool" => (None, "tool", json!({ "name": rest, "input": {} })),
        "fs.rename" => {
            let (from, to) = rest.split_once(' ').expect("two paths");
            (None, "fs", json!({ "op": "rename", "from": from, "to": to }))
        }
        "http" => {
            let request =
                json!({ "method": "GET", "url": rest, "headers": [], "follow_redirects": false, "stream": false });
            (None, "http", request)
        }
        exec if exec.starts_with("exec") => {
            let mut words = rest.split_whitespace();
            let (program, arguments) = (words.next(), words.collect::<Vec<_>>());
            let mut params = json!({ "command": program, "args": arguments, "env": {}, "stream": false });
            match exec.split_at("exec".len()).1 {
                "" => {}
                "!" => params["stdin"] = json!({ "text": "" }),
                variables if variables.starts_with('+') => {
                    params["env"] = variables[1..].split(',').map(|name| (name.to_owned(), json!("x"))).collect();
                }
                folder => params["cwd"] = folder.strip_prefix('@').expect("@ and a folder").into(),
            }
            (None, "exec", params)
        }
        "env" if rest.is_empty() => (None, "env", json!({ "op": "list" })),
        "env" => (None, "env", json!({ "op": "get", "name": rest })),
        "claims" => {
            let (capability, rest) = rest.split_once(' ').expect("a capability and a tool");
            (Some(capability), "tool", json!({ "name": rest, "input": {} }))
        }
        other => match other.strip_prefix("fs.") {
            Some(operation) => (None, "fs", file_operation(operation, &unescape(rest))),
            None => (None, other, whatever(other)),
        },
    };
    let Value::Object(params) = params else { panic!("parameters are an object") };
    let needed = capability.map_or_else(|| derived(method, &params), Capability::from);
    let call = json!({ "call_id": "1", "capability": needed, "method": method, "params": params });
    serde_json::from_value(call).expect("a host call")
}

/// The operation on a path, with the members that it cannot do without.
fn file_operation(operation: &str, path: &str) -> Value {
    let mut params = json!({ "op": operation, "path": path });
    match operation {
        "stat" => params["follow_links"] = json!(true),
        "write" => (params["content"], params["mode"]) = (json!({ "text": "" }), json!("replace")),
        "append" => params["content"] = json!({ "text": "" }),
        "make_directory" => params["parents"] = json!(true),
        "remove" => params["recursive"] = json!(true),
        "set_mode" => params["mode"] = json!(0o600),
        "make_temporary" => params = json!({ "op": operation, "prefix": path }),
        _ => {}
    }
    params
}

/// Some call of a method whose parameters policy does not look at.
fn whatever(method: &str) -> Value {
    match method {
        "session" => json!({ "op": "abort" }),
        "ui" => json!({ "op": "get_editor_text" }),
        "events" => json!({ "op": "subscribe", "channel": "c" }),
        "log" => json!({ "level": "info", "event": "e", "message": "m" }),
        "credentials" => json!({ "op": "get", "provider": "p" }),
        "mcp" => json!({ "server": "s", "name": "n", "input": {} }),
        _ => json!({}),
    }
}

fn derived(method: &str, params: &Object) -> Capability {
    pi_extproto::capability::derive(&method.into(), params).expect("a derivable call")
}

fn unescape(text: &str) -> String {
    text.replace("\\0", "\0")
}
