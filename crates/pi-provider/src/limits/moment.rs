//! The many ways in which servers write how long to wait.

use std::time::{Duration, SystemTime};

/// A number from here on is a point in time: seconds since 1970 (2001 and later).
const FIRST_EPOCH_SECOND: f64 = 1e9;
/// The same in milliseconds.
const FIRST_EPOCH_MILLISECOND: f64 = 1e12;

/// Reads seconds (`20`, `1.5`), durations (`6m0s`, `120ms`, `1h2m3.5s`), dates (HTTP, ISO 8601) and times since 1970 in
/// seconds or milliseconds. A time that is past is no wait at all.
pub(super) fn parse_wait(text: &str, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    if let Ok(number) = text.parse::<f64>() {
        return from_number(number, now);
    }
    parse_units(text).or_else(|| {
        let moment = httpdate::parse_http_date(text).ok().or_else(|| parse_iso(text))?;
        Some(moment.duration_since(now).unwrap_or_default())
    })
}

/// Milliseconds as a number.
pub(crate) fn parse_milliseconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.trim().parse::<f64>().ok()? / 1000.0).ok()
}

fn from_number(number: f64, now: SystemTime) -> Option<Duration> {
    let since_1970 = if number >= FIRST_EPOCH_MILLISECOND { number / 1000.0 } else { number };
    if since_1970 < FIRST_EPOCH_SECOND {
        return Duration::try_from_secs_f64(number).ok();
    }
    let moment = SystemTime::UNIX_EPOCH.checked_add(Duration::try_from_secs_f64(since_1970).ok()?)?;
    Some(moment.duration_since(now).unwrap_or_default())
}

/// Numbers with units, one behind the other; words (`7 seconds`) count too.
fn parse_units(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut seconds = 0.0;
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.')?;
        let (number, tail) = rest.split_at(digits);
        let tail = tail.trim_start();
        let end = tail.find(|letter: char| !letter.is_alphabetic()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(end);
        seconds += number.parse::<f64>().ok()? * seconds_of(unit)?;
        rest = tail.trim_start();
    }
    (!text.is_empty()).then(|| Duration::try_from_secs_f64(seconds).ok()).flatten()
}

fn seconds_of(unit: &str) -> Option<f64> {
    Some(match unit {
        "d" | "day" | "days" => 86_400.0,
        "h" | "hour" | "hours" => 3600.0,
        "m" | "min" | "minute" | "minutes" => 60.0,
        "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
        "ms" | "millisecond" | "milliseconds" => 1e-3,
        "us" | "µs" => 1e-6,
        "ns" => 1e-9,
        _ => return None,
    })
}

/// `2026-11-15T23:56:47.5+01:00`; the time zone is `Z` or an offset.
fn parse_iso(text: &str) -> Option<SystemTime> {
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<u32>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let marks = [text.get(4..5)?, text.get(7..8)?, text.get(13..14)?, text.get(16..17)?];
    let is_date = marks == ["-", "-", ":", ":"] && matches!(text.get(10..11)?, "T" | "t" | " ");
    if !is_date || !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let tail = text.get(19..)?;
    let zone = tail.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(tail.len());
    let (fraction, zone) = tail.split_at(zone);
    let fraction = if fraction.is_empty() { 0.0 } else { format!("0{fraction}").parse::<f64>().ok()? };
    let whole = days_since_1970(year, month, day)? * 86_400 + u64::from(hour * 3600 + minute * 60 + second);
    let moment = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(whole))?;
    let moment = moment.checked_add(Duration::try_from_secs_f64(fraction).ok()?)?;
    match zone {
        "" | "Z" | "z" => Some(moment),
        _ => {
            let minutes = zone.get(1..3)?.parse::<u64>().ok()? * 60 + zone.get(4..6)?.parse::<u64>().ok()?;
            let offset = Duration::from_secs(minutes * 60);
            if zone.starts_with('+') { moment.checked_sub(offset) } else { moment.checked_add(offset) }
        }
    }
}

/// Years are counted from March, so that the leap day is the last of its year.
fn days_since_1970(year: u32, month: u32, day: u32) -> Option<u64> {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year.checked_sub(1)?, month + 9) };
    let days = u64::from(year) * 365 + u64::from(year / 4) + u64::from(year / 400) - u64::from(year / 100);
    let in_year = u64::from((153 * month + 2) / 5 + day - 1);
    (days + in_year).checked_sub(719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-15T23:56:47Z.
    const NOW: u64 = 1_794_787_007;

    #[test]
    fn every_form_is_read() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(NOW);
        let milliseconds = |text| parse_wait(text, now).map(|wait| wait.as_millis());
        for (text, expected) in [
            ("20", Some(20_000)),
            (" 1.5 ", Some(1500)),
            ("0", Some(0)),
            ("23s", Some(23_000)),
            ("6m0s", Some(360_000)),
            ("2m59.56s", Some(179_560)),
            ("1h2m3s", Some(3_723_000)),
            ("120ms", Some(120)),
            ("7 seconds", Some(7000)),
            ("1 minute 5 seconds", Some(65_000)),
            ("Sun, 15 Nov 2026 23:57:17 GMT", Some(30_000)),
            ("Sun, 15 Nov 2026 23:00:00 GMT", Some(0)),
            ("2026-11-15T23:56:57Z", Some(10_000)),
            ("2026-11-15T23:56:57.25Z", Some(10_250)),
            ("2026-11-16T00:56:57+01:00", Some(10_000)),
            ("2026-11-15T18:56:57-05:00", Some(10_000)),
            ("2028-02-29T00:00:00Z", Some((1_835_395_200 - NOW as u128) * 1000)),
            ("1794787017", Some(10_000)),
            ("1794787017000", Some(10_000)),
            ("1794787000", Some(0)),
            ("", None),
            ("-1", None),
            ("NaN", None),
            ("1e300", None),
            ("soon", None),
            ("5 parsecs", None),
            ("2026-13-15T00:00:00Z", None),
            ("2026-11-15", None),
            ("s", None),
        ] {
            assert_eq!(milliseconds(text), expected, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn arbitrary_text_is_no_panic(text in ".{0,40}", seconds in 0_u64..4_000_000_000) {
            let _ = parse_wait(&text, SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        }

        #[test]
        fn iso_times_agree_with_http_dates(seconds in 0_u64..253_402_300_799) {
            let moment = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            let date = httpdate::HttpDate::from(moment).to_string();
            // `Sun, 06 Nov 1994 08:49:37 GMT`
            let month = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
                .iter().position(|month| *month == &date[8..11]).unwrap() + 1;
            let iso = format!("{}-{month:02}-{}T{}Z", &date[12..16], &date[5..7], &date[17..25]);
            proptest::prop_assert_eq!(parse_iso(&iso), Some(moment));
        }
    }
}
