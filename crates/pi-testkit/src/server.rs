//! A model server on a real loopback socket that does what its script says.
//!
//! Replies are data: status, headers, pieces of the body with their exact boundaries, silence, a connection that is cut or
//! reset. Requests are recorded. It knows HTTP/1.1 and nothing of models: what a reply means is the test's concern.
//! Start with [`Script`].

mod connection;
mod reply;

use std::{
    collections::VecDeque,
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::Value;
use tokio::{
    net::TcpListener,
    sync::{Semaphore, watch},
    task::{JoinHandle, JoinSet},
};

pub use self::reply::{Framing, Reply, Step};

/// Which reply is given to which request.
///
/// Routes are tried in the order in which they were added; a route whose replies are used up is passed over, so that one
/// that always answers can stand behind one that answers once.
#[derive(Debug, Clone, Default)]
pub struct Script {
    routes: Vec<Route>,
}

#[derive(Debug, Clone)]
struct Route {
    /// Without the query; `None` is any.
    path: Option<String>,
    /// What else a request must be like.
    fits: fn(&Request) -> bool,
    replies: VecDeque<Reply>,
    repeats: bool,
}

/// A request as it arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Counted from 0, so that a test can tell whether a connection was used again.
    pub connection: usize,
    pub method: String,
    /// Path and query, as sent.
    pub target: String,
    /// Names in lower case, in the order of the request.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// A running server. It ends when this is dropped, and so do its connections.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

/// What the test and the connections both see.
#[derive(Debug)]
struct Shared {
    /// A test looks at it between the steps of a connection; it is held for a moment, never across an await.
    record: Mutex<Record>,
    /// Counts what happened, to wake those who wait for it.
    progress: watch::Sender<Progress>,
    /// One permit for each hold that may be passed.
    releases: Semaphore,
}

#[derive(Debug)]
struct Record {
    script: Script,
    requests: Vec<Request>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    requests: usize,
    /// Clients that went away in the middle of a reply.
    abandoned: usize,
}

impl Script {
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers the next request, whatever it asks for.
    pub fn then(self, reply: Reply) -> Self {
        self.add(None, reply, false)
    }

    /// Answers the next request for this path.
    pub fn once(self, path: &str, reply: Reply) -> Self {
        self.add(Some(path), reply, false)
    }

    /// Answers every request for this path.
    pub fn always(self, path: &str, reply: Reply) -> Self {
        self.add(Some(path), reply, true)
    }

    /// Answers every request.
    pub fn otherwise(self, reply: Reply) -> Self {
        self.add(None, reply, true)
    }

    /// Answers every request that is like this.
    pub fn when(mut self, fits: fn(&Request) -> bool, reply: Reply) -> Self {
        self.routes.push(Route { path: None, fits, replies: VecDeque::from([reply]), repeats: true });
        self
    }

    fn add(mut self, path: Option<&str>, reply: Reply, repeats: bool) -> Self {
        let path = path.map(str::to_owned);
        self.routes.push(Route { path, fits: |_| true, replies: VecDeque::from([reply]), repeats });
        self
    }

    fn next(&mut self, request: &Request) -> Option<Reply> {
        let path = request.target.split('?').next().unwrap_or(&request.target);
        let is_meant = |route: &&mut Route| {
            !route.replies.is_empty()
                && route.path.as_deref().is_none_or(|wanted| wanted == path)
                && (route.fits)(request)
        };
        let route = self.routes.iter_mut().find(is_meant)?;
        if route.repeats { route.replies.front().cloned() } else { route.replies.pop_front() }
    }
}

impl Request {
    /// The first header of this name, in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let name = name.to_ascii_lowercase();
        self.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON; `null` if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }
}

impl Server {
    /// Opens a port of its own on loopback. Must be called inside a runtime.
    pub async fn start(script: Script) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            record: Mutex::new(Record { script, requests: Vec::new() }),
            progress: watch::Sender::new(Progress::default()),
            releases: Semaphore::new(0),
        });
        let task = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self { address, shared, task })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// `http://127.0.0.1:PORT`, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.record().requests.clone()
    }

    /// Lets go of the requests so far; they still count for [`Server::received`].
    pub fn forget(&self) {
        self.shared.record().requests.clear();
    }

    /// Waits until so many requests have arrived.
    pub async fn received(&self, count: usize) {
        self.wait(|progress| progress.requests >= count).await;
    }

    /// Waits until so many clients have gone away in the middle of a reply.
    pub async fn abandoned(&self, count: usize) {
        self.wait(|progress| progress.abandoned >= count).await;
    }

    /// Lets replies pass so many [`Step::Hold`]s, those that wait already first.
    pub fn release(&self, holds: usize) {
        self.shared.releases.add_permits(holds);
    }

    async fn wait(&self, reached: impl Fn(&Progress) -> bool) {
        // The sender lives as long as `self`, so waiting cannot fail.
        let _ = self.shared.progress.subscribe().wait_for(|progress| reached(progress)).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Shared {
    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the request and finds its reply.
    fn receive(&self, request: Request) -> Reply {
        let mut record = self.record();
        let reply = record.script.next(&request);
        let reply = reply.unwrap_or_else(|| {
            Reply::text(501, &format!("the script has no reply for {} {}", request.method, request.target))
        });
        record.requests.push(request);
        drop(record);
        self.progress.send_modify(|progress| progress.requests += 1);
        reply
    }

    fn abandon(&self) {
        self.progress.send_modify(|progress| progress.abandoned += 1);
    }
}

/// Owns the connections: they end with this task.
async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    let mut number = 0;
    // A listener that fails has no more to say; the test notices that nobody answers.
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(connection::serve(stream, number, Arc::clone(&shared)));
        number += 1;
        while connections.try_join_next().is_some() {}
    }
}
