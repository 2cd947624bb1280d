//! Takes connections in, and sees to it that strangers cannot use them up.
//!
//! Until somebody has shown a credential he is nobody: all that he says and hears has its time, and only so many may be on
//! their way at a time ([`super::Strangers`]). A WebSocket is no stranger any more and is counted where clients are. Where the system
//! has no more connections to give, whoever comes is told so: one descriptor is kept for that.

use std::{fs::File, io, pin::pin, sync::Arc, time::Duration};

use axum::{Extension, Router};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    linger::{self, Leaving, Polite},
    strangers::{Place, Somebody},
    traffic::Traffic,
};
use crate::hall::{Counts, Hall};

/// How many times longer than a request somebody may stay who shows no credential.
const STAY: u32 = 6;
/// How long to wait when the system has no more connections to give.
const SCARCE: Duration = Duration::from_millis(200);
/// What somebody hears for whom there is no descriptor left.
const NO_ROOM: &str = "HTTP/1.1 503 Service Unavailable\r\nserver: pi\r\ncontent-type: text/plain\r\nretry-after: 1\r\n\
    connection: close\r\ncontent-length: 55\r\n\r\nthe server may open no more files and connections now\r\n";

/// Serves until it is told to stop; requests that are open then are not waited for, but until the last WebSocket is gone.
pub(super) async fn accept(listener: TcpListener, router: Router, hall: &Hall, stop: CancellationToken) {
    let (leaving, left) = linger::way_out();
    tokio::join!(take(listener, router, hall, stop, leaving), linger::see_off(left));
}

async fn take(listener: TcpListener, router: Router, hall: &Hall, stop: CancellationToken, leaving: Leaving) {
    let patience = hall.settings.heartbeat.patience;
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
        let (place, somebody) = hall.strangers.enter();
        if somebody == Somebody::HadToGo {
            Counts::count(&hall.counts.refused_connections);
            tracing::debug!("a connection was closed: too many are open that have shown no credential");
        }
        let (router, place) = (router.clone(), Arc::new(place));
        let traffic = Arc::new(Traffic::default());
        let stream = Polite::new(stream, leaving.clone(), place.lost().clone(), Arc::clone(&traffic));
        let router = router.layer(Extension(traffic));
        open.spawn(async move {
            if let Err(error) = answer(stream, router, patience, &place).await {
                tracing::debug!(%error, "a connection ended");
            }
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

/// Answers requests until the other end closes, says nothing for too long, shows no credential for too long, must go for
/// somebody else, or the connection becomes a WebSocket.
async fn answer(stream: Polite, router: Router, patience: Duration, place: &Arc<Place>) -> hyper::Result<()> {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(patience);
    let service = TowerToHyperService::new(router.layer(Extension(Arc::clone(place))));
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service).with_upgrades());
    let answering = async {
        match timeout(patience * STAY, connection.as_mut()).await {
            Ok(ended) => ended,
            Err(_) if place.is_strangers() => {
                // What is being asked is answered, to somebody who takes the answer.
                connection.as_mut().graceful_shutdown();
                timeout(patience, connection).await.unwrap_or(Ok(()))
            }
            Err(_) => connection.await,
        }
    };
    tokio::select! {
        ended = answering => ended,
        () = place.lost().cancelled() => Ok(()),
    }
}
