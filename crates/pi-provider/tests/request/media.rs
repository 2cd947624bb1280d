//! Content that is not text: how it is written, and what happens where a model cannot take it.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use pi_provider::{
    Options, Target,
    request::{Exclusion, takes, unsendable},
};
use serde_json::{Value, json};

use crate::{ask, body, changes, prompt, provider};

/// The content that is sent for one block of the user, or the error.
fn check(adapter: &str, manifest: Value, block: &Value, expected: Result<Value, &str>, expected_changes: &[&str]) {
    let manifest = provider(adapter, manifest);
    let messages = json!({"messages": [{"role": "user", "content": [block, {"type": "text", "text": "?"}]}]});
    match (ask(&manifest, &prompt(&messages), &Options::plain()), expected) {
        (Ok(request), Ok(expected)) => {
            let body = body(&request);
            let sent = [
                body.pointer("/messages/0/content"),
                body.pointer("/contents/0/parts"),
                body.pointer("/input/0/content"),
            ];
            assert_eq!(sent.into_iter().flatten().next(), Some(&expected), "{body:#}");
            let changes: Vec<String> =
                changes(&request.changes).into_iter().filter(|change| !change.contains("max_tokens")).collect();
            assert_eq!(changes, expected_changes);
        }
        (Err(error), Err(expected)) => assert_eq!(error.to_string(), expected),
        (got, expected) => panic!("{got:?} is not {expected:?}"),
    }
}

fn blind(degradation: &Value) -> Value {
    json!({
        "capabilities": {"required": ["text", "streaming"]},
        "provider_contract": {"degradation": degradation},
    })
}

fn png() -> Value {
    json!({"type": "image", "data": "iVBO", "mimeType": "image/png"})
}

#[test]
fn what_a_model_cannot_take_is_degraded_as_the_contract_says() {
    let note = |text: &str| Ok(json!([{"type": "text", "text": text}, {"type": "text", "text": "?"}]));
    let rule = |action: &str| json!({"rules": [{"capability": "vision", "action": action, "message": "No eyes."}]});
    let noted = ["changed image: the model cannot take it and reads a note instead"];
    let usual = "[image left out: this model cannot take it]";
    check("openai", blind(&json!({})), &png(), note(usual), &noted);
    check("openai", blind(&json!({"strategy": "fallback"})), &png(), note(usual), &noted);
    check("openai", blind(&rule("fallback_text")), &png(), note("No eyes."), &noted);
    check("openai", blind(&rule("convert_to_text")), &png(), note("No eyes."), &noted);
    let dropped = ["dropped image: the model cannot take it"];
    check("openai", blind(&rule("strip_content")), &png(), Ok(json!("?")), &dropped);
    check("openai", blind(&json!({"strategy": "silent_skip"})), &png(), Ok(json!("?")), &dropped);
    let refused = || Err("mock-one does not declare vision");
    check("openai", blind(&rule("error")), &png(), refused(), &[]);
    check("openai", blind(&json!({"strategy": "error"})), &png(), refused(), &[]);
}

#[test]
fn the_model_knows_better_than_its_provider() {
    let models = |input: &Value| json!({"models": {crate::MODEL: {"modalities": {"input": input, "output": []}}}});
    check(
        "openai",
        models(&json!(["text"])),
        &png(),
        Ok(
            json!([{"type": "text", "text": "[image left out: this model cannot take it]"}, {"type": "text", "text": "?"}]),
        ),
        &["changed image: the model cannot take it and reads a note instead"],
    );
    let mut seeing = blind(&json!({}));
    seeing["models"] = models(&json!(["text", "image"]))["models"].clone();
    check(
        "openai",
        seeing,
        &png(),
        Ok(json!([
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBO"}}, {"type": "text", "text": "?"},
        ])),
        &[],
    );
}

#[test]
fn formats_and_ways_that_a_manifest_excludes_are_degraded() {
    let vision = json!({"supported": true, "formats": ["jpeg"], "encoding_methods": ["base64_inline"]});
    let manifest = || json!({"multimodal": {"input": {"vision": vision}}});
    let left_out = || {
        Ok(
            json!([{"type": "text", "text": "[image left out: this model cannot take it]"}, {"type": "text", "text": "?"}]),
        )
    };
    let noted = ["changed image: the provider does not take png, only jpeg; the model reads a note instead"];
    check("openai", manifest(), &png(), left_out(), &noted);
    let address = json!({"type": "image", "url": "https://a/b.jpg", "mimeType": "image/jpeg"});
    let noted =
        ["changed image: the provider does not take it as url, only as base64_inline; the model reads a note instead"];
    check("openai", manifest(), &address, left_out(), &noted);
    let jpeg = json!({"type": "image", "data": "/9j/", "mimeType": "image/jpg"});
    check(
        "openai",
        manifest(),
        &jpeg,
        Ok(
            json!([{"type": "image_url", "image_url": {"url": "data:image/jpg;base64,/9j/"}}, {"type": "text", "text": "?"}]),
        ),
        &[],
    );
}

/// The only medium of a question, and why it cannot be sent, before anything is.
fn refused(adapter: &str, manifest: Value, block: &Value) -> Option<String> {
    let manifest = provider(adapter, manifest);
    let prompt = prompt(&json!({"messages": [{"role": "user", "content": [block]}]}));
    let entry = manifest.models.get(crate::MODEL);
    let target = Target { manifest: &manifest, model: crate::MODEL, entry, base_url: None, lookup: &|_| None };
    let found = unsendable(&target, &prompt);
    let senses = found.iter().all(|found| found.why != Exclusion::Kind || !takes(&manifest, entry, found.kind));
    assert!(senses, "who is asked for a model that takes it is not led back to this one");
    found.into_iter().next().map(|found| found.why.to_string())
}

#[test]
fn formats_are_the_same_whatever_they_are_called() {
    for (medium, kind, declared, mime_type, is_taken) in [
        ("vision", "image", "jpg", "image/jpeg", true),
        ("vision", "image", "JPEG", "image/jpg", true),
        ("vision", "image", "image/jpeg", "image/JPEG", true),
        ("vision", "image", "jpg", "image/png", false),
        ("audio", "audio", "x-wav", "audio/wav", true),
        ("audio", "audio", "wave", "audio/x-wav", true),
        ("audio", "audio", "mpeg", "audio/mpeg", true),
        ("audio", "audio", "mp4", "audio/x-m4a", true),
        ("audio", "audio", "mp3", "audio/mp4", false),
        ("video", "video", "quicktime", "video/quicktime", true),
        ("video", "video", "mov", "video/quicktime", true),
        ("video", "video", "mpg", "video/mpeg", true),
        ("video", "video", "mp4", "video/quicktime", false),
    ] {
        let block = json!({"type": kind, "data": "AAAA", "mimeType": mime_type});
        let input = json!({medium: {"supported": true, "formats": [declared]}});
        let why = refused("openai", json!({"multimodal": {"input": input}}), &block);
        assert_eq!(why.is_none(), is_taken, "{declared} {mime_type}: {why:?}");
    }
}

/// A model may be said to take everything: what its wire cannot write is still refused before anything is paid for.
#[test]
fn what_the_wire_has_no_form_for_is_known_before_anything_is_sent() {
    let everything = || {
        let input = json!(["text", "image", "pdf", "audio", "video"]);
        json!({"models": {crate::MODEL: {"modalities": {"input": input, "output": ["text"]}}}})
    };
    let inline = |kind: &str| json!({"type": kind, "data": "AAAA"});
    let none = "the model cannot take it";
    for (adapter, sent, unsent) in [
        ("openai", &["image", "document", "audio", "video"][..], &[][..]),
        ("responses", &["image", "document", "audio"], &["video"]),
        ("anthropic", &["image", "document"], &["audio", "video"]),
        ("gemini", &["image", "document", "audio", "video"], &[]),
        ("cohere_v2", &["image"], &["document", "audio", "video"]),
    ] {
        for kind in sent {
            assert_eq!(refused(adapter, everything(), &inline(kind)), None, "{adapter} {kind}");
        }
        for kind in unsent {
            assert_eq!(refused(adapter, everything(), &inline(kind)).as_deref(), Some(none), "{adapter} {kind}");
        }
    }
    let address = json!({"type": "document", "url": "https://a/b.pdf"});
    let only_inline = "the provider does not take it as url, only as base64_inline";
    assert_eq!(refused("openai", everything(), &address).as_deref(), Some(only_inline));
    assert_eq!(refused("anthropic", everything(), &address), None);
    // A contract may bring the form that the dialect lacks.
    let mut foreign = everything();
    foreign["provider_contract"] =
        json!({"request_mapping": {"content_block_mapping": {"video": {"format": "openai_url"}}}});
    assert_eq!(refused("responses", foreign, &inline("video")), None);
}

/// A PNG of this size, as far as its first bytes tell, with so many bytes.
fn picture(width: u32, height: u32, bytes: usize) -> Value {
    let mut data = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    data.extend([width.to_be_bytes(), height.to_be_bytes()].concat());
    data.resize(bytes.max(data.len()), 0);
    json!({"type": "image", "data": STANDARD.encode(data), "mimeType": "image/png"})
}

#[test]
fn limits_of_a_manifest_are_known_before_anything_is_sent() {
    let vision = json!({"supported": true, "formats": ["png"], "max_file_size": "1KB", "max_resolution": "100x50", "max_images": 2});
    let manifest = provider("openai", json!({"multimodal": {"input": {"vision": vision}}}));
    let check = |blocks: &[Value], expected: &[(usize, &str)]| {
        let prompt = prompt(&json!({"messages": [{"role": "user", "content": blocks}]}));
        let target = Target {
            manifest: &manifest,
            model: crate::MODEL,
            entry: manifest.models.get(crate::MODEL),
            base_url: None,
            lookup: &|_| None,
        };
        let found: Vec<(usize, String)> =
            unsendable(&target, &prompt).into_iter().map(|found| (found.index, found.why.to_string())).collect();
        let expected: Vec<(usize, String)> = expected.iter().map(|(index, why)| (*index, (*why).to_owned())).collect();
        assert_eq!(found, expected);
    };
    let small = || picture(50, 100, 0);
    let words = json!({"type": "text", "text": "?"});
    check(&[words, small(), small()], &[]);
    check(&[small(), picture(50, 100, 1025)], &[(1, "it has 1.1KB, and the provider takes at most 1KB")]);
    check(&[picture(101, 50, 0)], &[(0, "it has 101x50 pixels, and the provider takes at most 100x50")]);
    check(&[small(), small(), small()], &[(2, "it is number 3, and the provider takes at most 2")]);
    let sound = json!({"type": "audio", "data": "UklG", "mimeType": "audio/wav"});
    let gif = json!({"type": "image", "data": "R0lG", "mimeType": "image/gif"});
    check(&[gif, sound], &[(0, "the provider does not take gif, only png")]);
    let left_out = "[image left out: this model cannot take it]";
    let sent = ask(
        &manifest,
        &prompt(&json!({"messages": [{"role": "user", "content": [picture(1, 1, 2000)]}]})),
        &Options::plain(),
    );
    let sent = sent.expect("a conversation goes on without it");
    assert!(body(&sent).to_string().contains(left_out), "{sent:?}");
}

#[test]
fn audio_and_video_are_written_as_each_api_has_them() {
    let audio = json!({"type": "audio", "data": "UklG", "mimeType": "audio/mpeg"});
    let video = json!({"type": "video", "url": "https://a/b.mp4"});
    let question = json!({"type": "text", "text": "?"});
    check(
        "openai",
        json!({}),
        &audio,
        Ok(json!([{"type": "input_audio", "input_audio": {"data": "UklG", "format": "mp3"}}, question])),
        &[],
    );
    check(
        "openai",
        json!({}),
        &video,
        Ok(json!([{"type": "video_url", "video_url": {"url": "https://a/b.mp4"}}, question])),
        &[],
    );
    check(
        "gemini",
        json!({}),
        &video,
        Ok(json!([{"fileData": {"mimeType": "video/mp4", "fileUri": "https://a/b.mp4"}}, {"text": "?"}])),
        &[],
    );
    // Declared, but the wire has no form for it.
    check(
        "anthropic",
        json!({"provider_contract": {"capability_contracts": {"caching": {"markers": false}}}}),
        &audio,
        Ok(json!([{"type": "text", "text": "[audio left out: this model cannot take it]"}, question])),
        &["changed audio: the model cannot take it and reads a note instead"],
    );
}

#[test]
fn a_document_of_text_is_sent_as_text() {
    let block = json!({"type": "document", "data": "aGVsbG8=", "mimeType": "text/plain", "fileName": "a.txt"});
    check(
        "openai",
        json!({}),
        &block,
        Ok(json!([
            {"type": "text", "text": "<document name=\"a.txt\">\nhello\n</document>"}, {"type": "text", "text": "?"},
        ])),
        &[],
    );
}

/// A conversation goes on: the newest pictures are sent, the older ones become notes.
#[test]
fn more_pictures_than_a_provider_takes_are_left_out_from_the_beginning() {
    let vision = json!({"multimodal": {"input": {"vision": {"supported": true, "max_files": 2}}}});
    let mut manifest = json!({"capabilities": {"required": ["text", "streaming", "vision"]}});
    manifest.as_object_mut().unwrap().extend(vision.as_object().unwrap().clone());
    let picture = |data: &str| json!({"type": "image", "data": data, "mimeType": "image/png"});
    let said = |blocks: &[Value]| json!({"role": "user", "content": blocks});
    let check = |messages: &[Value], expected: &[&str], expected_changes: &[&str]| {
        let manifest = provider("openai", manifest.clone());
        let request = ask(&manifest, &prompt(&json!({"messages": messages})), &Options::plain()).unwrap();
        let body = body(&request);
        let parts = body["messages"].as_array().unwrap().iter().flat_map(|it| it["content"].as_array().unwrap());
        let sent: Vec<&str> = parts
            .map(|part| part["image_url"]["url"].as_str().or(part["text"].as_str()).unwrap())
            .map(|text| text.strip_prefix("data:image/png;base64,").unwrap_or(text))
            .collect();
        assert_eq!(sent, expected, "{body:#}");
        let changes: Vec<String> =
            changes(&request.changes).into_iter().filter(|change| !change.contains("max_tokens")).collect();
        assert_eq!(changes, expected_changes);
    };
    let (a, b) = (picture("aaaa"), picture("bbbb"));
    check(&[said(&[a.clone(), b.clone()])], &["aaaa", "bbbb"], &[]);
    let note = "[image left out: this model cannot take it]";
    let told = |count: u32| {
        format!("changed image: it is number {count}, and the provider takes at most 2; the model reads a note instead")
    };
    check(
        &[said(&[a.clone(), a]), said(&[b.clone(), b])],
        &[note, note, "bbbb", "bbbb"],
        &[told(4).as_str(), told(3).as_str()],
    );
}
