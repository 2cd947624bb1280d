//! The key of this machine, and what is sealed with it.
//!
//! Whoever can read the key can forge entries; it lies in a file that only its owner reads, beside the entries.

use std::{fmt, path::Path};

use blake3::{Hash, Hasher, KEY_LEN, OUT_LEN};
use pi_extproto::artifact::Digest;
use ring::rand::{SecureRandom as _, SystemRandom};

use crate::{fault::CacheFault, file};

const KEY_FILE: &str = "machine.key";
pub(crate) const TAG_SIZE: usize = OUT_LEN;

/// Seals bytes so that nobody without the key can make others that pass.
pub(crate) struct Sealer([u8; KEY_LEN]);

/// An entry of which it is not known yet whether its seal is true.
pub(crate) struct Inspection {
    hasher: Hasher,
    length: u64,
}

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
        key.try_into().map(Self).map_err(|_| CacheFault::BadKey { path })
    }

    /// The seal of an entry under a name: under another it is another entry.
    pub(crate) fn seal(&self, name: &Digest, header: &[u8], content: &[u8]) -> [u8; TAG_SIZE] {
        let mut inspection = self.inspect();
        inspection.see(content);
        inspection.hash(name, header).into()
    }

    /// Looks at an entry, whose content comes first and may come in pieces.
    pub(crate) fn inspect(&self) -> Inspection {
        Inspection { hasher: Hasher::new_keyed(&self.0), length: 0 }
    }
}

impl Inspection {
    /// The next piece of the content. What is hashed before a piece is a multiple of its length, so that the hash goes over it in
    /// strides: names and headers come last.
    pub(crate) fn see(&mut self, piece: &[u8]) {
        self.hasher.update(piece);
        self.length += piece.len() as u64;
    }

    /// Whether this is its seal. Compared in constant time.
    pub(crate) fn bears(self, name: &Digest, header: &[u8], tag: &[u8; TAG_SIZE]) -> bool {
        self.hash(name, header) == Hash::from_bytes(*tag)
    }

    fn hash(mut self, name: &Digest, header: &[u8]) -> Hash {
        // Where the content ends is sealed as well.
        self.hasher.update(header).update(&self.length.to_le_bytes()).update(name.as_bytes()).finalize()
    }
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealer").finish_non_exhaustive()
    }
}

fn made(path: &Path) -> Result<Vec<u8>, CacheFault> {
    let mut key = [0; KEY_LEN];
    SystemRandom::new().fill(&mut key).map_err(|_| CacheFault::NoRandom)?;
    let io = |source| CacheFault::Io { path: path.to_path_buf(), source };
    file::write_once(path, &key, 0o600).map_err(io)?;
    // Somebody else may have been first.
    file::read(path).map_err(io)
}
