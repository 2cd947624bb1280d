//! Zstandard, block by block: a block is small, whatever it becomes, and a decoder that is given several unpacks them all.
//!
//! The decoder keeps what later blocks may refer to, so of a body that is smaller than its window nothing is told before its end,
//! and then piece by piece.

use std::io::{self, Read as _};

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::{PIECE, Step};

/// The largest window that is to be understood on the web (RFC 9659).
const LARGEST_WINDOW: u64 = 8 << 20;
const MAGIC: u32 = 0xFD2F_B528;
/// Frames that say nothing; the lower four bits are anything.
const SKIPPED: u32 = 0x184D_2A50;
/// More than a block unpacks to.
const BLOCK: usize = 128 << 10;

pub(super) struct Zstd {
    decoder: Box<FrameDecoder>,
    next: Next,
}

/// What comes next.
enum Next {
    /// Frames may follow each other.
    Frame,
    Block {
        /// Bytes behind the last block.
        checksum: usize,
    },
    Skipped(usize),
    /// The last block was unpacked, and the checksum counts what was told.
    End,
}

impl Zstd {
    pub(super) fn new() -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(LARGEST_WINDOW);
        Self { decoder: Box::new(decoder), next: Next::Frame }
    }

    /// Whether nothing is missing.
    pub(super) fn is_whole(&self) -> bool {
        matches!(self.next, Next::Frame)
    }

    /// Whether there is more to be told, or looked at, of what was taken.
    pub(super) fn has_more(&self) -> bool {
        self.decoder.can_collect() > 0 || matches!(self.next, Next::End)
    }

    pub(super) fn step(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> io::Result<Step> {
        if self.decoder.can_collect() > 0 {
            return self.tell(out);
        }
        match self.next {
            Next::Skipped(left) => {
                let taken = left.min(bytes.len());
                self.next = if taken == left { Next::Frame } else { Next::Skipped(left - taken) };
                Ok(Step::Took(taken))
            }
            Next::Frame => self.begin(bytes),
            Next::Block { checksum } => self.block(bytes, checksum),
            Next::End => self.end(),
        }
    }

    fn tell(&mut self, out: &mut Vec<u8>) -> io::Result<Step> {
        let before = out.len();
        out.resize(before + PIECE, 0);
        let told = self.decoder.read(&mut out[before..]);
        out.truncate(before + told.as_ref().map_or(0, |told| *told));
        told.map(|_| Step::Took(0))
    }

    fn begin(&mut self, bytes: &[u8]) -> io::Result<Step> {
        let Some((magic, rest)) = bytes.split_first_chunk::<4>() else { return Ok(Step::Waits) };
        let magic = u32::from_le_bytes(*magic);
        if magic & !15 == SKIPPED {
            let Some((length, _)) = rest.split_first_chunk::<4>() else { return Ok(Step::Waits) };
            let length = usize::try_from(u32::from_le_bytes(*length)).map_err(io::Error::other)?;
            self.next = Next::Skipped(length);
            return Ok(Step::Took(8));
        }
        if magic != MAGIC {
            return Err(broken("this is no zstd"));
        }
        let Some(descriptor) = rest.first() else { return Ok(Step::Waits) };
        let is_single = descriptor & 0x20 != 0;
        let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
        let content = [usize::from(is_single), 2, 4, 8][usize::from(descriptor >> 6)];
        let length = 5 + usize::from(!is_single) + dictionary + content;
        let Some(mut head) = bytes.get(..length) else { return Ok(Step::Waits) };
        self.decoder.init(&mut head).map_err(io::Error::other)?;
        self.next = Next::Block { checksum: if descriptor & 4 != 0 { 4 } else { 0 } };
        Ok(Step::Took(length))
    }

    fn block(&mut self, bytes: &[u8], checksum: usize) -> io::Result<Step> {
        let [first, second, third, ..] = *bytes else { return Ok(Step::Waits) };
        let head = u32::from_le_bytes([first, second, third, 0]);
        let (is_last, is_repeated) = (head & 1 != 0, head >> 1 & 3 == 1);
        let size = usize::try_from(head >> 3).map_err(io::Error::other)?;
        if size > BLOCK {
            return Err(broken("a block is too long"));
        }
        let length = 3 + if is_repeated { 1 } else { size } + if is_last { checksum } else { 0 };
        let Some(mut block) = bytes.get(..length) else { return Ok(Step::Waits) };
        self.decoder.decode_blocks(&mut block, BlockDecodingStrategy::UptoBlocks(1)).map_err(io::Error::other)?;
        if is_last {
            self.next = Next::End;
        }
        Ok(Step::Took(length))
    }

    fn end(&mut self) -> io::Result<Step> {
        let said = self.decoder.get_checksum_from_data();
        if said.is_some() && said != self.decoder.get_calculated_checksum() {
            return Err(broken("the checksum is another one"));
        }
        self.next = Next::Frame;
        Ok(Step::Took(0))
    }
}

fn broken(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
