//! A provider that answers at once, in three styles. The model's name says what: `events-2000` streams so many pieces,
//! `whole` answers in one, `hang` sends a piece and then nothing more.

use std::{convert::Infallible, net::Ipv4Addr};

use anyhow::Result;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http_body_util::{BodyExt, Full, StreamBody, combinators::BoxBody};
use hyper::{Request, Response, body::Frame, header::CONTENT_TYPE, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::style::Style;

/// Serves on a port of the system's choice until the process is killed; `ready` is told the port.
pub(crate) async fn run(ready: impl FnOnce(u16)) -> Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    ready(listener.local_addr()?.port());
    loop {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        // A client that goes away is none of our business.
        tokio::spawn(async move {
            let _ = http1::Builder::new().serve_connection(TokioIo::new(socket), service_fn(answer)).await;
        });
    }
}

async fn answer(request: Request<hyper::body::Incoming>) -> Result<Response<BoxBody<Bytes, Infallible>>, Infallible> {
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let question: Value = serde_json::from_slice(&body).unwrap_or_default();
    let style = Style::of_path(&path);
    let model = question["model"].as_str().unwrap_or(&path);
    let wanted =
        model.split_once("events-").map(|(_, rest)| rest.chars().take_while(char::is_ascii_digit).collect::<String>());
    let response = match wanted.and_then(|number| number.parse().ok()) {
        Some(events) => stream_of(style, events),
        None if model.contains("hang") => {
            let first = stream::iter(style.frames(1).into_iter().take(2));
            sse(first.chain(stream::pending()))
        }
        None => whole(style),
    };
    Ok(response)
}

fn stream_of(style: Style, events: usize) -> Response<BoxBody<Bytes, Infallible>> {
    sse(stream::iter(style.frames(events)))
}

fn sse(
    frames: impl futures_util::Stream<Item = Bytes> + Send + Sync + 'static,
) -> Response<BoxBody<Bytes, Infallible>> {
    let body = StreamBody::new(frames.map(|frame| Ok(Frame::data(frame))));
    let mut response = Response::new(BodyExt::boxed(body));
    response.headers_mut().insert(CONTENT_TYPE, "text/event-stream".parse().expect("it is a header value"));
    response
}

fn whole(style: Style) -> Response<BoxBody<Bytes, Infallible>> {
    let body = match style {
        Style::Openai => json!({
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "whole",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": "Paris is the capital of France."}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 12, "completion_tokens": 8, "total_tokens": 20},
        }),
        Style::Anthropic | Style::Gemini => json!({}),
    };
    let mut response = Response::new(Full::new(Bytes::from(body.to_string())).boxed());
    response.headers_mut().insert(CONTENT_TYPE, "application/json".parse().expect("it is a header value"));
    response
}
