//! Credentials: where they are found and where they go, and that nothing shows them.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::SystemTime,
};

use pi_provider::{
    Manifest, Secret,
    credential::{self, Attachment, AuthFile, Resolved, SourceKind, Sources, Status, Trust},
    manifest::load::{self, Format},
};
use serde_json::{Map, Value, json};

use super::{Answer, Trouble, manifest, manifest_text, member_or_default};
use crate::runner::case::{Case, Folder};

pub(super) fn resolve(folder: &Folder, case: &Case) -> Result<Answer, Trouble> {
    let found = find(folder, case)?;
    let Found { manifest, resolved, environment, shown, asked, .. } = &found;
    let shadowed: Vec<String> = member_of_expected(case, "shadowed_envs_must_not_resolve");
    let resolves = |name: &&String| {
        let lookup = |asked: &str| (asked == name.as_str()).then(|| "a-value-that-is-there".to_owned());
        resolve_with(manifest, None, &lookup).status() == Status::Available
    };
    let variables = credential::variables(manifest);
    let (required, conventional): (Vec<&String>, Vec<&String>) =
        variables.iter().partition(|name| manifest.endpoint.auth.token_env.as_ref() == Some(name));
    Ok(Answer::valid(json!({
        "status": resolved.status(),
        "source_kind": resolved.source_kind,
        "source_name": resolved.source_name,
        "required": required,
        "conventional_fallbacks": conventional,
        "diagnostic": shown,
        "value_redacted": resolved.credential.as_ref().is_some_and(|one| !shown.contains(one.secret.expose())),
        "shadowed_envs_must_not_resolve": shadowed.iter().filter(|name| !resolves(name)).collect::<Vec<_>>(),
        "implicit_env_allowed": *asked && !environment.is_empty(),
        "implicit_keyring_allowed": resolved.source_kind == SourceKind::AuthFile,
        "must_not_contain": absent(case, shown),
    })))
}

pub(super) fn attach(folder: &Folder, case: &Case) -> Result<Answer, Trouble> {
    let Found { manifest, resolved, mut shown, .. } = find(folder, case)?;
    let credential =
        resolved.credential.clone().ok_or_else(|| Trouble::Refused("there is no credential".to_owned()))?;
    let attachment = credential::attach(&manifest.endpoint.auth, &credential)
        .map_err(|error| Trouble::Refused(error.to_string()))?;
    shown.push_str(&format!("{attachment:?}"));
    // What stands for the secret is put in its place only where it really is.
    let redact = |value: &str| value.replace(credential.secret.expose(), "<redacted>");
    let (mut headers, mut query) = (Map::new(), Map::new());
    match &attachment {
        Attachment::Header { name, value } => {
            let wanted = case.expected.get("headers").and_then(Value::as_object);
            // Names of headers have no case.
            let spelled = wanted.into_iter().flatten().map(|(wanted, _)| wanted).find(|wanted| name == wanted.as_str());
            let spelled = spelled.map_or(name.as_str(), String::as_str);
            headers.insert(spelled.to_owned(), json!(redact(value.to_str().unwrap_or_default())));
        }
        Attachment::Query { name, value } => {
            query.insert(name.clone(), json!(redact(value.expose())));
        }
    }
    Ok(Answer::valid(json!({
        "headers": headers,
        "query_params": query,
        "source_kind": resolved.source_kind,
        "source_name": resolved.source_name,
        "must_not_contain": absent(case, &shown),
    })))
}

struct Found {
    manifest: Manifest,
    resolved: Resolved,
    environment: Map<String, Value>,
    /// Everything that anybody could print.
    shown: String,
    /// Whether the environment was looked at.
    asked: bool,
}

fn find(folder: &Folder, case: &Case) -> Result<Found, Trouble> {
    let manifest = manifest(folder, case)?;
    let environment: Map<String, Value> = case.setup.get("env").and_then(Value::as_object).cloned().unwrap_or_default();
    let explicit = member_or_default::<Option<String>>(case, "explicit_credential")?.map(Secret::new);
    let asked = AtomicBool::new(false);
    let lookup = |name: &str| {
        asked.store(true, Ordering::Relaxed);
        environment.get(name).and_then(Value::as_str).map(str::to_owned)
    };
    let is_guest = case.text("runtime_target").is_some_and(|target| target.starts_with("wasm"));
    let resolved = if is_guest {
        credential::host_supplied(&manifest, explicit.as_ref())
    } else {
        resolve_with(&manifest, explicit.as_ref(), &lookup)
    };
    let (name, text) = manifest_text(folder, case)?;
    let loaded = load::load(&text, &name, Format::of_file(&name));
    let diagnostics: Vec<String> = loaded.diagnostics.iter().map(ToString::to_string).collect();
    let refusal = resolved.clone().into_credential(&manifest.id);
    let missing = refusal.as_ref().err().map(ToString::to_string).unwrap_or_default();
    let shown = format!("{resolved:?}\n{refusal:?}\n{missing}\n{}\n{loaded:?}", diagnostics.join("\n"));
    let asked = asked.into_inner();
    Ok(Found { manifest, resolved, environment, shown, asked })
}

fn resolve_with(manifest: &Manifest, explicit: Option<&Secret>, lookup: credential::Lookup<'_>) -> Resolved {
    let sources = Sources {
        explicit,
        written: None,
        environment: lookup,
        auth_file: &AuthFile::none(),
        trust: Trust::Trusted,
        now: SystemTime::UNIX_EPOCH,
    };
    credential::resolve(manifest, &sources)
}

/// Those of the case's secrets that appear nowhere: all of them, if all is well.
fn absent(case: &Case, shown: &str) -> Vec<String> {
    let mut secrets: Vec<String> = member_of_expected(case, "must_not_contain");
    secrets.retain(|secret| !shown.contains(secret.as_str()));
    secrets
}

fn member_of_expected(case: &Case, name: &str) -> Vec<String> {
    let list = case.expected.get(name).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
