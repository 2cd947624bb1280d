//! What a client may say about itself when it connects.

use serde_json::Value;

use crate::{
    command::{LIFECYCLE, Lifecycle},
    fault::{Fault, FieldFault},
    id::ClientId,
    rule::{Refused, Report, Rule, names},
};

/// Options of a connection: query parameters of the URL, or flags where there is no URL.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConnectionOptions {
    /// `clientId`: the client across its connections. Without it all connections of a credential are one client.
    pub client_id: Option<ClientId>,
    /// `lifecycle`: whose lifecycle events it is sent.
    pub lifecycle: Lifecycle,
}

impl ConnectionOptions {
    /// The names of all options.
    pub const NAMES: [&str; 2] = ["clientId", "lifecycle"];

    /// Reads the options among `pairs`; names that we do not know are left alone. The last of two equal names counts.
    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self, Vec<FieldFault>> {
        let mut options = Self::default();
        let mut report = Report::default();
        for (name, value) in pairs {
            match name {
                "clientId" => options.client_id = read("clientId", value, &names::CLIENT_ID, &mut report),
                "lifecycle" => {
                    options.lifecycle = read("lifecycle", value, &LIFECYCLE, &mut report).unwrap_or_default()
                }
                _ => {}
            }
        }
        let faults = report.faults();
        if faults.is_empty() { Ok(options) } else { Err(faults) }
    }
}

fn read<R: Rule>(name: &str, value: &str, rule: &R, report: &mut Report) -> Option<R::Output> {
    report.within_member(name, |report| match rule.read(Value::from(value), report) {
        Ok(read) => Some(read),
        Err(Refused::Reported) => None,
        Err(Refused::Mistyped) => {
            report.fault(Fault::Mistyped(rule.wanted()));
            None
        }
    })
}
