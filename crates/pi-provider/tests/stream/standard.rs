//! The manifests of the standard read streams. Its cases about streams are run by the program `compliance`.

#![expect(clippy::disallowed_methods, reason = "the shared data lies beside the repository")]

use std::{fs, path::Path};

use pi_provider::{
    Dialect, Manifest, Pipeline, StreamEvent,
    manifest::{self, Format},
    stream::Ending,
};

use crate::transcription::transcribe;

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/ai-protocol");

fn load(file: &Path) -> Manifest {
    let text = fs::read_to_string(file).unwrap();
    manifest::load(&text, &file.display().to_string(), Format::Yaml).manifest.unwrap()
}

fn decode(manifest: &Manifest, dialect: Dialect, stream: &str) -> (Vec<StreamEvent>, Ending) {
    let mut decoder = Pipeline::compile(manifest, dialect).unwrap().start_with(fastrand::Rng::with_seed(7));
    let mut events = Vec::new();
    decoder.push(stream.as_bytes(), &mut events).unwrap();
    let ending = decoder.finish(&mut events).unwrap();
    (events, ending)
}

/// The rules of every manifest in the data, together with the dialect, say nothing twice and lose nothing.
#[test]
fn manifests_of_the_standard_read_recorded_streams() {
    let mut count = 0;
    for folder in ["v1", "v2", "v2-alpha"] {
        let Ok(entries) = fs::read_dir(format!("{DATA}/{folder}/providers")) else {
            return eprintln!("SKIPPED: the shared data are absent");
        };
        for entry in entries {
            let file = entry.unwrap().path();
            let manifest = load(&file);
            let mut plain = manifest.clone();
            plain.streaming = None;
            for (dialect, stream) in [
                (Dialect::OpenaiChat, include_str!("../streams/openai.sse")),
                (Dialect::AnthropicMessages, include_str!("../streams/anthropic.sse")),
                (Dialect::GeminiGenerate, include_str!("../streams/gemini.sse")),
                (Dialect::CohereV2, include_str!("../streams/cohere.sse")),
            ] {
                if Dialect::of(&manifest, None) == dialect {
                    let decoded = decode(&manifest, dialect, stream);
                    let expected = decode(&plain, dialect, stream);
                    assert_eq!(transcribe(&decoded.0), transcribe(&expected.0), "{}", file.display());
                    assert_eq!(decoded.1, expected.1, "{}", file.display());
                    count += 1;
                }
            }
        }
    }
    assert!(count >= 20, "{count} manifests");
}
