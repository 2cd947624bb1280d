//! Proxies, redirects, certificates.

use std::{net::SocketAddr, sync::Arc};

use pi_provider::{
    CallError, Cause, ErrorCode,
    transport::{Network, Obstacle, Proxies, Roots},
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

/// Behind a tunnel the proxy says it to the tunnel; without one it answers in the place of the server.
#[tokio::test]
async fn proxy_that_wants_a_password_is_not_taken_for_the_server() {
    let refused = || Reply::whole(407, "text/html", b"<html>who are you?").header("proxy-authenticate", "Basic");
    let proxied = |server: &Server| environment(&[("HTTP_PROXY", &server.url())]);
    let proxy = fixture(Script::new().otherwise(refused()), "http://provider.test/v1", proxied).await;
    let error = proxy.error().await;
    let CallError::Unreachable { source, .. } = &error else { panic!("{error:?}") };
    assert_eq!(*source, Obstacle::ProxyCredential);
    let direct = Fixture::new(Script::new().otherwise(refused())).await;
    assert!(matches!(direct.error().await, CallError::Refused { .. }));
}

#[tokio::test]
async fn excepted_hosts_and_this_machine_are_reached_directly() {
    let proxied = |server: &Server| environment(&[("ALL_PROXY", &server.url()), ("NO_PROXY", HOST)]);
    let excepted = fixture(Script::new().otherwise(hello()), "http://provider.test/v1", proxied).await;
    let error = excepted.error().await;
    // The proxy has no part in it.
    let CallError::Unreachable { source, .. } = &error else { panic!("{error:?}") };
    assert_eq!(*source, Obstacle::UnknownHost { host: HOST.to_owned() });
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
        let to = format!("{}/elsewhere", other.url());
        let told = format!("mock-one sends the request elsewhere ({status} to {to}), where it is not followed");
        assert_eq!(error.to_string(), told);
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

fn authority(names: Vec<String>) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(names).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Answers one request on `HOST`, and gives back the first bytes that it was sent.
async fn tls(protocol: &[u8]) -> Tls {
    let issuer = authority(Vec::new());
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec![HOST.to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
    serve(certificate.der().clone(), &key, issuer.pem(), protocol).await
}

async fn serve(certificate: CertificateDer<'static>, key: &KeyPair, authority: String, protocol: &[u8]) -> Tls {
    let chain = vec![certificate];
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
    Tls { address, authority, server }
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
    // There is a proxy, but it did its work.
    let told = "the certificate of provider.test is not believed: nobody here knows who vouches for it";
    let CallError::Unreachable { source, .. } = &error else { panic!("{error:?}") };
    assert_eq!(source.to_string(), told);
    assert_eq!(tls.server.await.unwrap(), b"");
}

/// Asks without a proxy at this address over TLS. Whoever tries again finds nobody there any more.
async fn ask_directly(address: SocketAddr, roots: Roots) -> CallError {
    asked_directly(address, roots).await.unwrap_err()
}

async fn asked_directly(address: SocketAddr, roots: Roots) -> Result<String, CallError> {
    let server = Server::start(Script::new()).await.unwrap();
    let eager = json!({"retry_policy": {"strategy": "fixed_delay", "max_retries": 1, "min_delay_ms": 1}});
    let network = Network { proxies: Proxies::default(), roots };
    let manifest = manifest(&format!("https://{address}/v1"), eager);
    Fixture::of(server, manifest, Settings { network, ..settings() }).text().await
}

fn check_lasting(error: &CallError, told: &str, advice: &str) {
    assert_eq!(Cause::of(error).message, format!("mock-one cannot be reached: {told}"));
    let CallError::Unreachable { source, .. } = error else { panic!("{error:?}") };
    assert!(source.hint().contains(advice), "{}", source.hint());
    assert!(!error.code().is_retryable());
}

#[tokio::test]
async fn certificate_that_is_not_believed_is_told_in_words_and_not_tried_again() {
    let check = |error: &CallError, reason: &str| {
        let told = format!("the certificate of 127.0.0.1 is not believed: {reason}");
        check_lasting(error, &told, "NODE_EXTRA_CA_CERTS=FILE");
    };
    let unknown = tls(b"http/1.1").await;
    check(&ask_directly(unknown.address, Roots::default()).await, "nobody here knows who vouches for it");
    assert_eq!(unknown.server.await.unwrap(), b"");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ca.pem");
    let named = tls(b"http/1.1").await;
    std::io::Write::write_all(&mut new_file(&path), named.authority.as_bytes()).unwrap();
    check(
        &ask_directly(named.address, Roots { extra: Some(path), ..Roots::default() }).await,
        "it is for another name",
    );
    let own = authority(vec!["127.0.0.1".to_owned()]);
    let own = serve(own.der().clone(), own.key(), own.pem(), b"http/1.1").await;
    let reason = "it is an authority's own, where a server needs one that an authority has signed";
    let told = format!("the certificate of 127.0.0.1 is not believed: {reason}");
    check_lasting(&ask_directly(own.address, Roots::default()).await, &told, "name that certificate in");
}

/// `openssl req -x509` writes such certificates: they sign themselves, and say that they are an authority's.
#[tokio::test]
async fn certificate_of_a_server_that_is_named_itself_is_believed_for_its_names() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let write = |name: &str, pem: &str| std::io::Write::write_all(&mut new_file(&path(name)), pem.as_bytes()).unwrap();
    let extra = |name: &str| Roots { extra: Some(path(name)), ..Roots::default() };
    let only = |name: &str| Roots { file: Some(path(name)), ..Roots::default() };
    for (name, roots) in [("1", extra("1")), ("2", only("2"))] {
        let own = authority(vec!["127.0.0.1".to_owned()]);
        let own = serve(own.der().clone(), own.key(), own.pem(), b"http/1.1").await;
        write(name, &own.authority);
        assert_eq!(asked_directly(own.address, roots).await.unwrap(), "over TLS");
        assert!(own.server.await.unwrap().starts_with(b"POST "));
    }
    let refused = |error: &CallError, reason: &str| {
        let told = format!("the certificate of 127.0.0.1 is not believed: {reason}");
        check_lasting(error, &told, "NODE_EXTRA_CA_CERTS=FILE");
    };
    for (name, roots) in [("3", extra("3")), ("4", only("4"))] {
        let elsewhere = authority(vec!["provider.test".to_owned()]);
        let elsewhere = serve(elsewhere.der().clone(), elsewhere.key(), elsewhere.pem(), b"http/1.1").await;
        write(name, &elsewhere.authority);
        refused(&ask_directly(elsewhere.address, roots).await, "it is for another name");
    }
    let mut old = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    old.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    old.not_after = rcgen::date_time_ymd(2000, 1, 1);
    let old = CertifiedIssuer::self_signed(old, KeyPair::generate().unwrap()).unwrap();
    let old = serve(old.der().clone(), old.key(), old.pem(), b"http/1.1").await;
    write("5", &old.authority);
    refused(&ask_directly(old.address, extra("5")).await, "it has expired");
    let other = authority(vec!["127.0.0.1".to_owned()]);
    let other = serve(other.der().clone(), other.key(), other.pem(), b"http/1.1").await;
    let reason = "it is an authority's own, where a server needs one that an authority has signed";
    refused(&ask_directly(other.address, extra("1")).await, reason);
}

#[tokio::test]
async fn server_without_tls_is_told_as_one_and_not_tried_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        // Until the other side hangs up; whatever it sends is of no interest.
        let _ = stream.read_to_end(&mut Vec::new()).await;
    });
    let error = ask_directly(address, Roots::default()).await;
    check_lasting(&error, &format!("https://{address} does not speak TLS"), "http:// instead of https://");
    server.await.unwrap();
}

#[tokio::test]
async fn second_version_of_http_is_spoken_where_the_server_wants_it() {
    let tls = tls(b"h2").await;
    let (outcome, _) = ask_tls(&tls, |folder| Roots { file: Some(folder.join("ca.pem")), ..Roots::default() }).await;
    outcome.unwrap_err();
    let sent = tls.server.await.unwrap();
    assert!(sent.starts_with(b"PRI * HTTP/2.0\r\n"), "{}", String::from_utf8_lossy(&sent));
}

/// Only whoever needs them is told, and only then; the next call finds what was mended.
#[tokio::test]
async fn certificates_and_proxies_that_cannot_be_used_stop_only_calls_that_need_them() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.pem");
    drop(new_file(&empty));
    let absent = folder.path().join("absent");
    let (absent, empty) = (absent.to_str().unwrap(), empty.to_str().unwrap());
    for (variables, expected) in [
        (&[("NODE_EXTRA_CA_CERTS", absent)], "NODE_EXTRA_CA_CERTS: FOLDER/absent cannot be read"),
        (&[("SSL_CERT_FILE", empty)], "SSL_CERT_FILE: there is no certificate in FOLDER/empty.pem"),
        (&[("SSL_CERT_DIR", absent)], "SSL_CERT_DIR: FOLDER/absent cannot be read"),
        (&[("ALL_PROXY", "gopher://planted")], "ALL_PROXY is not the address of a proxy that can be used"),
    ] {
        let far = fixture(Script::new(), "https://provider.test/v1", |_| environment(variables)).await;
        let error = far.error().await;
        assert_eq!((error.to_string(), error.code()), (CANNOT.to_owned(), ErrorCode::InvalidRequest));
        let CallError::NoNetwork { source, .. } = &error else { panic!("{error:?}") };
        let shown = source.to_string().replace(&folder.path().display().to_string(), "FOLDER");
        assert_eq!(shown, expected);
        assert!(source.hint().contains(variables[0].0), "{}", source.hint());
        assert!(!format!("{error:?} {}", source.hint()).contains("planted"));

        let server = Server::start(Script::new().otherwise(hello())).await.unwrap();
        let near = fixture(Script::new(), &server.url(), |_| environment(variables)).await;
        assert_eq!(near.text().await.unwrap(), "Hello, world", "{expected}");
    }
}

const CANNOT: &str = "mock-one cannot be asked from here";

/// A proxy of the kind SOCKS 5 with a password, which leads every connection to one server. Gives back what it was told:
/// user, password, and where to.
async fn socks(to: SocketAddr) -> (SocketAddr, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let task = tokio::spawn(async move {
        let (mut client, _) = listener.accept().await.unwrap();
        let [5, methods] = read_bytes(&mut client, 2).await[..] else { panic!("not SOCKS 5") };
        assert!(read_bytes(&mut client, methods.into()).await.contains(&2), "a password is offered");
        client.write_all(&[5, 2]).await.unwrap();
        let [1, length] = read_bytes(&mut client, 2).await[..] else { panic!("not a password") };
        let user = String::from_utf8(read_bytes(&mut client, length.into()).await).unwrap();
        let [length] = read_bytes(&mut client, 1).await[..] else { panic!("no password") };
        let password = String::from_utf8(read_bytes(&mut client, length.into()).await).unwrap();
        client.write_all(&[1, 0]).await.unwrap();
        let [5, 1, 0, 3, length] = read_bytes(&mut client, 5).await[..] else { panic!("not a name to connect to") };
        let host = String::from_utf8(read_bytes(&mut client, length.into()).await).unwrap();
        let port = u16::from_be_bytes(read_bytes(&mut client, 2).await.try_into().unwrap());
        client.write_all(&[5, 0, 0, 1, 127, 0, 0, 1, 0, 80]).await.unwrap();
        let mut server = TcpStream::connect(to).await.unwrap();
        // Either side may hang up; the test looks at what was said.
        let _ = copy_bidirectional(&mut client, &mut server).await;
        format!("{user}:{password} {host}:{port}")
    });
    (address, task)
}

async fn read_bytes(stream: &mut (impl AsyncRead + Unpin), count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    stream.read_exact(&mut bytes).await.unwrap();
    bytes
}

#[tokio::test]
async fn socks_proxy_is_spoken_to_and_looks_names_up_itself() {
    let server = Server::start(Script::new().otherwise(hello())).await.unwrap();
    let (proxy, task) = socks(server.address()).await;
    let url = format!("socks5h://user:word@{proxy}");
    let fixture = fixture(Script::new(), "http://provider.test/v1", |_| environment(&[("ALL_PROXY", &url)])).await;
    assert_eq!(fixture.text().await.unwrap(), "Hello, world");
    drop((fixture, server));
    assert_eq!(task.await.unwrap(), "user:word provider.test:80");
}

/// Whoever listens there serves people: an address without `/v1`, or a login page that is in the way.
#[tokio::test]
async fn web_page_is_told_as_one_and_not_asked_for_again() {
    let named = Reply::whole(200, "text/html; charset=utf-8", b"Welcome");
    let unnamed = Reply::text(200, "\n<HTML>");
    for reply in [named, unnamed] {
        let fixture = Fixture::new(Script::new().otherwise(reply)).await;
        let told = format!("the server at {} answered with a web page", fixture.server.url());
        for error in [fixture.error().await, fixture.complete().await.unwrap_err()] {
            assert_eq!((error.to_string(), error.code().is_retryable()), (told.clone(), false));
        }
        assert_eq!(fixture.server.requests().len(), 2, "once for each");
    }
}

#[tokio::test]
async fn server_that_hangs_up_is_told_without_the_words_of_a_library() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            read_head(&mut stream).await;
        }
    });
    let fixture = fixture(Script::new(), &url, |_| Network::default()).await;
    let error = fixture.error().await;
    server.abort();
    let CallError::Unreachable { source, .. } = &error else { panic!("{error:?}") };
    assert_eq!(*source, Obstacle::HungUp);
    assert_eq!(
        Cause::of(&error).message,
        "mock-one cannot be reached: the connection was closed before an answer came"
    );
}
