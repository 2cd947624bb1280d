//! The key of this machine, and what is sealed with it.
//!
//! Whoever can read the key can forge entries; it lies in a file that only its owner reads, beside the entries.

use std::path::Path;

use ring::{
    hmac,
    rand::{SecureRandom as _, SystemRandom},
};

use crate::{fault::CacheFault, file};

const KEY_FILE: &str = "machine.key";
const KEY_SIZE: usize = 32;
pub(crate) const TAG_SIZE: usize = 32;

/// Seals bytes so that nobody without the key can make others that pass.
#[derive(Debug)]
pub(crate) struct Sealer(hmac::Key);

impl Sealer {
    /// The key in `folder`, made at first use. Several processes that come first at once agree on one.
    pub(crate) fn open(folder: &Path) -> Result<Self, CacheFault> {
        let path = folder.join(KEY_FILE);
        let io = |source| CacheFault::Io { path: path.clone(), source };
        file::make_folder(folder).map_err(io)?;
        let key = match file::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => made(&path)?,
            other => other.map_err(io)?,
        };
        match key.len() {
            KEY_SIZE => Ok(Self(hmac::Key::new(hmac::HMAC_SHA256, &key))),
            _ => Err(CacheFault::BadKey { path }),
        }
    }

    pub(crate) fn seal(&self, bytes: &[u8]) -> [u8; TAG_SIZE] {
        hmac::sign(&self.0, bytes).as_ref().try_into().expect("a tag of SHA-256 has 32 bytes")
    }

    /// Compared in constant time.
    pub(crate) fn is_sealed(&self, bytes: &[u8], tag: &[u8]) -> bool {
        hmac::verify(&self.0, bytes, tag).is_ok()
    }
}

fn made(path: &Path) -> Result<Vec<u8>, CacheFault> {
    let mut key = [0; KEY_SIZE];
    SystemRandom::new().fill(&mut key).map_err(|_| CacheFault::NoRandom)?;
    let io = |source| CacheFault::Io { path: path.to_path_buf(), source };
    file::write_once(path, &key, 0o600).map_err(io)?;
    // Somebody else may have been first.
    file::read(path).map_err(io)
}
