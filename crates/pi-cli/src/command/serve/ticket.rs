//! `pi serve --ticket`: an address for one more browser, asked of the server that runs.

use pi_server::{door, server::StartError, settings::Settings};
use serde_json::Value;
use tokio::time::timeout;

use super::{GOODBYE, address};
use crate::{
    console::Console,
    exit::Exit,
    failure::{Failure, ServeFailure},
};

/// Prints the address. The token is shown only to whom our own server said where it is.
pub(super) async fn print(settings: &Settings, console: &mut Console) -> Result<Exit, Failure> {
    let at = address::running(settings).ok_or(ServeFailure::NotRunning)?;
    let token = door::load_token(&settings.token()).map_err(|error| ServeFailure::Start(StartError::Token(error)))?;
    let request = format!(
        "POST /ticket HTTP/1.1\r\nhost: {at}\r\nauthorization: Bearer {}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        token.reveal()
    );
    let asked = timeout(GOODBYE, address::ask(at, &request)).await;
    let answer = asked.map_err(|_| ServeFailure::NoTicket)?.map_err(|_| ServeFailure::NoTicket)?;
    let ticket = ticket_in(&answer).ok_or(ServeFailure::NoTicket)?;
    console.line(&format!("{}/#ticket={ticket}", address::for_browsers(at, settings)));
    console.remark("it lets one browser in, once, within ten minutes");
    Ok(Exit::Success)
}

fn ticket_in(answer: &str) -> Option<String> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let body: Value = serde_json::from_str(body).ok().filter(|_| head.starts_with("HTTP/1.1 200"))?;
    body["ticket"].as_str().map(str::to_owned)
}
