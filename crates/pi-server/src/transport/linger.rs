//! Connections that we end while the other side still sends.
//!
//! A system that is sent more on a closed connection resets it, and throws away what the other side has not read yet: the
//! very frame that says why. So only our half is closed at first, and what still comes is thrown away for a while.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf},
    net::TcpStream,
    sync::mpsc,
    task::JoinSet,
    time::{Instant, timeout, timeout_at},
};
use tokio_util::sync::CancellationToken;

use super::strangers;

/// Connections that end at a time; more are simply closed.
const MOST: usize = 64;
/// How long a connection is waited for in all.
const LONGEST: Duration = Duration::from_secs(5);
/// How long nothing may come until nothing more is expected.
const QUIET: Duration = Duration::from_millis(250);
/// How much is thrown away.
const BYTES: usize = 256 << 20;
/// How much is read at once.
const PIECE: usize = 64 << 10;

/// A way to [`see_off`] for connections that end.
pub(super) type Leaving = mpsc::Sender<TcpStream>;

/// With the connections that come out of it.
pub(super) fn way_out() -> (Leaving, mpsc::Receiver<TcpStream>) {
    mpsc::channel(MOST)
}

/// Ends connections until no more can come.
pub(super) async fn see_off(mut leaving: mpsc::Receiver<TcpStream>) {
    let mut open = JoinSet::new();
    loop {
        tokio::select! {
            stream = leaving.recv(), if open.len() < MOST => match stream {
                Some(stream) => drop(open.spawn(end(stream))),
                None => break,
            },
            Some(_) = open.join_next() => {}
        }
    }
    open.join_all().await;
}

/// Closes our half, and throws away what still comes.
async fn end(mut stream: TcpStream) {
    // Whoever is gone needs no goodbye.
    if stream.shutdown().await.is_err() {
        return;
    }
    let deadline = Instant::now() + LONGEST;
    let mut left = BYTES;
    let mut piece = vec![0; PIECE];
    while left > 0 {
        match timeout_at(deadline, timeout(QUIET, stream.read(&mut piece))).await {
            Ok(Ok(Ok(count))) if count > 0 => left = left.saturating_sub(count),
            // Its half is closed too, it is gone, or it is silent.
            Ok(Ok(Ok(_) | Err(_)) | Err(_)) | Err(_) => return,
        }
    }
}

/// A connection that goes its way out when it is dropped.
pub(super) struct Polite {
    /// Empty only while it is dropped.
    stream: Option<TcpStream>,
    leaving: Leaving,
    /// Cancelled when it must go for somebody else.
    lost: CancellationToken,
    /// Something was said on it. Another answer could not be told from the rest of that.
    has_spoken: bool,
}

impl Polite {
    pub(super) fn new(stream: TcpStream, leaving: Leaving, lost: CancellationToken) -> Self {
        Self { stream: Some(stream), leaving, lost, has_spoken: false }
    }

    fn stream(&mut self) -> Pin<&mut TcpStream> {
        Pin::new(self.stream.as_mut().expect("it is there until it is dropped"))
    }
}

impl Drop for Polite {
    fn drop(&mut self) {
        if let Some(stream) = self.stream.take() {
            if self.lost.is_cancelled() && !self.has_spoken {
                // Nothing else waits to be sent, so that there is room; who is gone hears nothing.
                let _ = stream.try_write(strangers::refusal().as_bytes());
            }
            // Where there is no place it is closed here and now.
            let _ = self.leaving.try_send(stream);
        }
    }
}

impl AsyncRead for Polite {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_read(cx, buffer)
    }
}

impl AsyncWrite for Polite {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.has_spoken = true;
        self.stream().poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.has_spoken = true;
        self.stream().poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.as_ref().is_some_and(AsyncWrite::is_write_vectored)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_shutdown(cx)
    }
}
