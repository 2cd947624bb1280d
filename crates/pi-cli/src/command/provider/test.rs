//! `pi provider test`: three small requests, and how each went: a plain question, a stream, a tool call.

use std::time::Duration;

use pi_envelope::{
    Prompt,
    meta::Origin,
    prompt::{Provenance, Said, Tool},
};
use pi_provider::{
    Call, CallError, ErrorCode, Options, StreamEvent, ToolChoice, client::Timeouts, manifest::Capability,
};
use pi_transcript::{Block, EntryId, Message, Spent, ToolDefinition, Usage, json::Extra};
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    amount::counted,
    arguments::model::TestArguments,
    asking::{self, Answered, Asker, Manner, News, Unanswered, Wish},
    choice::{self, Chosen, OwnSettings, SERVER_ID, Wanted},
    command::ask::{cost, dollars, tokens},
    console::{Console, Reader, Tone, printable},
    env::Environment,
    exit::Exit,
    failure::{Failure, ModelFailure, call_hint},
    providers::{self, Providers},
    runtime,
};

/// How long a check may take where nobody says otherwise: somebody waits for it.
const LONGEST_CHECK: Duration = Duration::from_secs(30);

/// One of the three requests.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Check {
    Question,
    Stream,
    ToolCall,
}

/// How it went.
enum Verdict {
    Passed(String),
    /// It came back, and is not what was asked for.
    Odd(String),
    Failed {
        error: CallError,
        time: Duration,
    },
    /// The provider does not claim to do this.
    Skipped(String),
}

struct Outcome {
    verdict: Verdict,
    /// Absent where no whole answer came.
    answered: Option<Answered>,
}

/// What a machine reads about a check.
#[derive(Serialize)]
struct Line<'a> {
    check: Check,
    result: &'static str,
    detail: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    milliseconds: Option<u128>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_event_milliseconds: Option<u128>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<&'a Usage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retryable: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

pub(crate) fn run(
    arguments: &TestArguments,
    environment: &Environment,
    console: &mut Console,
) -> Result<Exit, Failure> {
    let mut providers = Providers::load(&arguments.sources, environment, console)?;
    // Without a provider there is an address: a server of the OpenAI kind, as in `pi ask`.
    let named = arguments.id.as_deref().unwrap_or(SERVER_ID);
    let (id, model) = match named.split_once('/') {
        Some((id, model)) if !model.is_empty() => (id, arguments.model.as_deref().or(Some(model))),
        Some(_) | None => (named, arguments.model.as_deref()),
    };
    let bare = arguments.reach.base_url.as_deref().filter(|_| id == SERVER_ID);
    if bare.is_none() {
        providers.get(id)?;
    }
    let usual = providers::timeouts(&OwnSettings::read(environment, console).settings);
    let timeouts = Timeouts { total: arguments.timeout.or(usual.total).or(Some(LONGEST_CHECK)), ..usual };
    runtime::start()?.block_on(async {
        let api_key_env = arguments.reach.api_key_env.as_deref();
        let wanted = Wanted { model, provider: Some(id), base_url: bare, api_key_env };
        let mut chosen = choice::choose(wanted, None, &mut providers, console).await?;
        if bare.is_none() {
            chosen.base_url = arguments.reach.base_url.as_deref().map(choice::checked).transpose()?;
        }
        let mut asker = Asker::new(&arguments.reach, &mut chosen, &providers, timeouts)?;
        asker.stop_on_interrupt();
        let mut exit = Exit::Success;
        let mut spent = Vec::new();
        if console.reader() == Reader::Person {
            let title = console.paint(Tone::Strong, &printable(&chosen.name()));
            console.line(&title);
        }
        if let Some(note) = asker.in_the_clear(&chosen) {
            console.note(&note);
        }
        for check in [Check::Question, Check::Stream, Check::ToolCall] {
            console.flush();
            console.activity(check.words());
            // A circuit that one check opened would only hide what becomes of the next.
            asker.forget();
            let Outcome { verdict, answered } = check.run(&mut asker, &chosen, console).await;
            show(check, &verdict, answered.as_ref(), &chosen, console);
            spent.extend(answered.and_then(|it| it.message.usage.known().cloned()));
            match verdict {
                Verdict::Failed { error: CallError::Cancelled, .. } => return Err(ModelFailure::Interrupted.into()),
                Verdict::Failed { .. } | Verdict::Odd(_) => exit = Exit::No,
                Verdict::Passed(_) | Verdict::Skipped(_) => {}
            }
        }
        if console.reader() == Reader::Person {
            sum_up(&spent, &chosen, console);
        }
        Ok(exit)
    })
}

/// What it cost altogether, as far as anybody counted.
fn sum_up(spent: &[Usage], chosen: &Chosen, console: &mut Console) {
    let counted: Vec<&Usage> = spent.iter().filter(|usage| usage.total() > 0).collect();
    if counted.is_empty() {
        return;
    }
    let mut sum = Usage::default();
    for usage in &counted {
        sum.input += usage.input + usage.cache_read + usage.cache_write;
        sum.output += usage.output;
    }
    let each: Option<Vec<Spent>> = counted.iter().map(|usage| cost(usage, chosen)).collect();
    let money = each.and_then(|each| each.into_iter().reduce(Spent::and));
    let parts: Vec<String> = [Some(tokens(&sum)), money.map(dollars)].into_iter().flatten().collect();
    console.line(&console.paint(Tone::Quiet, &format!("  altogether {}", parts.join(" · "))));
}

impl Check {
    fn words(self) -> &'static str {
        match self {
            Check::Question => "question",
            Check::Stream => "stream",
            Check::ToolCall => "tool call",
        }
    }

    async fn run(self, asker: &mut Asker, chosen: &Chosen, console: &mut Console) -> Outcome {
        let capabilities = &chosen.entry.manifest.capabilities;
        let needed = match self {
            Check::Question => Capability::Text,
            Check::Stream => Capability::Streaming,
            Check::ToolCall => Capability::Tools,
        };
        if !capabilities.has(needed) && self != Check::Question {
            let verdict = Verdict::Skipped("its manifest does not declare it".to_owned());
            return Outcome { verdict, answered: None };
        }
        let (prompt, options) = self.request(chosen);
        let manner = if self == Check::Question { Manner::Whole } else { Manner::Stream };
        let mut pieces = 0;
        let take = |news: News<'_>| {
            match news {
                News::Retrying(retry) => console.remark(&retry.to_string()),
                News::Opened(_) => {}
                News::Event(event) => pieces += u32::from(is_piece(event)),
            }
            Wish::More
        };
        let call = Call { prompt: &prompt, options: &options };
        match asker.ask(chosen, call, manner, take).await {
            Err(Unanswered { error, time, .. }) => Outcome { verdict: Verdict::Failed { error, time }, answered: None },
            Ok(answered) => Outcome { verdict: self.judge(&answered, pieces), answered: Some(answered) },
        }
    }

    fn request(self, chosen: &Chosen) -> (Prompt, Options) {
        let question = match self {
            Check::Question => "Reply with the single word: pong",
            Check::Stream => "Count from one to five, in words.",
            Check::ToolCall => "What time is it in Paris? Use the tool get_time.",
        };
        let said = Said::new(
            EntryId::from("question"),
            Message::user(question, asking::milliseconds()),
            Provenance::usual(Origin::BuiltIn),
        );
        let mut prompt = Prompt { tools: Vec::new(), system: Vec::new(), messages: vec![said] };
        let mut options = Options::plain();
        options.parameters.insert("max_tokens".to_owned(), longest(chosen).into());
        if self == Check::ToolCall {
            prompt.tools.push(clock());
            options.tool_choice = ToolChoice::Required;
        }
        (prompt, options)
    }

    fn judge(self, answered: &Answered, pieces: u32) -> Verdict {
        let content = &answered.message.content;
        let call = content.iter().find_map(|block| match block {
            Block::ToolCall(call) => Some(call),
            Block::Text(_) | Block::Thinking(_) | Block::Image(_) | Block::Other(_) => None,
        });
        let text: String = content.iter().filter_map(Block::as_text).collect();
        let has_thought = content.iter().any(|block| matches!(block, Block::Thinking(_)));
        match (self, call) {
            (Check::ToolCall, Some(call)) => judge_call(&call.name, &Value::from(call.arguments.clone())),
            (Check::ToolCall, None) => Verdict::Odd("it answered without calling the tool".to_owned()),
            (Check::Question | Check::Stream, _) if text.trim().is_empty() && !has_thought => {
                Verdict::Odd("the answer has no text".to_owned())
            }
            (Check::Question, _) => Verdict::Passed(first_words(&text)),
            (Check::Stream, _) if !answered.facts.is_streamed => {
                Verdict::Odd(format!("not streamed, it came as a whole: {}", first_words(&text)))
            }
            (Check::Stream, _) => Verdict::Passed(format!("{}: {}", counted(pieces, "piece"), first_words(&text))),
        }
    }
}

/// Whether a call is one of the tool that was offered, with arguments that its schema allows.
fn judge_call(name: &str, arguments: &Value) -> Verdict {
    let ToolDefinition { name: offered, parameters, .. } = clock().definition;
    let called = format!("{name} {arguments}");
    if name != offered {
        return Verdict::Odd(format!("it called {name}, which was not offered: {called}"));
    }
    match jsonschema::validate(&parameters, arguments) {
        Ok(()) => Verdict::Passed(called),
        Err(error) => Verdict::Odd(format!("the arguments are not what the tool takes, {error}: {called}")),
    }
}

/// How long an answer may be, so that a model which talks on and on costs next to nothing. One that may think before it
/// speaks needs room for that, or it never comes to the answer.
fn longest(chosen: &Chosen) -> u64 {
    let thinks = chosen.known.as_ref().and_then(|it| it.model_capabilities.reasoning);
    if thinks == Some(false) { 64 } else { 512 }
}

fn is_piece(event: &StreamEvent) -> bool {
    matches!(
        event,
        StreamEvent::PartialContentDelta { .. }
            | StreamEvent::ThinkingDelta { .. }
            | StreamEvent::PartialToolCall { .. }
    )
}

fn clock() -> Tool {
    let definition = ToolDefinition {
        name: "get_time".to_owned(),
        description: "Tells the time in a city.".to_owned(),
        parameters: json!({
            "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
        }),
        extra: Extra::new(),
    };
    Tool { definition, provenance: Provenance::usual(Origin::BuiltIn) }
}

/// What to do about a check that failed. The options of `pi ask` are not those of this command.
fn hint(error: &CallError, check: Check, chosen: &Chosen) -> String {
    let is_about_the_request = match error {
        CallError::Refused { failure, .. } => failure.code == ErrorCode::InvalidRequest,
        other => matches!(other, CallError::Option { .. }),
    };
    if !is_about_the_request {
        return call_hint(error);
    }
    let whole = if check == Check::Question { " --no-stream" } else { "" };
    format!("`pi ask Hello --model {}{whole} --dry-run` shows a request like it", chosen.name())
}

fn first_words(text: &str) -> String {
    crate::table::cut(&text.split_whitespace().collect::<Vec<_>>().join(" "), 40)
}

fn show(check: Check, verdict: &Verdict, answered: Option<&Answered>, chosen: &Chosen, console: &mut Console) {
    let (result, tone, detail) = match verdict {
        Verdict::Passed(detail) => ("passed", Tone::Good, detail.clone()),
        Verdict::Odd(detail) => ("odd", Tone::Bad, detail.clone()),
        Verdict::Failed { error, .. } => ("failed", Tone::Bad, crate::failure::told(error)),
        Verdict::Skipped(detail) => ("skipped", Tone::Quiet, detail.clone()),
    };
    let (error, failed_after) = match verdict {
        Verdict::Failed { error, time } => (Some(error), Some(*time)),
        Verdict::Passed(_) | Verdict::Odd(_) | Verdict::Skipped(_) => (None, None),
    };
    let hint = error.map(|error| hint(error, check, chosen));
    let time = answered.map(|it| it.time).or(failed_after);
    let usage = answered.and_then(|it| it.message.usage.known());
    let milliseconds = |time: Duration| time.as_millis();
    if console.reader() == Reader::Machine {
        let line = Line {
            check,
            result,
            detail: &detail,
            milliseconds: time.map(milliseconds),
            first_event_milliseconds: answered.and_then(|it| it.first).map(milliseconds),
            // Zeros would be a claim.
            usage: usage.filter(|usage| usage.total() > 0),
            code: error.map(|it| it.code().number()),
            retryable: error.map(|it| it.code().is_retryable()),
            hint,
        };
        return console.line(&serde_json::to_string(&line).expect("a check is plain JSON"));
    }
    let mark = console.paint(tone, &format!("{result:<7}"));
    let time = time.map(|it| format!("{:>6} ms", milliseconds(it))).unwrap_or_else(|| " ".repeat(9));
    let mut parts = vec![printable(&detail).into_owned()];
    parts.extend(usage.map(tokens));
    parts.extend(usage.and_then(|it| cost(it, chosen)).map(dollars));
    console.line(&format!("  {mark} {:<9} {time}  {}", check.words(), parts.join(" · ")));
    match (verdict, hint) {
        (_, Some(hint)) => console.hint(&hint),
        (Verdict::Odd(_), None) if check == Check::Stream && answered.is_some_and(|it| !it.facts.is_streamed) => {
            console.hint("`pi ask` works all the same, and shows nothing before the answer is there");
        }
        (Verdict::Odd(_), None) => {
            console.hint("the model may be too small for it; try another with --model");
        }
        (Verdict::Passed(_) | Verdict::Skipped(_) | Verdict::Failed { .. }, None) => {}
    }
}
