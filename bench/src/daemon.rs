//! `pi serve`, the released binary, as a process that is measured.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
};

use anyhow::{Context, Result};
use serde_json::json;

use crate::load::Target;

/// Where servers are started: an agent directory and a project, and a model on loopback.
pub(crate) struct Ground {
    program: PathBuf,
    folder: PathBuf,
}

pub(crate) struct Daemon {
    child: Child,
    pub(crate) target: Target,
}

impl Ground {
    /// `models` are the names by which the model on `port` is asked for what it does.
    pub(crate) fn prepare(program: &Path, folder: &Path, port: u16, models: &[&str]) -> Result<Self> {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        for name in ["agent", "project", "home"] {
            fs::create_dir_all(folder.join(name))?;
        }
        let models: Vec<_> = models.iter().map(|id| json!({"id": id, "contextWindow": 1_000_000})).collect();
        let models = json!({"providers": {"scripted": {"baseUrl": format!("http://127.0.0.1:{port}/openai"),
            "api": "openai-completions", "apiKey": "none", "models": models}}});
        fs::write(folder.join("agent/models.json"), models.to_string())?;
        Ok(Self { program: program.to_owned(), folder: folder.to_owned() })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Starts a server with this model and these settings, and waits until it listens.
    pub(crate) fn serve(&self, model: &str, settings: &[(&str, &str)]) -> Result<Daemon> {
        let mut command = Command::new(&self.program);
        command
            .args(["serve", "--listen", "127.0.0.1:0", "--log", "error", "--model", &format!("scripted/{model}")])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.folder.join("home"))
            .env("PI_CODING_AGENT_DIR", self.folder.join("agent"))
            .env("PI_OFFLINE", "1")
            // What is measured is how fast it is, not how fast it allows itself to be.
            .env("PI_SERVER_COMMANDS_PER_MINUTE", u32::MAX.to_string())
            .env("PI_SERVER_COMMANDS_PER_MINUTE_PER_CLIENT", u32::MAX.to_string())
            .env("PI_SERVER_MAX_SESSIONS", "3000")
            .env("PI_SERVER_MAX_PENDING_PER_CLIENT", "10000")
            .envs(settings.iter().copied())
            .current_dir(self.folder.join("project"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("{} does not start", self.program.display()))?;
        let mut lines = BufReader::new(child.stdout.take().context("a pipe")?);
        let mut first = String::new();
        lines.read_line(&mut first)?;
        let port = first.trim().rsplit(':').next().and_then(|port| port.parse().ok());
        let port = port.with_context(|| format!("pi says {first:?}"))?;
        // A pipe that nobody reads would stop it.
        thread::spawn(move || drop(std::io::copy(&mut lines, &mut std::io::sink())));
        let token = fs::read_to_string(self.folder.join("agent/server/token"))?.trim().to_owned();
        let process = child.id();
        Ok(Daemon { child, target: Target { port, token: Some(token), process } })
    }

    /// A server that begins with nothing.
    pub(crate) fn serve_anew(&self, model: &str, settings: &[(&str, &str)]) -> Result<Daemon> {
        for name in ["agent/server", "agent/sessions"] {
            let folder = self.folder.join(name);
            if folder.exists() {
                fs::remove_dir_all(folder)?;
            }
        }
        self.serve(model, settings)
    }
}

impl Daemon {
    /// What it needs of the memory, in KiB: what it shares counts in parts.
    pub(crate) fn memory(&self) -> Result<f64> {
        self.counted("Pss:")
    }

    /// The same without what comes from files: a server gives pages of its code back while it idles, and they would hide
    /// what it holds.
    pub(crate) fn own_memory(&self) -> Result<f64> {
        self.counted("Pss_Anon:")
    }

    fn counted(&self, name: &str) -> Result<f64> {
        let rollup = fs::read_to_string(format!("/proc/{}/smaps_rollup", self.child.id()))?;
        let line = rollup.lines().find_map(|line| line.strip_prefix(name)).context("the kernel says how much")?;
        Ok(line.trim().trim_end_matches("kB").trim().parse()?)
    }

    pub(crate) fn threads(&self) -> Result<usize> {
        Ok(fs::read_dir(format!("/proc/{}/task", self.child.id()))?.count())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
