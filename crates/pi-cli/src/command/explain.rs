//! `pi policy explain`: the decision about one host call, with every reason on the way to it.

mod doubt;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use pi_exthost::{GrantsFile, Seen};
use pi_extproto::{
    capability::Declared,
    host::HostCall,
    manifest,
    message::{self, Payload},
};
use pi_policy::{
    Action, Evidence, Explanation, Extension, Marks, Mode, Moment, PathStyle, Places, Policy, Provenance, Request,
    Root, Subject, Verdict,
    config::{self, ExtensionSection, Invalid, Noted, Settings},
    explain,
};
use pi_transcript::json::Problem;
use serde_json::{Value, json};

use crate::{
    arguments::{ExplainArguments, ModeName},
    command::ext::meant::meant,
    console::{Console, Tone, printable},
    env::Environment,
    exit::Exit,
    failure::{ConsentFailure, Failure},
    input,
    refusal::{self, Cause, Refusal},
    workshop::{self, Ground, extensions::project_policy},
};

pub(crate) fn run(
    arguments: &ExplainArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let policy = match &arguments.config {
        Some(file) => written(file, arguments, console)?,
        None => in_force(arguments, environment, console)?,
    };
    let seen = match arguments.config {
        Some(_) => None,
        None => meant(&arguments.extension, arguments.from.as_deref(), environment)?,
    };
    let extension = extension(arguments, seen.as_ref())?;
    for problem in extension.problems() {
        console.note(&format!("the manifest: {problem}"));
    }
    let call = call(&arguments.call)?;
    for doubt in doubt::about_call(&call) {
        console.note(&doubt);
    }
    let call = call.check().map_err(|bad| Failure::BadCall(bad.into()))?;
    if let Some(doubt) = arguments.project.as_deref().and_then(doubt::about_project) {
        console.note(&doubt);
    }
    let places = places(arguments, environment)?;
    let subject = Subject::Extension(Arc::new(extension));
    let action = Action::from_host_call(subject, &places, &call).map_err(Failure::BadCall)?;
    let evidence =
        arguments.evidence.iter().fold(Evidence::unknown(), |it, (feature, level)| it.with(*feature, *level));
    let request = Request::new(action, arguments.at.unwrap_or_else(now)).with_evidence(evidence);
    show(&explain(&policy, &request), arguments.json, console);
    Ok(Exit::Success)
}

/// What holds in a session of the project: the person's settings, what they decided, and what the project forbids.
fn in_force(arguments: &ExplainArguments, environment: &Environment, console: &mut Console) -> Result<Policy, Failure> {
    let agent = environment.agent_directory.as_deref();
    let own = agent.map(|agent| agent.join("settings.json")).filter(|file| file.exists());
    // Read as a session reads it, which refuses what it does not understand.
    workshop::policy(environment).map(drop)?;
    let policy = match &own {
        Some(file) => written(file, arguments, console)?,
        None => with_mode(Settings::default(), arguments.mode).resolve().map_err(refused("the defaults"))?.value,
    };
    let Some(agent) = agent else { return Ok(policy) };
    let decisions = GrantsFile::in_folder(agent);
    let remembered = decisions.read().map_err(ConsentFailure::Grants)?;
    let remembered = Settings { extensions: Some(ExtensionSection { policy: Some(remembered) }), agent: None };
    let file = decisions.path().display().to_string();
    let policy = policy.with_remembered(&remembered).map_err(refused(&file))?.value;
    let project = match &arguments.project {
        Some(project) => project.clone(),
        None => Ground::survey(environment)?.directory,
    };
    match project_policy(&project) {
        Some(restricting) => {
            let file = project.join(".pi").join("settings.json").display().to_string();
            Ok(policy.restrict_by(&restricting).map_err(refused(&file))?.value)
        }
        None => Ok(policy),
    }
}

fn refused(file: &str) -> impl Fn(Invalid) -> Failure {
    let file = file.to_owned();
    move |invalid| Failure::NotAPolicy { file: file.clone(), problems: invalid.problems }
}

/// What one file says, and nothing else.
fn written(config: &Path, arguments: &ExplainArguments, console: &mut Console) -> Result<Policy, Failure> {
    let file = config.display().to_string();
    let refused = refused(&file);
    let document = input::read(config)?;
    let written =
        refusal::parse_any(document.bytes()).map_err(|refusal| Failure::NotSettings { file: file.clone(), refusal })?;
    let Noted { value: settings, notices: odd } = config::parse(document.bytes()).map_err(&refused)?;
    if arguments.config.is_some() {
        let doubts = doubt::about_settings(&file, &written, &settings);
        for doubt in doubts.into_iter().chain(doubt::about_extension(&arguments.extension, &settings)) {
            console.note(&doubt);
        }
    }
    let Noted { value: policy, notices } = with_mode(settings, arguments.mode).resolve().map_err(&refused)?;
    for notice in odd.iter().chain(&notices) {
        console.note(&format!("{file}: {notice}"));
    }
    Ok(policy)
}

fn with_mode(mut settings: Settings, mode: Option<ModeName>) -> Settings {
    if let Some(mode) = mode {
        let policy = settings.extensions.get_or_insert_default().policy.get_or_insert_default();
        policy.mode = Some(match mode {
            ModeName::Strict => Mode::Strict,
            ModeName::Prompt => Mode::Prompt,
            ModeName::Permissive => Mode::Permissive,
        });
    }
    settings
}

/// The extension; the one that is meant where nobody describes another.
fn extension(arguments: &ExplainArguments, seen: Option<&Seen>) -> Result<Extension, Failure> {
    let provenance = if arguments.untrusted { Provenance::UntrustedProject } else { Provenance::Trusted };
    let id = &arguments.extension;
    let origins: Vec<String> = seen.iter().filter_map(|seen| seen.origin.clone()).collect();
    let described =
        origins.first().map(|origin| Path::new(origin).join("extension.json")).filter(|path| path.is_file());
    let version = match seen {
        Some(seen) if arguments.extension_version == "0.0.0" => &seen.version,
        Some(_) | None => &arguments.extension_version,
    };
    let Some(path) = arguments.manifest.as_ref().or(described.as_ref()) else {
        let undeclared = Extension::new(id, version, provenance, &Declared::new(None, None));
        return Ok(undeclared.coming_from(origins));
    };
    let file = path.display().to_string();
    let manifest = input::read(path)?
        .parse(manifest::parse)
        .map_err(|refusal| Failure::NotAManifest { file: file.clone(), refusal })?;
    if manifest.name != *id {
        return Err(Failure::OtherExtension { manifest: file, found: manifest.name, wanted: id.clone() });
    }
    Ok(Extension::new(id, &manifest.version, provenance, &manifest.declared()).coming_from(origins))
}

/// Reads the payload of a host call, or a whole message that holds one. It is checked as the message it would be.
fn call(argument: &str) -> Result<HostCall, Failure> {
    let bytes = match argument.strip_prefix('@') {
        Some(file) => input::read(Path::new(file)).map_err(of_call)?.bytes().to_vec(),
        None => argument.as_bytes().to_vec(),
    };
    let refused = |refusal| Failure::NotACall { refusal };
    let written = refusal::parse_any(&bytes).map_err(refused)?;
    let mut payload = match written.get("type") {
        Some(kind) if kind == "host_call" => written["payload"].clone(),
        Some(_) | None => written,
    };
    if let Value::Object(members) = &mut payload {
        // It joins a call with its result, and there will be none.
        members.entry("call_id").or_insert_with(|| json!("explain"));
    }
    let message = json!({"id": "explain", "version": message::VERSION, "type": "host_call", "payload": payload});
    let message = message::parse_value(&message).map_err(|problems| {
        let path = |path: &str| path.strip_prefix("payload").unwrap_or(path).trim_start_matches('.').to_owned();
        let problems = problems.into_iter().map(|it| Problem { path: path(&it.path), message: it.message });
        refused(Refusal { cause: Cause::Shape, problems: problems.collect() })
    })?;
    match message.payload {
        Payload::HostCall(call) => Ok(call),
        other => unreachable!("a message of type host_call holds a {}", other.kind()),
    }
}

/// Where a call is read from is written otherwise than a file elsewhere, and the advice differs.
fn of_call(failure: Failure) -> Failure {
    match failure {
        Failure::Unreadable { file, source } => Failure::UnreadableCall { file, source },
        other => other,
    }
}

/// The folders that an extension would have: the project, its own, the agent directory.
fn places(arguments: &ExplainArguments, environment: &Environment) -> Result<Places, Failure> {
    let here = std::env::current_dir().map_err(|source| Failure::Unreadable { file: ".".to_owned(), source })?;
    let absolute = |path: &Path| here.join(path);
    let project = arguments.project.as_deref().map_or_else(|| here.clone(), absolute);
    let mut places =
        Places::new(PathStyle::HOST, &text(&project)).map_err(|fault| bad("the project", &project, fault))?;
    if let Some(home) = &environment.home {
        places = places.with_home(&text(home)).map_err(|fault| bad("the home folder", home, fault))?;
    }
    if let Some(agent) = environment.agent_directory.as_deref().map(absolute) {
        places = places.with(Root::Agent, &text(&agent)).map_err(|fault| bad("the agent directory", &agent, fault))?;
    }
    if let Some(own) = arguments.manifest.as_deref().map(absolute).as_deref().and_then(Path::parent) {
        places = places.with(Root::Own, &text(own)).map_err(|fault| bad("the extension's folder", own, fault))?;
    }
    let marks = Marks::default();
    marks.set(workshop::marks::of_settings(&project, environment));
    Ok(places.with_marks(marks).for_extension())
}

fn bad(what: &'static str, path: &Path, source: pi_policy::PathFault) -> Failure {
    Failure::BadPath { what, path: text(path), source }
}

fn text(path: &Path) -> String {
    PathBuf::from(path).to_string_lossy().into_owned()
}

#[expect(clippy::disallowed_methods, reason = "the command line is where the clock enters")]
fn now() -> Moment {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Moment::from_unix_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

fn show(explanation: &Explanation, json: bool, console: &mut Console) {
    if json {
        console.line(&serde_json::to_string(explanation).expect("an explanation is plain JSON"));
        return;
    }
    let tone = match explanation.verdict {
        Verdict::Allow => Tone::Good,
        Verdict::Ask => Tone::Warning,
        Verdict::Deny => Tone::Bad,
    };
    let written = explanation.to_string();
    let decision = format!("{}: ", explanation.verdict);
    for (index, line) in written.lines().enumerate() {
        let line = &*printable(line);
        let line = match line {
            line if index == 0 => console.paint(Tone::Strong, line),
            line if line.starts_with(&decision) => console.paint(tone, line),
            line if line.starts_with("      ") => console.paint(Tone::Quiet, line),
            line if line.starts_with("to change it") => console.paint(Tone::Accent, line),
            line => line.to_owned(),
        };
        console.line(&line);
    }
}
