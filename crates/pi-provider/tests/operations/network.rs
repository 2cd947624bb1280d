//! What can be asked beside a chat, over real sockets: a scripted server, the client that also carries chats, typed answers.

use std::{num::NonZeroU32, time::Duration};

use pi_provider::{
    Call, CallError, Manifest, Secret, Side,
    batch::{self, Item, State},
    client::{Client, Settings},
    credential::Credential,
    embeddings::{Embed, embed, embed_telling, portions},
    image::{Draw, ImageSource, draw},
    manifest::resilience::{Filter, FilterAction, Strategy},
    operation::Asking,
    request::{Mode, Target, build, plain},
    rerank::{Ranked, Rerank, rerank},
    speech::{Detail, Speak, Transcribe, speak, transcribe},
    transport::Network,
};
use pi_testkit::server::{Framing, Reply, Request, Script, Server, Step};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::provider::{built_in, target};

const KEY: &str = "sk-planted-0123456789abcdef";

/// Everything that a call needs, against a server with this script.
struct Scene {
    server: Server,
    url: String,
    manifest: Manifest,
    client: Client,
    credential: Credential,
    cancel: CancellationToken,
}

impl Scene {
    async fn new(provider: &str, script: Script) -> Self {
        let server = Server::start(script).await.unwrap();
        let mut manifest = built_in(provider);
        manifest.retry_policy.min_delay_ms = 0;
        manifest.retry_policy.max_delay_ms = 1;
        let client = Client::new(Settings::new(Network::default()));
        let credential = Credential::key(Secret::new(KEY));
        Self { url: server.url(), server, manifest, client, credential, cancel: CancellationToken::new() }
    }

    fn target<'a>(&'a self, model: &'a str) -> Target<'a> {
        Target { base_url: Some(&self.url), ..target(&self.manifest, model) }
    }

    fn asking<'a>(&'a self, target: &'a Target<'a>) -> Asking<'a> {
        Asking { client: &self.client, target, credential: Some(&self.credential), cancel: &self.cancel }
    }

    fn request(&self, number: usize) -> Request {
        self.server.requests()[number].clone()
    }
}

fn texts(texts: &[&str]) -> Embed {
    Embed { texts: texts.iter().map(|&text| text.to_owned()).collect(), dimensions: None, purpose: None }
}

fn vectors() -> Value {
    json!({"data": [{"index": 0, "embedding": [0.5]}], "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}})
}

/// Vectors of one number each.
fn numbered(numbers: std::ops::Range<u8>) -> Reply {
    let data = numbers.clone().enumerate().map(|(index, number)| json!({"index": index, "embedding": [number]}));
    let usage = json!({"prompt_tokens": numbers.len(), "total_tokens": numbers.len()});
    Reply::json(200, &json!({"data": data.collect::<Vec<_>>(), "usage": usage}))
}

#[tokio::test]
async fn more_texts_than_a_request_may_have_go_in_several_and_come_back_in_order() {
    let script = Script::new().then(numbered(0..3)).then(numbered(3..6)).then(numbered(6..8));
    let mut scene = Scene::new("openai", script).await;
    scene.manifest.endpoints.get_mut("embeddings").unwrap().max_inputs = NonZeroU32::new(3);
    let target = scene.target("text-embedding-3-small");
    let all: Vec<String> = (0..8).map(|number| format!("text-{number}")).collect();
    let ask = texts(&all.iter().map(String::as_str).collect::<Vec<_>>());
    let mut told = Vec::new();
    let answered = embed_telling(&scene.asking(&target), &ask, |progress| told.push(progress.done)).await.unwrap();
    assert_eq!(answered.value.vectors, (0..8_u8).map(|number| vec![f32::from(number)]).collect::<Vec<_>>());
    assert_eq!((told, answered.facts.attempts), (vec![3, 6, 8], 3));
    assert_eq!(answered.value.usage.and_then(|usage| usage.prompt), Some(8));
    let sent: Vec<usize> =
        scene.server.requests().iter().map(|it| it.json()["input"].as_array().unwrap().len()).collect();
    assert_eq!(sent, [3, 3, 2]);
    let empty = embed(&scene.asking(&target), &texts(&["a", "b", "c", "d", ""])).await.unwrap_err();
    assert!(empty.to_string().contains("text 5 is empty"), "{empty}");
    assert_eq!(scene.server.requests().len(), 3, "nothing is sent of what cannot be sent whole");
}

/// The most that each takes, as its documentation or its refusals say.
#[test]
fn built_in_providers_say_how_many_texts_they_take() {
    for (provider, most) in [("cohere", 96), ("gemini", 100), ("openai", 2048), ("mistral", 512), ("qwen", 10)] {
        let all: Vec<String> = vec!["a".to_owned(); most + 1];
        let ask = Embed { texts: all, dimensions: None, purpose: None };
        let sizes: Vec<usize> =
            portions(&built_in(provider), &ask).unwrap().iter().map(|portion| portion.texts.len()).collect();
        assert_eq!(sizes, [most, 1], "{provider}");
    }
}

#[tokio::test]
async fn texts_become_vectors_with_the_credential_where_the_manifest_puts_it() {
    let scene = Scene::new("openai", Script::new().once("/embeddings", Reply::json(200, &vectors()))).await;
    let target = scene.target("text-embedding-3-small");
    let answered = embed(&scene.asking(&target), &texts(&["a"])).await.unwrap();
    assert_eq!((answered.value.vectors, answered.facts.attempts), (vec![vec![0.5]], 1));
    let request = scene.request(0);
    assert_eq!((request.method.as_str(), request.target.as_str()), ("POST", "/embeddings"));
    assert_eq!(request.header("authorization"), Some(&*format!("Bearer {KEY}")));
    assert_eq!(request.json(), json!({"model": "text-embedding-3-small", "input": ["a"]}));
}

#[tokio::test]
async fn gemini_gets_its_key_and_several_texts_in_one_request() {
    let answer = json!({"embeddings": [{"values": [1.0]}, {"values": [2.0]}]});
    let scene = Scene::new("gemini", Script::new().then(Reply::json(200, &answer))).await;
    let target = scene.target("gemini-embedding-001");
    let answered = embed(&scene.asking(&target), &texts(&["a", "b"])).await.unwrap();
    assert_eq!(answered.value.vectors, [[1.0], [2.0]]);
    let request = scene.request(0);
    assert!(request.target.starts_with("/models/gemini-embedding-001:batchEmbedContents"), "{}", request.target);
    let keys = [request.header("x-goog-api-key") == Some(KEY), request.target.contains(&format!("key={KEY}"))];
    assert_eq!(keys.iter().filter(|has| **has).count(), 1);
}

#[tokio::test]
async fn documents_are_ranked() {
    let answer = json!({"results": [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.2}]});
    let scene = Scene::new("cohere", Script::new().once("/rerank", Reply::json(200, &answer))).await;
    let target = scene.target("rerank-v3.5");
    let ask = Rerank { query: "q".to_owned(), documents: vec!["a".to_owned(), "b".to_owned()], top: None };
    let answered = rerank(&scene.asking(&target), &ask).await.unwrap();
    assert_eq!(answered.value.results, [Ranked { index: 1, score: 0.9 }, Ranked { index: 0, score: 0.2 }]);
    assert_eq!(scene.request(0).json(), json!({"model": "rerank-v3.5", "query": "q", "documents": ["a", "b"]}));
}

#[tokio::test]
async fn pictures_are_drawn() {
    let answer = json!({"data": [{"b64_json": "iVBORw0KGgo="}]});
    let scene = Scene::new("openai", Script::new().once("/images/generations", Reply::json(200, &answer))).await;
    let target = scene.target("gpt-image-1");
    let ask = Draw { prompt: "a cat".to_owned(), count: None, size: None, parameters: Map::new() };
    let answered = draw(&scene.asking(&target), &ask).await.unwrap();
    let ImageSource::Bytes { media_type, bytes } = &answered.value.images[0].source else { panic!("no bytes") };
    assert_eq!((media_type.as_str(), bytes.len()), ("image/png", 8));
}

#[tokio::test]
async fn sound_goes_up_and_comes_down_byte_by_byte() {
    let sound: Vec<u8> = (0..=255).cycle().take(70_000).collect();
    let script = Script::new()
        .once("/audio/transcriptions", Reply::json(200, &json!({"text": "hello"})))
        .once("/audio/speech", Reply::whole(200, "audio/mpeg", &sound));
    let scene = Scene::new("openai", script).await;
    let target = scene.target("whisper-1");
    let ask = Transcribe {
        file_name: "talk.mp3".to_owned(),
        media_type: "audio/mpeg".to_owned(),
        audio: sound.clone(),
        language: None,
        prompt: None,
        temperature: None,
        detail: Detail::Text,
    };
    assert_eq!(transcribe(&scene.asking(&target), &ask).await.unwrap().value.text, "hello");
    let request = scene.request(0);
    let boundary = request.header("content-type").unwrap().strip_prefix("multipart/form-data; boundary=").unwrap();
    let start = request.body.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
    assert_eq!(request.body[start..start + sound.len()], sound);
    let rest = String::from_utf8(request.body[start + sound.len()..].to_vec()).unwrap();
    assert!(rest.starts_with(&format!("\r\n--{boundary}\r\n")) && rest.ends_with(&format!("--{boundary}--\r\n")));

    let words =
        Speak { text: "hello".to_owned(), voice: "alloy".to_owned(), format: None, speed: None, instructions: None };
    let answered = speak(&scene.asking(&target), &words).await.unwrap();
    assert_eq!((answered.value.media_type.as_str(), answered.value.bytes == sound), ("audio/mpeg", true));
}

fn question(scene: &Scene, id: &str) -> Item {
    let plain = plain(&[json!({"role": "user", "content": id})], &Map::new()).unwrap();
    let call = Call { prompt: &plain.prompt, options: &plain.options };
    Item { id: id.to_owned(), request: build(&scene.target("gpt-4o-mini"), call, Mode::Whole).unwrap() }
}

#[tokio::test]
async fn batch_goes_up_is_waited_for_and_fetched() {
    let status = |word: &str| json!({"id": "batch_1", "status": word, "output_file_id": "file-2"});
    let message = json!({"role": "assistant", "content": "42"});
    let body = json!({"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
    let line = json!({"custom_id": "one", "response": {"status_code": 200, "body": body}});
    let script = Script::new()
        .once("/files", Reply::json(200, &json!({"id": "file-1"})))
        .once("/batches", Reply::json(200, &status("validating")))
        .once("/batches/batch_1", Reply::json(200, &status("in_progress")))
        .once("/batches/batch_1", Reply::json(200, &status("completed")))
        .once("/files/file-2/content", Reply::whole(200, "application/jsonl", line.to_string().as_bytes()))
        .once("/batches/batch_1/cancel", Reply::json(200, &status("cancelling")));
    let scene = Scene::new("openai", script).await;
    let target = scene.target("gpt-4o-mini");
    let asking = scene.asking(&target);
    let items = [question(&scene, "one")];
    let batch = batch::submit(&asking, &items).await.unwrap().value;
    assert_eq!((batch.id.as_str(), batch.state), ("batch_1", State::Waiting));
    assert_eq!(scene.request(1).json()["input_file_id"], json!("file-1"));
    let batch = batch::wait(&asking, &batch.id, Duration::ZERO).await.unwrap().value;
    assert_eq!(batch.state, State::Completed);
    let outcomes = batch::fetch(&asking, &batch, &[]).await.unwrap().outcomes;
    assert_eq!((outcomes.len(), outcomes[0].id.as_str()), (1, "one"));
    assert!(outcomes[0].answer.as_ref().unwrap().iter().any(|event| format!("{event:?}").contains("\"42\"")));
    assert_eq!(batch::cancel(&asking, &batch.id).await.unwrap().value.state, State::Cancelling);
    let seen: Vec<String> = scene.server.requests().iter().map(|it| format!("{} {}", it.method, it.target)).collect();
    assert_eq!(
        seen,
        [
            "POST /files",
            "POST /batches",
            "GET /batches/batch_1",
            "GET /batches/batch_1",
            "GET /files/file-2/content",
            "POST /batches/batch_1/cancel",
        ]
    );
}

#[tokio::test]
async fn batch_whose_end_is_answered_with_nothing_is_looked_at() {
    let operation = json!({"name": "batches/b1", "metadata": {"state": "BATCH_STATE_CANCELLED"}});
    let script = Script::new()
        .once("/batches/b1:cancel", Reply::json(200, &json!({})))
        .once("/batches/b1", Reply::json(200, &operation));
    let scene = Scene::new("gemini", script).await;
    let target = scene.target("gemini-2.5-flash");
    let batch = batch::cancel(&scene.asking(&target), "b1").await.unwrap().value;
    assert_eq!((batch.id.as_str(), batch.state), ("b1", State::Cancelled));
}

#[tokio::test]
async fn refusal_is_judged_and_the_same_request_is_sent_again() {
    let busy = json!({"error": {"code": "rate_limit_exceeded", "message": "slow down"}});
    let script = Script::new().then(Reply::json(429, &busy)).then(Reply::json(200, &vectors()));
    let scene = Scene::new("openai", script).await;
    let target = scene.target("m");
    let answered = embed(&scene.asking(&target), &texts(&["a"])).await.unwrap();
    assert_eq!(answered.facts.attempts, 2);
    assert_eq!(scene.request(0).body, scene.request(1).body);

    let wrong = json!({"error": {"code": "invalid_api_key", "message": format!("no such key: {KEY}")}});
    let scene = Scene::new("openai", Script::new().otherwise(Reply::json(401, &wrong))).await;
    let target = scene.target("m");
    let error = embed(&scene.asking(&target), &texts(&["a"])).await.unwrap_err();
    assert_eq!((error.code().number(), scene.server.requests().len()), ("E1002", 1));
    assert!(!format!("{error} {error:?}").contains(KEY), "{error:?}");
}

#[tokio::test]
async fn undeclared_operation_never_reaches_the_server() {
    let scene = Scene::new("groq", Script::new().otherwise(Reply::json(200, &vectors()))).await;
    let target = scene.target("m");
    let error = embed(&scene.asking(&target), &texts(&["a"])).await.unwrap_err();
    assert_eq!((error.code().number(), scene.server.requests().len()), ("E1005", 0));
}

fn filter(action: FilterAction) -> Filter {
    Filter { kind: "pii_detection".to_owned(), action, settings: Map::new() }
}

#[tokio::test]
async fn filters_of_the_manifest_see_what_is_no_chat_too() {
    let mut scene = Scene::new("cohere", Script::new().otherwise(Reply::json(200, &vectors()))).await;
    let ask = texts(&["write to jane.doe@mail.example"]);
    scene.manifest.guardrails.input_filters = vec![filter(FilterAction::Mask)];
    let target = scene.target("embed-v4.0");
    let answered = embed(&scene.asking(&target), &ask).await.unwrap();
    let sent = scene.request(0).json()["texts"][0].as_str().unwrap().to_owned();
    assert!(sent.starts_with("write to ") && !sent.contains("jane.doe"), "{sent}");
    assert_eq!(answered.facts.findings.len(), 1);

    scene.manifest.guardrails.input_filters = vec![filter(FilterAction::Block)];
    let target = scene.target("embed-v4.0");
    let error = embed(&scene.asking(&target), &ask).await.unwrap_err();
    assert!(matches!(error, CallError::Blocked { .. }), "{error:?}");
    assert_eq!(scene.server.requests().len(), 1);
}

#[tokio::test]
async fn filters_of_the_manifest_see_questions_and_answers_of_a_batch() {
    let message = json!({"role": "assistant", "content": "ask jane.doe@mail.example"});
    let body = json!({"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
    let line = json!({"custom_id": "one", "response": {"status_code": 200, "body": body}});
    let script = Script::new()
        .once("/files", Reply::json(200, &json!({"id": "file-1"})))
        .once("/batches", Reply::json(200, &json!({"id": "b", "status": "completed", "output_file_id": "file-2"})))
        .once("/files/file-2/content", Reply::whole(200, "application/jsonl", line.to_string().as_bytes()));
    let mut scene = Scene::new("openai", script).await;
    scene.manifest.guardrails.input_filters = vec![filter(FilterAction::Mask)];
    scene.manifest.guardrails.output_filters = vec![filter(FilterAction::Mask)];
    let target = scene.target("gpt-4o-mini");
    let asking = scene.asking(&target);
    let items = [question(&scene, "who is john.roe@mail.example?")];
    let batch = batch::submit(&asking, &items).await.unwrap().value;
    let sent = String::from_utf8(scene.request(0).body).unwrap();
    let content = |text: &str| text.lines().find(|line| line.starts_with('{')).map(str::to_owned).unwrap();
    let sent: Value = serde_json::from_str(&content(&sent)).unwrap();
    assert!(!sent["body"].to_string().contains("john.roe"), "{sent}");
    let fetched = batch::fetch(&asking, &batch, &[]).await.unwrap();
    let answer = format!("{:?}", fetched.outcomes[0].answer);
    assert!(answer.contains("ask ") && !answer.contains("jane.doe"), "{answer}");
    let found: Vec<(Side, usize)> = fetched.findings.iter().map(|finding| (finding.side, finding.texts)).collect();
    assert_eq!(found, [(Side::Output, 1)]);
}

/// A recording goes up in a form, and what is said in it comes back as text.
#[tokio::test]
async fn filters_of_the_manifest_see_what_stands_beside_sound_and_what_is_heard() {
    let segment = json!({"id": 0, "start": 0.0, "end": 2.5, "text": "ask jane.doe@mail.example"});
    let answer = json!({"text": "ask jane.doe@mail.example", "segments": [segment]});
    let script = Script::new().otherwise(Reply::json(200, &answer));
    let mut scene = Scene::new("openai", script).await;
    scene.manifest.guardrails.input_filters = vec![filter(FilterAction::Mask)];
    scene.manifest.guardrails.output_filters = vec![filter(FilterAction::Mask)];
    let ask = Transcribe {
        file_name: "talk.mp3".to_owned(),
        media_type: "audio/mpeg".to_owned(),
        audio: b"ID3".to_vec(),
        language: None,
        prompt: Some("a talk with john.roe@mail.example".to_owned()),
        temperature: None,
        detail: Detail::Segments,
    };
    let target = scene.target("whisper-1");
    let answered = transcribe(&scene.asking(&target), &ask).await.unwrap();
    let sent = String::from_utf8(scene.request(0).body).unwrap();
    assert!(sent.contains("a talk with ") && !sent.contains("john.roe"), "{sent}");
    let heard = format!("{:?}", answered.value);
    assert!(heard.contains("ask ") && !heard.contains("jane.doe"), "{heard}");
    let found: Vec<(Side, usize)> = answered.facts.findings.iter().map(|it| (it.side, it.texts)).collect();
    assert_eq!(found, [(Side::Input, 1), (Side::Output, 2)]);

    scene.manifest.guardrails.input_filters = vec![filter(FilterAction::Block)];
    let target = scene.target("whisper-1");
    let error = transcribe(&scene.asking(&target), &ask).await.unwrap_err();
    assert!(matches!(error, CallError::Blocked { .. }), "{error:?}");
    assert_eq!(scene.server.requests().len(), 1);
}

#[tokio::test]
async fn filters_of_the_manifest_see_the_prompt_of_a_picture_as_it_was_rewritten() {
    let answer = json!({"data": [{"b64_json": "iVBORw0KGgo=", "revised_prompt": "a cat of jane.doe@mail.example"}]});
    let mut scene = Scene::new("openai", Script::new().then(Reply::json(200, &answer))).await;
    scene.manifest.guardrails.output_filters = vec![filter(FilterAction::Mask)];
    let target = scene.target("gpt-image-1");
    let ask = Draw { prompt: "a cat".to_owned(), count: None, size: None, parameters: Map::new() };
    let answered = draw(&scene.asking(&target), &ask).await.unwrap();
    let revised = answered.value.images[0].revised_prompt.clone().unwrap();
    assert!(revised.starts_with("a cat of ") && !revised.contains("jane.doe"), "{revised}");
    assert_eq!(answered.facts.findings.len(), 1);
}

/// A line is a closed object, and behind it there may be another, however long the server is silent in between.
#[tokio::test]
async fn results_of_a_batch_are_read_to_their_last_line() {
    let message = json!({"role": "assistant", "content": "42"});
    let body = json!({"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]});
    let line = |id: &str| format!("{}\n", json!({"custom_id": id, "response": {"status_code": 200, "body": body}}));
    let status = json!({"id": "b", "status": "completed", "output_file_id": "file-2", "request_counts": {"total": 3}});
    for framing in [Framing::Chunked, Framing::Close] {
        let head = Step::Head { status: 200, headers: Vec::new(), framing };
        let (first, second) = (Step::Bytes(line("one").into_bytes()), Step::Bytes(line("two").into_bytes()));
        let steps = vec![head, first, Step::Wait(Duration::from_millis(800)), second];
        let script =
            Script::new().once("/batches/b", Reply::json(200, &status)).once("/files/file-2/content", Reply { steps });
        let scene = Scene::new("openai", script).await;
        let target = scene.target("gpt-4o-mini");
        let asking = scene.asking(&target);
        let batch = batch::look(&asking, "b").await.unwrap().value;
        let fetched = batch::fetch(&asking, &batch, &[]).await.unwrap();
        let ids: Vec<&str> = fetched.outcomes.iter().map(|outcome| outcome.id.as_str()).collect();
        assert_eq!((ids, batch.missing(2), batch.missing(3)), (vec!["one", "two"], Some(1), None), "{framing:?}");
    }
}

#[tokio::test]
async fn cancelling_closes_the_connection() {
    let scene = Scene::new("openai", Script::new().otherwise(Reply::hang())).await;
    let target = scene.target("m");
    let (asking, ask) = (scene.asking(&target), texts(&["a"]));
    let cancel = async {
        scene.server.received(1).await;
        scene.cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(embed(&asking, &ask), cancel);
    assert!(matches!(outcome, Err(CallError::Cancelled)), "{outcome:?}");
    scene.server.abandoned(1).await;
}

/// What `openai` without retries makes of this reply.
async fn fault(reply: Reply) -> CallError {
    let mut scene = Scene::new("openai", Script::new().then(reply)).await;
    scene.manifest.retry_policy.strategy = Strategy::None;
    let target = scene.target("m");
    embed(&scene.asking(&target), &texts(&["a"])).await.unwrap_err()
}

#[tokio::test]
async fn connection_that_is_reset_and_answer_that_breaks_off_are_told_apart() {
    let reset = fault(Reply::reset()).await;
    assert!(matches!(reset, CallError::Unreachable { .. }), "{reset:?}");
    let head = Step::Head { status: 200, headers: Vec::new(), framing: Framing::Length(100) };
    let cut = fault(Reply { steps: vec![head, Step::Bytes(b"{\"data\": [".to_vec()), Step::Cut] }).await;
    assert!(matches!(cut, CallError::Truncated { .. }), "{cut:?}");
    let other = fault(Reply::text(200, "hello")).await;
    assert!(matches!(other, CallError::Malformed { .. }), "{other:?}");
}

#[tokio::test]
async fn answer_that_cannot_be_read_counts_as_a_failure_of_the_provider() {
    let script = Script::new().then(Reply::json(200, &json!({"odd": 1}))).then(Reply::json(200, &vectors()));
    let scene = Scene::new("openai", script).await;
    let target = scene.target("m");
    let counts = || {
        let snapshot = scene.client.breakers().snapshots()[0].1;
        (snapshot.calls, snapshot.failures)
    };
    let error = embed(&scene.asking(&target), &texts(&["a"])).await.unwrap_err();
    assert!(matches!(error, CallError::Malformed { .. }), "{error}");
    assert_eq!(counts(), (1, 1));
    embed(&scene.asking(&target), &texts(&["a"])).await.unwrap();
    assert_eq!(counts(), (2, 1));
}
