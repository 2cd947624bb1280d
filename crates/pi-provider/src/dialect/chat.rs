//! Where a chat is asked for in each dialect; the data is in `chat.yaml`.

use std::sync::LazyLock;

use indexmap::IndexMap;
use serde::Deserialize;

use super::Dialect;

static TABLE: LazyLock<Table> =
    LazyLock::new(|| serde_saphyr::from_str(include_str!("chat.yaml")).expect("chat.yaml is checked by a test"));

/// What is usual for chats of a dialect; `chat.yaml` says what each member means.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Chat {
    pub(crate) path: String,
    pub(crate) adapter: String,
    #[serde(default)]
    pub(crate) key_header: Option<String>,
    #[serde(default)]
    pub(crate) version: Option<String>,
    #[serde(default)]
    streamed: Option<Streamed>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Streamed {
    verb: String,
    by: String,
    query: IndexMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    openai_chat: Chat,
    openai_responses: Chat,
    anthropic_messages: Chat,
    gemini_generate: Chat,
    cohere_v2: Chat,
}

impl Chat {
    pub(crate) fn of(dialect: Dialect) -> &'static Self {
        match dialect {
            Dialect::OpenaiChat | Dialect::Demo => &TABLE.openai_chat,
            Dialect::OpenaiResponses => &TABLE.openai_responses,
            Dialect::AnthropicMessages => &TABLE.anthropic_messages,
            Dialect::GeminiGenerate => &TABLE.gemini_generate,
            Dialect::CohereV2 => &TABLE.cohere_v2,
        }
    }

    /// The path of a stream, for the path of a whole answer or of a stream.
    pub(crate) fn streamed(&self, path: &str) -> String {
        let Some(streamed) = &self.streamed else { return path.to_owned() };
        let mut path = path.replace(&streamed.verb, &streamed.by);
        for (name, value) in &streamed.query {
            if !path.contains(&format!("{name}=")) {
                let mark = if path.contains('?') { '&' } else { '?' };
                path.push_str(&format!("{mark}{name}={value}"));
            }
        }
        path
    }

    /// The path of a stream that belongs to a path of a whole answer, where its verb tells that there is another one.
    pub(crate) fn stream_beside(path: &str) -> Option<String> {
        Dialect::ALL.into_iter().map(Self::of).find_map(|chat| {
            let streamed = chat.streamed.as_ref()?;
            path.ends_with(&streamed.verb).then(|| chat.streamed(path))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adapters_name_their_dialect() {
        for dialect in Dialect::ALL.into_iter().filter(|dialect| *dialect != Dialect::Demo) {
            assert_eq!(Dialect::from_word(&Chat::of(dialect).adapter), Some(dialect));
        }
    }

    #[test]
    fn streams_have_a_path_of_their_own_where_the_verb_says_so() {
        let gemini = Chat::of(Dialect::GeminiGenerate);
        for (path, expected) in [
            ("/m:generateContent", "/m:streamGenerateContent?alt=sse"),
            ("/m:streamGenerateContent?alt=sse", "/m:streamGenerateContent?alt=sse"),
            ("/m:generateContent?key=1", "/m:streamGenerateContent?key=1&alt=sse"),
        ] {
            assert_eq!(gemini.streamed(path), expected);
        }
        assert_eq!(Chat::of(Dialect::CohereV2).streamed("/chat"), "/chat");
        assert_eq!(Chat::stream_beside("/m:generateContent").as_deref(), Some("/m:streamGenerateContent?alt=sse"));
        assert_eq!(Chat::stream_beside("/chat"), None);
    }
}
