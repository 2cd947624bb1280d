//! Clients that know one host and the addresses that were checked for it.

use std::{
    net::{IpAddr, SocketAddr},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use reqwest::{Client, Proxy, redirect::Policy};

/// Hosts whose connections are kept; the one that was not used for longest gives way.
const MOST: usize = 16;
const IDLE: Duration = Duration::from_secs(30);
const CONNECTING: Duration = Duration::from_secs(30);

/// The clients of one guest: a connection is shared with nobody whose grants are others.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    /// The one that was used last at the end. A lock and no task: it is held for a look-up, or to make one.
    known: Mutex<Vec<Known>>,
}

#[derive(Debug)]
struct Known {
    host: String,
    addresses: Vec<IpAddr>,
    proxy: Option<String>,
    client: Client,
}

impl Clients {
    /// A client that connects to these addresses and no other.
    pub(super) fn get(&self, host: &str, addresses: &[IpAddr], proxy: Option<&str>) -> reqwest::Result<Client> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it =
            |known: &Known| known.host == host && known.addresses == addresses && known.proxy.as_deref() == proxy;
        let place = known.iter().position(is_it);
        let found = match place {
            Some(place) => known.remove(place),
            None => Known {
                host: host.to_owned(),
                addresses: addresses.to_vec(),
                proxy: proxy.map(str::to_owned),
                client: make(host, addresses, proxy)?,
            },
        };
        let client = found.client.clone();
        known.push(found);
        if known.len() > MOST {
            known.remove(0);
        }
        Ok(client)
    }
}

fn make(host: &str, addresses: &[IpAddr], proxy: Option<&str>) -> reqwest::Result<Client> {
    // Whoever was first in this process decides; both outcomes leave one installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // The port is that of the request.
    let pinned: Vec<SocketAddr> = addresses.iter().map(|address| SocketAddr::new(*address, 0)).collect();
    let builder = Client::builder()
        .no_proxy()
        .redirect(Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .connect_timeout(CONNECTING)
        .pool_idle_timeout(IDLE)
        .resolve_to_addrs(host, &pinned);
    match proxy {
        Some(proxy) => builder.proxy(Proxy::all(proxy)?).build(),
        None => builder.build(),
    }
}
