//! `pi ask --dry-run`: the request as it would be sent, for people and for machines.
//!
//! The provider's guardrails see it as they see one that is sent: what they mask is masked here too, and what they refuse
//! is refused with the same code.

use std::fmt;

use pi_provider::{
    Call, CallError, Side,
    credential::{AttachError, Attachment, Resolved, attachments, in_the_clear},
    guardrail::Guardrails,
    request::{Mode, build},
};
use serde::Serialize;
use serde_json::{Value, json};

use super::{introduce, room, tell_findings};
use crate::{
    arguments::model::AskArguments,
    asking,
    choice::Chosen,
    console::{Console, Reader, printable},
    exit::Exit,
    failure::Failure,
    providers::{Providers, Shown},
};

/// Shows the request instead of sending it.
pub(super) fn show(
    arguments: &AskArguments,
    chosen: &mut Chosen,
    call: Call<'_>,
    providers: &Providers,
    console: &mut Console,
) -> Result<Exit, Failure> {
    asking::add_headers(chosen);
    let chosen = &*chosen;
    let mode = if arguments.no_stream { Mode::Whole } else { Mode::Stream };
    let guarded = |mut request| {
        let findings = Guardrails::of(&chosen.entry.manifest)?.filter_request(&mut request)?;
        Ok((request, findings))
    };
    let built = build(&chosen.target(), call, mode).and_then(guarded);
    let (mut request, findings) = built.map_err(|error| chosen.failure(error))?;
    let resolved = asking::resolve(&arguments.reach, chosen, providers)?;
    request.doubt_credential(resolved.credential.as_ref());
    let credential = Shown::of(&resolved);
    let attached = places(&resolved, chosen)?;
    if console.reader() == Reader::Machine {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let own = request.secret_headers.iter().map(|header| Place::Header(header.name.clone()));
        let places: Vec<Place> = own.chain(attached).collect();
        let line = json!({
            "model": chosen.name(), "why": chosen.why.to_string(), "method": request.method,
            "url": request.address.shown(), "headers": headers(&request.headers), "body": body,
            "credential": credential, "hidden": places, "changes": request.changes, "findings": findings,
            "shortage": room::shortage(call.prompt, call.options, chosen),
        });
        console.line(&line.to_string());
        tell_findings(&findings, Side::Input, console);
        return Ok(Exit::Success);
    }
    introduce(chosen, call, console);
    console.line(printable(request.show().trim_end()).as_ref());
    tell_findings(&findings, Side::Input, console);
    let where_from = match (credential.available, credential.words()) {
        (true, words) if words == "not needed" => "no credential is needed".to_owned(),
        (true, words) => format!("the credential comes from {words}"),
        (false, words) => format!("it could not be sent: {words}"),
    };
    console.remark(&where_from);
    // Where the credential travels in the clear, the request says so itself.
    let clear = in_the_clear(&chosen.entry.manifest, None);
    for note in credential.notes.iter().filter(|note| Some(*note) != clear.as_ref()) {
        console.note(note);
    }
    for place in &attached {
        console.remark(&format!("sent with it and not shown: {place}"));
    }
    Ok(Exit::Success)
}

/// Where something secret travels, without what it is: headers of Pi's `models.json`, then the credential.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Place {
    Header(String),
    Query(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Header(name) => write!(f, "the header {name}: ***"),
            Place::Query(name) => write!(f, "{name}=*** in the address"),
        }
    }
}

fn places(resolved: &Resolved, chosen: &Chosen) -> Result<Vec<Place>, Failure> {
    let unusable =
        |error: AttachError| CallError::Option { option: "credential".to_owned(), reason: error.to_string() };
    let attached = attachments(&chosen.entry.manifest.endpoint.auth, resolved.credential.as_ref());
    let attached = attached.map_err(|error| chosen.failure(unusable(error)))?;
    let place = |attachment| match attachment {
        Attachment::Header { name, .. } => Place::Header(name.to_string()),
        Attachment::Query { name, .. } => Place::Query(name),
    };
    Ok(attached.into_iter().map(place).collect())
}

fn headers(headers: &[(String, String)]) -> Value {
    headers
        .iter()
        .map(|(name, value)| (name.clone(), Value::from(value.as_str())))
        .collect::<serde_json::Map<_, _>>()
        .into()
}
