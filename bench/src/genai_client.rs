//! The peer: the same questions asked with the `genai` library.

use anyhow::{Context, Result};
use futures_util::StreamExt;
use genai::{
    Client, ModelIden, ServiceTarget,
    adapter::AdapterKind,
    chat::{ChatMessage, ChatRequest, ChatStreamEvent},
    resolver::{AuthData, Endpoint, ServiceTargetResolver},
};

use crate::style::Style;

pub(crate) struct Peer {
    client: Client,
}

impl Peer {
    pub(crate) fn new(style: Style, port: u16) -> Result<Self> {
        // An error means that it was done already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (kind, version) = match style {
            Style::Openai => (AdapterKind::OpenAI, "v1"),
            Style::Anthropic => (AdapterKind::Anthropic, "v1"),
            Style::Gemini => (AdapterKind::Gemini, "v1beta"),
        };
        let address = format!("http://127.0.0.1:{port}/{}/{version}/", style.name());
        let resolver = ServiceTargetResolver::from_resolver_fn(
            move |target: ServiceTarget| -> Result<ServiceTarget, genai::resolver::Error> {
                let endpoint = Endpoint::from_owned(address.clone());
                let model = ModelIden::new(kind, target.model.model_name);
                Ok(ServiceTarget { endpoint, auth: AuthData::from_single("none"), model })
            },
        );
        Ok(Self { client: Client::builder().with_service_target_resolver(resolver).build()? })
    }

    /// Streams an answer and counts its pieces.
    pub(crate) async fn stream(&self, model: &str) -> Result<usize> {
        let request = ChatRequest::new(vec![ChatMessage::user("What is the capital of France?")]);
        let mut stream = self.client.exec_chat_stream(model, request, None).await?.stream;
        let mut pieces = 0;
        while let Some(event) = stream.next().await {
            if let ChatStreamEvent::Chunk(chunk) = event?
                && !chunk.content.is_empty()
            {
                pieces += 1;
            }
        }
        Ok(pieces)
    }

    /// Asks for a whole answer.
    pub(crate) async fn call(&self, model: &str) -> Result<usize> {
        let request = ChatRequest::new(vec![ChatMessage::user("What is the capital of France?")]);
        let answer = self.client.exec_chat(model, request, None).await?;
        Ok(answer.first_text().context("the answer has no text")?.len())
    }
}
