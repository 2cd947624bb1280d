//! A process that a guest speaks with for as long as it lives.

use std::{collections::BTreeMap, io, process::ExitStatus};

use tokio::process::{ChildStderr, ChildStdin, ChildStdout};

use pi_extproto::{
    connector::{
        Call,
        data::Data,
        exec::{Command, CommandOutput, Exit},
    },
    host::{CheckedCall, HostError},
    log::ledger::Start,
};
use pi_policy::GIVEN_VARIABLES;
use pi_tools::{
    Environment, Withheld,
    process::{self, ApartProcess, Tree},
};

use super::{Desk, Output, Terms, record::Record};
use crate::connector;

/// Variables without which programs do not start on Windows.
const WINDOWS: [&str; 7] = ["APPDATA", "LOCALAPPDATA", "PATHEXT", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "USERPROFILE"];

/// A process with its three streams. Dropping it kills the process with everything that it started.
pub struct Held {
    process: ApartProcess,
    desk: Desk,
    id: String,
    /// Until the process has ended.
    record: Option<Record>,
}

/// The streams of a process, from our side.
pub struct Pipes {
    pub stdin: ChildStdin,
    pub stdout: ChildStdout,
    pub stderr: ChildStderr,
}

impl Desk {
    /// Starts a process to speak with. It is one call of `exec` that lasts as long as the process does: decided like any
    /// other, with a start record here and the end record when the process has ended.
    ///
    /// Its environment is what everybody may see and `variables`, nothing else of ours. They are no part of what is
    /// recorded, because they may be secrets.
    pub async fn hold(
        &self,
        command: Command,
        variables: &BTreeMap<String, String>,
        terms: &Terms,
    ) -> Result<(Held, Pipes), HostError> {
        let checked = CheckedCall::native(self.next_id(), Call::Exec(command.clone()), None);
        let (id, start) = (checked.call_id().to_owned(), Start::new(&checked));
        self.trace_call(&checked);
        let record = self.record(id.clone(), start, &terms.occasion).await?;
        let environment = self.bare_environment(variables);
        let begun = match connector::aim(self, &checked) {
            Ok(action) => {
                let starting = connector::exec::begin_to_speak(self, &command, action, terms, environment);
                terms.cancel.run_until_cancelled(starting).await.unwrap_or_else(|| Err(connector::cancelled()))
            }
            Err(error) => Err(error),
        };
        let mut process = match begun {
            Ok(process) => process,
            Err(error) => {
                record.end(Some(error.code));
                self.trace_result(&id, &Err(error.clone()));
                return Err(error);
            }
        };
        let (stdin, stdout, stderr) = (process.stdin.take(), process.stdout.take(), process.stderr.take());
        let held = Held { process, desk: self.clone(), id, record: Some(record) };
        match (stdin, stdout, stderr) {
            (Some(stdin), Some(stdout), Some(stderr)) => Ok((held, Pipes { stdin, stdout, stderr })),
            _ => Err(connector::failed(&command.command, &io::Error::other("the process has no pipes"))),
        }
    }

    fn bare_environment(&self, variables: &BTreeMap<String, String>) -> Environment {
        let known = &self.inner.house.fittings.variables;
        let windows = if cfg!(windows) { &WINDOWS[..] } else { &[] };
        let given = GIVEN_VARIABLES.iter().chain(windows).filter_map(|name| known.get_key_value(*name));
        let bare = Environment::new(given.map(|(name, value)| (name.into(), value.into())), &Withheld::default());
        variables.iter().fold(bare, |bare, (name, value)| bare.with(name, value))
    }
}

impl Held {
    /// Waits until it has ended by itself, and kills what it left behind. Nothing is lost if it is dropped.
    pub async fn ended(&mut self) -> io::Result<ExitStatus> {
        let status = self.process.wait_for_all().await?;
        self.close(Exit { code: status.code(), signal: process::signal_name(status), killed: false });
        Ok(status)
    }

    /// The process and what it started, for whoever wants to know something of them.
    pub fn tree(&self) -> Tree {
        self.process.tree()
    }

    /// Kills it with everything that it started.
    pub async fn kill(&mut self) {
        self.process.kill().await;
        self.close(Exit { code: None, signal: None, killed: true });
    }

    fn close(&mut self, exit: Exit) {
        if let Some(record) = self.record.take() {
            record.end(None);
            let output = CommandOutput { stdout: Data(Vec::new()), stderr: Data(Vec::new()), exit, truncated: false };
            self.desk.trace_result(&self.id, &Ok(Output::from(output)));
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // The process goes with us.
        self.close(Exit { code: None, signal: None, killed: true });
    }
}
