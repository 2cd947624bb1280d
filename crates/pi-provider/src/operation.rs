//! What can be asked of a provider beside a chat: where, and in which form.
//!
//! Embeddings, ranking, pictures, speech and batches have a module each, with what is asked, what comes back, two pure
//! functions between them and the wire, and one that sends. Here is what these have in common: a capability that is not
//! declared is refused, the manifest's endpoints say where an operation is and, by their adapter, in which form it
//! speaks. [`Asking`] says whom to ask, [`Answered`] is what came back.

pub mod guard;
pub(crate) mod multipart;
pub mod named;
pub(crate) mod template;

use std::sync::LazyLock;

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::{
    client::{self, Client, Facts, Whole},
    credential::Credential,
    dialect::Dialect,
    error::CallError,
    manifest::{Capability, Manifest, Operation, wording::Wording},
    request::{self, Change, ChangeKind, Errand, Request, Target},
    response::Reading,
    transport::Content,
};

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    serde_saphyr::from_str(include_str!("operation/table.yaml")).expect("table.yaml is checked by a test")
});

/// Whom to ask, with which credential, and until when.
#[derive(Clone, Copy)]
pub struct Asking<'a> {
    pub client: &'a Client,
    pub target: &'a Target<'a>,
    pub credential: Option<&'a Credential>,
    /// Cancelling it closes the connection; the call then ends with [`CallError::Cancelled`].
    pub cancel: &'a CancellationToken,
}

/// An answer, and what is known about the call beside it.
#[derive(Debug, Clone)]
pub struct Answered<T> {
    pub value: T,
    pub facts: Facts,
}

/// Something that can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    Embeddings,
    /// Gemini's, for several texts at once.
    BatchEmbeddings,
    Rerank,
    ImageGeneration,
    SpeechToText,
    TextToSpeech,
    Batch,
    /// Where a batch is put and its results are fetched.
    Files,
}

/// In which dialect's form an operation speaks. Most providers took OpenAI's; where they have other words for the same,
/// the manifest's `wording` says so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Form {
    Openai,
    Anthropic,
    Gemini,
    Cohere,
}

/// Where an operation is and how it speaks.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Place {
    pub(crate) form: Form,
    pub(crate) wording: Wording,
    capability: Capability,
    method: String,
    path: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    operations: IndexMap<Kind, Names>,
    ends: Vec<End>,
    adapters: IndexMap<String, Form>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Names {
    names: Vec<String>,
    paths: IndexMap<Form, String>,
    #[serde(default)]
    wordings: IndexMap<Form, Wording>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct End {
    path: String,
    form: Form,
}

impl Asking<'_> {
    /// Filters a request and sends it as chats are sent, and reads what comes back.
    pub(crate) async fn send<T>(
        &self,
        request: Request,
        read: impl FnOnce(&Reading<'_>, &Whole) -> Result<T, CallError>,
    ) -> Result<Answered<T>, CallError> {
        self.send_for(Content::Document, request, read).await
    }

    /// The same where an answer may be another thing than one document.
    pub(crate) async fn send_for<T>(
        &self,
        content: Content,
        mut request: Request,
        read: impl FnOnce(&Reading<'_>, &Whole) -> Result<T, CallError>,
    ) -> Result<Answered<T>, CallError> {
        let manifest = self.target.manifest;
        let findings = guard::filter_input(manifest, &mut request.body)?;
        let secret = self.credential.map(|credential| &credential.secret);
        let others = request.secrets();
        let read = |whole: &Whole| read(&Reading { manifest, secret, others: &others, received: client::now() }, whole);
        let sent = self.client.send_and_read(manifest, request, self.credential, self.cancel, (content, read)).await;
        let (value, mut whole) = sent?;
        whole.facts.findings.extend(findings);
        Ok(Answered { value, facts: whole.facts })
    }
}

impl Kind {
    const fn capability(self) -> Capability {
        match self {
            Self::Embeddings | Self::BatchEmbeddings => Capability::Embeddings,
            Self::Rerank => Capability::Rerank,
            Self::ImageGeneration => Capability::ImageGeneration,
            Self::SpeechToText => Capability::Stt,
            Self::TextToSpeech => Capability::Tts,
            Self::Batch | Self::Files => Capability::Batch,
        }
    }
}

impl Form {
    fn of(manifest: &Manifest, operation: Option<&Operation>) -> Self {
        let adapter = operation.and_then(|operation| operation.adapter.as_deref()).and_then(Self::from_word);
        let end = |operation: &Operation| {
            let path = operation.path.split('?').next().unwrap_or_default();
            TABLE.ends.iter().find(|end| path.ends_with(&end.path)).map(|end| end.form)
        };
        adapter.or_else(|| operation.and_then(end)).unwrap_or_else(|| Dialect::of(manifest, None).into())
    }

    fn from_word(word: &str) -> Option<Self> {
        TABLE.adapters.get(word).copied().or_else(|| Dialect::from_word(word).map(Self::from))
    }
}

impl From<Dialect> for Form {
    fn from(dialect: Dialect) -> Self {
        match dialect {
            Dialect::OpenaiChat | Dialect::OpenaiResponses | Dialect::Demo => Self::Openai,
            Dialect::AnthropicMessages => Self::Anthropic,
            Dialect::GeminiGenerate => Self::Gemini,
            Dialect::CohereV2 => Self::Cohere,
        }
    }
}

/// Finds an operation; fails if the provider does not declare it, or speaks a form that has none.
pub(crate) fn find(manifest: &Manifest, kind: Kind) -> Result<Place, CallError> {
    request::guard(manifest, kind.capability())?;
    let names = &TABLE.operations[&kind];
    let operation = listed(manifest, kind);
    let form = Form::of(manifest, operation);
    let default = names.paths.get(&form);
    let undeclared = || CallError::Undeclared { provider: manifest.id.clone(), capability: kind.capability() };
    let path = operation.map(|operation| &operation.path).or(default).ok_or_else(undeclared)?.clone();
    let method = operation.map_or_else(|| "POST".to_owned(), |operation| operation.method.to_uppercase());
    let own = operation.map(|operation| operation.wording.clone()).unwrap_or_default();
    let wording = own.or(names.wordings.get(&form).unwrap_or(&Wording::default()));
    Ok(Place { form, wording, capability: kind.capability(), method, path })
}

/// An operation as the manifest lists it, under any of its names.
pub(crate) fn listed(manifest: &Manifest, kind: Kind) -> Option<&Operation> {
    TABLE.operations[&kind].names.iter().find_map(|name| manifest.endpoints.get(name))
}

/// The error for an operation that is listed with an adapter which has no such thing.
pub(crate) fn unknown_form(manifest: &Manifest, kind: Kind) -> CallError {
    CallError::Undeclared { provider: manifest.id.clone(), capability: kind.capability() }
}

impl Place {
    /// The same place with something behind its path: `/batches/ID/cancel`.
    pub(crate) fn below(&self, method: &str, rest: &str) -> Self {
        let (path, query) = self.path.split_once('?').map_or((self.path.as_str(), ""), |(path, query)| (path, query));
        let mark = if query.is_empty() { "" } else { "?" };
        let path = format!("{path}{rest}{mark}{query}");
        Self { method: method.to_owned(), path, ..self.clone() }
    }

    /// Another place of the same provider.
    pub(crate) fn at(self, path: &str) -> Self {
        Self { path: path.to_owned(), ..self }
    }

    /// A request with a body of JSON.
    pub(crate) fn json(&self, target: &Target<'_>, body: Map<String, Value>) -> Result<Request, CallError> {
        self.request(target, Some("application/json"), Value::Object(body).to_string().into_bytes())
    }

    /// A request without a body.
    pub(crate) fn empty(&self, target: &Target<'_>) -> Result<Request, CallError> {
        self.request(target, None, Vec::new())
    }

    /// A request that uploads a form.
    pub(crate) fn multipart(&self, target: &Target<'_>, form: &multipart::Form<'_>) -> Result<Request, CallError> {
        let (media_type, body) = form.encode();
        self.request(target, Some(&media_type), body)
    }

    fn request(&self, target: &Target<'_>, media_type: Option<&str>, body: Vec<u8>) -> Result<Request, CallError> {
        let Self { form: _, wording: _, capability, method, path } = self;
        request::outside_chat(target, Errand { capability: *capability, method, path, media_type, body })
    }
}

/// The model's name on the wire.
pub(crate) fn wire_model<'a>(target: &Target<'a>) -> &'a str {
    target.entry.and_then(|entry| entry.model_id.as_deref()).unwrap_or(target.model)
}

/// An option that this form has no place for.
pub(crate) fn dropped(option: &str) -> Change {
    let reason = "this provider has no place for it".to_owned();
    Change { kind: ChangeKind::Dropped, option: option.to_owned(), reason }
}

/// A part of an id that is put into a path: nothing that could leave it.
pub(crate) fn path_segment(id: &str) -> Result<&str, CallError> {
    let is_safe = |letter: char| letter.is_ascii_alphanumeric() || "-_.:~".contains(letter);
    if !id.is_empty() && id != "." && id != ".." && id.chars().all(is_safe) {
        Ok(id)
    } else {
        Err(CallError::Option { option: "id".to_owned(), reason: format!("{id:?} is not an id of this provider") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_names_and_a_place() {
        let kinds = [
            Kind::Embeddings,
            Kind::BatchEmbeddings,
            Kind::Rerank,
            Kind::ImageGeneration,
            Kind::SpeechToText,
            Kind::TextToSpeech,
            Kind::Batch,
            Kind::Files,
        ];
        for kind in kinds {
            let names = &TABLE.operations[&kind];
            assert!(!names.names.is_empty() && !names.paths.is_empty(), "{kind:?}");
        }
        assert_eq!(TABLE.operations.len(), kinds.len());
    }

    #[test]
    fn ids_stay_in_their_part_of_a_path() {
        for id in ["batch_1", "file-A.b~c:d"] {
            assert_eq!(path_segment(id).ok(), Some(id));
        }
        for id in ["", ".", "..", "a/b", "a?b", "a#b", "a%2Fb", "a b", "ä"] {
            assert!(path_segment(id).is_err(), "{id:?}");
        }
    }
}
