//! The key of this machine, and what is sealed with it.
//!
//! Whoever can read the key can forge entries; it lies in a file that only its owner reads, beside the entries.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use blake3::{Hash, Hasher, KEY_LEN, OUT_LEN};
use pi_extproto::artifact::Digest;
use ring::rand::{SecureRandom as _, SystemRandom};

use crate::{fault::CacheFault, file};

const KEY_FILE: &str = "machine.key";
pub(crate) const TAG_SIZE: usize = OUT_LEN;

/// Seals bytes so that nobody without the key can make others that pass.
pub(crate) struct Sealer {
    path: PathBuf,
    /// Empty as long as nothing was sealed on this machine.
    key: OnceLock<[u8; KEY_LEN]>,
}

/// An entry of which it is not known yet whether its seal is true.
pub(crate) struct Inspection {
    hasher: Hasher,
    length: u64,
}

impl Sealer {
    /// The key in `folder`, made when something is sealed for the first time: whoever only looks makes nothing.
    pub(crate) fn open(folder: &Path) -> Result<Self, CacheFault> {
        let path = folder.join(KEY_FILE);
        let key = found(&path)?.map_or_else(OnceLock::new, OnceLock::from);
        Ok(Self { path, key })
    }

    /// The seal of an entry under a name: under another it is another entry.
    pub(crate) fn seal(&self, name: &Digest, header: &[u8], content: &[u8]) -> Result<[u8; TAG_SIZE], CacheFault> {
        let mut inspection = Inspection::with(self.key()?);
        inspection.see(content);
        Ok(inspection.hash(name, header).into())
    }

    /// Looks at an entry, whose content comes first and may come in pieces. Nothing if there is no key yet: then nothing was
    /// sealed here.
    pub(crate) fn inspect(&self) -> Result<Option<Inspection>, CacheFault> {
        Ok(self.known()?.map(Inspection::with))
    }

    /// The key, if there is one; another process may have made it since.
    fn known(&self) -> Result<Option<&[u8; KEY_LEN]>, CacheFault> {
        if let Some(key) = self.key.get() {
            return Ok(Some(key));
        }
        let Some(key) = found(&self.path)? else { return Ok(None) };
        Ok(Some(self.key.get_or_init(|| key)))
    }

    /// The key, made if there is none. Several processes that come first at once agree on one.
    fn key(&self) -> Result<&[u8; KEY_LEN], CacheFault> {
        if let Some(key) = self.known()? {
            return Ok(key);
        }
        if let Some(folder) = self.path.parent() {
            file::make_folder(folder).map_err(|source| CacheFault::Io { path: self.path.clone(), source })?;
        }
        let key = whole(made(&self.path)?, &self.path)?;
        Ok(self.key.get_or_init(|| key))
    }
}

impl Inspection {
    fn with(key: &[u8; KEY_LEN]) -> Self {
        Self { hasher: Hasher::new_keyed(key), length: 0 }
    }

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

/// The key that is in a file; nothing if there is no file.
fn found(path: &Path) -> Result<Option<[u8; KEY_LEN]>, CacheFault> {
    match file::read(path) {
        Ok(key) => whole(key, path).map(Some),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(CacheFault::Io { path: path.to_path_buf(), source }),
    }
}

fn whole(key: Vec<u8>, path: &Path) -> Result<[u8; KEY_LEN], CacheFault> {
    key.try_into().map_err(|_| CacheFault::BadKey { path: path.to_path_buf() })
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
