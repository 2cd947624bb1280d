//! The shapes of request and stream that data alone cannot express.
//!
//! A dialect knows how a conversation is laid out in a request body, and what the frames of a stream mean where the
//! manifest's own rules say too little. Everything else about a provider is in its [`Manifest`].

mod chat;

pub(crate) use self::chat::Chat;
use crate::manifest::{Manifest, ModelEntry, contract::ApiStyle};

/// How a provider is spoken with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Chat Completions, spoken by most.
    OpenaiChat,
    OpenaiResponses,
    AnthropicMessages,
    GeminiGenerate,
    CohereV2,
    /// The built-in model: Chat Completions, answered inside this process.
    Demo,
}

impl Dialect {
    pub const ALL: [Self; 6] = [
        Self::OpenaiChat,
        Self::OpenaiResponses,
        Self::AnthropicMessages,
        Self::GeminiGenerate,
        Self::CohereV2,
        Self::Demo,
    ];

    /// The words for the streams of each dialect, as manifests write them; the demo has none.
    pub const STRATEGIES: [&str; 5] =
        ["openai_chat", "openai_responses", "anthropic_event_stream", "gemini_generate", "cohere_v2"];

    /// The name in transcripts, which is Pi's where Pi has one.
    pub const fn api(self) -> &'static str {
        match self {
            Self::OpenaiChat => "openai-completions",
            Self::OpenaiResponses => "openai-responses",
            Self::AnthropicMessages => "anthropic-messages",
            Self::GeminiGenerate => "google-generative-ai",
            Self::CohereV2 => "cohere-v2",
            Self::Demo => "pi-demo",
        }
    }

    /// Every word that manifests and other programs use for a dialect.
    pub fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "openai"
            | "openai_chat"
            | "openai_style"
            | "openai_compatible"
            | "openai_messages"
            | "openai_sse"
            | "openai-completions"
            // Pi's name of Mistral's chats, whose path and form these are.
            | "mistral-conversations"
            | "chat_completions"
            | "sse_ignore_comments" => Self::OpenaiChat,
            "openai_responses" | "openai-responses" | "responses" => Self::OpenaiResponses,
            "anthropic"
            | "anthropic_style"
            | "anthropic_messages"
            | "anthropic-messages"
            | "anthropic_event_stream"
            | "anthropic_sse"
            | "messages" => Self::AnthropicMessages,
            "gemini"
            | "google"
            | "gemini_style"
            | "gemini_generate"
            | "gemini_contents"
            | "gemini_sse"
            | "gemini_json"
            | "google-generative-ai"
            | "generate_content" => Self::GeminiGenerate,
            "cohere" | "cohere_style" | "cohere_v2" | "cohere_native" | "cohere-v2" => Self::CohereV2,
            "demo" | "pi-demo" => Self::Demo,
            _ => return None,
        })
    }

    /// The dialect of a chat with this model: what the model says, else the operation, the contract, the stream's
    /// strategy and format; Chat Completions if nobody says anything.
    pub fn of(manifest: &Manifest, model: Option<&ModelEntry>) -> Self {
        let decoder = manifest.streaming.as_ref().map(|streaming| &streaming.decoder);
        let contract = manifest.contract.api_style.and_then(|style| match style {
            ApiStyle::OpenaiCompatible => Some(Self::OpenaiChat),
            ApiStyle::AnthropicMessages => Some(Self::AnthropicMessages),
            ApiStyle::GeminiGenerate => Some(Self::GeminiGenerate),
            ApiStyle::Custom => None,
        });
        let word = |word: Option<&String>| word.and_then(|word| Self::from_word(word));
        word(model.and_then(|model| model.api.as_ref()))
            .or_else(|| word(manifest.written_operation("chat").and_then(|chat| chat.adapter.as_ref())))
            .or(contract)
            .or_else(|| word(decoder.and_then(|decoder| decoder.strategy.as_ref())))
            .or_else(|| word(decoder.and_then(|decoder| decoder.format.as_ref())))
            .unwrap_or(Self::OpenaiChat)
    }
}
