//! Signatures for extensions: Ed25519, RSA and ECDSA, of keys as they stand inside of what PEM wraps.
//!
//! What a key file says about its key is read in JavaScript; here are the numbers.

use ring::{
    rand::SystemRandom,
    signature::{self, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RsaKeyPair, UnparsedPublicKey},
};
use rquickjs::{Array, Ctx, Exception, Function, Object, Result as JsResult, TypedArray, Value};

use super::natives::bytes_of;

/// Why nothing is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// There is no such kind of signature.
    Kind,
    /// The key is none of that kind, or one that nobody should sign with any more.
    Key,
}

impl Fault {
    fn thrown(self, ctx: &Ctx<'_>, kind: &str) -> rquickjs::Error {
        match self {
            Self::Kind => Exception::throw_range(ctx, &format!("there is no signature {kind}")),
            Self::Key => Exception::throw_type(ctx, &format!("the key cannot be used for {kind}")),
        }
    }
}

/// The native functions `sign`, `verify`, `publicKeyOf` and `ecKeyPair`.
pub(super) fn functions<'js>(ctx: &Ctx<'js>, native: &Object<'js>) -> JsResult<()> {
    let make = |ctx: Ctx<'js>, kind: String, key: Array<'js>, value: Value<'js>| -> JsResult<TypedArray<'js, u8>> {
        let parts = key.iter().map(|part| bytes_of(&ctx, &part?)).collect::<JsResult<Vec<_>>>()?;
        let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        let made = sign(&kind, &parts, &bytes_of(&ctx, &value)?).map_err(|fault| fault.thrown(&ctx, &kind))?;
        TypedArray::new_copy(ctx, made)
    };
    native.set("sign", Function::new(ctx.clone(), make)?)?;
    let check = |ctx: Ctx<'js>, kind: String, key: Value<'js>, value: Value<'js>, made: Value<'js>| -> JsResult<bool> {
        let (key, bytes, made) = (bytes_of(&ctx, &key)?, bytes_of(&ctx, &value)?, bytes_of(&ctx, &made)?);
        verify(&kind, &key, &bytes, &made).map_err(|fault| fault.thrown(&ctx, &kind))
    };
    native.set("verify", Function::new(ctx.clone(), check)?)?;
    let public = |ctx: Ctx<'js>, seed: Value<'js>| -> JsResult<TypedArray<'js, u8>> {
        let pair = Ed25519KeyPair::from_seed_unchecked(&bytes_of(&ctx, &seed)?)
            .map_err(|_| Fault::Key.thrown(&ctx, "ed25519"))?;
        TypedArray::new_copy(ctx, pair.public_key())
    };
    native.set("publicKeyOf", Function::new(ctx.clone(), public)?)?;
    let pair = |ctx: Ctx<'js>, curve: String| -> JsResult<TypedArray<'js, u8>> {
        let algorithm = match curve.as_str() {
            "p256" => &signature::ECDSA_P256_SHA256_ASN1_SIGNING,
            "p384" => &signature::ECDSA_P384_SHA384_ASN1_SIGNING,
            _ => return Err(Fault::Kind.thrown(&ctx, &curve)),
        };
        let made = EcdsaKeyPair::generate_pkcs8(algorithm, &SystemRandom::new())
            .map_err(|_| Exception::throw_internal(&ctx, "the system has no random bytes"))?;
        TypedArray::new_copy(ctx, made)
    };
    native.set("ecKeyPair", Function::new(ctx.clone(), pair)?)
}

/// The signature: by an RSA key as PKCS #1 writes it, by the seed of Ed25519, by the number and the point of a curve.
fn sign(kind: &str, key: &[&[u8]], bytes: &[u8]) -> Result<Vec<u8>, Fault> {
    let random = SystemRandom::new();
    match (kind, key) {
        ("ed25519", [seed]) => {
            let pair = Ed25519KeyPair::from_seed_unchecked(seed).map_err(|_| Fault::Key)?;
            Ok(pair.sign(bytes).as_ref().to_vec())
        }
        (_, [number, point]) => {
            let algorithm = match kind {
                "p256-sha256" => &signature::ECDSA_P256_SHA256_ASN1_SIGNING,
                "p256-sha256-fixed" => &signature::ECDSA_P256_SHA256_FIXED_SIGNING,
                "p384-sha384" => &signature::ECDSA_P384_SHA384_ASN1_SIGNING,
                "p384-sha384-fixed" => &signature::ECDSA_P384_SHA384_FIXED_SIGNING,
                _ => return Err(Fault::Kind),
            };
            let pair = EcdsaKeyPair::from_private_key_and_public_key(algorithm, number, point, &random);
            let made = pair.map_err(|_| Fault::Key)?.sign(&random, bytes).map_err(|_| Fault::Key)?;
            Ok(made.as_ref().to_vec())
        }
        (_, [pair]) => {
            let padding: &'static dyn signature::RsaEncoding = match kind {
                "rsa-sha256" => &signature::RSA_PKCS1_SHA256,
                "rsa-sha384" => &signature::RSA_PKCS1_SHA384,
                "rsa-sha512" => &signature::RSA_PKCS1_SHA512,
                "rsa-pss-sha256" => &signature::RSA_PSS_SHA256,
                "rsa-pss-sha384" => &signature::RSA_PSS_SHA384,
                "rsa-pss-sha512" => &signature::RSA_PSS_SHA512,
                _ => return Err(Fault::Kind),
            };
            let pair = RsaKeyPair::from_der(pair).map_err(|_| Fault::Key)?;
            let mut made = vec![0; pair.public().modulus_len()];
            pair.sign(padding, &random, bytes, &mut made).map_err(|_| Fault::Key)?;
            Ok(made)
        }
        _ => Err(Fault::Kind),
    }
}

/// Whether somebody who has the other half of the key made the signature of these bytes.
fn verify(kind: &str, key: &[u8], bytes: &[u8], made: &[u8]) -> Result<bool, Fault> {
    let algorithm: &'static dyn signature::VerificationAlgorithm = match kind {
        "ed25519" => &signature::ED25519,
        "p256-sha256" => &signature::ECDSA_P256_SHA256_ASN1,
        "p256-sha256-fixed" => &signature::ECDSA_P256_SHA256_FIXED,
        "p384-sha384" => &signature::ECDSA_P384_SHA384_ASN1,
        "p384-sha384-fixed" => &signature::ECDSA_P384_SHA384_FIXED,
        "rsa-sha1" => &signature::RSA_PKCS1_1024_8192_SHA1_FOR_LEGACY_USE_ONLY,
        "rsa-sha256" => &signature::RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY,
        "rsa-sha512" => &signature::RSA_PKCS1_1024_8192_SHA512_FOR_LEGACY_USE_ONLY,
        "rsa-sha384" => &signature::RSA_PKCS1_2048_8192_SHA384,
        "rsa-pss-sha256" => &signature::RSA_PSS_2048_8192_SHA256,
        "rsa-pss-sha384" => &signature::RSA_PSS_2048_8192_SHA384,
        "rsa-pss-sha512" => &signature::RSA_PSS_2048_8192_SHA512,
        _ => return Err(Fault::Kind),
    };
    Ok(UnparsedPublicKey::new(algorithm, key).verify(bytes, made).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_that_of_everybody() {
        // RFC 8032, section 7.1, test 2.
        let bytes = |hex: &str| -> Vec<u8> {
            let pairs = hex.as_bytes().chunks(2).map(|pair| str::from_utf8(pair).expect("ASCII"));
            pairs.map(|pair| u8::from_str_radix(pair, 16).expect("hexadecimal")).collect()
        };
        let seed = bytes("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb");
        let public = bytes("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c");
        let made = bytes(
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
        );
        assert_eq!(sign("ed25519", &[&seed], b"\x72"), Ok(made.clone()));
        assert_eq!(verify("ed25519", &public, b"\x72", &made), Ok(true));
        assert_eq!(verify("ed25519", &public, b"\x73", &made), Ok(false));
        assert_eq!(verify("ed448", &public, b"\x72", &made), Err(Fault::Kind));
        assert_eq!(sign("ed25519", &[&seed[1..]], b""), Err(Fault::Key));
        assert_eq!(sign("rsa-sha256", &[b"none"], b""), Err(Fault::Key));
    }
}
