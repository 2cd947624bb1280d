//! Pictures from words.

use pi_provider::image::{Draw, Image, ImageSource, read, request};
use serde_json::{Map, json};

use crate::{
    check_json,
    provider::{built_in, target},
    reading, said,
};

const PNG: [u8; 8] = [0x89, b'P', b'N', b'G', 0x0D, 0x0A, 0x1A, 0x0A];
const PNG_IN_BASE64: &str = "iVBORw0KGgo=";

fn draw() -> Draw {
    let parameters = Map::from_iter([("quality".to_owned(), json!("low"))]);
    Draw { prompt: "a cat".to_owned(), count: Some(2), size: Some("1024x1024".to_owned()), parameters }
}

#[test]
fn both_forms_ask_in_their_own_words() {
    let manifest = built_in("openai");
    let body = json!({"model": "gpt-image-1", "prompt": "a cat", "n": 2, "size": "1024x1024", "quality": "low"});
    let line = "POST https://api.openai.com/v1/images/generations";
    check_json(request(&target(&manifest, "gpt-image-1"), &draw()), line, &body);

    let manifest = built_in("gemini");
    let ask = Draw { count: None, size: Some("16:9".to_owned()), parameters: Map::new(), ..draw() };
    let body = json!({
        "contents": [{"role": "user", "parts": [{"text": "a cat"}]}],
        "generationConfig": {"responseModalities": ["TEXT", "IMAGE"], "imageConfig": {"aspectRatio": "16:9"}},
    });
    let line = "POST https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash-image:generateContent";
    check_json(request(&target(&manifest, "gemini-2.5-flash-image"), &ask), line, &body);
}

/// An address would have to be fetched, and ends soon.
#[test]
fn picture_itself_is_asked_for_where_there_is_a_word_for_it() {
    let row = |provider: &str, expected: serde_json::Value| {
        let manifest = built_in(provider);
        let ask = Draw { count: None, size: Some("16:9".to_owned()), parameters: Map::new(), ..draw() };
        let request = request(&target(&manifest, "brush"), &ask).unwrap();
        assert_eq!(serde_json::from_slice::<serde_json::Value>(&request.body).unwrap(), expected, "{provider}");
    };
    let common = json!({"model": "brush", "prompt": "a cat"});
    let with = |members: serde_json::Value| {
        let mut all = common.clone();
        all.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        all
    };
    row("xai", with(json!({"aspect_ratio": "16:9", "response_format": "b64_json"})));
    row("together", with(json!({"size": "16:9", "response_format": "base64"})));
    row("doubao", with(json!({"size": "16:9", "response_format": "b64_json"})));
    row("zhipu", with(json!({"size": "16:9"})));
}

#[test]
fn pictures_come_as_bytes_or_as_an_address() {
    let png = ImageSource::Bytes { media_type: "image/png".to_owned(), bytes: PNG.to_vec() };
    let manifest = built_in("openai");
    let body = json!({
        "created": 1,
        "data": [
            {"b64_json": PNG_IN_BASE64, "revised_prompt": "a small cat"},
            {"url": "https://pictures.example/1.png"},
        ],
        "usage": {"input_tokens": 9, "output_tokens": 100, "total_tokens": 109},
    });
    let images = reading(&manifest, |reading| read(reading, body.to_string().as_bytes())).unwrap();
    let by_address = ImageSource::Url("https://pictures.example/1.png".to_owned());
    assert_eq!(
        images.images,
        [
            Image { source: png.clone(), revised_prompt: Some("a small cat".to_owned()) },
            Image { source: by_address, revised_prompt: None },
        ]
    );
    assert_eq!(images.usage.unwrap().completion, Some(100));

    let data = json!({"mimeType": "image/png", "data": PNG_IN_BASE64});
    let body = json!({
        "candidates": [{"content": {"parts": [{"text": "Here it is:"}, {"inlineData": data}]}}],
        "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 1290, "totalTokenCount": 1293},
    });
    let images = reading(&built_in("gemini"), |reading| read(reading, body.to_string().as_bytes())).unwrap();
    assert_eq!(images.images, [Image { source: png, revised_prompt: None }]);
    assert_eq!(images.usage.unwrap().total, Some(1293));
}

#[test]
fn undeclared_empty_and_answers_without_pictures_are_errors() {
    let (anthropic, openai) = (built_in("anthropic"), built_in("openai"));
    assert_eq!(said(request(&target(&anthropic, "m"), &draw())), "E1005 anthropic does not declare image_generation");
    let empty = said(request(&target(&openai, "m"), &Draw { prompt: String::new(), ..draw() }));
    assert_eq!(empty, "E1001 option prompt cannot be sent: it is empty");
    let page = json!({"data": [{"b64_json": "PGh0bWw+"}]}).to_string();
    let fault = said(reading(&openai, |reading| read(reading, page.as_bytes())));
    assert_eq!(fault, "E3001 the answer of openai cannot be read: what is in it is no picture");
    for body in [json!({"data": []}), json!({"data": [{"b64_json": "?"}]}), json!({"candidates": []}), json!({})] {
        let fault = said(reading(&openai, |reading| read(reading, body.to_string().as_bytes())));
        assert_eq!(fault, "E3001 the answer of openai cannot be read: no picture in it", "{body}");
    }
}
