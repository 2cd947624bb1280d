//! Addresses, headers and the view of a request.

use pi_provider::{
    Call, Mode, Options, Secret, Target,
    catalog::{Catalog, Origin, Source, SourceFile},
    credential::{Credential, Trust},
    request::build,
};
use pi_transcript::ThinkingLevel;
use serde_json::{Value, json};

use crate::{ask, changes, manifest::manifest, object, prompt, provider, question};

fn check(base_url: &str, changes: Value, model: &str, mode: Mode, expected: Result<&str, &str>) {
    let mut whole = json!({"capabilities": {"required": ["text", "streaming"]}});
    crate::manifest::merge(&mut whole, changes);
    let manifest = manifest(base_url, whole);
    let lookup = |name: &str| match name {
        "RESOURCE" => Some("acme".to_owned()),
        "FAR" => Some("far.example".to_owned()),
        _ => None,
    };
    let (prompt, options) = (question(), Options::plain());
    let entry = manifest.models.get(model);
    let target = Target { manifest: &manifest, model, entry, base_url: None, lookup: &lookup };
    let built = build(&target, Call { prompt: &prompt, options: &options }, mode);
    let address = built.map(|request| request.address.url.to_string()).map_err(|error| error.to_string());
    assert_eq!(address, expected.map(str::to_owned).map_err(str::to_owned));
}

fn chat(path: &str, adapter: &str) -> Value {
    json!({"endpoints": {"chat": {"path": path, "adapter": adapter}}})
}

#[test]
fn base_and_path_are_joined_once() {
    use Mode::Whole;
    for base in ["https://a.example/v1", "https://a.example/v1/"] {
        check(base, chat("/chat", "openai"), "m", Whole, Ok("https://a.example/v1/chat"));
        check(base, chat("chat", "openai"), "m", Whole, Ok("https://a.example/v1/chat"));
    }
    check("https://a.example", json!({}), "m", Whole, Ok("https://a.example/chat/completions"));
    check("https://a.example", chat("https://b.example/x?y=1", "openai"), "m", Whole, Ok("https://b.example/x?y=1"));
    check("https://a.example?k=1", chat("/chat?v=2", "openai"), "m", Whole, Ok("https://a.example/chat?v=2&k=1"));
}

#[test]
fn an_address_of_an_operation_is_encrypted_or_near() {
    use Mode::Whole;
    let base = "https://a.example/v1";
    let refused = Err("option path cannot be sent: a server elsewhere must be reached over https");
    for (path, expected) in [
        ("http://${FAR}/chat", refused),
        ("ws://${FAR}/chat", refused),
        ("http://${RESOURCE}/chat", Ok("http://acme/chat")),
        ("https://${FAR}/chat", Ok("https://far.example/chat")),
        ("http://127.0.0.1:9/chat", Ok("http://127.0.0.1:9/chat")),
        ("/chat?next=http://b.example", Ok("https://a.example/v1/chat?next=http://b.example")),
    ] {
        check(base, chat(path, "openai"), "m", Whole, expected);
    }
}

#[test]
fn models_and_values_of_the_environment_are_put_in() {
    use Mode::Whole;
    check(
        "https://${RESOURCE}.example/d/{model}",
        chat("/chat?api-version=1", "openai"),
        "org/a b?#",
        Whole,
        Ok("https://acme.example/d/org/a%20b%3F%23/chat?api-version=1"),
    );
    check(
        "https://${MISSING}.example",
        json!({}),
        "m",
        Whole,
        Err("the address of mock-one needs MISSING, which is not set"),
    );
    for (base_url, reason) in [
        ("nowhere", "it is not an address: relative URL without a base"),
        ("me:hunter2@nowhere", "it is not the address of a server"),
        ("https://me:hunter2@:1", "it is not an address: empty host"),
    ] {
        check(base_url, json!({}), "m", Whole, Err(&format!("option base_url cannot be sent: {reason}")));
    }
}

/// Address and what is shown of it, for a base that holds the variable.
fn put(base_url: &str, variable: &str, value: &str) -> Result<(String, String), String> {
    let manifest = manifest(base_url, chat("/chat", "openai"));
    let lookup = |name: &str| (name == variable).then(|| value.to_owned());
    let (prompt, options) = (question(), Options::plain());
    let target = Target { manifest: &manifest, model: "m", entry: None, base_url: None, lookup: &lookup };
    let built = build(&target, Call { prompt: &prompt, options: &options }, Mode::Whole);
    let request = built.map_err(|error| error.to_string())?;
    assert!(request.show().starts_with(&format!("POST {}\n", request.address.shown())));
    assert_eq!(format!("{:?}", request.address), request.address.shown());
    Ok((request.address.url.to_string(), request.address.shown()))
}

#[test]
fn values_of_the_environment_stay_in_their_place() {
    let check = |base: &str, value: &str, expected: Result<&str, &str>| {
        let address = put(base, "PART", value).map(|(address, _)| address);
        assert_eq!(address, expected.map(str::to_owned).map_err(str::to_owned), "{base} {value}");
    };
    let one_part = Ok("https://a.example/x/a%2F..%2Fb%3Fx%3D1%23z/v1/chat");
    check("https://a.example/x/${PART}/v1", "a/../b?x=1#z", one_part);
    let upwards = Err("option base_url cannot be sent: PART would lead to another path");
    check("https://a.example/x/${PART}/v1", "..", upwards);
    check("https://a.example/x?k=${PART}", "1&k=2", Ok("https://a.example/x/chat?k=1%26k%3D2"));
    check("http://${PART}/v1", "127.0.0.1:8080", Ok("http://127.0.0.1:8080/v1/chat"));
    check("http://${PART}/v1", "[::1]:8080", Ok("http://[::1]:8080/v1/chat"));
    let no_host = Err("option base_url cannot be sent: it is not an address: invalid international domain name");
    check("https://${PART}.a.example/v1", "evil.example/", no_host);
    check("https://${PART}.a.example/v1", "me@evil.example#", no_host);
    check("${PART}/v1", "https://b.example/own", Ok("https://b.example/own/v1/chat"));
}

#[test]
fn secrets_in_an_address_are_not_shown() {
    let check = |base: &str, variable: &str, value: &str, shown: &str| {
        assert_eq!(put(base, variable, value).unwrap().1, shown, "{base} {variable}");
    };
    check("https://a.example/${OTHER_API_KEY}/v1", "OTHER_API_KEY", "planted/1", "https://a.example/***/v1/chat");
    check("https://a.example/v1?k=${DB_PWD}", "DB_PWD", "planted", "https://a.example/v1/chat?k=***");
    check("https://a.example/${REGION}/v1", "REGION", "west", "https://a.example/west/v1/chat");
    // In lower case it is another text, and still as good as the secret.
    check("https://${OTHER_API_KEY}.example/v1", "OTHER_API_KEY", "Planted", "***");
    check("https://me:planted@a.example/v1", "", "", "https://***:***@a.example/v1/chat");
}

#[test]
fn gemini_streams_at_a_path_of_its_own() {
    let base = "https://g.example/v1beta";
    let path = "/models/{model}:generateContent";
    check(
        base,
        chat(path, "gemini"),
        "flash",
        Mode::Whole,
        Ok("https://g.example/v1beta/models/flash:generateContent"),
    );
    let streamed = Ok("https://g.example/v1beta/models/flash:streamGenerateContent?alt=sse");
    check(base, chat(path, "gemini"), "flash", Mode::Stream, streamed);
    let own = json!({"endpoints": {
        "chat": {"path": path, "adapter": "gemini"},
        "stream_chat": {"path": "/models/{model}:streamGenerateContent", "adapter": "gemini"},
    }});
    check(base, own, "flash", Mode::Stream, streamed);
}

#[test]
fn a_model_of_another_dialect_is_asked_where_that_is_spoken() {
    let endpoints = json!({
        "chat": {"path": "/chat/completions", "adapter": "openai"},
        "responses": {"path": "/v1/responses", "adapter": "openai_responses"},
        "chat_anthropic": {"path": "/anthropic/messages"},
    });
    let models = json!({"r": {"api": "openai_responses"}, "a": {"api": "anthropic_messages"}, "g": {"api": "gemini"}});
    let manifest = || json!({"endpoints": endpoints, "models": models});
    for (model, path) in [
        ("m", "chat/completions"),
        ("r", "v1/responses"),
        ("a", "anthropic/messages"),
        ("g", "models/g:generateContent"),
    ] {
        check("https://a.example", manifest(), model, Mode::Whole, Ok(&format!("https://a.example/{path}")));
    }
}

#[test]
fn headers_are_those_of_manifest_contract_and_dialect() {
    let conditional = |name: &str, condition: &str| json!({"name": name, "value": "1", "condition": condition});
    let manifest = provider(
        "anthropic",
        json!({
            "endpoint": {"auth": {"extra_headers": [{"name": "Anthropic-Version", "value": "2030-01-01"}]}},
            "models": {crate::MODEL: {"max_output_tokens": 9000, "model_capabilities": {"reasoning": true}}},
            "provider_contract": {"request_mapping": {"required_headers": [
                {"name": "X-Always", "value": "yes"},
                conditional("x-think", "reasoning"), conditional("x-mcp", "mcp"), conditional("x-see", "vision"),
            ]}},
        }),
    );
    let picture = prompt(
        &json!({"messages": [{"role": "user", "content": [{"type": "image", "data": "AA==", "mimeType": "image/png"}]}]}),
    );
    let options = Options { thinking: ThinkingLevel::Low, ..Options::plain() };
    let names = |prompt: &pi_envelope::Prompt, options: &Options| -> Vec<String> {
        let request = ask(&manifest, prompt, options).unwrap();
        let shown = request.headers.iter().map(|(name, value)| format!("{name}: {value}"));
        let hidden = request.secret_headers.iter().map(|header| format!("{}: {}", header.name, header.value.expose()));
        shown.chain(hidden).collect()
    };
    let always = [
        "content-type: application/json",
        "accept: text/event-stream",
        "anthropic-version: 2030-01-01",
        "x-always: yes",
    ];
    assert_eq!(names(&question(), &Options::plain()), always);
    assert_eq!(names(&picture, &options), [&always[..], &["x-think: 1", "x-see: 1"]].concat());
}

/// Its names are free, so only those that are known to hold no key are shown.
#[test]
fn headers_of_a_contract_have_the_values_of_the_environment_and_are_not_shown() {
    let manifest = provider(
        "openai",
        json!({"provider_contract": {"request_mapping": {"required_headers": [
            {"name": "X-Org", "value": "${ACME_ORG}"},
            {"name": "x-who", "value": "id ${ACME_ORG}!"},
            {"name": "x-plain", "value": "planted-1"},
            {"name": "Accept-Language", "value": "de"},
            {"name": "accept", "value": "${ACCEPTED}"},
            {"name": "x-lost", "value": "${MISSING}"},
        ]}}}),
    );
    let build = |lookup: pi_provider::credential::Lookup<'_>| {
        let target = Target { manifest: &manifest, model: "m", entry: None, base_url: None, lookup };
        build(&target, Call { prompt: &question(), options: &Options::plain() }, Mode::Whole).unwrap()
    };
    let lookup = |name: &str| match name {
        "ACME_ORG" => Some("planted-2".to_owned()),
        "ACCEPTED" => Some("planted-3".to_owned()),
        _ => None,
    };
    let request = build(&lookup);
    let hidden = request.secret_headers.iter().map(|header| (header.name.as_str(), header.value.expose()));
    let expected =
        [("x-org", "planted-2"), ("x-who", "id planted-2!"), ("x-plain", "planted-1"), ("accept", "planted-3")];
    assert_eq!(hidden.collect::<Vec<_>>(), expected);
    let head = "POST https://api.example/v1/chat/completions\ncontent-type: application/json\naccept-language: de\n\
                x-org: ***\nx-who: ***\nx-plain: ***\naccept: ***\n\n";
    assert!(request.show().starts_with(head), "{}", request.show());
    assert_eq!(changes(&request.changes), ["dropped header x-lost: MISSING is not set"]);
    let shown = format!("{request:?} {manifest:?} {}", serde_json::to_string(&manifest.shown()).unwrap());
    assert!(!shown.contains("planted"), "{shown}");
    assert!(shown.contains(r#"{"name":"X-Org","value":"${ACME_ORG}""#), "where it comes from is shown: {shown}");
    // Nobody's environment is given to a manifest that nobody trusts.
    let bare = build(&|_| None);
    assert_eq!(bare.secret_headers.iter().map(|header| header.name.as_str()).collect::<Vec<_>>(), ["x-plain"]);
}

#[test]
fn nothing_that_a_base_address_has_in_its_query_is_shown() {
    let request = |base: &str, path: &str, lookup: pi_provider::credential::Lookup<'_>| {
        let manifest = manifest(base, chat(path, "openai"));
        let target = Target { manifest: &manifest, model: "m", entry: None, base_url: None, lookup };
        let request = build(&target, Call { prompt: &question(), options: &Options::plain() }, Mode::Whole).unwrap();
        let written: Vec<&str> = request.address.written.iter().map(Secret::expose).collect();
        let shown = format!("{manifest:?} {request:?} {}", serde_json::to_string(&manifest.shown()).unwrap());
        assert!(!shown.contains("planted"), "{shown}");
        (request.address.url.to_string(), request.address.shown(), written.join(" "))
    };
    let check = |base: &str, path: &str, expected: [&str; 3]| {
        let lookup = |name: &str| (name == "ADDRESS").then(|| "https://b.example/v1/?id=planted".to_owned());
        let (sent, shown, written) = request(base, path, &lookup);
        assert_eq!([sent, shown, written], expected, "{base} {path}");
    };
    check(
        "https://a.example/v1?tenant=planted&x",
        "/chat?alt=sse&key=1",
        [
            "https://a.example/v1/chat?alt=sse&key=1&tenant=planted&x",
            "https://a.example/v1/chat?alt=sse&key=***&tenant=***&***",
            "planted x",
        ],
    );
    check(
        "https://a.example/v1/?a=plan%20ted&b=",
        "/chat",
        ["https://a.example/v1/chat?a=plan%20ted&b=", "https://a.example/v1/chat?a=***&b=***", "plan ted plan%20ted"],
    );
    check(
        "https://me:planted@a.example/v1",
        "/chat",
        ["https://me:planted@a.example/v1/chat", "https://***:***@a.example/v1/chat", "me planted"],
    );
    // A variable that holds a whole address may bring a query too.
    check(
        "${ADDRESS}",
        "/chat",
        ["https://b.example/v1/chat?id=planted", "https://b.example/v1/chat?id=***", "planted"],
    );
}

#[test]
fn a_request_is_shown_with_its_changes_and_without_passwords() {
    let manifest = provider("openai", json!({"parameters": {"temperature": {"type": "float"}}}));
    let secret = Secret::new("hunter2");
    let word = secret.expose();
    let base_url = format!("https://me:{word}@a.example/v1?key={word}&api_key={word}&Sig={word}&version=2");
    let target = Target { manifest: &manifest, model: "m", entry: None, base_url: Some(&base_url), lookup: &|_| None };
    let options = Options { parameters: object(&json!({"seed": 1, "temperature": 0.5})), ..Options::plain() };
    let request = build(&target, Call { prompt: &question(), options: &options }, Mode::Whole).unwrap();
    assert_eq!(
        request.show(),
        r#"POST https://***:***@a.example/v1/chat/completions?key=***&api_key=***&Sig=***&version=***
content-type: application/json
accept: application/json

{
  "model": "m",
  "messages": [
    {
      "role": "user",
      "content": "Hello"
    }
  ],
  "temperature": 0.5
}

dropped seed: the provider does not declare it
"#
    );
}

#[test]
fn a_credential_that_goes_in_the_clear_is_listed() {
    let key = Credential::key(Secret::new("k"));
    let told = |address: &str, auth: &str, credential: Option<&Credential>| {
        let manifest = provider("openai", json!({"endpoint": {"base_url": address, "auth": {"type": auth}}}));
        let mut request = ask(&manifest, &question(), &Options::plain()).unwrap();
        request.doubt_credential(credential);
        changes(&request.changes)
    };
    let expected = "kept credential: it goes over http to a server elsewhere, and everybody on the way can read it; \
                    use an https address";
    for auth in ["bearer", "none"] {
        assert_eq!(told("http://api.example.com/v1", auth, Some(&key)), [expected], "{auth}");
        assert_eq!(told("http://api.example.com/v1", auth, None), [""; 0], "{auth}");
        for address in ["https://api.example.com/v1", "http://127.0.0.1:1"] {
            assert_eq!(told(address, auth, Some(&key)), [""; 0], "{address}");
        }
    }
}

/// A key that is not there is no reason to be silent about the header that should carry it.
#[test]
fn headers_without_a_value_are_told() {
    let models = json!({ "providers": { "acme": { "baseUrl": "https://acme.example/v1", "api": "openai-completions",
        "headers": { "X-Tenant": "$ACME_TENANT", "X-Plain": "yes!" }, "models": [{ "id": "m" }] } } });
    let file = SourceFile { path: "models.json".to_owned(), text: Ok(models.to_string()) };
    let catalog = Catalog::load(&[Source { origin: Origin::PiModels, trust: Trust::Trusted, files: vec![file] }]);
    let mut entry = catalog.provider("acme").unwrap().clone();
    let mut auth = entry.manifest.endpoint.auth.clone();
    auth.carry(entry.headers_of(None), &|_| None);
    entry.manifest.endpoint.auth = auth;
    let target = Target { manifest: &entry.manifest, model: "m", entry: None, base_url: None, lookup: &|_| None };
    let request = build(&target, Call { prompt: &question(), options: &Options::plain() }, Mode::Whole).unwrap();
    assert_eq!(changes(&request.changes), ["dropped header x-tenant: ACME_TENANT is not set"]);
    assert_eq!(entry.manifest.endpoint.auth.secret_headers.len(), 1);
}

/// Examples show the address of a chat, and people copy it.
#[test]
fn address_of_a_chat_is_that_of_its_server() {
    for (base, url) in [
        ("https://acme.example/v1/chat/completions", "https://acme.example/v1/chat/completions"),
        ("https://acme.example/v1/chat/completions/?tenant=1", "https://acme.example/v1/chat/completions?tenant=1"),
        ("https://acme.example/v1", "https://acme.example/v1/chat/completions"),
    ] {
        let manifest = manifest("https://api.example/v1", json!({}));
        let target = Target { manifest: &manifest, model: "m", entry: None, base_url: Some(base), lookup: &|_| None };
        let request = build(&target, Call { prompt: &question(), options: &Options::plain() }, Mode::Whole).unwrap();
        assert_eq!(request.address.url.as_str(), url, "{base}");
    }
}

#[test]
fn model_whose_name_leads_away_is_one_part_of_the_path() {
    let chat = chat("/models/{model}:generateContent", "gemini");
    let expected = Ok("https://api.example/v1/models/tuned%2F..%2F..%2Fadmin:generateContent");
    check("https://api.example/v1", chat.clone(), "tuned/../../admin", Mode::Whole, expected);
    let expected = Ok("https://api.example/v1/models/tuned/mine.1:generateContent");
    check("https://api.example/v1", chat, "tuned/mine.1", Mode::Whole, expected);
}

/// Not even escaped: a dot of its own leads upwards.
#[test]
fn model_that_is_only_dots_is_no_part_of_a_path() {
    let chat = chat("/deployments/{model}/chat/completions", "openai");
    for model in [".", ".."] {
        let told = format!("option model cannot be sent: {model} would lead to another path");
        check("https://api.example/openai", chat.clone(), model, Mode::Whole, Err(&told));
    }
    let expected = Ok("https://api.example/openai/deployments/.../chat/completions");
    check("https://api.example/openai", chat, "...", Mode::Whole, expected);
}

/// A model that is asked in one API is not asked where another is spoken, unless its provider speaks both.
#[test]
fn address_of_another_api_is_refused() {
    let asked = |id: &str, model: &str, base: &str| {
        let catalog = Catalog::load(&[Source::built_in()]);
        let manifest = &catalog.provider(id).unwrap().manifest;
        let entry = manifest.models.get(model);
        let target = Target { manifest, model, entry, base_url: Some(base), lookup: &|_| None };
        let built = build(&target, Call { prompt: &question(), options: &Options::plain() }, Mode::Whole);
        built.map(|request| request.address.url.to_string()).map_err(|error| error.to_string())
    };
    let refused = |path: &str, adapter: &str, id: &str| {
        Err(format!(
            "option base_url cannot be sent: it ends with {path}, where another API is spoken ({adapter}) than the one \
             that is wanted of {id}; write it without that, or name a provider that speaks it there"
        ))
    };
    let (messages, chat) = ("https://a.example/v1/messages", "https://a.example/v1/chat/completions/?k=1");
    assert_eq!(asked("openai", "gpt-4.1", messages), refused("/messages", "anthropic", "openai"));
    assert_eq!(asked("anthropic", "claude-haiku-4-5", chat), refused("/chat/completions", "openai", "anthropic"));
    assert_eq!(asked("anthropic", "claude-haiku-4-5", messages), Ok(messages.to_owned()));
    let responses = "https://a.example/v1/responses";
    assert_eq!(asked("openai", "gpt-4.1", responses), Ok("https://a.example/v1/chat/completions".to_owned()));
}
