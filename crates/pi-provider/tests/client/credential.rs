//! Where credentials are found, and where not.

use std::{
    path::Path,
    time::{Duration, SystemTime},
};

use pi_provider::{
    CallError, ErrorCode, Secret,
    credential::{
        AuthFile, CredentialKind, Resolved, SourceKind, Sources, Status, Trust, Unusable, host_supplied, resolve,
        variables,
    },
    manifest::{KeySource, MissingKey},
};
use serde_json::{Value, json};

use crate::support::manifest;

const FILE: &str = r#"{
    "mock-one": {"type": "api_key", "key": "from-file"},
    "other": {"type": "api_key", "key": "IN_VARIABLE"},
    "logged-in": {"type": "oauth", "access": "token-1", "refresh": "r", "expires": 2000000},
    "command": {"type": "api_key", "key": "!printf ' of-%s\\n' command"},
    "broken": {"type": "api_key", "key": "!echo planted-output; exit 4"},
    "variable": {"type": "api_key", "key": "${IN_VARIABLE}"},
    "future": {"type": "passkey", "id": 1}
}"#;

struct Case<'a> {
    changes: Value,
    explicit: Option<&'a str>,
    /// Of `models.json`.
    written: Option<KeySource>,
    environment: &'a [(&'a str, &'a str)],
    file: Option<&'a str>,
    trust: Trust,
}

impl Case<'_> {
    fn new() -> Self {
        Self { changes: json!({}), explicit: None, written: None, environment: &[], file: None, trust: Trust::Trusted }
    }

    fn resolve(self) -> Resolved {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("auth.json");
        let auth_file = match self.file {
            Some(text) => {
                write(&path, text, 0o600);
                AuthFile::read(&path)
            }
            None => AuthFile::none(),
        };
        let environment = |name: &str| {
            self.environment.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let explicit = self.explicit.map(Secret::new);
        let sources = Sources {
            explicit: explicit.as_ref(),
            written: self.written.as_ref(),
            environment: &environment,
            auth_file: &auth_file,
            trust: self.trust,
            now: SystemTime::UNIX_EPOCH + Duration::from_secs(1000),
        };
        let mut resolved = resolve(&manifest("http://127.0.0.1", self.changes), &sources);
        let shown = path.display().to_string();
        for name in resolved.looked_in.iter_mut().chain(resolved.source_name.as_mut()) {
            *name = name.replace(&shown, "FILE");
        }
        resolved
    }

    /// `status source_kind source_name value`, and where was looked.
    fn check(self, expected: &str, looked_in: &[&str]) -> Resolved {
        let resolved = self.resolve();
        let kind = serde_json::to_value(resolved.source_kind).unwrap();
        let shown = format!(
            "{} {} {} {}",
            serde_json::to_value(resolved.status()).unwrap().as_str().unwrap(),
            kind.as_str().unwrap(),
            resolved.source_name.as_deref().unwrap_or("-"),
            resolved.credential.as_ref().map_or("-", |credential| credential.secret.expose()),
        );
        assert_eq!(shown, expected);
        assert_eq!(resolved.looked_in, looked_in);
        resolved
    }
}

fn write(path: &Path, text: &str, mode: u32) {
    use std::{
        io::Write,
        os::unix::fs::{OpenOptionsExt, PermissionsExt},
    };
    let mut file = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn chain_goes_from_the_explicit_to_the_file() {
    let environment = [("MOCK_TOKEN", "from-manifest"), ("MOCK_ONE_API_KEY", "from-convention")];
    let all = || Case { environment: &environment, file: Some(FILE), ..Case::new() };
    Case { explicit: Some("from-caller"), ..all() }.check("available explicit explicit from-caller", &[]);
    all().check("available manifest_env MOCK_TOKEN from-manifest", &["MOCK_TOKEN"]);
    Case { environment: &environment[1..], ..all() }
        .check("available conventional_env MOCK_ONE_API_KEY from-convention", &["MOCK_TOKEN", "MOCK_ONE_API_KEY"]);
    let everywhere = ["MOCK_TOKEN", "MOCK_ONE_API_KEY", "FILE"];
    Case { environment: &[], ..all() }.check("available auth_file FILE from-file", &everywhere);
    Case { environment: &[], file: Some("{}"), ..all() }.check("missing none - -", &everywhere);
}

#[test]
fn empty_variables_are_not_set_and_values_are_trimmed() {
    let environment = [("MOCK_TOKEN", " "), ("MOCK_ONE_API_KEY", " key\n")];
    let looked_in = ["MOCK_TOKEN", "MOCK_ONE_API_KEY"];
    Case { environment: &environment, ..Case::new() }
        .check("available conventional_env MOCK_ONE_API_KEY key", &looked_in);
}

#[test]
fn conventional_name_that_the_manifest_names_is_the_manifests() {
    let changes = json!({"endpoint": {"auth": {"token_env": "MOCK_ONE_API_KEY"}}});
    assert_eq!(variables(&manifest("http://127.0.0.1", changes.clone())), ["MOCK_ONE_API_KEY"]);
    Case { changes, environment: &[("MOCK_ONE_API_KEY", "k")], ..Case::new() }
        .check("available manifest_env MOCK_ONE_API_KEY k", &["MOCK_ONE_API_KEY"]);
}

#[test]
fn untrusted_project_gets_nothing_at_all() {
    let resolved = Case {
        explicit: Some("from-caller"),
        environment: &[("MOCK_TOKEN", "k")],
        file: Some(FILE),
        trust: Trust::UntrustedProject,
        ..Case::new()
    }
    .check("missing none - -", &[]);
    assert_eq!(resolved.notes, ["its manifest comes from a project that is not trusted"]);
}

#[test]
fn local_server_needs_none_and_takes_one() {
    let local = || Case { changes: json!({"endpoint": {"auth": {"type": "none"}}}), ..Case::new() };
    let looked_in = ["MOCK_TOKEN", "MOCK_ONE_API_KEY"];
    let resolved = local().check("available none - -", &looked_in);
    assert_eq!(resolved.into_credential(&"mock-one".into()).unwrap(), None);
    Case { explicit: Some("k"), ..local() }.check("available explicit explicit k", &[]);
}

#[test]
fn entries_of_the_file_are_understood_or_explained() {
    let everywhere = ["MOCK_TOKEN", "MOCK_ONE_API_KEY", "FILE"];
    let check = |alias: &str, environment: &[(&str, &str)], expected: &str| {
        let file = FILE.replace("\"mock-one\"", "\"unrelated\"");
        let changes = json!({"aliases": [alias]});
        Case { changes, environment, file: Some(&file), ..Case::new() }.check(expected, &everywhere)
    };
    check("other", &[("IN_VARIABLE", "v")], "available auth_file FILE v");
    check("other", &[], "available auth_file FILE IN_VARIABLE");
    let token = check("logged-in", &[], "available auth_file FILE token-1");
    assert_eq!(token.credential.unwrap().kind, CredentialKind::AccessToken);
    check("command", &[], "available auth_file FILE of-command");
    let broken = check("broken", &[], "missing none - -");
    assert_eq!(
        broken.notes,
        [
            "the key of broken is not there: the command brings none: it ended with exit status: 4; run the command in a shell \
          to see what is wrong with it"
        ]
    );
    check("variable", &[("IN_VARIABLE", "v")], "available auth_file FILE v");
    let unset = check("variable", &[], "missing none - -");
    let missing = MissingKey::Variable { name: "IN_VARIABLE".to_owned() };
    assert_eq!(unset.unusable, [Unusable::NotThere { provider: "variable".to_owned(), missing }]);
    let future = check("future", &[], "missing none - -");
    assert_eq!(future.unusable, [Unusable::UnknownKind { provider: "future".to_owned() }]);
}

#[test]
fn a_key_of_models_json_comes_after_what_was_spelled_out() {
    let written = |text: &str| Some(serde_json::from_value::<KeySource>(json!(text)).unwrap());
    let environment = [("MOCK_TOKEN", "from-manifest")];
    let case = |text: &str| Case { written: written(text), environment: &environment, ..Case::new() };
    case("!echo of-command").check("available explicit models.json of-command", &[]);
    case("sk-literal").check("available explicit models.json sk-literal", &[]);
    Case { explicit: Some("k"), ..case("!exit 1") }.check("available explicit explicit k", &[]);
    let other =
        case("!exit 1").check("available manifest_env MOCK_TOKEN from-manifest", &["models.json", "MOCK_TOKEN"]);
    assert_eq!(other.unusable.len(), 1, "what failed is told: {other:?}");
}

/// The command would leave a file behind.
#[test]
fn commands_of_a_project_that_nobody_trusts_are_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ran");
    let text = json!(format!("!touch '{}'; echo key", file.display()));
    let written = Some(serde_json::from_value::<KeySource>(text).unwrap());
    Case { written, trust: Trust::UntrustedProject, ..Case::new() }.check("missing none - -", &[]);
    assert!(!file.exists());
}

#[test]
fn expired_login_is_said_to_be() {
    let file = r#"{"mock-one": {"type": "oauth", "access": "token-1", "expires": 999999}}"#;
    let resolved = Case { file: Some(file), ..Case::new() }.resolve();
    assert_eq!((resolved.status(), resolved.source_kind), (Status::Missing, SourceKind::None));
    assert_eq!(resolved.unusable, [Unusable::Expired { provider: "mock-one".to_owned() }]);
    let note = "the login of mock-one has expired, and is not renewed here; log in again with Pi, or use a key";
    assert_eq!(resolved.notes, [note]);
    let error = resolved.into_credential(&"mock-one".into()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Authentication);
    assert_eq!(
        error.to_string(),
        "there is no credential for mock-one: the login of mock-one has expired, and is not renewed here"
    );
}

#[test]
fn file_that_others_can_read_is_warned_about() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("auth.json");
    write(&path, FILE, 0o644);
    let shown = path.display();
    let warning = format!("{shown} can be read by others (mode 0644); run chmod 600 on it");
    assert_eq!(AuthFile::read(&path).warning(), Some(warning));
    write(&path, FILE, 0o600);
    assert_eq!(AuthFile::read(&path).warning(), None);
    let absent = AuthFile::read(&folder.path().join("absent.json"));
    assert_eq!((absent.warning(), absent.fault()), (None, None));
}

#[test]
fn nothing_prints_a_credential() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("auth.json");
    write(&path, r#"{"mock-one": {"type": "api_key", "key": "sk-planted"}, "b": "sk-planted"}"#, 0o600);
    let partly = AuthFile::read(&path);
    let faults: Vec<Unusable> = partly.broken_entries().collect();
    assert!(faults.len() == 1 && !format!("{faults:?} {partly:?} {}", faults[0]).contains("planted"), "{faults:?}");
    write(&path, r#"{"mock-one": {"type": "api_key", "key": "sk-planted"}, "b": sk-planted"#, 0o600);
    let broken = AuthFile::read(&path);
    let fault = broken.fault().unwrap();
    assert!(!format!("{fault} {broken:?} {fault:?}").contains("planted"), "{fault:?}");
    write(&path, r#"{"mock-one": {"type": "api_key", "key": "sk-planted"}}"#, 0o600);
    let file = AuthFile::read(&path);
    let resolved = Case { explicit: Some("sk-planted"), ..Case::new() }.resolve();
    assert!(!format!("{file:?} {resolved:?}").contains("planted"));
}

#[test]
fn missing_credential_is_an_error_that_says_where_it_could_be() {
    let error = Case::new().resolve().into_credential(&"mock-one".into()).unwrap_err();
    let CallError::NoCredential { looked_in, .. } = error else { panic!("{error}") };
    assert_eq!(looked_in, ["MOCK_TOKEN", "MOCK_ONE_API_KEY"]);
}

/// Nobody can set a file.
#[test]
fn what_can_be_set_is_a_variable_or_a_member() {
    let settable = |case: Case<'_>| case.resolve().into_credential(&"mock-one".into()).unwrap_err().settable();
    assert_eq!(settable(Case::new()), ["MOCK_TOKEN", "MOCK_ONE_API_KEY"]);
    let written = |text: &str| Case { written: Some(serde_json::from_value(json!(text)).unwrap()), ..Case::new() };
    assert_eq!(settable(written("$MY_KEY")), ["MY_KEY", "MOCK_TOKEN", "MOCK_ONE_API_KEY"]);
    assert_eq!(settable(written("$MOCK_TOKEN")), ["MOCK_TOKEN", "MOCK_ONE_API_KEY"]);
    assert_eq!(settable(written("!exit 1")), ["apiKey of mock-one in models.json", "MOCK_TOKEN", "MOCK_ONE_API_KEY"]);
}

/// A file that cannot be used: who needs it is told, and nobody else is kept from anything.
#[test]
fn broken_file_harms_only_those_who_have_no_other_credential() {
    let broken = Case { file: Some("{\n  \"mock-one\": "), ..Case::new() };
    let resolved = broken.resolve();
    let [Unusable::BrokenFile { file, line: 2, column: 14 }] = resolved.unusable.as_slice() else {
        panic!("{resolved:?}")
    };
    let told = format!("there is no credential for mock-one: {file} is not a table of credentials (line 2, column 14)");
    assert_eq!(resolved.unusable[0].hint(), "correct the file, or move it away");
    assert_eq!(resolved.into_credential(&"mock-one".into()).unwrap_err().to_string(), told);
    let elsewhere = Case { file: Some("["), environment: &[("MOCK_TOKEN", "key")], ..Case::new() }.resolve();
    assert_eq!((elsewhere.status(), elsewhere.unusable.len()), (Status::Available, 0));
    let local = json!({"endpoint": {"auth": {"type": "none"}}});
    let needless = Case { file: Some("["), changes: local, ..Case::new() }.resolve();
    assert_eq!(needless.into_credential(&"mock-one".into()).unwrap(), None);
}

#[test]
fn folder_in_the_place_of_the_file_is_told_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let file = AuthFile::read(folder.path());
    let fault = file.fault().unwrap().to_string();
    assert!(fault.starts_with(&format!("{} cannot be read: ", folder.path().display())), "{fault}");
}

/// Sending it would end in a refusal that says nothing of why.
#[test]
fn login_that_a_provider_takes_from_others_only_is_reported_and_not_sent() {
    let changes = json!({"endpoint": {"auth": {"login_refused": "it is for its own programs"}}});
    let file = r#"{"mock-one": {"type": "oauth", "access": "token", "expires": 2000000}}"#;
    let resolved = Case { changes, file: Some(file), ..Case::new() }.resolve();
    let told =
        "there is no credential for mock-one: the login of mock-one cannot be used here: it is for its own programs";
    assert_eq!(resolved.into_credential(&"mock-one".into()).unwrap_err().to_string(), told);
    let usual = Case { file: Some(file), ..Case::new() }.resolve();
    assert_eq!(usual.source_kind, SourceKind::AuthFile);
}

#[test]
fn guest_gets_only_what_its_host_hands_over() {
    let manifest = manifest("http://127.0.0.1", json!({}));
    let given = host_supplied(&manifest, Some(&Secret::new("key-h")));
    assert_eq!((given.source_kind, given.source_name.as_deref()), (SourceKind::Explicit, Some("host_supplied")));
    let nothing = host_supplied(&manifest, None);
    assert_eq!((nothing.status(), nothing.looked_in), (Status::Missing, vec![]));
}

#[test]
fn one_broken_entry_leaves_the_others() {
    let file = r#"{
        "mock-one": {"type": "api_key", "key": "from-file"},
        "flat": "sk-planted",
        "bare": {"key": "sk-planted"},
        "listed": {"type": "api_key", "key": ["sk-planted"]},
        "late": {"type": "oauth", "access": "sk-planted", "expires": "tomorrow"}
    }"#;
    let everywhere = ["MOCK_TOKEN", "MOCK_ONE_API_KEY", "FILE"];
    let resolved = Case { file: Some(file), ..Case::new() }.check("available auth_file FILE from-file", &everywhere);
    let told = |name: &str, fault: &str| {
        format!(
            "the entry of {name} in the file of credentials is left out: {fault}; correct the entry, or take it out"
        )
    };
    let expected = [
        told("flat", "it is not an object"),
        told("bare", "it has no type"),
        told("listed", "its key is not a text"),
        told("late", "its expires is not a number"),
    ];
    assert_eq!(resolved.notes, expected);
    let changes = json!({"aliases": ["listed"]});
    let of_listed = Case { changes, file: Some(r#"{"listed": {"type": "api_key"}}"#), ..Case::new() }.resolve();
    let broken = Unusable::BrokenEntry { provider: "listed".to_owned(), fault: "its key is not a text" };
    assert_eq!((of_listed.unusable, of_listed.notes), (vec![broken], vec![told("listed", "its key is not a text")]));
}

#[test]
fn a_credential_in_the_clear_is_told() {
    let none = AuthFile::none();
    let key = Secret::new("k");
    let notes = |address: &str, key: Option<&Secret>| {
        let sources = Sources {
            explicit: key,
            written: None,
            environment: &|_| None,
            auth_file: &none,
            trust: Trust::Trusted,
            now: SystemTime::UNIX_EPOCH,
        };
        resolve(&manifest(address, json!({})), &sources).notes
    };
    let told = "the credential goes over http to a server elsewhere, and everybody on the way can read it; use an https \
                address";
    assert_eq!(notes("http://api.example.com/v1", Some(&key)), [told]);
    assert_eq!(notes("http://api.example.com/v1", None), [""; 0]);
    for address in ["https://api.example.com/v1", "http://127.0.0.1:8080", "http://localhost", "http://10.0.0.7/v1"] {
        assert_eq!(notes(address, Some(&key)), [""; 0], "{address}");
    }
}
