//! The address of the server: who has it already, and who can listen in.

use std::{
    fs::OpenOptions,
    io::{self, Read as _, Write as _},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    time::Duration,
};

use pi_server::{journal, settings::Settings, transport::http};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpSocket, TcpStream},
    time::timeout,
};

use crate::{
    console::Console,
    failure::{Occupant, ServeFailure},
};

/// How long whoever has the port may take to say who it is.
const PATIENCE: Duration = Duration::from_millis(500);
/// More than the head of our answer.
const HEAD: u64 = 4096;

/// Connections that may wait to be taken.
const WAITING: u32 = 1024;

/// Takes an address for the server, or says who has it. Nobody reaches us there before we listen.
pub(super) async fn take(at: SocketAddr, settings: &Settings) -> Result<TcpSocket, ServeFailure> {
    let taken = || {
        let socket = if at.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        // A server that has just ended leaves connections behind that hold the address for a while.
        #[cfg(unix)]
        socket.set_reuseaddr(true)?;
        socket.bind(at)?;
        Ok(socket)
    };
    match taken() {
        Ok(socket) => Ok(socket),
        Err(source) => Err(untaken(at, source, settings).await),
    }
}

/// Listens at an address that was taken. Two may have taken it at once; the first who listens has it.
pub(super) async fn listen(
    socket: TcpSocket,
    at: SocketAddr,
    settings: &Settings,
) -> Result<TcpListener, ServeFailure> {
    match socket.listen(WAITING) {
        Ok(listener) => Ok(listener),
        Err(source) => Err(untaken(at, source, settings).await),
    }
}

async fn untaken(at: SocketAddr, source: io::Error, settings: &Settings) -> ServeFailure {
    if source.kind() == io::ErrorKind::AddrInUse {
        ServeFailure::Taken { at, by: occupant(at, settings).await }
    } else {
        ServeFailure::Bind { at, source }
    }
}

/// Writes down where the server is, for whoever wants a ticket later.
pub(super) fn remember(at: SocketAddr, settings: &Settings) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).truncate(true).write(true).open(settings.address())?;
    writeln!(file, "{} {}", near(at), std::process::id())
}

/// Nobody listens: where an earlier server did is no address of ours.
#[expect(clippy::disallowed_methods, reason = "a file of the server's own folder")]
pub(super) fn forget(settings: &Settings) -> io::Result<()> {
    match std::fs::remove_file(settings.address()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Where the server of these settings is that runs, if one does: whoever holds the journal wrote it down. A token goes there.
pub(super) fn running(settings: &Settings) -> Option<SocketAddr> {
    let holder = journal::holder(&settings.journal())?;
    let mut text = String::new();
    OpenOptions::new().read(true).open(settings.address()).ok()?.take(HEAD).read_to_string(&mut text).ok()?;
    let (at, process) = text.trim().split_once(' ')?;
    if process.parse() == Ok(holder.process) { at.parse().ok() } else { None }
}

/// Asks and reads the whole answer, which ends with the connection.
pub(super) async fn ask(at: SocketAddr, request: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(at).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    tokio::io::AsyncReadExt::take(stream, HEAD).read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// Says what others may hear, where others are served.
pub(super) fn warn(at: SocketAddr, console: &mut Console) {
    if !at.ip().is_loopback() {
        console.note(&format!(
            "other machines reach {at}, and what is said there, the token too, can be read on the way: it is HTTP without TLS. Put a \
             proxy with TLS in front, or listen on 127.0.0.1 and use `ssh -L {port}:127.0.0.1:{port} HOST`",
            port = at.port()
        ));
    }
}

/// Where browsers of this machine are led to. Cookies know no ports, only names: whoever gave the server a name of its own below
/// `localhost`, which leads nowhere else, keeps its cookies from other programs here. Such a name leads to `127.0.0.1` or `::1`, and to
/// no other address of the loopback range.
pub(super) fn for_browsers(at: SocketAddr, settings: &Settings) -> String {
    let leads_here = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)].contains(&at.ip());
    let port = format!(":{}", at.port());
    let names = settings.hosts.iter().map(|host| host.strip_suffix(port.as_str()).unwrap_or(host));
    let own = names.into_iter().find(|name| name.to_ascii_lowercase().ends_with(".localhost"));
    match own.filter(|_| leads_here) {
        Some(name) => format!("http://{name}:{}", at.port()),
        None => format!("http://{at}"),
    }
}

/// Who has the port. The token is not shown to somebody whom nobody knows.
async fn occupant(at: SocketAddr, settings: &Settings) -> Occupant {
    let is_pi = timeout(PATIENCE, is_pi(near(at))).await.is_ok_and(|asked| asked.unwrap_or(false));
    let is_own = running(settings) == Some(near(at));
    match (is_pi, journal::holder(&settings.journal()).filter(|_| is_own)) {
        (true, Some(holder)) => Occupant::Own { process: Some(holder.process), token: settings.token() },
        (true, None) => Occupant::Pi,
        (false, _) => Occupant::Other,
    }
}

async fn is_pi(at: SocketAddr) -> io::Result<bool> {
    let request = format!("GET /healthz HTTP/1.1\r\nhost: {at}\r\nconnection: close\r\n\r\n");
    let answer = ask(at, &request).await?.to_lowercase();
    Ok(answer.starts_with("http/1.1 200") && answer.contains(&format!("\r\nserver: {}\r\n", http::SERVER)))
}

/// Where a server that listens everywhere is reached from here.
fn near(at: SocketAddr) -> SocketAddr {
    let ip = match at.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, at.port())
}
