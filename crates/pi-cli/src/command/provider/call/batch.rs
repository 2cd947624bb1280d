//! `pi provider call batch`: many questions at once, put up, looked at, fetched and ended.

use std::path::Path;

use pi_envelope::{
    Prompt,
    meta::Origin,
    prompt::{Provenance, Said, SystemPart, SystemText},
};
use pi_provider::{
    Call, CallError, Dialect, Mode, Options, Side, StreamEvent,
    assembly::{Asked, Assembly, End},
    batch::{self, Batch, Fetched, Item, Outcome, Start, State},
    operation::Answered,
    request::build,
};
use pi_redact::{Evidence, Redactor};
use pi_transcript::{Block, EntryId, Message, ModelId, StopReason, Usage, json::Open, message::AssistantMessage};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Content, Draft, Need, asker, choose, show};
use crate::{
    amount::counted,
    arguments::call::{BatchArguments, BatchCommand, BatchSubmitArguments, WhomArguments},
    asking,
    choice::Chosen,
    command::ask::tell_findings,
    console::{Console, Reader, printable},
    env::Environment,
    exit::Exit,
    failure::{Failure, ModelFailure},
    input,
    providers::Providers,
    runtime,
};

/// A question of a file.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Question {
    id: String,
    question: String,
}

/// What is done with a batch that there is.
#[derive(Clone, Copy)]
enum Wish {
    Look,
    Fetch,
    Cancel,
}

pub(super) fn run(command: &BatchCommand, environment: &Environment, console: &mut Console) -> Result<Exit, Failure> {
    match command {
        BatchCommand::Submit(arguments) => submit(arguments, environment, console),
        BatchCommand::Status(arguments) => existing(arguments, Wish::Look, environment, console),
        BatchCommand::Fetch(arguments) => existing(arguments, Wish::Fetch, environment, console),
        BatchCommand::Cancel(arguments) => existing(arguments, Wish::Cancel, environment, console),
    }
}

fn submit(arguments: &BatchSubmitArguments, environment: &Environment, console: &mut Console) -> Result<Exit, Failure> {
    let whom = &arguments.whom;
    let mut providers = Providers::load(&whom.sources, environment, console)?;
    let text = input::read_text(&arguments.file)?;
    let questions = questions(&text, &providers.redactor(Evidence::Shapes));
    let questions = questions.map_err(|(line, reason)| ModelFailure::NotAQuestion {
        file: arguments.file.display().to_string(),
        line,
        reason,
    })?;
    runtime::start()?.block_on(async {
        let mut chosen = choose(whom, Need::Batches, &mut providers, console).await?;
        let mut items = items(&questions, arguments, &chosen).map_err(|error| chosen.failure(error))?;
        if whom.dry_run {
            asking::add_headers(&mut chosen);
            for draft in drafted(&mut items, &chosen).map_err(|error| chosen.failure(error))? {
                show(draft, whom, &chosen, &providers, console)?;
            }
            return Ok(Exit::Success);
        }
        // What cannot be asked for at all needs no credential.
        batch::start(&chosen.target(), &items).map_err(|error| chosen.failure(error))?;
        let asker = asker(whom, &mut chosen, &providers, environment, console)?;
        let submitted = batch::submit(&asker.asking(&chosen.target()), &items).await;
        let Answered { value, facts } = submitted.map_err(|error| chosen.failure(error))?;
        tell(&value, whom, &chosen, console);
        tell_findings(&facts.findings, Side::Input, console);
        Ok(Exit::Success)
    })
}

/// What stands for the id of a file that is not there yet.
const FILE: &str = "FILE_ID";

/// The requests of a batch, filtered as they are when they are sent: that with the questions, and where they are a file that
/// which makes a batch of it.
fn drafted(items: &mut [Item], chosen: &Chosen) -> Result<Vec<Draft>, CallError> {
    let target = chosen.target();
    let findings = batch::filter(target.manifest, items)?;
    Ok(match batch::start(&target, items)? {
        Start::Create(request) => vec![Draft { request, findings, content: Content::Usual }],
        Start::Upload(request) => {
            let creation = batch::creation(&target, items, FILE)?;
            let second = Draft { request: creation, findings: Vec::new(), content: Content::Usual };
            vec![Draft { request, findings, content: Content::Lines }, second]
        }
    })
}

fn existing(
    arguments: &BatchArguments,
    wish: Wish,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let whom = &arguments.whom;
    let mut providers = Providers::load(&whom.sources, environment, console)?;
    runtime::start()?.block_on(async {
        let mut chosen = choose(whom, Need::Batches, &mut providers, console).await?;
        if whom.dry_run {
            asking::add_headers(&mut chosen);
            let request = match wish {
                Wish::Look | Wish::Fetch => batch::status(&chosen.target(), &arguments.id),
                Wish::Cancel => batch::cancellation(&chosen.target(), &arguments.id),
            };
            let request = request.map_err(|error| chosen.failure(error))?;
            return show(Draft { request, findings: Vec::new(), content: Content::Usual }, whom, &chosen, &providers, console);
        }
        let asker = asker(whom, &mut chosen, &providers, environment, console)?;
        let target = chosen.target();
        let asking = asker.asking(&target);
        let found = match wish {
            Wish::Look | Wish::Fetch => batch::look(&asking, &arguments.id).await,
            Wish::Cancel => batch::cancel(&asking, &arguments.id).await,
        };
        let Answered { value, .. } = found.map_err(|error| chosen.failure(error))?;
        if matches!(wish, Wish::Look | Wish::Cancel) {
            tell(&value, whom, &chosen, console);
            let has_failed = matches!(value.state, State::Failed | State::Expired | State::Cancelled);
            let is_no = matches!(wish, Wish::Look) && has_failed;
            return Ok(if is_no { Exit::No } else { Exit::Success });
        }
        if !value.state.is_over() {
            tell(&value, whom, &chosen, console);
            console.note("the batch is not over, and nothing can be fetched yet");
            return Ok(Exit::TryAgain);
        }
        let Fetched { outcomes, findings } = if value.has_results() {
            batch::fetch(&asking, &value, &[]).await.map_err(|error| chosen.failure(error))?
        } else {
            Fetched { outcomes: Vec::new(), findings: Vec::new() }
        };
        let (count, has_failed) = (outcomes.len(), outcomes.iter().any(|outcome| outcome.answer.is_err()));
        if count > 0 && console.reader() == Reader::Machine && batch::pricing(&target).is_none() {
            let provider = &chosen.entry.manifest.id;
            console.note(&format!(
                "what the answers cost is not known: batches have prices of their own, and the manifest of {provider} does \
                 not say them (endpoints.batch.price_factor)"
            ));
        }
        for outcome in outcomes {
            tell_outcome(outcome, &chosen, console);
        }
        tell_findings(&findings, Side::Output, console);
        let is_whole = tell_lack(&value, count, &chosen, console);
        Ok(if has_failed || !is_whole { Exit::No } else { Exit::Success })
    })
}

/// Says how a batch is of which there is less than was asked for; whether there is all.
fn tell_lack(batch: &Batch, outcomes: usize, chosen: &Chosen, console: &mut Console) -> bool {
    let missing = batch.missing(outcomes);
    if batch.state == State::Completed && missing.is_none() {
        return true;
    }
    if console.reader() == Reader::Machine {
        let mut line = described(batch, chosen);
        line["missing"] = missing.into();
        console.line(&line.to_string());
    }
    if batch.state != State::Completed {
        let problem = batch.problem.as_ref().map(|problem| format!(": {problem}")).unwrap_or_default();
        let fetched = if outcomes == 0 { ", and there is nothing to fetch" } else { "" };
        let how = if batch.state == State::Cancelled { "was" } else { "has" };
        console.note(&format!("the batch {how} {}{problem}{fetched}", word(batch.state)));
    }
    if let (Some(missing), Some(total)) = (missing, batch.counts.total) {
        let questions = counted(total, "question");
        console.note(&format!("{missing} of {questions} came back with neither an answer nor an error"));
    }
    false
}

/// A question per line: a text, or an object with an id of its own. The number of the line is told where it is neither.
fn questions(text: &str, redactor: &Redactor) -> Result<Vec<Question>, (usize, String)> {
    let mut questions = Vec::new();
    for (place, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let number = place + 1;
        let mut question = if line.trim_start().starts_with('{') {
            serde_json::from_str(line).map_err(|error| (number, error.to_string()))?
        } else {
            Question { id: format!("line-{number}"), question: line.trim().to_owned() }
        };
        question.question = redactor.redact_text(&question.question).into_owned();
        questions.push(question);
    }
    if questions.is_empty() {
        return Err((1, "there is no question in it".to_owned()));
    }
    Ok(questions)
}

fn items(questions: &[Question], arguments: &BatchSubmitArguments, chosen: &Chosen) -> Result<Vec<Item>, CallError> {
    let system = arguments.system.iter().map(|text| SystemPart {
        id: "instructions".to_owned(),
        provenance: Provenance::usual(Origin::User),
        text: SystemText::Instructions { text: text.clone() },
    });
    let mut options = Options::plain();
    options.parameters.extend(arguments.max_tokens.map(|most| ("max_tokens".to_owned(), most.into())));
    let item = |question: &Question| {
        let message = Message::user(question.question.as_str(), asking::milliseconds());
        let said = Said::new(EntryId::from("question"), message, Provenance::usual(Origin::User));
        let prompt = Prompt { tools: Vec::new(), system: system.clone().collect(), messages: vec![said] };
        let call = Call { prompt: &prompt, options: &options };
        Ok(Item { id: question.id.clone(), request: build(&chosen.target(), call, Mode::Whole)? })
    };
    questions.iter().map(item).collect()
}

const fn word(state: State) -> &'static str {
    match state {
        State::Waiting => "waiting",
        State::Running => "running",
        State::Cancelling => "cancelling",
        State::Completed => "completed",
        State::Failed => "failed",
        State::Expired => "expired",
        State::Cancelled => "cancelled",
    }
}

/// How a batch is, for machines.
fn described(batch: &Batch, chosen: &Chosen) -> Value {
    let Batch { id, state, raw_state, counts, problem, files: _ } = batch;
    let counts = json!({"total": counts.total, "succeeded": counts.succeeded, "failed": counts.failed});
    json!({
        "operation": "batch", "model": chosen.name(), "id": id, "state": word(*state), "raw_state": raw_state,
        "over": state.is_over(), "counts": counts, "problem": problem,
    })
}

/// How a batch is, and what to do next.
fn tell(batch: &Batch, whom: &WhomArguments, chosen: &Chosen, console: &mut Console) {
    let Batch { id, state, counts, problem, .. } = batch;
    if console.reader() == Reader::Machine {
        return console.line(&described(batch, chosen).to_string());
    }
    let count = |count: Option<u64>, word: &str| count.map(|count| format!("{count} {word}"));
    let parts = [
        Some(word(*state).to_owned()),
        count(counts.total, "questions"),
        count(counts.succeeded, "answered"),
        count(counts.failed, "failed"),
        problem.clone(),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    console.line(printable(&format!("{id}  {}", parts.join(" · "))).as_ref());
    let next = match (state.is_over(), batch.has_results()) {
        (false, _) => "status",
        (true, true) => "fetch",
        // Nothing more happens to it, and there is nothing of it.
        (true, false) => return,
    };
    let name = chosen.name();
    let named = [
        Some(("--model", whom.model.as_deref().unwrap_or(&name))),
        whom.reach.base_url.as_deref().map(|url| ("--base-url", if may_hold_a_secret(url) { "URL" } else { url })),
        whom.reach.api_key_env.as_deref().map(|variable| ("--api-key-env", variable)),
    ];
    let folders = whom.sources.provider_dir.iter().map(|path| ("--provider-dir", word_of(path)));
    let named = named.into_iter().flatten().map(|(option, value)| (option, value.to_owned()));
    let named: String = named.chain(folders).map(|(option, value)| format!(" {option} {value}")).collect();
    console.remark(&format!("`pi provider call batch {next} {id}{named}` goes on"));
}

/// A path as one word of a command.
fn word_of(path: &Path) -> String {
    let shown = path.display().to_string();
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./\\:~+=,@".contains(letter);
    if shown.chars().all(is_plain) { shown } else { format!("'{}'", shown.replace('\'', r"'\''")) }
}

/// An address is repeated unless somebody may have written a secret into it.
fn may_hold_a_secret(url: &str) -> bool {
    url.contains(['@', '?', '#'])
}

/// An answer of a batch: an object for people and machines alike, in which machines find more.
fn tell_outcome(outcome: Outcome, chosen: &Chosen, console: &mut Console) {
    let Outcome { id, answer } = outcome;
    let message = match answer {
        Ok(events) => assembled(events, chosen),
        Err(error) => {
            let line = json!({"id": id, "error": {"message": crate::failure::told(&error),
                                  "code": error.code().number(), "name": error.code().name()}});
            return console.line(&line.to_string());
        }
    };
    let mut line = json!({"id": id, "text": message.content.iter().filter_map(Block::as_text).collect::<String>()});
    let is_cut = message.stop_reason == Open::Known(StopReason::Length);
    if console.reader() == Reader::Machine {
        let calls: Vec<Value> = message.content.iter().filter_map(call).collect();
        let usage = message.usage.known().filter(|usage| usage.total() > 0);
        line["stop_reason"] = json!(message.stop_reason);
        line["tool_calls"] = calls.into();
        // Zeros would be a claim: what nobody counted, or has a price for, is null.
        line["usage"] = json!(usage);
        let is_known =
            |usage: &&Usage| batch::pricing(&chosen.target()).is_some() || usage.cost.total_from_provider.is_some();
        line["cost"] = json!(usage.filter(is_known).map(|usage| &usage.cost));
    }
    console.line(&line.to_string());
    if is_cut {
        console.note(&format!("{id}: the answer was cut: it reached its largest length"));
    }
    if let Some(problem) = &message.error_message {
        console.note(&format!("{id}: {problem}"));
    }
}

/// The message that an answer is.
fn assembled(events: Vec<StreamEvent>, chosen: &Chosen) -> AssistantMessage {
    let target = chosen.target();
    let mut assembly = Assembly::new(Asked {
        api: Dialect::of(target.manifest, target.entry).api().to_owned(),
        provider: target.manifest.id.clone(),
        model: ModelId::from(chosen.model.as_str()),
        pricing: batch::pricing(&target),
        thinking_level: None,
        timestamp: asking::milliseconds(),
    });
    let mut grown = Vec::new();
    for event in events {
        assembly.push(event, &mut grown);
    }
    assembly.finish(End::Proper, &mut grown)
}

fn call(block: &Block) -> Option<Value> {
    match block {
        Block::ToolCall(call) => Some(json!({"id": call.id, "name": call.name, "arguments": call.arguments})),
        Block::Text(_) | Block::Thinking(_) | Block::Image(_) | Block::Other(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use pi_redact::{Options, Personal};

    use super::*;

    #[test]
    fn question_is_a_line_or_an_object() {
        let redactor =
            Redactor::new(Options { secrets: Vec::new(), evidence: Evidence::Shapes, personal: Personal::Keep });
        let read = |text: &str| questions(text, &redactor);
        let question = |id: &str, question: &str| Question { id: id.to_owned(), question: question.to_owned() };
        assert_eq!(
            read("What?\n\n{\"id\": \"a\", \"question\": \"Why?\"}\n"),
            Ok(vec![question("line-1", "What?"), question("a", "Why?")])
        );
        assert_eq!(read("\n").map_err(|(line, _)| line), Err(1));
        assert_eq!(read("Hi\n{\"id\": 1}").map_err(|(line, _)| line), Err(2));
    }
}
