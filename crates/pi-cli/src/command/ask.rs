//! `pi ask`: one question to one model, and its answer as it comes.

mod lines;
mod media;
mod prompt;
mod screen;

use pi_envelope::Prompt;
use pi_provider::{
    Call, Options, ToolChoice,
    client::Facts,
    request::{Mode, build},
};
use pi_transcript::{StopReason, Usage, json::Open, message::AssistantMessage};
use serde_json::{Value, json};

use self::screen::Screen;
use crate::{
    amount::grouped,
    arguments::model::AskArguments,
    asking::{self, Answered, Asker, Manner, News, Wish},
    choice::{self, Chosen, Wanted},
    console::Console,
    env::Environment,
    exit::Exit,
    failure::{Failure, ModelFailure},
    providers::{Providers, Shown},
    runtime,
};

pub(crate) fn run(arguments: &AskArguments, environment: &Environment, console: &mut Console) -> Result<Exit, Failure> {
    let prompt = prompt::read(arguments, asking::milliseconds())?;
    let options = prompt::options(&arguments.how)?;
    check_tool_choice(&options.tool_choice, &prompt)?;
    let mut providers = Providers::load(&arguments.sources, environment, console)?;
    let wanted = Wanted { model: arguments.model.as_deref(), base_url: arguments.reach.base_url.as_deref() };
    runtime::start()?.block_on(async {
        let mut chosen = choice::choose(wanted, &mut providers, environment, console).await?;
        if !choice::answers(chosen.known.as_ref()) {
            return Err(ModelFailure::NotForQuestions { model: chosen.name() }.into());
        }
        if arguments.dry_run {
            return dry_run(arguments, &chosen, &prompt, &options, &providers, console);
        }
        let asker = Asker::new(&arguments.reach, &mut chosen, &providers)?;
        introduce(&chosen, arguments.json, console);
        asker.stop_on_interrupt();
        ask(arguments, &asker, &chosen, &prompt, &options, console).await
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

/// Says who is asked and why, unless nobody could be surprised.
fn introduce(chosen: &Chosen, json: bool, console: &mut Console) {
    if chosen.why != choice::Why::Named {
        console.remark(&format!("asking {}: {}", chosen.name(), chosen.why));
    }
    if chosen.is_demo() && !json {
        console.remark("this is the demo: it knows pi and little else, and no real model is behind it");
    }
}

async fn ask(
    arguments: &AskArguments,
    asker: &Asker,
    chosen: &Chosen,
    prompt: &Prompt,
    options: &Options,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let manner = if arguments.no_stream { Manner::Whole } else { Manner::Stream };
    let mut screen = Screen::default();
    let take = |news: News<'_>| {
        match news {
            News::Opened(_) if arguments.json => {}
            News::Opened(facts) => tell_changes(facts, arguments.how.thinking.is_some(), console),
            News::Event(event) if arguments.json => {
                console.line(&lines::object(event).to_string());
                console.flush();
            }
            News::Event(event) => screen.show(event, console),
        }
        // Nobody reads any more, and every further word may cost something.
        if console.is_lost() { Wish::Enough } else { Wish::More }
    };
    let answered = asker.ask(chosen, prompt, options, manner, take).await;
    if !arguments.json {
        screen.finish(console);
    }
    let answered = answered.map_err(ModelFailure::Call)?;
    if arguments.json {
        console.line(&last_line(&answered, chosen).to_string());
    } else {
        conclude(&answered, chosen, console);
    }
    Ok(Exit::Success)
}

/// What is known at the end, for a machine.
fn last_line(answered: &Answered, chosen: &Chosen) -> Value {
    let facts = &answered.facts;
    let usage = answered.message.usage.known().filter(|usage| usage.total() > 0);
    let said = answered.message.usage.known().filter(|usage| usage.cost.total_from_provider.is_some());
    let has_prices = chosen.known.as_ref().is_some_and(|it| it.pricing.is_some());
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
    })
}

/// What was left out of the request or changed in it.
fn tell_changes(facts: &Facts, wants_thinking: bool, console: &mut Console) {
    // That a model always thinks is news only to somebody who asked it not to.
    for change in facts.changes.iter().filter(|it| wants_thinking || it.option != "thinking") {
        console.note(&change.to_string());
    }
}

/// What is known at the end, for people.
fn conclude(answered: &Answered, chosen: &Chosen, console: &mut Console) {
    match reason(&answered.message) {
        Some(StopReason::Length) => console.note("the answer was cut: it reached its largest length"),
        Some(StopReason::Error) => {
            let why = answered.message.error_message.as_deref().unwrap_or("the provider did not say why");
            console.note(&format!("the answer ended in an error: {why}"));
        }
        _ => {}
    }
    let mut parts = vec![chosen.name()];
    parts.extend(answered.message.usage.known().map(tokens));
    if !chosen.is_demo() {
        parts.extend(answered.message.usage.known().and_then(|usage| cost(usage, chosen)));
    }
    parts.push(format!("{:.1} s", answered.time.as_secs_f64()));
    if answered.facts.attempts > 1 {
        parts.push(format!("{} attempts", answered.facts.attempts));
    }
    console.remark(&parts.join(" · "));
}

fn reason(message: &AssistantMessage) -> Option<StopReason> {
    match &message.stop_reason {
        Open::Known(reason) => Some(*reason),
        Open::Other(_) => None,
    }
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
    format!("{} tokens in{cached}, {} out{thought}", grouped(sent), grouped(usage.output))
}

/// Dollars in words; nothing if no price is known.
pub(crate) fn cost(usage: &Usage, chosen: &Chosen) -> Option<String> {
    if let Some(said) = &usage.cost.total_from_provider {
        return Some(dollars(said.as_f64()));
    }
    chosen.known.as_ref()?.pricing?;
    if usage.total() == 0 {
        return None;
    }
    Some(dollars(usage.cost.total.as_f64()))
}

fn dollars(amount: f64) -> String {
    if amount == 0.0 { "free".to_owned() } else { format!("${amount:.6}") }
}

/// Shows the request instead of sending it.
fn dry_run(
    arguments: &AskArguments,
    chosen: &Chosen,
    prompt: &Prompt,
    options: &Options,
    providers: &Providers,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let mode = if arguments.no_stream { Mode::Whole } else { Mode::Stream };
    let request = build(&chosen.target(), Call { prompt, options }, mode).map_err(ModelFailure::Call)?;
    let credential = Shown::of(&asking::resolve(&arguments.reach, chosen, providers)?);
    if arguments.json {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let line = json!({
            "model": chosen.name(), "why": chosen.why.to_string(), "method": request.method,
            "url": shown_address(&request.url), "headers": headers(&request.headers), "body": body,
            "credential": credential, "changes": request.changes,
        });
        console.line(&line.to_string());
        return Ok(Exit::Success);
    }
    introduce(chosen, false, console);
    console.line(crate::console::printable(request.show().trim_end()).as_ref());
    let where_from = match (credential.available, credential.words()) {
        (true, words) if words == "not needed" => "no credential is needed".to_owned(),
        (true, words) => format!("the credential (not shown) comes from {words}"),
        (false, words) => format!("it could not be sent: {words}"),
    };
    console.remark(&where_from);
    Ok(Exit::Success)
}

fn headers(headers: &[(String, String)]) -> Value {
    headers
        .iter()
        .map(|(name, value)| (name.clone(), Value::from(value.as_str())))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// An address that somebody wrote with a password in it is shown without.
fn shown_address(url: &url::Url) -> String {
    let mut url = url.clone();
    if url.password().is_some() && url.set_password(Some("***")).is_err() {
        url.set_path("/***");
    }
    url.to_string()
}
