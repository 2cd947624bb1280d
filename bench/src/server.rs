//! A provider that answers at once, in three styles. The model's name says what: `events-2000` streams so many pieces,
//! `short-events-100-every-50` so many of five bytes with so many milliseconds between them, `whole` answers in one, `hang`
//! sends a piece and then nothing more.

use std::{convert::Infallible, net::Ipv4Addr, time::Duration};

use anyhow::Result;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http_body_util::{BodyExt, Full, StreamBody, combinators::BoxBody};
use hyper::{Request, Response, body::Frame, header::CONTENT_TYPE, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::style::{Style, openai};

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
    let response = match (number_behind(model, "events-"), number_behind(model, "every-")) {
        (Some(events), Some(pause)) => paced(events, pause),
        (Some(events), None) => stream_of(style, events),
        (None, _) if model.contains("hang") => {
            let first = stream::iter(style.frames(1).into_iter().take(2));
            sse(first.chain(stream::pending()))
        }
        (None, _) => whole(style),
    };
    Ok(response)
}

/// The number behind a word in a model's name.
fn number_behind(model: &str, word: &str) -> Option<usize> {
    let (_, rest) = model.split_once(word)?;
    rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok()
}

/// Short pieces with pauses of so many milliseconds.
fn paced(events: usize, pause: usize) -> Response<BoxBody<Bytes, Infallible>> {
    let mut clock = tokio::time::interval(Duration::from_millis(pause as u64));
    clock.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Burst);
    let frames = stream::iter(openai(events, |_| " word"));
    sse(stream::unfold((frames, clock), |(mut frames, mut clock)| async move {
        let frame = frames.next().await?;
        clock.tick().await;
        Some((frame, (frames, clock)))
    }))
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
