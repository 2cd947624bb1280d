//! Finds the bytes at which the reading of a string has to stop and think.
//!
//! A document is looked at in blocks of 64 bytes, each once, and a block becomes one bit for each byte. Written so that
//! the compiler uses vector instructions on every target; the speed of the whole validator hangs on it.

const BLOCK: usize = 64;

/// The special bytes of a text: quotes, backslashes and control characters.
pub(super) struct Marks<'a> {
    bytes: &'a [u8],
    /// Where the block begins that `bits` are about.
    start: usize,
    bits: u64,
}

impl<'a> Marks<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, start: 0, bits: block_at(bytes, 0) }
    }

    /// Where the first special byte at or after `at` is, and which one it is.
    #[inline]
    pub(super) fn next(&mut self, at: usize) -> Option<(usize, u8)> {
        let mut start = at - at % BLOCK;
        let mut wanted = u64::MAX << (at % BLOCK);
        loop {
            if start != self.start {
                (self.start, self.bits) = (start, block_at(self.bytes, start));
            }
            let found = self.bits & wanted;
            if found != 0 {
                let place = start + found.trailing_zeros() as usize;
                return self.bytes.get(place).map(|byte| (place, *byte));
            }
            start += BLOCK;
            if start >= self.bytes.len() {
                return None;
            }
            wanted = u64::MAX;
        }
    }
}

#[inline]
fn block_at(bytes: &[u8], start: usize) -> u64 {
    let rest = bytes.get(start..).unwrap_or_default();
    match rest.first_chunk() {
        Some(block) => bits(block),
        None => {
            // The last block is filled up with bytes that are not special.
            let mut block = [b' '; BLOCK];
            block[..rest.len()].copy_from_slice(rest);
            bits(&block)
        }
    }
}

/// One bit for each special byte, the first byte in the lowest bit.
#[inline]
fn bits(block: &[u8; BLOCK]) -> u64 {
    let mut special = [0; BLOCK];
    for (flag, &byte) in special.iter_mut().zip(block) {
        *flag = u8::from(byte < 0x20) | u8::from(byte == b'"') | u8::from(byte == b'\\');
    }
    let (words, _) = special.as_chunks::<8>();
    words.iter().enumerate().fold(0, |bits, (index, word)| {
        // The product gathers the lowest bit of each of the eight bytes in its highest byte.
        bits | (u64::from_le_bytes(*word).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * index)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_special_byte_is_found_wherever_it_stands() {
        for special in (0..=255u8).filter(|&byte| byte < 0x20 || byte == b'"' || byte == b'\\') {
            for place in 0..200 {
                let mut bytes = vec![0xC3; 210];
                bytes[place] = special;
                let mut marks = Marks::new(&bytes);
                assert_eq!(marks.next(0), Some((place, special)));
                assert_eq!(marks.next(place), Some((place, special)));
                assert_eq!(marks.next(place + 1), None);
            }
        }
    }

    #[test]
    fn no_other_byte_is_special() {
        let bytes: Vec<u8> = (0x20..=255).filter(|byte| !b"\"\\".contains(byte)).collect();
        assert_eq!(Marks::new(&bytes).next(0), None);
        assert_eq!(Marks::new(&[]).next(0), None);
        assert_eq!(Marks::new(&[]).next(64), None);
    }
}
