//! `bash`: runs a command and tells what it printed. [`run_command`] does the same for a command that a person typed.

mod collect;
mod sanitise;
mod shell;

use std::{
    path::PathBuf,
    pin::pin,
    process::ExitStatus,
    sync::{Arc, LazyLock},
    time::Duration,
};

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use pi_policy::{Command, Grant, Target};

use crate::{
    arguments,
    process::{self, Event, Process, Start},
    progress::Progress,
    shell_watch::ShellEnd,
    tool::{self, Call, Definition, Failure, Output, Tool},
    truncate::{self, Bound, MAX_BYTES, Truncation},
    workspace::Workspace,
};
use collect::{Collected, Collector, Whole};

static DEFINITION: LazyLock<Definition> = LazyLock::new(|| tool::built_in(include_str!("../definitions/bash.json")));

/// Reports come at most this often.
const BETWEEN_REPORTS: Duration = Duration::from_millis(100);
/// When the shell has ended, something in the background may still hold the pipe. After so long a silence we go on
/// without it.
const SILENCE: Duration = Duration::from_millis(100);
/// However much it still says, after so long we go on without it.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The tool `bash`.
#[derive(Debug, Default)]
pub(crate) struct Bash;

#[derive(Deserialize)]
struct Parameters {
    timeout: Option<f64>,
}

impl Tool for Bash {
    fn definition(&self) -> &Definition {
        &DEFINITION
    }

    fn execute(&self, call: Call) -> BoxFuture<'_, Result<Output, Failure>> {
        Box::pin(bash(call))
    }
}

/// How a command that a person typed went: what a session writes down about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BashExecution {
    pub output: String,
    /// Absent when the command did not end by itself.
    pub exit_code: Option<i64>,
    pub cancelled: bool,
    pub truncated: bool,
    pub full_output_path: Option<String>,
}

/// Runs a command that a person typed; the line stands in the grant. A failure means that it was not started.
///
/// Dropping the future kills the command with everything that it started.
pub async fn run_command(
    workspace: &Arc<Workspace>,
    grant: Grant,
    cancel: &CancellationToken,
    progress: &Progress,
) -> Result<BashExecution, Failure> {
    let run = execute(workspace, grant, None, cancel, progress).await?;
    let exit_code = match run.end {
        End::Exited(code) => Some(i64::from(code)),
        End::TimedOut | End::Cancelled => None,
    };
    Ok(BashExecution {
        exit_code,
        cancelled: exit_code.is_none(),
        truncated: run.collected.truncation.truncated,
        full_output_path: run.path().map(|path| path.to_string_lossy().into_owned()),
        output: run.collected.truncation.content,
    })
}

async fn bash(call: Call) -> Result<Output, Failure> {
    let Parameters { timeout } = arguments::read(call.arguments)?;
    let seconds = timeout.filter(|seconds| *seconds > 0.0);
    let limit = match seconds.map(Duration::try_from_secs_f64) {
        Some(Ok(limit)) => Some(limit),
        // Longer than anybody can wait.
        Some(Err(_)) | None => None,
    };
    // Whoever listens hears that it has begun, before there is any output.
    call.progress.report(Output::default());
    tokio::task::yield_now().await;
    let pass = call.workspace.watch().map(|watch| watch.admit()).transpose().map_err(Failure::new)?;
    let run = execute(&call.workspace, call.grant, limit, &call.cancel, &call.progress).await;
    if let Some(pass) = pass {
        pass(match &run {
            Ok(run) => run.end.seen(),
            Err(_) if call.cancel.is_cancelled() => ShellEnd::Aborted,
            Err(_) => ShellEnd::Broken,
        });
    }
    run?.tell(seconds)
}

/// A command that has ended.
struct Run {
    collected: Collected,
    end: End,
    /// Variables that the command may have missed.
    withheld: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Exited(i32),
    TimedOut,
    Cancelled,
}

impl End {
    /// As whoever watches over the shell is told.
    fn seen(self) -> ShellEnd {
        match self {
            Self::Exited(_) => ShellEnd::Exited,
            Self::TimedOut => ShellEnd::TimedOut,
            Self::Cancelled => ShellEnd::Aborted,
        }
    }

    fn is_failure(self) -> bool {
        match self {
            Self::Exited(code) => code != 0,
            Self::TimedOut | Self::Cancelled => false,
        }
    }
}

impl Run {
    fn path(&self) -> Option<&PathBuf> {
        match &self.collected.whole {
            Whole::File(path) | Whole::Beginning(path) => Some(path),
            Whole::Shown | Whole::Lost(_) => None,
        }
    }

    /// The outcome for the model.
    fn tell(&self, seconds: Option<f64>) -> Result<Output, Failure> {
        let verdict = match self.end {
            End::Exited(0) => None,
            End::Exited(code) => Some(format!("Command exited with code {code}")),
            End::TimedOut => Some(format!("Command timed out after {} seconds", seconds.unwrap_or_default())),
            End::Cancelled => Some("Command aborted".to_owned()),
        };
        let Collected { truncation, hidden, .. } = &self.collected;
        let mut text = match (truncation.content.as_str(), self.end) {
            ("", End::Exited(_)) => "(no output)".to_owned(),
            // Pi says nothing of the output of a command that did not end by itself.
            ("", End::TimedOut | End::Cancelled) => String::new(),
            (content, _) => format!("{content}{}", self.notice()),
        };
        let mut details = Map::new();
        if truncation.truncated {
            details.insert("truncation".to_owned(), truncation.to_value());
        }
        if let Some(path) = self.path() {
            details.insert("fullOutputPath".to_owned(), Value::from(path.to_string_lossy()));
        }
        // Pi tells it in words alone; a program should not have to read them.
        if let End::Exited(code) = self.end
            && code != 0
        {
            details.insert("exitCode".to_owned(), Value::from(code));
        }
        let Some(verdict) = verdict else {
            return Ok(Output { hidden: *hidden, ..Output::text(text) }.with_details(details));
        };
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(&verdict);
        if !self.withheld.is_empty() {
            text.push_str(&not_passed(&self.withheld));
        }
        Err(Failure { text, details: (!details.is_empty()).then_some(Value::Object(details)), hidden: *hidden })
    }

    /// What is missing, and where it is.
    fn notice(&self) -> String {
        let Collected { truncation, whole, last_line, .. } = &self.collected;
        let Truncation { truncated_by: Some(bound), total_lines: last, output_lines, .. } = *truncation else {
            return String::new();
        };
        let whole = match whole {
            Whole::File(path) => format!("Full output: {}", path.display()),
            Whole::Beginning(path) => format!("The beginning of the full output: {}", path.display()),
            Whole::Lost(error) => format!("The full output could not be kept: {error}"),
            Whole::Shown => String::new(),
        };
        let shown = match (bound, truncation.last_line_partial) {
            (_, true) => {
                let [end, length] = [truncation.output_bytes, *last_line].map(truncate::size);
                format!("Showing last {end} of line {last} (line is {length})")
            }
            (Bound::Lines, false) => format!("Showing lines {}-{last} of {last}", last - output_lines + 1),
            (Bound::Bytes, false) => {
                let limit = truncate::size(MAX_BYTES);
                format!("Showing lines {}-{last} of {last} ({limit} limit)", last - output_lines + 1)
            }
        };
        format!("\n\n[{shown}. {whole}]")
    }
}

/// Tells a model, and who reads over its shoulder, why a variable is missing.
fn not_passed(names: &[String]) -> String {
    let list: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    let verb = if names.len() == 1 { "is" } else { "are" };
    format!(
        "\n\n[{} {verb} set and not passed to commands, because of the secret in it. The user can allow it in settings.json: \
         \"passEnvironment\": [{}]]",
        names.join(", "),
        list.join(", ")
    )
}

async fn execute(
    workspace: &Arc<Workspace>,
    grant: Grant,
    limit: Option<Duration>,
    cancel: &CancellationToken,
    progress: &Progress,
) -> Result<Run, Failure> {
    if cancel.is_cancelled() {
        return Err(Failure::new("Command aborted"));
    }
    let line = command_of(&grant)?.written().to_owned();
    let here = Arc::clone(workspace);
    // Starting a process takes long enough to hold up everybody else on this thread.
    let mut process = tool::to_the_end(move || start(&here, grant)).await?;
    let settings = workspace.settings();
    let mut collector = Collector::new(&settings.temporary, &settings.redactor);
    let mut reporter = Reporter { progress, due: Instant::now(), reported: 0 };
    let end = watch(&mut process, &mut collector, limit, cancel, &mut reporter).await;
    drop(process);
    // What came last is reported as well, before the result.
    if reporter.is_behind(&collector) {
        reporter.report(&collector);
    }
    let collected = collector.finish().await;
    let end = end?;
    let withheld = settings.environment.withheld_in([&line, &collected.truncation.content]);
    let withheld = withheld.into_iter().filter(|_| end.is_failure()).map(str::to_owned).collect();
    Ok(Run { collected, end, withheld })
}

/// What the grant allows to be run.
fn command_of(grant: &Grant) -> Result<&Command, Failure> {
    match &grant.action().target {
        Target::Command(command) => Ok(command),
        Target::Nothing
        | Target::Path(_)
        | Target::Move { .. }
        | Target::Host(_)
        | Target::Variable(_)
        | Target::Environment
        | Target::Tool(_) => Err(Failure::new("The grant is not for a command")),
    }
}

/// Starts the shell with the line that was granted, in the folder that was granted.
fn start(workspace: &Workspace, grant: Grant) -> Result<Process, Failure> {
    let command = command_of(&grant)?;
    let (line, folder) = (command.written(), Command::folder(command));
    let settings = workspace.settings();
    let program = shell::find(&settings.shell, &settings.environment)?;
    let script = match &settings.shell.prefix {
        Some(prefix) => format!("{prefix}\n{line}"),
        None => line.to_owned(),
    };
    let folder = PathBuf::from(folder.map_or(workspace.project(), |folder| folder.absolute()));
    if !folder.is_dir() {
        return Err(Failure::new(format!("Working directory does not exist: {}", folder.display())));
    }
    let arguments = vec!["-c".into(), script.into()];
    let environment = &settings.environment;
    let shown = program.display().to_string();
    process::start(grant, &Start { program, arguments, folder, environment })
        .map_err(|error| Failure::new(format!("Cannot start {shown}: {error}")))
}

/// Reads until the command has ended, is too late, or is not wanted any more.
async fn watch(
    process: &mut Process,
    collector: &mut Collector<'_>,
    limit: Option<Duration>,
    cancel: &CancellationToken,
    reporter: &mut Reporter<'_>,
) -> Result<End, Failure> {
    let broke = |error: std::io::Error| Failure::new(format!("Cannot follow the command: {error}"));
    let mut deadline = pin!(limit.map(|limit| sleep_until(Instant::now() + limit)));
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let event = tokio::select! {
            biased;
            () = cancel.cancelled() => return Ok(killed(process, collector, End::Cancelled).await),
            () = until(deadline.as_mut()) => return Ok(killed(process, collector, End::TimedOut).await),
            () = sleep_until(reporter.due), if reporter.is_behind(collector) => {
                reporter.report(collector);
                continue;
            }
            event = process.next(&mut buffer) => event.map_err(broke)?,
        };
        match event {
            Event::Ended(status) => {
                last_words(process, collector, cancel).await;
                return Ok(End::Exited(exit_code(status)));
            }
            Event::Read(0) => {
                // Both streams are closed, but the shell goes on.
                let status = tokio::select! {
                    status = process.wait() => status.map_err(broke)?,
                    () = cancel.cancelled() => return Ok(killed(process, collector, End::Cancelled).await),
                    () = until(deadline.as_mut()) => return Ok(killed(process, collector, End::TimedOut).await),
                };
                return Ok(End::Exited(exit_code(status)));
            }
            Event::Read(count) => {
                tokio::select! {
                    () = collector.push(&buffer[..count]) => {}
                    () = cancel.cancelled() => {}
                }
            }
        }
    }
}

/// Waits for ever if there is no limit.
async fn until(deadline: std::pin::Pin<&mut Option<tokio::time::Sleep>>) {
    match deadline.as_pin_mut() {
        Some(deadline) => deadline.await,
        None => std::future::pending().await,
    }
}

/// Kills the tree and takes what it had still said.
async fn killed(process: &mut Process, collector: &mut Collector<'_>, end: End) -> End {
    process.kill().await;
    last_words(process, collector, &CancellationToken::new()).await;
    // Only for the process table: a process that the kernel holds back must not hold us.
    let _ = tokio::time::timeout(LAST_WORDS, process.wait()).await;
    end
}

/// Reads what is still in the pipe.
async fn last_words(process: &mut Process, collector: &mut Collector<'_>, cancel: &CancellationToken) {
    let reading = async {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(Ok(count @ 1..)) = tokio::time::timeout(SILENCE, process.read(&mut buffer)).await {
            collector.push(&buffer[..count]).await;
        }
    };
    tokio::select! {
        _ = tokio::time::timeout(LAST_WORDS, reading) => {}
        () = cancel.cancelled() => {}
    }
}

/// Sends what there is so far, now and then.
struct Reporter<'a> {
    progress: &'a Progress,
    due: Instant,
    /// How much of the output the last report knew of, in bytes.
    reported: usize,
}

impl Reporter<'_> {
    /// Whether there is more to report, and somebody to report to.
    fn is_behind(&self, collector: &Collector<'_>) -> bool {
        collector.taken() > self.reported && self.progress.is_heard()
    }

    fn report(&mut self, collector: &Collector<'_>) {
        let truncation = collector.snapshot();
        let mut details = Map::new();
        if truncation.truncated {
            details.insert("truncation".to_owned(), truncation.to_value());
        }
        if let Some(path) = collector.path() {
            details.insert("fullOutputPath".to_owned(), Value::from(path.to_string_lossy()));
        }
        let details = Some(Value::Object(details));
        self.progress.report(Output { details, ..Output::text(truncation.content) });
        (self.due, self.reported) = (Instant::now() + BETWEEN_REPORTS, collector.taken());
    }
}

/// As shells count: what was killed by a signal has 128 more than its number.
fn exit_code(status: ExitStatus) -> i32 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return 128 + signal;
    }
    status.code().unwrap_or(1)
}
