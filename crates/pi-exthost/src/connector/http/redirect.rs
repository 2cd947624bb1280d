//! Where an answer sends a request on to, and what goes along.

use reqwest::{
    Method, Response, StatusCode,
    header::{AUTHORIZATION, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_LOCATION, CONTENT_TYPE, COOKIE, LOCATION},
};

use pi_extproto::host::HostError;

use super::{super::invalid, Hop};

/// The next hop; nothing if the answer is the answer.
pub(super) fn next(hop: &Hop, response: &Response) -> Result<Option<Hop>, HostError> {
    let status = response.status();
    let is_redirect = [301, 302, 303, 307, 308].contains(&status.as_u16());
    let Some(location) = response.headers().get(LOCATION).filter(|_| is_redirect) else { return Ok(None) };
    let location = location.to_str().map_err(|_| invalid("a redirect leads to something that is no text"))?;
    let url = hop.url.join(location).map_err(|error| invalid(format!("a redirect leads astray: {error}")))?;
    let mut next = Hop { url, ..hop.clone() };
    if becomes_get(status, &hop.method) {
        next.method = Method::GET;
        next.body = None;
        for name in [CONTENT_TYPE, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_LOCATION] {
            next.headers.remove(name);
        }
    }
    if next.url.origin() != hop.url.origin() {
        // What was meant for one machine is not for another.
        for name in [AUTHORIZATION, COOKIE] {
            next.headers.remove(name);
        }
    }
    Ok(Some(next))
}

/// As browsers do it.
fn becomes_get(status: StatusCode, method: &Method) -> bool {
    match status.as_u16() {
        303 => *method != Method::HEAD,
        301 | 302 => *method == Method::POST,
        _ => false,
    }
}
