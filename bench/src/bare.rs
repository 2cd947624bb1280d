//! The least that a call can cost: hyper, one connection, the answer as bytes.

use anyhow::Result;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, client::conn::http1::SendRequest, header};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

pub(crate) struct Bare {
    sender: SendRequest<Full<Bytes>>,
    port: u16,
}

impl Bare {
    pub(crate) async fn new(port: u16) -> Result<Self> {
        let socket = TcpStream::connect(("127.0.0.1", port)).await?;
        socket.set_nodelay(true)?;
        let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(socket)).await?;
        // It ends with the process.
        tokio::spawn(connection);
        Ok(Self { sender, port })
    }

    pub(crate) async fn call(&mut self, model: &str) -> Result<usize> {
        let question = format!(
            r#"{{"model":"{model}","messages":[{{"role":"user","content":"What is the capital of France?"}}]}}"#
        );
        let request = Request::post("/openai/v1/chat/completions")
            .header(header::HOST, format!("127.0.0.1:{}", self.port))
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::AUTHORIZATION, "Bearer none")
            .body(Full::new(Bytes::from(question)))?;
        self.sender.ready().await?;
        let body = self.sender.send_request(request).await?.into_body().collect().await?;
        Ok(body.to_bytes().len())
    }
}
