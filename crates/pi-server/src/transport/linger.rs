//! Connections that we end while the other side still sends.
//!
//! A system that is sent more on a closed connection resets it, and throws away what the other side has not read yet: the
//! very frame that says why. So only our half is closed at first, and what still comes is thrown away for a while.

use std::{
    io,
    pin::Pin,
    sync::Arc,
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

use super::{strangers, traffic::Traffic};

/// Connections that end at a time; more are simply closed.
const MOST: usize = 64;
/// How long a connection is waited for in all.
const LONGEST: Duration = Duration::from_secs(5);
/// The same where the other side has not taken what it was sent lately: it reads the rest, and why we left, when it can.
const SLOWEST: Duration = Duration::from_secs(30);
/// How long nothing may come until nothing more is expected.
const QUIET: Duration = Duration::from_millis(250);
/// How much is thrown away.
const BYTES: usize = 256 << 20;
/// How much is read at once.
const PIECE: usize = 64 << 10;

/// A way to [`see_off`] for connections that end.
pub(super) type Leaving = mpsc::Sender<Guest>;

/// A connection on its way out.
pub(super) struct Guest {
    stream: TcpStream,
    pace: Pace,
}

/// How fast the other side takes what it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// Whatever was sent has arrived, or will at once: who is silent then has nothing more to say.
    Usual,
    /// Something waited for room a moment ago, so that the end of it is still on its way. Silence tells nothing.
    Slow,
}

/// With the connections that come out of it.
pub(super) fn way_out() -> (Leaving, mpsc::Receiver<Guest>) {
    mpsc::channel(MOST)
}

/// Ends connections until no more can come.
pub(super) async fn see_off(mut leaving: mpsc::Receiver<Guest>) {
    let mut open = JoinSet::new();
    loop {
        tokio::select! {
            guest = leaving.recv(), if open.len() < MOST => match guest {
                Some(guest) => drop(open.spawn(end(guest))),
                None => break,
            },
            Some(_) = open.join_next() => {}
        }
    }
    open.join_all().await;
}

/// Closes our half, and throws away what still comes.
async fn end(Guest { mut stream, pace }: Guest) {
    let (longest, quiet) = match pace {
        Pace::Usual => (LONGEST, QUIET),
        Pace::Slow => (SLOWEST, SLOWEST),
    };
    // Whoever is gone needs no goodbye.
    if stream.shutdown().await.is_err() {
        return;
    }
    let deadline = Instant::now() + longest;
    let mut left = BYTES;
    let mut piece = vec![0; PIECE];
    while left > 0 {
        match timeout_at(deadline, timeout(quiet, stream.read(&mut piece))).await {
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
    /// When there was no room for what was to be said.
    was_full: Option<Instant>,
    /// There is none now.
    is_full: bool,
    traffic: Arc<Traffic>,
}

impl Polite {
    pub(super) fn new(stream: TcpStream, leaving: Leaving, lost: CancellationToken, traffic: Arc<Traffic>) -> Self {
        Self { stream: Some(stream), leaving, lost, has_spoken: false, was_full: None, is_full: false, traffic }
    }

    /// Takes note of a write that waits for the other side, and of one that had waited.
    fn noting(&mut self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match &written {
            Poll::Pending => {
                self.was_full = Some(Instant::now());
                self.is_full = true;
            }
            Poll::Ready(Ok(bytes)) if std::mem::take(&mut self.is_full) => self.traffic.take(*bytes),
            Poll::Ready(_) => {}
        }
        written
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
            let is_slow = self.was_full.is_some_and(|full| full.elapsed() < SLOWEST);
            let pace = if is_slow { Pace::Slow } else { Pace::Usual };
            let _ = self.leaving.try_send(Guest { stream, pace });
        }
    }
}

impl AsyncRead for Polite {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = self.stream().poll_read(cx, buffer);
        self.traffic.receive(buffer.filled().len() - before);
        read
    }
}

impl AsyncWrite for Polite {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.has_spoken = true;
        let written = self.stream().poll_write(cx, bytes);
        self.noting(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.has_spoken = true;
        let written = self.stream().poll_write_vectored(cx, slices);
        self.noting(written)
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

#[cfg(test)]
mod tests {
    use tokio::{net::TcpListener, time::sleep};

    use super::*;

    /// Says as much as there is room for, closes, and answers what the other side heard of it: it is silent for a while, says
    /// something, and reads only then.
    async fn heard_by_a_slow_reader() -> io::Result<(usize, usize)> {
        let (leaving, leavers) = way_out();
        let seeing_off = tokio::spawn(see_off(leavers));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let mut reader = TcpStream::connect(listener.local_addr()?).await?;
        let (stream, _) = listener.accept().await?;
        let mut polite = Polite::new(stream, leaving, CancellationToken::new(), Arc::default());
        let piece = vec![7; PIECE];
        let mut said = 0;
        // A second is enough for what fits between the two.
        while let Ok(written) = timeout(Duration::from_secs(1), polite.write(&piece)).await {
            said += written?;
        }
        drop(polite);
        sleep(QUIET * 3).await;
        reader.write_all(b"pong").await?;
        sleep(QUIET).await;
        let mut heard = Vec::new();
        reader.read_to_end(&mut heard).await?;
        drop(reader);
        seeing_off.await?;
        Ok((said, heard.len()))
    }

    #[tokio::test]
    async fn who_reads_slowly_hears_everything_to_the_end() {
        let (said, heard) = heard_by_a_slow_reader().await.expect("the connection is not reset");
        assert_eq!(heard, said);
    }
}
