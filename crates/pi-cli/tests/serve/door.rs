//! Who may come in.

use std::{collections::BTreeSet, path::Path, time::Duration};

use nix::sys::signal::Signal;
use pi_testkit::{Client, Script, client::refused, model::Answer};
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    time::{sleep, timeout},
};

use crate::{house::House, room::write, serving::Serving};

pub(crate) async fn status(url: &str, token: Option<&str>) -> u16 {
    match Client::connect(url, token).await {
        Ok(_) => 101,
        Err(error) => refused(&error).unwrap_or_else(|other| panic!("no answer: {other}")),
    }
}

#[expect(clippy::disallowed_methods, reason = "the world of a test is made of files")]
fn remove(path: &Path) {
    std::fs::remove_file(path).expect("it is there");
}

/// One request as it stands; the status and the body.
pub(crate) async fn http(serving: &Serving, request: &str) -> (u16, String) {
    let (status, _, body) = request_to(&serving.address, request).await;
    (status, body)
}

/// One request as it stands, after which the server closes the connection; the status, the headers and the body.
async fn request_to(address: &str, request: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    stream.write_all(request.as_bytes()).await.expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("it answers");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    (status_of(head), head.to_owned(), body.to_owned())
}

fn status_of(head: &str) -> u16 {
    head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status")
}

/// A request as it stands.
pub(crate) fn get(path: &str, host: &str, more: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{more}\r\n")
}

#[test]
fn only_the_token_lets_a_client_in() {
    let serving = Serving::start(Script::new());
    serving.block_on(async {
        assert_eq!(status(&serving.url(""), Some(&serving.token())).await, 101);
        assert_eq!(status(&serving.url(""), Some("wrong")).await, 401);
        assert_eq!(status(&serving.url(""), None).await, 401);
        assert_eq!(status(&serving.url("?lifecycle=some"), Some(&serving.token())).await, 400);
    });
}

#[test]
fn whoever_says_nothing_is_closed_after_a_while() {
    let serving = Serving::with(Script::new(), &["--set", "idleCloseMs=300"]);
    serving.block_on(async {
        for begun in ["", "GET /healthz HTTP/1.1\r\nhost: loc"] {
            let mut silent = TcpStream::connect(&serving.address).await.expect("it listens");
            silent.write_all(begun.as_bytes()).await.expect("it reads");
            let mut answer = Vec::new();
            let closed = timeout(Duration::from_secs(9), silent.read_to_end(&mut answer)).await;
            assert!(closed.is_ok(), "{begun:?} is still waited for");
        }
        // Clients stay, however long they say nothing.
        let mut client = serving.connect("").await;
        sleep(Duration::from_millis(900)).await;
        assert_eq!(client.ask(&json!({"type": "health_check", "id": "h"})).await["success"], true);
    });
}

/// A request of which the rest never comes.
fn half(serving: &Serving, more: &str) -> String {
    let json = "content-type: application/json\r\ncontent-length: 1000";
    format!("POST /login HTTP/1.1\r\nhost: {}\r\n{more}{json}\r\n\r\n{{", serving.address)
}

#[test]
fn request_has_its_time_to_be_said_to_its_end() {
    let serving = Serving::with(Script::new(), &["--set", "idleCloseMs=300"]);
    serving.block_on(async {
        let token = format!("authorization: Bearer {}\r\n", serving.token());
        for more in ["", &token] {
            let (status, body) = http(&serving, &half(&serving, more)).await;
            assert!(status == 408 && body.contains("took too long"), "{status} {body}");
        }
    });
}

#[test]
fn whoever_shows_no_credential_cannot_stay() {
    let serving = Serving::with(Script::new(), &["--set", "idleCloseMs=300"]);
    serving.block_on(async {
        let mut stranger = TcpStream::connect(&serving.address).await.expect("it listens");
        let request = format!("GET /healthz HTTP/1.1\r\nhost: {}\r\n\r\n", serving.address);
        let asking = async {
            let mut answer = [0; 4096];
            while stranger.write_all(request.as_bytes()).await.is_ok() {
                match stranger.read(&mut answer).await {
                    Ok(0) | Err(_) => break,
                    Ok(_) => sleep(Duration::from_millis(50)).await,
                }
            }
        };
        timeout(Duration::from_secs(9), asking).await.expect("it is closed, however much is asked");
    });
}

#[test]
fn strangers_who_keep_their_places_keep_nobody_out() {
    const PLACES: u64 = 512;
    const MORE: u64 = 8;
    let serving = Serving::start(Script::new());
    serving.block_on(async {
        let mut strangers = Vec::new();
        for _ in 0..PLACES + MORE {
            let mut stranger = TcpStream::connect(&serving.address).await.expect("it listens");
            stranger.write_all(half(&serving, "").as_bytes()).await.expect("it reads");
            strangers.push(stranger);
        }
        let mut client = serving.connect("").await;
        let metrics = client.ask(&json!({"type": "get_metrics", "id": "m"})).await["data"].clone();
        // The client took one place more, which nobody has now.
        assert_eq!(metrics["commandsRejected"]["connectionLimit"], MORE + 1, "{metrics}");
        assert_eq!(metrics["pendingConnectionCount"], PLACES - 1, "{metrics}");
        let mut answer = String::new();
        strangers[0].read_to_string(&mut answer).await.expect("it is told");
        assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("retry-after: 1\r\n"), "{answer}");
        assert!(answer.contains("(max 512)") && answer.contains("connection_limit"), "{answer}");
    });
}

#[test]
fn health_needs_no_token_but_the_right_host() {
    let serving = Serving::start(Script::new());
    serving.block_on(async {
        let own = serving.address.clone();
        assert_eq!(http(&serving, &get("/healthz", &own, "")).await, (200, "ok\n".to_owned()));
        assert_eq!(http(&serving, &get("/healthz", "evil.example", "")).await.0, 403);
        assert_eq!(http(&serving, &get("/readyz", &own, "")).await.0, 401);
        let token = format!("authorization: Bearer {}\r\n", serving.token());
        let (status, body) = http(&serving, &get("/readyz", &own, &token)).await;
        assert_eq!((status, body.as_str()), (200, r#"{"ready":true,"problems":[]}"#));
        let (status, body) = http(&serving, &get("/metrics", &own, &token)).await;
        assert_eq!(status, 200);
        assert!(body.contains("pi_server_sessions 0"), "{body}");
    });
}

#[test]
fn refusals_are_counted_by_what_they_are() {
    let serving = Serving::start(Script::new());
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        let other = client.ask(&json!({"type": "create_session", "id": "make", "sessionId": "t"})).await;
        assert_eq!(other["code"], "conflict", "{other}");
        let metrics = client.ask(&json!({"type": "get_metrics", "id": "m"})).await;
        assert_eq!(metrics["data"]["stores"]["replay"]["inFlightRejections"], 0, "{metrics}");
        let token = format!("authorization: Bearer {}\r\n", serving.token());
        let (_, body) = http(&serving, &get("/metrics", &serving.address, &token)).await;
        for (reason, count) in
            [("busy", 0), ("too_many_pending", 0), ("conflict", 1), ("journal_unavailable", 0), ("shutting_down", 0)]
        {
            let line = format!("pi_server_refused_total{{reason=\"{reason}\"}} {count}");
            assert!(body.contains(&line), "{line}\n{body}");
        }
    });
}

#[test]
fn session_is_handed_out_as_a_file() {
    let serving = Serving::start(Script::new().then(Answer::new().text("Hi <b>there</b>.").reply()));
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        client.ask(&json!({"type": "prompt", "id": "p", "sessionId": "s", "message": "Hello"})).await;
        let token = format!("authorization: Bearer {}\r\n", serving.token());
        let fetch = async |form: &str| {
            let request = get(&format!("/export?session=s&form={form}"), &serving.address, &token);
            let (status, head, body) = request_to(&serving.address, &request).await;
            assert_eq!(status, 200, "{form}: {body}");
            for line in [
                "content-disposition: attachment; filename=\"pi-",
                "cache-control: no-store",
                "x-content-type-options: nosniff",
            ] {
                assert!(head.contains(line), "{form}: {head}");
            }
            body
        };
        assert!(fetch("html").await.contains("&lt;b&gt;there"));
        assert!(fetch("markdown").await.contains("Hello"));
        assert!(fetch("envelope").await.contains("\"version\": \"1.0\""));
        let all: Vec<serde_json::Value> = serde_json::from_str(&fetch("envelopes").await).expect("a list");
        assert!(all.len() == 1 && all[0]["version"] == "1.0", "{all:?}");
        assert!(fetch("viewer").await.contains("Hello"));
        // What a link leads to is not handed out.
        let state = client.ask(&json!({"type": "get_state", "id": "g", "sessionId": "s"})).await;
        let beside = format!("{}.envelopes", state["data"]["sessionFile"].as_str().expect("a file"));
        let (beside, elsewhere) = (Path::new(&beside), serving.room.at("elsewhere"));
        std::fs::rename(beside, &elsewhere).expect("it is there");
        std::os::unix::fs::symlink(&elsewhere, beside).expect("a link");
        for form in ["envelope", "envelopes", "viewer"] {
            let request = get(&format!("/export?session=s&form={form}"), &serving.address, &token);
            let (status, body) = http(&serving, &request).await;
            assert!(status != 200 && body.contains("leads somewhere else by now"), "{form}: {status} {body}");
        }
        let (status, body) = http(&serving, &get("/export?session=nobody&form=html", &serving.address, &token)).await;
        assert_eq!(status, 404, "{body}");
    });
}

#[test]
fn whole_output_of_a_command_is_handed_out_to_whom_its_session_names_it() {
    let serving = Serving::start(Script::new());
    serving.block_on(async {
        let mut client = serving.with_session("").await;
        client.ask(&json!({"type": "bash", "id": "b", "sessionId": "s", "command": "seq 20000"})).await;
        let said = client.ask(&json!({"type": "get_messages", "id": "m", "sessionId": "s"})).await;
        let path = said["data"]["messages"][0]["fullOutputPath"].as_str();
        let path = path.unwrap_or_else(|| panic!("no file: {said}")).to_owned();
        let name = path.rsplit('/').next().expect("a name");
        let token = format!("authorization: Bearer {}\r\n", serving.token());
        let fetch = async |session: &str, name: &str| {
            let request = get(&format!("/output?session={session}&name={name}"), &serving.address, &token);
            request_to(&serving.address, &request).await
        };
        let (status, head, body) = fetch("s", name).await;
        assert_eq!(status, 200, "{body}");
        assert!(body.starts_with("1\n2\n") && body.trim_end().ends_with("\n20000"), "{} bytes", body.len());
        for line in
            ["content-type: text/plain; charset=utf-8", "content-disposition: attachment", "no-store", "; sandbox"]
        {
            assert!(head.contains(line), "{head}");
        }
        // A name that no message of the session has leads nowhere, whatever lies there.
        client.ask(&json!({"type": "create_session", "id": "other", "sessionId": "t"})).await;
        let turned: String = name[8..24].chars().rev().collect();
        let beside = Path::new(&path).with_file_name(format!("pi-bash-{turned}.log"));
        write(&beside, b"not yours");
        for (session, name, expected) in [
            ("t", name, 404),
            ("s", beside.file_name().and_then(|name| name.to_str()).expect("a name"), 404),
            ("s", "..%2F..%2Fetc%2Fpasswd", 404),
            ("nobody", name, 404),
        ] {
            let (status, _, body) = fetch(session, name).await;
            assert_eq!(status, expected, "{session} {name}: {body}");
        }
        remove(&beside);
        remove(Path::new(&path));
        let (status, _, body) = fetch("s", name).await;
        assert_eq!((status, body.contains("run the command again")), (410, true), "{body}");
    });
}

#[test]
fn every_number_says_what_it_is_and_there_are_few() {
    let serving = Serving::start(Script::new());
    serving.block_on(async {
        let mut client = serving.connect("").await;
        client.ask(&json!({"type": "health_check", "id": "h"})).await;
        let token = format!("authorization: Bearer {}\r\n", serving.token());
        let (_, body) = http(&serving, &get("/metrics", &serving.address, &token)).await;
        let said = |mark: &str| -> BTreeSet<&str> {
            body.lines().filter_map(|line| line.strip_prefix(mark)?.split(' ').next()).collect()
        };
        let (types, helps) = (said("# TYPE "), said("# HELP "));
        assert!(types.len() > 10 && types == helps, "{types:?} {helps:?}");
        assert!(body.contains("pi_server_command_seconds_count{limit=\"brief\"} 1"), "{body}");
        assert!(body.lines().count() < 150, "{} lines", body.lines().count());
    });
}

#[test]
fn server_that_runs_gives_tickets_for_further_browsers() {
    let serving = Serving::start(Script::new());
    let own = serving.address.clone();
    let ask = || serving.room.bare_pi().args(["serve", "--ticket"]).output().expect("it starts");
    serving.block_on(async {
        let mut used = Vec::new();
        for _ in 0..2 {
            let output = ask();
            let printed = String::from_utf8_lossy(&output.stdout).into_owned();
            let begin = format!("http://{own}/#ticket=");
            let ticket = printed.trim().strip_prefix(&begin).unwrap_or_else(|| panic!("{output:?}")).to_owned();
            let body = json!({ "ticket": ticket }).to_string();
            let request = format!(
                "POST /login HTTP/1.1\r\nhost: {own}\r\nconnection: close\r\ncontent-type: application/json\r\n\
                 content-length: {}\r\n\r\n{body}",
                body.len()
            );
            assert_eq!(request_to(&own, &request).await.0, 204);
            used.push(ticket);
        }
        assert_ne!(used[0], used[1]);
        let request = format!("POST /ticket HTTP/1.1\r\nhost: {own}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
        assert_eq!(request_to(&own, &request).await.0, 401);
    });
    let mut elsewhere = serving.room.bare_pi();
    let nobody = elsewhere.args(["serve", "--ticket"]).env("PI_CODING_AGENT_DIR", serving.room.at("other"));
    let told = nobody.output().expect("it starts");
    assert!(String::from_utf8_lossy(&told.stderr).contains("no server of yours runs"), "{told:?}");
    // An address that another server wrote down is not asked.
    write(&serving.room.at("agent/server/address"), format!("{} 1\n", serving.address).as_bytes());
    let stale = ask();
    assert!(String::from_utf8_lossy(&stale.stderr).contains("no server of yours runs"), "{stale:?}");
}

#[test]
fn browsers_are_led_to_a_name_that_the_server_has_for_itself() {
    let serving = Serving::prepared(Script::new(), &[], |room| {
        write(&room.at("agent/settings.json"), br#"{"server": {"hosts": ["box.example", "pi-7k2m.localhost"]}}"#);
    });
    let port = serving.address.rsplit(':').next().expect("a port");
    let own = format!("pi-7k2m.localhost:{port}");
    let output = serving.room.bare_pi().args(["serve", "--ticket"]).output().expect("it starts");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let ticket = printed.trim().strip_prefix(&format!("http://{own}/#ticket=")).expect("an address under that name");
    let body = json!({ "ticket": ticket }).to_string();
    let login = format!(
        "POST /login HTTP/1.1\r\nhost: {own}\r\norigin: http://{own}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    serving.block_on(async {
        let (status, head, body) = request_to(&serving.address, &login).await;
        assert_eq!(status, 204, "{body}");
        let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
        // Without a domain a browser sends it to this very name and to no other.
        assert!(!cookie.to_ascii_lowercase().contains("domain"), "{cookie}");
        let cookie = cookie.split_once("; ").expect("rules").0;
        let enter = |more: &str| get("/readyz", &own, &format!("cookie: {cookie}\r\n{more}"));
        assert_eq!(request_to(&serving.address, &enter("")).await.0, 200);
        let neighbour = format!("origin: http://127.0.0.1:{port}\r\n");
        assert_eq!(request_to(&serving.address, &enter(&neighbour)).await.0, 403);
    });
}

#[test]
fn pages_of_other_sites_are_turned_away_even_with_the_token() {
    let serving = Serving::start(Script::new());
    serving.block_on(async {
        let own = serving.address.clone();
        let more = format!("authorization: Bearer {}\r\norigin: https://evil.example\r\n", serving.token());
        assert_eq!(http(&serving, &get("/metrics", &own, &more)).await.0, 403);
        // An address in numbers is anybody's; ours is the one to which the request was sent.
        let port = own.rsplit_once(':').expect("a port").1;
        for (origin, status) in [
            (format!("http://203.0.113.9:{port}"), 403),
            (format!("http://[2001:db8::9]:{port}"), 403),
            (format!("http://{own}"), 200),
            (format!("http://localhost:{port}"), 200),
        ] {
            let more = format!("authorization: Bearer {}\r\norigin: {origin}\r\n", serving.token());
            assert_eq!(http(&serving, &get("/metrics", &own, &more)).await.0, status, "{origin}");
        }
    });
}

#[test]
fn download_waits_for_its_turn_however_soon_the_silent_are_closed() {
    // More than a connection holds that nobody reads.
    const LARGE: usize = 24 << 20;
    let serving = Serving::prepared(Script::new(), &["--set", "idleCloseMs=300"], |room| {
        let time = "2026-11-16T00:00:00.000Z";
        let header = json!({"type": "session", "version": 3, "id": "s", "timestamp": time, "cwd": room.project()});
        let said = json!({"role": "user", "content": "x".repeat(LARGE), "timestamp": 0});
        let entry = json!({"type": "message", "id": "aaaaaaaa", "parentId": null, "timestamp": time, "message": said});
        write(&room.at("agent/sessions/--x--/s.jsonl"), format!("{header}\n{entry}\n").as_bytes());
    });
    serving.block_on(async {
        let mut client = serving.connect("?lifecycle=none").await;
        let file = serving.room.at("agent/sessions/--x--/s.jsonl");
        let loaded =
            client.ask(&json!({"type": "load_session", "id": "l", "sessionId": "s", "sessionPath": file})).await;
        assert_eq!(loaded["success"], true, "{loaded}");
        let token = format!("authorization: Bearer {}\r\n", serving.token());
        let request = get("/export?session=s&form=markdown", &serving.address, &token);
        // Two have all the room that there is, as long as nobody reads them.
        let mut holding = Vec::new();
        for _ in 0..2 {
            let mut stream = TcpStream::connect(&serving.address).await.expect("it listens");
            stream.write_all(request.as_bytes()).await.expect("it reads");
            let mut first = [0; 15];
            stream.read_exact(&mut first).await.expect("it answers");
            assert_eq!(&first, b"HTTP/1.1 200 OK");
            holding.push(stream);
        }
        let third = http(&serving, &request);
        let waiting = async {
            // Longer than a request has to be said.
            sleep(Duration::from_millis(900)).await;
            drop(holding);
        };
        let ((status, body), ()) = tokio::join!(third, waiting);
        assert_eq!(status, 200, "{body:.300}");
        assert!(body.len() > LARGE);
    });
}

#[test]
fn request_that_names_two_hosts_is_refused() {
    let serving = Serving::start(Script::new());
    serving.block_on(async {
        let own = serving.address.clone();
        for more in ["host: evil.example\r\n".to_owned(), format!("origin: http://{own}\r\norigin: null\r\n")] {
            let (status, body) = http(&serving, &get("/healthz", &own, &more)).await;
            assert!(status == 400 && body.contains("stands there twice"), "{status} {body}");
        }
    });
}

#[test]
fn without_auth_this_machine_comes_in_and_nobody_else_is_served() {
    let serving = Serving::with(Script::new(), &["--insecure-no-auth"]);
    serving.block_on(async { assert_eq!(status(&serving.url(""), None).await, 101) });
    let mut open = serving.room.pi_to(&["serve"]);
    open.args(["--listen", "0.0.0.0:0", "--insecure-no-auth"]);
    let refused = open.output().expect("it starts");
    assert!(!refused.status.success());
    let told = String::from_utf8_lossy(&refused.stderr);
    assert!(told.contains("without a token only this machine may be served"), "{told}");
}

/// Asks for a WebSocket with these headers; the status.
async fn upgrade(house: &House, host: &str, more: &str) -> u16 {
    let request = format!(
        "GET /ws HTTP/1.1\r\nhost: {host}\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
         sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n{more}\r\n"
    );
    let mut stream = TcpStream::connect(&house.address).await.expect("it listens");
    stream.write_all(request.as_bytes()).await.expect("it reads");
    let mut first = String::new();
    // What became a WebSocket stays open.
    BufReader::new(stream).read_line(&mut first).await.expect("it answers");
    status_of(&first)
}

/// Brings a ticket as a page does; the status and the headers.
async fn login(house: &House, ticket: &str, kind: &str, origin: &str) -> (u16, String) {
    let body = json!({ "ticket": ticket }).to_string();
    let request = format!(
        "POST /login HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: {kind}\r\norigin: {origin}\r\ncontent-length: {}\r\n\r\n{body}",
        house.address,
        body.len()
    );
    let (status, head, _) = request_to(&house.address, &request).await;
    (status, head)
}

#[tokio::test]
async fn path_that_is_not_there_is_answered_with_those_that_are() {
    let house = House::open(Script::new(), &[]).await;
    let own = house.address.clone();
    for (request, expected) in
        [(get("/nothing", &own, ""), 404), (get("/api/sessions?x=1", &own, ""), 404), (get("/login", &own, ""), 405)]
    {
        let (status, head, body) = request_to(&own, &request).await;
        assert_eq!(status, expected, "{request}");
        assert!(head.contains("content-type: application/json") && body.contains("GET /ws (WebSocket)"), "{body}");
    }
    let (status, _, body) = request_to(&own, &get("/nothing", "evil.example", "")).await;
    assert!(status == 403 && !body.contains("/ws"), "strangers are told nothing: {body}");
}

#[tokio::test]
async fn refusals_say_in_one_form_what_is_wrong_and_what_to_do() {
    let house = House::open(Script::new(), &[]).await;
    let own = house.address.clone();
    let token = format!("authorization: Bearer {}\r\n", house.token());
    let upgrade = format!(
        "{token}connection: upgrade, close\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
         sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    );
    let ask = |path: &str| format!("GET {path} HTTP/1.1\r\nhost: {own}\r\n{upgrade}\r\n");
    let login = |kind: &str, body: &str| {
        let length = body.len();
        format!(
            "POST /login HTTP/1.1\r\nhost: {own}\r\nconnection: close\r\n{kind}content-length: {length}\r\n\r\n{body}"
        )
    };
    let json = "content-type: application/json\r\n";
    for (request, expected, hint) in [
        (get("/metrics", &own, ""), 401, "Authorization: Bearer"),
        (get("/metrics", &own, "authorization: Bearer wrong\r\n"), 401, "the token is in the file"),
        (get("/metrics", "evil.example", &token), 403, "--host"),
        (get("/metrics", &own, &format!("{token}origin: https://evil.example\r\n")), 403, "Origin"),
        (get("/export?session=s&form=html", &own, ""), 401, "Authorization: Bearer"),
        (get("/export?session=s&form=html", "evil.example", &token), 403, "--host"),
        (get("/export?session=s&form=html", &own, &format!("{token}origin: https://evil.example\r\n")), 403, "Origin"),
        (get("/export?session=s", &own, &token), 400, "forms are html, markdown, envelope, envelopes, viewer"),
        (get("/export?session=s&form=exe", &own, &token), 400, "forms are html, markdown, envelope, envelopes, viewer"),
        (get("/output?session=s&name=x", &own, ""), 401, "Authorization: Bearer"),
        (get("/output?session=s&name=x", &own, &format!("{token}origin: https://evil.example\r\n")), 403, "Origin"),
        (get("/output?session=s", &own, &token), 400, "fullOutputPath"),
        (get("/ws", &own, &token), 400, "ws://"),
        (ask("/ws?clientID=tab"), 400, "clientId"),
        (ask("/?client_id=tab"), 400, "clientId"),
        (ask("/ws?clientId=a&clientId=b"), 400, "send it once"),
        (ask("/ws?lifecycle=some"), 400, "lifecycle"),
        (login("", r#"{"ticket":"x"}"#), 415, "application/json"),
        (login(json, "{"), 400, "application/json"),
        (login(json, r#"{"ticket":"used"}"#), 401, "pi serve --ticket"),
    ] {
        let (status, head, body) = timeout(Duration::from_secs(9), request_to(&own, &request)).await.expect("an end");
        assert_eq!(status, expected, "{request}{body}");
        assert!(head.contains("content-type: application/json"), "{head}");
        let told: serde_json::Value = serde_json::from_str(&body).unwrap_or_else(|error| panic!("{body}: {error}"));
        assert!(told["error"].is_string() && told["hint"].as_str().is_some_and(|said| said.contains(hint)), "{told}");
    }
}

#[test]
fn cookie_of_a_browser_outlives_the_server_and_not_its_token() {
    let mut serving = Serving::start(Script::new());
    let address = serving.address.clone();
    let cookie = serving.block_on(async {
        let token = format!("authorization: Bearer {}\r\ncontent-length: 0\r\nconnection: close\r\n", serving.token());
        let (_, body) = http(&serving, &format!("POST /ticket HTTP/1.1\r\nhost: {address}\r\n{token}\r\n")).await;
        let told: serde_json::Value = serde_json::from_str(&body).unwrap_or_else(|error| panic!("{body}: {error}"));
        let body = json!({"ticket": told["ticket"]}).to_string();
        let head = format!("content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n", body.len());
        let login = format!("POST /login HTTP/1.1\r\nhost: {address}\r\n{head}\r\n{body}");
        let (status, head, body) = request_to(&address, &login).await;
        assert_eq!(status, 204, "{body}");
        let line = head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
        line.split_once("; ").expect("rules").0.to_owned()
    });
    // The name of a cookie has the port of the server that gave it.
    let (name, value) = cookie.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())).expect("both");
    let enter = |serving: &Serving| {
        let port = serving.address.rsplit(':').next().expect("a port");
        let name = name.replace(address.rsplit(':').next().expect("a port"), port);
        let request = get("/readyz", &serving.address, &format!("cookie: {name}={value}\r\n"));
        serving.block_on(http(serving, &request)).0
    };
    assert_eq!(enter(&serving), 200);
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        serving.restart(signal);
        assert_eq!(enter(&serving), 200, "{signal}");
    }
    remove(&serving.room.at("agent/server/token"));
    serving.restart(Signal::SIGTERM);
    assert_eq!(enter(&serving), 401);
}

#[tokio::test]
async fn ticket_of_a_browser_becomes_a_cookie_once() {
    const JSON: &str = "application/json";
    let house = House::open(Script::new(), &[]).await;
    let own = house.address.clone();
    let here = format!("http://{own}");
    let ticket = house.ticket();
    // Whoever may not come in does not use the ticket up.
    assert_eq!(login(&house, &ticket, JSON, "https://evil.example").await.0, 403);
    assert_eq!(login(&house, &ticket, "text/plain", &here).await.0, 415, "a form of another site sends no JSON");
    assert_eq!(login(&house, "guessed", JSON, &here).await.0, 401);
    let (status, head) = login(&house, &ticket, JSON, &here).await;
    assert_eq!(status, 204, "{head}");
    let line = head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
    let (cookie, rules) = line.split_once("; ").expect("rules");
    assert_eq!(rules, "Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000");
    let name = format!("pi_session_{}", own.rsplit(':').next().expect("a port"));
    let value = cookie.strip_prefix(&format!("{name}=")).expect("its name");
    assert!(value.len() >= 43 && value != ticket && value != house.token());
    assert_eq!(login(&house, &ticket, JSON, &here).await.0, 401, "it works once");
    for (host, more, expected) in [
        (&*own, format!("cookie: a=b; {cookie}\r\norigin: {here}\r\n"), 101),
        (&own, format!("cookie: {cookie}\r\n"), 101),
        (&own, format!("origin: {here}\r\n"), 401),
        (&own, format!("cookie: {name}=guessed\r\norigin: {here}\r\n"), 401),
        (&own, format!("cookie: {cookie}\r\norigin: https://evil.example\r\n"), 403),
        (&own, format!("cookie: {cookie}\r\norigin: http://127.0.0.1:1\r\n"), 403),
        (&own, format!("cookie: {cookie}\r\norigin: null\r\n"), 403),
        ("evil.example", format!("cookie: {cookie}\r\norigin: {here}\r\n"), 403),
    ] {
        assert_eq!(upgrade(&house, host, &more).await, expected, "{host} {more}");
    }
    let (status, _, body) = request_to(&own, &get("/metrics", &own, &format!("cookie: {cookie}\r\n"))).await;
    assert!(status == 200 && body.contains("pi_server_sessions"), "{body}");
}
