//! Takes the fields of an object one by one and collects everything that is wrong with them.

use pi_transcript::json::Extra;
use serde_json::Value;

use crate::{
    fault::Fault,
    frame::members::Members,
    rule::{Refused, Report, Rule},
};

/// The members of an object that are still to be read, and the faults found so far.
///
/// Every function returns `None` for a field that it refused, after reporting it, so that a reader can go on and find
/// the other faults.
#[derive(Debug)]
pub(crate) struct Fields<'de> {
    members: Members<'de>,
    pub(crate) report: Report,
}

impl<'de> Fields<'de> {
    pub(crate) fn new(members: Members<'de>, report: Report) -> Self {
        Self { members, report }
    }

    /// A field that must be there.
    pub(crate) fn required<R: Rule>(&mut self, name: &'static str, rule: &R) -> Option<R::Output> {
        self.required_or(name, rule, || Fault::Required(rule.wanted().plain()))
    }

    /// A field that must be there, with its own word for one that is not.
    pub(crate) fn required_or<R: Rule>(
        &mut self,
        name: &'static str,
        rule: &R,
        missing: impl FnOnce() -> Fault,
    ) -> Option<R::Output> {
        let value = self.members.take(name);
        let is_empty = matches!(&value, Some(Value::String(text)) if text.trim().is_empty());
        self.report.within_member(name, |report| {
            match value.map_or(Err(Refused::Mistyped), |value| rule.read(value, report)) {
                Ok(read) => Some(read),
                Err(Refused::Reported) => None,
                Err(Refused::Mistyped) => {
                    report.fault(match missing() {
                        Fault::Required(wanted) if is_empty => Fault::Empty(wanted),
                        missing => missing,
                    });
                    None
                }
            }
        })
    }

    /// A field that may be missing. `null` is not missing.
    pub(crate) fn optional<R: Rule>(&mut self, name: &'static str, rule: &R) -> Option<Option<R::Output>> {
        let Some(value) = self.members.take(name) else { return Some(None) };
        self.report.within_member(name, |report| match rule.read(value, report) {
            Ok(read) => Some(Some(read)),
            Err(Refused::Reported) => None,
            Err(Refused::Mistyped) => {
                report.fault(Fault::Mistyped(rule.wanted()));
                None
            }
        })
    }

    /// A field whose absence means its default.
    pub(crate) fn defaulted<R: Rule<Output: Default>>(&mut self, name: &'static str, rule: &R) -> Option<R::Output> {
        self.optional(name, rule).map(Option::unwrap_or_default)
    }

    /// What is left, and what was found.
    pub(crate) fn finish(self) -> (Extra, Report) {
        (self.members.rest(), self.report)
    }

    pub(crate) fn members(&self) -> &Members<'de> {
        &self.members
    }
}
