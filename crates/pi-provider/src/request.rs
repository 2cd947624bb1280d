//! What is sent to a provider: a request built from a prompt, which can be shown without being sent.
//!
//! [`build`] decides everything that differs between providers from manifest, contract and model entry; the modules
//! named after dialects only write what was decided.
//!
//! Beside text and images a prompt may hold documents, audio, video, and images by address, as blocks of the transcript's
//! open kind: `{"type": "document" | "audio" | "video" | "image", "data": base64 | "url": address, "mimeType": …,
//! "fileName": …}`. What a model cannot take is degraded as its contract says.
//!
//! No credential is in a [`Request`]: it is attached when the request is sent, so that showing one cannot give it
//! away.

mod address;
mod anthropic_messages;
mod base;
mod change;
mod cohere_v2;
mod conversation;
mod gemini_generate;
mod guard;
mod ids;
mod media;
pub(crate) mod members;
mod openai_chat;
mod openai_responses;
mod output;
mod parameters;
mod plain;
mod plan;
mod root;
mod rules;
mod schema;
mod thinking;
mod tools;
mod turn;
mod writer;

use std::{collections::BTreeSet, fmt::Write as _};

use serde_json::Value;

pub(crate) use self::address::LastAddress;
pub(crate) use self::base::{in_form_of, versioned};
pub(crate) use self::thinking::{Misfit, misfits};
pub(crate) use self::tools::{has_words, in_words, refuses_tools};
use self::{address::Headers, change::Changes, parameters::Names, plan::Body, rules::Rules};
pub use self::{
    address::{Address, join},
    change::{Change, ChangeKind},
    guard::{capability_of, guard},
    media::{Exclusion, MediaKind, Unsendable, encode_blocks, takes, unsendable},
    parameters::{longest_answer, map_parameters},
    plain::{Plain, plain},
    tools::text_calls,
};
use crate::{
    call::Call,
    credential::{Credential, IN_THE_CLEAR, Lookup},
    dialect::Dialect,
    error::CallError,
    manifest::{
        Capability, Manifest, ModelEntry, Quirks,
        endpoint::{SecretHeader, is_protected},
    },
    secret::{HIDDEN, Secret},
};

/// The model that is asked and where it is reached.
#[derive(Clone, Copy)]
pub struct Target<'a> {
    pub manifest: &'a Manifest,
    /// As the user names it.
    pub model: &'a str,
    /// What the manifest knows about it.
    pub entry: Option<&'a ModelEntry>,
    /// Instead of the manifest's address.
    pub base_url: Option<&'a str>,
    /// Values of the environment that the manifest's address names.
    pub lookup: Lookup<'a>,
}

impl<'a> Target<'a> {
    /// Where the server differs from its dialect: what is said of the model, else of its provider.
    fn quirks(&self) -> Option<&'a Quirks> {
        self.entry.and_then(|entry| entry.quirks.as_deref()).or(self.manifest.quirks.as_deref())
    }
}

/// Whether the answer comes in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Stream,
    Whole,
}

/// A request without its credential.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub method: String,
    pub address: Address,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// Headers whose values are shown to nobody, and that nobody changes.
    pub secret_headers: Vec<SecretHeader>,
    /// JSON, but for uploads and questions without a body.
    pub body: Vec<u8>,
    /// What is not sent as it was asked for.
    pub changes: Vec<Change>,
    pub dialect: Dialect,
    /// How the answer comes: as a whole also where a stream was asked for and the provider declares none.
    pub mode: Mode,
    /// The thinking level in the provider's words, where one was sent.
    pub provider_thinking: Option<Value>,
}

/// What is asked outside a chat.
#[derive(Debug)]
pub(crate) struct Errand<'a> {
    pub(crate) capability: Capability,
    pub(crate) method: &'a str,
    /// Joined to the base address.
    pub(crate) path: &'a str,
    /// Of the body; `None` if there is none.
    pub(crate) media_type: Option<&'a str>,
    pub(crate) body: Vec<u8>,
}

/// Builds the request for a call.
pub fn build(target: &Target<'_>, call: Call<'_>, mode: Mode) -> Result<Request, CallError> {
    build_after(&LastAddress::default(), target, call, mode)
}

/// The same for whoever builds one request after the other.
pub(crate) fn build_after(
    last: &LastAddress,
    target: &Target<'_>,
    call: Call<'_>,
    mode: Mode,
) -> Result<Request, CallError> {
    let manifest = target.manifest;
    let mut changes = Changes::default();
    let mode = answered(manifest, mode, &mut changes);
    let dialect = Dialect::of(manifest, target.entry);
    let (rules, names) = (Rules::of(dialect), Names::of(manifest, target.entry));
    let mut used = BTreeSet::new();
    let mut plan = plan::plan(target, call, dialect, &mut changes, &mut used)?;
    let (members, activation) = plan::members(target, call, mode, &plan, &names, &mut changes)?;
    if activation.is_on {
        used.insert(Capability::Reasoning);
    }
    if let Some(suffix) = &activation.model_suffix {
        plan.model.to_mut().push_str(suffix);
    }
    let (method, address) = address::chat(target, dialect, mode, &plan.model, last)?;
    let Headers { shown: mut headers, hidden: secret_headers } =
        address::headers(target, rules, mode, &used, &mut changes);
    if let Some((name, value)) = &activation.header {
        address::set(&mut headers, name, value);
    }
    let body = writer::write(&Body { plan: &plan, members: &members }, plan.size())
        .expect("the parts of a request have text keys and can be written as JSON");
    let changes = changes.into_vec();
    let provider_thinking = activation.value;
    Ok(Request { method, address, headers, secret_headers, body, changes, dialect, mode, provider_thinking })
}

/// How the answer will come. Who asks for pieces wants the answer above all.
fn answered(manifest: &Manifest, mode: Mode, changes: &mut Changes) -> Mode {
    let can_stream = manifest.streaming.is_some() || manifest.capabilities.has(Capability::Streaming);
    match mode {
        Mode::Stream if !can_stream => {
            changes.changed("stream", "the provider does not declare streaming, so the answer comes as a whole");
            Mode::Whole
        }
        Mode::Stream | Mode::Whole => mode,
    }
}

/// A request for something else than a chat.
pub(crate) fn outside_chat(target: &Target<'_>, errand: Errand<'_>) -> Result<Request, CallError> {
    let dialect = Dialect::of(target.manifest, target.entry);
    let model = target.entry.and_then(|entry| entry.model_id.as_deref()).unwrap_or(target.model);
    let used = BTreeSet::from([errand.capability]);
    let mut changes = Changes::default();
    let Headers { shown: mut headers, hidden: secret_headers } =
        address::headers(target, Rules::of(dialect), Mode::Whole, &used, &mut changes);
    address::set(&mut headers, "accept", "*/*");
    match errand.media_type {
        Some(media_type) => address::set(&mut headers, "content-type", media_type),
        None => headers.retain(|(name, _)| name != "content-type"),
    }
    Ok(Request {
        method: errand.method.to_owned(),
        address: join(target, errand.path, model)?,
        headers,
        secret_headers,
        body: errand.body,
        changes: changes.into_vec(),
        dialect,
        mode: Mode::Whole,
        provider_thinking: None,
    })
}

impl Request {
    /// What it carries, beside the credential, that an answer may repeat and nobody shall read in words about it.
    pub(crate) fn secrets(&self) -> Vec<Secret> {
        let headers = self.secret_headers.iter().map(|header| header.value.clone());
        self.address.written.iter().cloned().chain(headers).collect()
    }

    /// Lists among the changes that its credential, or another secret that it carries, travels in the clear. What is sent
    /// decides, and not what the manifest asks for: a server that asks for nothing is sent a key that somebody has set.
    pub fn doubt_credential(&mut self, credential: Option<&Credential>) {
        let is_secret = credential.is_some() || !self.secret_headers.is_empty();
        if is_secret && !is_protected(&self.address.url) {
            self.changes.push(Change {
                kind: ChangeKind::Kept,
                option: "credential".to_owned(),
                reason: format!("it {IN_THE_CLEAR}"),
            });
        }
    }

    /// The body as those see it who filter or replace it.
    pub fn payload(&self) -> Result<Value, CallError> {
        serde_json::from_slice(&self.body).map_err(|_| CallError::Option {
            option: "body".to_owned(),
            reason: "it is not JSON, so it can be neither filtered nor intercepted".to_owned(),
        })
    }

    /// The request as people read it: the line, the headers, the body, and what was changed.
    pub fn show(&self) -> String {
        let mut text = format!("{} {}\n", self.method, self.address.shown());
        for (name, value) in &self.headers {
            let _ = writeln!(text, "{name}: {value}");
        }
        for header in &self.secret_headers {
            let _ = writeln!(text, "{}: {HIDDEN}", header.name);
        }
        let pretty = serde_json::from_slice::<Value>(&self.body).and_then(|body| serde_json::to_string_pretty(&body));
        let body = pretty.unwrap_or_else(|_| String::from_utf8_lossy(&self.body).into_owned());
        let _ = write!(text, "\n{body}\n");
        for (index, change) in self.changes.iter().enumerate() {
            let lead = if index == 0 { "\n" } else { "" };
            let _ = writeln!(text, "{lead}{change}");
        }
        text
    }
}
