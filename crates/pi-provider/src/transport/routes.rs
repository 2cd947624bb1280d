//! Which transport leads to a server, made when it is first needed.

use std::{sync::OnceLock, time::Duration};

use url::Url;

use super::{Network, Transport, TransportError, is_on_this_machine};

/// The ways to all servers. A proxy or a certificate that cannot be used is in the way only of calls that need it: plain
/// HTTP to this machine goes by a transport that knows neither.
#[derive(Debug)]
pub struct Routes {
    network: Network,
    connect_timeout: Duration,
    near: OnceLock<Transport>,
    far: OnceLock<Transport>,
}

impl Routes {
    pub fn new(network: Network, connect_timeout: Duration) -> Self {
        Self { network, connect_timeout, near: OnceLock::new(), far: OnceLock::new() }
    }

    /// The transport for this address. A failure is not remembered, since whoever reads of it may mend it.
    pub fn to(&self, url: &Url) -> Result<&Transport, TransportError> {
        if url.scheme() == "http" && is_on_this_machine(url) {
            return made(&self.near, || Transport::near(self.connect_timeout));
        }
        made(&self.far, || Transport::new(&self.network, self.connect_timeout))
    }
}

/// Of two that are made at the same time one is used.
fn made(
    place: &OnceLock<Transport>,
    make: impl FnOnce() -> Result<Transport, TransportError>,
) -> Result<&Transport, TransportError> {
    if let Some(transport) = place.get() {
        return Ok(transport);
    }
    let transport = make()?;
    Ok(place.get_or_init(|| transport))
}
