//! A thousand sessions: what they cost when nothing happens in them, and when something happens in all of them.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{PIECE, SLOW, make_sessions, report};
use crate::{
    daemon::{Daemon, Ground},
    load::Socket,
};

const SESSIONS: usize = 1000;
/// Pieces of each answer, one every 50 ms.
const PIECES: usize = 100;

/// A thousand sessions that do nothing, and then all of them at once.
pub(super) async fn sessions(ground: &Ground) -> Result<()> {
    let daemon = ground.serve_anew(SLOW, &[])?;
    let mut socket = daemon.target.connect("?clientId=maker&lifecycle=none").await?;
    // What the first one needs is needed once.
    make_sessions(&mut socket, SESSIONS, 1).await?;
    sleep(Duration::from_millis(500)).await;
    let before = daemon.own_memory()?;
    let began = Instant::now();
    make_sessions(&mut socket, 0, SESSIONS).await?;
    report("create_session", began.elapsed().as_secs_f64() * 1e9 / SESSIONS as f64, "ns");
    sleep(Duration::from_secs(1)).await;
    report("idle_session_memory", (daemon.own_memory()? - before) / SESSIONS as f64, "KiB");
    let idle = daemon.memory()?;
    report("idle_sessions_threads", daemon.threads()? as f64, "threads");
    stream(&daemon, &mut socket, idle).await
}

/// All sessions stream at once; one connection speaks and hears what all of them say.
async fn stream(daemon: &Daemon, speaker: &mut Socket, idle: f64) -> Result<()> {
    let mut listener = daemon.target.connect("?clientId=listener&lifecycle=none").await?;
    for number in 0..SESSIONS {
        listener
            .ask(&json!({"type": "subscribe", "id": format!("u{number}"), "sessionId": format!("s{number}")}))
            .await?;
    }
    let heard = tokio::spawn(hear(listener));
    let (began, cpu) = (Instant::now(), daemon.target.cpu()?);
    for number in 0..SESSIONS {
        let frame = json!({"type": "prompt", "id": format!("p{number}"), "sessionId": format!("s{number}"), "message": "Hello"});
        speaker.send(frame.to_string()).await?;
    }
    let answers = async {
        for _ in 0..SESSIONS {
            let ended = speaker.next_response().await?;
            if ended["success"] != true {
                bail!("{ended}");
            }
        }
        Ok(())
    };
    let (memory, threads) = most_until(daemon, answers).await?;
    report("streaming_session_memory", (memory - idle) / SESSIONS as f64, "KiB");
    report("streaming_sessions_threads", threads as f64, "threads");
    report("streaming_sessions", began.elapsed().as_secs_f64() * 1e9, "ns");
    report("streaming_sessions_cpu", (daemon.target.cpu()? - cpu).as_secs_f64() * 1e9, "ns");
    let text = heard.await.context("the listener ended")??;
    let said = SESSIONS * PIECES * PIECE;
    if text != said {
        bail!("{text} of {said} bytes were heard");
    }
    Ok(())
}

/// The most memory and the most threads that there were until something ended.
async fn most_until(daemon: &Daemon, ends: impl Future<Output = Result<()>>) -> Result<(f64, usize)> {
    let mut ends = std::pin::pin!(ends);
    let (mut memory, mut threads) = (0.0, 0);
    loop {
        tokio::select! {
            ended = &mut ends => return ended.map(|()| (memory, threads)),
            () = sleep(Duration::from_millis(250)) => {
                memory = daemon.memory()?.max(memory);
                threads = daemon.threads()?.max(threads);
            }
        }
    }
}

/// How many bytes of text all sessions said until the last one was done.
async fn hear(mut listener: Socket) -> Result<usize> {
    let (mut text, mut ended) = (0, 0);
    while ended < SESSIONS {
        let frame = listener.next().await?;
        if frame.contains(r#""type":"agent_settled""#) {
            ended += 1;
        } else if frame.contains(r#""type":"message_update""#) {
            let event: Value = serde_json::from_str(&frame)?;
            text += event["event"]["assistantMessageEvent"]["delta"].as_str().map_or(0, str::len);
        }
    }
    Ok(text)
}
