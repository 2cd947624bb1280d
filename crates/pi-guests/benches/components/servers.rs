//! A call of an MCP server, beside the same call with the SDK alone: what of the CPU is ours.

use std::{process::Stdio, sync::Arc};

use criterion::Criterion;
use pi_exthost::{Guest, Guests, Patience};
use pi_guests::mcp::{self, Base, McpGuest, Origin, Server, prepare};
use rmcp::{
    RoleClient,
    model::CallToolRequestParams,
    service::{RunningService, RxJsonRpcMessage, TxJsonRpcMessage, serve_client},
    transport::Transport,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout},
    sync::Mutex,
};

use super::{call, cpu_of, difference, stage::Stage};

/// Answers with its input; it is the extension of the behaviour suite.
const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/wasm/reference.py");
const ANSWER: &str = r#"{"name":"you"}"#;
const CALLS: usize = 1_000;

pub(crate) fn measure(criterion: &mut Criterion) {
    let stage = Stage::new("wasm", Vec::new());
    let guests = stage.runtime.block_on(ours(&stage));
    let bare = stage.runtime.block_on(Bare::start());
    let our_call = async || call(&guests, "mcp__srv__answer", ANSWER).await;
    let bare_call = async || assert_eq!(bare.call().await, ANSWER);
    let mut group = criterion.benchmark_group("components");
    group.bench_function("bare_server_call", |bencher| bencher.iter(|| stage.runtime.block_on(bare_call())));
    group.bench_function("server_call", |bencher| bencher.iter(|| stage.runtime.block_on(our_call())));
    group.finish();
    let (ours, theirs) = (cpu_of(&stage.runtime, CALLS, our_call), cpu_of(&stage.runtime, CALLS, bare_call));
    println!("metric server_call_cpu {} ns", ours.as_nanos());
    println!("metric bare_server_call_cpu {} ns", theirs.as_nanos());
    println!("metric server_call_added_cpu {} ns", difference(ours, theirs));
    stage.runtime.block_on(guests.shutdown());
}

/// The server among the guests of a session.
async fn ours(stage: &Stage) -> Guests {
    let dispatcher = stage.dispatcher();
    let entry = json!({ "command": "python3", "args": [SERVER] });
    let folder = stage.folder().to_owned();
    let read = Server::read("srv", &entry, (Origin::Person, folder.join("mcp.json")), &|_| None);
    // As many messages as there are: a limit is not what is measured.
    let limits = mcp::Limits { messages_a_second: 1_000_000, ..mcp::Limits::default() };
    let base = Base {
        project: folder.join("project"),
        agent: folder.join("agent"),
        temporary: folder.join("tmp"),
        limits,
        pins: None,
        weight: |_| 0,
    };
    let (server, _) = read.unwrap();
    let desk = dispatcher.desk(prepare(&server, &base).identity).unwrap();
    let guest: Arc<dyn Guest> = McpGuest::start(mcp::program(server, &base), desk).await.unwrap();
    let mut guests = Guests::new(Patience::default(), Arc::new(|incident| panic!("{incident:?}")))
        .recorded(dispatcher.ledger().clone(), None);
    guests.attach(guest).unwrap();
    guests
}

/// The SDK over the two pipes of a process.
struct Bare {
    running: RunningService<RoleClient, ()>,
    _process: Child,
}

impl Bare {
    async fn start() -> Self {
        let mut python = std::process::Command::new("python3");
        python.arg(SERVER).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = tokio::process::Command::from(python).kill_on_drop(true).spawn().unwrap();
        let (stdin, stdout) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let pipe = Pipe { stdin: Arc::new(Mutex::new(stdin)), lines: BufReader::new(stdout).lines() };
        let running = serve_client((), pipe).await.unwrap();
        Self { running, _process: process }
    }

    async fn call(&self) -> String {
        let input = json!({ "name": "you" }).as_object().unwrap().clone();
        let wish = CallToolRequestParams::new("answer").with_arguments(input);
        let answer: Value = json!(self.running.call_tool(wish).await.unwrap());
        answer["content"][0]["text"].as_str().unwrap().to_owned()
    }
}

/// Messages are lines.
struct Pipe {
    stdin: Arc<Mutex<ChildStdin>>,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Transport<RoleClient> for Pipe {
    type Error = std::io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let stdin = Arc::clone(&self.stdin);
        async move {
            let mut line = serde_json::to_vec(&item)?;
            line.push(b'\n');
            let mut stdin = stdin.lock().await;
            stdin.write_all(&line).await?;
            stdin.flush().await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let line = self.lines.next_line().await.unwrap()?;
        Some(serde_json::from_str(&line).unwrap())
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.stdin.lock().await.shutdown().await
    }
}
