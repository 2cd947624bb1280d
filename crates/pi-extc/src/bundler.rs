//! Asks the bundler program, which runs as a child process.

#[path = "../bundler/globals.rs"]
pub(crate) mod globals;
mod program;
#[path = "../bundler/protocol.rs"]
pub(crate) mod protocol;
#[path = "../bundler/rule.rs"]
pub(crate) mod rule;

use std::{path::Path, process::Stdio, time::Duration};

use tokio::{
    io::AsyncWriteExt as _,
    process::{Child, Command},
    time::timeout,
};

use self::protocol::{Answer, Question};
use crate::fault::BuildFault;

/// How much of what a dying bundler says is repeated.
const SAID: usize = 2000;

/// Runs the bundler once. Dropping the future ends the process.
pub(crate) async fn ask(question: &Question, cache: &Path, limit: Duration) -> Result<Answer, BuildFault> {
    let question = serde_json::to_vec(question).expect("paths and names are plain JSON");
    let program = program::prepare(cache)?;
    let child = start(program.path()).map_err(BuildFault::Start)?;
    match timeout(limit, converse(child, &question)).await {
        Ok(answer) => answer,
        Err(_) => Err(BuildFault::TooLong { limit }),
    }
}

fn start(program: &Path) -> std::io::Result<Child> {
    #[expect(clippy::disallowed_methods, reason = "the one place where this crate starts processes")]
    let mut command = std::process::Command::new(program);
    // It needs nothing of what the environment says, and shall not know it.
    command.arg("bundle").env_clear().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Command::from(command).kill_on_drop(true).spawn()
}

async fn converse(mut child: Child, question: &[u8]) -> Result<Answer, BuildFault> {
    let mut input = child.stdin.take().expect("it was asked for");
    // A bundler that does not listen says why on its way out.
    let _ = input.write_all(question).await;
    drop(input);
    let output = child.wait_with_output().await.map_err(BuildFault::Start)?;
    let died = |said: String| BuildFault::Died { status: output.status.to_string(), said };
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(died(said.chars().take(SAID).collect()));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| died(error.to_string()))
}
