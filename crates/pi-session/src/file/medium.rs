//! What is needed of a file that is only added to.

use std::{fmt, io};

/// A file that grows at its end.
///
/// Two kinds exist: [`Disk`](super::Disk), the operating system's, and one of the tests that fails at any byte and loses
/// what was not synced.
pub trait Medium: fmt::Debug + Send {
    fn length(&mut self) -> io::Result<u64>;

    /// Writes at the end, perhaps not everything, and says how much.
    fn append(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Returns when everything that was written would survive a loss of power.
    fn sync(&mut self) -> io::Result<()>;

    /// Cuts the file off behind its first `length` bytes.
    fn truncate(&mut self, length: u64) -> io::Result<()>;

    /// Whether the file can still be found by its name. One that was deleted takes everything and keeps nothing.
    fn is_there(&mut self) -> io::Result<bool>;
}

impl Medium for Box<dyn Medium> {
    fn length(&mut self) -> io::Result<u64> {
        (**self).length()
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (**self).append(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        (**self).sync()
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        (**self).truncate(length)
    }

    fn is_there(&mut self) -> io::Result<bool> {
        (**self).is_there()
    }
}
