//! A WebSocket server that says back what it hears, and does nothing else: what axum alone can do.

use std::net::Ipv4Addr;

use anyhow::Result;
use axum::{
    Router,
    extract::{
        WebSocketUpgrade,
        ws::{Message, WebSocket},
    },
    routing::get,
    serve::ListenerExt,
};
use tokio::net::TcpListener;

/// Serves on a port of the system's choice until the process is killed; `ready` is told the port.
pub(crate) async fn run(ready: impl FnOnce(u16)) -> Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    ready(listener.local_addr()?.port());
    let listener = listener.tap_io(|stream| {
        // Without it small frames wait for each other, and nothing is measured but that.
        let _ = stream.set_nodelay(true);
    });
    let upgrade = |upgrade: WebSocketUpgrade| async { upgrade.on_upgrade(echo) };
    Ok(axum::serve(listener, Router::new().route("/ws", get(upgrade))).await?)
}

async fn echo(mut socket: WebSocket) {
    while let Some(Ok(message)) = socket.recv().await {
        if let Message::Text(text) = message
            && socket.send(Message::Text(text)).await.is_err()
        {
            return;
        }
    }
}
