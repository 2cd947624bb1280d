//! Ids that nobody else makes.

use pi_policy::Moment;

/// A UUID of version 4: all chance.
pub(crate) fn random(random: &mut fastrand::Rng) -> String {
    write(random.u128(..), 4)
}

/// A UUID of version 7: the time and chance, so that younger ids sort behind older ones.
pub(crate) fn timed(now: Moment, random: &mut fastrand::Rng) -> String {
    let chance = random.u128(..) & ((1 << 80) - 1);
    write(u128::from(now.unix_millis()) << 80 | chance, 7)
}

/// Writes 128 bits with their version and the usual variant put into them.
fn write(bits: u128, version: u128) -> String {
    let bits = bits & !(0xF << 76) | version << 76;
    let bits = bits & !(0b11 << 62) | 0b10 << 62;
    let digits = format!("{bits:032x}");
    format!("{}-{}-{}-{}-{}", &digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_and_variant_stand_where_they_belong() {
        let mut rng = fastrand::Rng::with_seed(1);
        for _ in 0..100 {
            let (four, seven) = (random(&mut rng), timed(Moment::from_unix_millis(0x0123_4567_89ab), &mut rng));
            assert_eq!((&four[14..15], four.len()), ("4", 36));
            assert_eq!((&seven[..15], seven.len()), ("01234567-89ab-7", 36));
            assert!([&four, &seven].iter().all(|id| "89ab".contains(&id[19..20])), "{four} {seven}");
        }
    }
}
