//! What can go wrong with a call, in the thirteen standard codes.

use std::{fmt, time::Duration};

use pi_transcript::ProviderId;
use serde::{Deserialize, Serialize};

use crate::{
    classify::refuses_tools,
    credential::{MODELS_FILE, Unusable},
    limits::Limits,
    manifest::{Capability, MissingKey},
    transport::{Obstacle, TransportError},
};

/// A standard error. Every failure of a call has one; it says whether to try again and whether another provider may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    InvalidRequest,
    Authentication,
    PermissionDenied,
    NotFound,
    /// Also a capability that the manifest does not declare.
    RequestTooLarge,
    RateLimited,
    QuotaExhausted,
    ServerError,
    Overloaded,
    Timeout,
    Conflict,
    Cancelled,
    Unknown,
}

/// What the provider said when it refused, in the status line, in the body, or in the middle of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    pub code: ErrorCode,
    /// Absent for an error inside a stream.
    pub status: Option<u16>,
    /// The provider's own code or type.
    pub provider_code: Option<String>,
    /// The provider's words, without secrets.
    pub message: String,
    /// How long the provider asked to wait.
    pub retry_after: Option<Duration>,
    /// The provider's number of the request, for its support.
    pub request_id: Option<String>,
    /// What the provider said of its limits along with the refusal, if it said anything.
    pub limits: Option<Box<Limits>>,
    /// Nobody was named in the request: no credential went along.
    pub is_anonymous: bool,
}

/// The last failure that counted before a provider was left alone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Cause {
    pub code: ErrorCode,
    /// With everything that was behind it; no secrets.
    pub message: String,
}

/// Where a call waited too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    Connect,
    /// Between the request and the first byte of the answer.
    FirstByte,
    /// Between two pieces of a stream.
    Idle,
    Total,
}

/// Who set a limit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SetBy {
    /// Whoever asks: a setting, or an option.
    Caller,
    /// `endpoint.timeout_ms`.
    Manifest,
    /// It is the usual one.
    Nobody,
}

/// Why a call has no answer.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    #[error("{provider} answered: {failure}")]
    Refused { provider: ProviderId, failure: Box<Failure> },
    #[error("{provider} cannot be reached")]
    Unreachable {
        provider: ProviderId,
        #[source]
        source: Obstacle,
    },
    /// A proxy or certificates that the environment names cannot be used, and this call needs them.
    #[error("{provider} cannot be asked from here")]
    NoNetwork {
        provider: ProviderId,
        #[source]
        source: TransportError,
    },
    /// There is a server, but for browsers: the address is wrong, or somebody wants a login first.
    #[error("the server at {address} answered with a web page")]
    WebPage {
        provider: ProviderId,
        /// Scheme, host and port; nothing that may be secret.
        address: String,
    },
    /// Elsewhere, or as another kind of request. It is not followed: it would carry the credential along, or lose its body.
    #[error("{provider} sends the request elsewhere ({status}{}), where it is not followed", leading(to.as_ref()))]
    Redirected {
        provider: ProviderId,
        status: u16,
        /// Scheme, host, port and path.
        to: Option<String>,
    },
    /// A server on this machine, or one that a person named in a variable: nobody listens there. Elsewhere it may be the
    /// network, and is unreachable.
    #[error("nothing answers at {address}{}", as_named(named_by.as_deref()))]
    NothingAnswers {
        provider: ProviderId,
        /// Scheme, host and port; nothing that may be secret.
        address: String,
        /// The variable that names the address.
        named_by: Option<String>,
    },
    #[error("{provider} did not answer in time ({phase}, {}{})", seconds(*after), set_by.told())]
    TimedOut { provider: ProviderId, phase: Phase, after: Duration, set_by: SetBy },
    #[error("the call was cancelled")]
    Cancelled,
    #[error("{provider} failed too often; it is tried again in {}", seconds(*retry_in))]
    CircuitOpen {
        provider: ProviderId,
        retry_in: Duration,
        #[source]
        cause: Option<Cause>,
    },
    #[error("there is no credential for {provider}{}", because(unusable))]
    NoCredential {
        provider: ProviderId,
        /// Names of variables and files, in the order in which they were tried.
        looked_in: Vec<String>,
        /// What was found there and is of no use, such as a login that has expired; each has a hint.
        unusable: Vec<Unusable>,
    },
    #[error("{provider} does not declare {capability}")]
    Undeclared { provider: ProviderId, capability: Capability },
    #[error("option {option} cannot be sent: {reason}")]
    Option { option: String, reason: String },
    #[error("the address of {provider} needs {variable}, which is not set")]
    AddressVariable { provider: ProviderId, variable: String },
    #[error("guardrail {filter} blocked the {side}")]
    Blocked { filter: String, side: Side },
    /// A filter that is to keep something back cannot be used as the manifest has it, so nothing is sent past it.
    #[error("guardrail {filter} of {provider} cannot be used: {reason}")]
    Unguarded { provider: ProviderId, filter: String, reason: String },
    #[error("the answer of {provider} ended in the middle")]
    Truncated { provider: ProviderId },
    #[error("the answer of {provider} cannot be read: {reason}")]
    Malformed { provider: ProviderId, reason: String },
    /// Nobody asked for it, so whoever does it does it again.
    #[error(
        "the answer of {provider} cannot be read: it is compressed as {encoding}, which nobody asked for and is not \
         understood here"
    )]
    Encoded {
        provider: ProviderId,
        /// What `content-encoding` says.
        encoding: String,
    },
}

/// Which way a text goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    Input,
    Output,
}

impl ErrorCode {
    pub const ALL: [Self; 13] = [
        Self::InvalidRequest,
        Self::Authentication,
        Self::PermissionDenied,
        Self::NotFound,
        Self::RequestTooLarge,
        Self::RateLimited,
        Self::QuotaExhausted,
        Self::ServerError,
        Self::Overloaded,
        Self::Timeout,
        Self::Conflict,
        Self::Cancelled,
        Self::Unknown,
    ];

    /// `E1001` and so on.
    pub const fn number(self) -> &'static str {
        match self {
            Self::InvalidRequest => "E1001",
            Self::Authentication => "E1002",
            Self::PermissionDenied => "E1003",
            Self::NotFound => "E1004",
            Self::RequestTooLarge => "E1005",
            Self::RateLimited => "E2001",
            Self::QuotaExhausted => "E2002",
            Self::ServerError => "E3001",
            Self::Overloaded => "E3002",
            Self::Timeout => "E3003",
            Self::Conflict => "E4001",
            Self::Cancelled => "E4002",
            Self::Unknown => "E9999",
        }
    }

    /// `invalid_request` and so on.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request",
            Self::Authentication => "authentication",
            Self::PermissionDenied => "permission_denied",
            Self::NotFound => "not_found",
            Self::RequestTooLarge => "request_too_large",
            Self::RateLimited => "rate_limited",
            Self::QuotaExhausted => "quota_exhausted",
            Self::ServerError => "server_error",
            Self::Overloaded => "overloaded",
            Self::Timeout => "timeout",
            Self::Conflict => "conflict",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.name() == name)
    }

    pub fn from_number(number: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.number() == number)
    }

    /// What a status means where no manifest says otherwise.
    pub const fn from_status(status: u16) -> Self {
        match status {
            400 | 422 => Self::InvalidRequest,
            401 => Self::Authentication,
            402 => Self::QuotaExhausted,
            403 => Self::PermissionDenied,
            404 => Self::NotFound,
            408 | 504 => Self::Timeout,
            409 => Self::Conflict,
            413 => Self::RequestTooLarge,
            429 => Self::RateLimited,
            499 => Self::Cancelled,
            503 | 529 => Self::Overloaded,
            500..=599 => Self::ServerError,
            _ => Self::Unknown,
        }
    }

    pub const fn is_retryable(self) -> bool {
        matches!(self, Self::RateLimited | Self::ServerError | Self::Overloaded | Self::Timeout | Self::Conflict)
    }

    /// Whether another provider may succeed where this one failed.
    pub const fn is_fallbackable(self) -> bool {
        matches!(
            self,
            Self::Authentication
                | Self::RateLimited
                | Self::QuotaExhausted
                | Self::ServerError
                | Self::Overloaded
                | Self::Timeout
        )
    }
}

impl CallError {
    /// The standard code.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Refused { failure, .. } => failure.code,
            // As with a network that cannot be set up, asking again would end the same.
            Self::Unreachable { source, .. } if source.is_lasting() => ErrorCode::InvalidRequest,
            Self::Unreachable { .. }
            | Self::NothingAnswers { .. }
            | Self::Truncated { .. }
            | Self::Malformed { .. } => ErrorCode::ServerError,
            Self::TimedOut { .. } => ErrorCode::Timeout,
            // Whoever answers with a page does so again.
            Self::WebPage { .. } => ErrorCode::NotFound,
            Self::Redirected { .. } | Self::Encoded { .. } => ErrorCode::Unknown,
            Self::Cancelled => ErrorCode::Cancelled,
            Self::CircuitOpen { .. } => ErrorCode::Overloaded,
            Self::NoCredential { .. } => ErrorCode::Authentication,
            Self::Undeclared { .. } => ErrorCode::RequestTooLarge,
            Self::Option { .. }
            | Self::AddressVariable { .. }
            | Self::NoNetwork { .. }
            | Self::Blocked { .. }
            | Self::Unguarded { .. } => ErrorCode::InvalidRequest,
        }
    }

    /// What can be set so that there is a credential: variables, and the member of a file that should have brought one. Files
    /// in which it was only looked for are not among them.
    pub fn settable(&self) -> Vec<String> {
        let Self::NoCredential { provider, looked_in, unusable } = self else { return Vec::new() };
        let has_models_file = looked_in.iter().any(|place| place == MODELS_FILE);
        let named = unusable.iter().filter_map(|unusable| match unusable {
            Unusable::NotThere { missing: MissingKey::Variable { name }, .. } => Some(name.clone()),
            Unusable::NotThere { missing: MissingKey::Command(_), .. } if has_models_file => {
                Some(format!("apiKey of {provider} in {MODELS_FILE}"))
            }
            Unusable::NotThere { .. }
            | Unusable::Expired { .. }
            | Unusable::UnknownKind { .. }
            | Unusable::BrokenEntry { .. }
            | Unusable::ForeignLogin { .. }
            | Unusable::UnreadableFile { .. }
            | Unusable::BrokenFile { .. } => None,
        });
        let is_in_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let is_variable = |place: &&String| place.chars().all(is_in_name);
        let mut settable: Vec<String> = Vec::new();
        for name in named.chain(looked_in.iter().filter(is_variable).cloned()) {
            if !settable.contains(&name) {
                settable.push(name);
            }
        }
        settable
    }

    /// The same error, told of somebody of this name: whoever is asked by address has no other.
    #[must_use]
    pub fn told_of(mut self, name: &str) -> Self {
        match &mut self {
            Self::Refused { provider, .. }
            | Self::Unreachable { provider, .. }
            | Self::NoNetwork { provider, .. }
            | Self::WebPage { provider, .. }
            | Self::Redirected { provider, .. }
            | Self::NothingAnswers { provider, .. }
            | Self::TimedOut { provider, .. }
            | Self::CircuitOpen { provider, .. }
            | Self::NoCredential { provider, .. }
            | Self::Undeclared { provider, .. }
            | Self::AddressVariable { provider, .. }
            | Self::Unguarded { provider, .. }
            | Self::Truncated { provider }
            | Self::Malformed { provider, .. }
            | Self::Encoded { provider, .. } => *provider = ProviderId::from(name),
            Self::Cancelled | Self::Option { .. } | Self::Blocked { .. } => {}
        }
        self
    }

    /// Whoever was asked, or would have been, where the error knows.
    pub fn provider(&self) -> Option<&ProviderId> {
        match self {
            Self::Refused { provider, .. }
            | Self::Unreachable { provider, .. }
            | Self::NoNetwork { provider, .. }
            | Self::WebPage { provider, .. }
            | Self::Redirected { provider, .. }
            | Self::NothingAnswers { provider, .. }
            | Self::TimedOut { provider, .. }
            | Self::CircuitOpen { provider, .. }
            | Self::NoCredential { provider, .. }
            | Self::Undeclared { provider, .. }
            | Self::AddressVariable { provider, .. }
            | Self::Unguarded { provider, .. }
            | Self::Truncated { provider }
            | Self::Malformed { provider, .. }
            | Self::Encoded { provider, .. } => Some(provider),
            Self::Cancelled | Self::Option { .. } | Self::Blocked { .. } => None,
        }
    }

    /// Whether nobody is at the address: a port of this machine is closed, or nobody knows the name. Whoever is just
    /// starting is there soon; longer waiting would tell nobody more.
    pub fn is_absent(&self) -> bool {
        match self {
            Self::NothingAnswers { .. } => true,
            Self::Unreachable { source, .. } => source.is_unknown_host(),
            Self::Refused { .. }
            | Self::NoNetwork { .. }
            | Self::WebPage { .. }
            | Self::Redirected { .. }
            | Self::TimedOut { .. }
            | Self::Cancelled
            | Self::CircuitOpen { .. }
            | Self::NoCredential { .. }
            | Self::Undeclared { .. }
            | Self::Option { .. }
            | Self::AddressVariable { .. }
            | Self::Blocked { .. }
            | Self::Unguarded { .. }
            | Self::Truncated { .. }
            | Self::Malformed { .. }
            | Self::Encoded { .. } => false,
        }
    }

    /// What the provider said, if it said anything.
    pub fn failure(&self) -> Option<&Failure> {
        if let Self::Refused { failure, .. } = self { Some(failure) } else { None }
    }
}

impl SetBy {
    const fn told(self) -> &'static str {
        match self {
            Self::Caller => "",
            Self::Manifest => ", the timeout_ms of its manifest",
            Self::Nobody => ", the usual limit",
        }
    }
}

impl Cause {
    pub fn of(error: &CallError) -> Self {
        let causes = std::iter::successors(std::error::Error::source(error), |&cause| cause.source());
        let message = causes.fold(error.to_string(), |told, cause| format!("{told}: {cause}"));
        Self { code: error.code(), message }
    }
}

/// Whole seconds, below ten of them with tenths, and never less than is to be waited.
pub fn seconds(time: Duration) -> String {
    let tenths = time.as_nanos().div_ceil(100_000_000);
    match (time.as_secs(), tenths % 10) {
        (0, _) => format!("{} ms", time.as_nanos().div_ceil(1_000_000)),
        (1..10, tenth) if tenth > 0 => format!("{}.{tenth} s", tenths / 10),
        _ => format!("{} s", tenths.div_ceil(10)),
    }
}

fn leading(to: Option<&String>) -> String {
    to.map(|to| format!(" to {to}")).unwrap_or_default()
}

fn as_named(variable: Option<&str>) -> String {
    variable.map(|variable| format!(", which {variable} names")).unwrap_or_default()
}

fn because(unusable: &[Unusable]) -> String {
    unusable.iter().map(|unusable| format!(": {unusable}")).collect()
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name(), self.number())
    }
}

impl Failure {
    /// Whether it was refused because tools were offered, which the model or its server does not take.
    pub fn refuses_tools(&self) -> bool {
        refuses_tools(&self.message)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.status {
            Some(status) => write!(f, "{} {}: {}", status, self.code.name(), self.message)?,
            None => write!(f, "{}: {}", self.code.name(), self.message)?,
        }
        // What support asks for, and what shows when to come back.
        let request = self.request_id.iter().map(|id| format!("request id {id}"));
        let is_limited = matches!(self.code, ErrorCode::RateLimited | ErrorCode::QuotaExhausted);
        let limits = self.limits.as_ref().filter(|_| is_limited).map(ToString::to_string);
        let details: Vec<String> = request.chain(limits.filter(|limits| !limits.is_empty())).collect();
        if details.is_empty() { Ok(()) } else { write!(f, " ({})", details.join("; ")) }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Connect => "connecting",
            Self::FirstByte => "waiting for the first byte",
            Self::Idle => "waiting for the next piece",
            Self::Total => "in all",
        })
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Input => "prompt",
            Self::Output => "answer",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_as_precisely_as_they_matter() {
        for (milliseconds, told) in [
            (0, "0 ms"),
            (250, "250 ms"),
            (1000, "1 s"),
            (1500, "1.5 s"),
            (1501, "1.6 s"),
            (9900, "9.9 s"),
            (9950, "10 s"),
            (10_001, "11 s"),
            (59_500, "60 s"),
        ] {
            assert_eq!(seconds(Duration::from_millis(milliseconds)), told);
        }
    }
}
