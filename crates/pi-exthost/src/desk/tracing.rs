//! What goes over a desk, as the protocol writes it. Nothing happens where nobody wants to read it.

use std::time::Duration;

use serde_json::{Value, json};

use pi_extproto::{
    Object,
    capability::CapabilityManifest,
    host::{CheckedCall, HostCall, HostError, HostResult},
    log::{LogEntry, LogNote},
    message::{Payload, Register, VERSION},
};
use pi_transcript::json::Extra;

use super::{Desk, Occasion, Output, difference::differences};
use crate::{
    guest::{Introduction, Registration, UnusableOffer},
    unfired::UNFIRED,
};

impl Desk {
    /// Writes down that the guest was loaded, what it offers, and where it says of itself what its manifest does not.
    pub fn registered(&self, registration: &Registration, took: Duration) {
        self.events().registered(numbers(registration));
        for difference in registration.introduction.iter().flat_map(|said| differences(self.identity(), said)) {
            self.events().warn(difference, None);
        }
        for UnusableOffer { what, why } in &registration.unusable {
            self.events().warn(format!("{what} is left out: {why}"), None);
        }
        for (hook, why) in UNFIRED.iter().filter(|(hook, _)| registration.handlers(*hook) > 0) {
            self.events().warn(format!("{hook} is never fired here: {why}"), None);
        }
        self.events().ready(took);
        if let Some(trace) = &self.inner.house.fittings.trace {
            trace.write(self.guest().as_str(), Payload::Register(self.register(registration)));
        }
    }

    /// In the words of the guest, if its tier has any; else in ours.
    fn register(&self, registration: &Registration) -> Register {
        let object = |value: Value| value.as_object().cloned().unwrap_or_default();
        let tools = registration.tools.iter().map(|tool| object(json!(tool.definition)));
        let commands = registration.commands.iter().map(|command| object(json!(command.definition)));
        let hooks = registration.hooks.keys().map(|hook| hook.as_str().to_owned());
        let said = registration.introduction.clone().unwrap_or_else(|| self.introduction());
        let Introduction { name, version, api_version, capabilities, capability_manifest } = said;
        Register {
            name,
            version,
            api_version,
            capabilities,
            capability_manifest,
            tools: Some(tools.collect()),
            slash_commands: Some(commands.collect()),
            event_hooks: Some(hooks.collect()),
            extra: Extra::new(),
        }
    }

    /// What is known of the guest, as it would say it.
    fn introduction(&self) -> Introduction {
        let identity = self.identity();
        Introduction {
            name: self.guest().as_str().to_owned(),
            version: identity.version.clone(),
            api_version: VERSION.to_owned(),
            capabilities: None,
            capability_manifest: Some(CapabilityManifest::new(identity.declared.requirements().to_vec())),
        }
    }

    pub(super) fn trace_call(&self, checked: &CheckedCall) {
        if let Some(trace) = &self.inner.house.fittings.trace {
            let mut call = HostCall::new(checked.call_id(), checked.call());
            call.timeout_ms = checked.deadline_ms().map(Into::into);
            trace.write(checked.call_id(), Payload::HostCall(call));
        }
    }

    pub(super) fn trace_result(&self, id: &str, result: &Result<Output, HostError>) {
        if let Some(trace) = &self.inner.house.fittings.trace {
            let result = match result {
                Ok(Output::Credential(credential)) => {
                    HostResult::success(id, Output::Credential(credential.redacted()).to_object())
                }
                Ok(output) => HostResult::success(id, output.to_object()),
                Err(error) => HostResult::failure(id, error.clone()),
            };
            trace.write(id, Payload::HostResult(result));
        }
    }

    /// Writes down that the guest had to be stopped: it went over a limit, or its engine broke down. That speaks against it.
    pub fn note_stop(&self, reason: &str) {
        self.inner.counters.trap();
        self.events().stopped(reason);
    }

    /// What the guest says itself, by a call or beside its calls: written to its log within its allowance, and traced.
    /// Answers what was written, if it was.
    pub fn say(&self, note: LogNote, occasion: &Occasion) -> Option<LogEntry> {
        let entry = self.events().note(note, occasion)?;
        if let Some(trace) = &self.inner.house.fittings.trace {
            trace.write(self.guest().as_str(), Payload::Log(entry.clone()));
        }
        Some(entry)
    }
}

/// How much of each kind an extension registered: the log counts, it does not quote.
fn numbers(registration: &Registration) -> Object {
    let Registration { tools, commands, hooks, flags, shortcuts, renderers, providers, .. } = registration;
    let counts = [
        ("tools", tools.len()),
        ("commands", commands.len()),
        ("hooks", hooks.len()),
        ("flags", flags.len()),
        ("shortcuts", shortcuts.len()),
        ("renderers", renderers.len()),
        ("providers", providers.len()),
    ];
    counts.into_iter().map(|(name, count)| (name.to_owned(), Value::from(count))).collect()
}
