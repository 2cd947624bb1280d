//! The bundler's executable: carried inside this one, put where it can be started, and never where others can change it.

use std::{
    io::Read as _,
    path::{Path, PathBuf},
};

use flate2::read::GzDecoder;

use crate::fault::BuildFault;

/// Empty where it was built for another platform than the one that built it.
static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/bundler"));

const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A program that can be started as long as this is kept.
pub(super) struct Program {
    path: PathBuf,
    /// Open, and without a name: gone with the last process that uses it.
    #[cfg(target_os = "linux")]
    _file: std::fs::File,
}

impl Program {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

fn unpacked() -> Result<Vec<u8>, BuildFault> {
    if PACKED.is_empty() {
        return Err(BuildFault::NoBundler);
    }
    if !PACKED.starts_with(&GZIP) {
        return Ok(PACKED.to_vec());
    }
    let mut program = Vec::new();
    GzDecoder::new(PACKED).read_to_end(&mut program).map_err(BuildFault::Start)?;
    Ok(program)
}

/// In memory, in a file that no other program can name.
#[cfg(target_os = "linux")]
pub(super) fn prepare(_cache: &Path) -> Result<Program, BuildFault> {
    use std::{fs::File, io::Write as _, os::fd::AsRawFd as _};

    use rustix::fs::{MemfdFlags, memfd_create};

    let program = unpacked()?;
    let prepared = || -> std::io::Result<Program> {
        let mut writable = File::from(memfd_create("pi-bundler", MemfdFlags::CLOEXEC)?);
        writable.write_all(&program)?;
        // What is open for writing is not executed: only the second handle stays.
        let file = open(Path::new(&format!("/proc/self/fd/{}", writable.as_raw_fd())))?;
        let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        Ok(Program { path, _file: file })
    };
    prepared().map_err(BuildFault::Start)
}

#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "a file without a name, made two lines above")]
fn open(path: &Path) -> std::io::Result<std::fs::File> {
    std::fs::File::open(path)
}

/// A file in the cache, of which every byte is compared before each start.
#[cfg(not(target_os = "linux"))]
pub(super) fn prepare(cache: &Path) -> Result<Program, BuildFault> {
    use pi_extproto::artifact::Digest;

    use crate::file;

    let program = unpacked()?;
    let name = format!("bundler-{}{}", Digest::of(&program), std::env::consts::EXE_SUFFIX);
    let path = cache.join(name);
    if file::read(&path).ok().as_ref() != Some(&program) {
        file::make_folder(cache).and_then(|()| file::replace(&path, &program, 0o700)).map_err(BuildFault::Start)?;
    }
    Ok(Program { path })
}
