//! Tables of tokens, laid out so that they are used where they lie in the program.
//!
//! To make the maps of `tiktoken-rs` takes a tenth of a second and some sixty megabytes. Here the tokens of a table become
//! three files, which `src/tokens/table.rs` reads: their letters one after the other, where each ends, and places by hash. The
//! kinds of letters by which a text is cut into words become two more (`src/tokens/letter.rs`).

#[path = "../src/tokens/place.rs"]
mod place;

use std::{error::Error, fs, path::Path};

use regex_syntax::hir::{Class, HirKind};
use tiktoken_rs::{CoreBPE, cl100k_base, o200k_base};

/// Which letters are of which kind; the number of a kind is its place here, and that of all others is 0.
const KINDS: [&str; 7] =
    [r"[\p{Lu}\p{Lt}]", r"\p{Ll}", r"[\p{Lm}\p{Lo}]", r"\p{M}", r"\p{N}", r"[\s--[\r\n]]", r"[\r\n]"];

pub(crate) fn prepare(out: &Path) -> Result<(), Box<dyn Error>> {
    table(out, "o200k", &o200k_base()?)?;
    table(out, "cl100k", &cl100k_base()?)?;
    letters(out)
}

#[expect(clippy::disallowed_methods, reason = "a build script has no seam: it reads and writes files and ends")]
fn table(out: &Path, name: &str, table: &CoreBPE) -> Result<(), Box<dyn Error>> {
    // Ranks are counted from 0; behind the last is a gap, and then come the special tokens.
    let tokens: Vec<Vec<u8>> = (0..).map_while(|rank| table.decode_bytes(&[rank]).ok()).collect();
    let mut slots = vec![0_u32; (tokens.len() * 2).next_power_of_two()];
    let mut ends = Vec::new();
    let mut letters = Vec::new();
    for (rank, token) in tokens.iter().enumerate() {
        letters.extend_from_slice(token);
        ends.extend_from_slice(&u32::try_from(letters.len())?.to_le_bytes());
        let hash = place::hash(token);
        let mut slot = place::first(hash, slots.len());
        while slots[slot] != 0 {
            slot = place::next(slot, slots.len());
        }
        let rank = u32::try_from(rank + 1)?;
        if rank >> place::RANK_BITS != 0 {
            return Err("there are more tokens than ranks".into());
        }
        slots[slot] = rank | place::mark(hash);
    }
    let slots: Vec<u8> = slots.into_iter().flat_map(u32::to_le_bytes).collect();
    for (part, bytes) in [("slots", slots), ("ends", ends), ("letters", letters)] {
        fs::write(out.join(name).with_extension(part), bytes)?;
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "a build script has no seam: it reads and writes files and ends")]
fn letters(out: &Path) -> Result<(), Box<dyn Error>> {
    let mut kinds = vec![0_u8; char::MAX as usize + 1];
    for (kind, pattern) in (1..).zip(KINDS) {
        let parsed = regex_syntax::parse(pattern)?;
        let HirKind::Class(Class::Unicode(class)) = parsed.kind() else { return Err("no class of letters".into()) };
        for range in class.ranges() {
            kinds[range.start() as usize..=range.end() as usize].fill(kind);
        }
    }
    // Most stretches of 256 letters are like another one.
    let (mut blocks, mut index): (Vec<&[u8]>, Vec<u8>) = (Vec::new(), Vec::new());
    for block in kinds.chunks(256) {
        let known = blocks.iter().position(|known| *known == block).unwrap_or_else(|| {
            blocks.push(block);
            blocks.len() - 1
        });
        index.push(u8::try_from(known)?);
    }
    fs::write(out.join("letters.index"), index)?;
    Ok(fs::write(out.join("letters.blocks"), blocks.concat())?)
}
