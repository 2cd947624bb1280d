//! How a contract switches thinking on: what its field has to be depends on its method.

use reqwest::header::HeaderName;

use super::Report;
use crate::{
    manifest::{
        contract::Contract,
        diagnostic::{Rule, Severity},
        tree::Node,
    },
    request::members,
};

const FIELD: &str = "capability_contracts.generative.reasoning_mode.activation_field";
const METHOD: &str = "capability_contracts.generative.reasoning_mode.activation_method";

/// Takes away a field that could not be sent, and says why. `path` is where the contract stands in its file.
pub(super) fn check(contract: &mut Contract, node: &Node, path: &str, severity: Severity, report: &mut Report<'_>) {
    let mode = &mut contract.capability_contracts.generative.reasoning_mode;
    let (Some(method), Some(field)) = (mode.activation_method.as_deref(), mode.activation_field.as_deref()) else {
        return;
    };
    let (rule, place, message) = match method {
        "parameter" => match members::check(field) {
            Ok(()) => return,
            Err(fault) => (Rule::MemberSyntax, FIELD, fault.to_string()),
        },
        "header" => match HeaderName::from_bytes(field.as_bytes()) {
            Ok(_) => return,
            Err(_) => (Rule::ContractSection, FIELD, format!("{field:?} is not the name of a header")),
        },
        "model_suffix" if !field.is_empty() && !field.contains(char::is_whitespace) => return,
        "model_suffix" => (Rule::ContractSection, FIELD, format!("{field:?} is not the end of a model's name")),
        other => {
            let message = format!("{other:?} is not a way to switch thinking on: parameter, header or model_suffix is");
            (Rule::ContractSection, METHOD, message)
        }
    };
    let at = node.find(place).map_or(node.at, |node| node.at);
    let place = if path.is_empty() { place.to_owned() } else { format!("{path}.{place}") };
    report.push(severity, rule, at, &place, message);
    mode.activation_field = None;
}
