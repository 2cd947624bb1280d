//! Finds where strings end, 64 bytes at a time.
//!
//! A document is looked at in blocks, each once, and a block becomes a few words with one bit for each byte. Whether a
//! quote ends its string is then arithmetic on these words, so that text costs the same however often it is escaped.

use wide::u8x16;

const BLOCK: usize = 64;

/// What stands where in a block, the first byte in the lowest bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Block {
    quotes: u64,
    backslashes: u64,
    /// Control characters, which no string may contain.
    controls: u64,
    /// What mostly follows a backslash: `n`, `t`, quotes and backslashes.
    usual: u64,
}

/// A document, and the block of it that was looked at last.
pub(super) struct Marks<'a> {
    bytes: &'a [u8],
    /// Where the block begins.
    start: usize,
    block: Block,
}

impl<'a> Marks<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, start: 0, block: block_at(bytes, 0) }
    }

    /// The end of the string whose first byte is at `at`. `None` if it does not end, or holds a control character or an
    /// escape that JSON does not know.
    #[inline]
    pub(super) fn end(&mut self, at: usize) -> Option<usize> {
        let start = at - at % BLOCK;
        let inside = u64::MAX << (at % BLOCK);
        let Block { quotes, backslashes, controls, .. } = self.look(start);
        // Names and other short strings end at the first special byte.
        let special = (quotes | backslashes | controls) & inside;
        if lowest(special) & quotes != 0 {
            return Some(start + special.trailing_zeros() as usize);
        }
        self.long_end(start, inside)
    }

    /// The end of a string that is in block `start` where the bits of `inside` are, and in those behind it.
    fn long_end(&mut self, mut start: usize, mut inside: u64) -> Option<usize> {
        let mut escapes = Escapes { carried: 0 };
        // The low half of a surrogate pair, checked together with the high one.
        let mut checked = None;
        let mut block = self.block;
        loop {
            let escaped = escapes.next(block.backslashes & inside);
            let ends = block.quotes & inside & !escaped;
            let within = inside & lowest(ends).wrapping_sub(1);
            if block.controls & within != 0 {
                return None;
            }
            let mut rare = escaped & within & !block.usual;
            while rare != 0 {
                let place = start + rare.trailing_zeros() as usize;
                if checked != Some(place) {
                    checked = escape(self.bytes.get(place..)?)?.map(|low| place + low);
                }
                rare &= rare - 1;
            }
            if ends != 0 {
                (self.start, self.block) = (start, block);
                return Some(start + ends.trailing_zeros() as usize);
            }
            start += BLOCK;
            if start >= self.bytes.len() {
                return None;
            }
            block = block_at(self.bytes, start);
            inside = u64::MAX;
        }
    }

    #[inline(always)]
    fn look(&mut self, start: usize) -> Block {
        if start != self.start {
            (self.start, self.block) = (start, block_at(self.bytes, start));
        }
        self.block
    }
}

/// Which bytes are escaped, from block to block of a string.
struct Escapes {
    /// The lowest bit: whether the last byte of the block before escapes the first one of the next.
    carried: u64,
}

impl Escapes {
    /// The bytes of the next block that have an escaping backslash before them.
    ///
    /// In a run of backslashes every second one escapes. A subtraction carries through whole runs at once: with the odd
    /// bits set, it leaves a pattern in which runs that begin at odd and at even places alternate as they should.
    #[inline]
    fn next(&mut self, backslashes: u64) -> u64 {
        const ODD: u64 = 0xAAAA_AAAA_AAAA_AAAA;
        let open = backslashes & !self.carried;
        let alternating = ((open << 1) | ODD).wrapping_sub(open) ^ ODD;
        let escaped = alternating ^ (backslashes | self.carried);
        self.carried = (alternating & backslashes) >> 63;
        escaped
    }
}

/// The lowest bit that is set.
#[inline]
fn lowest(bits: u64) -> u64 {
    bits & bits.wrapping_neg()
}

/// Checks what follows a backslash. `None` if it is no escape; where it begins a surrogate pair, how far behind it the
/// second escape is.
fn escape(after: &[u8]) -> Option<Option<usize>> {
    match after {
        [b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => Some(None),
        [b'u', rest @ ..] => match (unit(rest)?, rest) {
            (0xD800..=0xDBFF, [_, _, _, _, b'\\', b'u', low @ ..]) => {
                matches!(unit(low)?, 0xDC00..=0xDFFF).then_some(Some(6))
            }
            (0xD800..=0xDFFF, _) => None,
            _ => Some(None),
        },
        _ => None,
    }
}

/// The UTF-16 unit that four hexadecimal digits stand for.
pub(super) fn unit(digits: &[u8]) -> Option<u16> {
    digits.first_chunk::<4>()?.iter().try_fold(0, |unit: u16, &digit| {
        let value = (digit as char).to_digit(16)?;
        Some(unit << 4 | u16::try_from(value).ok()?)
    })
}

#[inline(always)] // a block that goes through memory costs as much as marking it
fn block_at(bytes: &[u8], start: usize) -> Block {
    let rest = bytes.get(start..).unwrap_or_default();
    match rest.first_chunk() {
        Some(block) => marked(block),
        None => last_block(rest),
    }
}

/// The last block is filled up with bytes that are not special.
#[cold]
fn last_block(rest: &[u8]) -> Block {
    let mut block = [b' '; BLOCK];
    block[..rest.len()].copy_from_slice(rest);
    marked(&block)
}

#[inline(always)]
fn marked(block: &[u8; BLOCK]) -> Block {
    let (chunks, _) = block.as_chunks();
    let vectors: [u8x16; BLOCK / 16] = std::array::from_fn(|index| u8x16::new(chunks[index]));
    let equal = |byte| vectors.map(|vector| vector.simd_eq(u8x16::splat(byte)));
    let (quotes, backslashes) = (bits(equal(b'"')), bits(equal(b'\\')));
    let letters = bits(vectors.map(|vector| vector.simd_eq(u8x16::splat(b'n')) | vector.simd_eq(u8x16::splat(b't'))));
    // A byte that is its own minimum with 0x1F is not above it. Most blocks have none, so one look is for all vectors.
    let controls = vectors.map(|vector| vector.min(u8x16::splat(0x1F)).simd_eq(vector));
    let any = controls.into_iter().fold(u8x16::splat(0), |any, vector| any | vector);
    let controls = if any.to_bitmask() == 0 { 0 } else { bits(controls) };
    Block { quotes, backslashes, controls, usual: letters | quotes | backslashes }
}

/// The highest bit of each byte.
#[inline(always)]
fn bits(vectors: [u8x16; BLOCK / 16]) -> u64 {
    vectors.into_iter().rev().fold(0, |bits, vector| bits << 16 | u64::from(vector.to_bitmask()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The end of a string, read byte by byte.
    fn slow_end(bytes: &[u8], mut at: usize) -> Option<usize> {
        loop {
            match bytes.get(at)? {
                b'"' => return Some(at),
                b'\\' => {
                    // A pair is passed as a whole: its low half would be refused on its own.
                    let pair = escape(&bytes[at + 1..])?;
                    at += pair.map_or(2, |low| low + 2);
                }
                0..0x20 => return None,
                _ => at += 1,
            }
        }
    }

    fn check(bytes: &[u8], at: usize) {
        let found = Marks::new(bytes).end(at);
        assert_eq!(found, slow_end(bytes, at), "{} from {at}", bytes.escape_ascii());
    }

    #[test]
    fn every_byte_is_seen_wherever_it_stands() {
        for byte in 0..=255 {
            for place in 0..200 {
                let mut bytes = vec![0xC3; 210];
                bytes[place] = byte;
                bytes.extend_from_slice(b"n\"");
                check(&bytes, 0);
                check(&bytes, place);
                check(&bytes, place + 1);
            }
        }
    }

    #[test]
    fn runs_of_backslashes_escape_every_second_byte() {
        for place in 50..80 {
            for length in 0..140 {
                let bytes = [&b"a".repeat(place)[..], &b"\\".repeat(length), b"\"n\""].concat();
                check(&bytes, 0);
                check(&bytes, place);
            }
        }
    }

    #[test]
    fn escapes_are_known_across_the_borders_of_blocks() {
        for escape in [
            r"\u00e9",
            r"\ud83d\ude00",
            r"\ud83d",
            r"\ude00",
            r"\ud83d\n",
            r"\u12g4",
            r"\x",
            r"\/\b\f\r\t",
            r"\ud83d\ude00\ude00",
        ] {
            for place in 0..130 {
                check(format!("{}{escape}\" \\", "a".repeat(place)).as_bytes(), 0);
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(crate::cases(500)))]

        #[test]
        fn every_byte_of_a_block_is_marked_in_its_place(bytes in any::<[u8; BLOCK]>(), likely in prop::collection::vec(0..BLOCK, 0..20)) {
            let mut block = bytes;
            for (place, byte) in likely.into_iter().zip(b"\"\\nt\n\x1f\x20\x00".iter().cycle()) {
                block[place] = *byte;
            }
            let bits = |wanted: fn(u8) -> bool| (0..BLOCK).fold(0, |bits, place| bits | u64::from(wanted(block[place])) << place);
            let wanted = Block {
                quotes: bits(|byte| byte == b'"'),
                backslashes: bits(|byte| byte == b'\\'),
                controls: bits(|byte| byte < 0x20),
                usual: bits(|byte| b"nt\"\\".contains(&byte)),
            };
            prop_assert_eq!(marked(&block), wanted);
        }

        #[test]
        fn ends_are_found_as_byte_by_byte(
            parts in prop::collection::vec(prop::sample::select(vec![
                "\\", "\\\\", "\"", "n", "\\n", "\\u00e9", "\\ud83d\\ude00", "é", "\n", "a few words", "and more that fill a block of sixty-four bytes, or nearly so",
            ]), 0..30),
            at in any::<prop::sample::Index>(),
        ) {
            let text = parts.concat();
            check(text.as_bytes(), at.index(text.len() + 1));
        }
    }
}
