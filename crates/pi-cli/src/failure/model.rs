//! Why a model was not asked, or did not answer, and what to do about it.

use std::{io, time::Duration};

use pi_provider::{
    CallError, ErrorCode, Failure, Phase, SetBy,
    catalog::FindError,
    credential::{Unusable, conventional_variable},
    manifest::Capability,
    request::{Exclusion, MediaKind},
    seconds,
};
use pi_transcript::json::Problem;

use crate::{
    choice::{LISTED, SERVER_ID},
    exit::Exit,
    providers,
    refusal::{Cause, Refusal},
};

#[derive(Debug, thiserror::Error)]
pub(crate) enum ModelFailure {
    #[error("there is no question")]
    NoQuestion,
    #[error("{file} is not text")]
    NotText { file: String },
    /// Attached, and nobody knows what it is.
    #[error("{file} is not text")]
    Unattachable { file: String },
    #[error("{file} is not text: it is {what}")]
    Binary { file: String, what: String, hint: String },
    #[error("{file} cannot be sent to {model}: {why}")]
    Unsendable { file: String, model: String, why: Exclusion },
    #[error("{model} cannot take {file}: it {}", inability(*kind))]
    CannotTake {
        file: String,
        model: String,
        kind: MediaKind,
        /// Models that can be asked now and that can.
        others: Vec<String>,
    },
    #[error("{file} is UTF-16, and only UTF-8 is read")]
    Utf16 { file: String },
    #[error("{id} is not an id of a provider")]
    NotAnId { id: String, reason: String },
    #[error("the text of {provider} is not shown: it stands in {file}, which may hold keys")]
    HiddenSource { provider: String, file: String },
    #[error("{file} is not a picture that is known here")]
    NotAnImage { file: String },
    #[error("{file} is not a tool")]
    NotATool { file: String, refusal: Refusal },
    #[error("{file} is not a schema")]
    NotASchema { file: String, refusal: Refusal },
    #[error("there is no provider {id}")]
    NoSuchProvider { id: String, nearest: Option<String> },
    #[error(transparent)]
    NotFound(FindError),
    /// Somebody was not found, and these files could not be used.
    #[error("{missing}; {} {} rejected", files.join(", "), if files.len() == 1 { "was" } else { "were" })]
    Rejected { files: Vec<String>, missing: Box<ModelFailure> },
    #[error("{provider} comes from a project that nobody has trusted, and is not asked")]
    Untrusted { provider: String, file: String },
    #[error(transparent)]
    CannotAsk(pi_session::models::ModelError),
    #[error("{pattern:?} may be {}{}", candidates.join(", "), and_more(*more))]
    Several { pattern: String, candidates: Vec<String>, more: usize },
    #[error("{name}, the default in {file}, cannot be asked")]
    BadDefault { name: String, file: String, source: Box<ModelFailure> },
    #[error("{model} does not answer questions: it is for other work")]
    NotForQuestions { model: String },
    #[error("no model that can be asked now {ability}")]
    NobodyCan { ability: &'static str },
    #[error("{provider} lists no model that {ability}")]
    NoneCan { provider: String, ability: &'static str },
    #[error("no provider that can be asked now takes batches")]
    NobodyTakesBatches { providers: Vec<String> },
    #[error("line {line} of {file} is no question: {reason}")]
    NotAQuestion { file: String, line: usize, reason: String },
    #[error("no tool {name} is offered")]
    NoSuchTool { name: String },
    #[error("a tool must be called and none is offered")]
    NoTools,
    #[error("the tool {name} is offered twice")]
    SameTool { name: String },
    #[error("{name:?} is no name for a tool: providers take letters, digits, _ and -, at most {most} of them")]
    ToolName { file: String, name: String, most: usize },
    #[error("what follows --api-key-env is not the name of a variable that is set")]
    NotAVariable,
    #[error("{provider} names no model")]
    NoModelNamed { provider: String },
    #[error("which model the server is to use is not said")]
    NoModelAtAddress,
    /// The list of models is refused, with or without a credential.
    #[error("{address} does not tell its models: it answered {status}")]
    ListRefused { address: String, status: u16 },
    /// Somebody answers where a server on this machine is looked for, and does not say what it is.
    #[error("{address}, where {provider} is looked for, does not tell its models: it answered {status}")]
    ServerRefused { provider: String, address: String, status: u16, variables: Vec<String> },
    #[error("the server has {} models, and none was named", models.len())]
    SeveralAtAddress { models: Vec<String> },
    #[error("{text} is not an address")]
    BadAddress { text: String, reason: String },
    #[error("{name} is not set")]
    NoSuchVariable { name: String },
    #[error("no manifests can be read from {path}")]
    NoManifests { path: String, source: io::Error },
    #[error("{file} is not a manifest that can be used")]
    NotAManifest { file: String, findings: Vec<String> },
    #[error("{file} is {kind} and no manifest")]
    BesideManifests { file: String, kind: &'static str },
    #[error(transparent)]
    Call(#[from] CallError),
    /// The same of a server that has no manifest, and so no name: it is told of its address.
    #[error(transparent)]
    AtAddress(CallError),
    #[error("interrupted")]
    Interrupted,
}

impl ModelFailure {
    pub(crate) fn file(&self) -> Option<&str> {
        match self {
            Self::NotText { file }
            | Self::Unattachable { file }
            | Self::Binary { file, .. }
            | Self::Unsendable { file, .. }
            | Self::CannotTake { file, .. }
            | Self::Utf16 { file }
            | Self::HiddenSource { file, .. }
            | Self::NotAnImage { file }
            | Self::NotATool { file, .. }
            | Self::ToolName { file, .. }
            | Self::NotASchema { file, .. }
            | Self::Untrusted { file, .. }
            | Self::BadDefault { file, .. }
            | Self::NoManifests { path: file, .. }
            | Self::NotAQuestion { file, .. }
            | Self::NotAManifest { file, .. }
            | Self::BesideManifests { file, .. } => Some(file),
            Self::NoQuestion
            | Self::NotAnId { .. }
            | Self::NoSuchProvider { .. }
            | Self::NotFound(_)
            | Self::Rejected { .. }
            | Self::CannotAsk(_)
            | Self::Several { .. }
            | Self::NotForQuestions { .. }
            | Self::NobodyCan { .. }
            | Self::NoneCan { .. }
            | Self::NobodyTakesBatches { .. }
            | Self::NoSuchTool { .. }
            | Self::NoTools
            | Self::SameTool { .. }
            | Self::NotAVariable
            | Self::NoModelNamed { .. }
            | Self::NoModelAtAddress
            | Self::ListRefused { .. }
            | Self::ServerRefused { .. }
            | Self::SeveralAtAddress { .. }
            | Self::BadAddress { .. }
            | Self::NoSuchVariable { .. }
            | Self::Call(_)
            | Self::AtAddress(_)
            | Self::Interrupted => None,
        }
    }

    /// What is wrong in what was read, if it was.
    pub(crate) fn problems(&self) -> Vec<Problem> {
        if let Self::NotAManifest { findings, .. } = self {
            let plain = |it: &String| Problem { path: String::new(), message: it.clone() };
            findings.iter().map(plain).collect()
        } else if let Self::NotATool { refusal, .. } | Self::NotASchema { refusal, .. } = self {
            refusal.problems.clone()
        } else {
            Vec::new()
        }
    }

    /// The standard code, where a call was made, or whoever was to be called is not there or not said.
    pub(crate) fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Call(error) | Self::AtAddress(error) => Some(error.code()),
            Self::ListRefused { status, .. } | Self::ServerRefused { status, .. } => {
                Some(ErrorCode::from_status(*status))
            }
            Self::Interrupted => Some(ErrorCode::Cancelled),
            Self::NoSuchProvider { .. }
            | Self::NotFound(FindError::NoProvider { .. } | FindError::NoModel { .. } | FindError::NoMatch { .. }) => {
                Some(ErrorCode::NotFound)
            }
            Self::Rejected { missing, .. } => missing.code(),
            Self::Untrusted { .. } => Some(ErrorCode::PermissionDenied),
            Self::NotFound(FindError::Ambiguous { .. })
            | Self::Several { .. }
            | Self::NoModelNamed { .. }
            | Self::NoneCan { .. }
            | Self::NoModelAtAddress
            | Self::SeveralAtAddress { .. } => Some(ErrorCode::InvalidRequest),
            Self::BadDefault { source, .. } => source.code(),
            Self::NoQuestion
            | Self::NotText { .. }
            | Self::Unattachable { .. }
            | Self::Binary { .. }
            | Self::Unsendable { .. }
            | Self::CannotTake { .. }
            | Self::Utf16 { .. }
            | Self::NotAnId { .. }
            | Self::HiddenSource { .. }
            | Self::NotAnImage { .. }
            | Self::NotATool { .. }
            | Self::NotASchema { .. }
            | Self::CannotAsk(_)
            | Self::NotForQuestions { .. }
            | Self::NobodyCan { .. }
            | Self::NobodyTakesBatches { .. }
            | Self::NotAQuestion { .. }
            | Self::NoSuchTool { .. }
            | Self::NoTools
            | Self::SameTool { .. }
            | Self::ToolName { .. }
            | Self::NotAVariable
            | Self::BadAddress { .. }
            | Self::NoSuchVariable { .. }
            | Self::NoManifests { .. }
            | Self::NotAManifest { .. }
            | Self::BesideManifests { .. } => None,
        }
    }

    /// The call that was made, or would have been.
    pub(crate) fn call(&self) -> Option<&CallError> {
        if let Self::Call(error) | Self::AtAddress(error) = self { Some(error) } else { None }
    }

    /// How long the provider asked to wait.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        let error = self.call()?;
        if let CallError::CircuitOpen { retry_in, .. } = error {
            return Some(*retry_in);
        }
        error.failure()?.retry_after
    }

    pub(crate) fn exit(&self) -> Exit {
        // A server may say 499 too; then nobody here has interrupted anything.
        let is_refused = matches!(self.call(), Some(CallError::Refused { .. }));
        // As where the provider has the filter: it is an answer, and asking again changes nothing.
        if let Some(CallError::Blocked { .. }) = self.call() {
            return Exit::No;
        }
        match self.code() {
            Some(ErrorCode::Cancelled) if !is_refused => Exit::Interrupted,
            Some(code) if code.is_retryable() => Exit::TryAgain,
            Some(_) | None => Exit::Trouble,
        }
    }

    pub(crate) fn hint(&self) -> String {
        match self {
            Self::NoQuestion => "write it: pi ask 'What is a monad?'; `-` reads standard input".to_owned(),
            Self::NotText { file } => format!("name a text in UTF-8; `file {file}` says what this one is"),
            Self::Unattachable { file } => {
                format!("attach text, a picture, a PDF, audio or video; `file {file}` says what it is")
            }
            Self::Binary { hint, .. } => hint.clone(),
            Self::Unsendable { why, .. } => unsendable_hint(why).to_owned(),
            Self::CannotTake { kind, others, .. } if others.is_empty() => {
                format!("no model that can be asked now can; `pi models --can {}` shows which could", ability(*kind))
            }
            Self::CannotTake { others, .. } => format!("ask one that can: --model {}", others.join(", --model ")),
            Self::Utf16 { .. } => "save it as UTF-8: most editors ask for the encoding under \"save as\"".to_owned(),
            Self::NotAnId { reason, .. } => reason.clone(),
            Self::HiddenSource { provider, .. } => {
                format!("`pi provider show {provider}` shows what it says without them")
            }
            Self::NotAnImage { .. } => "PNG, JPEG, GIF, WebP and HEIC are; --file attaches other files".to_owned(),
            Self::NotATool { refusal, .. } | Self::NotASchema { refusal, .. } if refusal.cause != Cause::Shape => {
                refusal.cause.hint("wire")
            }
            Self::NotATool { .. } => {
                r#"write {"name": "get_time", "description": "…", "parameters": {"type": "object"}}"#.to_owned()
            }
            Self::NotASchema { .. } => "write a JSON Schema".to_owned(),
            Self::NoSuchProvider { nearest: Some(nearest), .. } => {
                format!("did you mean {nearest}? `pi provider list` shows all")
            }
            Self::NoSuchProvider { nearest: None, .. } => {
                "`pi provider list` shows all; --provider-dir adds manifests".to_owned()
            }
            Self::NotFound(FindError::Ambiguous { .. }) | Self::Several { .. } => {
                "write one of them in full".to_owned()
            }
            Self::Rejected { files, .. } => providers::rejected_hint(files),
            Self::NotFound(_) | Self::CannotAsk(_) => {
                "`pi models` shows all; PROVIDER/MODEL asks for one that is not listed".to_owned()
            }
            Self::Untrusted { file, .. } => format!("read {file}; if you trust this project, `pi trust` says so"),
            Self::BadDefault { file, .. } => {
                format!("correct defaultProvider and defaultModel in {file}, or name a model with --model")
            }
            Self::NotForQuestions { .. } => {
                "`pi models` shows what each model can do; ask another with --model".to_owned()
            }
            Self::NobodyCan { ability } => {
                format!("`pi models --can {ability}` shows which could; set a credential of one, or name one with --model")
            }
            Self::NoneCan { provider, ability } => {
                format!("name one: --model {provider}/MODEL; `pi models --can {ability}` shows which are known")
            }
            Self::NobodyTakesBatches { providers } => {
                format!("set a credential of one that does ({}), or name a model with --model", providers.join(", "))
            }
            Self::NotAQuestion { .. } => {
                r#"write one question per line, as it is or as {"id": "a", "question": "Why?"}"#.to_owned()
            }
            Self::NoSuchTool { .. } => "offer it with --tool FILE, or correct --tool-choice".to_owned(),
            Self::SameTool { .. } => {
                "name each tool once with --tool FILE; a model tells them apart by name".to_owned()
            }
            Self::ToolName { file, .. } => format!("rename it in {file}, for example get_time"),
            Self::NoTools => "offer one with --tool FILE, or leave --tool-choice out".to_owned(),
            Self::NotAVariable => {
                "name a variable that holds the key, such as ACME_API_KEY; it is not repeated here in case it is a key"
                    .to_owned()
            }
            Self::NoModelNamed { provider } => format!("name one: --model {provider}/MODEL"),
            Self::SeveralAtAddress { models } => {
                let more = if models.len() > LISTED { ", …" } else { "" };
                let first = models.iter().take(LISTED).cloned().collect::<Vec<_>>().join(", ");
                format!("name one with --model: {first}{more}")
            }
            Self::ListRefused { .. } => {
                "it wants a credential, or another one: name the variable that holds it with --api-key-env, or name the \
                 model with --model"
                    .to_owned()
            }
            Self::ServerRefused { variables, .. } => {
                format!("it wants a credential, or another one: set {}", variables.join(" or "))
            }
            Self::NoModelAtAddress => "name it: --model NAME; many servers take any name".to_owned(),
            Self::BadAddress { reason, .. } => format!("{reason}; write it like http://127.0.0.1:8080/v1"),
            Self::NoSuchVariable { name } => format!("set it: export {name}=…"),
            Self::NoManifests { .. } => {
                "correct --provider-dir: it names a folder of manifests, or one file".to_owned()
            }
            Self::BesideManifests { file, .. } => {
                format!("it needs no other form; `pi provider validate {file}` says whether it is well")
            }
            Self::NotAManifest { file, .. } => format!("`pi provider validate {file}` shows what is wrong"),
            Self::Call(error) => call_hint(error),
            Self::AtAddress(error) => address_hint(error),
            Self::Interrupted => "the connection was closed; ask again".to_owned(),
        }
    }
}

/// What a model does not do that cannot take this.
fn inability(kind: MediaKind) -> &'static str {
    match kind {
        MediaKind::Image => "does not look at pictures",
        MediaKind::Document => "does not read documents",
        MediaKind::Audio => "does not listen to sound",
        MediaKind::Video => "does not watch films",
    }
}

/// The word by which `pi models --can` finds those that can.
fn ability(kind: MediaKind) -> &'static str {
    match kind {
        MediaKind::Image => "vision",
        MediaKind::Document => "pdf",
        MediaKind::Audio => "audio",
        MediaKind::Video => "video",
    }
}

fn unsendable_hint(why: &Exclusion) -> &'static str {
    match why {
        Exclusion::Kind => "ask another model with --model",
        Exclusion::Format { .. } => "save it in one of these formats, or ask another provider with --model",
        Exclusion::Way { .. } => "ask another provider with --model",
        Exclusion::Size { .. } | Exclusion::Resolution { .. } => {
            "make it smaller, or ask another provider with --model; the limit stands in the provider's manifest under \
             multimodal"
        }
        Exclusion::Count { .. } => {
            "attach fewer, or ask another provider with --model; the limit stands in the provider's manifest under \
             multimodal"
        }
    }
}

fn and_more(count: usize) -> String {
    if count == 0 { String::new() } else { format!(" and {count} more") }
}

/// What to do about a call that has no answer.
pub(crate) fn call_hint(error: &CallError) -> String {
    match error {
        CallError::NoCredential { looked_in, .. } if looked_in.is_empty() => {
            "its manifest comes from a project that nobody trusts; `pi provider list` shows where from, `pi trust` trusts it"
                .to_owned()
        }
        CallError::NoCredential { looked_in, unusable, .. } if !unusable.is_empty() => {
            let hints: Vec<&str> = unusable.iter().map(Unusable::hint).collect();
            format!("{}; it is looked for in {}", hints.join("; "), looked_in.join(", "))
        }
        CallError::NoCredential { looked_in, .. } => {
            format!("set one of them: {}; `pi ask --model demo` needs none", looked_in.join(", "))
        }
        CallError::Unreachable { source, .. } => source.hint().to_owned(),
        CallError::NoNetwork { source, .. } => source.hint(),
        CallError::WebPage { .. } => {
            "is the base URL right? that of a model server often ends in /v1; if a login page \
             of the network is in the way, log in with a browser first"
                .to_owned()
        }
        CallError::Redirected { to: Some(to), .. } => {
            format!("if {to} is right, write it, without the path of the operation, as base_url or with --base-url")
        }
        CallError::Redirected { to: None, .. } => "check the base URL: the server does not say where to".to_owned(),
        CallError::NothingAnswers { named_by: Some(variable), .. } => {
            format!("start the server, or correct {variable}; without it the usual address is asked")
        }
        CallError::NothingAnswers { named_by: None, .. } => {
            "start the server, or say where it is with --base-url URL; `pi models --available` shows what can be asked \
             now"
            .to_owned()
        }
        CallError::TimedOut { provider, phase, set_by, .. } => limit_hint(provider.as_str(), *phase, *set_by),
        CallError::CircuitOpen { provider, retry_in, .. } => format!(
            "wait {}, or ask another provider with --model; `pi provider test {provider}` shows whether it is back",
            seconds(*retry_in)
        ),
        CallError::Undeclared { provider, capability: Capability::Tools } => format!(
            "offer none (leave --tool out, or --no-tools), or ask another with --model; `pi provider show {provider}` shows what it can do"
        ),
        CallError::Undeclared { provider, .. } => {
            format!("`pi provider show {provider}` shows what it can do; ask another with --model")
        }
        CallError::AddressVariable { variable, .. } => format!("set it: export {variable}=…"),
        CallError::Option { .. } => "correct the option, or leave it out".to_owned(),
        CallError::Unguarded { .. } => {
            "correct it in the provider's manifest under guardrails; until then nothing is sent past it".to_owned()
        }
        CallError::Blocked { .. } => "the rule stands in the provider's manifest under guardrails".to_owned(),
        CallError::Truncated { .. } | CallError::Malformed { .. } => {
            "ask again; if it stays so, the manifest does not describe this server".to_owned()
        }
        CallError::Encoded { .. } => {
            "have the server, or the proxy before it, send answers as they are; pi asks for no compression".to_owned()
        }
        CallError::Cancelled => "the connection was closed; ask again".to_owned(),
        CallError::Refused { failure, .. } if failure.refuses_tools() => {
            "offer no tools (leave --tool out, or --no-tools), or ask another with --model; `pi models --can tools` shows \
             which take them"
                .to_owned()
        }
        CallError::Refused { provider, failure } => refusal_hint(provider.as_str(), failure),
    }
}

/// What to do about a call of a session that has no answer.
pub(crate) fn session_hint(error: &CallError) -> String {
    let is_invalid = |error: &CallError| matches!(error, CallError::Refused { failure, .. } if failure.code == ErrorCode::InvalidRequest);
    let is_about_tools = |error: &CallError| error.failure().is_some_and(Failure::refuses_tools);
    match error.provider() {
        _ if is_about_tools(error) => call_hint(error),
        _ if is_invalid(error) => "`pi context last` shows what was sent".to_owned(),
        Some(provider) if provider.as_str() == SERVER_ID => address_hint(error),
        Some(_) | None => call_hint(error),
    }
}

/// What to do about a call to a server that was named by its address: no command here knows it by a name.
fn address_hint(error: &CallError) -> String {
    match error {
        CallError::Refused { failure, .. } => match failure.code {
            ErrorCode::Authentication => {
                "the server wants a credential, or another one: name the variable that holds it with --api-key-env"
                    .to_owned()
            }
            ErrorCode::NotFound => "check the address, which often ends in /v1, and the name of the model".to_owned(),
            ErrorCode::Unknown => "ask again; if it stays so, the server may not be of the OpenAI kind".to_owned(),
            ErrorCode::InvalidRequest
            | ErrorCode::PermissionDenied
            | ErrorCode::RequestTooLarge
            | ErrorCode::RateLimited
            | ErrorCode::QuotaExhausted
            | ErrorCode::ServerError
            | ErrorCode::Overloaded
            | ErrorCode::Timeout
            | ErrorCode::Conflict
            | ErrorCode::Cancelled => call_hint(error),
        },
        CallError::Truncated { .. } | CallError::Malformed { .. } => {
            "ask again; if it stays so, the server is not of the OpenAI kind: --provider takes the manifest of another"
                .to_owned()
        }
        CallError::Undeclared { .. } => "`pi provider new` writes a manifest in which that can be declared".to_owned(),
        CallError::CircuitOpen { retry_in, .. } => format!("wait {} and ask again", seconds(*retry_in)),
        CallError::NothingAnswers { .. } => {
            "start the server, or correct the address; `pi models --available` shows what can be asked now".to_owned()
        }
        CallError::WebPage { .. }
        | CallError::Redirected { .. }
        | CallError::Encoded { .. }
        | CallError::NoNetwork { .. }
        | CallError::Unreachable { .. }
        | CallError::TimedOut { .. }
        | CallError::Cancelled
        | CallError::NoCredential { .. }
        | CallError::Option { .. }
        | CallError::AddressVariable { .. }
        | CallError::Blocked { .. }
        | CallError::Unguarded { .. } => call_hint(error),
    }
}

/// Where a limit of time is changed.
fn limit_hint(provider: &str, phase: Phase, set_by: SetBy) -> String {
    let manifest = format!("endpoint.timeout_ms in the manifest of {provider}");
    match (phase, set_by) {
        (Phase::Connect, _) => {
            "check the address, the network and the proxy; the limit for a connection is fixed".to_owned()
        }
        (Phase::FirstByte, SetBy::Manifest) => {
            format!("ask again, or raise {manifest}; httpIdleTimeoutMs in settings.json beats it")
        }
        (Phase::FirstByte | Phase::Idle, _) => {
            "ask again, or raise httpIdleTimeoutMs in settings.json (milliseconds; 0 waits for ever)".to_owned()
        }
        (Phase::Total, SetBy::Manifest) => format!("raise {manifest}, or give more time with --timeout SECONDS"),
        (Phase::Total, SetBy::Caller | SetBy::Nobody) => {
            "give more time with --timeout SECONDS, or httpTotalTimeoutMs in settings.json (milliseconds)".to_owned()
        }
    }
}

fn refusal_hint(provider: &str, failure: &Failure) -> String {
    match (failure.code, failure.retry_after) {
        (ErrorCode::Authentication, _) if failure.is_anonymous => format!(
            "the server wants a credential, and none was sent: set {}, or name another variable in the manifest of {provider} \
             (endpoint.auth: {{ type: bearer, token_env: NAME }})",
            conventional_variable(provider)
        ),
        (ErrorCode::Authentication, _) => {
            format!("the credential is not accepted; `pi provider show {provider}` says where it comes from")
        }
        (ErrorCode::PermissionDenied, _) => "the credential may not do this; ask for another model".to_owned(),
        (ErrorCode::NotFound, _) => format!("`pi models {provider}/` lists models; check the name"),
        (ErrorCode::InvalidRequest, _) => "--dry-run shows what is sent".to_owned(),
        (ErrorCode::RequestTooLarge, _) => "send less, or ask a model with a larger context (`pi models`)".to_owned(),
        (ErrorCode::QuotaExhausted, _) => "there is no money or quota left there; ask another provider".to_owned(),
        (_, Some(wait)) => format!("wait {} and ask again", seconds(wait)),
        (ErrorCode::RateLimited | ErrorCode::Overloaded, None) => "wait a moment and ask again".to_owned(),
        (ErrorCode::ServerError | ErrorCode::Timeout | ErrorCode::Conflict, None) => "ask again".to_owned(),
        (ErrorCode::Cancelled | ErrorCode::Unknown, None) => {
            "ask again; if it stays so, `pi provider test` shows more".to_owned()
        }
    }
}
