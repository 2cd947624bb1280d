//! A planted key appears nowhere but on the wire.
//!
//! It is given in every way in which a key can be given, put into every place where one goes, and met by servers that
//! quote it, break off or never answer. All that anybody could print is collected and searched: `Debug` of what the crate
//! hands out, errors with their causes, dry runs, and everything that is logged.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that cannot go on has failed; it writes auth.json"
)]

#[path = "planted_secret/log.rs"]
mod log;

use std::{
    error::Error,
    fmt::{Debug, Write as _},
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use futures_util::{FutureExt, future::BoxFuture};
use pi_provider::{
    Call, CallError, Manifest, Mode, Secret, Target, builtin,
    catalog::{Catalog, Source},
    client::{Client, Draft, Interception, Interceptor, Settings, Timeouts},
    credential::{self, AuthFile, Credential, Resolved, SourceKind, Sources, Trust},
    manifest::{
        diagnostic::Style,
        endpoint::{Placement, SecretHeader},
        load::{Format, load},
    },
    request::{self, Plain},
    transport::Network,
};
use pi_testkit::{
    Reply, Script, Server,
    server::{Request, Step},
};
use serde_json::{Map, json};
use tokio_util::sync::CancellationToken;

const KEY: &str = "sk-planted-Zx81QmW0vB7tR4nK2yLc";
/// The value of a header of the user's own. It does not look like a key, so only somebody who knows it can hide it.
const HEADER: &str = "blue harbour lantern of tenant seven";
/// Both secrets, and the key as it looks in an address, in JSON and in base64.
const DISGUISES: [&str; 4] =
    [KEY, HEADER, "sk%2Dplanted%2DZx81QmW0vB7tR4nK2yLc", "c2stcGxhbnRlZC1aeDgxUW1XMHZCN3RSNG5LMnlMYw"];

/// Everything that was printed.
#[derive(Default)]
struct Printed(String);

impl Printed {
    fn debug(&mut self, value: &impl Debug) {
        writeln!(self.0, "{value:?}\n{value:#?}").unwrap();
    }

    fn error(&mut self, error: &CallError) {
        self.debug(error);
        let mut cause: Option<&dyn Error> = Some(error);
        while let Some(error) = cause {
            writeln!(self.0, "{error}\n{error:?}").unwrap();
            cause = error.source();
        }
    }

    fn check(&self, what: &str) {
        for disguise in DISGUISES {
            if let Some(at) = self.0.find(disguise) {
                let from = self.0.floor_char_boundary(at.saturating_sub(200));
                panic!("{what}: the key is printed: {}", &self.0[from..at + disguise.len()]);
            }
        }
    }
}

fn manifest(id: &str) -> Manifest {
    let built_in = builtin::find(id).unwrap();
    let mut manifest = load(built_in.text, &built_in.path(), Format::Yaml).manifest.unwrap();
    manifest.retry_policy.max_retries = 1;
    manifest.retry_policy.min_delay_ms = 1;
    manifest.retry_policy.max_delay_ms = 1;
    manifest
}

fn asked() -> Plain {
    request::plain(&[json!({"role": "user", "content": "hi"})], &Map::new()).unwrap()
}

/// The key from one of the four places, and everything about finding it.
fn find(manifest: &Manifest, source: SourceKind, printed: &mut Printed) -> Resolved {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("auth.json");
    let entry = json!({manifest.id.as_str(): {"type": "api_key", "key": KEY}});
    std::fs::write(&path, entry.to_string()).unwrap();
    let auth_file = if source == SourceKind::AuthFile { AuthFile::read(&path) } else { AuthFile::none() };
    let variables = credential::variables(manifest);
    let environment = |name: &str| match source {
        SourceKind::ManifestEnv => variables.first().filter(|first| *first == name).map(|_| KEY.to_owned()),
        SourceKind::ConventionalEnv => variables.last().filter(|last| *last == name).map(|_| KEY.to_owned()),
        SourceKind::Explicit | SourceKind::AuthFile | SourceKind::None => None,
    };
    let explicit = (source == SourceKind::Explicit).then(|| Secret::new(KEY));
    let sources = Sources {
        explicit: explicit.as_ref(),
        written: None,
        environment: &environment,
        auth_file: &auth_file,
        trust: Trust::Trusted,
        now: SystemTime::UNIX_EPOCH,
    };
    let resolved = credential::resolve(manifest, &sources);
    let found = resolved.credential.as_ref().unwrap_or_else(|| panic!("{source:?}: {resolved:?}"));
    assert_eq!(found.secret.expose(), KEY, "{source:?}");
    printed.debug(&explicit);
    printed.debug(&auth_file);
    printed.debug(&resolved);
    printed.debug(&credential::attach(&manifest.endpoint.auth, found));
    resolved
}

/// Servers that do what they should not.
fn scripts(secret: &str) -> Vec<(&'static str, Script)> {
    let quoted = format!("Incorrect API key provided: {secret}. Bearer {secret}, ?key={secret}");
    let error = json!({"error": {"message": quoted, "type": "invalid_request_error", "code": secret}});
    let event = format!("data: {error}\n\n");
    let piece = r#"data: {"choices":[{"index":0,"delta":{"content":"a"}}]}"#;
    vec![
        (
            "refusal that quotes the key",
            Script::new().otherwise(Reply::json(401, &error).header("x-request-id", secret)),
        ),
        ("refusal in plain text", Script::new().otherwise(Reply::text(500, &quoted))),
        ("error with a good status", Script::new().otherwise(Reply::json(200, &error))),
        ("error in the middle of a stream", Script::new().otherwise(Reply::events([format!("{piece}\n\n"), event]))),
        ("frame that is no JSON", Script::new().otherwise(Reply::events([format!("data: {{{secret}\n\n")]))),
        ("body that is no JSON", Script::new().otherwise(Reply::whole(200, "application/json", quoted.as_bytes()))),
        ("reset", Script::new().otherwise(Reply::reset())),
        ("cut", Script::new().otherwise(Reply::events([format!("{piece}\n\n")]).and(Step::Cut))),
        ("silence", Script::new().otherwise(Reply::hang())),
        (
            "redirect that quotes the key",
            Script::new()
                .otherwise(Reply::text(307, "").header("location", &format!("http://127.0.0.1:1/other?key={secret}"))),
        ),
    ]
}

#[tokio::test]
async fn planted_key_is_on_the_wire_and_nowhere_else() {
    let logged = log::capture();
    let mut printed = Printed::default();
    let sources = [SourceKind::Explicit, SourceKind::ManifestEnv, SourceKind::ConventionalEnv, SourceKind::AuthFile];
    // A bearer token, a header of its own, a query parameter.
    for (id, is_in_address) in [("openai", false), ("anthropic", false), ("gemini", true)] {
        let mut manifest = manifest(id);
        if is_in_address {
            manifest.endpoint.auth.placement = Placement::QueryParam { param_name: "key".to_owned() };
        }
        printed.debug(&manifest);
        let mut credential = None;
        for source in sources {
            let resolved = find(&manifest, source, &mut printed);
            credential = credential.or(resolved.credential.clone());
            printed.debug(&resolved.into_credential(&manifest.id));
        }
        let credential = credential.unwrap();
        for (what, script) in scripts(KEY) {
            let server = Server::start(script).await.unwrap();
            call(&manifest, &server, Some(&credential), &mut printed).await;
            let requests = server.requests();
            let carries = |request: &Request| match is_in_address {
                true => {
                    request.target.contains(&format!("key={KEY}")) && !format!("{:?}", request.headers).contains(KEY)
                }
                false => request.headers.iter().any(|(_, value)| value.contains(KEY)) && !request.target.contains(KEY),
            };
            let sent = requests.iter().all(carries);
            assert!(!requests.is_empty() && sent, "{id}, {what}: the key never reached the server");
            printed.check(&format!("{id}, {what}"));
        }
    }
    check_log(&logged);
}

/// Headers of Pi's `models.json` travel beside the credential, or without one.
#[tokio::test]
async fn planted_header_is_on_the_wire_and_nowhere_else() {
    let logged = log::capture();
    let mut printed = Printed::default();
    let mut manifest = manifest("openai");
    let header = SecretHeader { name: "X-Tenant".to_owned(), value: Secret::new(HEADER) };
    manifest.endpoint.auth.secret_headers.push(header);
    printed.debug(&manifest);
    writeln!(printed.0, "{}", serde_json::to_string(&manifest).unwrap()).unwrap();
    for (what, script) in scripts(HEADER) {
        let server = Server::start(script).await.unwrap();
        call(&manifest, &server, None, &mut printed).await;
        let requests = server.requests();
        let sent = requests.iter().all(|request| request.header("x-tenant") == Some(HEADER));
        assert!(!requests.is_empty() && sent, "header, {what}: it never reached the server");
        printed.check(&format!("header, {what}"));
    }
    check_log(&logged);
}

fn check_log(logged: &log::Logged) {
    let logged = logged.text();
    assert!(!logged.is_empty(), "nothing was captured, so nothing was checked");
    Printed(logged).check("the log");
}

#[test]
fn keys_in_pis_file_of_models_are_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("models.json");
    let provider = |url: &str| {
        format!(
            r#"{{"providers": {{"mine": {{"baseUrl": {url}, "api": "openai-completions", "apiKey": "{KEY}", "headers": {{"x-auth": "{KEY}"}}, "models": [{{"id": "m"}}]}}}}}}"#
        )
    };
    // One that is right, one that is wrong, and one that is no JSON; each on one line with the key.
    for text in [provider(r#""http://127.0.0.1:1""#), provider("7"), provider("nonsense")] {
        std::fs::write(&path, text).unwrap();
        let source = Source::pi_models(&path);
        let catalog = Catalog::load(std::slice::from_ref(&source));
        let mut printed = Printed::default();
        printed.debug(&source);
        printed.debug(&catalog);
        for finding in catalog.findings() {
            printed.debug(finding);
            writeln!(printed.0, "{}", finding.render(Style::Plain)).unwrap();
        }
        printed.check("models.json");
    }
}

/// Writes down what an interceptor can see.
#[derive(Default)]
struct Onlooker(Mutex<String>);

impl Interceptor for Onlooker {
    fn intercept<'a>(&'a self, draft: Draft<'a>) -> BoxFuture<'a, Result<Interception, CallError>> {
        writeln!(self.0.lock().unwrap(), "{draft:?}").unwrap();
        async { Ok(Interception::Unchanged) }.boxed()
    }
}

/// A dry run, a whole answer and a stream.
async fn call(manifest: &Manifest, server: &Server, credential: Option<&Credential>, printed: &mut Printed) {
    let patience = Duration::from_millis(200);
    let timeouts =
        Timeouts { connect: patience, first_byte: Some(patience), idle: Some(patience), total: Some(patience) };
    let onlooker = Arc::new(Onlooker::default());
    let interceptor = Some(Arc::clone(&onlooker) as Arc<dyn Interceptor>);
    let client = Client::new(Settings { timeouts, interceptor, ..Settings::new(Network::default()) });
    let base = server.url();
    let target = Target { manifest, model: "m-1", entry: None, base_url: Some(&base), lookup: &|_| None };
    let asked = asked();
    let plain = Call { prompt: &asked.prompt, options: &asked.options };
    for mode in [Mode::Whole, Mode::Stream] {
        let request = request::build(&target, plain, mode).unwrap();
        printed.debug(&request);
        writeln!(printed.0, "{}", request.show()).unwrap();
    }
    let cancel = CancellationToken::new();
    match client.complete(&target, plain, credential, &cancel).await {
        Ok(completion) => printed.debug(&completion.events),
        Err(error) => printed.error(&error),
    }
    match client.stream(&target, plain, credential, &cancel).await {
        Ok(mut answer) => {
            printed.debug(&answer);
            while let Some(event) = answer.next().await {
                match event {
                    Ok(event) => printed.debug(&event),
                    Err(error) => printed.error(&error),
                }
            }
            printed.debug(&answer);
        }
        Err(error) => printed.error(&error),
    }
    printed.0.push_str(&onlooker.0.lock().unwrap());
    printed.debug(&client);
    printed.debug(client.breakers());
}
