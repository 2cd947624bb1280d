//! One client on the process's own input and output: a frame is a line.

use std::{io, sync::Arc, time::Duration};

use bytes::Bytes;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt, BufWriter};
use tokio_util::sync::CancellationToken;

use crate::{
    client::Client,
    server::Server,
    speaker::{End, Transport, speak},
};

/// How long the end of the input waits for sessions that are being made.
const PATIENCE: Duration = Duration::from_secs(10);

/// Serves a client until the server ends. When the input ends, `ended` is told: whoever started us ends the server, and
/// what was asked is answered before that.
pub async fn serve(
    server: Arc<Server>,
    client: Client,
    input: impl AsyncBufRead + Unpin,
    output: impl AsyncWrite + Unpin + Send,
    ended: CancellationToken,
) {
    let (hall, outbox) = (Arc::clone(&client.hall), Arc::clone(&client.connection.outbox));
    let mut voice = Lines { output: BufWriter::new(output) };
    let listening = async {
        listen(&client, input).await;
        // A server that ends refuses what waits for a session; here it was asked before the end. What waits for longer than
        // that is refused all the same.
        let _ = tokio::time::timeout(PATIENCE, hall.porch.emptied()).await;
        ended.cancel();
        std::future::pending::<()>().await;
    };
    tokio::select! {
        end = speak(&outbox, &mut voice, &hall, hall.settings.pace) => {
            if let End::Gone(error) = end {
                tracing::info!(%error, "nobody reads the output any more");
            }
            ended.cancel();
        }
        () = listening => {}
    }
    server.leave(&client.connection);
}

/// Takes lines until there are no more.
async fn listen(client: &Client, mut input: impl AsyncBufRead + Unpin) {
    let limit = client.hall.settings.frame.bytes;
    let mut line = Vec::new();
    loop {
        while !client.connection.outbox.has_room() {
            client.connection.outbox.progress().await;
        }
        line.clear();
        match read_line(&mut input, &mut line, limit).await {
            Ok(Line::Whole) => {
                if client.hear(trimmed(&line)).await.is_err() {
                    return;
                }
            }
            Ok(Line::TooLong { bytes }) => client.refuse_size(&line, bytes),
            Ok(Line::None) | Err(_) => return,
        }
    }
}

enum Line {
    Whole,
    /// It was longer than is read, and is passed over.
    TooLong {
        bytes: usize,
    },
    None,
}

/// Reads a line of at most `limit` bytes; of a longer one nothing more than that is ever held.
async fn read_line(input: &mut (impl AsyncBufRead + Unpin), line: &mut Vec<u8>, limit: usize) -> io::Result<Line> {
    let mut bytes = 0;
    loop {
        let piece = input.fill_buf().await?;
        if piece.is_empty() {
            return Ok(if bytes == 0 { Line::None } else { ended(bytes, limit) });
        }
        let end = piece.iter().position(|byte| *byte == b'\n');
        let taken = end.unwrap_or(piece.len());
        bytes += taken;
        if bytes <= limit {
            line.extend_from_slice(&piece[..taken]);
        }
        input.consume(taken + usize::from(end.is_some()));
        if end.is_some() {
            return Ok(ended(bytes, limit));
        }
    }
}

fn ended(bytes: usize, limit: usize) -> Line {
    if bytes > limit { Line::TooLong { bytes } } else { Line::Whole }
}

fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Frames as lines.
struct Lines<W: AsyncWrite> {
    output: BufWriter<W>,
}

impl<W: AsyncWrite + Unpin + Send> Transport for Lines<W> {
    async fn send(&mut self, frame: Bytes) -> io::Result<()> {
        self.output.write_all(&frame).await?;
        self.output.write_all(b"\n").await
    }

    async fn flush(&mut self) -> io::Result<()> {
        self.output.flush().await
    }
}
