//! Our client.

use anyhow::{Context, Result, bail};
use pi_envelope::{Origin, Prompt, Provenance, Said};
use pi_provider::{
    Call, Catalog, Manifest, Options, Secret, StreamEvent, Target,
    client::{Client, Settings},
    credential::Credential,
    transport::Network,
};
use pi_transcript::{EntryId, Message};
use tokio_util::sync::CancellationToken;

use crate::style::Style;

pub(crate) struct Ours {
    client: Client,
    manifest: Manifest,
    base_url: String,
    prompt: Prompt,
    options: Options,
    credential: Credential,
}

impl Ours {
    pub(crate) fn new(style: Style, port: u16) -> Result<Self> {
        let (id, version) = match style {
            Style::Openai => ("openai", "v1"),
            Style::Anthropic => ("anthropic", "v1"),
            Style::Gemini => ("gemini", "v1beta"),
        };
        let catalog = Catalog::load(&[pi_provider::catalog::Source::built_in()]);
        let manifest = Manifest::clone(&catalog.provider(id).context("the provider is built in")?.manifest);
        let asked = Message::user("What is the capital of France?", 0);
        let said = Said::new(EntryId("1".to_owned()), asked, Provenance::usual(Origin::User));
        Ok(Self {
            client: Client::new(Settings::new(Network::from_environment(&|_| None))),
            manifest,
            base_url: format!("http://127.0.0.1:{port}/{}/{version}", style.name()),
            prompt: Prompt { messages: vec![said], ..Prompt::default() },
            options: Options::plain(),
            credential: Credential::key(Secret::new("none")),
        })
    }

    fn target<'a>(&'a self, model: &'a str) -> Target<'a> {
        Target { manifest: &self.manifest, model, entry: None, base_url: Some(&self.base_url), lookup: &|_| None }
    }

    fn call(&self) -> Call<'_> {
        Call { prompt: &self.prompt, options: &self.options }
    }

    /// Streams an answer and counts its pieces.
    pub(crate) async fn stream(&self, model: &str) -> Result<usize> {
        let cancel = CancellationToken::new();
        let target = self.target(model);
        let mut answer = self.client.stream(&target, self.call(), Some(&self.credential), &cancel).await?;
        let mut pieces = 0;
        while let Some(event) = answer.next().await {
            if let StreamEvent::PartialContentDelta { content, .. } = event?
                && !content.is_empty()
            {
                pieces += 1;
            }
        }
        Ok(pieces)
    }

    /// Asks for a whole answer.
    pub(crate) async fn complete(&self, model: &str) -> Result<usize> {
        let cancel = CancellationToken::new();
        let target = self.target(model);
        let answer = self.client.complete(&target, self.call(), Some(&self.credential), &cancel).await?;
        let text = answer.events.iter().find_map(|event| match event {
            StreamEvent::PartialContentDelta { content, .. } => Some(content.len()),
            _ => None,
        });
        text.context("the answer has no text")
    }
}

/// Opens streams that never end and says how much memory each holds, in KiB.
pub(crate) async fn memory_per_stream(port: u16, streams: usize) -> Result<f64> {
    let ours = Ours::new(Style::Openai, port)?;
    let cancel = CancellationToken::new();
    let target = ours.target("hang");
    let mut open = Vec::new();
    let mut before = 0;
    for number in 0..=streams {
        let mut answer = ours.client.stream(&target, ours.call(), Some(&ours.credential), &cancel).await?;
        // The first piece has been read, as in the middle of an answer.
        while let Some(event) = answer.next().await {
            if matches!(event?, StreamEvent::PartialContentDelta { .. }) {
                break;
            }
        }
        open.push(answer);
        if number == 0 {
            before = resident()?;
        }
    }
    if open.len() != streams + 1 {
        bail!("{} of {} streams are open", open.len(), streams + 1);
    }
    Ok((resident()? - before) as f64 / streams as f64)
}

/// Memory of this process that is in use, in KiB.
fn resident() -> Result<i64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line =
        status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("the kernel tells the memory in use")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
