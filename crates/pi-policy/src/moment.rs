//! A point in time, as an argument: this crate never reads a clock.

use std::{fmt, str::FromStr};

use serde::{Serialize, Serializer};

/// Milliseconds since the beginning of 1970, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(u64);

/// A text that is no RFC 3339 date and time of 1970 or later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a date and time like 2026-12-31T00:00:00Z")]
pub struct NoMoment;

const MILLIS_PER_DAY: i64 = 86_400_000;

impl Moment {
    pub const fn from_unix_millis(millis: u64) -> Self {
        Self(millis)
    }

    pub const fn unix_millis(self) -> u64 {
        self.0
    }
}

impl FromStr for Moment {
    type Err = NoMoment;

    fn from_str(text: &str) -> Result<Self, NoMoment> {
        let bytes = text.as_bytes();
        let number = |from: usize, to: usize| -> Result<i64, NoMoment> {
            let digits = bytes.get(from..to).ok_or(NoMoment)?;
            digits.iter().try_fold(0, |sum: i64, digit| match digit {
                b'0'..=b'9' => Ok(sum * 10 + i64::from(digit - b'0')),
                _ => Err(NoMoment),
            })
        };
        let sign = |at: usize, allowed: &[u8]| match bytes.get(at) {
            Some(byte) if allowed.contains(byte) => Ok(*byte),
            _ => Err(NoMoment),
        };
        let within =
            |value: i64, from: i64, to: i64| if (from..=to).contains(&value) { Ok(value) } else { Err(NoMoment) };

        let (year, month) = (number(0, 4)?, within(number(5, 7)?, 1, 12)?);
        let day = within(number(8, 10)?, 1, days_in_month(year, month))?;
        let (hour, minute) = (within(number(11, 13)?, 0, 23)?, within(number(14, 16)?, 0, 59)?);
        let second = within(number(17, 19)?, 0, 59)?;
        for (at, allowed) in [(4, &b"-"[..]), (7, b"-"), (10, b"Tt "), (13, b":"), (16, b":")] {
            sign(at, allowed)?;
        }

        let mut end = 19;
        let mut millis = 0;
        if bytes.get(end) == Some(&b'.') {
            let digits = bytes[end + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            // Finer than a millisecond is cut off: a grant ends a moment too early rather than too late.
            let kept = digits.min(3);
            millis = number(end + 1, end + 1 + kept)? * [0, 100, 10, 1][kept];
            within(i64::try_from(digits).map_err(|_| NoMoment)?, 1, i64::MAX)?;
            end += 1 + digits;
        }
        let (offset, end) = match sign(end, b"Zz+-")? {
            b'Z' | b'z' => (0, end + 1),
            direction => {
                sign(end + 3, b":")?;
                let minutes =
                    within(number(end + 1, end + 3)?, 0, 23)? * 60 + within(number(end + 4, end + 6)?, 0, 59)?;
                (if direction == b'-' { -minutes } else { minutes }, end + 6)
            }
        };
        if end != bytes.len() {
            return Err(NoMoment);
        }
        let of_day = ((hour * 60 + minute - offset) * 60 + second) * 1000 + millis;
        u64::try_from(days_since_1970(year, month, day) * MILLIS_PER_DAY + of_day).map(Self).map_err(|_| NoMoment)
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, millis) = (self.0 / MILLIS_PER_DAY.unsigned_abs(), self.0 % MILLIS_PER_DAY.unsigned_abs());
        let (year, month, day) = date(days);
        let (hour, minute, second) = (millis / 3_600_000, millis / 60_000 % 60, millis / 1000 % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
        match millis % 1000 {
            0 => write!(f, "Z"),
            fraction => write!(f, ".{fraction:03}Z"),
        }
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Counts in years that begin in March, so that the leap day is the last of its year.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let shifted = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    shifted * 365 + shifted.div_euclid(4) - shifted.div_euclid(100) + shifted.div_euclid(400) + day_of_year - 719_468
}

/// The inverse of [`days_since_1970`].
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<u64>) {
        assert_eq!(text.parse::<Moment>().ok().map(Moment::unix_millis), expected, "{text}");
    }

    #[test]
    fn dates_are_read_as_rfc_3339_says() {
        check("1970-01-01T00:00:00Z", Some(0));
        check("2000-02-29T12:30:15.5Z", Some(951_827_415_500));
        check("2026-02-03T03:01:02.123Z", Some(1_770_087_662_123));
        check("2026-02-03t04:01:02.123999+01:00", Some(1_770_087_662_123));
        check("2026-02-02 22:01:02.123-05:00", Some(1_770_087_662_123));
    }

    #[test]
    fn anything_else_is_refused() {
        let wrong = "tomorrow|2026-02-30T00:00:00Z|2023-02-29T00:00:00Z|2026-13-01T00:00:00Z|2026-01-01|1969-12-31T23:59:59Z|\
                     2026-01-01T24:00:00Z|2026-01-01T00:00:00|2026-01-01T00:00:00.Z|2026-01-01T00:00:00Z |+026-01-01T00:00:00Z|\
                     2026-01-01T00:00:00+24:00||2026-01-01T00:00:60Z|2026-01-01T00:00:00+0100";
        for text in wrong.split('|') {
            check(text, None);
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(millis in 0..253_402_300_800_000u64) {
            let moment = Moment::from_unix_millis(millis);
            prop_assert_eq!(moment.to_string().parse(), Ok(moment));
        }
    }
}
