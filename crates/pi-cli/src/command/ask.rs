//! `pi ask`: one question to one model, and its answer as it comes.

mod binary;
mod dry_run;
pub(super) mod form;
mod lines;
mod media;
mod prompt;
mod room;
mod screen;
mod senses;

use pi_envelope::Prompt;
use pi_provider::{
    Call, Side, StreamEvent, ToolChoice, assembly,
    client::{Facts, Timeouts},
    guardrail::Finding,
    manifest::resilience::FilterAction,
    request::{Change, ChangeKind},
};
use pi_redact::Evidence;
use pi_transcript::{Spent, StopReason, ThinkingLevel, ToolCallId, Usage, json::Open};
use serde_json::{Value, json};

use self::{form::Form, prompt::Asked, screen::Screen};
use crate::{
    amount::{counted, grouped},
    arguments::model::AskArguments,
    asking::{self, Answered, Asker, Manner, News, Unanswered, Wish},
    choice::{self, Chosen, OwnSettings, Spoken, Wanted},
    complaint::Complaint,
    console::{Console, Reader},
    env::Environment,
    exit::Exit,
    failure::{Failure, ModelFailure},
    providers::{self, Providers},
    runtime,
};

/// A sum below this is not written out, in dollars.
const LEAST_SHOWN: f64 = 0.000_001;

/// Changes of these are no answer to anything that somebody asked for.
const UNASKED: [&str; 2] = ["credential", "stream"];

pub(crate) fn run(arguments: &AskArguments, environment: &Environment, console: &mut Console) -> Result<Exit, Failure> {
    let mut providers = Providers::load(&arguments.sources, environment, console)?;
    let Asked { prompt, hidden, attached } =
        prompt::read(arguments, &providers.redactor(Evidence::Shapes), asking::milliseconds())?;
    let spoken = Spoken::of(arguments.model.as_deref(), arguments.provider.as_deref(), &providers);
    let form = prompt::form(&arguments.how)?;
    let options = prompt::options(&arguments.how, spoken.level, &form);
    check_tool_choice(&options.tool_choice, &prompt)?;
    let wanted = Wanted {
        model: spoken.model.as_deref(),
        provider: spoken.provider.as_deref(),
        base_url: arguments.reach.base_url.as_deref(),
        api_key_env: arguments.reach.api_key_env.as_deref(),
    };
    runtime::start()?.block_on(async {
        let own = OwnSettings::read(environment, console);
        let preference = if wanted.is_anybody() { None } else { own.preference() };
        let mut chosen = choice::choose(wanted, preference, &mut providers, console).await?;
        if !choice::answers(chosen.known.as_ref()) {
            return Err(ModelFailure::NotForQuestions { model: chosen.name() }.into());
        }
        senses::check(&prompt, &attached, &chosen, &mut providers, console).await?;
        if hidden > 0 {
            let them = counted(hidden, "secret");
            console
                .note(&format!("{them} in what is attached or piped in: masked, so the model does not see what it is"));
        }
        let call = Call { prompt: &prompt, options: &options };
        if arguments.dry_run {
            return dry_run::show(arguments, &mut chosen, call, &providers, console);
        }
        let usual = providers::timeouts(&own.settings);
        let timeouts = Timeouts { total: arguments.timeout.or(usual.total), ..usual };
        let mut asker = Asker::new(&arguments.reach, &mut chosen, &providers, timeouts)?;
        introduce(&chosen, call, console);
        if let Some(note) = asker.in_the_clear(&chosen) {
            console.note(&note);
        }
        asker.stop_on_interrupt();
        let level = arguments.how.thinking.or(spoken.level);
        let asking = Asking { arguments, chosen: &chosen, form: &form, hidden, level };
        ask(&asking, &mut asker, call, console).await
    })
}

/// A tool that must be called must be offered.
fn check_tool_choice(choice: &ToolChoice, prompt: &Prompt) -> Result<(), ModelFailure> {
    match choice {
        ToolChoice::Required if prompt.tools.is_empty() => Err(ModelFailure::NoTools),
        ToolChoice::Tool(name) if prompt.tools.iter().all(|tool| tool.definition.name != *name) => {
            Err(ModelFailure::NoSuchTool { name: name.clone() })
        }
        ToolChoice::Auto | ToolChoice::None | ToolChoice::Required | ToolChoice::Tool(_) => Ok(()),
    }
}

/// Says who is asked and why, unless nobody could be surprised, and whether it is too much.
fn introduce(chosen: &Chosen, call: Call<'_>, console: &mut Console) {
    if chosen.why != choice::Why::Named {
        console.remark(&format!("asking {}: {}", chosen.name(), chosen.why));
    }
    if chosen.is_demo() && console.reader() == Reader::Person {
        console.remark("this is the demo: it knows pi and little else, and no real model is behind it");
    }
    if let Some(shortage) = room::shortage(call.prompt, call.options, chosen) {
        console.note(&shortage);
    }
}

/// What is known before the question is asked.
struct Asking<'a> {
    arguments: &'a AskArguments,
    chosen: &'a Chosen,
    form: &'a Form,
    /// How many secrets were hidden in it.
    hidden: usize,
    /// How hard it is to think, if anybody said.
    level: Option<ThinkingLevel>,
}

async fn ask(asking: &Asking<'_>, asker: &mut Asker, call: Call<'_>, console: &mut Console) -> Result<Exit, Failure> {
    let Asking { arguments, chosen, .. } = *asking;
    let reader = console.reader();
    let manner = if arguments.no_stream { Manner::Whole } else { Manner::Stream };
    let mut screen = Screen::default();
    let mut reason = None;
    let take = |news: News<'_>| {
        if let News::Event(event) = &news {
            reason = stop_reason(event).or(reason.take());
        }
        match (news, reader) {
            (News::Retrying(retry), _) => console.remark(&retry.to_string()),
            (News::Opened(facts), Reader::Machine) => tell_findings(&facts.findings, Side::Input, console),
            (News::Opened(facts), Reader::Person) => {
                tell_changes(facts, asking, console);
                tell_findings(&facts.findings, Side::Input, console);
            }
            (News::Event(event), Reader::Machine) => {
                console.line(&lines::object(event).to_string());
                console.flush();
            }
            (News::Event(event), Reader::Person) => screen.show(event, console),
        }
        // Nobody reads any more, and every further word may cost something.
        if console.is_lost() { Wish::Enough } else { Wish::More }
    };
    let answered = asker.ask(chosen, call, manner, take).await;
    screen.finish(console);
    let answered = match answered {
        Ok(answered) => answered,
        Err(Unanswered { error, partial: None, .. }) => return Err(chosen.failure(error).into()),
        Err(Unanswered { error, partial: Some(partial), .. }) => {
            return Ok(break_off(&partial, chosen.failure(error), asking, console));
        }
    };
    tell_findings(&answered.facts.findings, Side::Output, console);
    tell_unread(&answered.facts, console);
    let lack = form::lack(&answered.message);
    let cut = assembly::unfinished_calls(&answered.message);
    let fault = form::fault(asking.form, &answered.message).filter(|_| lack.is_none());
    let is_refused = answered.message.error_message.is_some();
    let malformed = assembly::malformed_calls(&answered.message);
    let missing = form::missing_call(&call.options.tool_choice, &answered.message);
    let is_usable = cut.is_empty() && malformed.is_empty() && missing.is_none();
    let is_answer = lack.is_none() && fault.is_none() && !is_refused && is_usable;
    let exit = if is_answer { Exit::Success } else { Exit::No };
    match reader {
        Reader::Machine => {
            let mut last = last_line(&answered, asking, exit);
            last["form_fault"] = fault.clone().into();
            console.line(&last.to_string());
        }
        Reader::Person => conclude(&answered, chosen, console),
    }
    if let Some(lack) = lack {
        let told = lack.told(&answered.message.stop_reason, reason.as_deref());
        console.note(&format!("the answer is empty: {told}"));
    }
    for id in &cut {
        console.note(&format!("call {id} ends in the middle of its arguments: it must not be run"));
    }
    for (id, reason) in malformed {
        console.note(&format!("the arguments of call {id} are no JSON object ({reason}): it must not be run"));
    }
    if let Some(word) = assembly::paused(&answered.message) {
        console.note(&format!("the provider paused its turn ({word}): the answer may go on if it is asked to"));
    }
    if let Some(missing) = missing {
        console.note(&missing);
    }
    if let Some(fault) = &fault {
        console.note(&format!("the answer is not what was asked for: {fault}"));
    }
    Ok(exit)
}

/// Tells why an answer broke off. A machine reads it as an event, and once more in the last object beside what had come.
fn break_off(partial: &Answered, failure: ModelFailure, asking: &Asking<'_>, console: &mut Console) -> Exit {
    tell_findings(&partial.facts.findings, Side::Output, console);
    let event = failure.call().map(lines::broken);
    let failure = Failure::from(failure);
    let exit = failure.exit();
    if console.reader() == Reader::Machine {
        if let Some(event) = event {
            console.line(&event.to_string());
        }
        let mut last = last_line(partial, asking, exit);
        last["error"] = Complaint::about(&failure).into_content();
        console.line(&last.to_string());
    }
    console.complaint(&failure.told());
    console.hint(&failure.hint());
    exit
}

/// The provider's word for why the answer ended.
fn stop_reason(event: &StreamEvent) -> Option<String> {
    let (StreamEvent::FinalCandidate { finish, .. } | StreamEvent::StreamEnd { finish }) = event else {
        return None;
    };
    finish.as_ref().map(|finish| finish.raw.clone())
}

/// What is known at the end, for a machine.
fn last_line(answered: &Answered, asking: &Asking<'_>, exit: Exit) -> Value {
    let (facts, chosen) = (&answered.facts, asking.chosen);
    let usage = answered.message.usage.known().filter(|usage| usage.total() > 0);
    let said = answered.message.usage.known().filter(|usage| usage.cost.total_from_provider.is_some());
    let has_prices = chosen.pricing().is_some();
    let is_refusal = assembly::is_refusal(&answered.message);
    let malformed: Vec<ToolCallId> =
        assembly::malformed_calls(&answered.message).into_iter().map(|(id, _)| id).collect();
    json!({
        "message": answered.message,
        // Zeros would be a claim: what nobody counted, or has a price for, is null.
        "counted": usage.is_some(),
        "usage": usage,
        "cost": said.or(usage.filter(|_| has_prices)).map(|usage| &usage.cost),
        "model": chosen.name(),
        "demo": chosen.is_demo(),
        "why": chosen.why.to_string(),
        "milliseconds": answered.time.as_millis(),
        "first_event_milliseconds": answered.first.map(|it| it.as_millis()),
        "attempts": facts.attempts,
        "request_id": facts.request_id,
        "limits": facts.limits,
        "changes": facts.changes,
        "findings": facts.findings,
        "unread": facts.unread,
        "masked": asking.hidden,
        "empty": form::lack(&answered.message).is_some(),
        "refusal": answered.message.error_message.as_ref().filter(|_| is_refusal),
        "error": answered.message.error_message.as_ref().filter(|_| !is_refusal).map(|message| json!({"message": message})),
        "form_fault": null,
        "exit_code": exit as u8,
        "unfinished_calls": assembly::unfinished_calls(&answered.message),
        "malformed_calls": malformed,
        "missing_call": form::missing_call(&asking.arguments.how.tool_choice, &answered.message),
    })
}

/// Pieces of the answer that nobody understood: it may be less than what was sent.
fn tell_unread(facts: &Facts, console: &mut Console) {
    if facts.unread > 0 {
        let pieces = counted(facts.unread, "piece");
        console.note(&format!("{pieces} of the answer could not be read and left out"));
    }
}

/// What somebody asked for and what was left out of the request or changed in it. What was added, or concerns nobody's
/// wish, is shown by `--dry-run` and `--json`.
fn tell_changes(facts: &Facts, asking: &Asking<'_>, console: &mut Console) {
    // That a credential travels in the clear was told before, and so were headers without their values.
    let is_told = |option: &str| UNASKED.contains(&option) || option.starts_with("header ");
    let is_wish = |change: &&Change| change.kind != ChangeKind::Added && !is_told(&change.option);
    for change in facts.changes.iter().filter(is_wish) {
        if change.option == "thinking" && asking.level.is_none() {
            // Nobody asked for anything, so nothing went wrong; but thinking takes time and costs.
            console.remark(&format!("it thinks without being asked to: {}", change.reason));
        } else {
            console.note(&change.to_string());
        }
    }
}

/// What the provider's guardrails found on one side.
pub(super) fn tell_findings(findings: &[Finding], side: Side, console: &mut Console) {
    for finding in findings.iter().filter(|finding| finding.side == side) {
        match finding.action {
            FilterAction::Warn | FilterAction::Mask | FilterAction::Block => console.note(&finding.to_string()),
            FilterAction::Log => console.remark(&finding.to_string()),
        }
    }
}

/// What is known at the end, for people.
fn conclude(answered: &Answered, chosen: &Chosen, console: &mut Console) {
    match &answered.message.stop_reason {
        Open::Known(StopReason::Length) => console.note("the answer was cut: it reached its largest length"),
        Open::Known(StopReason::Error) => {
            let why = answered.message.error_message.as_deref().unwrap_or("the provider did not say why");
            console.note(why);
        }
        Open::Known(
            StopReason::Stop | StopReason::ToolUse | StopReason::Aborted | StopReason::Pending | StopReason::Deferred,
        )
        | Open::Other(_) => {}
    }
    let mut parts = vec![chosen.name()];
    parts.extend(answered.message.usage.known().map(tokens));
    if !chosen.is_demo() {
        parts.extend(answered.message.usage.known().and_then(|usage| cost(usage, chosen)).map(dollars));
    }
    parts.push(format!("{:.1} s", answered.time.as_secs_f64()));
    if answered.facts.attempts > 1 {
        parts.push(format!("{} attempts", answered.facts.attempts));
    }
    console.remark(&parts.join(" · "));
}

/// Tokens in words: what was sent, what came back, and how much of each was cached or thought.
pub(crate) fn tokens(usage: &Usage) -> String {
    let sent = usage.input + usage.cache_read + usage.cache_write;
    if usage.total() == 0 {
        return "tokens were not counted".to_owned();
    }
    let cached = if usage.cache_read > 0 { format!(" ({} cached)", grouped(usage.cache_read)) } else { String::new() };
    let thought = match usage.reasoning {
        Some(thought) if thought > 0 => format!(" ({} thinking)", grouped(thought)),
        _ => String::new(),
    };
    format!("{} in{cached}, {} out{thought}", counted(sent, "token"), grouped(usage.output))
}

/// What it cost; nothing if no price is known.
pub(crate) fn cost(usage: &Usage, chosen: &Chosen) -> Option<Spent> {
    if usage.cost.total_from_provider.is_none() {
        chosen.pricing()?;
        if usage.total() == 0 {
            return None;
        }
    }
    Some(usage.cost.spent())
}

/// Dollars in words.
pub(crate) fn dollars(spent: Spent) -> String {
    match spent {
        Spent::Exact(0.0) => "free".to_owned(),
        // Six digits would say that it cost nothing.
        Spent::Exact(sum) if sum > 0.0 && sum < LEAST_SHOWN => format!("< ${LEAST_SHOWN:.6}"),
        Spent::Exact(_) | Spent::Between(..) | Spent::AtLeast(_) => spent.words(6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_of_something_is_never_nothing() {
        for (spent, expected) in [
            (Spent::Exact(0.0), "free"),
            (Spent::Exact(8e-8), "< $0.000001"),
            (Spent::Exact(1e-6), "$0.000001"),
            (Spent::Exact(0.25), "$0.250000"),
        ] {
            assert_eq!(dollars(spent), expected);
        }
    }
}
