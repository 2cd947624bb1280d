//! Keys from passwords, for extensions: PBKDF2 and scrypt, as Node's `crypto` has them.
//!
//! Both are slow on purpose. They run on the guest's own thread: one looks now and then whether its time is over, the other cannot
//! be stopped and so is asked for a bounded amount of work, in memory that the guest has left.

use std::rc::Rc;

use hmac::{Hmac, Mac};
use rquickjs::{Ctx, Exception, Function, Object, Result as JsResult, TypedArray, Value};
use scrypt::Params;

use super::{digests::with_digest, natives::bytes_of, raw, room::Room};

/// Rounds between two looks at the clock: well below a millisecond.
const ROUNDS: u32 = 256;

/// Bytes that one scrypt may go over, each of them twice: some seconds.
const MOST_WORK: u64 = 2 << 30;

/// Numbers of `crypto.scrypt`, by the names that it has in RFC 7914.
#[derive(Debug, Clone, Copy)]
struct Cost {
    n: u64,
    r: u64,
    p: u64,
}

/// Why a password is not made into a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// It needs more memory than there is.
    Memory,
    /// It would take too long.
    Work,
    /// The numbers are none that it knows.
    Cost,
}

impl Fault {
    fn word(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Work => "work",
            Self::Cost => "cost",
        }
    }
}

/// Why rounds over a password give no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unmade {
    /// There is no such digest.
    NoDigest,
    /// The time of the guest was over.
    Interrupted,
}

/// The native functions `pbkdf2` and `scrypt`.
pub(super) fn functions<'js>(ctx: &Ctx<'js>, native: &Object<'js>, room: &Rc<Room>) -> JsResult<()> {
    let here = Rc::clone(room);
    let derive = move |ctx: Ctx<'js>,
                       algorithm: String,
                       password: Value<'js>,
                       salt: Value<'js>,
                       rounds: u32,
                       length: usize|
          -> JsResult<TypedArray<'js, u8>> {
        let (password, salt) = (bytes_of(&ctx, &password)?, bytes_of(&ctx, &salt)?);
        has_room(&ctx, &here, length)?;
        match pbkdf2(&algorithm, &password, &salt, rounds, length, || here.fuse.is_blown()) {
            Ok(key) => TypedArray::new_copy(ctx, key),
            Err(Unmade::NoDigest) => Err(Exception::throw_range(&ctx, &format!("there is no digest {algorithm}"))),
            // What stopped it stops whatever catches this as well.
            Err(Unmade::Interrupted) => Err(Exception::throw_internal(&ctx, "interrupted")),
        }
    };
    native.set("pbkdf2", Function::new(ctx.clone(), derive)?)?;

    let here = Rc::clone(room);
    let derive = move |ctx: Ctx<'js>,
                       password: Value<'js>,
                       salt: Value<'js>,
                       cost: Vec<u64>,
                       length: usize|
          -> JsResult<Object<'js>> {
        let (password, salt) = (bytes_of(&ctx, &password)?, bytes_of(&ctx, &salt)?);
        has_room(&ctx, &here, length)?;
        let answer = Object::new(ctx.clone())?;
        let left = here.limits.memory.saturating_sub(raw::used(&ctx));
        let &[n, r, p] = cost.as_slice() else {
            return Err(Exception::throw_type(&ctx, "a cost is three numbers"));
        };
        match scrypt(&password, &salt, Cost { n, r, p }, length, left as u64) {
            Ok(key) => answer.set("bytes", TypedArray::new_copy(ctx, key)?)?,
            Err(fault) => answer.set("fault", fault.word())?,
        }
        Ok(answer)
    };
    native.set("scrypt", Function::new(ctx.clone(), derive)?)
}

/// A key that the guest could not hold is not made first.
fn has_room(ctx: &Ctx<'_>, room: &Room, length: usize) -> JsResult<()> {
    let limit = room.limits.memory;
    if length > limit {
        return Err(Exception::throw_range(ctx, &format!("a key of {length} bytes, where there is room for {limit}")));
    }
    Ok(())
}

/// The key by RFC 8018.
fn pbkdf2(
    algorithm: &str,
    password: &[u8],
    salt: &[u8],
    rounds: u32,
    length: usize,
    is_stopped: impl Fn() -> bool,
) -> Result<Vec<u8>, Unmade> {
    let key = with_digest!(algorithm, Hash => {
        let keyed = Hmac::<Hash>::new_from_slice(password).expect("an HMAC takes keys of any length");
        let mut key = Vec::with_capacity(length);
        for index in 1_u32.. {
            if key.len() >= length {
                break;
            }
            let first = keyed.clone().chain_update(salt).chain_update(index.to_be_bytes());
            let mut last = first.finalize().into_bytes();
            let mut block = last;
            for round in 1..rounds {
                if round.is_multiple_of(ROUNDS) && is_stopped() {
                    return Err(Unmade::Interrupted);
                }
                last = keyed.clone().chain_update(last).finalize().into_bytes();
                block.iter_mut().zip(&last).for_each(|(byte, other)| *byte ^= other);
            }
            if is_stopped() {
                return Err(Unmade::Interrupted);
            }
            key.extend_from_slice(&block);
        }
        key.truncate(length);
        key
    });
    key.ok_or(Unmade::NoDigest)
}

/// The key by RFC 7914.
fn scrypt(password: &[u8], salt: &[u8], cost: Cost, length: usize, memory: u64) -> Result<Vec<u8>, Fault> {
    let Cost { n, r, p } = cost;
    let bytes = |blocks: Option<u64>| blocks.and_then(|blocks| blocks.checked_mul(r)?.checked_mul(128));
    let needed = bytes(n.checked_add(p).and_then(|blocks| blocks.checked_add(2))).ok_or(Fault::Memory)?;
    if needed > memory {
        return Err(Fault::Memory);
    }
    if bytes(n.checked_mul(p)).is_none_or(|work| work > MOST_WORK) {
        return Err(Fault::Work);
    }
    if !n.is_power_of_two() || n < 2 {
        return Err(Fault::Cost);
    }
    let (Ok(log_n), Ok(r), Ok(p)) = (u8::try_from(n.ilog2()), u32::try_from(r), u32::try_from(p)) else {
        return Err(Fault::Cost);
    };
    // The length that its parameters speak of is of no consequence here.
    let params = Params::new(log_n, r, p, Params::RECOMMENDED_LEN).map_err(|_| Fault::Cost)?;
    let mut key = vec![0; length];
    if !key.is_empty() {
        scrypt::scrypt(password, salt, &params, &mut key).map_err(|_| Fault::Cost)?;
    }
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    const PLENTY: u64 = 64 << 20;

    #[test]
    fn keys_of_passwords_are_those_of_everybody() {
        let key = |algorithm, rounds, length| {
            pbkdf2(algorithm, b"password", b"salt", rounds, length, || false).map(|key| hex(&key))
        };
        // RFC 6070, and the same with SHA-256.
        assert_eq!(key("sha1", 2, 20).as_deref(), Ok("ea6c014dc72d6f8ccd1ed92ace1d41f0d8de8957"));
        let long = "c5e478d59288c841aa530db6845c4c8d962893a001ce4e11a4963873aa98134a";
        assert_eq!(key("sha256", 4096, 32).as_deref(), Ok(long));
        assert_eq!(key("sha256", 4096, 5).as_deref(), Ok(&long[..10]));
        assert_eq!(key("sha256", 1, 0).as_deref(), Ok(""));
        assert_eq!(key("crc32", 1, 8), Err(Unmade::NoDigest));
    }

    #[test]
    fn rounds_end_when_the_time_is_over() {
        assert_eq!(pbkdf2("sha256", b"", b"", u32::MAX, 32, || true), Err(Unmade::Interrupted));
        assert_eq!(pbkdf2("sha256", b"", b"", 1, 1 << 20, || true), Err(Unmade::Interrupted));
    }

    #[test]
    fn memory_hard_keys_are_those_of_everybody() {
        // RFC 7914, section 12.
        let made = scrypt(b"password", b"NaCl", Cost { n: 1024, r: 8, p: 16 }, 64, PLENTY).map(|key| hex(&key));
        let expected = "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b3731622eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640";
        assert_eq!(made.as_deref(), Ok(expected));
    }

    #[test]
    fn what_is_too_much_is_not_begun() {
        let fault = |n, r, p, memory| scrypt(b"", b"", Cost { n, r, p }, 32, memory).err();
        assert_eq!(fault(16384, 8, 1, 128 * 8 * 16387), None);
        assert_eq!(fault(16384, 8, 1, 128 * 8 * 16387 - 1), Some(Fault::Memory));
        assert_eq!(fault(u64::MAX, 8, 1, u64::MAX), Some(Fault::Memory));
        assert_eq!(fault(1 << 14, 8, 1 << 14, PLENTY), Some(Fault::Work));
        assert_eq!(fault(3, 8, 1, PLENTY), Some(Fault::Cost));
        assert_eq!(fault(1, 8, 1, PLENTY), Some(Fault::Cost));
        assert_eq!(fault(2, 0, 1, PLENTY), Some(Fault::Cost));
    }
}
