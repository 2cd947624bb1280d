//! AES for extensions, in the modes that Node's `crypto` and the web's have: CBC, single blocks, CTR and GCM.
//!
//! What is enciphered goes through in pieces of any length, so that a stream needs no more memory than one of its pieces.

use std::{cell::RefCell, mem, rc::Rc};

use aes::{
    Aes128, Aes192, Aes256, Block,
    cipher::{BlockDecrypt, BlockEncrypt, KeyInit},
};
use ghash::{GHash, universal_hash::UniversalHash};
use rquickjs::{Ctx, Exception, Function, Object, Result as JsResult, TypedArray, Value};

use super::natives::bytes_of;

const BLOCK: usize = 16;
/// Blocks of a key stream that are made at once: the processor works on several.
const BATCH: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Encrypt,
    Decrypt,
}

/// Why the end is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// It stops in the middle of a block.
    Length,
    /// The last block is not filled up as it has to be: another key, or other data.
    Padding,
}

impl Fault {
    fn word(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Padding => "padding",
        }
    }
}

/// The native function `cipher`: an object with what a cipher does, which keeps its state.
pub(super) fn functions<'js>(ctx: &Ctx<'js>, native: &Object<'js>) -> JsResult<()> {
    let cipher = |ctx: Ctx<'js>,
                  mode: String,
                  is_encrypting: bool,
                  key: Value<'js>,
                  start: Value<'js>,
                  bits: u32|
     -> JsResult<Object<'js>> {
        let way = if is_encrypting { Way::Encrypt } else { Way::Decrypt };
        let (key, start) = (bytes_of(&ctx, &key)?, bytes_of(&ctx, &start)?);
        let cipher = Cipher::new(&mode, way, &key, &start, bits).ok_or_else(|| {
            Exception::throw_range(&ctx, &format!("there is no AES {mode} with such a key and start"))
        })?;
        handle(&ctx, cipher)
    };
    native.set("cipher", Function::new(ctx.clone(), cipher)?)
}

fn handle<'js>(ctx: &Ctx<'js>, cipher: Cipher) -> JsResult<Object<'js>> {
    let cipher = Rc::new(RefCell::new(cipher));
    let object = Object::new(ctx.clone())?;
    let own = Rc::clone(&cipher);
    let accompany = move |ctx: Ctx<'js>, value: Value<'js>| -> JsResult<()> {
        own.borrow_mut().accompany(&bytes_of(&ctx, &value)?);
        Ok(())
    };
    object.set("accompany", Function::new(ctx.clone(), accompany)?)?;
    let own = Rc::clone(&cipher);
    let update = move |ctx: Ctx<'js>, value: Value<'js>, is_padded: bool| -> JsResult<TypedArray<'js, u8>> {
        let done = own.borrow_mut().update(bytes_of(&ctx, &value)?, is_padded);
        TypedArray::new_copy(ctx, done)
    };
    object.set("update", Function::new(ctx.clone(), update)?)?;
    let finish = move |ctx: Ctx<'js>, is_padded: bool| -> JsResult<Object<'js>> {
        let answer = Object::new(ctx.clone())?;
        match cipher.borrow_mut().finish(is_padded) {
            Ok(End { bytes, tag }) => {
                answer.set("bytes", TypedArray::new_copy(ctx.clone(), bytes)?)?;
                if let Some(tag) = tag {
                    answer.set("tag", TypedArray::new_copy(ctx, tag)?)?;
                }
            }
            Err(fault) => answer.set("fault", fault.word())?,
        }
        Ok(answer)
    };
    object.set("finish", Function::new(ctx.clone(), finish)?)?;
    Ok(object)
}

/// The last bytes, and what proves that nothing was changed on the way.
struct End {
    bytes: Vec<u8>,
    tag: Option<[u8; BLOCK]>,
}

struct Cipher {
    way: Way,
    mode: Mode,
}

enum Mode {
    Blocks(Blocks),
    Stream(Stream),
    Sealed(Box<Sealed>),
}

impl Cipher {
    /// `bits` of `start` count upwards in the mode of that name. Nothing where a length is none that AES has.
    fn new(mode: &str, way: Way, key: &[u8], start: &[u8], bits: u32) -> Option<Self> {
        let aes = Aes::new(key)?;
        let mode = match mode {
            "ecb" if start.is_empty() => Mode::Blocks(Blocks { aes, last: None, rest: Vec::new() }),
            "cbc" => Mode::Blocks(Blocks { aes, last: Some(whole(start)?), rest: Vec::new() }),
            "ctr" if (1..=128).contains(&bits) => Mode::Stream(Stream::new(aes, number(&whole(start)?), bits)),
            "gcm" if !start.is_empty() => Mode::Sealed(Box::new(Sealed::new(aes, start))),
            _ => return None,
        };
        Some(Self { way, mode })
    }

    /// What is not enciphered and sealed all the same; it comes first. Other modes have no use for it.
    fn accompany(&mut self, bytes: &[u8]) {
        if let Mode::Sealed(sealed) = &mut self.mode {
            sealed.accompany(bytes);
        }
    }

    fn update(&mut self, mut bytes: Vec<u8>, is_padded: bool) -> Vec<u8> {
        match &mut self.mode {
            Mode::Blocks(blocks) => return blocks.update(self.way, &bytes, is_padded),
            Mode::Stream(stream) => stream.apply(&mut bytes),
            Mode::Sealed(sealed) => sealed.apply(self.way, &mut bytes),
        }
        bytes
    }

    fn finish(&mut self, is_padded: bool) -> Result<End, Fault> {
        match &mut self.mode {
            Mode::Blocks(blocks) => Ok(End { bytes: blocks.finish(self.way, is_padded)?, tag: None }),
            Mode::Stream(_) => Ok(End { bytes: Vec::new(), tag: None }),
            Mode::Sealed(sealed) => Ok(End { bytes: Vec::new(), tag: Some(sealed.tag()) }),
        }
    }
}

/// The cipher of a block, by the length of its key.
enum Aes {
    Short(Box<Aes128>),
    Middle(Box<Aes192>),
    Long(Box<Aes256>),
}

impl Aes {
    fn new(key: &[u8]) -> Option<Self> {
        match key.len() {
            16 => Aes128::new_from_slice(key).ok().map(|aes| Self::Short(Box::new(aes))),
            24 => Aes192::new_from_slice(key).ok().map(|aes| Self::Middle(Box::new(aes))),
            32 => Aes256::new_from_slice(key).ok().map(|aes| Self::Long(Box::new(aes))),
            _ => None,
        }
    }

    fn encrypt(&self, blocks: &mut [Block]) {
        match self {
            Self::Short(aes) => aes.encrypt_blocks(blocks),
            Self::Middle(aes) => aes.encrypt_blocks(blocks),
            Self::Long(aes) => aes.encrypt_blocks(blocks),
        }
    }

    fn decrypt(&self, blocks: &mut [Block]) {
        match self {
            Self::Short(aes) => aes.decrypt_blocks(blocks),
            Self::Middle(aes) => aes.decrypt_blocks(blocks),
            Self::Long(aes) => aes.decrypt_blocks(blocks),
        }
    }

    fn encrypted(&self, block: Block) -> Block {
        let mut blocks = [block];
        self.encrypt(&mut blocks);
        let [block] = blocks;
        block
    }
}

fn whole(bytes: &[u8]) -> Option<Block> {
    <[u8; BLOCK]>::try_from(bytes).ok().map(Block::from)
}

fn number(block: &Block) -> u128 {
    u128::from_be_bytes((*block).into())
}

fn blocks_of(bytes: &[u8]) -> Vec<Block> {
    bytes.chunks_exact(BLOCK).filter_map(whole).collect()
}

/// Takes the whole blocks from the front, but for so many of the last bytes.
fn take_blocks(bytes: &mut Vec<u8>, but: usize) -> Vec<Block> {
    let count = bytes.len().saturating_sub(but) / BLOCK * BLOCK;
    let blocks = blocks_of(&bytes[..count]);
    bytes.drain(..count);
    blocks
}

fn mix(bytes: &mut [u8], with: &[u8]) {
    for (byte, other) in bytes.iter_mut().zip(with) {
        *byte ^= other;
    }
}

/// Block by block: each by itself, or mixed with the one before it.
struct Blocks {
    aes: Aes,
    /// The enciphered block before, where they are mixed.
    last: Option<Block>,
    /// What does not fill a block yet.
    rest: Vec<u8>,
}

impl Blocks {
    fn update(&mut self, way: Way, bytes: &[u8], is_padded: bool) -> Vec<u8> {
        self.rest.extend_from_slice(bytes);
        // Whether a block is the last, and so holds what fills it up, is known when another one comes.
        let but = usize::from(way == Way::Decrypt && is_padded);
        let blocks = take_blocks(&mut self.rest, but);
        self.turn(way, blocks)
    }

    fn finish(&mut self, way: Way, is_padded: bool) -> Result<Vec<u8>, Fault> {
        let mut rest = mem::take(&mut self.rest);
        match way {
            _ if !is_padded => {
                if rest.is_empty() {
                    Ok(rest)
                } else {
                    Err(Fault::Length)
                }
            }
            Way::Encrypt => {
                let missing = BLOCK - rest.len();
                rest.resize(BLOCK, u8::try_from(missing).unwrap_or(0));
                Ok(self.turn(way, blocks_of(&rest)))
            }
            Way::Decrypt if rest.len() != BLOCK => Err(Fault::Length),
            Way::Decrypt => {
                let mut last = self.turn(way, blocks_of(&rest));
                let filled = last.last().copied().unwrap_or(0);
                let count = usize::from(filled);
                let is_filled =
                    (1..=BLOCK).contains(&count) && last[BLOCK - count..].iter().all(|byte| *byte == filled);
                if !is_filled {
                    return Err(Fault::Padding);
                }
                last.truncate(BLOCK - count);
                Ok(last)
            }
        }
    }

    fn turn(&mut self, way: Way, mut blocks: Vec<Block>) -> Vec<u8> {
        match (way, &mut self.last) {
            (Way::Encrypt, None) => self.aes.encrypt(&mut blocks),
            (Way::Decrypt, None) => self.aes.decrypt(&mut blocks),
            (Way::Encrypt, Some(last)) => {
                for block in &mut blocks {
                    mix(block, last);
                    *block = self.aes.encrypted(*block);
                    *last = *block;
                }
            }
            (Way::Decrypt, Some(last)) => {
                let before = blocks.clone();
                self.aes.decrypt(&mut blocks);
                for (block, given) in blocks.iter_mut().zip(before) {
                    mix(block, last);
                    *last = given;
                }
            }
        }
        blocks.concat()
    }
}

/// A stream of bytes that is mixed with the text: enciphered numbers that count upwards.
struct Stream {
    aes: Aes,
    counter: u128,
    /// What of the number counts; the rest stays as it was.
    counting: u128,
    block: Block,
    used: usize,
}

impl Stream {
    fn new(aes: Aes, counter: u128, bits: u32) -> Self {
        let counting = u128::MAX >> (128 - bits);
        Self { aes, counter, counting, block: Block::default(), used: BLOCK }
    }

    fn next(&mut self) -> Block {
        let block = Block::from(self.counter.to_be_bytes());
        self.counter = (self.counter & !self.counting) | (self.counter.wrapping_add(1) & self.counting);
        block
    }

    fn apply(&mut self, bytes: &mut [u8]) {
        let (first, rest) = bytes.split_at_mut(bytes.len().min(BLOCK - self.used));
        mix(first, &self.block[self.used..]);
        self.used += first.len();
        for part in rest.chunks_mut(BATCH * BLOCK) {
            let mut blocks = [Block::default(); BATCH];
            let blocks = &mut blocks[..part.len().div_ceil(BLOCK)];
            blocks.fill_with(|| self.next());
            self.aes.encrypt(blocks);
            for (bytes, block) in part.chunks_mut(BLOCK).zip(blocks) {
                mix(bytes, block);
                (self.block, self.used) = (*block, bytes.len());
            }
        }
    }
}

/// A stream whose text is sealed, with whatever accompanies it: Galois/Counter Mode of NIST SP 800-38D.
struct Sealed {
    stream: Stream,
    hash: GHash,
    /// Hides the sum, so that it becomes a seal.
    mask: Block,
    /// What does not fill a block of the sum yet.
    rest: Vec<u8>,
    accompanying: u64,
    text: u64,
}

impl Sealed {
    fn new(aes: Aes, start: &[u8]) -> Self {
        let hash = GHash::new(&aes.encrypted(Block::default()));
        let first = match <[u8; 12]>::try_from(start) {
            Ok(start) => {
                let mut first = [0; BLOCK];
                first[..12].copy_from_slice(&start);
                first[BLOCK - 1] = 1;
                Block::from(first)
            }
            Err(_) => {
                let mut sum = hash.clone();
                sum.update_padded(start);
                sum.update(&[Block::from((start.len() as u128 * 8).to_be_bytes())]);
                sum.finalize()
            }
        };
        let mask = aes.encrypted(first);
        let mut stream = Stream::new(aes, number(&first), 32);
        // The first number hides the sum.
        stream.next();
        Self { stream, hash, mask, rest: Vec::new(), accompanying: 0, text: 0 }
    }

    fn accompany(&mut self, bytes: &[u8]) {
        self.accompanying += bytes.len() as u64;
        self.add(bytes);
    }

    fn apply(&mut self, way: Way, bytes: &mut [u8]) {
        if self.text == 0 {
            self.fill();
        }
        self.text += bytes.len() as u64;
        // What is summed up is the enciphered text.
        if way == Way::Decrypt {
            self.add(bytes);
        }
        self.stream.apply(bytes);
        if way == Way::Encrypt {
            self.add(bytes);
        }
    }

    fn tag(&mut self) -> [u8; BLOCK] {
        self.fill();
        let lengths = (u128::from(self.accompanying) << 67) | (u128::from(self.text) << 3);
        self.hash.update(&[Block::from(lengths.to_be_bytes())]);
        let mut tag = self.hash.clone().finalize();
        mix(&mut tag, &self.mask);
        tag.into()
    }

    fn add(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
        let blocks = take_blocks(&mut self.rest, 0);
        self.hash.update(&blocks);
    }

    /// Whatever follows begins a block of its own.
    fn fill(&mut self) {
        self.hash.update_padded(&mem::take(&mut self.rest));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &str) -> Vec<u8> {
        hex.as_bytes()
            .chunks(2)
            .map(|pair| u8::from_str_radix(str::from_utf8(pair).expect("ASCII"), 16).expect("hexadecimal"))
            .collect()
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn run(cipher: &mut Cipher, beside: &[u8], text: &[u8], size: usize) -> (Vec<u8>, Option<[u8; BLOCK]>) {
        let mut done = Vec::new();
        beside.chunks(size).for_each(|part| cipher.accompany(part));
        text.chunks(size).for_each(|part| done.extend(cipher.update(part.to_vec(), true)));
        let end = cipher.finish(true).expect("an end");
        done.extend(end.bytes);
        (done, end.tag)
    }

    /// Enciphers and deciphers in pieces of every size.
    fn check(mode: &str, key: &str, start: &str, beside: &str, text: &str, expected: &str, seal: Option<&str>) {
        let (key, start, beside, text, expected) =
            (bytes(key), bytes(start), bytes(beside), bytes(text), bytes(expected));
        for size in 1..=text.len() + 1 {
            let new = |way| Cipher::new(mode, way, &key, &start, 128).expect("a cipher");
            let (made, tag) = run(&mut new(Way::Encrypt), &beside, &text, size);
            assert_eq!(
                (hex(&made), tag.map(|tag| hex(&tag))),
                (hex(&expected), seal.map(str::to_owned)),
                "{mode} by {size}"
            );
            let (read, again) = run(&mut new(Way::Decrypt), &beside, &made, size);
            assert_eq!((hex(&read), again), (hex(&text), tag), "{mode} back by {size}");
        }
    }

    const TEXT: &str = "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51";

    #[test]
    fn blocks_are_chained_as_everywhere() {
        // NIST SP 800-38A, F.2.1 and F.2.5, with a last block that says what fills it.
        check(
            "cbc",
            "2b7e151628aed2a6abf7158809cf4f3c",
            "000102030405060708090a0b0c0d0e0f",
            "",
            TEXT,
            "7649abac8119b246cee98e9b12e9197d5086cb9b507219ee95db113a917678b255e21d7100b988ffec32feeafaf23538",
            None,
        );
        check(
            "cbc",
            "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
            "000102030405060708090a0b0c0d0e0f",
            "",
            TEXT,
            "f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d3a3aa5e0213db1a9901f9036cf5102d2",
            None,
        );
    }

    #[test]
    fn numbers_make_a_stream() {
        // NIST SP 800-38A, F.5.1 and F.5.3.
        check(
            "ctr",
            "2b7e151628aed2a6abf7158809cf4f3c",
            "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff",
            "",
            TEXT,
            "874d6191b620e3261bef6864990db6ce9806f66b7970fdff8617187bb9fffdff",
            None,
        );
        check(
            "ctr",
            "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b",
            "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff",
            "",
            TEXT,
            "1abc932417521ca24f2b0459fe7e6e0b090339ec0aa6faefd5ccc2c6f4ce8e94",
            None,
        );
    }

    #[test]
    fn a_number_that_counts_in_few_bits_leaves_the_others() {
        let mut stream = Stream::new(Aes::new(&[0; 16]).expect("a key"), 0x0123_45ff, 8);
        assert_eq!([stream.next(), stream.next()].map(|block| number(&block)), [0x0123_45ff, 0x0123_4500]);
    }

    #[test]
    fn what_is_sealed_is_that_of_everybody() {
        // Cases 4, 5 (a short start) and 16 of McGrew and Viega.
        let text = "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39";
        let beside = "feedfacedeadbeeffeedfacedeadbeefabaddad2";
        check(
            "gcm",
            "feffe9928665731c6d6a8f9467308308",
            "cafebabefacedbaddecaf888",
            beside,
            text,
            "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091",
            Some("5bc94fbc3221a5db94fae95ae7121a47"),
        );
        check(
            "gcm",
            "feffe9928665731c6d6a8f9467308308",
            "cafebabefacedbad",
            beside,
            text,
            "61353b4c2806934a777ff51fa22a4755699b2a714fcdc6f83766e5f97b6c742373806900e49f24b22b097544d4896b424989b5e1ebac0f07c23f4598",
            Some("3612d2e79e3b0785561be14aaca2fccb"),
        );
        check(
            "gcm",
            "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
            "cafebabefacedbaddecaf888",
            beside,
            text,
            "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662",
            Some("76fc6ece0f4e1768cddf8853bb2d551b"),
        );
    }

    #[test]
    fn an_end_that_is_none_is_told() {
        let new = |way| Cipher::new("cbc", way, &[0; 16], &[0; 16], 128).expect("a cipher");
        let mut short = new(Way::Decrypt);
        short.update(vec![1; 17], true);
        assert_eq!(short.finish(true).err(), Some(Fault::Length));
        let mut other = new(Way::Decrypt);
        other.update(vec![1; 16], true);
        assert_eq!(other.finish(true).err(), Some(Fault::Padding));
        let mut open = new(Way::Encrypt);
        open.update(vec![1; 17], false);
        assert_eq!(open.finish(false).err(), Some(Fault::Length));
        assert!(Cipher::new("cbc", Way::Encrypt, &[0; 15], &[0; 16], 128).is_none());
        assert!(Cipher::new("cbc", Way::Encrypt, &[0; 16], &[0; 12], 128).is_none());
        assert!(Cipher::new("gcm", Way::Encrypt, &[0; 16], &[], 128).is_none());
    }
}
