//! Operations that a manifest lists and this crate has no type for: the body goes, and comes back, as it is.

use serde_json::Value;

use super::{Answered, Asking, Form, Place};
use crate::{
    error::CallError,
    request::{self, Request, Target},
};

/// Asks for an operation by its name in the manifest (`mcp_call_tool`, `computer_use`, `video_get`).
pub async fn ask(asking: &Asking<'_>, name: &str, body: &Value) -> Result<Answered<Value>, CallError> {
    let request = request(asking.target, name, body)?;
    asking.send(request, |reading, whole| reading.json(&whole.body)).await
}

/// The request for it. Fails if the provider does not declare the capability, or does not list the operation.
pub fn request(target: &Target<'_>, name: &str, body: &Value) -> Result<Request, CallError> {
    let refuse = |reason: &str| CallError::Option { option: name.to_owned(), reason: reason.to_owned() };
    let capability = request::capability_of(name).ok_or_else(|| refuse("no capability has this operation"))?;
    request::guard(target.manifest, capability)?;
    let operation = target.manifest.operation(name).ok_or_else(|| refuse("the manifest does not list it"))?;
    let place = Place {
        form: Form::of(target.manifest, Some(operation)),
        wording: operation.wording.clone(),
        capability,
        method: operation.method.to_uppercase(),
        path: operation.path.clone(),
    };
    place.request(target, Some("application/json"), body.to_string().into_bytes())
}
