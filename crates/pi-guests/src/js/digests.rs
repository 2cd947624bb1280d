//! Digests for extensions, by the names that Node gives them.

use hmac::{Hmac, Mac};
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha384, Sha512};

/// The digest, if there is one of that name.
pub(crate) fn digest(algorithm: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    match algorithm.to_ascii_lowercase().replace('-', "").as_str() {
        "md5" => Some(Md5::digest(bytes).to_vec()),
        "sha1" => Some(Sha1::digest(bytes).to_vec()),
        "sha256" => Some(Sha256::digest(bytes).to_vec()),
        "sha384" => Some(Sha384::digest(bytes).to_vec()),
        "sha512" => Some(Sha512::digest(bytes).to_vec()),
        _ => None,
    }
}

/// The keyed digest, if there is one of that name.
pub(crate) fn hmac(algorithm: &str, key: &[u8], bytes: &[u8]) -> Option<Vec<u8>> {
    macro_rules! keyed {
        ($hash:ty) => {{
            let mut mac = Hmac::<$hash>::new_from_slice(key).ok()?;
            mac.update(bytes);
            Some(mac.finalize().into_bytes().to_vec())
        }};
    }
    match algorithm.to_ascii_lowercase().replace('-', "").as_str() {
        "md5" => keyed!(Md5),
        "sha1" => keyed!(Sha1),
        "sha256" => keyed!(Sha256),
        "sha384" => keyed!(Sha384),
        "sha512" => keyed!(Sha512),
        _ => None,
    }
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
        assert_eq!(of("sha256"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(of("sha512").len(), 128);
        assert_eq!(digest("crc32", b""), None);
        // RFC 4231, test case 2.
        let keyed = hmac("sha256", b"Jefe", b"what do ya want for nothing?").expect("a digest");
        assert_eq!(hex(&keyed), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    }
}
