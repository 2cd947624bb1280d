//! Proxies, redirects, certificates.

use std::{net::SocketAddr, sync::Arc};

use pi_provider::{
    CallError, ErrorCode,
    transport::{Network, Proxies, Roots, TransportError},
};
use pi_testkit::{Reply, Script};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer},
    },
};

use super::*;

/// A name that nobody resolves: only a proxy can lead there.
const HOST: &str = "provider.test";

fn environment(pairs: &[(&str, &str)]) -> Network {
    let find = |name: &str| pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    Network::from_environment(&find)
}

async fn fixture(script: Script, base_url: &str, network: impl FnOnce(&Server) -> Network) -> Fixture {
    let server = Server::start(script).await.unwrap();
    let network = network(&server);
    let manifest = manifest(base_url, json!({"retry_policy": {"strategy": "none"}}));
    Fixture::of(server, manifest, Settings { network, ..settings() })
}

#[tokio::test]
async fn plain_requests_go_through_the_proxy_with_its_password() {
    let proxied = |server: &Server| {
        let url = format!("http://user:word@{}", server.address());
        environment(&[("HTTP_PROXY", &url), ("NO_PROXY", "other.test")])
    };
    let fixture = fixture(Script::new().otherwise(hello()), "http://provider.test/v1", proxied).await;
    assert_eq!(fixture.text().await.unwrap(), "Hello, world");
    let request = &fixture.server.requests()[0];
    assert_eq!(request.target, "http://provider.test/v1/chat/completions");
    assert_eq!(request.header("proxy-authorization"), Some("Basic dXNlcjp3b3Jk"));
}

#[tokio::test]
async fn excepted_hosts_and_this_machine_are_reached_directly() {
    let proxied = |server: &Server| environment(&[("ALL_PROXY", &server.url()), ("NO_PROXY", HOST)]);
    let excepted = fixture(Script::new().otherwise(hello()), "http://provider.test/v1", proxied).await;
    assert!(matches!(excepted.error().await, CallError::Unreachable { .. }));
    assert!(excepted.server.requests().is_empty());
    let local = Server::start(Script::new().otherwise(hello())).await.unwrap();
    let proxied = |server: &Server| environment(&[("ALL_PROXY", &server.url())]);
    let direct = fixture(Script::new().otherwise(failing(500)), &local.url(), proxied).await;
    assert_eq!(direct.text().await.unwrap(), "Hello, world");
    assert_eq!((direct.server.requests().len(), local.requests().len()), (0, 1));
}

#[tokio::test]
async fn redirects_never_carry_the_credential_to_another_server() {
    let other = Server::start(Script::new().otherwise(hello())).await.unwrap();
    for status in [301, 302, 303, 307, 308] {
        let away = Reply::text(status, "").header("location", &format!("{}/elsewhere", other.url()));
        let fixture = Fixture::new(Script::new().otherwise(away)).await;
        let error = fixture.error().await;
        assert_eq!(error.code(), ErrorCode::Unknown, "{error}");
        assert_eq!((fixture.server.requests().len(), other.requests().len()), (1, 0), "{status}");
    }
}

#[tokio::test]
async fn redirects_on_the_same_server_keep_the_request() {
    let moved = Reply::text(308, "").header("location", "/v2/chat");
    let fixture = Fixture::new(Script::new().once("/chat/completions", moved).once("/v2/chat", hello())).await;
    assert_eq!(fixture.text().await.unwrap(), "Hello, world");
    let requests = fixture.server.requests();
    assert_eq!((requests[0].body.clone(), requests[1].method.as_str()), (requests[1].body.clone(), "POST"));
    let turned = Reply::text(302, "").header("location", "/v2/chat");
    let fixture = Fixture::new(Script::new().otherwise(turned)).await;
    fixture.error().await;
    assert_eq!(fixture.server.requests().len(), 1, "302 would turn it into a question without a body");
}

#[tokio::test]
async fn redirects_in_a_circle_end() {
    let again = Reply::text(307, "").header("location", "/chat/completions");
    let fixture = Fixture::new(Script::new().otherwise(again)).await;
    fixture.error().await;
    assert_eq!(fixture.server.requests().len(), 4);
}

/// An authority that nobody knows, with a server that it vouches for.
struct Tls {
    address: SocketAddr,
    authority: String,
    server: JoinHandle<Vec<u8>>,
}

/// Answers one request on `HOST`, and gives back the first bytes that it was sent.
async fn tls(protocol: &[u8]) -> Tls {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec![HOST.to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
    let chain: Vec<CertificateDer<'static>> = vec![certificate.der().clone()];
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap();
    let mut config = config.with_no_client_auth().with_single_cert(chain, key).unwrap();
    config.alpn_protocols = vec![protocol.to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let Ok(mut stream) = acceptor.accept(stream).await else { return Vec::new() };
        let mut head = [0; 4096];
        let length = stream.read(&mut head).await.unwrap_or(0);
        let body = format!("{}{}data: [DONE]\n\n", delta("over TLS"), stop());
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        // A client that does not speak HTTP/1.1 hangs up, which is none of this server's concern.
        let _ = stream.write_all(answer.as_bytes()).await;
        let _ = stream.shutdown().await;
        head[..length].to_vec()
    });
    Tls { address, authority: issuer.pem(), server }
}

/// A proxy that leads every tunnel to one server; gives back where the first one was to go.
async fn tunnel(to: SocketAddr) -> (SocketAddr, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let task = tokio::spawn(async move {
        let (mut client, _) = listener.accept().await.unwrap();
        let head = read_head(&mut client).await;
        let mut server = TcpStream::connect(to).await.unwrap();
        client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
        // Either side may hang up; the test looks at what was said.
        let _ = copy_bidirectional(&mut client, &mut server).await;
        head.lines().next().unwrap_or_default().to_owned()
    });
    (address, task)
}

async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

/// Asks through a tunnel, believing what the variable names.
async fn ask_tls(tls: &Tls, roots: impl FnOnce(&std::path::Path) -> Roots) -> (Result<String, CallError>, String) {
    let folder = tempfile::tempdir().unwrap();
    std::io::Write::write_all(&mut new_file(&folder.path().join("ca.pem")), tls.authority.as_bytes()).unwrap();
    let (proxy, task) = tunnel(tls.address).await;
    let proxies = Proxies { https: Some(format!("http://{proxy}")), ..Proxies::default() };
    let network = Network { proxies, roots: roots(folder.path()) };
    let fixture = fixture(Script::new(), "https://provider.test/v1", |_| network).await;
    let outcome = fixture.text().await;
    drop(fixture);
    (outcome, task.await.unwrap())
}

fn new_file(path: &std::path::Path) -> std::fs::File {
    std::fs::OpenOptions::new().write(true).create_new(true).open(path).unwrap()
}

#[tokio::test]
async fn certificates_of_the_environment_are_believed_through_a_tunnel() {
    type Choose = fn(&std::path::Path) -> Roots;
    let choices: [Choose; 3] = [
        |folder| Roots { file: Some(folder.join("ca.pem")), ..Roots::default() },
        |folder| Roots { folders: vec![folder.to_owned()], ..Roots::default() },
        |folder| Roots { extra: Some(folder.join("ca.pem")), ..Roots::default() },
    ];
    for choose in choices {
        let tls = tls(b"http/1.1").await;
        let (outcome, tunnelled) = ask_tls(&tls, choose).await;
        assert_eq!(outcome.unwrap(), "over TLS");
        assert_eq!(tunnelled, "CONNECT provider.test:443 HTTP/1.1");
        let sent = String::from_utf8(tls.server.await.unwrap()).unwrap();
        assert!(sent.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{sent}");
        assert!(sent.contains(PLANTED));
    }
}

#[tokio::test]
async fn unknown_authority_is_not_believed_and_gets_no_credential() {
    let tls = tls(b"http/1.1").await;
    let (outcome, _) = ask_tls(&tls, |_| Roots::default()).await;
    let error = outcome.unwrap_err();
    assert!(matches!(error, CallError::Unreachable { .. }), "{error}");
    assert_eq!(tls.server.await.unwrap(), b"");
}

#[tokio::test]
async fn second_version_of_http_is_spoken_where_the_server_wants_it() {
    let tls = tls(b"h2").await;
    let (outcome, _) = ask_tls(&tls, |folder| Roots { file: Some(folder.join("ca.pem")), ..Roots::default() }).await;
    outcome.unwrap_err();
    let sent = tls.server.await.unwrap();
    assert!(sent.starts_with(b"PRI * HTTP/2.0\r\n"), "{}", String::from_utf8_lossy(&sent));
}

#[test]
fn certificates_that_cannot_be_read_are_an_error_that_names_the_variable() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.pem");
    drop(new_file(&empty));
    let check = |roots: Roots, expected: &str| {
        let network = Network { roots, ..Network::default() };
        let error = Client::new(Settings { network, ..settings() }).unwrap_err();
        let shown = error.to_string().replace(&folder.path().display().to_string(), "FOLDER");
        assert_eq!(shown, expected);
        assert!(!matches!(error, TransportError::Tls { .. }));
    };
    let absent = folder.path().join("absent");
    check(
        Roots { extra: Some(absent.clone()), ..Roots::default() },
        "NODE_EXTRA_CA_CERTS: FOLDER/absent cannot be read",
    );
    check(
        Roots { file: Some(empty), ..Roots::default() },
        "SSL_CERT_FILE: there is no certificate in FOLDER/empty.pem",
    );
    check(Roots { folders: vec![absent], ..Roots::default() }, "SSL_CERT_DIR: FOLDER/absent cannot be read");
}
