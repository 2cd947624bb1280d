//! How the tests ask: a built-in manifest, an address on loopback, and what came.

use std::{sync::LazyLock, time::Duration};

use pi_provider::{
    Call, CallError, Manifest, Secret, StreamEvent, Target,
    assembly::{Asked, Assembly, End},
    builtin,
    client::{Answer, Client, Settings, Timeouts},
    credential::Credential,
    manifest::{
        endpoint::Header,
        load::{Format, load},
    },
    request::{self, Plain},
    transport::Network,
};
use pi_testkit::{NoPeer, Peer};
use pi_transcript::{Block, json::Loose, message::AssistantMessage};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// A provider at the address of a peer.
pub(crate) struct Provider {
    pub(crate) manifest: Manifest,
    pub(crate) model: &'static str,
    pub(crate) base_url: String,
    pub(crate) client: Client,
}

/// What came of a call.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) message: AssistantMessage,
    pub(crate) events: Vec<StreamEvent>,
}

/// The peer, or a loud line and `None` where it is not installed. One that does not start is a failure.
pub(crate) fn running(peer: &'static LazyLock<Result<Peer, NoPeer>>, name: &str) -> Option<&'static Peer> {
    match &**peer {
        Ok(peer) => Some(peer),
        Err(NoPeer::NotInstalled) => {
            eprintln!("SKIPPED: {name} is not installed; `cargo xtask test` does that");
            None
        }
        Err(NoPeer::Broken(why)) => panic!("{name}: {why}"),
    }
}

impl Provider {
    /// A built-in provider, never tried again and never waited for longer than a test may take.
    pub(crate) fn new(id: &str, model: &'static str, peer: &Peer, path: &str) -> Self {
        let built_in = builtin::find(id).unwrap();
        let mut manifest = load(built_in.text, &built_in.path(), Format::Yaml).manifest.unwrap();
        manifest.retry_policy.max_retries = 0;
        let base_url = format!("http://{}{path}", peer.address());
        Self { manifest, model, base_url, client: client(Duration::from_secs(60)) }
    }

    /// Headers that every request carries: the mock is told by them what to do.
    pub(crate) fn with_header(mut self, name: &str, value: &str) -> Self {
        self.manifest.endpoint.auth.extra_headers.push(Header { name: name.to_owned(), value: value.to_owned() });
        self
    }

    pub(crate) fn target(&self) -> Target<'_> {
        Target {
            manifest: &self.manifest,
            model: self.model,
            entry: self.manifest.models.get(self.model),
            base_url: Some(&self.base_url),
            lookup: &|_| None,
        }
    }

    pub(crate) async fn complete(&self, asked: &Plain) -> Result<Told, CallError> {
        let call = Call { prompt: &asked.prompt, options: &asked.options };
        let completion = self.client.complete(&self.target(), call, Some(&key()), &CancellationToken::new()).await?;
        Ok(self.told(completion.events))
    }

    pub(crate) async fn begin(&self, asked: &Plain, cancel: &CancellationToken) -> Result<Answer, CallError> {
        let call = Call { prompt: &asked.prompt, options: &asked.options };
        self.client.stream(&self.target(), call, Some(&key()), cancel).await
    }

    pub(crate) async fn stream(&self, asked: &Plain) -> Result<Told, CallError> {
        let mut answer = self.begin(asked, &CancellationToken::new()).await?;
        let mut events = Vec::new();
        while let Some(event) = answer.next().await {
            events.push(event?);
        }
        Ok(self.told(events))
    }

    fn told(&self, events: Vec<StreamEvent>) -> Told {
        let asked = Asked {
            api: "peer".to_owned(),
            provider: self.manifest.id.clone(),
            model: self.model.into(),
            pricing: None,
            thinking_level: None,
            timestamp: 0,
        };
        let (mut assembly, mut out) = (Assembly::new(asked), Vec::new());
        events.iter().cloned().for_each(|event| assembly.push(event, &mut out));
        Told { message: assembly.finish(End::Proper, &mut out), events }
    }
}

impl Told {
    pub(crate) fn text(&self) -> String {
        self.message.content.iter().filter_map(Block::as_text).collect()
    }

    /// Name and arguments of every call.
    pub(crate) fn calls(&self) -> Vec<(&str, Value)> {
        let calls = self.message.content.iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some((call.name.as_str(), Value::Object(call.arguments.clone()))),
            Block::Text(_) | Block::Thinking(_) | Block::Image(_) | Block::Other(_) => None,
        });
        calls.collect()
    }

    /// Tokens of the prompt and of the answer.
    pub(crate) fn usage(&self) -> (u64, u64) {
        let Loose::Known(usage) = &self.message.usage else { panic!("{:?}", self.message.usage) };
        (usage.input + usage.cache_read + usage.cache_write, usage.output)
    }

    /// How many pieces of text and of arguments came.
    pub(crate) fn pieces(&self) -> (usize, usize) {
        let count = |fits: fn(&StreamEvent) -> bool| self.events.iter().filter(|event| fits(event)).count();
        (
            count(|event| matches!(event, StreamEvent::PartialContentDelta { .. })),
            count(|event| matches!(event, StreamEvent::PartialToolCall { .. })),
        )
    }
}

pub(crate) fn client(patience: Duration) -> Client {
    let timeouts = Timeouts {
        connect: Duration::from_secs(5),
        first_byte: Some(patience),
        idle: Some(patience),
        total: Some(patience),
    };
    Client::new(Settings { timeouts, ..Settings::new(Network::default()) })
}

pub(crate) fn question(text: &str, parameters: Value) -> Plain {
    conversation(&[json!({"role": "user", "content": text})], parameters)
}

pub(crate) fn conversation(messages: &[Value], parameters: Value) -> Plain {
    let Value::Object(parameters) = parameters else { panic!("parameters are an object") };
    request::plain(messages, &parameters).unwrap()
}

/// The peers do not look at it.
pub(crate) fn key() -> Credential {
    Credential::key(Secret::new("key-of-a-test"))
}
