//! Digests for extensions, by the names that Node gives them.

use hmac::{Hmac, Mac};
use sha2::Digest;

/// Does the work with the type of the digest that is meant; nothing if there is none of that name.
macro_rules! with_digest {
    ($algorithm:expr, $hash:ident => $work:expr) => {
        with_digest!(
            @of $algorithm, $hash, $work,
            "md5" => md5::Md5, "sha1" => sha1::Sha1, "sha224" => sha2::Sha224, "sha256" => sha2::Sha256,
            "sha384" => sha2::Sha384, "sha512" => sha2::Sha512, "sha512224" => sha2::Sha512_224,
            "sha512256" => sha2::Sha512_256
        )
    };
    (@of $algorithm:expr, $hash:ident, $work:expr, $($name:literal => $type:ty),+) => {
        match $algorithm.to_ascii_lowercase().replace('-', "").as_str() {
            $($name => {
                type $hash = $type;
                Some($work)
            })+
            _ => None,
        }
    };
}
pub(super) use with_digest;

/// The digest, if there is one of that name.
pub(crate) fn digest(algorithm: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    with_digest!(algorithm, Hash => Hash::digest(bytes).to_vec())
}

/// The keyed digest, if there is one of that name.
pub(crate) fn hmac(algorithm: &str, key: &[u8], bytes: &[u8]) -> Option<Vec<u8>> {
    with_digest!(algorithm, Hash => {
        let mut mac = Hmac::<Hash>::new_from_slice(key).ok()?;
        mac.update(bytes);
        mac.finalize().into_bytes().to_vec()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn digests_are_those_of_everybody() {
        let of = |name| hex(&digest(name, b"abc").expect("a digest"));
        assert_eq!(of("md5"), "900150983cd24fb0d6963f7d28e17f72");
        assert_eq!(of("SHA-1"), "a9993e364706816aba3e25717850c26c9cd0d89d");
        assert_eq!(of("sha224"), "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7");
        assert_eq!(of("sha256"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(of("sha512").len(), 128);
        assert_eq!(of("sha512-256"), "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23");
        assert_eq!(digest("crc32", b""), None);
        // RFC 4231, test case 2.
        let keyed = hmac("sha256", b"Jefe", b"what do ya want for nothing?").expect("a digest");
        assert_eq!(hex(&keyed), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    }
}
