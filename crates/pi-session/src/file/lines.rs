//! A file as lines, without holding more of it than the longest.

use std::io::{self, Read};

use memchr::memchr;

/// How much is read at once. A longer line makes the buffer grow.
const CHUNK: usize = 256 << 10;

/// Calls `visit` with every line, without its line end, and returns what stands behind the last one.
pub(crate) fn each_line<E: From<io::Error>>(
    mut file: impl Read,
    mut visit: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<Vec<u8>, E> {
    let mut buffer = vec![0; CHUNK];
    let mut filled = 0;
    loop {
        if filled == buffer.len() {
            buffer.resize(buffer.len() * 2, 0);
        }
        let count = match file.read(&mut buffer[filled..]) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        };
        if count == 0 {
            buffer.truncate(filled);
            return Ok(buffer);
        }
        // What was there before has no line end in it.
        let (mut start, mut from) = (0, filled);
        filled += count;
        while let Some(length) = memchr(b'\n', &buffer[from..filled]) {
            let end = from + length;
            visit(&buffer[start..end])?;
            (start, from) = (end + 1, end + 1);
        }
        buffer.copy_within(start..filled, 0);
        filled -= start;
    }
}
