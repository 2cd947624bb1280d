//! The least that an answer can cost with the HTTP library that ours and the peer share: its bytes as they come, unread.

use anyhow::Result;

use crate::style::Style;

pub(crate) struct Raw {
    client: reqwest::Client,
    address: String,
}

impl Raw {
    pub(crate) fn new(style: Style, port: u16) -> Result<Self> {
        // An error means that it was done already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let address = format!("http://127.0.0.1:{port}/{}/v1/chat", style.name());
        Ok(Self { client: reqwest::Client::builder().build()?, address })
    }

    /// Streams an answer of so many pieces, each of which the server sends by itself, and counts how many came.
    pub(crate) async fn stream(&self, model: &str, most: usize) -> Result<usize> {
        let question = format!(r#"{{"model":"{model}"}}"#);
        let mut response = self.client.post(&self.address).body(question).send().await?;
        let mut pieces = 0;
        while response.chunk().await?.is_some() {
            pieces += 1;
        }
        // The first and the last ones hold no text, and some arrive cut in two.
        Ok(pieces.min(most))
    }

    /// Asks for a whole answer.
    pub(crate) async fn call(&self, model: &str) -> Result<usize> {
        let question = format!(
            r#"{{"model":"{model}","messages":[{{"role":"user","content":"What is the capital of France?"}}]}}"#
        );
        let request = self.client.post(&self.address).body(question);
        let request = request.header("content-type", "application/json").header("authorization", "Bearer none");
        Ok(request.send().await?.bytes().await?.len())
    }
}
