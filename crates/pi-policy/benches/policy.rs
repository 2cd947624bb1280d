//! What one decision costs, without an explanation.

use std::{hint::black_box, sync::Arc};

use criterion::{Criterion, criterion_group, criterion_main};
use pi_extproto::capability::{Capability, Declared, Method};
use pi_policy::{
    Action, Evidence, Extension, Extent, Host, Moment, PathStyle, Places, Policy, Provenance, Request, Subject, Target,
    Verdict, config, decide, explain,
};

const SETTINGS: &str = r#"{"extensions": {"policy": {
    "deny_caps": ["credentials"],
    "grants": {"x": [
        {"capability": "write", "scope": {"paths": ["docs/**", "target/**", "src/**/*.rs"]}, "versions": "^1", "expires": "2030-01-01T00:00:00Z"},
        {"capability": "http", "scope": {"hosts": ["example.org", "*.github.com"]}}
    ]},
    "denies": {"x": [{"capability": "write", "scope": {"paths": ["**/.env", "src/secret/**"]}}]}
}}}"#;

fn request(capability: Capability, method: Method, target: Target) -> Request {
    let extension = Extension::new("x", "1.4.2", Provenance::Trusted, &Declared::new(None, None));
    let action = Action { subject: Subject::Extension(Arc::new(extension)), capability, method, target };
    Request::new(action, Moment::from_unix_millis(1_770_000_000_000)).with_evidence(Evidence::CLEAN)
}

fn path(path: &str) -> Target {
    let places = Places::new(PathStyle::Unix, "/home/u/work").expect("a folder");
    Target::Path(places.locate(path, Extent::File).expect("a path"))
}

fn policy(c: &mut Criterion) {
    let policy: Policy = config::load(SETTINGS.as_bytes()).expect("settings").value;
    let host = |url| Target::Host(Host::from_url(url).expect("a URL"));
    let requests = [
        (
            "decide_scoped_path",
            request(Capability::Write, Method::Fs, path("src/session/turn/retry.rs")),
            Verdict::Allow,
        ),
        ("decide_default", request(Capability::Read, Method::Tool, path("src/session/turn/retry.rs")), Verdict::Allow),
        ("decide_host", request(Capability::Http, Method::Http, host("https://api.github.com/repos")), Verdict::Allow),
        ("decide_denied_path", request(Capability::Write, Method::Fs, path("src/secret/key.pem")), Verdict::Deny),
        ("decide_by_evidence", request(Capability::Tool, Method::Tool, Target::Tool("deploy".into())), Verdict::Allow),
    ];
    let mut group = c.benchmark_group("policy");
    for (id, request, expected) in &requests {
        assert_eq!(decide(&policy, request).verdict(), *expected, "{id}");
        group.bench_function(*id, |bencher| bencher.iter(|| decide(black_box(&policy), black_box(request))));
    }
    let (_, scoped, _) = &requests[0];
    group.bench_function("explain_scoped_path", |bencher| {
        bencher.iter(|| explain(black_box(&policy), black_box(scoped)))
    });
    group.finish();
}

criterion_group!(benches, policy);
criterion_main!(benches);
