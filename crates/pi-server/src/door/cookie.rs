//! The cookie of a browser that was let in: a time and some chance, under a seal that only this server's token makes.
//!
//! Nothing is kept of it, so a server that starts anew knows it again, and none that has another token does.

use std::fmt;

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use hmac::{Hmac, Mac as _};
use sha2::Sha256;

use super::Secret;

/// How long a cookie is good after the login.
pub const COOKIE_MS: u64 = 30 * 24 * 60 * 60 * 1000;
/// Says what is sealed: nobody can pass off anything else that the token may ever seal as a cookie.
const MEANING: &[u8] = b"pi browser cookie 1";

/// What makes cookies, and knows them again.
pub(super) struct Seal(Hmac<Sha256>);

impl Seal {
    pub(super) fn of(token: &Secret) -> Self {
        let mut mac = Hmac::new_from_slice(token.reveal().as_bytes()).expect("a key may have any length");
        mac.update(MEANING);
        Self(mac)
    }

    /// A cookie for a browser that is let in now.
    pub(super) fn cookie(&self, now: u64) -> Secret {
        let said = format!("{now}.{}", Secret::random().reveal());
        let seal = BASE64_URL_SAFE_NO_PAD.encode(self.sealing(&said).finalize().into_bytes());
        Secret::from(format!("{said}.{seal}"))
    }

    /// Whether a cookie is one of ours and not too old.
    pub(super) fn is_good(&self, cookie: &str, now: u64) -> bool {
        let Some((said, seal)) = cookie.rsplit_once('.') else { return false };
        let Ok(seal) = BASE64_URL_SAFE_NO_PAD.decode(seal) else { return false };
        // The time counts only under the seal, which is compared in a time that tells nothing.
        let is_ours = self.sealing(said).verify_slice(&seal).is_ok();
        let made: Option<u64> = said.split_once('.').and_then(|(made, _)| made.parse().ok());
        is_ours && made.is_some_and(|made| now.saturating_sub(made) < COOKIE_MS)
    }

    fn sealing(&self, said: &str) -> Hmac<Sha256> {
        let mut mac = self.0.clone();
        mac.update(said.as_bytes());
        mac
    }
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seal(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seal(token: &str) -> Seal {
        Seal::of(&Secret::from(token.to_owned()))
    }

    #[test]
    fn cookie_is_known_by_every_server_that_has_the_token_and_by_no_other() {
        let cookie = seal("the-token").cookie(5);
        assert!(seal("the-token").is_good(cookie.reveal(), 6));
        assert!(!seal("the-new-token").is_good(cookie.reveal(), 6));
        assert_ne!(cookie, seal("the-token").cookie(5), "no two browsers have the same");
    }

    #[test]
    fn cookie_of_which_anything_was_changed_is_none() {
        let cookie = seal("the-token").cookie(1000);
        let text = cookie.reveal();
        for (at, letter) in text.char_indices() {
            let other = if letter == '1' { '2' } else { '1' };
            let changed = format!("{}{other}{}", &text[..at], &text[at + 1..]);
            assert!(!seal("the-token").is_good(&changed, 1000), "{changed}");
        }
        let (_, rest) = text.split_once('.').expect("a time");
        for changed in
            [format!("9999999999999.{rest}"), text[..text.len() - 1].to_owned(), rest.to_owned(), String::new()]
        {
            assert!(!seal("the-token").is_good(&changed, 1000), "{changed}");
        }
    }

    #[test]
    fn cookie_is_good_for_its_time() {
        let cookie = seal("the-token").cookie(1000);
        assert!(seal("the-token").is_good(cookie.reveal(), 1000 + COOKIE_MS - 1));
        assert!(!seal("the-token").is_good(cookie.reveal(), 1000 + COOKIE_MS));
        // A clock that was put back makes nobody a stranger.
        assert!(seal("the-token").is_good(cookie.reveal(), 0));
    }
}
