//! Ring 2: the names of a parameter, of which one is standard and one is the provider's.

use indexmap::IndexMap;

use super::Report;
use crate::{
    manifest::{diagnostic::Rule, names, parameter::Parameter, tree::Member},
    request::members,
};

/// The provider's name of a parameter, with the standard name as its alias.
///
/// The standard's own files write the provider's name as the key. A standard name as the key with another name as its
/// alias can only mean the reverse, and is turned round.
pub(super) fn named(
    member: &Member,
    path: &str,
    mut parameter: Parameter,
    report: &mut Report<'_>,
) -> (String, Parameter) {
    let key = member.key.as_str();
    let Some(alias) = parameter.alias.clone() else { return (key.to_owned(), parameter) };
    let at = member.node.get("alias").map_or(member.at, |alias| alias.at);
    if alias == key {
        parameter.alias = None;
    } else if names::is_parameter(key) && !names::is_parameter(&alias) {
        let message = format!("{key} is the standard name, so {alias} is taken for the provider's");
        report.note(Rule::ParameterAlias, at, &format!("{path}.alias"), message);
        parameter.alias = Some(key.to_owned());
        return (alias, parameter);
    }
    (key.to_owned(), parameter)
}

/// Adds a parameter, unless another one has one of its names.
pub(super) fn insert(
    member: &Member,
    path: &str,
    (name, parameter): (String, Parameter),
    parameters: &mut IndexMap<String, Parameter>,
    report: &mut Report<'_>,
) {
    if let Err(fault) = members::check(&name) {
        report.error(Rule::MemberSyntax, member.at, path, fault.to_string());
        return;
    }
    let standard = |(name, parameter): (&String, &Parameter)| parameter.alias.clone().unwrap_or_else(|| name.clone());
    let own = standard((&name, &parameter));
    let other = parameters.iter().find(|(known, parameter)| **known == name || standard((known, parameter)) == own);
    if let Some((other, _)) = other {
        let message = format!("{own} is described as {other} already, which counts");
        report.warning(Rule::ParameterAlias, member.at, path, message);
        report.hint("keep one of the two");
        return;
    }
    parameters.insert(name, parameter);
}
