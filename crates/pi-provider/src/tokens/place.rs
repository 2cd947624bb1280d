//! Where a token stands among the places of its table. The build script fills them and the program looks there, so both use
//! this file.

/// What stands at a place: in its lower bits the rank of the token and 1, in the others a part of its hash. 0 is an empty place.
pub(crate) const RANK_BITS: u32 = 18;

/// The part of a hash that stands beside the rank. It is not the part that says where to look.
pub(crate) fn mark(hash: u64) -> u32 {
    ((hash >> 50) as u32) << RANK_BITS
}

/// Where to look first; the count of places is a power of two.
pub(crate) fn first(hash: u64, count: usize) -> usize {
    hash as usize & (count - 1)
}

/// Where to look next.
pub(crate) fn next(slot: usize, count: usize) -> usize {
    (slot + 1) & (count - 1)
}

/// Mixes eight bytes at a time. Nobody chooses tokens to collide, so it need not be better than that.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut hash = bytes.len() as u64;
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(FACTOR);
        hash ^= hash >> 29;
    }
    hash
}
