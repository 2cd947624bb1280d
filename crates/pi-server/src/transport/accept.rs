//! Takes connections in, and sees to it that strangers cannot use them up.
//!
//! Until somebody has shown a credential he is nobody: whoever says nothing is closed after a while, and only so many may
//! be on their way at a time. A WebSocket is no stranger any more and is counted where clients are. Where the system has no
//! more connections to give, whoever comes is told so: one descriptor is kept for that.

use std::{fs::File, io, sync::Arc, time::Duration};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    sync::Semaphore,
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::linger::{self, Leaving, Polite};

/// Connections that are no WebSockets, or not yet.
const STRANGERS: usize = 512;
/// How long to wait when the system has no more connections to give.
const SCARCE: Duration = Duration::from_millis(200);
/// What somebody hears for whom there is no descriptor left.
const NO_ROOM: &str = "HTTP/1.1 503 Service Unavailable\r\nserver: pi\r\ncontent-type: text/plain\r\nretry-after: 1\r\n\
    connection: close\r\ncontent-length: 55\r\n\r\nthe server may open no more files and connections now\r\n";

/// Serves until it is told to stop; requests that are open then are not waited for, but until the last WebSocket is gone.
/// `patience` is how long somebody may take to say what he wants.
pub(super) async fn accept(listener: TcpListener, router: Router, patience: Duration, stop: CancellationToken) {
    let (leaving, left) = linger::way_out();
    tokio::join!(take(listener, router, patience, stop, leaving), linger::see_off(left));
}

async fn take(listener: TcpListener, router: Router, patience: Duration, stop: CancellationToken, leaving: Leaving) {
    let strangers = Arc::new(Semaphore::new(STRANGERS));
    let mut open = JoinSet::new();
    let mut spare = Spare::new();
    loop {
        while open.try_join_next().is_some() {}
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => return,
        };
        let stream = match accepted {
            Ok((stream, _)) => {
                // Answers are small and wanted at once. A stream that cannot be told so is slower.
                let _ = stream.set_nodelay(true);
                stream
            }
            Err(error) => {
                tracing::warn!(%error, "a connection cannot be taken");
                tokio::select! {
                    () = spare.turn_away(&listener) => {}
                    () = stop.cancelled() => return,
                }
                continue;
            }
        };
        let Ok(place) = Arc::clone(&strangers).try_acquire_owned() else {
            tracing::warn!(limit = STRANGERS, "a connection was closed: too many are open that are no clients");
            continue;
        };
        let router = router.clone();
        let stream = Polite::new(stream, leaving.clone());
        open.spawn(async move {
            if let Err(error) = answer(stream, router, patience).await {
                tracing::debug!(%error, "a connection ended");
            }
            drop(place);
        });
    }
}

/// A descriptor for the moment when there is no other.
struct Spare(Option<File>);

impl Spare {
    fn new() -> Self {
        Self(held().ok())
    }

    /// Tells one who waits that there is no room. Waits a moment if nobody can be told.
    async fn turn_away(&mut self, listener: &TcpListener) {
        drop(self.0.take());
        if let Ok(Ok((mut stream, _))) = timeout(SCARCE, listener.accept()).await {
            // What was asked is read first: a connection that is closed over words that nobody read takes ours with it.
            let telling = async {
                let asked = stream.read(&mut [0; 4096]).await?;
                stream.write_all(NO_ROOM.as_bytes()).await?;
                stream.shutdown().await?;
                Ok::<_, io::Error>(asked)
            };
            if !matches!(timeout(SCARCE, telling).await, Ok(Ok(_))) {
                tracing::debug!("a connection was closed without a word: nobody listened");
            }
        } else {
            sleep(SCARCE).await;
        }
        *self = Self::new();
    }
}

/// Whatever can be opened at any time.
#[expect(clippy::disallowed_methods, reason = "it is held and never read")]
fn held() -> io::Result<File> {
    File::open(std::env::current_exe()?)
}

/// Answers requests until the other end closes, says nothing for too long, or the connection becomes a WebSocket.
async fn answer(stream: Polite, router: Router, patience: Duration) -> hyper::Result<()> {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(patience);
    builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router)).with_upgrades().await
}
