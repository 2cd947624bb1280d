//! A real language model calls a tool: the real binary asks it, carries the call out, and goes on with the result.
//!
//! The model is far too small to think of a call by itself. Between it and the binary stands somebody who adds to the first
//! request that a tool must be called, and to every one how little may be said; everything else passes as it is.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    process::Stdio,
    thread,
};

use pi_testkit::{
    NoPeer, Peer,
    peer::{MODEL, VARIABLE},
    server::Script,
};
use serde_json::{Value, json};

use crate::room::{Room, read, write};

#[test]
fn real_model_calls_a_tool_and_hears_of_its_result() {
    let peer = match Peer::model() {
        Ok(peer) => peer,
        Err(NoPeer::NotInstalled) => {
            eprintln!("SKIPPED: {VARIABLE} names no folder with a language model; `cargo xtask test` installs it");
            return;
        }
        Err(NoPeer::Broken(why)) => panic!("{why}"),
    };
    let room = Room::new(Script::new());
    write(&room.project().join("notes.txt"), b"remember the milk\n");
    let url = format!("http://{}", force_first_call(peer.address()));
    let mut command = room.pi();
    // The window of the model is small: one tool, and few words of the system.
    command.args(["--model", MODEL, "--base-url", &url, "--tools", "ls", "--no-context-files"]);
    command.args(["--system-prompt", "You list files.", "--mode", "json", "List the files in the folder ."]);
    let output = command.stdin(Stdio::null()).output().expect("pi starts");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}\n{stderr}");
    let calls: Vec<Value> = stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("an event"))
        .filter(|event: &Value| event["type"] == "tool_execution_end")
        .collect();
    assert_eq!(calls.len(), 1, "{stdout}");
    assert_eq!(calls[0]["toolName"], "ls");
    let [file] = room.sessions().try_into().expect("one session");
    let kept: Vec<Value> =
        read(&file).expect("text").lines().map(|line| serde_json::from_str(line).expect("a line")).collect();
    let roles: Vec<&str> = kept.iter().filter_map(|line| line["message"]["role"].as_str()).collect();
    assert_eq!(roles, ["user", "assistant", "toolResult", "assistant"]);
    let call = &kept.iter().find(|line| line["message"]["role"] == "assistant").expect("an answer")["message"];
    assert_eq!((&call["stopReason"], &call["model"]), (&json!("toolUse"), &json!(MODEL)));
    assert!(call["usage"]["input"].as_u64().is_some_and(|count| count > 20), "the model counts: {call}");
}

/// Passes everything on to the model; where the conversation has no result of a tool yet, a tool must be called.
fn force_first_call(model: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port on loopback");
    let address = listener.local_addr().expect("it has one");
    // It ends with the test program; each connection ends with its answer.
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            // A client that goes away is its own concern, and is seen by the test.
            thread::spawn(move || drop(pass_on(stream, model)));
        }
    });
    address
}

fn pass_on(mut client: TcpStream, model: SocketAddr) -> std::io::Result<()> {
    let mut reader = BufReader::new(client.try_clone()?);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first)?;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line == "\r\n" {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().map_err(std::io::Error::other)?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body = with_force(&body);
    let mut server = TcpStream::connect(model)?;
    let head = "Host: model\r\nContent-Type: application/json\r\nConnection: close";
    write!(server, "{}\r\n{head}\r\nContent-Length: {}\r\n\r\n{body}", first.trim_end(), body.len())?;
    std::io::copy(&mut server, &mut client)?;
    client.shutdown(std::net::Shutdown::Both)
}

/// A body that is no conversation stays as it is.
fn with_force(body: &[u8]) -> String {
    let Ok(mut asked) = serde_json::from_slice::<Value>(body) else {
        return String::from_utf8_lossy(body).into_owned();
    };
    let has_result = asked["messages"].as_array().is_some_and(|all| all.iter().any(|said| said["role"] == "tool"));
    if !has_result {
        asked["tool_choice"] = json!("required");
        asked["parallel_tool_calls"] = json!(false);
    }
    asked["max_tokens"] = json!(60);
    asked["temperature"] = json!(0.0);
    asked.to_string()
}
