//! `pi provider call`: what models do beside talking, one request each. Here is whom to ask, and how that is shown; what is
//! asked stands in [`work`], batches in [`batch`].

mod batch;
mod work;

use pi_provider::{
    Request, Side,
    assembly::usage,
    catalog::Found,
    client::{Facts, Timeouts},
    guardrail::Finding,
    manifest::Capability,
};
use pi_redact::Evidence;
use serde_json::{Value, json};

use self::work::{Done, Work};
use crate::{
    arguments::{
        call::{CallCommand, WhomArguments},
        model::Ability,
    },
    asking::{self, Asker},
    choice::{self, Chosen, OwnSettings, Wanted, answers, ending::has_ended},
    command::{
        ask::{cost, dollars, tell_findings, tokens},
        models::can,
    },
    console::{Console, Reader, printable},
    env::Environment,
    exit::Exit,
    failure::{Failure, ModelFailure},
    input,
    providers::{self, DEMO, Providers, Shown},
    runtime,
};

pub(super) fn run(command: &CallCommand, environment: &Environment, console: &mut Console) -> Result<Exit, Failure> {
    let whom = match command {
        CallCommand::Batch(command) => return batch::run(command, environment, console),
        CallCommand::Embed(arguments) => &arguments.whom,
        CallCommand::Rerank(arguments) => &arguments.whom,
        CallCommand::Draw(arguments) => &arguments.whom,
        CallCommand::Transcribe(arguments) => &arguments.whom,
        CallCommand::Speak(arguments) => &arguments.whom,
    };
    let mut providers = Providers::load(&whom.sources, environment, console)?;
    let work = Work::read(command, &providers.redactor(Evidence::Shapes))?;
    // Nothing is paid for that could not be kept.
    for path in work.outputs() {
        input::check_new(&path)?;
    }
    runtime::start()?.block_on(async {
        let mut chosen = choose(whom, Need::Ability(work.ability()), &mut providers, console).await?;
        if whom.dry_run {
            asking::add_headers(&mut chosen);
            let draft = work.draft(&chosen.target()).map_err(|error| chosen.failure(error))?;
            return show(draft, whom, &chosen, &providers, console);
        }
        // What cannot be asked for at all needs no credential.
        work.draft(&chosen.target()).map_err(|error| chosen.failure(error))?;
        let asker = asker(whom, &mut chosen, &providers, environment, console)?;
        let done = work.run(&asker.asking(&chosen.target()), console).await.map_err(|error| chosen.failure(error))?;
        for (path, content) in &done.files {
            if let Some(folder) = input::make_folder_of(path)? {
                console.note(&format!("the folder {} was not there; it was made", folder.display()));
            }
            input::write_new(path, content)?;
        }
        tell(work.word(), &done, &chosen, console);
        if done.unwritten > 0 {
            console.note("the provider answered with an address instead of a picture, so no file was written for it");
            return Ok(Exit::No);
        }
        Ok(Exit::Success)
    })
}

/// What somebody must be able to do.
#[derive(Clone, Copy)]
enum Need {
    /// The model itself.
    Ability(Ability),
    /// A model that answers, of a provider that takes batches.
    Batches,
}

/// Whoever is named, or the first who can and has a credential; then a server on this machine. A provider that is named
/// without a model is asked for its first that can.
async fn choose(
    whom: &WhomArguments,
    need: Need,
    providers: &mut Providers,
    console: &mut Console,
) -> Result<Chosen, Failure> {
    let wanted = Wanted {
        model: whom.model.as_deref(),
        provider: None,
        base_url: whom.reach.base_url.as_deref(),
        api_key_env: whom.reach.api_key_env.as_deref(),
    };
    if wanted.is_anybody() {
        let alone = match need {
            Need::Ability(ability) => lone_provider(wanted, providers).map(|provider| (provider, ability)),
            // Whoever answers questions elsewhere answers them here.
            Need::Batches => None,
        };
        if let Some((provider, _)) = alone.as_ref().filter(|_| wanted.base_url.is_none()) {
            // A server on this machine tells its models itself.
            providers.look_for(provider, console).await;
        }
        let able = alone.as_ref().and_then(|(provider, _)| able_of(provider, need, providers));
        let wanted = Wanted { model: able.as_deref().or(wanted.model), ..wanted };
        let chosen = choice::choose(wanted, None, providers, console).await?;
        if need.is_missed_by(&chosen, providers) {
            let is_described = chosen.known.as_ref().is_some_and(|model| model.modalities.is_some());
            if let Some((provider, ability)) = alone.filter(|_| is_described) {
                // Nobody named this model, and it is known to be for something else.
                return Err(ModelFailure::NoneCan { provider, ability: ability.word() }.into());
            }
            console.note(&format!("{} is not known to do this", chosen.name()));
        }
        return Ok(chosen);
    }
    if able(need, providers).is_none() {
        providers.look_around(console).await;
    }
    let found = able(need, providers).ok_or_else(|| nobody(need, providers))?;
    let name = match need {
        Need::Ability(_) => found.name(),
        Need::Batches => found.entry.manifest.id.to_string(),
    };
    let chosen = choice::choose(Wanted { model: Some(&name), ..wanted }, None, providers, console).await?;
    let what = match need {
        Need::Ability(_) => "the first model that can do this and can be asked now",
        Need::Batches => "the usual model of the first provider that takes batches and can be asked now",
    };
    console.remark(&format!("asking {}: {what}; --model names another", chosen.name()));
    Ok(chosen)
}

/// The first model of which its manifest says that it can, whose provider declares it, that does not end, and that can be
/// asked now.
fn able(need: Need, providers: &Providers) -> Option<Found<'_>> {
    let is_free = |found: &Found<'_>| {
        let shown = Shown::of(&providers.credential(found.entry, None));
        found.entry.is_trusted() && providers.is_available(found.entry, &shown)
    };
    let able: Vec<Found<'_>> =
        providers.catalog.models().filter(|found| need.is_met_by(found) && is_free(found)).collect();
    able.iter().find(|found| stays(found)).or(able.first()).cloned()
}

/// The id of the provider that was named without a model. The demo answers inside pi, so at an address its name is that of a
/// model.
fn lone_provider(wanted: Wanted<'_>, providers: &Providers) -> Option<String> {
    let name = wanted.model.filter(|name| wanted.base_url.is_none() || *name != DEMO)?;
    providers.trusted(name).map(|entry| entry.manifest.id.to_string())
}

/// The first model of a provider that can, whether it can be asked now or not.
fn able_of(provider: &str, need: Need, providers: &Providers) -> Option<String> {
    let entry = providers.catalog.provider(provider)?;
    let is_its = |found: &Found<'_>| found.entry.manifest.id == entry.manifest.id;
    let able: Vec<Found<'_>> =
        providers.catalog.models().filter(|found| is_its(found) && need.is_met_by(found)).collect();
    able.iter().find(|found| stays(found)).or(able.first()).map(Found::name)
}

/// Whether nobody said that it ends.
fn stays(found: &Found<'_>) -> bool {
    found.model.is_none_or(|model| model.ends_on.is_none() && !has_ended(model))
}

fn nobody(need: Need, providers: &Providers) -> ModelFailure {
    match need {
        Need::Ability(ability) => ModelFailure::NobodyCan { ability: ability.word() },
        Need::Batches => {
            let able = providers.catalog.models().filter(|found| need.is_met_by(found));
            let mut names: Vec<String> = able.map(|found| found.entry.manifest.id.to_string()).collect();
            names.sort_unstable();
            names.dedup();
            ModelFailure::NobodyTakesBatches { providers: names }
        }
    }
}

impl Need {
    /// Whether it is known of a model that it does not meet it. Of a provider that cannot do it at all an error tells.
    fn is_missed_by(self, chosen: &Chosen, providers: &Providers) -> bool {
        let declares = |capability| chosen.entry.manifest.capabilities.has(capability);
        let is_declared = match self {
            Need::Ability(ability) => operation(ability).is_none_or(declares),
            Need::Batches => declares(Capability::Batch),
        };
        is_declared && chosen.known.is_some() && !self.is_met_by_chosen(chosen, providers)
    }

    fn is_met_by_chosen(self, chosen: &Chosen, providers: &Providers) -> bool {
        providers.catalog.models().any(|found| found.name() == chosen.name() && self.is_met_by(&found))
    }

    fn is_met_by(self, found: &Found<'_>) -> bool {
        let declares = |capability| found.entry.manifest.capabilities.has(capability);
        match self {
            Need::Ability(ability) => can(found, ability) && operation(ability).is_none_or(declares),
            Need::Batches => answers(found.model) && declares(Capability::Batch),
        }
    }
}

/// The operation by which a model does this, where it is none of a chat.
const fn operation(ability: Ability) -> Option<Capability> {
    match ability {
        Ability::Draws => Some(Capability::ImageGeneration),
        Ability::Speaks => Some(Capability::Tts),
        Ability::Embeds => Some(Capability::Embeddings),
        Ability::Ranks => Some(Capability::Rerank),
        Ability::Transcribes => Some(Capability::Stt),
        Ability::Tools
        | Ability::Thinking
        | Ability::Json
        | Ability::Vision
        | Ability::Pdf
        | Ability::Audio
        | Ability::Video => None,
    }
}

fn asker(
    whom: &WhomArguments,
    chosen: &mut Chosen,
    providers: &Providers,
    environment: &Environment,
    console: &mut Console,
) -> Result<Asker, Failure> {
    let usual = providers::timeouts(&OwnSettings::read(environment, console).settings);
    let timeouts = Timeouts { total: whom.timeout.or(usual.total), ..usual };
    let asker = Asker::new(&whom.reach, chosen, providers, timeouts)?;
    if let Some(note) = asker.in_the_clear(chosen) {
        console.note(&note);
    }
    asker.stop_on_interrupt();
    Ok(asker)
}

/// A request as it would be sent, and what the guardrails found in it.
struct Draft {
    request: Request,
    findings: Vec<Finding>,
    content: Content,
}

/// What a body is made of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    /// Of JSON, or of what nobody can read.
    Usual,
    /// Of lines in a form, which can be read.
    Lines,
}

/// Shows a request instead of sending it. A body that is no text is only counted.
fn show(
    draft: Draft,
    whom: &WhomArguments,
    chosen: &Chosen,
    providers: &Providers,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let Draft { mut request, findings, content } = draft;
    let resolved = asking::resolve(&whom.reach, chosen, providers)?;
    request.doubt_credential(resolved.credential.as_ref());
    let credential = Shown::of(&resolved);
    let text = || (content == Content::Lines).then(|| String::from_utf8_lossy(&request.body).into());
    let body = serde_json::from_slice::<Value>(&request.body).ok().or_else(text);
    if console.reader() == Reader::Machine {
        let headers: serde_json::Map<String, Value> =
            request.headers.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
        let line = json!({
            "model": chosen.name(), "method": request.method, "url": request.address.shown(), "headers": headers,
            "body": body, "bytes": request.body.len(), "credential": credential, "changes": request.changes,
            "findings": findings,
        });
        console.line(&line.to_string());
        tell_findings(&findings, Side::Input, console);
        return Ok(Exit::Success);
    }
    let counted = Request { body: Vec::new(), ..request.clone() };
    let shown = if body.is_some() || request.body.is_empty() { request.show() } else { counted.show() };
    console.line(printable(shown.trim_end()).as_ref());
    if body.is_none() && !request.body.is_empty() {
        console.remark(&format!("the body has {} bytes and is not shown", request.body.len()));
    }
    tell_findings(&findings, Side::Input, console);
    console.remark(&format!("the credential: {}", credential.words()));
    Ok(Exit::Success)
}

/// The answer, and what it cost.
fn tell(operation: &str, done: &Done, chosen: &Chosen, console: &mut Console) {
    let used = done.usage.as_ref().map(|counted| usage(counted, chosen.pricing().as_ref()));
    let spent = used.as_ref().and_then(|used| cost(used, chosen));
    let files: Vec<String> = done.files.iter().map(|(path, _)| path.display().to_string()).collect();
    if console.reader() == Reader::Machine {
        let Facts { attempts, request_id, changes, findings, .. } = &done.facts;
        let line = json!({
            "operation": operation, "model": chosen.name(), "result": done.result, "files": files, "usage": used,
            "cost": used.as_ref().filter(|_| spent.is_some()).map(|used| &used.cost), "attempts": attempts,
            "request_id": request_id, "changes": changes, "findings": findings,
        });
        console.line(&line.to_string());
        return tell_all_findings(findings, console);
    }
    for line in &done.lines {
        console.line(printable(line).as_ref());
    }
    for change in &done.facts.changes {
        console.note(&change.to_string());
    }
    tell_all_findings(&done.facts.findings, console);
    let mut parts = vec![chosen.name()];
    parts.extend(files.iter().map(|file| format!("written to {file}")));
    parts.extend(used.as_ref().map(tokens));
    parts.extend(spent.map(dollars));
    console.remark(&parts.join(" · "));
}

/// What the provider's guardrails found, in what was sent and in what came back.
fn tell_all_findings(findings: &[Finding], console: &mut Console) {
    tell_findings(findings, Side::Input, console);
    tell_findings(findings, Side::Output, console);
}
