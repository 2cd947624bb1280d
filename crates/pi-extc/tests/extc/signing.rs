//! Signatures: who signed, whether we know them, and whether anything was changed since.

use pi_extc::{PublicKey, SecretKey, Signature, SignatureState, TrustedKeys, sign, verify};

use super::house::House;

#[test]
fn signature_is_worth_what_its_key_and_its_bytes_are() {
    let house = House::new(&[]);
    let file = house.cache_folder().join("trusted-keys.json");
    let (own, stranger) = (SecretKey::generate().expect("a key"), SecretKey::generate().expect("a key"));
    let mut trusted = TrustedKeys::read(&file).expect("none yet");
    trusted.trust("Ada", own.public(), &file).expect("written");
    let trusted = TrustedKeys::read(&file).expect("one");
    let signature = sign(b"container", &own);
    let forged = |change: fn(&mut Signature)| {
        let mut signature = signature.clone();
        change(&mut signature);
        signature
    };
    let swapped = Signature { key: own.public(), ..sign(b"container", &stranger) };
    for (what, bytes, signature, expected) in [
        ("none", &b"container"[..], None, SignatureState::Unsigned),
        (
            "good",
            b"container",
            Some(signature.clone()),
            SignatureState::Trusted { name: "Ada".to_owned(), key: own.public() },
        ),
        (
            "strange",
            b"container",
            Some(sign(b"container", &stranger)),
            SignatureState::Untrusted { key: stranger.public() },
        ),
        ("other bytes", b"containeR", Some(signature.clone()), SignatureState::Broken),
        ("claims a trusted key", b"container", Some(swapped), SignatureState::Broken),
        ("no base64", b"container", Some(forged(|it| it.value = "?".to_owned())), SignatureState::Broken),
        ("empty", b"container", Some(forged(|it| it.value.clear())), SignatureState::Broken),
    ] {
        assert_eq!(verify(bytes, signature.as_ref(), &trusted), expected, "{what}");
    }
    let json = serde_json::to_value(&signature).expect("JSON");
    assert_eq!(serde_json::from_value::<Signature>(json).expect("a signature"), signature);
}

#[test]
fn key_is_kept_in_a_file_that_only_its_owner_reads() {
    let house = House::new(&[]);
    let file = house.cache_folder().join("keys/own.pem");
    let key = SecretKey::generate().expect("a key");
    key.write(&file).expect("written");
    assert_eq!(SecretKey::read(&file).expect("a key").public(), key.public());
    SecretKey::generate().expect("a key").write(&file).expect("nothing is overwritten");
    assert_eq!(SecretKey::read(&file).expect("a key").public(), key.public());
    assert!(!format!("{key:?}").contains("PRIVATE"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(std::fs::metadata(&file).expect("a key").permissions().mode() & 0o777, 0o600);
    }
    assert!(PublicKey::try_from("short".to_owned()).is_err());
    std::fs::write(&file, "no key").expect("written");
    assert!(SecretKey::read(&file).is_err());
}
