//! From names to addresses.

use std::{io, net::IpAddr};

use futures_util::future::BoxFuture;

/// Finds the addresses of a name. Implemented by the system and by the script of a test, which can change its mind.
pub trait Resolver: Send + Sync {
    /// All addresses, at least one unless it fails. Dropping the future gives up.
    fn resolve<'a>(&'a self, name: &'a str, port: u16) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// Asks the system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve<'a>(&'a self, name: &'a str, port: u16) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, port)).await?;
            let mut addresses: Vec<IpAddr> = found.map(|address| address.ip()).collect();
            addresses.dedup();
            Ok(addresses)
        })
    }
}
