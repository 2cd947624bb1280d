//! How clients reach the server: WebSocket and stdio for the protocol, HTTP for whoever looks after the server.

mod accept;
pub mod http;
mod linger;
mod page;
pub mod stdio;
mod strangers;
mod traffic;
mod websocket;

pub use self::strangers::Strangers;
