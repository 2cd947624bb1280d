//! The models that a session can ask, and how one of them is asked.
//!
//! [`Models`] is shared by all sessions of a process. A [`Choice`] is one model with everything that a call needs, so
//! that nothing is looked up during a run but the credential, which may change under a long one.

pub mod guest;
pub mod scope;

use std::{fmt, sync::Arc, time::SystemTime};

use pi_envelope::Prompt;
use pi_exthost::GuestId;
use pi_provider::{
    Call, CallError, Catalog, Dialect, Manifest, Options, Secret,
    assembly::Asked,
    catalog::{Asked as Wanted, Entry, FindError, Found},
    client::{Answer, Client, ForeignStream, Interceptor},
    credential::{self, AuthFile, Credential, Sources, Status},
    manifest::{Capability, ModelEntry, endpoint::shown_address},
    request::{Unsendable, unsendable},
};
use pi_transcript::{Model, ModelId, ProviderId, ThinkingLevel};
use tokio_util::sync::CancellationToken;

/// Reads a variable of the environment.
pub type Environment = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Where credentials come from.
pub struct Keys {
    pub environment: Environment,
    pub auth_file: AuthFile,
    /// A key that somebody spelled out, for one provider.
    pub explicit: Option<(ProviderId, Secret)>,
    /// For the expiry of tokens.
    pub now: fn() -> SystemTime,
}

/// All models, and the client that asks them. Cheap to clone.
#[derive(Clone)]
pub struct Models {
    inner: Arc<Inner>,
}

struct Inner {
    catalog: Catalog,
    client: Client,
    keys: Keys,
}

/// A model that stands in a list.
#[derive(Debug, Clone)]
pub struct Listed {
    pub choice: Arc<Choice>,
    /// Whether it can be asked as far as credentials are concerned.
    pub is_usable: bool,
}

/// A model that can be asked.
pub struct Choice {
    entry: Entry,
    id: String,
    known: Option<ModelEntry>,
    base_url: Option<String>,
    /// Shared with whoever tells of it: a server knows it once for each of its sessions.
    model: Arc<Model>,
    /// Whoever streams its answers, if it is not reached over the network.
    extension: Option<GuestId>,
}

/// A provider that cannot be asked for want of a credential.
#[derive(Debug)]
pub struct Lacking {
    pub provider: ProviderId,
    /// The names of its models.
    pub models: Vec<String>,
    pub lack: CallError,
}

/// Why a model is none of those that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Absence {
    /// Its provider is not known, or not trusted.
    Unknown,
    /// Its provider could be asked for it and does not list it.
    Unlisted,
    /// One cannot talk to it: it embeds, ranks, draws or speaks.
    Mute,
    NoCredential {
        /// What can be set so that there is one: variables, and members of files.
        settable: Vec<String>,
    },
}

/// A model that cannot be asked for want of a credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LackingModel {
    pub provider: ProviderId,
    pub id: ModelId,
    /// The variables in which a credential is looked for; any of them will do.
    pub needs: Vec<String>,
}

/// Why a model cannot be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    #[error(transparent)]
    NotFound(#[from] FindError),
    #[error("{provider} comes from {file} of a project that nobody has trusted")]
    Untrusted { provider: ProviderId, file: String },
}

impl Models {
    pub fn new(catalog: Catalog, client: Client, keys: Keys) -> Self {
        Self { inner: Arc::new(Inner { catalog, client, keys }) }
    }

    pub fn catalog(&self) -> &Catalog {
        &self.inner.catalog
    }

    pub fn client(&self) -> &Client {
        &self.inner.client
    }

    /// The model that is meant by `provider/model` or a part of it.
    pub fn find(&self, pattern: &str) -> Result<Arc<Choice>, ModelError> {
        let found = self.inner.catalog.find_model(pattern)?;
        Choice::new(&found, None, &self.inner.keys.environment)
    }

    /// The model of this exact name, listed or not: a session file names the models that it was made with.
    pub fn named(&self, provider: &ProviderId, model: &ModelId) -> Result<Arc<Choice>, ModelError> {
        let found = self.inner.catalog.unlisted(provider.as_str(), model.as_str());
        let missing = || FindError::NoProvider { name: provider.to_string(), nearest: Vec::new() };
        Choice::new(&found.ok_or_else(missing)?, None, &self.inner.keys.environment)
    }

    /// Every listed model that one can talk to and whose provider can be asked as far as credentials are concerned.
    pub fn available(&self) -> Vec<Arc<Choice>> {
        let catalog = &self.inner.catalog;
        let entries = catalog.providers().filter(|entry| self.resolve(entry).status() == Status::Available);
        let found = entries.flat_map(talking);
        found.filter_map(|found| Choice::new(&found, None, &self.inner.keys.environment).ok()).collect()
    }

    /// Every listed model that one can talk to, of a provider that somebody trusts.
    pub fn listed(&self) -> Vec<Listed> {
        let entries = self.inner.catalog.providers().filter(|entry| entry.is_trusted());
        let listed = entries.flat_map(|entry| {
            let is_usable = self.resolve(entry).status() == Status::Available;
            talking(entry).filter_map(move |found| {
                let choice = Choice::new(&found, None, &self.inner.keys.environment).ok()?;
                Some(Listed { choice, is_usable })
            })
        });
        listed.collect()
    }

    /// Whether the provider of this model can be asked as far as credentials are concerned.
    pub fn has_credential(&self, choice: &Choice) -> bool {
        choice.extension.is_some() || self.resolve(&choice.entry).status() == Status::Available
    }

    /// What this model lacks to be asked as far as credentials are concerned; nothing if it can be.
    pub fn lack(&self, choice: &Choice) -> Option<CallError> {
        if choice.extension.is_some() {
            return None;
        }
        self.resolve(&choice.entry).into_credential(choice.provider()).err()
    }

    /// What to say where the credential of this model travels to a server elsewhere in the clear.
    pub fn in_the_clear(&self, choice: &Choice) -> Option<String> {
        choice.in_the_clear(self.resolve(&choice.entry).credential.as_ref())
    }

    /// Every listed model that one could talk to if its provider had a credential, and what is missing.
    pub fn lacking(&self) -> Vec<Lacking> {
        let entries = self.inner.catalog.providers().filter(|entry| entry.is_trusted());
        let lacking = entries.filter_map(|entry| {
            let provider = entry.manifest.id.clone();
            let lack = self.resolve(entry).into_credential(&provider).err()?;
            let models: Vec<String> = talking(entry).map(|found| found.id).collect();
            (!models.is_empty()).then_some(Lacking { provider, models, lack })
        });
        lacking.collect()
    }

    /// The raw credential of a provider, for whoever was granted to have it; nothing if there is none.
    pub fn credential(&self, provider: &ProviderId) -> Option<Credential> {
        let entry = self.inner.catalog.providers().find(|entry| entry.manifest.id == *provider)?;
        self.resolve(entry).into_credential(provider).ok().flatten()
    }

    /// Asks the model. Cancelling the token, or dropping the future or the answer, closes the connection.
    pub async fn ask(
        &self,
        choice: &Choice,
        prompt: &Prompt,
        options: &Options,
        interceptor: Option<Arc<dyn Interceptor>>,
        cancel: &CancellationToken,
    ) -> Result<Answer, CallError> {
        let credential = self.resolve(&choice.entry).into_credential(choice.provider())?;
        let environment = &*self.inner.keys.environment;
        let target = choice.entry.target(choice.wanted(), &environment);
        let call = Call { prompt, options };
        match interceptor {
            Some(interceptor) => {
                let client = self.inner.client.with_interceptor(interceptor);
                client.stream(&target, call, credential.as_ref(), cancel).await
            }
            None => self.inner.client.stream(&target, call, credential.as_ref(), cancel).await,
        }
    }

    /// What of a prompt this model is not sent. What becomes of it where an extension streams the answer is not known.
    pub(crate) fn unsendable(&self, choice: &Choice, prompt: &Prompt) -> Vec<Unsendable> {
        if choice.extension.is_some() {
            return Vec::new();
        }
        let environment = &*self.inner.keys.environment;
        unsendable(&choice.entry.target(choice.wanted(), &environment), prompt)
    }

    /// As [`ask`](Self::ask) where somebody else streams the answer. It gets no credential.
    pub(crate) async fn ask_foreign(
        &self,
        choice: &Choice,
        foreign: &dyn ForeignStream,
        call: Call<'_>,
        cancel: &CancellationToken,
    ) -> Result<Answer, CallError> {
        self.inner.client.stream_foreign(foreign, choice.manifest(), &choice.id, call, cancel).await
    }

    fn resolve(&self, entry: &Entry) -> credential::Resolved {
        let keys = &self.inner.keys;
        let environment = &*keys.environment;
        let explicit = keys.explicit.as_ref().filter(|(provider, _)| *provider == entry.manifest.id);
        let sources = Sources {
            explicit: explicit.map(|(_, secret)| secret),
            written: entry.key.as_ref(),
            environment: &environment,
            auth_file: &keys.auth_file,
            trust: entry.trust,
            now: (keys.now)(),
        };
        credential::resolve(&entry.manifest, &sources)
    }
}

/// The listed models of a provider that one can talk to: not those that embed, rank, draw or speak.
fn talking(entry: &Entry) -> impl Iterator<Item = Found<'_>> {
    let models = entry.manifest.models.iter().filter(|(_, model)| model.answers());
    models.map(move |(id, model)| Found { entry, id: id.clone(), model: Some(model) })
}

impl Choice {
    /// The model that was found, reached at `base_url` where one is given instead of the manifest's.
    pub fn new(
        found: &Found<'_>,
        base_url: Option<String>,
        environment: &Environment,
    ) -> Result<Arc<Self>, ModelError> {
        if !found.entry.is_trusted() {
            let (provider, file) = (found.entry.manifest.id.clone(), found.entry.file.clone());
            return Err(ModelError::Untrusted { provider, file });
        }
        let mut entry = found.entry.clone();
        // Headers of Pi's `models.json` may be secret, so they travel like the credential.
        let environment = &**environment;
        entry.manifest.endpoint.auth.carry(found.entry.headers_of(found.model), &environment);
        let mut model = found.to_model();
        if let Some(base_url) = &base_url {
            model.base_url = shown_address(base_url);
        }
        Ok(Arc::new(Self {
            entry,
            id: found.id.clone(),
            known: found.model.cloned(),
            base_url,
            model: Arc::new(model),
            extension: None,
        }))
    }

    pub fn provider(&self) -> &ProviderId {
        &self.entry.manifest.id
    }

    /// The name under which it is asked for.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The extension that streams its answers; nothing if it is reached over the network.
    pub fn extension(&self) -> Option<&GuestId> {
        self.extension.as_ref()
    }

    pub(crate) fn manifest(&self) -> &Manifest {
        &self.entry.manifest
    }

    /// Where it is reached instead of where its manifest says. Nothing where the address may hold a secret: it is written
    /// into session files.
    pub fn address(&self) -> Option<&str> {
        self.base_url.as_deref().filter(|address| !address.contains(['@', '?', '#']))
    }

    /// What to say where this credential, or a header that travels like one, goes to a server elsewhere in the clear. A
    /// server that asks for none is sent one that somebody has set.
    pub fn in_the_clear(&self, credential: Option<&Credential>) -> Option<String> {
        let is_secret = credential.is_some() || !self.entry.manifest.endpoint.auth.secret_headers.is_empty();
        let is_sent = self.extension.is_none() && is_secret;
        let own = || Some(self.known.as_ref()?.base_url.as_ref()?.0.as_str());
        let address = self.base_url.as_deref().or_else(own);
        credential::in_the_clear(&self.entry.manifest, address).filter(|_| is_sent)
    }

    /// Whether anybody says what it can do. Of a model of which nobody does, it is not known that it cannot.
    pub fn is_described(&self) -> bool {
        self.extension.is_some() || self.known.is_some()
    }

    /// The same model taken for one that thinks, on the word of whoever wants it to; `None` where somebody says otherwise,
    /// or its provider lets no model think.
    pub fn trusted_to_think(&self) -> Option<Arc<Self>> {
        if self.is_described() || !self.entry.manifest.capabilities.has(Capability::Reasoning) {
            return None;
        }
        let described = self.entry.manifest.thinking_stranger();
        let found = Found { entry: &self.entry, id: self.id.clone(), model: Some(&described) };
        let mut model = found.to_model();
        model.base_url.clone_from(&self.model.base_url);
        Some(Arc::new(Self {
            entry: self.entry.clone(),
            id: self.id.clone(),
            base_url: self.base_url.clone(),
            extension: None,
            model: Arc::new(model),
            known: Some(described),
        }))
    }

    /// What clients are told of it.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Whether one can talk to it: not if it embeds, ranks, draws or speaks.
    pub(crate) fn answers(&self) -> bool {
        self.known.as_ref().is_none_or(ModelEntry::answers)
    }

    /// The same, for whoever keeps it.
    pub(crate) fn shared_model(&self) -> Arc<Model> {
        Arc::clone(&self.model)
    }

    /// `provider/model`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.entry.manifest.id, self.id)
    }

    /// The level that the model can think at which is nearest to the one that is wanted.
    pub fn clamp(&self, level: ThinkingLevel) -> ThinkingLevel {
        if self.model.reasoning { level } else { ThinkingLevel::Off }
    }

    fn wanted(&self) -> Wanted<'_> {
        Wanted { model: &self.id, known: self.known.as_ref(), base_url: self.base_url.as_deref() }
    }

    /// What is known of an answer of this model before it comes.
    pub(crate) fn asked(&self, thinking: ThinkingLevel, timestamp: u64) -> Asked {
        Asked {
            api: match self.extension {
                None => Dialect::of(&self.entry.manifest, self.known.as_ref()).api().to_owned(),
                Some(_) => self.model.api.clone(),
            },
            provider: self.entry.manifest.id.clone(),
            model: ModelId::from(self.id.as_str()),
            pricing: self.entry.manifest.pricing_of(self.known.as_ref()),
            thinking_level: Some(thinking),
            timestamp,
        }
    }
}

impl fmt::Debug for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Choice").field(&self.name()).finish()
    }
}

impl fmt::Debug for Models {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Models").field("client", &self.inner.client).finish_non_exhaustive()
    }
}
